#include "profile/recorder.h"

#include <algorithm>
#include <numeric>

namespace qualia {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::embedding:
      return "embedding";
    case Phase::gemm:
      return "gemm";
    case Phase::attention:
      return "attention";
    case Phase::fused_block:
      return "fused_block";
    case Phase::output_topk:
      return "output_topk";
  }
  return "unknown";
}

}  // namespace qualia

namespace qualia::profile {

uint64_t Snapshot::attributed_ns() const {
  return std::accumulate(
      phases.begin(), phases.end(), uint64_t{0},
      [](uint64_t sum, const PhaseTotal& total) { return sum + total.total_ns; });
}

uint32_t Recorder::op(std::string_view name, Phase phase) {
  const auto found = std::find_if(totals_.ops.begin(), totals_.ops.end(), [&](const OpTotal& op) {
    return op.name == name && op.phase == phase;
  });
  if (found != totals_.ops.end()) return static_cast<uint32_t>(found - totals_.ops.begin());
  totals_.ops.push_back({std::string(name), phase});
  return static_cast<uint32_t>(totals_.ops.size() - 1);
}

void Recorder::add(uint32_t op, uint64_t begin_ns, uint64_t end_ns, const Cost& cost) {
  if (end_ns == 0 || end_ns < begin_ns) return drop();
  OpTotal& total = totals_.ops[op];
  const uint64_t duration_ns = end_ns - begin_ns;
  total.total_ns += duration_ns;
  total.calls += 1;
  total.cost.bytes += cost.bytes;
  total.cost.multiply_adds += cost.multiply_adds;
  PhaseTotal& phase = totals_.phases[static_cast<size_t>(total.phase)];
  phase.total_ns += duration_ns;
  phase.calls += 1;
  if (!step_has_calls_) step_begin_ns_ = begin_ns;
  step_has_calls_ = true;
  step_begin_ns_ = std::min(step_begin_ns_, begin_ns);
  step_end_ns_ = std::max(step_end_ns_, end_ns);
  if (totals_.spans.size() < kSpansMax) {
    totals_.spans.push_back({op, totals_.steps, begin_ns, end_ns});
  }
}

void Recorder::end_step() {
  if (!step_has_calls_) return;
  for (auto span = totals_.spans.rbegin();
       span != totals_.spans.rend() && span->step == totals_.steps; ++span) {
    span->begin_ns -= step_begin_ns_;
    span->end_ns -= step_begin_ns_;
  }
  totals_.busy_ns += step_end_ns_ - step_begin_ns_;
  totals_.steps += 1;
  step_has_calls_ = false;
  step_end_ns_ = 0;
}

void Recorder::reset() {
  std::vector<OpTotal> ops = std::move(totals_.ops);
  for (OpTotal& op : ops) op = {std::move(op.name), op.phase};
  totals_ = {};
  totals_.ops = std::move(ops);
  step_has_calls_ = false;
  step_end_ns_ = 0;
}

bool Recorder::any_recorded() const {
  return std::any_of(totals_.phases.begin(), totals_.phases.end(),
                     [](const PhaseTotal& total) { return total.calls > 0; });
}

}  // namespace qualia::profile

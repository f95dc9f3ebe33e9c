#include "profile/report.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace qualia::profile {
namespace {

// numerator / denominator where both say something.
std::optional<double> ratio(double numerator, double denominator) {
  if (!(numerator > 0) || !(denominator > 0)) return std::nullopt;
  return numerator / denominator;
}

// The recorded steps' part of the wall time, as if all steps took equally long; a sample of slower
// ones took at least as long as its own clock says.
uint64_t recorded_wall_ns(const Snapshot& snapshot, const RunFacts& run) {
  if (snapshot.steps >= run.steps) return snapshot.steps > 0 ? run.wall_ns : 0;
  const double part = static_cast<double>(snapshot.steps) / static_cast<double>(run.steps);
  return std::max(snapshot.busy_ns, static_cast<uint64_t>(static_cast<double>(run.wall_ns) * part));
}

ProfileOp make_op(const OpTotal& total, const RunFacts& run) {
  ProfileOp op;
  op.name = total.name;
  op.phase = total.phase;
  op.calls = total.calls;
  op.total_ns = total.total_ns;
  op.bytes = total.cost.bytes;
  op.multiply_adds = total.cost.multiply_adds;
  const auto ns = static_cast<double>(total.total_ns);
  op.gb_per_s = ratio(static_cast<double>(op.bytes), ns);
  op.gflop_per_s = ratio(2.0 * static_cast<double>(op.multiply_adds), ns);
  if (op.gb_per_s && run.read_bytes_per_s)
    op.ceiling_share = ratio(*op.gb_per_s * 1e9, *run.read_bytes_per_s);
  return op;
}

// Ops that were called, the longest first; spans follow them.
void fill_ops(const Snapshot& snapshot, const RunFacts& run, ProfileReport& report) {
  std::vector<uint32_t> order(snapshot.ops.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](uint32_t op) { return snapshot.ops[op].calls == 0; });
  std::ranges::stable_sort(order, std::greater{},
                           [&](uint32_t op) { return snapshot.ops[op].total_ns; });
  std::vector<uint32_t> place(snapshot.ops.size());
  for (const uint32_t op : order) {
    place[op] = static_cast<uint32_t>(report.ops.size());
    report.ops.push_back(make_op(snapshot.ops[op], run));
  }
  report.spans.reserve(snapshot.spans.size());
  for (const Span& span : snapshot.spans) {
    if (span.step >= snapshot.steps) continue;  // of a step that did not end
    report.spans.push_back({place[span.op], span.step, span.begin_ns, span.end_ns});
  }
}

}  // namespace

ProfileReport make_report(const Snapshot& snapshot, const RunFacts& run) {
  ProfileReport report;
  report.circuit = run.circuit;
  report.tokens = run.options.tokens;
  report.prompt_tokens = run.options.prompt_tokens;
  report.depth = run.options.depth;
  report.every = std::max(1U, run.options.every);
  report.steps = snapshot.steps;
  report.wall_ns = run.wall_ns;
  report.busy_ns = snapshot.busy_ns;
  report.dropped = snapshot.dropped;
  report.granularity = run.granularity;
  report.read_bytes_per_s = ratio(run.read_bytes_per_s.value_or(0), 1.0);
  const uint64_t wall_ns = recorded_wall_ns(snapshot, run);
  const uint64_t attributed_ns = snapshot.attributed_ns();
  report.unattributed_ns = wall_ns - std::min(wall_ns, attributed_ns);
  for (size_t i = 0; i < kPhaseCount; ++i) {
    const PhaseTotal& total = snapshot.phases[i];
    report.phases[i] = {kPhases[i], total.total_ns, total.calls,
                        ratio(static_cast<double>(total.total_ns), static_cast<double>(wall_ns))};
  }
  const uint64_t tokens = uint64_t{report.tokens} + report.prompt_tokens;
  report.tok_s = ratio(static_cast<double>(tokens) * 1e9, static_cast<double>(run.wall_ns));
  fill_ops(snapshot, run, report);
  return report;
}

}  // namespace qualia::profile

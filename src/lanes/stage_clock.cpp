#include "lanes/stage_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace qualia::lanes {
namespace {

// In order of Stage.
constexpr std::pair<std::string_view, Phase> kStages[] = {
    {"embedding", Phase::embedding},   {"qkv", Phase::gemm},     {"attend", Phase::attention},
    {"attention_output", Phase::gemm}, {"gate_up", Phase::gemm}, {"down", Phase::gemm},
    {"output", Phase::output_topk},
};

}  // namespace

uint64_t steady_clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

StageClock::StageClock(Now now) : now_(std::move(now)) {
  for (const auto& [name, phase] : kStages) recorder_.op(name, phase);
}

void StageClock::set(const ProfileOptions& options) {
  options_ = options;
  options_.every = std::max(1U, options.every);
  step_count_ = 0;
  recorder_.reset();
}

bool StageClock::begin_step(size_t stage_count) {
  if (!options_.is_on || step_count_++ % options_.every != 0) return false;
  marks_.clear();
  marks_.reserve(stage_count);  // so that end_stage() allocates nothing
  step_begin_ns_ = now_();
  return true;
}

void StageClock::end_stage(Stage stage, size_t index) {
  QUALIA_CHECK(marks_.size() < marks_.capacity());
  marks_.push_back({stage, static_cast<uint32_t>(index), now_()});
}

void StageClock::end_step(const CostOf& cost_of) {
  uint64_t begin_ns = step_begin_ns_;
  for (const Mark& mark : marks_) {
    recorder_.add(static_cast<uint32_t>(mark.stage), begin_ns, mark.end_ns,
                  cost_of(mark.stage, mark.index));
    begin_ns = mark.end_ns;
  }
  recorder_.end_step();
}

}  // namespace qualia::lanes

// Where the time of a model goes: phases of a step, ops within them.
// Thread-safety: values and pure functions.
// Time of a profiled run is perturbed: its tokens per second say nothing about an ordinary run.
// Nothing here is ever infinite or NaN: what can't be told is unset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/export.h"

namespace qualia {

// What counts to which phase: norm, residual and activation quantisation to the matmul that they
// feed (gemm); RoPE, KV write, attention and merging to attention; final norm, output matrix and
// the choice of a token to output_topk; the lookup to embedding; fused_block only for time that
// can't be split inside a kernel.
enum class Phase : uint8_t { embedding, gemm, attention, fused_block, output_topk };

inline constexpr size_t kPhaseCount = 5;
inline constexpr std::array<Phase, kPhaseCount> kPhases{
    Phase::embedding, Phase::gemm, Phase::attention, Phase::fused_block, Phase::output_topk};

// "embedding", "gemm", "attention", "fused_block", "output_topk"
QUALIA_API std::string_view to_string(Phase phase);

struct PhaseTotal {
  uint64_t total_ns = 0;
  uint64_t calls = 0;
  double micros() const { return static_cast<double>(total_ns) / 1000.0; }
};

struct ProfileOptions {
  uint32_t tokens = 32;        // decoded one after the other, each profiled
  uint32_t depth = 0;          // positions already in the KV cache, not profiled
  uint32_t prompt_tokens = 0;  // a prompt before the tokens, profiled too
  uint32_t every = 1;          // records one step in `every`
};

struct ProfilePhase {
  Phase phase = Phase::embedding;
  uint64_t total_ns = 0;
  uint64_t calls = 0;
  std::optional<double> share{};  // of the wall time of the recorded steps; unset: no calls
};

struct ProfileOp {
  std::string name{};
  Phase phase = Phase::embedding;
  uint64_t calls = 0;
  uint64_t total_ns = 0;
  uint64_t bytes = 0;  // read from memory, by the op's shapes
  uint64_t multiply_adds = 0;
  std::optional<double> gb_per_s{};
  std::optional<double> gflop_per_s{};    // two a multiply-add
  std::optional<double> ceiling_share{};  // of the measured read bandwidth
};

// One call of an op, in time since its step began.
struct ProfileSpan {
  uint32_t op = 0;  // index into ProfileReport::ops
  uint64_t step = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

struct ProfileReport {
  std::string circuit{};  // "cpu / CPU, 2 threads / avx2"
  uint32_t tokens = 0;
  uint32_t prompt_tokens = 0;
  uint32_t depth = 0;
  std::array<ProfilePhase, kPhaseCount> phases{};  // in the order of kPhases
  std::vector<ProfileOp> ops{};                    // that were called, the longest first
  uint64_t steps = 0;                              // that were recorded, one in `every`
  uint32_t every = 1;
  uint64_t wall_ns = 0;                      // of all steps on the host's clock
  uint64_t busy_ns = 0;                      // of the recorded steps, from first begin to last end
  uint64_t unattributed_ns = 0;              // wall time of the recorded steps that no phase has
  uint64_t dropped = 0;                      // samples that were missing or ran backwards
  bool perturbed = true;                     // always: reading clocks takes time
  std::optional<double> tok_s{};             // of the profiled run, perturbed
  std::optional<double> read_bytes_per_s{};  // measured on the device; unset: not measured
  std::string granularity{};                 // between what the clock was read: "each stage"
  // Of the first calls: a long run keeps the sums of the others alone.
  std::vector<ProfileSpan> spans{};
};

// For people: phases with bars of their shares, then ops.
QUALIA_API std::string to_text(const ProfileReport& report);

// A trace in Chrome's JSON format (chrome://tracing, Perfetto): a row for each phase, an event for
// each span. Steps follow one another without the gaps between them.
QUALIA_API std::string to_chrome_trace(const ProfileReport& report);

}  // namespace qualia

// What a lane must do: load a model onto a circuit and run batches of rows over sequences.
// Thread-safety: a Lane may be used from any thread; a LaneModel has one owner, which calls it from
// one thread at a time.
// Callers prove arguments: pages exist, positions fit their pages, tokens are below the vocabulary
// size. Everything fallible returns Result; a lost device is ErrorCode::device_lost.
//
// KV memory lives in pages of kPagePositions positions, for all layers. A sequence is a list of
// page ids, owned by the engine: position p lies in pages[p / kPagePositions]. Two sequences may
// share pages (a common prefix); a page is written only by a row whose sequence lists it at that
// place, and the engine copies a shared page before writing to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ops/decoder_spec.h"
#include "ops/weights.h"
#include "profile/recorder.h"
#include "qualia/lane.h"
#include "qualia/result.h"

namespace qualia::lanes {

using TokenId = int32_t;
using PageId = uint32_t;

// 64: small enough that a short chat wastes little, large enough that a page table stays short and
// one page of one head fills whole vectors and GPU workgroups.
inline constexpr uint32_t kPagePositions = 64;

enum class RowOutputKind : uint8_t { none, argmax, top_k, logits };

inline constexpr uint32_t kNoFeedback = 0xFFFFFFFF;

// One token of one sequence. Rows of a sequence come in ascending, consecutive positions; a row
// sees the KV of every position up to its own, those of earlier rows of the same batch included.
struct Row {
  TokenId token = 0;
  uint32_t sequence = 0;  // index into Batch::sequences
  uint32_t position = 0;
  RowOutputKind output = RowOutputKind::none;
  // Not kNoFeedback: the token is the argmax of this output (index into the previous step's
  // StepOutput::rows) and `token` is ignored, so that steps can be queued without a round trip.
  uint32_t feedback = kNoFeedback;
};

struct SequenceView {
  std::span<const PageId> pages;
};

struct Batch {
  std::span<const Row> rows;
  std::span<const SequenceView> sequences;
  uint32_t top_k = 0;  // entries for rows with RowOutputKind::top_k, clamped to the vocabulary
};

// How many of the rows want an output.
size_t output_count(std::span<const Row> rows);

struct TokenLogit {
  TokenId token = 0;
  float logit = 0.0F;
};

struct RowOutput {
  bool is_finite = true;        // false: a logit is NaN or infinite and the rest is unspecified
  TokenId argmax = 0;           // every kind but none; the lowest id among equals
  std::vector<TokenLogit> top;  // top_k: best first, lower id first among equals
  std::vector<float> logits;    // logits: one per vocabulary entry
};

struct StepOutput {
  std::vector<RowOutput> rows;  // the rows whose output kind is not none, in row order
};

using StepTicket = uint64_t;

struct ResidentReport {
  CircuitInfo circuit;
  Precision precision = Precision::exact;
  KvType kv = KvType::f32;         // never automatic
  uint64_t weights_bytes = 0;      // held by the lane; 0 where it reads the mapped file in place
  uint64_t step_weight_bytes = 0;  // read once per step of one row
  uint64_t kv_page_bytes = 0;      // one page, all layers
  // Rows of a prefill batch that keep the lane busy yet return within a fraction of a second, so
  // that a cancelled prompt stops soon.
  uint32_t batch_rows = 512;
  // submit() returns with the step computed, so that collect() never waits.
  bool computes_in_submit = false;
};

// Profiling of a model's steps. Off, a step is what it would be without a profiler.
struct ProfileOptions {
  bool is_on = false;
  uint32_t every = 1;  // records one step in `every`
};

struct ProfileReading {
  profile::Snapshot totals{};
  // Between what the clock is read: "each dispatch", "passes of one phase", "each stage".
  std::string_view granularity{};
};

class LaneModel {
 public:
  virtual ~LaneModel() = default;

  virtual const ResidentReport& resident() const = 0;

  // Makes page ids 0 .. page_count - 1 usable; never shrinks. Errors: out_of_memory with both
  // sizes.
  virtual Result<void> reserve_pages(uint32_t page_count) = 0;
  virtual Result<void> copy_page(PageId from, PageId to) = 0;

  // Queues a step; collect() waits for it. Steps run in order, and tickets are collected in order,
  // each once, those behind a step that failed included. The batch is read before submit() returns.
  virtual Result<StepTicket> submit(const Batch& batch) = 0;
  virtual Result<StepOutput> collect(StepTicket ticket) = 0;

  Result<StepOutput> forward(const Batch& batch);

  // Starts or stops recording; what was recorded before is cleared. Errors: unsupported with the
  // reason where the lane or its device reads no clock.
  virtual Result<void> set_profiling(const ProfileOptions& options);
  // Of the steps collected since set_profiling().
  virtual Result<ProfileReading> profile();

  // Bytes per second that the model's device reads from its memory, measured now: the ceiling of
  // decoding. Errors: unsupported where the lane measures none of its own (host lanes: the host's).
  virtual Result<double> measure_read_bandwidth();
};

// done and total in bytes; called from the loading thread.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

struct LoadOptions {
  CircuitInfo circuit{};  // one of the lane's circuits(); empty: the lane's first
  Precision precision = Precision::exact;
  KvType kv = KvType::automatic;
  size_t thread_count = 1;  // host threads the lane may keep busy
  Progress progress;        // may be empty
};

class Lane {
 public:
  virtual ~Lane() = default;

  virtual std::string_view name() const = 0;

  // The circuits of this lane on this machine, with `thread_count` host threads.
  virtual std::vector<CircuitInfo> circuits(size_t thread_count) const = 0;

  // Errors: unsupported names the field, weight type or option the lane lacks; corrupt_file, io,
  // out_of_memory.
  virtual Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec,
                                                  const ops::WeightMap& weights,
                                                  const LoadOptions& options) const = 0;
};

}  // namespace qualia::lanes

// What the two ends of a worker's socket say to each other. The worker speaks first (Hello); then
// the parent asks (circuits, load, reserve_pages, copy_page, profiling: one Reply each, in order),
// and queues steps, each of which is answered by one Output, in order. Progress comes while a model
// loads. Thread-safety: values. Errors: decode() refuses bytes that are cut off, too long or name
// an unknown value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "lanes/lane.h"
#include "lanes/worker/wire.h"

namespace qualia::lanes::worker {

enum class MessageKind : uint32_t {
  hello,
  circuits,
  load,
  reserve_pages,
  copy_page,
  set_profiling,
  read_profile,
  measure_bandwidth,
  share_block,
  step,
  progress,
  reply,
  output,
};

struct Hello {
  static constexpr MessageKind kKind = MessageKind::hello;
  std::string build_id{};  // the parent refuses any but its own
};

struct CircuitsRequest {
  static constexpr MessageKind kKind = MessageKind::circuits;
  std::string lane{};
  uint64_t thread_count = 1;
};

struct LoadRequest {
  static constexpr MessageKind kKind = MessageKind::load;
  std::string lane{};
  CircuitInfo circuit{};  // of the lane; empty: its first
  LogLevel log_level = LogLevel::warn;
  ops::DecoderSpec spec{};
  ops::WeightMap weights{};
  Precision precision = Precision::exact;
  KvType kv = KvType::automatic;
  uint64_t thread_count = 1;
};

struct ReservePages {
  static constexpr MessageKind kKind = MessageKind::reserve_pages;
  uint32_t page_count = 0;
};

struct CopyPage {
  static constexpr MessageKind kKind = MessageKind::copy_page;
  PageId from = 0;
  PageId to = 0;
};

struct SetProfiling {
  static constexpr MessageKind kKind = MessageKind::set_profiling;
  ProfileOptions options{};
};

struct ReadProfile {
  static constexpr MessageKind kKind = MessageKind::read_profile;
};

// The value of the reply to it: a ProfileReading that owns its text.
struct OwnedReading {
  profile::Snapshot totals{};
  std::string granularity{};
};

// The value of the reply to it: bytes per second.
struct MeasureBandwidth {
  static constexpr MessageKind kKind = MessageKind::measure_bandwidth;
};
struct Bandwidth {
  double bytes_per_s = 0.0;
};

// A descriptor of the memory goes with it. An id is the next one, or names a block to replace.
struct ShareBlock {
  static constexpr MessageKind kKind = MessageKind::share_block;
  uint32_t id = 0;
  uint64_t size_bytes = 0;
};

inline constexpr uint32_t kNoBlock = 0xFFFFFFFF;

// How a sequence's page table differs from the one at its place in the step before.
struct TableChange {
  uint32_t kept = 0;            // pages at the beginning that stay
  std::vector<PageId> added{};  // those that follow
};

struct Step {
  static constexpr MessageKind kKind = MessageKind::step;
  StepTicket ticket = 0;
  uint32_t top_k = 0;
  uint32_t block = kNoBlock;  // where the values of the outputs go; kNoBlock: into the Output
  std::vector<Row> rows{};
  std::vector<TableChange> tables{};
};

struct ProgressReport {
  static constexpr MessageKind kKind = MessageKind::progress;
  uint64_t done = 0;
  uint64_t total = 0;
};

struct Reply {
  static constexpr MessageKind kKind = MessageKind::reply;
  std::optional<Error> error{};
  Bytes value{};  // what was asked for, itself encoded
};

struct RowHead {
  bool is_finite = true;
  TokenId argmax = 0;
  uint32_t top_count = 0;
  uint32_t logit_count = 0;
};

struct Output {
  static constexpr MessageKind kKind = MessageKind::output;
  StepTicket ticket = 0;
  std::optional<Error> error{};
  std::vector<RowHead> rows{};
  Bytes values{};  // see row_values.h; empty where the step named a block
};

// Instantiated for every message above, OwnedReading, ResidentReport and std::vector<CircuitInfo>.
template <typename T>
Bytes encode(const T& value);
template <typename T>
Result<T> decode(std::span<const std::byte> bytes);

}  // namespace qualia::lanes::worker

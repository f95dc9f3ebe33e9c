#include "lanes/wgpu/timestamps.h"

#include <algorithm>

#include "base/error.h"

namespace qualia::lanes::wgpu {
namespace {

constexpr uint64_t kStampBytes = sizeof(uint64_t);

profile::TickClock clock_of(const Device& device) { return {device.timestamp_period_ns(), 64}; }

}  // namespace

GpuProfiler::GpuProfiler(Device& device, bool asked_by_environment)
    : device_(device), asked_by_environment_(asked_by_environment) {}

bool GpuProfiler::enabled() const {
  return (is_asked_ || asked_by_environment_) && unavailable_reason().empty();
}

std::string GpuProfiler::unavailable_reason() const {
  if (!device_.facts().features.timestamps) return "the device has no timestamps";
  if (!clock_of(device_).is_usable()) {
    return fmt::format("the device's timestamps have a period of {} ns",
                       device_.timestamp_period_ns());
  }
  return {};
}

// The query set and its buffers, made when first needed.
bool GpuProfiler::prepare() {
  if (!enabled()) return false;
  if (queries_) return true;
  auto queries = device_.create_timestamps(2);
  auto resolved = device_.create_buffer(256, BufferUse::resolve);
  auto readback = device_.create_buffer(256, BufferUse::readback);
  if (!queries || !resolved || !readback) return false;
  queries_ = std::move(*queries);
  resolved_ = std::move(*resolved);
  readback_ = std::move(*readback);
  return true;
}

const WGPUPassTimestampWrites* GpuProfiler::writes(uint32_t begin, uint32_t end) {
  if (!prepare()) return nullptr;
  writes_.querySet = queries_->get();
  writes_.beginningOfPassWriteIndex = begin;
  writes_.endOfPassWriteIndex = end;
  return &writes_;
}

const WGPUPassTimestampWrites* GpuProfiler::pass_writes_both() { return writes(0, 1); }
const WGPUPassTimestampWrites* GpuProfiler::pass_writes_begin() {
  return writes(0, WGPU_QUERY_SET_INDEX_UNDEFINED);
}
const WGPUPassTimestampWrites* GpuProfiler::pass_writes_end() {
  return writes(WGPU_QUERY_SET_INDEX_UNDEFINED, 1);
}

void GpuProfiler::resolve(WGPUCommandEncoder encoder) {
  if (!enabled() || !queries_) return;
  const Api& api = device_.api();
  api.CommandEncoderResolveQuerySet(encoder, queries_->get(), 0, 2, resolved_.get(), 0);
  api.CommandEncoderCopyBufferToBuffer(encoder, resolved_.get(), 0, readback_.get(), 0,
                                       2 * kStampBytes);
}

void GpuProfiler::accumulate(Phase phase) {
  if (!enabled() || !queries_) return;
  const std::shared_ptr<const MapState> map = device_.map(readback_, 2 * kStampBytes);
  if (!device_.wait(*map, std::chrono::seconds(60))) return recorder_.drop();
  uint64_t stamps[2];
  const void* const data =
      device_.api().BufferGetConstMappedRange(readback_.get(), 0, sizeof(stamps));
  std::copy_n(static_cast<const uint64_t*>(data), 2, stamps);
  device_.api().BufferUnmap(readback_.get());
  const auto ticks = profile::ticks_between(clock_of(device_), stamps[0], stamps[1]);
  if (!ticks) return recorder_.drop();
  // A call of no length at all is still a call: its end is its begin.
  recorder_.add(recorder_.op(to_string(phase), phase), 1,
                1 + profile::ticks_to_ns(clock_of(device_), *ticks));
  recorder_.end_step();
}

Result<std::unique_ptr<StepTimer>> StepTimer::create(Device& device, uint32_t stamp_count) {
  std::unique_ptr<StepTimer> timer(new StepTimer(device, stamp_count));
  for (uint32_t made = 0; made < stamp_count; made += kQueriesPerSet) {
    QUALIA_ASSIGN(QuerySet set,
                  device.create_timestamps(std::min(stamp_count - made, kQueriesPerSet)));
    timer->sets_.push_back(std::move(set));
  }
  const uint64_t bytes = uint64_t{stamp_count} * kStampBytes;
  QUALIA_ASSIGN(timer->resolved_, device.create_buffer(bytes, BufferUse::resolve));
  QUALIA_ASSIGN(timer->readback_, device.create_buffer(bytes, BufferUse::readback));
  return timer;
}

void StepTimer::clear() {
  used_ = 0;
  calls_.clear();
}

void StepTimer::stamp(WGPUComputePassEncoder pass) {
  QUALIA_CHECK(used_ < capacity_);
  device_.api().ComputePassEncoderWriteTimestamp(pass, sets_[used_ / kQueriesPerSet].get(),
                                                 used_ % kQueriesPerSet);
  ++used_;
}

const WGPUPassTimestampWrites* StepTimer::pass_writes() {
  // Both stamps of a pass lie in one set: kQueriesPerSet is even, and so is used_.
  QUALIA_CHECK(used_ + 2 <= capacity_);
  writes_.querySet = sets_[used_ / kQueriesPerSet].get();
  writes_.beginningOfPassWriteIndex = used_ % kQueriesPerSet;
  writes_.endOfPassWriteIndex = used_ % kQueriesPerSet + 1;
  used_ += 2;
  return &writes_;
}

void StepTimer::add_call(uint32_t op, const profile::Cost& cost, uint32_t begin, uint32_t end) {
  calls_.push_back({op, begin, end, cost});
}

void StepTimer::add_cost(const profile::Cost& cost) {
  calls_.back().cost.bytes += cost.bytes;
  calls_.back().cost.multiply_adds += cost.multiply_adds;
}

void StepTimer::resolve(WGPUCommandEncoder encoder) {
  const Api& api = device_.api();
  for (uint32_t first = 0; first < used_; first += kQueriesPerSet) {
    const uint32_t count = std::min(used_ - first, kQueriesPerSet);
    api.CommandEncoderResolveQuerySet(encoder, sets_[first / kQueriesPerSet].get(), 0, count,
                                      resolved_.get(), first * kStampBytes);
  }
  api.CommandEncoderCopyBufferToBuffer(encoder, resolved_.get(), 0, readback_.get(), 0,
                                       used_ * kStampBytes);
}

void StepTimer::map() { map_ = device_.map(readback_, used_ * kStampBytes); }

void StepTimer::read(profile::Recorder& recorder) {
  if (map_->has_failed) return recorder.drop(calls_.size());
  const auto* const stamps = static_cast<const uint64_t*>(
      device_.api().BufferGetConstMappedRange(readback_.get(), 0, used_ * kStampBytes));
  const profile::TickClock clock = clock_of(device_);
  // Counted from the step's first stamp, so that the conversion to nanoseconds is exact.
  const uint64_t origin = used_ > 0 ? stamps[0] : 0;
  for (const Call& call : calls_) {
    const auto begin = profile::ticks_between(clock, origin, stamps[call.begin]);
    const auto length = profile::ticks_between(clock, stamps[call.begin], stamps[call.end]);
    if (!begin || !length) {
      recorder.drop();
      continue;
    }
    // From 1, since a time of 0 means a missing sample.
    recorder.add(call.op, 1 + profile::ticks_to_ns(clock, *begin),
                 1 + profile::ticks_to_ns(clock, *begin + *length), call.cost);
  }
  device_.api().BufferUnmap(readback_.get());
  recorder.end_step();
}

}  // namespace qualia::lanes::wgpu

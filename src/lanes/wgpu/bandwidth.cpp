#include "lanes/wgpu/bandwidth.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "lanes/wgpu/timestamps.h"

namespace qualia::lanes::wgpu {
namespace {

constexpr uint32_t kReadThreads = 256;
constexpr uint32_t kReadsAThread = 16;
constexpr int kReadRuns = 8;

// 1 GiB is 17 times the largest cache of a GPU today (60 MiB); a software device reads what the
// host's memory gives, and slowly.
uint64_t buffer_bytes(const AdapterFacts& facts) {
  const uint64_t wanted = facts.kind == DeviceClass::cpu ? uint64_t{64} << 20 : uint64_t{1} << 30;
  const uint64_t allowed =
      std::min(facts.limits.maxStorageBufferBindingSize, facts.limits.maxBufferSize);
  constexpr uint64_t kUnit = uint64_t{kReadThreads} * kReadsAThread * 16;
  return std::min(wanted, allowed) / kUnit * kUnit;
}

// One pass over the buffer; its seconds by the device's clock, else by the host's.
Result<double> read_once(Device& device, GpuProfiler& profiler, const Dispatch& dispatch,
                         const Buffer& sums, const Buffer& readback) {
  const Api& api = device.api();
  const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device.raw(), nullptr));
  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  descriptor.timestampWrites = profiler.pass_writes_both();
  ComputePass pass(api, api.CommandEncoderBeginComputePass(encoder.get(), &descriptor));
  api.ComputePassEncoderSetPipeline(pass.get(), dispatch.kernel->pipeline.get());
  api.ComputePassEncoderSetBindGroup(pass.get(), 0, dispatch.group, 0, nullptr);
  api.ComputePassEncoderSetImmediates(pass.get(), 0, dispatch.immediates.data(),
                                      sizeof(dispatch.immediates));
  api.ComputePassEncoderDispatchWorkgroups(pass.get(), dispatch.x, dispatch.y, 1);
  api.ComputePassEncoderEnd(pass.get());
  pass.reset();
  profiler.resolve(encoder.get());
  api.CommandEncoderCopyBufferToBuffer(encoder.get(), sums.get(), 0, readback.get(), 0, 16);
  const CommandBuffer commands(api, api.CommandEncoderFinish(encoder.get(), nullptr));
  QUALIA_TRY(device.errors().take());
  const WGPUCommandBuffer raw = commands.get();
  const auto start = std::chrono::steady_clock::now();
  api.QueueSubmit(device.queue(), 1, &raw);
  const auto map = device.map(readback, 16);
  QUALIA_TRY(device.wait(*map, std::chrono::seconds(60)));
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  api.BufferUnmap(readback.get());
  profiler.reset();
  profiler.accumulate(Phase::gemm);
  const PhaseTotal measured = profiler.snapshot()[static_cast<size_t>(Phase::gemm)];
  return measured.calls > 0 ? static_cast<double>(measured.total_ns) * 1e-9 : waited.count();
}

}  // namespace

Result<double> measure_read_bandwidth(Device& device) {
  const uint64_t bytes = buffer_bytes(device.facts());
  QUALIA_ASSIGN(const Buffer data, device.create_buffer(bytes, BufferUse::storage));
  const auto groups = static_cast<uint32_t>(bytes / 16 / kReadThreads / kReadsAThread);
  QUALIA_ASSIGN(const Buffer sums,
                device.create_buffer(uint64_t{groups} * sizeof(uint32_t), BufferUse::storage));
  QUALIA_ASSIGN(const Buffer readback, device.create_buffer(16, BufferUse::readback));
  const ShaderConstant constants[] = {{"THREADS", kReadThreads}, {"READS", kReadsAThread}};
  Dispatch dispatch;
  QUALIA_ASSIGN(dispatch.kernel, device.kernel("read", constants, "rw"));
  const Binding bindings[] = {whole(data), whole(sums)};
  QUALIA_ASSIGN(const BindGroup group, device.bind(*dispatch.kernel, bindings));
  dispatch.group = group.get();
  dispatch.x = std::min(groups, 32768U);
  dispatch.y = (groups + dispatch.x - 1) / dispatch.x;
  dispatch.immediates = {groups};
  GpuProfiler profiler(device, true);
  double best = 0.0;
  for (int run = 0; run < kReadRuns; ++run) {
    QUALIA_ASSIGN(const double seconds, read_once(device, profiler, dispatch, sums, readback));
    // The first run fills the buffer with zeros.
    if (run > 0 && seconds > 0.0) best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace qualia::lanes::wgpu

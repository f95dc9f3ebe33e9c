// The profiler of single kernels: what it measures, what it drops, and that it is not there when
// nobody asked for it. Rows P of the profiler's bug reports.
#include "lanes/wgpu/timestamps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lanes/wgpu/kernel_harness.h"
#include "lanes/wgpu/recorded_api.h"

namespace qualia::lanes::wgpu {
namespace {

using testing::HasSubstr;

constexpr uint32_t kElements = 65'536;
constexpr uint32_t kRounds = 4096;
constexpr std::string_view kCongruence = R"(
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var acc = values[id.x];
  for (var i = 0u; i < ROUNDS; i++) { acc = acc * 1664525u + 1013904223u; }
  values[id.x] = acc;
})";

const Kernel& congruence(Device& device, uint32_t rounds) {
  const std::string text = fmt::format("const ROUNDS = {}u;{}", rounds, kCongruence);
  return **device.compile(fmt::format("congruence {}", rounds), text, "w");
}

// Counts up from 1, as many as `groups` of 64 take.
std::vector<uint32_t> first_values(size_t count) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(i + 1);
  return values;
}

// One pass of the congruence with the profiler around it.
void run_profiled(Device& device, GpuProfiler& profiler, uint32_t rounds, const Buffer& values,
                  uint32_t count, Phase phase = Phase::gemm) {
  KernelHarness(device).run(congruence(device, rounds), {&values}, {}, {count / 64, 1, 1},
                            profiler.pass_writes_both(),
                            [&](WGPUCommandEncoder encoder) { profiler.resolve(encoder); });
  profiler.accumulate(phase);
}

class SelfTest : public testing::TestWithParam<Backend> {};

TEST_P(SelfTest, TimesOneCallOfAKernelWhoseResultIsTheHosts) {
  const std::unique_ptr<Device> device = open_software_device(GetParam());
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, false);
  profiler.set_enabled(true);
  if (!profiler.enabled()) GTEST_SKIP() << profiler.unavailable_reason();
  KernelHarness harness(*device);
  std::vector<uint32_t> expected = first_values(kElements);
  const Buffer values = harness.upload(expected);
  run_profiled(*device, profiler, kRounds, values, kElements);
  for (uint32_t& value : expected) {
    for (uint32_t i = 0; i < kRounds; ++i) value = value * 1664525U + 1013904223U;
  }
  EXPECT_EQ(harness.download<uint32_t>(values, kElements), expected);
  const auto phases = profiler.snapshot();
  for (const Phase phase : kPhases) {
    const PhaseTotal& total = phases[static_cast<size_t>(phase)];
    EXPECT_EQ(total.calls, phase == Phase::gemm ? 1U : 0U) << to_string(phase);
    EXPECT_EQ(total.total_ns > 0, phase == Phase::gemm) << to_string(phase);
  }
  EXPECT_EQ(profiler.dropped(), 0U);
  EXPECT_TRUE(profiler.any_recorded());
  profiler.reset();
  EXPECT_FALSE(profiler.any_recorded());
}

INSTANTIATE_TEST_SUITE_P(Devices, SelfTest, testing::Values(Backend::vulkan, Backend::gl),
                         [](const auto& test) { return std::string(to_string(test.param)); });

class GpuProfilerTest : public testing::Test {
 protected:
  // A device of functions that `change` was given to change; nullptr: not on this machine.
  template <typename Change>
  std::unique_ptr<Device> open(const Change& change, AdapterFeatures* features = nullptr) {
    const Result<std::shared_ptr<const Api>> real = load_api();
    if (!real) return nullptr;
    auto api = std::make_shared<Api>(**real);
    std::optional<AdapterEntry> entry = software_adapter(*api, Backend::vulkan);
    if (!entry) return nullptr;
    if (features) entry->facts.features = *features;
    change(*api);
    return Device::open(std::move(api), std::move(*entry)).value();
  }
};

TEST_F(GpuProfilerTest, RecordsNothingUnlessAskedFor) {
  const Result<std::shared_ptr<const Api>> real = load_api();
  if (!real) GTEST_SKIP() << "no wgpu";
  CallRecorder recorder(**real);
  std::optional<AdapterEntry> entry = software_adapter(**real, Backend::vulkan);
  if (!entry) GTEST_SKIP() << "no software device";
  const std::unique_ptr<Device> device = Device::open(recorded_api(), std::move(*entry)).value();
  GpuProfiler profiler(*device, false);
  profiler.set_enabled(true);
  profiler.set_enabled(false);
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  run_profiled(*device, profiler, 1, values, 64);  // compiles
  recorder.clear();
  run_profiled(*device, profiler, 1, values, 64);
  const std::vector<std::string> off = recorder.calls();
  recorder.clear();
  harness.run(congruence(*device, 1), {&values}, {}, {1, 1, 1});
  EXPECT_EQ(off, recorder.calls());
  EXPECT_GT(off.size(), 5U);
  EXPECT_EQ(recorder.count("DeviceCreateQuerySet"), 0U);
  EXPECT_EQ(profiler.pass_writes_both(), nullptr);
  EXPECT_EQ(profiler.pass_writes_begin(), nullptr);
  EXPECT_EQ(profiler.pass_writes_end(), nullptr);
  EXPECT_FALSE(profiler.any_recorded());
  EXPECT_EQ(profiler.dropped(), 0U);
}

TEST_F(GpuProfilerTest, EnvironmentAsksEvenWhereTheProgramDoesNot) {
  const std::unique_ptr<Device> device = open([](Api&) {});
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, true);
  profiler.set_enabled(false);
  EXPECT_TRUE(profiler.enabled());
  EXPECT_NE(profiler.pass_writes_both(), nullptr);
}

TEST_F(GpuProfilerTest, BeginAndEndMayBeOfTwoPasses) {
  const std::unique_ptr<Device> device = open([](Api&) {});
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, true);
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  const Kernel& kernel = congruence(*device, 100'000);
  harness.run(kernel, {&values}, {}, {1, 1, 1}, profiler.pass_writes_begin());
  harness.run(kernel, {&values}, {}, {1, 1, 1}, profiler.pass_writes_end(),
              [&](WGPUCommandEncoder encoder) { profiler.resolve(encoder); });
  profiler.accumulate(Phase::attention);
  EXPECT_EQ(profiler.snapshot()[static_cast<size_t>(Phase::attention)].calls, 1U);
}

TEST_F(GpuProfilerTest, DeviceWithoutTimestampsSaysSoAndGivesNone) {
  AdapterFeatures features;
  features.immediates = true;
  const std::unique_ptr<Device> device = open([](Api&) {}, &features);
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, true);
  EXPECT_FALSE(profiler.enabled());
  EXPECT_EQ(profiler.unavailable_reason(), "the device has no timestamps");
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  run_profiled(*device, profiler, 1, values, 64);
  EXPECT_FALSE(profiler.any_recorded());
}

float zero_period(WGPUQueue) { return 0.0F; }
float nan_period(WGPUQueue) { return std::numeric_limits<float>::quiet_NaN(); }

TEST_F(GpuProfilerTest, PeriodThatTellsNothingIsNoClock) {  // row P04
  for (const auto period : {zero_period, nan_period}) {
    const std::unique_ptr<Device> device =
        open([&](Api& api) { api.QueueGetTimestampPeriod = period; });
    if (!device) GTEST_SKIP() << "no software device";
    GpuProfiler profiler(*device, true);
    EXPECT_FALSE(profiler.enabled());
    EXPECT_THAT(profiler.unavailable_reason(), HasSubstr("timestamps have a period of"));
    EXPECT_EQ(profiler.pass_writes_both(), nullptr);
  }
}

// What the next reading of stamps gives.
std::array<uint64_t, 2>& planted_stamps() {
  static std::array<uint64_t, 2> stamps{};
  return stamps;
}
const void* planted_range(WGPUBuffer, size_t, size_t) { return planted_stamps().data(); }

TEST_F(GpuProfilerTest, DropsBackwardsAndMissingSamplesAndGoesOn) {  // rows P05 and P06
  const std::unique_ptr<Device> device =
      open([](Api& api) { api.BufferGetConstMappedRange = planted_range; });
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, true);
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  const std::array<uint64_t, 2> bad[] = {{1000, 999}, {1000, 0}, {0, 1000}, {0, 0}};
  for (const auto& stamps : bad) {
    planted_stamps() = stamps;
    run_profiled(*device, profiler, 1, values, 64);
  }
  EXPECT_EQ(profiler.dropped(), 4U);
  EXPECT_FALSE(profiler.any_recorded());
  // Beyond 2^53, where a float would have lost the difference.
  planted_stamps() = {(uint64_t{1} << 60) + 1, (uint64_t{1} << 60) + 8};
  run_profiled(*device, profiler, 1, values, 64);
  const PhaseTotal total = profiler.snapshot()[static_cast<size_t>(Phase::gemm)];
  EXPECT_EQ(total.calls, 1U);
  EXPECT_EQ(total.total_ns, static_cast<uint64_t>(std::llround(7 * device->timestamp_period_ns())));
  EXPECT_EQ(profiler.dropped(), 4U);
}

TEST_F(GpuProfilerTest, FortyProfilersAtOnceAndAgainAfterThem) {  // row P08
  const std::unique_ptr<Device> device = open([](Api&) {});
  if (!device) GTEST_SKIP() << "no software device";
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<std::unique_ptr<GpuProfiler>> profilers;
    for (int i = 0; i < 40; ++i) {
      profilers.push_back(std::make_unique<GpuProfiler>(*device, true));
      run_profiled(*device, *profilers.back(), 1, values, 64);
      EXPECT_TRUE(profilers.back()->any_recorded());
    }
  }
}

WGPUQuerySet no_query_set(WGPUDevice, const WGPUQuerySetDescriptor*) { return nullptr; }

TEST_F(GpuProfilerTest, DeviceThatGivesNoQuerySetRunsUnprofiled) {  // row P08
  const std::unique_ptr<Device> device =
      open([](Api& api) { api.DeviceCreateQuerySet = no_query_set; });
  if (!device) GTEST_SKIP() << "no software device";
  GpuProfiler profiler(*device, true);
  KernelHarness harness(*device);
  const Buffer values = harness.upload(first_values(64));
  run_profiled(*device, profiler, 1, values, 64);
  EXPECT_FALSE(profiler.any_recorded());
  EXPECT_EQ(harness.download<uint32_t>(values, 1), std::vector<uint32_t>{1664525U + 1013904223U});
}

// Stamps in one pass, read back into a recorder.
profile::Snapshot stamped(Device& device, uint32_t count) {
  const std::unique_ptr<StepTimer> timer = StepTimer::create(device, count).value();
  EXPECT_EQ(timer->capacity(), count);
  profile::Recorder recorder;
  const uint32_t op = recorder.op("op", Phase::gemm);
  const Api& api = device.api();
  const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device.raw(), nullptr));
  ComputePass pass(api, api.CommandEncoderBeginComputePass(encoder.get(), nullptr));
  for (uint32_t i = 0; i < count; ++i) {
    timer->stamp(pass.get());
    if (i > 0) timer->add_call(op, {.bytes = 1}, i - 1, i);
  }
  api.ComputePassEncoderEnd(pass.get());
  pass.reset();
  timer->resolve(encoder.get());
  const CommandBuffer commands(api, api.CommandEncoderFinish(encoder.get(), nullptr));
  EXPECT_TRUE(device.errors().take().has_value());
  const WGPUCommandBuffer raw = commands.get();
  api.QueueSubmit(device.queue(), 1, &raw);
  timer->map();
  while (!timer->is_ready()) device.poll();
  timer->read(recorder);
  EXPECT_TRUE(device.errors().take().has_value());
  return recorder.snapshot();
}

TEST_F(GpuProfilerTest, StepTimerFillsAWholeSetAndGoesOnInTheNext) {  // row P13
  const std::unique_ptr<Device> device = open([](Api&) {});
  if (!device) GTEST_SKIP() << "no software device";
  if (!device->facts().features.timestamps_inside_passes) GTEST_SKIP() << "no stamps in passes";
  for (const uint32_t count :
       {2U, StepTimer::kQueriesPerSet, StepTimer::kQueriesPerSet + 2, 10'000U}) {
    const profile::Snapshot totals = stamped(*device, count);
    EXPECT_EQ(totals.ops.at(0).calls + totals.dropped, count - 1);
    EXPECT_EQ(totals.dropped, 0U) << count;
    EXPECT_EQ(totals.ops.at(0).cost.bytes, count - 1);
  }
}

}  // namespace
}  // namespace qualia::lanes::wgpu

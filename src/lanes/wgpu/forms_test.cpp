// The activation forms of forms.wgsl, by way of activate.wgsl.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lanes/wgpu/kernel_harness.h"

namespace qualia::lanes::wgpu {
namespace {

class FormsKernels : public testing::TestWithParam<Backend> {};

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0.0F, 2.0F);
  std::vector<float> values(count);
  for (float& v : values) v = value(random);
  return values;
}

struct FormsRun {
  std::vector<uint32_t> codes;
  std::vector<float> meta;  // [row][part][group][half] {step, step * sum}
  std::vector<float> floats;
};

FormsRun run_activate(Device& device, const std::vector<float>& x, uint32_t rows, uint32_t width,
                      uint32_t parts) {
  KernelHarness harness(device);
  const uint32_t groups = (width + 31) / 32;
  const Buffer hidden = harness.upload(x);
  const Buffer codes = harness.poisoned(size_t{rows} * parts * groups * 8);
  const Buffer meta = harness.poisoned(size_t{rows} * parts * groups * 4);
  const Buffer floats = harness.poisoned(size_t{rows} * groups * 32);
  harness.run(
      "activate",
      {{"THREADS", 128}, {"WANTS_INT8", 1}, {"WANTS_F32", 1}, {"PARTS", parts}, {"IS_FUSED", 1}},
      "rwww", {&hidden, &codes, &meta, &floats}, {groups, width}, {(groups * 8 + 127) / 128, rows});
  return {harness.download<uint32_t>(codes, size_t{rows} * parts * groups * 8),
          harness.download<float>(meta, size_t{rows} * parts * groups * 4),
          harness.download<float>(floats, size_t{rows} * groups * 32)};
}

int32_t code_at(const FormsRun& run, size_t place, size_t k) {
  return static_cast<int8_t>(run.codes[place * 8 + k / 4] >> (k % 4 * 8) & 0xFFU);
}

TEST_P(FormsKernels, CodesAndStepsGiveTheValuesBackWithinHalfAStep) {
  const std::unique_ptr<Device> device = open_software_device(GetParam());
  if (!device) GTEST_SKIP() << "no software device";
  for (const uint32_t parts : {1U, 2U}) {
    for (const uint32_t width : {32U, 80U, 576U, 1536U}) {
      SCOPED_TRACE(testing::Message() << width << " wide, " << parts << " parts");
      const uint32_t rows = 3;
      const uint32_t groups = (width + 31) / 32;
      const std::vector<float> x = random_values(size_t{rows} * width, width);
      const FormsRun run = run_activate(*device, x, rows, width, parts);
      for (size_t row = 0; row < rows; ++row) {
        for (size_t k = 0; k < groups * 32; ++k) {
          const float expected = k < width ? x[row * width + k] : 0.0F;
          ASSERT_EQ(run.floats[row * groups * 32 + k], expected);
          float value = 0.0F;
          float step = 0.0F;
          for (size_t part = 0; part < parts; ++part) {
            const size_t place = (row * parts + part) * groups + k / 32;
            step = run.meta[place * 4];
            value += step * static_cast<float>(code_at(run, place, k % 32));
          }
          ASSERT_NEAR(value, expected, step * 0.51F) << "row " << row << ", k " << k;
        }
        for (size_t place = row * parts * groups; place < (row + 1) * parts * groups; ++place) {
          for (size_t half = 0; half < 2; ++half) {
            int32_t sum = 0;
            for (size_t k = 0; k < 16; ++k) sum += code_at(run, place, half * 16 + k);
            const float step = run.meta[place * 4 + half * 2];
            const float expected = step * static_cast<float>(sum);
            ASSERT_EQ(step, run.meta[place * 4]);
            ASSERT_NEAR(run.meta[place * 4 + half * 2 + 1], expected, 1e-6F * std::abs(expected));
          }
        }
      }
    }
  }
}

TEST_P(FormsKernels, NaNAndInfinityMakeTheStepOfTheirGroupNaN) {  // row N20
  const std::unique_ptr<Device> device = open_software_device(GetParam());
  if (!device) GTEST_SKIP() << "no software device";
  std::vector<float> x = random_values(96, 1);
  x[40] = std::nanf("");
  x[70] = -INFINITY;
  const FormsRun run = run_activate(*device, x, 1, 96, 1);
  EXPECT_TRUE(std::isfinite(run.meta[0]));
  EXPECT_TRUE(std::isnan(run.meta[4]));
  EXPECT_TRUE(std::isnan(run.meta[8]));
}

INSTANTIATE_TEST_SUITE_P(Devices, FormsKernels, testing::Values(Backend::vulkan, Backend::gl),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace qualia::lanes::wgpu

// Whole random models on the wgpu lane against the reference lane, on Mesa's software devices:
// Vulkan (with the kernels of CPUs and of GPUs, with and without subgroups) and OpenGL.
#include <gtest/gtest.h>

#include "lanes/reference/reference_lane.h"
#include "lanes/wgpu/test_model.h"
#include "parity/parity_cases.h"

namespace qualia::lanes {
namespace {

using wgpu::TestDevice;

// Nine rows of eight and one, and one of four: few numbers of rows, since each has kernels of its
// own to compile.
constexpr size_t kPrompt = 73;
constexpr size_t kShortPrompt = 4;

// Compares with the reference, or skips.
void expect_parity(const TestDevice& device, const ParityShape& shape,
                   const std::vector<DType>& types, const std::vector<Precision>& precisions,
                   size_t prompt) {
  const std::unique_ptr<Lane> lane = make_wgpu_lane(device.options());
  const auto circuit = wgpu::software_circuit(*lane, device.backend);
  if (!circuit) GTEST_SKIP() << "no software device through " << device.backend;
  for (const DType dtype : types) {
    TestModel test(shape.shape);
    test.matrix_dtype = dtype;
    const Logits expected = logits_of(test, *make_reference_lane(), Precision::exact, {}, prompt);
    for (const Precision precision : precisions) {
      SCOPED_TRACE(testing::Message()
                   << dtype_name(dtype) << ", precision " << static_cast<int>(precision));
      const Logits actual = logits_of(test, *lane, precision, *circuit, prompt);
      for (size_t p = 0; p < expected.size(); ++p) {
        expect_alike(actual[p], expected[p], precision);
      }
    }
  }
}

// Together every head ratio and size, weight form, precision and device, each once at least.
struct ParityCase {
  const TestDevice& device;
  const char* shape;
  DType dtype;
  Precision precision;
  size_t prompt = kPrompt;
};
constexpr ParityCase kCases[] = {
    {wgpu::kVulkanGpuKernels, "Ratio3Head64Width576", DType::q4_0, Precision::fast},
    {wgpu::kVulkanGpuKernels, "Ratio7Head128", DType::q8_0, Precision::precise},
    {wgpu::kVulkanGpuKernels, "Ratio1Head64", DType::f16, Precision::fast, kShortPrompt},
    {wgpu::kVulkanWithoutSubgroups, "Ratio3Head80", DType::q4_0, Precision::precise},
    {wgpu::kVulkan, "Ratio8Head256", DType::q4_0, Precision::fast},
    {wgpu::kGl, "Ratio4Head96", DType::q8_0, Precision::fast},
    {wgpu::kGl, "Ratio1Head112", DType::f32, Precision::exact}};

class WgpuParity : public testing::TestWithParam<ParityCase> {};

TEST_P(WgpuParity, WgpuLaneGivesTheReferenceLogits) {
  const ParityCase& test = GetParam();
  const auto* const shape =
      std::find_if(std::begin(kParityShapes), std::end(kParityShapes),
                   [&](const ParityShape& entry) { return entry.name == std::string(test.shape); });
  ASSERT_NE(shape, std::end(kParityShapes));
  expect_parity(test.device, *shape, {test.dtype}, {test.precision}, test.prompt);
}

INSTANTIATE_TEST_SUITE_P(Cases, WgpuParity, testing::ValuesIn(kCases), [](const auto& entry) {
  return std::string(entry.param.device.name) + entry.param.shape;
});

constexpr TestDevice kDevices[] = {wgpu::kVulkan, wgpu::kVulkanGpuKernels,
                                   wgpu::kVulkanWithoutSubgroups, wgpu::kGl};

class WgpuParityOfAll : public testing::TestWithParam<std::tuple<TestDevice, ParityShape>> {};

TEST_P(WgpuParityOfAll, WgpuLaneGivesTheReferenceLogits) {
  expect_parity(std::get<0>(GetParam()), std::get<1>(GetParam()),
                {DType::f32, DType::f16, DType::q8_0, DType::q4_0},
                {Precision::fast, Precision::precise, Precision::exact}, 66);
}

INSTANTIATE_TEST_SUITE_P(ShapesLong, WgpuParityOfAll,
                         testing::Combine(testing::ValuesIn(kDevices),
                                          testing::ValuesIn(kParityShapes)),
                         [](const auto& entry) {
                           return std::string(std::get<0>(entry.param).name) +
                                  std::get<1>(entry.param).name;
                         });

}  // namespace
}  // namespace qualia::lanes

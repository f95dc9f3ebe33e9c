// The cases that every lane passes, on the wgpu lane: bit for bit within the kernels of one number
// of rows, within row N04's bound across them.
#include "lanes/batching_cases.h"
#include "lanes/wgpu/test_model.h"

namespace qualia::lanes {

using WgpuBatchingModels =
    testing::Types<wgpu::TestModelOf<wgpu::kVulkanGpuKernels, Precision::precise, DType::q8_0>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Wgpu, Batching, WgpuBatchingModels);

using WgpuBatchingLongModels = testing::Types<
    wgpu::TestModelOf<wgpu::kGl, Precision::exact>,
    wgpu::TestModelOf<wgpu::kVulkan, Precision::exact, DType::q4_0>,
    wgpu::TestModelOf<wgpu::kVulkanGpuKernels, Precision::exact>,
    wgpu::TestModelOf<wgpu::kVulkanWithoutSubgroups, Precision::precise, DType::q4_0>,
    wgpu::TestModelOf<wgpu::kGl, Precision::precise, DType::q8_0>>;
INSTANTIATE_TYPED_TEST_SUITE_P(WgpuLong, Batching, WgpuBatchingLongModels);

}  // namespace qualia::lanes

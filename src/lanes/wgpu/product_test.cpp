// The products of the wgpu lane against the scalar reference, over weight types, forms of
// activations, numbers of rows and both kernels.
// Bound: half a step of every code of the activations, times its weight; the rounding of scales to
// binary16 where the type's are products; float32 sums.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lanes/planes.h"
#include "lanes/test_weights.h"
#include "lanes/wgpu/kernel_harness.h"
#include "ops/dequantize.h"

namespace qualia::lanes::wgpu {
namespace {

// What a device is tested with: kernels take long to compile.
enum class Extent { few_types, every_type, everything };

struct ProductCase {
  const char* name;
  Backend backend;
  bool has_subgroups;
  Extent extent;
};
constexpr ProductCase kCases[] = {
    {"Vulkan", Backend::vulkan, true, Extent::every_type},
    {"VulkanWithoutSubgroups", Backend::vulkan, false, Extent::few_types},
    {"Gl", Backend::gl, false, Extent::few_types}};
constexpr ProductCase kCasesLong[] = {
    {"Vulkan", Backend::vulkan, true, Extent::everything},
    {"VulkanWithoutSubgroups", Backend::vulkan, false, Extent::everything},
    {"Gl", Backend::gl, false, Extent::everything}};

// Of each kind of kernel one: INT4, products of scales, floats.
bool is_of_few(DType dtype) {
  return dtype == DType::q4_0 || dtype == DType::q6_k || dtype == DType::f16;
}

// Every type decodes fast; other precisions and numbers of rows are for the few.
bool is_tested(Extent extent, DType dtype, Precision precision, uint32_t m) {
  if (extent == Extent::everything) return true;
  if (precision == Precision::fast && m == 1)
    return extent == Extent::every_type || is_of_few(dtype);
  return extent == Extent::every_type && is_of_few(dtype) && precision != Precision::fast && m == 3;
}

class Products : public testing::TestWithParam<ProductCase> {};

struct ProductRun {
  const SourceWeight& weight;
  const std::vector<float>& x;  // [m][k]
  uint32_t m;
  Precision precision;
  bool is_tile;
};

// Values as the activation forms hold them: codes of 8 bits, or of 15 in two parts.
struct HostForms {
  std::vector<uint32_t> codes;
  std::vector<float> meta;
  std::vector<float> floats;
};

HostForms make_forms(const std::vector<float>& x, size_t m, size_t k, size_t parts) {
  const size_t groups = (k + 31) / 32;
  HostForms forms;
  forms.codes.resize(m * parts * groups * 8);
  forms.meta.resize(m * parts * groups * 4);
  forms.floats.resize(m * groups * 32);
  for (size_t row = 0; row < m; ++row) {
    std::copy_n(&x[row * k], k, &forms.floats[row * groups * 32]);
    for (size_t group = 0; group < groups; ++group) {
      float rest[32];
      std::copy_n(&forms.floats[(row * groups + group) * 32], 32, rest);
      float largest = 0.0F;
      for (const float v : rest) largest = std::max(largest, std::abs(v));
      for (size_t part = 0; part < parts; ++part) {
        const float step = largest / 127.0F / (part == 1 ? 254.0F : 1.0F);
        const size_t place = (row * parts + part) * groups + group;
        int32_t sums[2] = {};
        for (size_t i = 0; i < 32; ++i) {
          const auto code = step > 0.0F ? static_cast<int32_t>(std::lround(rest[i] / step)) : 0;
          rest[i] -= step * static_cast<float>(code);
          sums[i / 16] += code;
          forms.codes[place * 8 + i / 4] |= (static_cast<uint32_t>(code) & 0xFFU) << (i % 4 * 8);
        }
        for (size_t half = 0; half < 2; ++half) {
          forms.meta[place * 4 + half * 2] = step;
          forms.meta[place * 4 + half * 2 + 1] = step * static_cast<float>(sums[half]);
        }
      }
    }
  }
  return forms;
}

std::vector<float> run_product(Device& device, const ProductCase& test, const ProductRun& run) {
  KernelHarness harness(device);
  const PlaneFormat format = plane_format(run.weight.dtype, run.precision).value();
  const size_t n = run.weight.n;
  const size_t k = run.weight.k;
  std::vector<std::byte> codes(n * format.row_code_bytes(k));
  std::vector<std::byte> scales(n * format.row_scale_bytes(k) + 4);
  std::vector<float> factors(n, 1.0F);
  write_planes(run.weight.view(), format, 0, n,
               {codes.data(), scales.data(), format.has_row_factors ? factors.data() : nullptr});
  const bool is_int8 = format.is_integer() && run.precision != Precision::exact;
  const uint32_t parts = is_int8 && run.precision == Precision::precise ? 2 : 1;
  HostForms forms = make_forms(run.x, run.m, k, parts);
  const uint32_t rows_compiled = run.m == 1 ? 1 : run.m == 2 ? 2 : run.m <= 4 ? 4 : 8;
  // Kernels read as many rows as they are compiled for.
  const size_t groups = (k + 31) / 32;
  forms.codes.resize(size_t{std::max(rows_compiled, run.m)} * parts * groups * 8);
  forms.meta.resize(size_t{std::max(rows_compiled, run.m)} * parts * groups * 4);
  forms.floats.resize(size_t{std::max(rows_compiled, run.m)} * groups * 32);
  const Buffer buffers[] = {harness.upload(codes),       harness.upload(scales),
                            harness.upload(factors),     harness.upload(forms.codes),
                            harness.upload(forms.meta),  harness.upload(forms.floats),
                            harness.poisoned(run.m * n), harness.poisoned(1)};
  std::vector<ShaderConstant> constants = {{"CODE", static_cast<uint32_t>(format.code)},
                                           {"SCALES", format.scale_count},
                                           {"HAS_MIN", format.has_min},
                                           {"IS_WIDE", format.is_wide},
                                           {"HAS_FACTORS", format.has_row_factors},
                                           {"IN_PARTS", parts},
                                           {"EPILOGUE", 0}};
  std::vector<const Buffer*> bound;
  for (const Buffer& buffer : buffers) bound.push_back(&buffer);
  const auto rows = static_cast<uint32_t>(n);
  const std::vector<uint32_t> immediates = {rows,  0, rows, static_cast<uint32_t>(groups),
                                            run.m, 1, 0};
  if (run.is_tile) {
    harness.run("product_tile", constants, "rrrrrrwr", bound, immediates,
                {(rows + 127) / 128, (run.m + 63) / 64});
  } else {
    constants.push_back({"IS_INT8", is_int8});
    constants.push_back({"THREADS", 32});
    constants.push_back({"ROWS", 4});
    constants.push_back({"M", rows_compiled});
    constants.push_back({"UNROLL", 2});
    constants.push_back({"HAS_SUBGROUPS", test.has_subgroups});
    harness.run("product", constants, "rrrrrrwr", bound, immediates, {(rows + 3) / 4});
  }
  return harness.download<float>(buffers[6], run.m * n);
}

double largest_of_group(const float* x, size_t k, size_t group) {
  float largest = 0.0F;
  for (size_t i = group * 32; i < std::min(k, group * 32 + 32); ++i) {
    largest = std::max(largest, std::abs(x[i]));
  }
  return static_cast<double>(largest);
}

// Of float32 sums, and of binary16 scales that the K types' products are rounded to.
double relative_error(const ProductRun& run) {
  const PlaneFormat format = plane_format(run.weight.dtype, run.precision).value();
  return 4e-6 + (format.has_row_factors ? 1.0 / 2048.0 : 0.0);
}

// Half a step of a group whose largest value is 1, as the product's activations are coded.
double half_step_of_one(const ProductRun& run) {
  const bool is_int8 = plane_format(run.weight.dtype, run.precision).value().is_integer();
  if (run.precision == Precision::exact || !is_int8) return 0.0;
  return 0.51 / 127.0 / (run.precision == Precision::precise ? 254.0 : 1.0);
}

void expect_product(Device& device, const ProductCase& test, const ProductRun& run) {
  const size_t n = run.weight.n;
  const size_t k = run.weight.k;
  const std::vector<float> actual = run_product(device, test, run);
  const ops::DequantizeFunction dequantize = ops::find_dequantize(run.weight.dtype);
  std::vector<float> w(k);
  const double relative = relative_error(run);
  const double half_step = half_step_of_one(run);
  for (size_t j = 0; j < n; ++j) {
    dequantize(run.weight.view().row(j).data(), w.data(), k);
    for (size_t row = 0; row < run.m; ++row) {
      double sum = 0.0;
      double magnitude = 0.0;
      double lost = 0.0;
      for (size_t i = 0; i < k; ++i) {
        const double term = static_cast<double>(w[i]) * static_cast<double>(run.x[row * k + i]);
        sum += term;
        magnitude += std::abs(term);
        lost += std::abs(static_cast<double>(w[i])) * half_step *
                largest_of_group(&run.x[row * k], k, i / 32);
      }
      ASSERT_NEAR(actual[row * n + j], sum, lost + relative * magnitude + 1e-6)
          << "row " << row << ", column " << j;
    }
  }
}

TEST_P(Products, EqualTheReferenceForEveryWeightTypeAndPrecision) {
  const std::unique_ptr<Device> device = open_software_device(GetParam().backend);
  if (!device) GTEST_SKIP() << "no software device";
  for (const DType dtype : packable_types()) {
    const SourceWeight weight = random_weight(dtype, 37, round_to_block(320, dtype), 5);
    for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
      for (const uint32_t m : {1U, 3U}) {
        if (!is_tested(GetParam().extent, dtype, precision, m)) continue;
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", precision "
                                        << static_cast<int>(precision) << ", " << m << " rows");
        const std::vector<float> x = random_activations(m, weight.k, 7 + m);
        expect_product(*device, GetParam(), {weight, x, m, precision, false});
      }
    }
  }
}

TEST_P(Products, OfManyRowsEqualTheReferenceForIntegerTypes) {
  const std::unique_ptr<Device> device = open_software_device(GetParam().backend);
  if (!device) GTEST_SKIP() << "no software device";
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q4_k, DType::q8_0, DType::q6_k}) {
    const SourceWeight weight = random_weight(dtype, 131, round_to_block(96, dtype), 6);
    for (const Precision precision : {Precision::fast, Precision::precise}) {
      const bool is_base = precision == Precision::fast && dtype == DType::q4_0;
      if (GetParam().extent == Extent::few_types && !is_base) continue;
      if (GetParam().extent == Extent::every_type && precision != Precision::fast) continue;
      SCOPED_TRACE(testing::Message()
                   << dtype_name(dtype) << ", precision " << static_cast<int>(precision));
      const std::vector<float> x = random_activations(67, weight.k, 8);
      expect_product(*device, GetParam(), {weight, x, 67, precision, true});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Products, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(DevicesLong, Products, testing::ValuesIn(kCasesLong),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace qualia::lanes::wgpu

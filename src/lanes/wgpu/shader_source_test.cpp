// The rewrites of shader_source.h, and that wgpu takes every variant that they make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lanes/planes.h"
#include "lanes/test_weights.h"
#include "lanes/wgpu/kernel_harness.h"

namespace qualia::lanes::wgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string variant(std::string_view text, const std::vector<ShaderConstant>& constants = {}) {
  const Result<std::string> made = variant_of_text(text, constants);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or("");
}

TEST(ShaderSource, GivesOverridesTheirValueOrTheOneThatStandsThere) {
  EXPECT_EQ(variant("override A: u32 = 3u;\noverride B: bool = true;\noverride C: i32 = 7;",
                    {{"A", 5}, {"B", 0}}),
            "const A: u32 = 5u;\nconst B: bool = false;\nconst C: i32 = 7;");
}

TEST(ShaderSource, KeepsTheFirstOfTwoEqualOverrides) {
  EXPECT_EQ(variant("override A: u32 = 3u;override A: u32 = 4u;"), "const A: u32 = 3u;");
}

TEST(ShaderSource, IncludesTheVersionThatTheConstantsNameOnce) {
  const std::string with = variant("// include: reduce\nrest", {{"HAS_SUBGROUPS", 1}});
  const std::string without = variant("// include: reduce\nrest", {{"HAS_SUBGROUPS", 0}});
  EXPECT_THAT(with, HasSubstr("subgroupAdd"));
  EXPECT_THAT(without, Not(HasSubstr("subgroupAdd")));
  for (const std::string& text : {with, without}) {
    EXPECT_THAT(text, Not(HasSubstr("// include:")));
    EXPECT_THAT(text, HasSubstr("rest"));
  }
}

TEST(ShaderSource, WritesOutMarkedLoopsAndNoOthers) {
  const std::string_view text =
      "override ROWS: u32 = 2u;\n"
      "for (var r = 0u; r < ROWS; r++) {  // unroll\n  a[r] += p.r + row;\n}\n"
      "for (var r = 0u; r < ROWS; r++) {\n  b[r] = 0;\n}\n";
  EXPECT_EQ(variant(text),
            "const ROWS: u32 = 2u;\n"
            "{\n  a[0u] += p.r + row;\n}\n{\n  a[1u] += p.r + row;\n}\n\n"
            "for (var r = 0u; r < ROWS; r++) {\n  b[r] = 0;\n}\n");
}

TEST(ShaderSource, WritesOutLoopsWithinLoopsAndBoundsOfExpressions) {
  const std::string_view text =
      "override A: u32 = 2u;\nconst N = max(A * 3u - 4u, (A + 1u) / 3u);\n"
      "for (var i = 0u; i < N; i++) {  // unroll\n"
      "for (var j = 0u; j < A; j++) {  // unroll\nf(i, j);\n}\n}\n";
  const std::string made = variant(text);
  for (const char* call : {"f(0u, 0u)", "f(0u, 1u)", "f(1u, 0u)", "f(1u, 1u)"}) {
    EXPECT_THAT(made, HasSubstr(call));
  }
  EXPECT_THAT(made, Not(HasSubstr("f(2u")));
  EXPECT_THAT(made, Not(HasSubstr("for (")));
}

TEST(ShaderSource, WritesALoopOfNoRoundsAsNothing) {
  EXPECT_EQ(variant("a;for (var i = 0u; i < 0u; i++) {  // unroll\nf(i);\n}b;"), "a;b;");
}

TEST(ShaderSource, SaysWhatIsMissing) {
  EXPECT_EQ(shader_variant("no_such", {}).error().message, "There is no shader 'no_such'.");
  EXPECT_EQ(variant_of_text("// include: no_such\n", {}).error().message,
            "There is no shader 'no_such'.");
  EXPECT_EQ(variant_of_text("for (var i = 0u; i < n; i++) {  // unroll\n}", {}).error().message,
            "The bound 'n' of an unrolled loop is no constant.");
  EXPECT_EQ(variant_of_text("for (var i = 0u; i < 2u; i++) {  // unroll\n", {}).error().message,
            "A loop of a shader has no end.");
}

using Constants = std::vector<ShaderConstant>;
struct Variant {
  std::string_view shader;
  Constants constants;
};

Constants joined(Constants a, const Constants& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What matrices are held in, each once.
std::vector<PlaneFormat> all_formats() {
  std::vector<PlaneFormat> formats;
  for (const DType dtype : packable_types()) {
    for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
      const PlaneFormat format = plane_format(dtype, precision).value();
      if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
        formats.push_back(format);
      }
    }
  }
  return formats;
}

void add_products(const PlaneFormat& format, std::vector<Variant>& all) {
  const Constants planes = {{"CODE", static_cast<uint32_t>(format.code)},
                            {"SCALES", format.scale_count},
                            {"HAS_MIN", format.has_min},
                            {"IS_WIDE", format.is_wide},
                            {"HAS_FACTORS", format.has_row_factors}};
  all.push_back({"embedding", planes});
  for (uint32_t parts = 0; parts <= (format.is_integer() ? 2U : 0U); ++parts) {
    const Constants forms =
        joined(planes, {{"IS_INT8", parts > 0}, {"IN_PARTS", std::max(parts, 1U)}});
    if (parts > 0) all.push_back({"product_tile", joined(forms, {{"EPILOGUE", 1}})});
    for (const uint32_t m : {1U, 4U}) {
      const uint32_t subgroups = m == 1 ? 1U : 0U;
      const Constants rows = joined(forms, {{"M", m}, {"HAS_SUBGROUPS", subgroups}});
      const uint32_t epilogue = m == 1 ? 1U : 2U;
      all.push_back({"product", joined(rows, {{"EPILOGUE", epilogue}, {"HAS_NORM", m == 4}})});
      all.push_back({"product_block", joined(rows, {{"EPILOGUE", epilogue},
                                                    {"HAS_NORM", epilogue == 2},
                                                    {"WANTS_INT8", parts > 0},
                                                    {"WANTS_F32", parts == 0},
                                                    {"IN_PARTS", std::max(parts, 1U)},
                                                    {"THREADS", 512},
                                                    {"TEAMS", 16},
                                                    {"OUTPUTS", 16},
                                                    {"HALF_STEPS", 1},
                                                    {"ROWS", epilogue == 2 ? 2U : 1U},
                                                    {"WIDTH", 64}})});
    }
  }
}

void add_others(std::vector<Variant>& all) {
  for (const uint32_t bits : {8U, 16U, 32U}) {
    for (const uint32_t head_dim : {64U, 80U, 256U}) {
      const Constants kv = {
          {"HEAD_DIM", head_dim}, {"PADDED_DIM", head_dim}, {"KV_BITS", bits},    {"KV_HEADS", 2},
          {"HEADS", 6},           {"ROPE_DIMS", 64},        {"IS_INTERLEAVED", 1}};
      all.push_back({"rope_store", kv});
      const Constants attend = joined(kv, {{"TILE_HEADS", 3}, {"THREADS", 128}});
      all.push_back({"attend", attend});
      all.push_back({"attend", joined(attend, {{"FUSED", 1}})});
      all.push_back({"attend", joined(attend, {{"FUSED", 1},
                                               {"IS_DIRECT", 1},
                                               {"WANTS_INT8", 1},
                                               {"WANTS_F32", bits == 32},
                                               {"PARTS", bits / 8 % 3}})});
    }
  }
  for (const uint32_t parts : {1U, 2U}) {
    const Constants forms = {
        {"THREADS", 128}, {"WANTS_INT8", 1}, {"WANTS_F32", parts - 1}, {"PARTS", parts}};
    all.push_back({"norm", joined(forms, {{"QUADS", 2}, {"HAS_SUBGROUPS", parts - 1}})});
    all.push_back({"activate", joined(forms, {{"IS_FUSED", parts - 1}})});
    all.push_back({"prepare", forms});
    all.push_back({"attend_merge", joined(forms, {{"HEADS", 2}, {"HEAD_DIM", 80}})});
  }
  for (const uint32_t is_on : {0U, 1U}) {
    all.push_back({"argmax", {{"IS_MERGE", is_on}}});
    all.push_back({"top_k", {{"IS_FIRST", is_on}}});
  }
}

TEST(ShaderSource, EveryVariantParses) {
  const std::unique_ptr<Device> device = open_software_device(Backend::vulkan);
  if (!device) GTEST_SKIP() << "no software device";
  std::vector<Variant> all;
  for (const PlaneFormat& format : all_formats()) add_products(format, all);
  add_others(all);
  const Api& api = device->api();
  for (const auto& [shader, constants] : all) {
    const Result<std::string> source = shader_variant(shader, constants);
    ASSERT_TRUE(source.has_value()) << shader << ": " << source.error().message;
    ASSERT_THAT(*source, Not(HasSubstr("override "))) << shader;
    ASSERT_THAT(*source, Not(HasSubstr("// unroll"))) << shader;
    WGPUShaderSourceWGSL wgsl = WGPU_SHADER_SOURCE_WGSL_INIT;
    wgsl.code = view(*source);
    WGPUShaderModuleDescriptor descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &wgsl.chain;
    const ShaderModule module(api, api.DeviceCreateShaderModuleTrusted(
                                       device->raw(), &descriptor, WGPUShaderRuntimeChecks_None));
    const Result<void> parsed = device->errors().take();
    std::string text;
    for (const ShaderConstant& constant : constants) {
      text += fmt::format(" {}={}", constant.name, constant.value);
    }
    EXPECT_TRUE(parsed.has_value()) << shader << text << ": " << parsed.error().message;
  }
}

}  // namespace
}  // namespace qualia::lanes::wgpu

#include "api/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace qualia::api {
namespace {

using testing::HasSubstr;

Result<Environment> read(const std::map<std::string, std::string>& variables) {
  return read_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Environment, IsEmptyWhereNothingIsSet) {
  const auto environment = read({});
  ASSERT_TRUE(environment.has_value());
  EXPECT_FALSE(environment->cache_dir || environment->threads || environment->log_level ||
               environment->wgpu_backend || environment->gpu_profile ||
               environment->xdg_cache_home || environment->home);
}

TEST(Environment, ReadsEveryVariable) {
  const auto environment = read({{"QUALIA_CACHE_DIR", "some where"},
                                 {"QUALIA_THREADS", "12"},
                                 {"QUALIA_LOG", "DEBUG"},
                                 {"QUALIA_WGPU_BACKEND", "Vulkan"},
                                 {"XDG_CACHE_HOME", "/xdg"},
                                 {"HOME", "/home/someone"}});
  ASSERT_TRUE(environment.has_value()) << environment.error().message;
  EXPECT_EQ(environment->cache_dir, "some where");
  EXPECT_EQ(environment->threads, 12U);
  EXPECT_EQ(environment->log_level, LogLevel::debug);
  EXPECT_EQ(environment->wgpu_backend, "vulkan");
  EXPECT_EQ(environment->xdg_cache_home, "/xdg");
  EXPECT_EQ(environment->home, "/home/someone");
}

TEST(Environment, TakesAnEmptyValueForUnset) {
  const auto environment = read({{"QUALIA_CACHE_DIR", ""},
                                 {"QUALIA_THREADS", ""},
                                 {"QUALIA_LOG", ""},
                                 {"QUALIA_WGPU_BACKEND", ""},
                                 {"QUALIA_LLM_GPU_PROFILE", ""},
                                 {"XDG_CACHE_HOME", ""},
                                 {"HOME", ""}});
  ASSERT_TRUE(environment.has_value()) << environment.error().message;
  EXPECT_FALSE(environment->cache_dir || environment->threads || environment->log_level ||
               environment->wgpu_backend || environment->gpu_profile ||
               environment->xdg_cache_home || environment->home);
}

TEST(Environment, ReadsBooleansInEverySpelling) {
  for (const char* on : {"1", "true", "TRUE", "True", "on", "Yes"})
    EXPECT_TRUE(read({{"QUALIA_LLM_GPU_PROFILE", on}}).value().gpu_profile) << on;
  for (const char* off : {"0", "false", "False", "OFF", "no"})
    EXPECT_FALSE(read({{"QUALIA_LLM_GPU_PROFILE", off}}).value().gpu_profile) << off;
}

TEST(Environment, RefusesABadValueAndNamesVariableValueAndRange) {
  const auto expect_refused = [](const char* name, const char* value, const char* allowed) {
    const auto environment = read({{name, value}});
    ASSERT_FALSE(environment.has_value()) << name << "=" << value;
    EXPECT_EQ(environment.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(environment.error().message, HasSubstr(name));
    EXPECT_THAT(environment.error().message, HasSubstr(std::string("'") + value + "'"));
    EXPECT_THAT(environment.error().message, HasSubstr(allowed));
  };
  for (const char* value : {"0", "-1", "4097", "two", "2x", " 2", "2.0", "99999999999999999999"})
    expect_refused("QUALIA_THREADS", value, "1 to 4096");
  expect_refused("QUALIA_LOG", "loud", "trace, debug, info, warn, error, off");
  for (const char* value : {"cuda", "vulkan ", "opengl"})
    expect_refused("QUALIA_WGPU_BACKEND", value, "vulkan, dx12, metal, gl");
  for (const char* value : {"2", "maybe", " 1"})
    expect_refused("QUALIA_LLM_GPU_PROFILE", value, "1, true, on, yes, 0, false, off, no");
}

TEST(Environment, TakesTheCacheFolderFromTheFirstVariableThatNamesOne) {
  Environment environment;
  environment.home = "/home/someone";
  EXPECT_EQ(cache_folder(environment).value(), "/home/someone/.cache/qualia");
  environment.xdg_cache_home = "/xdg";
  EXPECT_EQ(cache_folder(environment).value(), "/xdg/qualia");
  environment.cache_dir = "/cache";
  EXPECT_EQ(cache_folder(environment).value(), "/cache");
  environment.cache_dir = "here";
  EXPECT_EQ(cache_folder(environment).value(), std::filesystem::current_path() / "here");
}

// The XDG base directory specification.
TEST(Environment, IgnoresARelativeXdgCacheHome) {
  EXPECT_FALSE(read({{"XDG_CACHE_HOME", "relative"}})->xdg_cache_home.has_value());
}

TEST(Environment, NamesTheVariablesWhereNoneNamesACacheFolder) {
  const auto folder = cache_folder({});
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::not_found);
  EXPECT_THAT(folder.error().message, HasSubstr("QUALIA_CACHE_DIR, XDG_CACHE_HOME and HOME"));
}

}  // namespace
}  // namespace qualia::api

#include "api/default_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace qualia::api {
namespace {

using testing::HasSubstr;

TEST(DefaultModel, IsNotFetchedWhereAFileOfItsSizeIsThere) {
  const test::TempFolder folder;
  const auto path = folder / std::string(kDefaultModelFile);
  test::write_file(path, "");
  std::filesystem::resize_file(path, kDefaultModelBytes);  // sparse
  const auto before = std::filesystem::last_write_time(path);
  EXPECT_TRUE(fetch_default_model(path, {}).has_value());
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST(DefaultModel, ScriptIsFoundBesideLibAndBinAndDebiansDeeperFolder) {
  const test::TempFolder folder;
  const auto script = folder / "share/qualia/fetch_default_model.sh";
  std::filesystem::create_directories(script.parent_path());
  test::write_file(script, "");
  for (const char* library :
       {"lib/libqualia.so", "bin/qualia", "lib/x86_64-linux-gnu/libqualia.so.0"})
    EXPECT_EQ(find_fetch_script(folder / library).value(), script) << library;
}

TEST(DefaultModel, NamesTheScriptAndThePlaceWhereItIsMissing) {
  const test::TempFolder folder;
  const auto library = folder / "lib/libqualia.so";
  const auto script = find_fetch_script(library);
  ASSERT_FALSE(script.has_value());
  EXPECT_EQ(script.error().code, ErrorCode::not_found);
  EXPECT_THAT(script.error().message, HasSubstr("fetch_default_model.sh"));
  EXPECT_THAT(script.error().message, HasSubstr(library.string()));
}

}  // namespace
}  // namespace qualia::api

// The helper program is found, and hosts the lanes of this build.
#include "api/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/own_library.h"
#include "api/runtime_state.h"
#include "base/error.h"
#include "gguf/gguf_file.h"
#include "model/architecture.h"
#include "qualia/worker.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace qualia::api {
namespace {

using testing::HasSubstr;

TEST(WorkerProgram, IsFoundBesideLibAndBinAndDebiansDeeperFolderButNoFarther) {
  const test::TempFolder folder;
  const auto program = folder / "libexec/qualia/qualia-worker";
  std::filesystem::create_directories(program.parent_path());
  test::write_file(program, "");
  for (const char* library :
       {"lib/libqualia.so", "bin/qualia", "lib/x86_64-linux-gnu/libqualia.so.0"})
    EXPECT_EQ(find_worker_program(folder / library).value(), program) << library;
  EXPECT_FALSE(find_worker_program(folder / "a/b/c/libqualia.so").has_value());
}

TEST(WorkerProgram, IsNamedWithThePlaceWhereItIsMissing) {
  const test::TempFolder folder;
  const auto library = folder / "lib/libqualia.so";
  const auto program = find_worker_program(library);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, ErrorCode::not_found);
  EXPECT_THAT(program.error().message, HasSubstr("qualia-worker"));
  EXPECT_THAT(program.error().message, HasSubstr(library.string()));
}

TEST(WorkerProgram, RefusesADescriptorThatIsNoSocket) {
  const Result<void> served = run_worker(999);
  ASSERT_FALSE(served.has_value());
  EXPECT_EQ(served.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(served.error().message, "Descriptor 999 is no socket.");
}

TEST(WorkerHost, IsForTheWgpuLaneUnlessItIsToBeInProcess) {
  const LaneHost worker = choose_host("wgpu", false);
  ASSERT_NE(worker.worker, nullptr);
  EXPECT_EQ(worker.worker->name(), "wgpu");
  EXPECT_EQ(worker.reason, "hosted in a worker process");
  const LaneHost here = choose_host("wgpu", true);
  EXPECT_EQ(here.worker, nullptr);
  EXPECT_EQ(here.reason, "in this process, as was asked for");
  for (const char* lane : {"cpu", "reference"}) {
    EXPECT_EQ(choose_host(lane, false).worker, nullptr);
    EXPECT_EQ(choose_host(lane, false).reason, "");
  }
}

TEST(WorkerHost, IsThisProcessWhereTheHelperProgramIsMissing) {
  const LaneHost here = choose_host(not_found("The program is not there."));
  EXPECT_EQ(here.worker, nullptr);
  EXPECT_THAT(here.reason, HasSubstr("in this process, since the program qualia-worker"));
}

std::vector<float> last_logits(const lanes::Lane& lane, const model::Decoder& decoder) {
  lanes::LoadOptions options;
  options.precision = Precision::precise;
  options.thread_count = 2;
  const auto model = lane.load(decoder.spec, decoder.weights, options);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  EXPECT_TRUE((*model)->reserve_pages(1).has_value());
  const std::vector<lanes::PageId> pages = {0};
  const lanes::SequenceView sequence{pages};
  std::vector<lanes::Row> rows;
  for (uint32_t i = 0; i < 5; ++i)
    rows.push_back({static_cast<lanes::TokenId>(i + 1), 0, i, lanes::RowOutputKind::none});
  rows.back().output = lanes::RowOutputKind::logits;
  return (*model)->forward({rows, {&sequence, 1}}).value().rows[0].logits;
}

TEST(WorkerProgram, HostsEveryLaneOfThisBuildWithTheSameBits) {
  const gguf::File file = gguf::File::open("tests/data/tiny/q4_0.gguf").value();
  const model::Decoder decoder = model::read_decoder(file).value();
  const Runtime runtime = Runtime::create().value();
  for (const auto& lane : runtime.state().lanes) {
    if (lane->circuits(2).empty()) continue;  // no GPU here
    const auto hosted = lanes::make_worker_lane(worker_options(std::string(lane->name())).value());
    EXPECT_EQ(last_logits(*hosted, decoder), last_logits(*lane, decoder)) << lane->name();
    ASSERT_EQ(hosted->circuits(2).size(), lane->circuits(2).size());
    EXPECT_EQ(hosted->circuits(2)[0].label(), lane->circuits(2)[0].label());
  }
}

}  // namespace
}  // namespace qualia::api

// How a worker lives: what it is started with, what it tells, and what is left when it is gone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "lanes/batching_cases.h"
#include "worker_fixture.h"

namespace qualia::lanes::worker {
namespace {

using testing::HasSubstr;

size_t open_descriptor_count() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(WorkerLane, BearsTheNameOfTheHostedLaneAndAsksItForCircuits) {
  const auto lane = make_worker_lane(test_options("reference"));
  EXPECT_EQ(lane->name(), "reference");
  const std::vector<CircuitInfo> circuits = lane->circuits(2);
  ASSERT_EQ(circuits.size(), 1U);
  EXPECT_EQ(circuits[0].label(), "reference / CPU, 2 threads / scalar");
  EXPECT_TRUE(make_worker_lane(test_options("no such lane"))->circuits(1).empty());
}

TEST(WorkerLane, StartsItsProcessWithoutPinsAndForeignDescriptors) {
  const int foreign = ::open("/dev/null", O_RDONLY);  // would be inherited
  ::setenv("QUALIA_WGPU_BACKEND", "vulkan", 1);
  ::setenv("QUALIA_CPU_MASK", "avx2", 1);
  const std::vector<CircuitInfo> seen = make_worker_lane(test_options("trouble"))->circuits(7);
  ::unsetenv("QUALIA_WGPU_BACKEND");
  ::unsetenv("QUALIA_CPU_MASK");
  ::close(foreign);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].lane, "7");
  EXPECT_EQ(seen[0].device, "0 1 2 3 ");
  EXPECT_EQ(seen[0].backend, "none avx2");
}

TEST(WorkerLane, PassesOnProgressAndWarnings) {
  TestModel test;
  const ops::WeightMap map = test.write();
  std::vector<uint64_t> done;
  LoadOptions options;
  options.progress = [&](uint64_t now, uint64_t total) {
    EXPECT_EQ(total, map.size_bytes());
    done.push_back(now);
  };
  const auto lane = make_worker_lane(test_options("reference"));
  ASSERT_TRUE(lane->load(test.spec, map, options).has_value());
  ASSERT_FALSE(done.empty());
  EXPECT_EQ(done.back(), map.size_bytes());

  testing::internal::CaptureStderr();
  { ASSERT_TRUE(load_trouble("warns").has_value()); }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("The trouble lane warns."));
}

TEST(WorkerLane, PassesOnTheErrorsOfTheHostedLane) {
  const auto refused = load_trouble("is refused");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message, "The trouble lane lacks it.");
  const auto no_pages = load_trouble("refuses pages");
  ASSERT_FALSE(no_pages.has_value());
  EXPECT_EQ(no_pages.error().code, ErrorCode::out_of_memory);
  TestModel test;
  test.values.erase({1, ops::WeightRole::key});
  const auto incomplete =
      make_worker_lane(test_options("reference"))->load(test.spec, test.write(), {});
  ASSERT_FALSE(incomplete.has_value());
  EXPECT_EQ(incomplete.error().message, "The key weight of layer 1 is missing.");
}

TEST(WorkerLane, NamesALaneThatIsNotThere) {
  const auto model = make_worker_lane(test_options("no such lane"))->load({}, {}, {});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
  EXPECT_THAT(model.error().message, HasSubstr("no such lane"));
}

TEST(WorkerLane, NamesAHelperProgramThatIsNotThere) {
  WorkerOptions options = test_options("reference");
  options.helper_program = "/no/such/program";
  const auto model = load_trouble("", options);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
  EXPECT_THAT(model.error().message, HasSubstr("/no/such/program"));
}

TEST(WorkerLane, RefusesAHelperProgramOfAnotherBuild) {
  WorkerOptions options = test_options("reference");
  options.build_id = "another build";
  const auto model = load_trouble("", options);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::unsupported);
  EXPECT_THAT(model.error().message, HasSubstr("is of build 'test build'"));
  EXPECT_THAT(model.error().message, HasSubstr("('another build' is needed)"));
}

TEST(WorkerLane, RefusesAForeignProgram) {
  WorkerOptions options = test_options("reference");
  options.helper_program = "/bin/true";
  const auto model = load_trouble("", options);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::device_lost);
  EXPECT_THAT(model.error().message, HasSubstr("ends with exit status 0"));
}

TEST(WorkerModel, TwoWorkersRunSideBySide) {
  TestModel test;
  TestModel other(TestShape{24, 2, 1, 8, 20, 37, 1, true});
  const std::unique_ptr<LaneModel> a = test.load();
  const std::unique_ptr<LaneModel> b = other.load();
  EXPECT_NE(worker_id(*a), worker_id(*b));
  const StepTicket first = submit_row(*a).value();
  const StepTicket second = submit_row(*b).value();
  EXPECT_TRUE(b->collect(second).has_value());
  EXPECT_TRUE(a->collect(first).has_value());
  ::kill(worker_id(*a), SIGKILL);
  EXPECT_FALSE(run_row(*a).has_value());
  EXPECT_TRUE(run_row(*b).has_value());
}

TEST(WorkerModel, LeavesNoProcessAndNoDescriptor) {
  run_row(*load_trouble("warms up").value()).value();
  const size_t before = open_descriptor_count();
  for (int i = 0; i < 3; ++i) {
    TestModel test(TestShape{16, 2, 1, 8, 12, 2000, 1, true});
    TestSequence sequence{{0}};
    EXPECT_EQ(feed(*test.load(), sequence, {1, 2, 3}).size(), 3U);
    EXPECT_FALSE(run_row(*load_trouble("aborts in a step").value()).has_value());
    EXPECT_FALSE(load_trouble("exits in load").has_value());
    // Left with a step that nobody collected.
    EXPECT_TRUE(submit_row(*load_trouble("is dropped").value()).has_value());
  }
  EXPECT_EQ(open_descriptor_count(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(WorkerModel, OutlivesTheThreadThatLoadedIt) {
  TestModel test;
  std::unique_ptr<LaneModel> model;
  std::thread([&] { model = test.load(); }).join();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run_row(*model).has_value());
}

TEST(WorkerModel, TakesMoreQueuedStepsThanTheSocketHolds) {
  TestModel test(TestShape{8, 1, 1, 8, 8, 11, 1, true});
  const std::unique_ptr<LaneModel> model = test.load();
  std::vector<StepTicket> tickets;
  for (int i = 0; i < 2000; ++i) tickets.push_back(submit_row(*model).value());
  const TokenId expected = model->collect(tickets[0]).value().rows[0].argmax;
  for (size_t i = 1; i < tickets.size(); ++i)
    ASSERT_EQ(model->collect(tickets[i]).value().rows[0].argmax, expected);
}

TEST(WorkerModel, MaySayMoreThanAPipeHolds) {
  const auto model = load_trouble("talks much").value();
  set_log_level(LogLevel::off);
  EXPECT_TRUE(run_row(*model).has_value());
  set_log_level(LogLevel::warn);
}

// The process `body` gives the id of, once the process that runs `body` was killed by itself.
template <typename Body>
pid_t worker_of_a_killed_parent(const Body& body) {
  int pipes[2];
  EXPECT_EQ(::pipe(pipes), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t worker = body();
    if (::write(pipes[1], &worker, sizeof(worker)) < 0) std::_Exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  pid_t worker = -1;
  EXPECT_EQ(::read(pipes[0], &worker, sizeof(worker)), ssize_t{sizeof(worker)});
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
  ::close(pipes[0]);
  ::close(pipes[1]);
  return worker;
}

class OrphanedWorker : public testing::Test {
 protected:
  // Orphans become children of this process, so that their end can be waited for.
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  static void expect_end(pid_t worker) {
    int status = 0;
    EXPECT_EQ(::waitpid(worker, &status, 0), worker);  // the test's time limit bounds the wait
    EXPECT_TRUE(WIFEXITED(status)) << status;
  }
};

TEST_F(OrphanedWorker, EndsWhenIdle) {
  std::unique_ptr<LaneModel> model;  // outlives `body`, which drops nothing
  expect_end(worker_of_a_killed_parent([&] {
    model = load_trouble("waits").value();
    return worker_id(*model);
  }));
}

TEST_F(OrphanedWorker, EndsInTheMiddleOfAStep) {
  std::unique_ptr<LaneModel> model;
  expect_end(worker_of_a_killed_parent([&] {
    model = load_trouble("hangs in a step").value();
    EXPECT_TRUE(submit_row(*model).has_value());
    return worker_id(*model);
  }));
}

}  // namespace
}  // namespace qualia::lanes::worker

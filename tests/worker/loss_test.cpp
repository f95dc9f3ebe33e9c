// How a worker is lost: every way is device_lost with its reason, soon, and stays so.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>

#include "base/log.h"
#include "worker_fixture.h"

namespace qualia::lanes::worker {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class LostWorker : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::off); }
  void TearDown() override { set_log_level(LogLevel::warn); }

  // The step is lost with that reason, and so is everything after it, at once.
  static void expect_lost(LaneModel& model, const Result<StepOutput>& output,
                          std::string_view reason) {
    ASSERT_FALSE(output.has_value());
    EXPECT_EQ(output.error().code, ErrorCode::device_lost);
    EXPECT_THAT(output.error().message, HasSubstr(std::string(reason)));
    const std::string& message = output.error().message;
    EXPECT_EQ(submit_row(model).error().message, message);
    EXPECT_EQ(model.reserve_pages(9).error().message, message);
    EXPECT_EQ(model.copy_page(0, 1).error().message, message);
  }

  static WorkerOptions impatient(milliseconds silence_max = milliseconds{200}) {
    WorkerOptions options = test_options("trouble");
    options.step_silence_max = silence_max;
    return options;
  }
};

TEST_F(LostWorker, KilledInTheMiddleOfAStepIsKnownWithinASecond) {
  const auto model = load_trouble("hangs in a step").value();
  const StepTicket ticket = submit_row(*model).value();
  const auto start = std::chrono::steady_clock::now();
  ::kill(worker_id(*model), SIGKILL);
  const Result<StepOutput> output = model->collect(ticket);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds{1000});
  expect_lost(*model, output, "The worker of lane 'trouble' ends with signal KILL");

  TestModel test;  // the program goes on
  EXPECT_TRUE(run_row(*test.load()).has_value());
}

TEST_F(LostWorker, KilledBetweenStepsIsKnownAtTheNext) {
  TestModel test;
  const std::unique_ptr<LaneModel> model = test.load();
  ASSERT_TRUE(run_row(*model).has_value());
  ::kill(worker_id(*model), SIGTERM);
  expect_lost(*model, run_row(*model), "ends with signal TERM");
}

TEST_F(LostWorker, EndsOfItsOwnWithItsLastWords) {
  const auto model = load_trouble("aborts in a step").value();
  expect_lost(*model, run_row(*model), "ends with signal ABRT; its last line is \"last words\".");
}

TEST_F(LostWorker, EndsWhileItLoads) {
  const auto model = load_trouble("exits in load");
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::device_lost);
  EXPECT_EQ(model.error().message, "The worker of lane 'trouble' ends with exit status 3.");
}

TEST_F(LostWorker, HangsInAStep) {
  const auto model = load_trouble("hangs in a step", impatient()).value();
  const pid_t worker = worker_id(*model);
  // Steps are queued without waiting for it.
  const StepTicket first = submit_row(*model).value();
  EXPECT_TRUE(submit_row(*model).has_value());
  EXPECT_TRUE(submit_row(*model).has_value());
  expect_lost(*model, model->collect(first), "is silent for more than 0.2 s");
  EXPECT_EQ(::kill(worker, 0), -1);  // not left behind
}

TEST_F(LostWorker, IsStoppedFromOutside) {
  const auto model = load_trouble("works", impatient()).value();
  ASSERT_TRUE(run_row(*model).has_value());
  ::kill(worker_id(*model), SIGSTOP);
  expect_lost(*model, run_row(*model), "is silent for more than 0.2 s");
}

TEST_F(LostWorker, StopsReadingWhileStepsAreQueued) {
  const auto model = load_trouble("works", impatient()).value();
  ::kill(worker_id(*model), SIGSTOP);
  Result<StepTicket> ticket = submit_row(*model);
  for (int i = 0; i < 100'000 && ticket; ++i) ticket = submit_row(*model);
  ASSERT_FALSE(ticket.has_value());
  EXPECT_EQ(ticket.error().code, ErrorCode::device_lost);
}

TEST_F(LostWorker, HangsWhileItLoads) {
  WorkerOptions options = test_options("trouble");
  options.load_silence_max = milliseconds{1000};
  const auto model = load_trouble("hangs in load", options);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::device_lost);
  EXPECT_THAT(model.error().message, HasSubstr("is silent for more than 1 s"));
  // 60 reports, 25 ms apart: progress is a sign of life.
  uint64_t last = 0;
  EXPECT_TRUE(load_trouble("loads slowly", options, [&](uint64_t done, uint64_t) {
                last = done;
              }).has_value());
  EXPECT_EQ(last, 60U);
}

TEST_F(LostWorker, ClosesItsSocketAndLivesOn) {
  const auto model = load_trouble("closes its socket").value();
  const pid_t worker = worker_id(*model);
  expect_lost(*model, run_row(*model), "closes its connection");
  EXPECT_EQ(::kill(worker, 0), -1);
}

TEST_F(LostWorker, SendsWhatCanNotBeUsed) {
  for (const char* trouble : {"talks nonsense", "forgets outputs", "chooses what is not there"}) {
    const auto model = load_trouble(trouble).value();
    expect_lost(*model, run_row(*model), "sends what can't be used");
  }
}

TEST_F(LostWorker, IsNotWhatAFailedStepMakes) {
  const auto model = load_trouble("fails once").value();
  const StepTicket failing = submit_row(*model).value();
  const StepTicket following = submit_row(*model, 0).value();
  const StepTicket independent = submit_row(*model).value();
  for (const StepTicket ticket : {failing, following}) {
    const Result<StepOutput> output = model->collect(ticket);
    ASSERT_FALSE(output.has_value());
    EXPECT_EQ(output.error().code, ErrorCode::out_of_memory);
    EXPECT_EQ(output.error().message, "The first step fails.");
  }
  EXPECT_TRUE(model->collect(independent).has_value());
}

}  // namespace
}  // namespace qualia::lanes::worker

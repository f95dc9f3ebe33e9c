// The worker's end, driven by hand over a socket pair: the order of its work, and that nothing a
// damaged stream says makes it crash. It runs on this thread: what it reads lies in the socket.
#include "lanes/worker/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>

#include "base/error.h"
#include "lanes/worker/block_pool.h"

namespace qualia::lanes::worker {
namespace {

using testing::ElementsAre;

using Calls = std::vector<std::string>;

// Notes what it is asked, and gives every row the best token 1.
class NotingModel final : public LaneModel {
 public:
  NotingModel(Calls& calls, bool computes_in_submit) : calls_(&calls) {
    resident_.computes_in_submit = computes_in_submit;
  }
  const ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t) override { return {}; }
  Result<void> copy_page(PageId, PageId) override { return {}; }
  Result<StepTicket> submit(const Batch& batch) override {
    calls_->push_back("submit");
    StepOutput output;
    for (const Row& row : batch.rows) {
      if (row.output == RowOutputKind::none) continue;
      RowOutput& made = output.rows.emplace_back();
      made.argmax = 1;
      if (row.output == RowOutputKind::logits) made.logits.assign(kVocabulary, 0.5F);
    }
    outputs_.push_back(std::move(output));
    return outputs_.size();
  }
  Result<StepOutput> collect(StepTicket ticket) override {
    calls_->push_back("collect");
    return outputs_[ticket - 1];
  }

  static constexpr uint32_t kVocabulary = 20;

 private:
  Calls* calls_;
  ResidentReport resident_;
  std::vector<StepOutput> outputs_;
};

class NotingLane final : public Lane {
 public:
  explicit NotingLane(Calls& calls, bool computes_in_submit = false)
      : calls_(&calls), computes_in_submit_(computes_in_submit) {}
  std::string_view name() const override { return "noting"; }
  std::vector<CircuitInfo> circuits(size_t) const override { return {{"noting", "paper", "pen"}}; }
  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec&, const ops::WeightMap&,
                                          const LoadOptions&) const override {
    return std::make_unique<NotingModel>(*calls_, computes_in_submit_);
  }

 private:
  Calls* calls_;
  bool computes_in_submit_;
};

Step row_step(StepTicket ticket, const Row& row = {1, 0, 0, RowOutputKind::argmax},
              TableChange table = {.kept = 0, .added = {0}}) {
  return {.ticket = ticket, .rows = {row}, .tables = {std::move(table)}};
}

// One end of a socket pair, and a server at the other.
class Conversation {
 public:
  explicit Conversation(bool computes_in_submit = false) {
    lanes_.push_back(std::make_unique<NotingLane>(calls, computes_in_submit));
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel_.emplace(FileDescriptor(ends[0]));
    theirs_ = FileDescriptor(ends[1]);
  }

  template <typename T>
  void say(const T& message, int attached = -1) {
    channel_->put(T::kKind, encode(message), attached);
    ASSERT_EQ(channel_->flush(), Flow::done);
  }
  void say_raw(std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(channel_->descriptor(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  void load() {
    LoadRequest request{.lane = "noting", .log_level = LogLevel::off};
    request.spec.vocabulary_size = NotingModel::kVocabulary;
    say(request);
    say(ReservePages{2});
  }
  // All that was said, then the end.
  Result<void> serve() {
    ::shutdown(channel_->descriptor(), SHUT_WR);
    return Server(std::move(theirs_), lanes_, "a build").run();
  }
  // What the server said of that kind.
  template <typename T>
  std::vector<T> heard() {
    std::vector<T> all;
    while (channel_->fill() == Flow::done) continue;
    while (true) {
      const std::optional<Frame> frame = channel_->next().value();
      if (!frame) return all;
      if (frame->kind == T::kKind) all.push_back(decode<T>(frame->payload).value());
    }
  }

  Calls calls;

 private:
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::optional<Channel> channel_;
  FileDescriptor theirs_;
};

TEST(WorkerServer, SaysItsBuildFirstAndEndsWithTheOtherEnd) {
  Conversation talk;
  EXPECT_TRUE(talk.serve().has_value());
  const std::vector<Hello> hellos = talk.heard<Hello>();
  ASSERT_EQ(hellos.size(), 1U);
  EXPECT_EQ(hellos[0].build_id, "a build");
}

TEST(WorkerServer, GivesADeviceAllQueuedStepsBeforeItWaitsForOne) {
  Conversation talk(false);
  talk.load();
  talk.say(row_step(1));
  talk.say(row_step(2));
  talk.say(row_step(3));
  EXPECT_TRUE(talk.serve().has_value());
  // The other end is gone by the time an output is due.
  EXPECT_THAT(talk.calls, ElementsAre("submit", "submit", "submit"));
}

TEST(WorkerServer, SendsWhatIsComputedBeforeTheNextStep) {
  Conversation talk(true);
  talk.load();
  talk.say(row_step(1));
  talk.say(row_step(2));
  EXPECT_TRUE(talk.serve().has_value());
  EXPECT_THAT(talk.calls, ElementsAre("submit", "collect", "submit", "collect"));
  const std::vector<Output> outputs = talk.heard<Output>();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1].ticket, 2U);
  EXPECT_EQ(outputs[1].rows[0].argmax, 1);
}

TEST(WorkerServer, WritesLogitsIntoTheSharedBlock) {
  Conversation talk(true);
  BlockPool pool;
  const uint32_t id = pool.take(1000).value().id;
  talk.load();
  talk.say(ShareBlock{id, pool.block(id).bytes().size()}, pool.block(id).descriptor());
  Step step = row_step(1, {1, 0, 0, RowOutputKind::logits});
  step.block = id;
  talk.say(step);
  EXPECT_TRUE(talk.serve().has_value());
  const std::vector<Output> outputs = talk.heard<Output>();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_TRUE(outputs[0].values.empty());
  float first = 0;
  std::memcpy(&first, pool.block(id).bytes().data(), sizeof(first));
  EXPECT_EQ(first, 0.5F);
}

void expect_refused(const auto& message) {
  Conversation talk(true);
  talk.load();
  talk.say(message);
  const Result<void> served = talk.serve();
  ASSERT_FALSE(served.has_value());
  EXPECT_EQ(served.error().code, ErrorCode::internal);
  EXPECT_THAT(talk.calls, ElementsAre());
}

TEST(WorkerServer, RefusesStepsThatALaneMustNotSee) {
  expect_refused(row_step(1, {20, 0, 0}));                            // token
  expect_refused(row_step(1, {-1, 0, 0}));                            // token
  expect_refused(row_step(1, {1, 1, 0}));                             // sequence
  expect_refused(row_step(1, {1, 0, kPagePositions}));                // position
  expect_refused(row_step(1, {1, 0, 0, RowOutputKind::none, 0}));     // feedback of no output
  expect_refused(row_step(1, {1, 0, 0}, {.kept = 0, .added = {2}}));  // page
  expect_refused(row_step(1, {1, 0, 0}, {.kept = 1, .added = {}}));   // page table
  Step step = row_step(1);
  step.block = 0;
  expect_refused(step);  // block
  expect_refused(CopyPage{0, 2});
  expect_refused(LoadRequest{.lane = "noting"});  // twice
  expect_refused(Hello{"hello"});
}

TEST(WorkerServer, RefusesBlocksThatAreNotWhatTheySay) {
  BlockPool pool;
  const SharedBlock& block = pool.block(pool.take(1000).value().id);
  const auto serve_with = [&](const ShareBlock& message, int descriptor) {
    Conversation talk(true);
    talk.load();
    talk.say(message, descriptor);
    return talk.serve().has_value();
  };
  EXPECT_TRUE(serve_with({0, block.bytes().size()}, block.descriptor()));
  EXPECT_FALSE(serve_with({0, block.bytes().size() + 1}, block.descriptor()));
  EXPECT_FALSE(serve_with({1, block.bytes().size()}, block.descriptor()));
  EXPECT_FALSE(serve_with({0, 100}, -1));
}

TEST(WorkerServer, RefusesALengthThatNoMessageHas) {
  Conversation talk;
  talk.say_raw(Bytes(16, std::byte{0xFF}));
  EXPECT_FALSE(talk.serve().has_value());
}

// Frames of a whole conversation, with their headers.
Bytes whole_conversation() {
  Bytes all;
  const auto add = [&](const auto& message) {
    const Bytes payload = encode(message);
    const uint32_t header[2] = {static_cast<uint32_t>(payload.size()),
                                static_cast<uint32_t>(message.kKind)};
    const auto bytes = std::as_bytes(std::span(header));
    all.insert(all.end(), bytes.begin(), bytes.end());
    all.insert(all.end(), payload.begin(), payload.end());
  };
  add(CircuitsRequest{"noting", 2});
  LoadRequest request{.lane = "noting", .log_level = LogLevel::off};
  request.spec.vocabulary_size = NotingModel::kVocabulary;
  add(request);
  add(ReservePages{2});
  add(CopyPage{0, 1});
  add(row_step(1));
  add(row_step(2, {1, 0, 1, RowOutputKind::logits, 0}, {.kept = 1, .added = {1}}));
  return all;
}

TEST(WorkerServer, SurvivesADamagedStream) {
  const Bytes whole = whole_conversation();
  Conversation healthy(true);
  healthy.say_raw(whole);
  ASSERT_TRUE(healthy.serve().has_value());
  ASSERT_EQ(healthy.heard<Output>().size(), 2U);
  size_t refused = 0;
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Bytes bytes = whole;
    for (int i = 0; i < 2; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(bytes.size() - random() % 3);
    Conversation talk(seed % 2 == 0);
    talk.say_raw(bytes);
    if (!talk.serve()) ++refused;
  }
  EXPECT_GT(refused, 500U);
}

}  // namespace
}  // namespace qualia::lanes::worker

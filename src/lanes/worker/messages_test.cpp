// Messages come out as they went in, and damaged ones are refused.
#include "lanes/worker/messages.h"

#include <gtest/gtest.h>

#include <random>

#include "lanes/test_model.h"
#include "lanes/worker/row_values.h"

namespace qualia::lanes::worker {
namespace {

LoadRequest load_request() {
  lanes::TestModel test;
  LoadRequest request{.lane = "reference", .log_level = LogLevel::error};
  request.spec = test.spec;
  request.spec.layers[1].attention.rope.kind = ops::RopeKind::halves;
  request.spec.layers[1].attention.rope.frequency_base = 1234.5F;
  test.matrix_dtype = DType::f16;
  request.weights = test.write(2);
  request.precision = Precision::precise;
  request.kv = KvType::f16;
  request.thread_count = 3;
  return request;
}

Step step() {
  return {.ticket = 9,
          .top_k = 40,
          .block = 2,
          .rows = {{-1, 1, 64, RowOutputKind::top_k, 0}, {7, 0, 3, RowOutputKind::none}},
          .tables = {{.kept = 3, .added = {}}, {.kept = 0, .added = {5, 6}}}};
}

TEST(Messages, CarryALoadWhole) {
  const LoadRequest sent = load_request();
  const LoadRequest got = decode<LoadRequest>(encode(sent)).value();
  EXPECT_EQ(got.lane, sent.lane);
  EXPECT_EQ(got.log_level, LogLevel::error);
  EXPECT_EQ(got.precision, Precision::precise);
  EXPECT_EQ(got.kv, KvType::f16);
  EXPECT_EQ(got.thread_count, 3U);
  ASSERT_EQ(got.weights.all().size(), sent.weights.all().size());
  for (const auto& [key, view] : sent.weights.all()) {
    const ops::WeightView& other = got.weights.all().at(key);
    EXPECT_EQ(other.name, view.name);
    EXPECT_EQ(other.file, view.file);
    EXPECT_EQ(other.file_offset, view.file_offset);
    EXPECT_EQ(other.size_bytes, view.size_bytes);
    EXPECT_EQ(other.dtype, view.dtype);
    EXPECT_EQ(other.shape, view.shape);
  }
  EXPECT_EQ(got.spec.architecture, "llama");
  EXPECT_EQ(got.spec.layers[1].attention.rope.kind, ops::RopeKind::halves);
  EXPECT_EQ(got.spec.layers[1].attention.rope.frequency_base, 1234.5F);
  EXPECT_EQ(encode(got), encode(sent));  // every other field
}

TEST(Messages, CarryAStepAndItsOutput) {
  const Step got = decode<Step>(encode(step())).value();
  EXPECT_EQ(got.rows[0].token, -1);
  EXPECT_EQ(got.rows[0].feedback, 0U);
  EXPECT_EQ(got.rows[1].feedback, kNoFeedback);
  EXPECT_EQ(got.tables[1].added, (std::vector<PageId>{5, 6}));
  EXPECT_EQ(encode(got), encode(step()));

  const Output output{.ticket = 4, .error = Error{ErrorCode::numeric, "Too large."}};
  const Output read = decode<Output>(encode(output)).value();
  EXPECT_EQ(read.ticket, 4U);
  EXPECT_EQ(read.error->code, ErrorCode::numeric);
  EXPECT_EQ(read.error->message, "Too large.");
}

OwnedReading reading() {
  OwnedReading made{.granularity = "each stage"};
  made.totals.phases[4] = {70, 7};
  made.totals.ops = {{"qkv", Phase::gemm, 50, 5, {1000, 2000}},
                     {"attend", Phase::attention, 20, 2, {}}};
  made.totals.spans = {{1, 0, 10, 30}, {0, 1, 0, 50}};
  made.totals.steps = 2;
  made.totals.busy_ns = 80;
  made.totals.dropped = 3;
  return made;
}

TEST(Messages, CarryAProfileWhole) {
  const OwnedReading sent = reading();
  const OwnedReading got = decode<OwnedReading>(encode(sent)).value();
  EXPECT_EQ(got.granularity, "each stage");
  EXPECT_EQ(got.totals[Phase::output_topk].total_ns, 70U);
  EXPECT_EQ(got.totals[Phase::output_topk].calls, 7U);
  ASSERT_EQ(got.totals.ops.size(), 2U);
  EXPECT_EQ(got.totals.ops[0].name, "qkv");
  EXPECT_EQ(got.totals.ops[0].cost.multiply_adds, 2000U);
  EXPECT_EQ(got.totals.ops[1].phase, Phase::attention);
  ASSERT_EQ(got.totals.spans.size(), 2U);
  EXPECT_EQ(got.totals.spans[0].op, 1U);
  EXPECT_EQ(got.totals.spans[0].end_ns, 30U);
  EXPECT_EQ(got.totals.steps, 2U);
  EXPECT_EQ(got.totals.busy_ns, 80U);
  EXPECT_EQ(got.totals.dropped, 3U);
  EXPECT_EQ(encode(got), encode(sent));

  const SetProfiling on = decode<SetProfiling>(encode(SetProfiling{{true, 7}})).value();
  EXPECT_TRUE(on.options.is_on);
  EXPECT_EQ(on.options.every, 7U);
}

TEST(Messages, RefuseAProfileWhoseSpanIsOfNoOp) {
  OwnedReading damaged = reading();
  damaged.totals.spans[1].op = 2;
  EXPECT_FALSE(decode<OwnedReading>(encode(damaged)).has_value());
  damaged = reading();
  damaged.totals.ops[0].phase = static_cast<Phase>(5);
  EXPECT_FALSE(decode<OwnedReading>(encode(damaged)).has_value());
}

// A decode step of one sequence, whose page table has not changed.
TEST(Messages, NeedAFewDozenBytesForADecodeStep) {
  const Step decode_step{.rows = {{-1, 0, 900, RowOutputKind::argmax, 0}},
                         .tables = {{.kept = 15, .added = {}}}};
  EXPECT_LE(encode(decode_step).size(), 64U);
  EXPECT_LE(encode(Output{.rows = {RowHead{}}}).size(), 64U);
}

template <typename T>
void expect_refused_when_cut_or_longer(const T& message) {
  Bytes bytes = encode(message);
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(decode<T>(std::span(bytes).first(size)).has_value()) << size;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode<T>(bytes).has_value());
}

TEST(Messages, AreRefusedWhenCutOffOrTooLong) {
  expect_refused_when_cut_or_longer(load_request());
  expect_refused_when_cut_or_longer(step());
  expect_refused_when_cut_or_longer(Hello{"build"});
  expect_refused_when_cut_or_longer(Reply{Error{ErrorCode::io, "No."}, Bytes(3)});
  expect_refused_when_cut_or_longer(Output{.rows = {RowHead{}}, .values = Bytes(8)});
  expect_refused_when_cut_or_longer(ResidentReport{});
  expect_refused_when_cut_or_longer(SetProfiling{{true, 2}});
  expect_refused_when_cut_or_longer(ReadProfile{});
  expect_refused_when_cut_or_longer(reading());
  expect_refused_when_cut_or_longer(std::vector<CircuitInfo>{{"cpu", "CPU", "avx2"}});
}

TEST(Messages, AreRefusedWhenTheyNameAnUnknownValue) {
  EXPECT_FALSE(decode<Reply>(encode(Reply{Error{static_cast<ErrorCode>(99), ""}, {}})).has_value());
  LoadRequest request = load_request();
  request.spec.layers[0].attention.rope.kind = static_cast<ops::RopeKind>(7);
  EXPECT_FALSE(decode<LoadRequest>(encode(request)).has_value());
  request = load_request();
  request.kv = static_cast<KvType>(-1);
  EXPECT_FALSE(decode<LoadRequest>(encode(request)).has_value());
  request = load_request();
  ops::WeightView view;
  view.dtype = static_cast<DType>(4);  // a type that ggml removed
  request.weights.set(ops::WeightRole::up, 0, view);
  EXPECT_FALSE(decode<LoadRequest>(encode(request)).has_value());
  request = load_request();
  view = {};
  view.shape.rank = 5;
  request.weights.set(ops::WeightRole::up, 0, view);
  EXPECT_FALSE(decode<LoadRequest>(encode(request)).has_value());
}

TEST(Messages, SurviveAnyDamagedByte) {
  const Bytes load = encode(load_request());
  const Bytes decode_step = encode(step());
  for (uint32_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (const Bytes* whole : {&load, &decode_step}) {
      Bytes bytes = *whole;
      for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      // What is read is whole: it can be written again, and is as long.
      if (whole == &load) {
        const auto got = decode<LoadRequest>(bytes);
        // A damaged key can name a weight twice.
        EXPECT_TRUE(!got || encode(*got).size() <= load.size());
      } else {
        const auto got = decode<Step>(bytes);
        EXPECT_TRUE(!got || encode(*got) == bytes);
      }
    }
  }
}

StepOutput output_of_all_kinds() {
  StepOutput output;
  output.rows.resize(3);
  output.rows[0].argmax = 4;
  output.rows[1].is_finite = false;
  output.rows[1].top = {{2, 0.5F}, {1, 0.25F}};
  output.rows[2].logits = {1, 2, 3, 4, 5};
  return output;
}

TEST(RowValues, ComeBackAsTheyWere) {
  const StepOutput output = output_of_all_kinds();
  const std::vector<RowHead> heads = heads_of(output);
  Bytes values(row_values_bytes(heads));
  EXPECT_EQ(values.size(), 2U * 8 + 5 * 4);
  write_row_values(output, values);
  const StepOutput got = read_row_values(heads, values, 5).value();
  ASSERT_EQ(got.rows.size(), 3U);
  EXPECT_EQ(got.rows[0].argmax, 4);
  EXPECT_FALSE(got.rows[1].is_finite);
  EXPECT_EQ(got.rows[1].top[1].token, 1);
  EXPECT_EQ(got.rows[1].top[0].logit, 0.5F);
  EXPECT_EQ(got.rows[2].logits, output.rows[2].logits);
}

TEST(RowValues, AreRefusedWhereTheHeadsContradictThem) {
  const std::vector<RowHead> heads = heads_of(output_of_all_kinds());
  const Bytes values(row_values_bytes(heads));
  EXPECT_FALSE(read_row_values(heads, std::span(values).first(values.size() - 1), 5).has_value());
  EXPECT_FALSE(read_row_values(heads, values, 4).has_value());  // more logits than tokens
  for (RowHead head : {RowHead{.argmax = -1}, RowHead{.argmax = 5}, RowHead{.top_count = 6},
                       RowHead{.top_count = 0xFFFFFFFF, .logit_count = 0xFFFFFFFF}})
    EXPECT_FALSE(read_row_values({&head, 1}, Bytes(1000), 5).has_value());
}

TEST(RowValues, NeedNoMoreThanTheBatchCanAskFor) {
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::argmax},
                                 {1, 0, 1, RowOutputKind::top_k},
                                 {1, 0, 2, RowOutputKind::logits},
                                 {1, 0, 3, RowOutputKind::none}};
  EXPECT_EQ(row_values_bytes_max({.rows = rows, .sequences = {}, .top_k = 3}, 50), 3U * 8 + 50 * 4);
  EXPECT_EQ(row_values_bytes_max({.rows = rows, .sequences = {}, .top_k = 1'000'000'000}, 50),
            50U * 8 + 50 * 4);
}

}  // namespace
}  // namespace qualia::lanes::worker

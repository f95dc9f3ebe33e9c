#include "profile/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace qualia::profile {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Two steps of two ops: 60 ns of gemm and 20 ns of attention each.
Snapshot two_steps() {
  Recorder recorder;
  const uint32_t unused = recorder.op("top_k", Phase::output_topk);
  const uint32_t attend = recorder.op("attend", Phase::attention);
  const uint32_t qkv = recorder.op("qkv", Phase::gemm);
  EXPECT_EQ(unused, 0U);
  for (const uint64_t start : {1000U, 5000U}) {
    recorder.add(qkv, start, start + 60, {600, 300});
    recorder.add(attend, start + 60, start + 80);
    recorder.end_step();
  }
  return recorder.snapshot();
}

RunFacts a_run() {
  RunFacts run;
  run.circuit = "cpu / CPU, 1 thread / avx2";
  run.options = {.tokens = 2, .depth = 7};
  run.steps = 2;
  run.wall_ns = 200;
  run.read_bytes_per_s = 20e9;
  run.granularity = "each stage";
  return run;
}

TEST(Report, HasEveryPhaseAndOnlyCalledOpsLongestFirst) {
  const ProfileReport report = make_report(two_steps(), a_run());
  ASSERT_EQ(report.ops.size(), 2U);
  EXPECT_EQ(report.ops[0].name, "qkv");
  EXPECT_EQ(report.ops[1].name, "attend");
  for (size_t i = 0; i < kPhaseCount; ++i) EXPECT_EQ(report.phases[i].phase, kPhases[i]);
  EXPECT_EQ(report.phases[1].total_ns, 120U);
  EXPECT_EQ(report.phases[1].calls, 2U);
  EXPECT_DOUBLE_EQ(report.phases[1].share.value(), 0.6);
  EXPECT_DOUBLE_EQ(report.phases[2].share.value(), 0.2);
  EXPECT_EQ(report.phases[4].share, std::nullopt);
  EXPECT_EQ(report.unattributed_ns, 40U);
  EXPECT_EQ(report.busy_ns, 160U);
  EXPECT_TRUE(report.perturbed);
}

TEST(Report, DerivesRatesFromShapesAndLeavesOutWhatIsUnknown) {
  const ProfileReport report = make_report(two_steps(), a_run());
  const ProfileOp& qkv = report.ops[0];
  EXPECT_DOUBLE_EQ(qkv.gb_per_s.value(), 10.0);     // 1200 bytes in 120 ns
  EXPECT_DOUBLE_EQ(qkv.gflop_per_s.value(), 10.0);  // 600 multiply-adds
  EXPECT_DOUBLE_EQ(qkv.ceiling_share.value(), 0.5);
  const ProfileOp& attend = report.ops[1];
  EXPECT_FALSE(attend.gb_per_s || attend.gflop_per_s || attend.ceiling_share);
  EXPECT_DOUBLE_EQ(report.tok_s.value(), 1e7);
}

TEST(Report, OfASampleMeasuresAgainstItsPartOfTheWallTime) {
  RunFacts run = a_run();
  run.options.every = 4;
  run.steps = 8;
  run.wall_ns = 800;
  EXPECT_EQ(make_report(two_steps(), run).unattributed_ns, 40U);
  run.wall_ns = 500;  // the two were slower than the rest: 160 ns of an even part of 125
  const ProfileReport slow = make_report(two_steps(), run);
  EXPECT_EQ(slow.unattributed_ns, 0U);
  EXPECT_DOUBLE_EQ(slow.phases[1].share.value() + slow.phases[2].share.value(), 1.0);
}

TEST(Report, SpansFollowTheirOpsAndEndWithTheLastWholeStep) {
  Recorder recorder;
  const uint32_t attend = recorder.op("attend", Phase::attention);
  const uint32_t qkv = recorder.op("qkv", Phase::gemm);
  recorder.add(attend, 10, 20);
  recorder.add(qkv, 20, 70);
  recorder.end_step();
  recorder.add(attend, 100, 900);
  const ProfileReport report = make_report(recorder.snapshot(), a_run());
  ASSERT_EQ(report.spans.size(), 2U);
  EXPECT_EQ(report.ops[report.spans[0].op].name, "attend");
  EXPECT_EQ(report.ops[report.spans[1].op].name, "qkv");
  EXPECT_EQ(report.spans[1].begin_ns, 10U);
  EXPECT_EQ(report.spans[1].end_ns, 60U);
}

TEST(ReportText, ShowsPhasesWithTheirBarsAndOpsWithTheirRates) {
  const std::string text = to_text(make_report(two_steps(), a_run()));
  EXPECT_THAT(text, HasSubstr("cpu / CPU, 1 thread / avx2: 2 tokens at depth 7"));
  EXPECT_THAT(text, HasSubstr("gemm                2      0.000   60.0 %  ##################\n"));
  EXPECT_THAT(text, HasSubstr("attention           2      0.000   20.0 %  ######\n"));
  EXPECT_THAT(text, HasSubstr("fused_block         0        n/a      n/a\n"));
  EXPECT_THAT(text, HasSubstr("unattributed               0.000   20.0 %  ######\n"));
  EXPECT_THAT(text, HasSubstr("10.00   50.0 %       10.0\n"));
  EXPECT_THAT(text, HasSubstr("clock read at each stage; 0 samples dropped"));
  EXPECT_THAT(text, HasSubstr("perturbed"));
  EXPECT_LT(text.find("qkv"), text.find("attend "));
}

TEST(ReportText, SaysWhatWasSampledAndDroppedAndReadFromCaches) {
  Snapshot snapshot = two_steps();
  snapshot.dropped = 1;
  RunFacts run = a_run();
  run.options.every = 3;
  run.read_bytes_per_s = 5e9;
  const std::string text = to_text(make_report(snapshot, run));
  EXPECT_THAT(text, HasSubstr("One step in 3 is recorded (2 in all)"));
  EXPECT_THAT(text, HasSubstr("1 sample dropped"));
  EXPECT_THAT(text, HasSubstr("reads from caches"));
}

TEST(ReportText, OfNothingHasNeitherNanNorInfinity) {  // rows P04, P09
  RunFacts run;
  run.read_bytes_per_s = 0.0;
  const ProfileReport report = make_report({}, run);
  for (const ProfilePhase& phase : report.phases) EXPECT_EQ(phase.share, std::nullopt);
  EXPECT_FALSE(report.tok_s || report.read_bytes_per_s);
  const std::string text = to_text(report);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  EXPECT_THAT(text, HasSubstr("n/a tok/s"));
  EXPECT_TRUE(Json::accept(to_chrome_trace(report)));
}

TEST(Trace, HasARowForEachPhaseAndAnEventForEachSpan) {
  const Json trace = Json::parse(to_chrome_trace(make_report(two_steps(), a_run())));
  std::set<std::string> rows;
  double end_us = 0;
  size_t events = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") {
      if (event.at("name") == "thread_name") rows.insert(event.at("args").at("name"));
      continue;
    }
    ASSERT_EQ(event.at("ph"), "X");
    EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), end_us);  // one begins where the other ended
    end_us = event.at("ts").get<double>() + event.at("dur").get<double>();
    ++events;
  }
  EXPECT_EQ(rows.size(), kPhaseCount);
  EXPECT_EQ(events, 4U);
  EXPECT_DOUBLE_EQ(end_us, 0.16);
}

TEST(Trace, EscapesNames) {
  Recorder recorder;
  recorder.add(recorder.op("a \"quoted\\ name\"\n", Phase::gemm), 1, 2);
  recorder.end_step();
  const Json trace = Json::parse(to_chrome_trace(make_report(recorder.snapshot(), a_run())));
  EXPECT_EQ(trace.at("traceEvents").back().at("name"), "a \"quoted\\ name\"\n");
}

}  // namespace
}  // namespace qualia::profile

#include "qualia/model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "api/api_fixture_test.h"

namespace qualia {
namespace {

using model::LlamaFile;
using testing::HasSubstr;

class ModelTest : public ApiTest {};

TEST_F(ModelTest, DescribesItsFileAndItsPath) {
  const Model model = load(kTinyPath, {.context = 100});
  const ModelInfo& info = model.info();
  EXPECT_EQ(info.path, kTinyPath);
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.vocabulary_size, 263U);
  EXPECT_EQ(info.context, 100U);
  EXPECT_GE(info.trained_context, 100U);
  EXPECT_TRUE(info.has_tokenizer);
  EXPECT_TRUE(info.has_chat_template);
  EXPECT_GT(info.parameter_count, 96U * 263U);
  EXPECT_GT(info.weights_bytes, info.parameter_count / 2);
  EXPECT_EQ(model.path().lane, "cpu");
  EXPECT_EQ(model.path().device, "CPU, 2 threads");
  EXPECT_FALSE(model.path().rationale.empty());
  EXPECT_EQ(model.tokenizer_error(), std::nullopt);
}

TEST_F(ModelTest, ReportsItsProgressToTheEnd) {
  uint64_t last_done = 0;
  uint64_t last_total = 1;
  load(kTinyPath, {.progress = [&](uint64_t done, uint64_t total) {
         EXPECT_GE(done, last_done);
         last_done = done;
         last_total = total;
       }});
  EXPECT_EQ(last_done, last_total);
}

TEST_F(ModelTest, RefusesAFileThatIsNotThereOrNoModelAndNamesIt) {
  const auto absent = try_load("no/such file.gguf");
  expect_error(absent.error(), ErrorCode::not_found, {"no/such file.gguf"});
  const auto text = try_load("tests/data/tiny/README.md");
  expect_error(text.error(), ErrorCode::corrupt_file, {"tests/data/tiny/README.md"});
  const auto refused = try_load(LlamaFile().u32("llama.attention.head_count", 0));
  expect_error(refused.error(), ErrorCode::corrupt_file,
               {"written.gguf", "llama.attention.head_count"});
}

TEST_F(ModelTest, LoadsFromAnyPath) {
  for (const char* name : {"with space.gguf", "-dash.gguf", "模型 ünï.gguf"}) {
    const auto path = folder_ / name;
    std::filesystem::copy_file(kTinyPath, path);
    EXPECT_TRUE(try_load(path).has_value()) << name;
  }
}

TEST_F(ModelTest, RefusesOptionsOutOfRange) {
  expect_error(try_load(kTinyPath, {.threads = 0}).error(), ErrorCode::invalid_argument,
               {"'threads' is 0 (1 to 4096)"});
  expect_error(try_load(kTinyPath, {.threads = 5000}).error(), ErrorCode::invalid_argument,
               {"'threads' is 5000"});
  expect_error(try_load(kTinyPath, {.context = 0}).error(), ErrorCode::invalid_argument,
               {"'context' is 0"});
}

TEST_F(ModelTest, RefusesALaneOrBackendThatIsNotThereAndListsWhatIs) {
  expect_error(try_load(kTinyPath, {.lane = "cuda"}).error(), ErrorCode::not_found,
               {"'cuda'", "reference / CPU, 2 threads / scalar"});
  // A backend of another system.
  expect_error(try_load(kTinyPath, {.backend = "dx12"}).error(), ErrorCode::not_found,
               {"'dx12'", "--backend", "reference / CPU, 2 threads / scalar"});
}

// Sets a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(ModelTest, ABackendPinnedByVariableIsNeverReplacedSilently) {
  const Variable pin("QUALIA_WGPU_BACKEND", "metal");
  runtime_ = Runtime::create().value();
  expect_error(try_load(kTinyPath).error(), ErrorCode::not_found,
               {"'metal'", "QUALIA_WGPU_BACKEND", "reference / CPU"});
  // A lane that was asked for comes before the variable, which speaks of another lane.
  EXPECT_TRUE(try_load(kTinyPath, {.lane = "reference"}).has_value());
}

TEST_F(ModelTest, RefusesAContextThatDoesNotFitInMemoryWithBothNumbers) {
  const auto model = try_load(kTinyPath, {.lane = "reference", .context = 0x7FFFFFFF});
  ASSERT_FALSE(model.has_value());
  expect_error(model.error(), ErrorCode::out_of_memory, {"2147483647 positions"});
  // Two layers of one KV head of 64 in f32: 65536 bytes a page of 64 positions.
  EXPECT_THAT(model.error().message, HasSubstr(std::to_string((0x80000000ULL / 64) * 65536)));
  EXPECT_THAT(model.error().message, HasSubstr("free"));
}

TEST_F(ModelTest, WarnsOfAContextBeyondTheTrainedOne) {
  testing::internal::CaptureStderr();
  const Model model = load(LlamaFile(), {.context = 300});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("300"), HasSubstr("256")));
  EXPECT_EQ(model.info().context, 300U);
}

// Row G20: the KV cache grows with what is in it, not with what the file claims.
TEST_F(ModelTest, AHugeTrainedContextCostsNothing) {
  const Model model = load(LlamaFile().u32("llama.context_length", 0x7FFFFFFF).byte_tokenizer());
  EXPECT_EQ(model.info().trained_context, 0x7FFFFFFFU);
  EXPECT_LE(model.info().context, 0x7FFFFFFFU);
  auto session = Session::create(model).value();
  EXPECT_TRUE(session.complete("a", greedy(2)).has_value());
}

TEST_F(ModelTest, SaysWhichPrecisionAndKvTypeAreInForce) {
  EXPECT_EQ(load(kTinyPath, {}).info().precision, Precision::precise);
  EXPECT_EQ(load(kTinyPath, {}).info().kv, KvType::f16);
  const Model fast = load(kTinyPath, {.kv = KvType::f32, .precision = Precision::fast});
  EXPECT_EQ(fast.info().precision, Precision::fast);
  EXPECT_EQ(fast.info().kv, KvType::f32);
  const Model reference = load(kTinyPath, {.lane = "reference", .precision = Precision::fast});
  EXPECT_EQ(reference.info().precision, Precision::exact);
  EXPECT_EQ(reference.info().kv, KvType::f32);
}

TEST_F(ModelTest, RefusesAKvTypeThatTheLaneLacks) {
  for (const KvType kv : {KvType::int8, KvType::f16})
    EXPECT_EQ(try_load(kTinyPath, {.lane = "reference", .kv = kv}).error().code,
              ErrorCode::unsupported);
  EXPECT_TRUE(try_load(kTinyPath, {.lane = "reference", .kv = KvType::f32}).has_value());
}

TEST_F(ModelTest, RefusesAVocabularyLargerThanItsOutputMatrix) {
  const auto model = try_load(LlamaFile()
                                  .byte_tokenizer()
                                  .tensor("token_embd.weight", {8, 200})
                                  .tensor("output.weight", {8, 200}));
  expect_error(model.error(), ErrorCode::corrupt_file, {"258 tokens", "200 rows"});
}

// Row G19: the weights can still be measured.
TEST_F(ModelTest, AVocabularyThatContradictsItselfIsNamedWhereTextIsNeeded) {
  const Model model = load(LlamaFile().byte_tokenizer().u32("tokenizer.ggml.bos_token_id", 999));
  EXPECT_EQ(model.tokenizer(), nullptr);
  ASSERT_TRUE(model.tokenizer_error().has_value());
  expect_error(*model.tokenizer_error(), ErrorCode::corrupt_file,
               {"written.gguf", "tokenizer.ggml.bos_token_id", "999", "258 tokens"});
  EXPECT_TRUE(model.logits(std::vector<TokenId>{1, 2}, 1, 1).has_value());
}

// Row N14.
TEST_F(ModelTest, TheNormsEpsilonChangesTheLogitsOfSmallInputs) {
  const auto logit = [&](float epsilon) {
    const Model model = load(
        LlamaFile().weight_scale(1e-3F).f32("llama.attention.layer_norm_rms_epsilon", epsilon));
    return static_cast<double>(
        model.logits(std::vector<TokenId>{1, 2, 3}, 1, 1).value()[0].top_logits[0]);
  };
  const double coarse = logit(1e-5F);
  const double fine = logit(1e-6F);
  EXPECT_GT(std::abs(coarse - fine), 0.1 * std::abs(fine));
}

TEST_F(ModelTest, LogitsAreSortedAndTheirSumIsOfTheWholeVocabulary) {
  const Model model = load(LlamaFile());
  const auto positions = model.logits(std::vector<TokenId>{1, 2, 3}, 2, 99).value();
  ASSERT_EQ(positions.size(), 2U);
  EXPECT_EQ(positions[1].position, 2U);
  ASSERT_EQ(positions[1].top_logits.size(), 10U);
  double sum = 0;
  for (size_t i = 0; i < 10; ++i) {
    sum += std::exp(static_cast<double>(positions[1].top_logits[i]));
  }
  EXPECT_NEAR(positions[1].logsumexp, std::log(sum), 1e-6);
  EXPECT_TRUE(std::ranges::is_sorted(positions[1].top_logits, std::greater{}));
}

// Row T13.
TEST_F(ModelTest, LogitsRefuseIdsOutOfRangeAndTooManyTokens) {
  const Model model = load(LlamaFile(), {.context = 8});
  for (const std::vector<TokenId>& tokens :
       {std::vector<TokenId>{}, std::vector<TokenId>{-1}, std::vector<TokenId>{10},
        std::vector<TokenId>{0x7FFFFFFF}, std::vector<TokenId>(9, 1)})
    EXPECT_EQ(model.logits(tokens, 1, 1).error().code, ErrorCode::invalid_argument);
}

TEST_F(ModelTest, PerplexityOfATextIsThatOfItsLogits) {
  const Model model = load_bytes_model("");
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  const auto report = model.perplexity(text, 13).value();
  EXPECT_EQ(report.windows, 2U);
  EXPECT_EQ(report.tokens, 24U);
  double nll = 0;
  for (const size_t begin : {size_t{0}, size_t{13}}) {
    const auto tokens = model.tokenizer()->encode(text.substr(begin, 13));
    const auto logits = model.logits(tokens, 13, 258).value();
    for (size_t i = 0; i + 1 < 13; ++i) {
      const auto& ids = logits[i].top_ids;
      const auto rank = std::ranges::find(ids, tokens[i + 1]) - ids.begin();
      nll += logits[i].logsumexp -
             static_cast<double>(logits[i].top_logits[static_cast<size_t>(rank)]);
    }
  }
  EXPECT_NEAR(report.mean_nll, nll / 24, 1e-6);
  EXPECT_NEAR(report.perplexity, std::exp(report.mean_nll), 1e-9);
  EXPECT_EQ(model.perplexity(text, 13, {}, [] { return true; }).error().code, ErrorCode::cancelled);
}

TEST_F(ModelTest, RunsWithoutATokenizerWhatNeedsNone) {
  const Model model = load(LlamaFile().string("tokenizer.ggml.model", "none"));
  EXPECT_EQ(model.tokenizer(), nullptr);
  ASSERT_TRUE(model.tokenizer_error().has_value());
  EXPECT_EQ(model.tokenizer_error()->code, ErrorCode::not_found);
  EXPECT_TRUE(model.logits(std::vector<TokenId>{1}, 1, 1).has_value());
  const auto rows =
      model.bench({.prompt_tokens = 8, .generated_tokens = 2, .depth = 0, .repetitions = 1});
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].test, "pp8");
  EXPECT_GT((*rows)[1].tok_s_median, 0);
  EXPECT_EQ(model.perplexity("abc", 2).error().code, ErrorCode::not_found);
  auto session = Session::create(model).value();
  EXPECT_EQ(session.complete("abc", greedy(1)).error().code, ErrorCode::not_found);
  EXPECT_EQ(session.chat({}, greedy(1)).error().code, ErrorCode::not_found);
  const auto reply = session.complete_tokens(std::vector<TokenId>{1, 2}, greedy(3));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->tokens.size(), 3U);
  EXPECT_EQ(reply->text, "");
}

TEST_F(ModelTest, ProfileTellsPhasesOpsAndRatesOfTheHostLanes) {
  for (const char* lane : {"cpu", "reference"}) {
    const Model model = load(kTinyPath, {.lane = lane});
    const auto report = model.profile({.tokens = 6, .depth = 3, .prompt_tokens = 4});
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->circuit, model.path().winning_circuit);
    EXPECT_EQ(report->steps, 7U);
    uint64_t attributed_ns = 0;
    for (const ProfilePhase& phase : report->phases) {
      EXPECT_EQ(phase.calls > 0, phase.phase != Phase::fused_block) << to_string(phase.phase);
      attributed_ns += phase.total_ns;
    }
    EXPECT_EQ(attributed_ns + report->unattributed_ns, report->wall_ns);
    EXPECT_LE(report->busy_ns, report->wall_ns);
    EXPECT_GT(report->read_bytes_per_s.value_or(0), 1e8);
    EXPECT_TRUE(report->tok_s && report->perturbed);
    EXPECT_EQ(report->ops.size(), 7U);
    for (const ProfileOp& op : report->ops) {
      EXPECT_TRUE(op.gb_per_s && op.ceiling_share) << op.name;
      EXPECT_EQ(op.gflop_per_s.has_value(), op.name != "embedding") << op.name;
    }
    EXPECT_EQ(model.profile({.tokens = 0}).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(model.profile({}, {}, [] { return true; }).error().code, ErrorCode::cancelled);
  }
}

TEST_F(ModelTest, BenchHasPhasesOnlyWhereItIsProfiled) {
  const Model model = load(kTinyPath);
  BenchOptions options{.prompt_tokens = 8, .generated_tokens = 2, .sequences = 2, .repetitions = 1};
  const auto plain = model.bench(options).value();
  EXPECT_FALSE(plain[0].profile || plain[1].profile);
  options.profile = true;
  const auto rows = model.bench(options).value();
  ASSERT_TRUE(rows[0].profile && rows[1].profile);
  EXPECT_EQ(rows[0].profile->prompt_tokens, 8U);
  EXPECT_EQ(rows[0].profile->tokens, 0U);
  EXPECT_EQ(rows[1].profile->tokens, 4U);  // of both sequences
  EXPECT_EQ(rows[1].profile->steps, 2U);
}

TEST_F(ModelTest, InspectShowsTypesShapesAndPlaces) {
  const auto report = inspect_file(kTinyPath).value();
  EXPECT_EQ(report.version, 3U);
  const auto tensor = std::ranges::find(report.tensors, "token_embd.weight", &TensorEntry::name);
  ASSERT_NE(tensor, report.tensors.end());
  EXPECT_EQ(tensor->type, "Q4_0");
  EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{96, 263}));
  EXPECT_EQ(tensor->size_bytes, 96U * 263U / 32U * 18U);
  const auto entry =
      std::ranges::find(report.metadata, "tokenizer.ggml.tokens", &MetadataEntry::key);
  ASSERT_NE(entry, report.metadata.end());
  EXPECT_EQ(entry->type, "array of string");
  EXPECT_THAT(entry->value, HasSubstr("(263 items)"));
}

TEST_F(ModelTest, InspectCutsLongTextBetweenCharacters) {
  std::string text(4095, 'a');
  for (int i = 0; i < 1000; ++i) text += "\u20AC";  // three bytes each
  const auto path = folder_ / "written.gguf";
  LlamaFile().string("general.description", text).write(path);
  const auto report = inspect_file(path).value();
  const auto entry = std::ranges::find(report.metadata, "general.description", &MetadataEntry::key);
  ASSERT_NE(entry, report.metadata.end());
  EXPECT_EQ(entry->value, std::string(4095, 'a') + "... (7095 bytes)");
}

TEST_F(ModelTest, ATokenizerOpensWithoutItsTensors) {
  const auto tokenizer = Tokenizer::open(kTinyPath);
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_EQ(tokenizer->vocabulary_size(), 263U);
  const auto ids = tokenizer->encode("h\xFFi", {.add_special = false});
  EXPECT_EQ(tokenizer->decode(ids).value(), "h\xFFi");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{263}).error().code, ErrorCode::invalid_argument);
  LlamaFile().write(folder_ / "none.gguf");
  expect_error(Tokenizer::open(folder_ / "none.gguf").error(), ErrorCode::not_found,
               {"none.gguf", "no tokenizer"});
}

}  // namespace
}  // namespace qualia

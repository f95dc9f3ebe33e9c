// The C ABI's seams: arguments, buffers, growing structs, exceptions. tests/c_api shows it from C.

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "api/api_fixture_test.h"
#include "qualia/qualia_c.h"

namespace qualia {
namespace {

// Owns what the C functions hand out.
template <typename T, void (*free_object)(T*)>
struct Owner {
  ~Owner() { free_object(object); }
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  T** out() {
    free_object(std::exchange(object, nullptr));
    return &object;
  }
  operator T*() const { return object; }  // NOLINT: stands for the handle
  T* object = nullptr;
};
using CError = Owner<qualia_error, qualia_error_free>;
using CModel = Owner<qualia_model, qualia_model_free>;
using CTokenizer = Owner<qualia_tokenizer, qualia_tokenizer_free>;
using CSession = Owner<qualia_session, qualia_session_free>;
using CReply = Owner<qualia_reply, qualia_reply_free>;

class CApiTest : public ApiTest {
 protected:
  void SetUp() override {
    model::LlamaFile()
        .byte_tokenizer()
        .string("tokenizer.chat_template", kChatTemplate)
        .write(path_);
    Owner<qualia_runtime, qualia_runtime_free> runtime;
    ASSERT_EQ(qualia_runtime_create(runtime.out(), nullptr), QUALIA_OK);
    qualia_model_options options;
    qualia_model_options_init(&options, sizeof options);
    options.threads = 2;
    ASSERT_EQ(qualia_model_load(runtime, path_.c_str(), &options, model_.out(), error_.out()),
              QUALIA_OK)
        << qualia_error_message(error_);
    ASSERT_EQ(qualia_model_tokenizer(model_, tokenizer_.out(), nullptr), QUALIA_OK);
    ASSERT_EQ(qualia_session_create(model_, session_.out(), nullptr), QUALIA_OK);
    qualia_generate_options_init(&options_, sizeof options_);
    options_.temperature = 0;
    options_.max_tokens = 10;
  }

  qualia_status complete(const qualia_generate& generate) {
    return qualia_session_complete(session_, "Once", 4, &generate, reply_.out(), error_.out());
  }
  void expect_refused(qualia_status status, const std::vector<std::string>& words) {
    EXPECT_EQ(status, QUALIA_INVALID_ARGUMENT);
    EXPECT_EQ(qualia_error_status(error_), QUALIA_INVALID_ARGUMENT);
    for (const std::string& word : words)
      EXPECT_THAT(qualia_error_message(error_), testing::HasSubstr(word));
  }

  std::filesystem::path path_ = folder_ / "c.gguf";
  CError error_;
  CModel model_;
  CTokenizer tokenizer_;
  CSession session_;
  CReply reply_;
  qualia_generate_options options_{};
};

TEST_F(CApiTest, GivesTheRepliesOfTheCppApi) {
  const Model model = load(path_);
  const auto expected = Session::create(model)->complete("Once", greedy(10)).value();
  ASSERT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
  size_t count = 0;
  const qualia_token* tokens = qualia_reply_tokens(reply_, &count);
  EXPECT_EQ(std::vector<TokenId>(tokens, tokens + count), expected.tokens);
  EXPECT_EQ(std::string(qualia_reply_text(reply_, nullptr)), expected.text);
  EXPECT_EQ(qualia_reply_finish_reason(reply_), static_cast<int>(expected.finish_reason));
  const std::vector<TokenId> prompt{'O', 'n', 'c', 'e'};
  const qualia_generate generate{&options_, nullptr, nullptr, nullptr};
  ASSERT_EQ(qualia_session_complete_tokens(session_, prompt.data(), 4, &generate, reply_.out(),
                                           error_.out()),
            QUALIA_OK);
}

TEST_F(CApiTest, DefaultsAreThoseOfTheCppApi) {
  qualia_generate_options options;
  qualia_generate_options_init(&options, sizeof options);
  const SamplingOptions sampling;
  EXPECT_EQ(options.temperature, sampling.temperature);
  EXPECT_EQ(options.top_k, sampling.top_k);
  EXPECT_EQ(options.top_p, sampling.top_p);
  EXPECT_EQ(options.min_p, sampling.min_p);
  EXPECT_EQ(options.repeat_penalty, sampling.repeat_penalty);
  EXPECT_EQ(options.repeat_window, sampling.repeat_window);
  EXPECT_LT(options.max_tokens, 0);
  EXPECT_FALSE(options.has_seed);
  EXPECT_TRUE(options.parse_special && options.add_special);
}

TEST_F(CApiTest, RefusesNullWhereAValueIsNeeded) {
  size_t count = 0;
  std::array<char, 4> text{};
  expect_refused(qualia_session_complete(nullptr, "a", 1, nullptr, reply_.out(), error_.out()),
                 {"'session' is NULL"});
  expect_refused(qualia_session_complete(session_, nullptr, 1, nullptr, reply_.out(), error_.out()),
                 {"'prompt' is NULL"});
  expect_refused(qualia_session_complete(session_, "a", 1, nullptr, nullptr, error_.out()),
                 {"'reply' is NULL"});
  expect_refused(qualia_session_chat(session_, nullptr, 1, nullptr, reply_.out(), error_.out()),
                 {"'messages' is NULL"});
  const qualia_message no_role{nullptr, "x", 1};
  expect_refused(qualia_session_chat(session_, &no_role, 1, nullptr, reply_.out(), error_.out()),
                 {"role' is NULL"});
  expect_refused(
      qualia_tokenizer_encode(tokenizer_, "a", 1, false, false, nullptr, 3, &count, error_.out()),
      {"'tokens' is NULL"});
  expect_refused(
      qualia_tokenizer_decode(tokenizer_, nullptr, 1, false, text.data(), 4, &count, error_.out()),
      {"'tokens' is NULL"});
  expect_refused(
      qualia_tokenizer_decode(tokenizer_, nullptr, 0, false, text.data(), 4, nullptr, error_.out()),
      {"'size_bytes' is NULL"});
  expect_refused(qualia_model_get_info(model_, nullptr, error_.out()), {"'info' is NULL"});
  EXPECT_EQ(qualia_runtime_create(nullptr, nullptr), QUALIA_INVALID_ARGUMENT);
}

TEST_F(CApiTest, GettersOfNullGiveNothing) {
  size_t count = 5;
  EXPECT_STREQ(qualia_error_message(nullptr), "");
  EXPECT_EQ(qualia_error_status(nullptr), QUALIA_OK);
  EXPECT_STREQ(qualia_reply_text(nullptr, &count), "");
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(qualia_reply_tokens(nullptr, nullptr), nullptr);
  EXPECT_EQ(qualia_tokenizer_vocabulary_size(nullptr), 0U);
  EXPECT_EQ(qualia_model_path_reason(nullptr, 0), nullptr);
  qualia_model_free(nullptr);
  qualia_cancel_set(nullptr);
}

TEST_F(CApiTest, ABufferThatIsTooSmallGetsTheBeginningAndTheWholeSize) {
  std::array<qualia_token, 3> ids{-7, -7, -7};
  size_t count = 0;
  ASSERT_EQ(qualia_tokenizer_encode(tokenizer_, "abcde", QUALIA_ZSTRING, false, false, ids.data(),
                                    2, &count, nullptr),
            QUALIA_OK);
  EXPECT_EQ(count, 5U);
  EXPECT_EQ(ids, (std::array<qualia_token, 3>{'a', 'b', -7}));

  const std::array<qualia_token, 5> all{'a', 'b', 'c', 'd', 'e'};
  std::string text(8, '#');
  size_t size_bytes = 0;
  for (const auto& [capacity, expected] :
       std::initializer_list<std::pair<size_t, std::string>>{{0, "########"},
                                                             {1, std::string("\0#######", 8)},
                                                             {3, std::string("ab\0#####", 8)},
                                                             {6, std::string("abcde\0##", 8)}}) {
    text.assign(8, '#');
    ASSERT_EQ(qualia_tokenizer_decode(tokenizer_, all.data(), 5, false, text.data(), capacity,
                                      &size_bytes, nullptr),
              QUALIA_OK);
    EXPECT_EQ(size_bytes, 5U);
    EXPECT_EQ(text, expected) << capacity;
  }
}

TEST_F(CApiTest, RefusesOptionsSmallerThanTheirFirstVersion) {
  options_.struct_size = 8;
  expect_refused(complete({&options_, nullptr, nullptr, nullptr}), {"struct_size 8"});
}

// An older caller: its struct ends before `in_process`, and what lies behind is not read.
TEST_F(CApiTest, TakesModelOptionsOfTheirFirstVersion) {
  qualia_model_options options;
  std::memset(&options, 0xAA, sizeof options);
  qualia_model_options_init(&options, offsetof(qualia_model_options, in_process));
  options.threads = 1;
  Owner<qualia_runtime, qualia_runtime_free> runtime;
  ASSERT_EQ(qualia_runtime_create(runtime.out(), nullptr), QUALIA_OK);
  CModel model;
  EXPECT_EQ(qualia_model_load(runtime, path_.c_str(), &options, model.out(), error_.out()),
            QUALIA_OK);
}

// A newer caller: the same struct with a field behind it.
TEST_F(CApiTest, RefusesOptionsThatThisLibraryLacksAndOnlyThose) {
  struct {
    qualia_generate_options known;
    uint64_t later;
  } newer;
  static_assert(sizeof newer > sizeof(qualia_generate_options));
  std::memset(&newer, 0xAA, sizeof newer);
  qualia_generate_options_init(&newer.known, sizeof newer);
  EXPECT_EQ(newer.later, 0U);
  newer.known.max_tokens = 1;
  EXPECT_EQ(complete({&newer.known, nullptr, nullptr, nullptr}), QUALIA_OK);
  newer.later = 3;
  expect_refused(complete({&newer.known, nullptr, nullptr, nullptr}),
                 {"sets a field", std::to_string(sizeof(qualia_generate_options))});
}

TEST_F(CApiTest, InfoFillsOnlyWhatTheCallerHasRoomFor) {
  qualia_model_info info;
  std::memset(&info, 0x55, sizeof info);
  info.struct_size = offsetof(qualia_model_info, name);
  ASSERT_EQ(qualia_model_get_info(model_, &info, nullptr), QUALIA_OK);
  EXPECT_STREQ(info.architecture, "llama");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(info.name), 0x5555555555555555U);
  EXPECT_EQ(info.struct_size, offsetof(qualia_model_info, name));
  info.struct_size = 0;
  expect_refused(qualia_model_get_info(model_, &info, error_.out()), {"struct_size 0"});
}

TEST_F(CApiTest, RefusesOptionsOutOfRange) {
  options_.top_p = 7;
  expect_refused(complete({&options_, nullptr, nullptr, nullptr}), {"'top_p' is 7"});
  options_.top_p = 1;
  options_.max_tokens = int64_t{1} << 40;
  expect_refused(complete({&options_, nullptr, nullptr, nullptr}), {"'max_tokens'"});
  qualia_model_options model_options;
  qualia_model_options_init(&model_options, sizeof model_options);
  model_options.kv = 9;
  Owner<qualia_runtime, qualia_runtime_free> runtime;
  ASSERT_EQ(qualia_runtime_create(runtime.out(), nullptr), QUALIA_OK);
  CModel none;
  expect_refused(
      qualia_model_load(runtime, path_.c_str(), &model_options, none.out(), error_.out()),
      {"'kv' is 9"});
}

TEST_F(CApiTest, TakesStopsAndLogitBiases) {
  const qualia_logit_bias bias{'z', 1000};
  options_.logit_biases = &bias;
  options_.logit_bias_count = 1;
  ASSERT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
  EXPECT_STREQ(qualia_reply_text(reply_, nullptr), "zzzzzzzzzz");
  EXPECT_EQ(qualia_reply_finish_reason(reply_), QUALIA_FINISH_LENGTH);
  const std::array<const char*, 2> stops{"no", "zzz"};
  options_.stops = stops.data();
  options_.stop_count = stops.size();
  ASSERT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
  EXPECT_STREQ(qualia_reply_text(reply_, nullptr), "");
  EXPECT_EQ(qualia_reply_finish_reason(reply_), QUALIA_FINISH_STOP);
}

TEST_F(CApiTest, ReportsTheSeedThatRepeatsAReply) {
  options_.temperature = 5;
  ASSERT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
  const std::string text = qualia_reply_text(reply_, nullptr);
  qualia_reply_stats stats;
  stats.struct_size = sizeof stats;
  ASSERT_EQ(qualia_reply_get_stats(reply_, &stats, nullptr), QUALIA_OK);
  options_.has_seed = true;
  options_.seed = stats.seed;
  ASSERT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
  EXPECT_EQ(text, qualia_reply_text(reply_, nullptr));
}

TEST_F(CApiTest, ACallbackOrAFlagEndsAReplyThatIsStillASuccess) {
  const auto stop_at_once = [](const char*, size_t, void* calls) {
    ++*static_cast<int*>(calls);
    return 1;
  };
  int calls = 0;
  ASSERT_EQ(complete({&options_, stop_at_once, &calls, nullptr}), QUALIA_OK);
  EXPECT_EQ(qualia_reply_finish_reason(reply_), QUALIA_FINISH_CANCELLED);
  EXPECT_EQ(calls, 1);
  Owner<qualia_cancel, qualia_cancel_free> cancel;
  ASSERT_EQ(qualia_cancel_create(cancel.out(), nullptr), QUALIA_OK);
  qualia_cancel_set(cancel);
  ASSERT_EQ(complete({&options_, nullptr, nullptr, cancel}), QUALIA_OK);
  EXPECT_EQ(qualia_reply_finish_reason(reply_), QUALIA_FINISH_CANCELLED);
  qualia_cancel_reset(cancel);
  ASSERT_EQ(complete({&options_, nullptr, nullptr, cancel}), QUALIA_OK);
  EXPECT_NE(qualia_reply_finish_reason(reply_), QUALIA_FINISH_CANCELLED);
}

TEST_F(CApiTest, NoExceptionLeavesIt) {
  const auto throwing = [](const char*, size_t, void*) -> int { throw std::runtime_error("mine"); };
  EXPECT_EQ(complete({&options_, throwing, nullptr, nullptr}), QUALIA_INTERNAL);
  EXPECT_STREQ(qualia_error_message(error_), "mine");
  const auto odd = [](const char*, size_t, void*) -> int { throw 5; };
  EXPECT_EQ(complete({&options_, odd, nullptr, nullptr}), QUALIA_INTERNAL);
  EXPECT_EQ(complete({&options_, nullptr, nullptr, nullptr}), QUALIA_OK);
}

TEST_F(CApiTest, ASuccessClearsTheCallersError) {
  auto* stale = reinterpret_cast<qualia_error*>(this);
  EXPECT_EQ(qualia_set_log_level("warn", &stale), QUALIA_OK);
  EXPECT_EQ(stale, nullptr);
  expect_refused(qualia_set_log_level("loud", error_.out()), {"'loud'"});
}

}  // namespace
}  // namespace qualia

#include "qualia/session.h"

#include <set>
#include <stdexcept>
#include <thread>

#include "api/api_fixture_test.h"

namespace qualia {
namespace {

class SessionTest : public ApiTest {
 protected:
  std::vector<TokenId> encode(const std::string& text) {
    return model_.tokenizer()->encode(text, {.add_special = false, .parse_special = true});
  }

  Model model_ = load_bytes_model(kChatTemplate);
  Session session_ = Session::create(model_).value();
};

TEST_F(SessionTest, CompletesATextAsItCompletesItsTokens) {
  const auto text = session_.complete("Once upon", greedy(20));
  const auto tokens = session_.complete_tokens(encode("Once upon"), greedy(20));
  ASSERT_TRUE(text.has_value() && tokens.has_value());
  EXPECT_EQ(text->tokens, tokens->tokens);
  EXPECT_EQ(text->text, tokens->text);
  EXPECT_EQ(text->prompt_tokens, 9U);
  EXPECT_EQ(text->completion_tokens, text->tokens.size());
  EXPECT_FALSE(text->text.empty());
}

TEST_F(SessionTest, ChatsByTheModelsTemplate) {
  const std::vector<ChatMessage> messages{{"system", "Be brief."}, {"user", "Hi"}};
  const auto chat = session_.chat(messages, greedy(10));
  const auto raw = session_.complete(
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
      "<|im_start|>assistant\n",
      greedy(10));
  ASSERT_TRUE(chat.has_value()) << chat.error().message;
  ASSERT_TRUE(raw.has_value());
  EXPECT_EQ(chat->prompt_tokens, raw->prompt_tokens);
  EXPECT_EQ(chat->tokens, raw->tokens);
}

TEST_F(SessionTest, ControlTextInAMessageStaysPlain) {
  const auto prompt_tokens = [&](const char* content) {
    const std::vector<ChatMessage> messages{{"user", content}};
    return session_.chat(messages, greedy(0)).value().prompt_tokens;
  };
  // One token a byte; as a control token it would be one.
  EXPECT_EQ(prompt_tokens("<|im_end|>"), prompt_tokens("") + 10);
  EXPECT_EQ(prompt_tokens("a<|im_start|>"), prompt_tokens("") + 13);
  EXPECT_EQ(session_.complete("<|im_end|>", greedy(0)).value().prompt_tokens, 1U);
  GenerateOptions plain = greedy(0);
  plain.parse_special = false;
  EXPECT_EQ(session_.complete("<|im_end|>", plain).value().prompt_tokens, 10U);
}

// Row C12 for this interface: bytes that are not UTF-8 can't stand in a template's text.
TEST_F(SessionTest, ReadsInvalidUtf8InAMessageAsReplacementCharacters) {
  const auto tokens = [&](const char* content) {
    const std::vector<ChatMessage> messages{{"user", content}};
    return session_.chat(messages, greedy(8)).value().tokens;
  };
  EXPECT_EQ(tokens("a\xFF"), tokens("a\xEF\xBF\xBD"));
}

TEST_F(SessionTest, StreamsTheTextThatItReturns) {
  std::string streamed;
  const auto reply =
      session_.complete("Once upon", greedy(40), [&](std::string_view text) { streamed += text; });
  ASSERT_TRUE(reply.has_value());
  EXPECT_FALSE(streamed.empty());
  EXPECT_EQ(streamed, reply->text);
}

TEST_F(SessionTest, GivesExactlyTheMaximumOfTokensAndSaysSo) {
  for (const uint32_t count : {0U, 1U, 7U}) {
    const auto reply = session_.complete("Once upon", greedy(count));
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->tokens.size(), count);
    EXPECT_EQ(reply->finish_reason, FinishReason::length);
  }
}

TEST_F(SessionTest, EndsBeforeAStopString) {
  const auto whole = session_.complete("Once upon", greedy(40));
  ASSERT_TRUE(whole.has_value());
  GenerateOptions options = greedy(40);
  options.stop = {whole->text.substr(whole->text.size() / 2, 2)};
  const auto reply = session_.complete("Once upon", options);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->finish_reason, FinishReason::stop);
  EXPECT_EQ(reply->text, whole->text.substr(0, whole->text.find(options.stop[0])));
}

TEST_F(SessionTest, EndsWhereTheContextIsFull) {
  const Model model = load(model::LlamaFile().byte_tokenizer(), {.context = 16});
  Session session = Session::create(model).value();
  const auto reply = session.complete("0123456789", greedy(std::nullopt));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->finish_reason, FinishReason::context);
  EXPECT_EQ(reply->tokens.size(), 7U);  // the last one needs no position
  expect_error(session.complete("0123456789abcdefg", greedy(1)).error(),
               ErrorCode::invalid_argument, {"17 tokens", "16"});
}

TEST_F(SessionTest, RepeatsAReplyByItsSeedOnly) {
  GenerateOptions options;
  options.sampling = {.temperature = 5, .top_k = 0, .top_p = 1, .min_p = 0, .logit_bias = {}};
  options.max_tokens = 20;
  const auto first = session_.complete("Once", options);
  ASSERT_TRUE(first.has_value());
  std::set<uint64_t> seeds{first->seed};
  for (int i = 0; i < 3; ++i) seeds.insert(session_.complete("Once", options)->seed);
  EXPECT_EQ(seeds.size(), 4U);
  options.sampling.seed = first->seed;
  EXPECT_EQ(session_.complete("Once", options)->tokens, first->tokens);
  options.sampling.seed = first->seed + 1;
  EXPECT_NE(session_.complete("Once", options)->tokens, first->tokens);
}

TEST_F(SessionTest, ComputesACommonBeginningOnce) {
  const std::string prompt(100, 'x');
  EXPECT_EQ(session_.complete(prompt, greedy(1))->timings.prefill_tokens, 100U);
  Session other = Session::create(model_).value();
  EXPECT_EQ(other.complete(prompt + "yz", greedy(1))->timings.prefill_tokens, 2U);
}

TEST_F(SessionTest, ACancelledReplyKeepsItsTextSoFar) {
  int asked = 0;
  const auto reply = session_.complete("Once upon", greedy(100), {}, [&] { return ++asked > 10; });
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->finish_reason, FinishReason::cancelled);
  EXPECT_EQ(reply->tokens.size(), 10U);
  const auto none = session_.complete("Once upon", greedy(100), {}, [] { return true; });
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->finish_reason, FinishReason::cancelled);
  EXPECT_TRUE(none->tokens.empty());
}

TEST_F(SessionTest, AnExceptionOfTheCallbackReachesTheCallerAndHarmsNothing) {
  const auto before = session_.complete("Once upon", greedy(10));
  const auto throwing = [](std::string_view) { throw std::runtime_error("mine"); };
  EXPECT_THROW((void)session_.complete("Once upon", greedy(10), throwing), std::runtime_error);
  const auto after = session_.complete("Once upon", greedy(10));
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ(before->tokens, after->tokens);
}

TEST_F(SessionTest, SessionsOfOneModelMayRunInParallelAndDoNotMix) {
  const std::vector<std::string> prompts{"Once", "upon", "a time"};
  std::vector<std::vector<TokenId>> expected;
  for (const std::string& prompt : prompts)
    expected.push_back(session_.complete(prompt, greedy(15)).value().tokens);
  std::vector<std::thread> threads;
  std::vector<size_t> right(prompts.size());  // rounds with the right reply
  for (size_t i = 0; i < prompts.size(); ++i)
    threads.emplace_back([&, i] {
      Session session = Session::create(model_).value();
      for (int round = 0; round < 5; ++round)
        right[i] +=
            session.complete(prompts[i], greedy(15)).value().tokens == expected[i] ? 1U : 0U;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<size_t>(prompts.size(), 5));
}

TEST_F(SessionTest, OutlivesTheModelsOtherHandles) {
  auto model = std::make_unique<Model>(load_bytes_model(""));
  Session session = Session::create(*model).value();
  model.reset();
  EXPECT_TRUE(session.complete("a", greedy(3)).has_value());
}

// Row T13, row S11.
TEST_F(SessionTest, RefusesIdsAndOptionsOutOfRange) {
  for (const std::vector<TokenId>& tokens :
       {std::vector<TokenId>{}, std::vector<TokenId>{-1}, std::vector<TokenId>{258},
        std::vector<TokenId>{0x7FFFFFFF}})
    EXPECT_EQ(session_.complete_tokens(tokens, greedy(1)).error().code,
              ErrorCode::invalid_argument);
  GenerateOptions options = greedy(1);
  options.sampling.top_p = 7;
  expect_error(session_.complete("a", options).error(), ErrorCode::invalid_argument,
               {"'top_p' is 7"});
}

// Row C01: the template's own sentence.
TEST_F(SessionTest, ATemplatesRefusalIsTheCallersFaultInItsOwnWords) {
  const Model model = load_bytes_model("{{ raise_exception('System role is not supported.') }}");
  Session session = Session::create(model).value();
  const std::vector<ChatMessage> messages{{"system", "x"}};
  expect_error(session.chat(messages, greedy(1)).error(), ErrorCode::invalid_argument,
               {"System role is not supported."});
  EXPECT_TRUE(session.complete("a", greedy(1)).has_value());
}

// Row C14.
TEST_F(SessionTest, ABrokenTemplateLeavesCompletionWorking) {
  for (const char* source : {"a\n{% for m in %}", "a\n{{ messages | no_such_filter }}"}) {
    const Model model = load_bytes_model(source);
    EXPECT_TRUE(model.info().has_chat_template);
    ASSERT_TRUE(model.chat_template_error().has_value());
    Session session = Session::create(model).value();
    EXPECT_TRUE(session.complete("a", greedy(1)).has_value());
    const std::vector<ChatMessage> messages{{"user", "x"}};
    const auto chat = session.chat(messages, greedy(1));
    ASSERT_FALSE(chat.has_value());
    expect_error(chat.error(), ErrorCode::corrupt_file, {"line 2"});
  }
}

// Row C10.
TEST_F(SessionTest, AModelWithoutATemplateRefusesToChatAndStillCompletes) {
  const Model model = load_bytes_model("");
  EXPECT_FALSE(model.info().has_chat_template);
  Session session = Session::create(model).value();
  EXPECT_TRUE(session.complete("a", greedy(1)).has_value());
  const std::vector<ChatMessage> messages{{"user", "x"}};
  expect_error(session.chat(messages, greedy(1)).error(), ErrorCode::not_found, {"chat template"});
}

TEST_F(SessionTest, ATemplateThatRendersNothingIsAnEmptyPrompt) {
  const Model model = load_bytes_model("{# nothing #}");
  Session session = Session::create(model).value();
  EXPECT_EQ(session.chat({}, greedy(1)).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace qualia

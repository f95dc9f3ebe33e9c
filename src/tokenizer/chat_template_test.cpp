#include "tokenizer/chat_template.h"

#include <gmock/gmock.h>

#include <clocale>
#include <thread>

#include "tokenizer/template_test_data.h"

namespace qualia::tokenizer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.jinja";

TEST(ChatTemplate, RendersTheDefaultModelsTemplate) {
  const auto prompt = render_source(read_template_file(kDefaultModel), one_user_message("Hi"));
  EXPECT_EQ(text_or_error(prompt),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, LeavesOutTheGenerationPromptOnRequest) {
  TemplateInput input = one_user_message("Hi");
  input.add_generation_prompt = false;
  const auto prompt = render_source(read_template_file(kDefaultModel), input);
  EXPECT_THAT(text_or_error(prompt), EndsWith("Hi<|im_end|>\n"));
}

// Row C01.
TEST(ChatTemplate, GivesTheTemplatesOwnSentenceWhenItRefuses) {
  TemplateInput input;
  input.messages_json = R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])";
  const auto prompt = render_source(read_template_file("google-gemma-2-2b-it.jinja"), input);
  ASSERT_FALSE(prompt.has_value());
  EXPECT_EQ(prompt.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(prompt.error().message, AllOf(HasSubstr("System role not supported"),
                                            HasSubstr("refuses"), HasSubstr("line 1")));
}

// Row C02: a refusal late in the template leaves no prompt.
TEST(ChatTemplate, GivesNoPromptWhenRolesDoNotAlternate) {
  const std::string user = R"({"role":"user","content":"u"})";
  const std::string assistant = R"({"role":"assistant","content":"a"})";
  TemplateInput input;
  input.messages_json = "[" + user + "," + user + "," + user + "," + assistant + "," + assistant +
                        "," + assistant + "]";
  for (const char* name : {"mistralai-Mistral-Nemo-Instruct-2407.jinja",
                           "mistralai-Ministral-3-14B-Reasoning-2512.jinja"}) {
    const auto prompt = render_source(read_template_file(name), input);
    ASSERT_FALSE(prompt.has_value()) << name;
    EXPECT_THAT(prompt.error().message, HasSubstr("conversation roles must alternate"));
  }
}

// Row C05.
TEST(ChatTemplate, UsesLlama31sOwnDateWhenNoneIsGiven) {
  const auto prompt = render_source(read_template_file("meta-llama-Llama-3.1-8B-Instruct.jinja"),
                                    one_user_message("Hi"));
  EXPECT_THAT(text_or_error(prompt), HasSubstr("Today Date: 26 Jul 2024\n"));
}

// Row C06.
TEST(ChatTemplate, PrintsTheDateInEnglishInAnyLocale) {
  const char* const previous = std::setlocale(LC_ALL, nullptr);
  const std::string restore = previous == nullptr ? "C" : previous;
  // Where the locale is not installed this changes nothing, and the test checks the C locale.
  for (const char* name : {"ja_JP.UTF-8", "de_DE.UTF-8", "ja_JP.utf8"})
    std::setlocale(LC_ALL, name);
  TemplateInput input = one_user_message("Hi");
  input.now_unix_seconds = 1709251200;  // 2024-03-01T00:00:00Z, the day after a leap day
  const auto prompt =
      render_source(read_template_file("meta-llama-Llama-3.2-3B-Instruct.jinja"), input);
  std::setlocale(LC_ALL, restore.c_str());
  EXPECT_THAT(text_or_error(prompt), HasSubstr("Today Date: 01 Mar 2024\n"));
}

TEST(ChatTemplate, TakesTheClockWhenNoTimeIsGiven) {
  const auto prompt =
      render_source("{{ strftime_now('%Y') | int >= 2024 }}", one_user_message("x"));
  EXPECT_EQ(text_or_error(prompt), "True");
}

// Row C12.
TEST(ChatTemplate, JoinsTextPartsForATemplateThatExpectsAString) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}])";
  const auto prompt = render_source(read_template_file(kDefaultModel), input);
  EXPECT_THAT(text_or_error(prompt), HasSubstr("<|im_start|>user\none two<|im_end|>"));
}

TEST(ChatTemplate, KeepsPartsForATemplateThatLoopsOverContent) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"image"}]}])";
  const char* const sources[] = {
      "{% for p in messages[0].content %}<{{ p.type }}>{% endfor %}",
      "{% for p in messages[0]['content'] %}<{{ p.type }}>{% endfor %}",
      "{% set c = messages[0].content %}{% for p in c | list %}<{{ p.type }}>{% endfor %}",
      "{% macro f(c) %}{% for p in c %}<{{ p.type }}>{% endfor %}{% endmacro %}"
      "{{ f(messages[0].content) }}",
      "{% macro f(c) %}{% for p in c %}<{{ p.type }}>{% endfor %}{% endmacro %}"
      "{{ f(c=messages[0].content) }}",
      "{% set ns = namespace(c=none) %}{% set ns.c = messages[0].content or [] %}"
      "{% for p in ns.c if p.type %}<{{ p.type }}>{% endfor %}",
      "{% with c = messages[0].content %}{% for p in c %}<{{ p.type }}>{% endfor %}{% endwith %}",
  };
  for (const char* source : sources) {
    EXPECT_EQ(text_or_error(render_source(source, input)), "<text><image>") << source;
  }
}

TEST(ChatTemplate, DoesNotTakeALoopOverSplitContentForPartsHandling) {
  TemplateInput input;
  input.messages_json = R"([{"role":"user","content":[{"type":"text","text":"a,b"}]}])";
  EXPECT_EQ(text_or_error(render_source(
                "{% for p in messages[0].content.split(',') %}<{{ p }}>{% endfor %}", input)),
            "<a><b>");
}

TEST(ChatTemplate, NamesThePartThatIsNoText) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}])";
  const auto prompt = render_source(read_template_file(kDefaultModel), input);
  ASSERT_FALSE(prompt.has_value());
  EXPECT_EQ(
      prompt.error().message,
      "Part 1 of the content of message 0 has type 'image_url' (this chat template takes text "
      "only).");
}

TEST(ChatTemplate, RendersAToolCallWithNullContent) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[]}])";
  for (const char* name : {kDefaultModel, "Qwen-Qwen3-0.6B.jinja"}) {
    const auto prompt = render_source(read_template_file(name), input);
    EXPECT_THAT(text_or_error(prompt), HasSubstr("<|im_start|>assistant\n")) << name;
  }
}

TEST(ChatTemplate, LeavesNullContentNoneForATemplateThatTestsIt) {
  TemplateInput input;
  input.messages_json = R"([{"role":"assistant","content":null},{"role":"assistant"}])";
  EXPECT_EQ(text_or_error(render_source("{% for m in messages %}{{ m.content is none }}"
                                        "{{ m.content is defined }};{% endfor %}",
                                        input)),
            "TrueTrue;FalseFalse;");
}

TEST(ChatTemplate, FailsOnAUserMessageWithoutContent) {
  TemplateInput input;
  input.messages_json = R"([{"role":"user"}])";
  const auto prompt = render_source(read_template_file(kDefaultModel), input);
  ASSERT_FALSE(prompt.has_value());
  EXPECT_EQ(prompt.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(prompt.error().message,
            "The chat template fails at line 4: 'dict object' has no attribute 'content'.");
}

TEST(ChatTemplate, RefusesMessagesThatAreNoArrayOfObjects) {
  for (const char* json :
       {"", "{", "{}", "[1]", "[[]]", "null", "[{\"role\":}]", "\xff", "[\"\xc3\"]"}) {
    TemplateInput input;
    input.messages_json = json;
    const auto prompt = render_source("x", input);
    ASSERT_FALSE(prompt.has_value()) << json;
    EXPECT_EQ(prompt.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(prompt.error().message, HasSubstr("essage")) << json;
  }
}

TEST(ChatTemplate, RefusesJsonThatNestsTooDeep) {
  TemplateInput input;
  input.messages_json = std::string(100000, '[');
  EXPECT_THAT(text_or_error(render_source("x", input)), HasSubstr("nests deeper than 64"));
}

// Row C14.
TEST(ChatTemplate, NamesTheLineOfASyntaxErrorAtParseTime) {
  const auto loop = ChatTemplate::parse("a\nb\n{% for m in %}");
  ASSERT_FALSE(loop.has_value());
  EXPECT_EQ(loop.error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(
      loop.error().message,
      "The chat template has a syntax error at line 3: '%}' stands where an expression is due.");
  const auto filter = ChatTemplate::parse("{{ 'x'\n | nosuchfilter }}");
  ASSERT_FALSE(filter.has_value());
  EXPECT_EQ(filter.error().message,
            "The chat template has a syntax error at line 2: there is no filter 'nosuchfilter'.");
}

TEST(ChatTemplate, NamesTagsThatItRefuses) {
  for (const char* tag : {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'"}) {
    const auto parsed = ChatTemplate::parse(std::string("{% ") + tag + " %}");
    ASSERT_FALSE(parsed.has_value()) << tag;
    EXPECT_THAT(parsed.error().message, HasSubstr("needs another file")) << tag;
  }
  const auto recursive = ChatTemplate::parse("{% for x in y recursive %}{% endfor %}");
  ASSERT_FALSE(recursive.has_value());
  EXPECT_THAT(recursive.error().message, HasSubstr("recursive loops are refused"));
  const auto unknown = ChatTemplate::parse("{% autoescape true %}{% endautoescape %}");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("tag 'autoescape' is unknown"));
}

TEST(ChatTemplate, NamesTheLineWhereEvaluationFails) {
  const auto prompt =
      render_source("a\n{% if true %}\n{{ nothing.x }}\n{% endif %}", one_user_message(""));
  EXPECT_EQ(text_or_error(prompt), "The chat template fails at line 3: 'nothing' is undefined.");
}

TEST(ChatTemplate, SeesToolsAndFurtherVariables) {
  TemplateInput input = one_user_message("x");
  const std::string source =
      "{{ tools is defined }} {{ bos_token }}{{ eos_token }} {{ enable_thinking }} "
      "{{ mode | default('-') }}";
  EXPECT_EQ(text_or_error(render_source(source, input)), "False  True -");
  input.tools_json = "[]";
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.enable_thinking = false;
  input.variables_json = R"({"mode": "fast", "eos_token": "!"})";
  EXPECT_EQ(text_or_error(render_source(source, input)), "True <s>! False fast");
  input.variables_json = "[]";
  EXPECT_THAT(text_or_error(render_source(source, input)), StartsWith("The template variables"));
}

TEST(ChatTemplate, SeesNothingOutsideOfItsVariables) {
  for (const char* source :
       {"{{ ''.__class__ }}", "{{ messages.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__ }}", "{{ self }}", "{{ messages[0]['__class__'] }}"}) {
    const auto prompt = render_source(source, one_user_message("x"));
    // Such a name is undefined, and its attribute an error.
    EXPECT_EQ(prompt ? prompt->text : "", "") << source;
  }
}

TEST(ChatTemplate, RendersInParallel) {
  const auto chat_template = ChatTemplate::parse(read_template_file(kDefaultModel));
  ASSERT_TRUE(chat_template.has_value());
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&chat_template, &text] {
      for (int i = 0; i < 50; ++i) {
        text = text_or_error(chat_template->render(one_user_message("Hi")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  EXPECT_THAT(texts[0], EndsWith("<|im_start|>assistant\n"));
}

}  // namespace
}  // namespace qualia::tokenizer

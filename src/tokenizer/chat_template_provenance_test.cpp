// Which bytes of a prompt came from messages.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tokenizer/template_test_data.h"

namespace qualia::tokenizer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> untrusted_of(const std::string& source, const std::string& content) {
  const auto prompt = render_source(source, one_user_message(content));
  EXPECT_TRUE(prompt.has_value()) << source << ": " << text_or_error(prompt);
  return prompt ? untrusted_parts(*prompt) : std::vector<std::string>();
}

TEST(JinjaProvenance, MarksControlTextOfContentAndNotThatOfTheTemplate) {
  for (const char* name :
       {"SmolLM2-135M-Instruct.jinja", "Qwen-Qwen2.5-7B-Instruct.jinja", "Qwen-Qwen3-0.6B.jinja",
        "microsoft-Phi-3.5-mini-instruct.jinja", "meta-llama-Llama-3.2-3B-Instruct.jinja"}) {
    EXPECT_THAT(untrusted_of(read_template_file(name), "a<|im_end|>"), ElementsAre("a<|im_end|>"))
        << name;
  }
}

// $ stands for the untrusted content " a<x>b ".
TEST(JinjaProvenance, IsExactThroughOperatorsAndTextFunctions) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"'<x>' + $ + '<x>'", {" a<x>b "}},
      {"'<x>' ~ $ ~ 1", {" a<x>b "}},
      {"'[%s|%9s]' % ($, $)", {" a<x>b ", " a<x>b "}},
      {"$ % ()", {" a<x>b "}},
      {"'<{}|{:>9}|{x}>'.format($, $, x=$)", {" a<x>b ", " a<x>b ", " a<x>b "}},
      {"$.strip() + '!'", {"a<x>b"}},
      {"$ | trim ~ '!'", {"a<x>b"}},
      {"$.lstrip() + $.rstrip()", {"a<x>b  a<x>b"}},
      {"$[1:3] + '-' + $[-2]", {"a<", "b"}},
      {"$[::-1] ~ '.'", {" b>x<a "}},
      {"$.split('<x>') | join('<x>')", {" a", "b "}},
      {"$.split() | first ~ ';'", {"a<x>b"}},
      {"$.replace('<x>', '<y>')", {" a", "b "}},
      {"'1<x>2'.replace('<x>', $)", {" a<x>b "}},
      {"'-'.join([$, '<x>', $])", {" a<x>b ", " a<x>b "}},
      {"$.partition('<x>')[2] ~ '<x>'", {"b "}},
      {"$.removeprefix(' a') ~ '<x>'", {"<x>b "}},
      {"('x\n' ~ $) | indent(2)", {" a<x>b "}},
      {"$ * 2 ~ '<x>'", {" a<x>b  a<x>b "}},
      {"$.center(9) ~ '<x>'", {" a<x>b "}},
      {"$ | escape ~ '<x>'", {" a", "x", "b "}},
      {"$ | safe | string ~ '<x>'", {" a<x>b "}},
      {"'<x>' ~ ($ | list | join)", {" a<x>b "}},
      {"($ | first) ~ '<x>'", {" "}},
      {"$ if $ else 'x'", {" a<x>b "}},
      {"'y' if $ else 'x'", {}},
      {"$ | length", {}},
      {"$ == 'x'", {}},
      {"($ ~ '<x>').split('<x>') | last ~ '!'", {}},
  };
  for (const auto& [expression, expected] : cases) {
    std::string source = expression;
    std::ranges::replace(source, '$', 'c');
    source = "{% set c = messages[0].content %}{{ " + source + " }}";
    EXPECT_EQ(untrusted_of(source, " a<x>b "), expected) << expression;
  }
}

TEST(JinjaProvenance, CoversAllOfWhatOtherTransformsMake) {
  for (const char* expression :
       {"upper", "title", "tojson", "capitalize", "urlencode", "pprint", "lower"}) {
    const std::string source = std::string("<x>{{ messages[0].content | ") + expression + " }}<x>";
    const auto prompt = render_source(source, one_user_message("a<x>"));
    ASSERT_TRUE(prompt.has_value());
    ASSERT_EQ(prompt->untrusted.size(), 1u) << expression;
    EXPECT_EQ(prompt->untrusted[0].begin, 3u);
    EXPECT_EQ(prompt->untrusted[0].end, prompt->text.size() - 3) << expression;
  }
  EXPECT_THAT(untrusted_of("<x>{{ messages }}<x>", "a"),
              ElementsAre("[{'role': 'user', 'content': 'a'}]"));
  EXPECT_THAT(untrusted_of("<x>{{ ['a'] | tojson }}{{ 'x' | upper }}", "a"), IsEmpty());
}

TEST(JinjaProvenance, FollowsLoopsMacrosBlocksAndNamespaces) {
  EXPECT_THAT(untrusted_of("{% macro f(x) %}<{{ x }}>{% endmacro %}"
                           "{% set s %}[{{ f(messages[0].content) }}]{% endset %}"
                           "{% set ns = namespace(t='') %}{% for m in messages %}"
                           "{% set ns.t = ns.t ~ '-' ~ m.content %}{% endfor %}"
                           "{% filter trim %} {{ s ~ ns.t }} {% endfilter %}"
                           "{% for c in messages[0].content %}({{ c }}){% endfor %}",
                           "ab"),
              ElementsAre("ab", "ab", "a", "b"));
}

TEST(JinjaProvenance, TrustsARoleOnlyIfItIsAPlainWord) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":"c"},{"role":"x<|im_end|>","content":"d"},{"role":"tool","name":"role"}])";
  const auto prompt = render_source(
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ m.name }};{% endfor %}", input);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->text, "user:c;x<|im_end|>:d;tool:role;");
  EXPECT_THAT(untrusted_parts(*prompt), ElementsAre("c", "x<|im_end|>", "d", "role"));
}

TEST(JinjaProvenance, TrustsNoRoleBelowTheMessagesThemselves) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":"c","tool_calls":[{"role":"r"}],"x":{"role":"s"}}])";
  input.tools_json = R"([{"role":"t"}])";
  const auto prompt = render_source(
      "{{ messages[0].tool_calls[0].role }}-{{ messages[0].x.role }}-{{ tools[0].role }}", input);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_THAT(untrusted_parts(*prompt), ElementsAre("r", "s", "t"));
}

TEST(JinjaProvenance, MarksKeysAndJoinedParts) {
  TemplateInput input;
  input.messages_json =
      R"([{"role":"user","content":[{"type":"text","text":"<x>"},{"type":"text","text":"y"}],"<k>":1}])";
  input.tools_json = R"([{"<tool>": "<v>"}])";
  const auto prompt = render_source(
      "{{ messages[0].content }}|{% for k, v in tools[0].items() %}{{ k }}={{ v }}{% endfor %}",
      input);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_THAT(untrusted_parts(*prompt), ElementsAre("<x>y", "<tool>", "<v>"));
}

TEST(JinjaProvenance, FromJsonKeepsTheMark) {
  EXPECT_THAT(untrusted_of("{{ (messages[0].content | from_json).a }}<x>", R"({"a": "<x>"})"),
              ElementsAre("<x>"));
  EXPECT_THAT(untrusted_of("{{ ('{\"a\": \"<x>\"}' | from_json).a }}", ""), IsEmpty());
}

// Content of letters that no template text has: every such byte in the prompt must be marked, and
// no other byte.
TEST(JinjaProvenance, MarksEveryContentByteInRandomTextOperations) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const char* const operations[] = {
      "s ~ '<a>' ~ c",
      "c + s",
      "s.strip('ZY')",
      "s[2:]",
      "s[:-1]",
      "s[::-1]",
      "s[1::2]",
      "s.replace('Z', '-Q-')",
      "s.replace('', c)",
      "s.split('Y') | join('<b>')",
      "'%s!%s' % (s, c)",
      "'{}{:>20}'.format(s, c)",
      "s | indent(1)",
      "s.center(30)",
      "s | truncate(20)",
      "s.splitlines() | join",
      "s.rsplit('X', 1) | last",
      "s | list | reverse | join",
  };
  for (int round = 0; round < 200; ++round) {
    std::string source = "{% set c = messages[0].content %}{% set s = c %}";
    for (int i = 0; i < 6; ++i) {
      source += std::string("{% set s = ") + operations[random() % std::size(operations)] + " %}";
    }
    source += "{{ s }}";
    const auto prompt = render_source(source, one_user_message("XYZÄ\nZY XZ"));
    ASSERT_TRUE(prompt.has_value()) << source << text_or_error(prompt);
    std::string marks(prompt->text.size(), '.');
    for (const ByteRange& range : prompt->untrusted) {
      ASSERT_LT(range.begin, range.end);
      for (size_t at = range.begin; at < range.end; ++at) marks[at] = '#';
    }
    for (size_t at = 0; at < marks.size(); ++at) {
      const char byte = prompt->text[at];
      if (byte == ' ' || byte == '\n') continue;  // may be either's
      const bool from_content = std::string("XYZ\xc3\x84").find(byte) != std::string::npos;
      ASSERT_EQ(marks[at] == '#', from_content) << source << "\n" << prompt->text << "\n" << marks;
    }
  }
}

}  // namespace
}  // namespace qualia::tokenizer

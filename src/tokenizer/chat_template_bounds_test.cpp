// Row C08: templates that would burn time or memory give an error within 2 s.
#include <gmock/gmock.h>

#include <chrono>

#include "jinja/ast.h"
#include "tokenizer/template_test_data.h"

namespace qualia::tokenizer {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::chrono::seconds kLimit{2};

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// The error of a source, which must come in time.
std::string error_in_time(const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  const auto prompt = render_source(source, one_user_message("x"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit) << source.substr(0, 100);
  EXPECT_FALSE(prompt.has_value()) << source.substr(0, 100);
  return text_or_error(prompt);
}

TEST(JinjaBounds, RefusesLongRanges) {
  EXPECT_THAT(error_in_time("{{ range(10**9) }}"), HasSubstr("is longer than 100000"));
  EXPECT_THAT(error_in_time("{{ range(-9223372036854775807, 9223372036854775807) }}"),
              HasSubstr("is longer than 100000"));
}

TEST(JinjaBounds, StopsNestedLoops) {
  const std::string loop = "{% for i in range(25000) %}";
  EXPECT_THAT(error_in_time(loop + loop + "x" + repeated("{% endfor %}", 2)),
              HasSubstr("The chat template fails at line 1: evaluation takes "));
}

TEST(JinjaBounds, RefusesHugeTexts) {
  for (const char* source :
       {"{{ '-' * 10**10 }}", "{{ messages | tojson(indent=10**9) }}", "{{ 'a' | center(10**9) }}",
        "{{ 'a'.zfill(10**12) }}", "{{ 'a\\nb' | indent(10**9) }}",
        "{% set a = 'a' * 1000000 %}{{ a | replace('a', a) }}",
        "{% set ns = namespace(x='aa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% "
        "endfor %}",
        "{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}",
        "{{ ('\\x01' * 10**7) | tojson }}", "{{ ['\\x01' * 10**7] }}"}) {
    // Under a sanitizer the clock may be first.
    EXPECT_THAT(error_in_time(source),
                AnyOf(HasSubstr("(limit 16777216)"), HasSubstr("takes longer")))
        << source;
  }
}

TEST(JinjaBounds, RefusesHugeFormats) {
  for (const char* source : {"{{ '%1000000000d' % 1 }}", "{{ '{:1000000000}'.format(1) }}",
                             "{{ '%*d' % (10**9, 1) }}", "{{ '%.1000000000f' % 1 }}"}) {
    EXPECT_THAT(error_in_time(source), HasSubstr("limit")) << source;
  }
}

TEST(JinjaBounds, RefusesValuesThatTakeTooMuchMemory) {
  for (const char* source :
       {"{{ ('a' * 10**7) | list }}", "{{ ('\\n' * 10**7).splitlines() }}", "{{ [0] * 10**10 }}",
        "{{ [1] | slice(10**12) | list }}", "{{ [1] | batch(10**12, 'x') | list }}"}) {
    EXPECT_THAT(error_in_time(source), AnyOf(HasSubstr("more than"), HasSubstr("takes longer")))
        << source;
  }
}

TEST(JinjaBounds, RefusesDeepSources) {
  for (const std::string& source :
       {repeated("{% if 1 %}", 10000) + repeated("{% endif %}", 10000),
        repeated("{% for x in y %}", 10000),
        "{{ " + repeated("(", 10000) + "1" + repeated(")", 10000) + " }}",
        "{{ " + repeated("[", 10000) + repeated("]", 10000) + " }}",
        "{{ " + repeated("- ", 10000) + "1 }}", "{{ a" + repeated(".b", 10000) + " }}",
        "{{ a" + repeated("|trim", 10000) + " }}", "{{ a" + repeated("()", 10000) + " }}",
        "{{ a" + repeated("[a", 10000) + repeated("]", 10000) + " }}",
        "{{ " + repeated("1 if 0 else ", 10000) + "2 }}",
        "{% set " + repeated("(", 10000) + "a" + repeated(")", 10000) + " = 1 %}"}) {
    EXPECT_THAT(error_in_time(source), HasSubstr("nest deeper than 100")) << source.substr(0, 40);
  }
}

TEST(JinjaBounds, TakesLongFlatSources) {
  const std::string sums = "{{ 1" + repeated("+1", 50000) + " }}";
  EXPECT_EQ(text_or_error(render_source(sums, one_user_message(""))), "50001");
  const std::string branches =
      "{% if 0 %}" + repeated("{% elif 0 %}", 20000) + "{% else %}x{% endif %}";
  EXPECT_EQ(text_or_error(render_source(branches, one_user_message(""))), "x");
  const std::string nots = "{{ " + repeated("not ", 50001) + "1 }}";
  EXPECT_EQ(text_or_error(render_source(nots, one_user_message(""))), "False");
}

TEST(JinjaBounds, RefusesASourceThatIsTooLong) {
  EXPECT_EQ(error_in_time(std::string(600000, 'x')),
            "The chat template has 600000 bytes (limit 524288).");
}

// A macro whose recursion goes through the most levels of statement and expression.
TEST(JinjaBounds, StopsAMacroThatCallsItself) {
  const std::string deep_if = repeated("{% if 1 %}", 50);
  const std::string deep_list = "{{ " + repeated("[", 40) + "f()" + repeated("]", 40) + " }}";
  for (const std::string& body :
       {std::string("{{ f() }}"),
        std::string("{% for i in [1] %}{% if 1 %}{{ [f()] }}{% endif %}{% endfor %}"),
        deep_if + "{{ f() }}" + repeated("{% endif %}", 50), deep_list,
        std::string("{% set x %}{{ f() | upper }}{% endset %}"),
        std::string("{% call f() %}{% endcall %}"),
        std::string("{% filter trim %}{{ f() }}{% endfilter %}"),
        std::string("{% for x in [1] if f() %}{% endfor %}"),
        std::string("{{ '' ~ (f() if 1) }}")}) {
    EXPECT_THAT(error_in_time("{% macro f() %}" + body + "{% endmacro %}{{ f() }}"),
                HasSubstr("evaluation nests deeper than 800"))
        << body.substr(0, 60);
  }
}

TEST(JinjaBounds, StopsRecursionThatBranches) {
  EXPECT_THAT(error_in_time("{% macro f(n) %}{% if n > 1 %}{{ f(n-1) }}{{ f(n-2) }}{% endif %}"
                            "{% endmacro %}{{ f(60) }}"),
              HasSubstr("evaluation takes "));
}

TEST(JinjaBounds, RefusesListsThatNestWithoutEnd) {
  EXPECT_THAT(error_in_time("{% set ns = namespace(x=[]) %}{% for i in range(99999) %}"
                            "{% set ns.x = [ns.x] %}{% endfor %}"),
              HasSubstr("lists nest deeper than 100"));
}

// Lists that hold the same list twice: 2^90 items to a reader that follows every path.
TEST(JinjaBounds, StopsWorkOnSharedLists) {
  const std::string build =
      "{% set ns = namespace(x=(1,), y=(1,)) %}{% for i in range(90) %}"
      "{% set ns.x = (ns.x, ns.x) %}{% set ns.y = (ns.y, ns.y) %}{% endfor %}";
  for (const char* use :
       {"{{ ns.x == ns.y }}", "{{ ns.x < ns.y }}", "{{ ns.x }}", "{{ ns.x | tojson }}",
        "{{ {ns.x: 1} }}", "{{ [ns.x, ns.y] | unique | list }}"}) {
    EXPECT_THAT(error_in_time(build + use),
                AnyOf(HasSubstr("evaluation takes "), HasSubstr("a text of ")))
        << use;
  }
}

TEST(JinjaBounds, FreesNamespacesThatHoldEachOther) {
  EXPECT_EQ(text_or_error(render_source(
                "{% set ns = namespace(x=1) %}{% set ns.x = ns %}{% for i in range(9999) %}"
                "{% set ns.x = namespace(x=ns.x) %}{% endfor %}{{ ns.x.x.x is defined }}",
                one_user_message(""))),
            "True");
}

TEST(JinjaBounds, SearchesLongNeedlesInLinearTime) {
  EXPECT_EQ(text_or_error(render_source("{% set a = 'a' * 4000000 %}{{ (a ~ a).find(a ~ 'b') }}"
                                        "{{ (a ~ a).count('a' * 100000 ~ 'b') }}",
                                        one_user_message(""))),
            "-10");
}

TEST(JinjaBounds, RefusesIntegersBeyond64Bits) {
  for (const char* expression :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2", "4611686018427387904 * 2", "2 ** 63",
        "10 ** 10 ** 10", "-(-9223372036854775807 - 1)", "(-9223372036854775807 - 1) // -1",
        "(-9223372036854775807 - 1) | abs"}) {
    EXPECT_THAT(error_in_time(std::string("{{ ") + expression + " }}"),
                HasSubstr("does not fit 64 bits"))
        << expression;
  }
  EXPECT_THAT(error_in_time("{{ 99999999999999999999 }}"), HasSubstr("does not fit 64 bits"));
  EXPECT_EQ(
      text_or_error(render_source("{{ (-9223372036854775807 - 1) % -1 }}", one_user_message(""))),
      "0");
}

TEST(JinjaBounds, SlicesByExtremeBounds) {
  EXPECT_EQ(text_or_error(render_source("{{ 'abc'[::-9223372036854775807 - 1] }}"
                                        "{{ 'abc'[-9223372036854775807 - 1:9223372036854775807] }}"
                                        "{{ range(-9223372036854775807, 9223372036854775807, "
                                        "9223372036854775807)[::-1] | list }}",
                                        one_user_message(""))),
            "cabc[0, -9223372036854775807]");
}

}  // namespace
}  // namespace qualia::tokenizer

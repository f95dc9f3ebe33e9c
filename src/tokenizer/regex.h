// One compiled pattern over UTF-8 text: PCRE2 with UTF, UCP and JIT, its limits set.
// Thread-safety: a Regex is immutable and may be searched from many threads, each with its own
// Scratch.
// Text must be valid UTF-8: it is not checked again here, since PCRE2's own check per call makes a
// scan quadratic (measured: 40.7 s against 0.011 s on 200 kB).
// Errors: compile answers internal, as patterns are part of the program. A search that meets a
// limit answers "no match".
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "qualia/result.h"
#include "base/byte_range.h"

namespace qualia::tokenizer {

class Regex {
 public:
  // Working memory of one search at a time.
  class Scratch {
   public:
    Scratch();

   private:
    friend class Regex;
    struct Free {
      void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
      void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    };
    std::unique_ptr<pcre2_match_data, Free> data_;
    std::unique_ptr<pcre2_match_context, Free> context_;
  };

  // White space (\s and \S) means Unicode's White_Space property, as it does to the tokenizers
  // whose patterns these are; PCRE2's own \s also takes U+180E.
  static Result<Regex> compile(std::string_view pattern);

  // The first non-empty match at or after `from`, as a range of `text`. REQUIRES: text is valid
  // UTF-8, from <= text.size() and at a character's start.
  std::optional<ByteRange> find(std::string_view text, size_t from, Scratch& scratch) const;

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  explicit Regex(pcre2_code* code) : code_(code) {}
  std::unique_ptr<pcre2_code, Free> code_;
};

}  // namespace qualia::tokenizer

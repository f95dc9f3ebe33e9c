// JSON text <-> values.
// Thread-safety: pure apart from the budget.
// Writing is Python's json.dumps: keys in order of insertion, ", " and ": " between, non-ASCII
// kept. Reading keeps the order of keys; numbers beyond 64-bit integers become floats. Errors:
// invalid_argument with what is wrong; depth is limited to kJsonDepthMax.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jinja/value.h"
#include "qualia/result.h"

namespace qualia::jinja {

// Below kValueDepthMax, so that a template can still wrap what it was given.
inline constexpr size_t kJsonDepthMax = 64;

struct JsonStyle {
  std::optional<std::string> indent;  // one level of indentation; nullopt: all on one line
  std::string item_separator = ", ";  // json.dumps defaults to "," once there is an indent
  std::string key_separator = ": ";
  bool ascii_only = false;
  bool sort_keys = false;
};

// Errors: a value that JSON has no form for.
Result<TextPtr> write_json(Budget& budget, const Value& value, const JsonStyle& style);

// Which strings of the text are trusted: none, or the plain words under "role" of the objects in
// the outermost array. A role that is no plain word could spell control text and stays untrusted.
enum class TrustedJson { nothing, everything, roles };
Result<Value> read_json(Budget& budget, std::string_view text, TrustedJson trusted);

}  // namespace qualia::jinja

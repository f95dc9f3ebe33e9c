// Tokens -> Program. Precedence and statements as Jinja2 3.1 has them.
// Thread-safety: pure.
// Refused by name: include, import, from, extends, recursive loops, unknown tags, filters and
// tests. Errors: corrupt_file with the line.
#pragma once

#include <string_view>

#include "jinja/ast.h"
#include "qualia/result.h"

namespace qualia::jinja {

// The longest public template has 17 KB; this bounds the memory that tokens and nodes take.
inline constexpr size_t kSourceBytesMax = 512u << 10;

Result<Program> parse(std::string_view source);

}  // namespace qualia::jinja

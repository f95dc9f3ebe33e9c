// Work on text that filters and methods share: stripping, splitting, replacing, joining.
// Thread-safety: pure apart from the budget.
// All results keep exact ranges of untrusted bytes.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace qualia::jinja {

enum class Side { left, right, both };

// Removes white space, or the code points of `characters`, from the ends.
TextPtr strip(Budget& budget, const TextPtr& text, Side side,
              std::optional<std::string_view> characters);

// At most `limit` replacements from the left; negative: all.
TextPtr replace(Budget& budget, const Text& text, std::string_view old, const Text& replacement,
                int64_t limit);

// The lines without their breaks, with byte ranges into the text.
enum class LineBreaks { dropped, kept };
std::vector<TextPtr> split_lines(Budget& budget, const TextPtr& text, LineBreaks breaks);

TextPtr join(Budget& budget, const Text& separator, const std::vector<Value>& items);

}  // namespace qualia::jinja

// Values as text: Python's str() and repr(), and HTML escaping.
// Thread-safety: pure apart from the budget.
// str() of a text is the text with its exact ranges; anything else is untrusted as a whole once it
// holds an untrusted text.
#pragma once

#include <string>

#include "jinja/value.h"

namespace qualia::jinja {

TextPtr to_text(Budget& budget, const Value& value);
void append_text(TextBuilder& builder, Budget& budget, const Value& value);
MarkedBytes repr(Budget& budget, const Value& value);

// Python's shortest repr of a float: "1.0", "1e+16", "nan".
std::string real_repr(double value);

// & < > ' " replaced, ranges kept.
TextPtr escaped(Budget& budget, const Text& text);
TextPtr marked_safe(Budget& budget, const TextPtr& text);

}  // namespace qualia::jinja

// What filters on sequences share: reaching into items by attribute, sort keys, stable sorting.
// Thread-safety: pure apart from the budget.
// Errors: sentences without line (see jinja_callable.h).
#pragma once

#include <optional>
#include <vector>

#include "jinja/callable.h"
#include "qualia/result.h"

namespace qualia::jinja {

// The path "a.b.0" of an `attribute` argument: text keys and integer indices.
class AttributePath {
 public:
  // None and undefined give the empty path, which leads to the item itself.
  static AttributePath parse(Budget& budget, const Value* attribute);
  // `otherwise` replaces an undefined step, if it is given.
  Result<Value> follow(Runtime& runtime, Value item, const Value* otherwise = nullptr) const;

 private:
  std::vector<Value> steps_;
};

enum class Case { ignored, sensitive };
// A text in lower case unless case matters; anything else as it is.
Value sort_key(Budget& budget, const Value& value, Case letters);

enum class Direction { ascending, descending };
// The stable order of keys, by index. Errors: keys that have no order.
Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys,
                                         Direction direction);

}  // namespace qualia::jinja

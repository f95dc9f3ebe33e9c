// Operators with Python's meaning: truth, equality, order, membership, arithmetic, indexing.
// Thread-safety: pure apart from the budget.
// Integers have 64 bits; overflow is an Error, never a wrap.
// Errors: sentences without line number and closing stop (see jinja_callable.h). Once the budget is
// exhausted any answer may come back; the evaluation reports the budget instead.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "jinja/value.h"
#include "qualia/result.h"

namespace qualia::jinja {

enum class BinaryOp : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class CompareOp : uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

bool truth(const Value& value);
bool equals(Budget& budget, const Value& a, const Value& b);
// Unordered only for NaN. Errors: types that have no order.
Result<std::partial_ordering> order(Budget& budget, const Value& a, const Value& b);
Result<bool> contains(Budget& budget, const Value& container, const Value& item);
Result<bool> compare(Budget& budget, CompareOp op, const Value& a, const Value& b);

Result<Value> arithmetic(Budget& budget, BinaryOp op, const Value& a, const Value& b);
Result<Value> negated(const Value& value);
Result<Value> unchanged_number(const Value& value);

// The items a `for` runs over: list items, dict keys, a text's characters, nothing for undefined.
Result<SequencePtr> iterate(Budget& budget, const Value& value);
// len(). Errors: a value without length.
Result<int64_t> length_of(const Value& value);

// Python's slice of a list, tuple, range or text; null bounds are absent.
struct SliceBounds {
  const Value* start = nullptr;
  const Value* stop = nullptr;
  const Value* step = nullptr;
};
Result<Value> slice(Budget& budget, const Value& value, const SliceBounds& bounds);
// Items [start, stop) by step of a list, start and stop already clipped.
// Character `index` of a text, negative from the end; null if outside.
TextPtr character_at(Budget& budget, const TextPtr& text, int64_t index);

// The text of a value that is used where "'x' is undefined" or the like is the right sentence.
Error undefined_error(const Value& value);

}  // namespace qualia::jinja

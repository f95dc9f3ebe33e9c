#include "jinja/sequence_functions.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

// Numbers of more digits stay text, which no list has as a key.
constexpr size_t kIndexDigitsMax = 18;

Value path_step(Budget& budget, std::string_view part) {
  const bool digits =
      !part.empty() && part.size() <= kIndexDigitsMax &&
      std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return Value(static_cast<int64_t>(std::stoll(std::string(part))));
  return make_text(budget, std::string(part));
}

// Merges the sorted halves [begin, middle) and [middle, end) of `from` into `to`.
Result<void> merge(Budget& budget, const std::vector<Value>& keys, Direction direction,
                   const std::vector<size_t>& from, std::vector<size_t>& to, size_t begin,
                   size_t middle, size_t end) {
  size_t left = begin;
  size_t right = middle;
  for (size_t out = begin; out < end; ++out) {
    bool takes_right = left == middle;
    if (!takes_right && right < end) {
      QUALIA_ASSIGN(const std::partial_ordering ordering,
                    order(budget, keys[from[right]], keys[from[left]]));
      takes_right = direction == Direction::ascending ? ordering < 0 : ordering > 0;
    }
    to[out] = takes_right ? from[right++] : from[left++];
  }
  return {};
}

}  // namespace

AttributePath AttributePath::parse(Budget& budget, const Value* attribute) {
  AttributePath path;
  if (attribute == nullptr) return path;
  if (!attribute->is(Kind::text)) {
    path.steps_.push_back(*attribute);
    return path;
  }
  std::string_view rest = attribute->bytes();
  while (budget.spend(1)) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    path.steps_.push_back(path_step(budget, rest.substr(0, dot)));
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  return path;
}

Result<Value> AttributePath::follow(Runtime& runtime, Value item, const Value* otherwise) const {
  for (const Value& step : steps_) {
    if (!runtime.budget.spend(1)) break;
    QUALIA_ASSIGN(item, get_item(runtime, item, step));
    if (otherwise != nullptr && item.is(Kind::undefined)) item = *otherwise;
  }
  return item;
}

Value sort_key(Budget& budget, const Value& value, Case letters) {
  if (letters == Case::sensitive || !value.is(Kind::text)) return value;
  budget.spend_bytes(value.text()->size() * 8);
  return make_text(budget, to_lower(value.bytes()), value.text()->trust());
}

Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys,
                                         Direction direction) {
  std::vector<size_t> from(keys.size());
  std::iota(from.begin(), from.end(), size_t{0});
  std::vector<size_t> to(from);
  for (size_t width = 1; width < keys.size(); width *= 2) {
    for (size_t begin = 0; begin < keys.size() && budget.ok(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, keys.size());
      const size_t end = std::min(begin + 2 * width, keys.size());
      QUALIA_TRY(merge(budget, keys, direction, from, to, begin, middle, end));
    }
    std::swap(from, to);
  }
  return from;
}

}  // namespace qualia::jinja

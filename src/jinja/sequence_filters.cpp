// Filters that make, order and cut sequences.
#include <algorithm>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/sequence_functions.h"
#include "jinja/text_functions.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

Result<Value> length_filter(Runtime&, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const int64_t length, length_of(self));
  return Value(length);
}

Result<Value> list_filter(Runtime& runtime, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  return make_list(runtime.budget, items->items);
}

Result<Value> first_filter(Runtime& runtime, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  if (items->items.empty()) return undefined_value("'first' of nothing is undefined");
  return items->items.front();
}

Result<Value> last_filter(Runtime& runtime, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  if (items->items.empty()) return undefined_value("'last' of nothing is undefined");
  return items->items.back();
}

Result<Value> reverse_filter(Runtime& runtime, const Value& self, const Arguments&) {
  if (self.is(Kind::text)) {
    const Value step(int64_t{-1});
    return slice(runtime.budget, self, {nullptr, nullptr, &step});
  }
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  std::vector<Value> reversed(items->items.rbegin(), items->items.rend());
  return make_sequence(runtime.budget, Flavour::generator, std::move(reversed));
}

Result<Value> join_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"d", "attribute"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("join", kParameters, 0, arguments));
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const SequencePtr items, iterate(budget, self));
  const TextPtr separator =
      bound.get(0) == nullptr ? make_text(budget, "") : to_text(budget, *bound.get(0));
  const Value* attribute = bound.get_unless_none(1);
  if (attribute == nullptr) return Value(join(budget, *separator, items->items));
  const AttributePath path = AttributePath::parse(budget, attribute);
  std::vector<Value> values;
  for (const Value& item : items->items) {
    if (!budget.ok()) break;
    QUALIA_ASSIGN(Value value, path.follow(runtime, item));
    values.push_back(std::move(value));
  }
  return Value(join(budget, *separator, values));
}

// Keys of several attributes, "a,b", compare one after the other.
Result<std::vector<Value>> multi_keys(Runtime& runtime, const std::vector<Value>& items,
                                      const Value* attribute, Case letters) {
  Budget& budget = runtime.budget;
  std::vector<AttributePath> paths;
  if (attribute != nullptr && attribute->is(Kind::text)) {
    std::string_view rest = attribute->bytes();
    for (bool more = true; more && budget.spend(1);) {
      const size_t comma = std::min(rest.find(','), rest.size());
      const Value part = make_text(budget, std::string(rest.substr(0, comma)));
      paths.push_back(AttributePath::parse(budget, &part));
      more = comma < rest.size();
      if (more) rest.remove_prefix(comma + 1);
    }
  } else {
    paths.push_back(AttributePath::parse(budget, attribute));
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      if (!budget.ok()) break;
      QUALIA_ASSIGN(const Value part, path.follow(runtime, item));
      parts.push_back(sort_key(budget, part, letters));
    }
    keys.push_back(paths.size() == 1 && parts.size() == 1 ? std::move(parts.front())
                                                          : make_list(budget, std::move(parts)));
  }
  return keys;
}

Result<Value> in_order(Budget& budget, const std::vector<Value>& items,
                       const std::vector<Value>& keys, Direction direction) {
  QUALIA_ASSIGN(const std::vector<size_t> order, sorted_order(budget, keys, direction));
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t index : order) sorted.push_back(items[index]);
  return make_list(budget, std::move(sorted));
}

Result<Value> sort_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"reverse", "case_sensitive", "attribute"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("sort", kParameters, 0, arguments));
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  const Case letters = bound.boolean(1, false) ? Case::sensitive : Case::ignored;
  QUALIA_ASSIGN(const std::vector<Value> keys,
                multi_keys(runtime, items->items, bound.get_unless_none(2), letters));
  return in_order(runtime.budget, items->items, keys,
                  bound.boolean(0, false) ? Direction::descending : Direction::ascending);
}

Result<std::vector<Value>> single_keys(Runtime& runtime, const std::vector<Value>& items,
                                       const Value* attribute, Case letters,
                                       const Value* otherwise = nullptr) {
  const AttributePath path = AttributePath::parse(runtime.budget, attribute);
  std::vector<Value> keys;
  for (const Value& item : items) {
    if (!runtime.budget.ok()) break;
    QUALIA_ASSIGN(const Value key, path.follow(runtime, item, otherwise));
    keys.push_back(sort_key(runtime.budget, key, letters));
  }
  return keys;
}

Result<Value> unique_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"case_sensitive", "attribute"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("unique", kParameters, 0, arguments));
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const SequencePtr items, iterate(budget, self));
  const Case letters = bound.boolean(0, false) ? Case::sensitive : Case::ignored;
  QUALIA_ASSIGN(const std::vector<Value> keys,
                single_keys(runtime, items->items, bound.get_unless_none(1), letters));
  std::vector<Value> unique;
  std::vector<size_t> seen;
  for (size_t i = 0; i < keys.size() && budget.ok(); ++i) {
    const bool repeated = std::any_of(seen.begin(), seen.end(), [&](size_t other) {
      return equals(budget, keys[other], keys[i]);
    });
    if (repeated) continue;
    seen.push_back(i);
    unique.push_back(items->items[i]);
  }
  return make_sequence(budget, Flavour::generator, std::move(unique));
}

Result<Value> extreme(Runtime& runtime, const Value& self, const Arguments& arguments,
                      std::string_view name, bool wants_largest) {
  static constexpr Names kParameters[] = {"case_sensitive", "attribute"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind(name, kParameters, 0, arguments));
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  const Case letters = bound.boolean(0, false) ? Case::sensitive : Case::ignored;
  QUALIA_ASSIGN(const std::vector<Value> keys,
                single_keys(runtime, items->items, bound.get_unless_none(1), letters));
  if (keys.empty()) return undefined_value("'min' or 'max' of nothing is undefined");
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    QUALIA_ASSIGN(const std::partial_ordering ordering, order(runtime.budget, keys[i], keys[best]));
    if (wants_largest ? ordering > 0 : ordering < 0) best = i;
  }
  return items->items[best];
}

Result<Value> min_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return extreme(runtime, self, arguments, "min", false);
}
Result<Value> max_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return extreme(runtime, self, arguments, "max", true);
}

Result<Value> sum_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"attribute", "start"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("sum", kParameters, 0, arguments));
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, self));
  const AttributePath path = AttributePath::parse(runtime.budget, bound.get_unless_none(0));
  Value sum = bound.get(1) == nullptr ? Value(int64_t{0}) : *bound.get(1);
  if (sum.is(Kind::text)) return invalid_argument("sum can't add str");
  for (const Value& item : items->items) {
    if (!runtime.budget.spend(1)) break;
    QUALIA_ASSIGN(const Value value, path.follow(runtime, item));
    QUALIA_ASSIGN(sum, arithmetic(runtime.budget, BinaryOp::add, sum, value));
  }
  return sum;
}

Result<Value> items_filter(Runtime& runtime, const Value& self, const Arguments&) {
  if (self.is(Kind::undefined)) return make_sequence(runtime.budget, Flavour::generator, {});
  if (!self.is(Kind::dict))
    return invalid_argument("items needs a mapping, not '{}'", type_name(self));
  QUALIA_ASSIGN(const Value items, find_method(self, "items")->call(runtime, self, {}));
  return make_sequence(runtime.budget, Flavour::generator, items.sequence().items);
}

Result<Value> dict_sort_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"case_sensitive", "by", "reverse"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("dictsort", kParameters, 0, arguments));
  if (!self.is(Kind::dict)) {
    if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
    return invalid_argument("dictsort needs a mapping, not '{}'", type_name(self));
  }
  bool by_value = false;
  if (bound.get(1) != nullptr) {
    QUALIA_ASSIGN(const TextPtr by, bound.text(1));
    by_value = by->bytes == "value";
    if (!by_value && by->bytes != "key")
      return invalid_argument("dictsort sorts by 'key' or 'value'");
  }
  const Case letters = bound.boolean(0, false) ? Case::sensitive : Case::ignored;
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : self.dict().entries) {
    pairs.push_back(make_tuple(runtime.budget, {key, value}));
    keys.push_back(sort_key(runtime.budget, by_value ? value : key, letters));
  }
  return in_order(runtime.budget, pairs, keys,
                  bound.boolean(2, false) ? Direction::descending : Direction::ascending);
}

Result<Value> batch_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"linecount", "fill_with"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("batch", kParameters, 1, arguments));
  QUALIA_ASSIGN(const int64_t count, bound.integer(0, 0));
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const SequencePtr items, iterate(budget, self));
  const size_t width = count > 0 ? static_cast<size_t>(count) : 0;
  if (width == 0) return invalid_argument("batch gets {} items a line", count);
  std::vector<Value> lines;
  std::vector<Value> line;
  for (const Value& item : items->items) {
    if (!budget.ok()) break;
    if (line.size() == width) lines.push_back(make_list(budget, std::exchange(line, {})));
    line.push_back(item);
  }
  const Value* fill = bound.get_unless_none(1);
  while (fill != nullptr && !line.empty() && line.size() < width && budget.spend(1)) {
    line.push_back(*fill);
  }
  if (!line.empty()) lines.push_back(make_list(budget, std::move(line)));
  return make_sequence(budget, Flavour::generator, std::move(lines));
}

Result<Value> slice_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"slices", "fill_with"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("slice", kParameters, 1, arguments));
  QUALIA_ASSIGN(const int64_t count, bound.integer(0, 0));
  if (count <= 0) return invalid_argument("slice gets {} slices", count);
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const SequencePtr items, iterate(budget, self));
  const auto slices = static_cast<size_t>(count);
  const size_t each = items->items.size() / slices;
  const size_t longer = items->items.size() % slices;
  const Value* fill = bound.get_unless_none(1);
  std::vector<Value> result;
  auto at = items->items.begin();
  for (size_t i = 0; i < slices && budget.spend(1); ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(each + (i < longer ? 1 : 0));
    std::vector<Value> part(at, end);
    if (fill != nullptr && i >= longer) part.push_back(*fill);
    result.push_back(make_list(budget, std::move(part)));
    at = end;
  }
  return make_sequence(budget, Flavour::generator, std::move(result));
}

Result<Value> group_by_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"attribute", "default", "case_sensitive"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("groupby", kParameters, 1, arguments));
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const SequencePtr items, iterate(budget, self));
  const Case letters = bound.boolean(2, false) ? Case::sensitive : Case::ignored;
  const Value* otherwise = bound.get_unless_none(1);
  QUALIA_ASSIGN(const std::vector<Value> keys,
                single_keys(runtime, items->items, bound.get(0), letters, otherwise));
  QUALIA_ASSIGN(const std::vector<size_t> order, sorted_order(budget, keys, Direction::ascending));
  const AttributePath path = AttributePath::parse(budget, bound.get(0));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < order.size() && budget.ok();) {
    size_t end = begin;
    std::vector<Value> members;
    while (end < order.size() && budget.ok() &&
           equals(budget, keys[order[begin]], keys[order[end]])) {
      members.push_back(items->items[order[end++]]);
    }
    QUALIA_ASSIGN(Value key, path.follow(runtime, items->items[order[begin]], otherwise));
    groups.push_back(make_tuple(budget, {std::move(key), make_list(budget, std::move(members))}));
    begin = std::max(end, begin + 1);  // NaN equals nothing, not even itself
  }
  return make_list(budget, std::move(groups));
}

constexpr NamedBuiltin kSequenceFilters[] = {
    {"length", length_filter},    {"count", length_filter},
    {"list", list_filter},        {"first", first_filter},
    {"last", last_filter},        {"reverse", reverse_filter},
    {"join", join_filter},        {"sort", sort_filter},
    {"unique", unique_filter},    {"min", min_filter},
    {"max", max_filter},          {"sum", sum_filter},
    {"items", items_filter},      {"dictsort", dict_sort_filter},
    {"batch", batch_filter},      {"slice", slice_filter},
    {"groupby", group_by_filter},
};

}  // namespace

std::span<const NamedBuiltin> sequence_filters() { return kSequenceFilters; }

}  // namespace qualia::jinja

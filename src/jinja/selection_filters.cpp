// Filters that apply other filters, tests or attributes to each item, and defaults.
#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/sequence_functions.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

// What follows the first `count` positional arguments, all keywords included.
Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest;
  const auto first = arguments.positional.begin() + static_cast<std::ptrdiff_t>(count);
  rest.positional.assign(first, arguments.positional.end());
  rest.keywords = arguments.keywords;
  return rest;
}

// A false input, None above all, counts as empty.
Result<SequencePtr> items_of(Runtime& runtime, const Value& self) {
  return iterate(runtime.budget, truth(self) ? self : Value());
}

// Finds the builtin that an argument names.
Result<const NamedBuiltin*> named_builtin(const Value& name, std::string_view what,
                                          const NamedBuiltin* (*find)(std::string_view)) {
  if (!name.is(Kind::text)) return invalid_argument("a {} is named by '{}'", what, type_name(name));
  const NamedBuiltin* found = find(name.bytes());
  if (found == nullptr) return invalid_argument("there is no {} '{}'", what, name.bytes());
  return found;
}

Result<Value> map_attribute(Runtime& runtime, const std::vector<Value>& items,
                            const Arguments& arguments) {
  static constexpr Names kParameters[] = {"attribute", "default"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("map", kParameters, 1, arguments));
  const AttributePath path = AttributePath::parse(runtime.budget, bound.get(0));
  std::vector<Value> results;
  for (const Value& item : items) {
    if (!runtime.budget.ok()) break;
    QUALIA_ASSIGN(Value result, path.follow(runtime, item, bound.get_unless_none(1)));
    results.push_back(std::move(result));
  }
  return make_sequence(runtime.budget, Flavour::generator, std::move(results));
}

Result<Value> map_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  QUALIA_ASSIGN(const SequencePtr items, items_of(runtime, self));
  if (arguments.positional.empty()) return map_attribute(runtime, items->items, arguments);
  QUALIA_ASSIGN(const NamedBuiltin* filter,
                named_builtin(arguments.positional.front(), "filter", find_filter));
  const Arguments rest = without_first(arguments, 1);
  std::vector<Value> results;
  for (const Value& item : items->items) {
    if (!runtime.budget.spend(1)) break;
    QUALIA_ASSIGN(Value result, filter->call(runtime, item, rest));
    results.push_back(std::move(result));
  }
  return make_sequence(runtime.budget, Flavour::generator, std::move(results));
}

enum class Keeps { passing, failing };

// Items whose own value or attribute passes a test, or is true if none is named.
Result<Value> selected(Runtime& runtime, const Value& self, const Arguments& arguments, Keeps keeps,
                       bool by_attribute) {
  QUALIA_ASSIGN(const SequencePtr items, items_of(runtime, self));
  const size_t offset = by_attribute ? 1 : 0;
  if (arguments.positional.size() < offset) return invalid_argument("an attribute name is missing");
  AttributePath path;
  if (by_attribute) path = AttributePath::parse(runtime.budget, &arguments.positional.front());
  const NamedBuiltin* test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > offset) {
    QUALIA_ASSIGN(test, named_builtin(arguments.positional[offset], "test", find_test));
    rest = without_first(arguments, offset + 1);
  }
  std::vector<Value> results;
  for (const Value& item : items->items) {
    if (!runtime.budget.spend(1)) break;
    QUALIA_ASSIGN(Value tested, path.follow(runtime, item));
    if (test != nullptr) {
      QUALIA_ASSIGN(tested, test->call(runtime, tested, rest));
    }
    if (truth(tested) == (keeps == Keeps::passing)) results.push_back(item);
  }
  return make_sequence(runtime.budget, Flavour::generator, std::move(results));
}

Result<Value> select_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return selected(runtime, self, arguments, Keeps::passing, false);
}
Result<Value> reject_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return selected(runtime, self, arguments, Keeps::failing, false);
}
Result<Value> select_attribute_filter(Runtime& runtime, const Value& self,
                                      const Arguments& arguments) {
  return selected(runtime, self, arguments, Keeps::passing, true);
}
Result<Value> reject_attribute_filter(Runtime& runtime, const Value& self,
                                      const Arguments& arguments) {
  return selected(runtime, self, arguments, Keeps::failing, true);
}

Result<Value> default_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"default_value", "boolean"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("default", kParameters, 0, arguments));
  const bool replaces = self.is(Kind::undefined) || (bound.boolean(1, false) && !truth(self));
  if (!replaces) return self;
  return bound.get(0) != nullptr ? *bound.get(0) : Value(make_text(runtime.budget, ""));
}

// Like x.name, but does not fall back to items.
Result<Value> attribute_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"name"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("attr", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr name, bound.text(0));
  const bool is_item = self.is(Kind::dict) && find_method(self, name->bytes) == nullptr;
  if (is_item) return undefined_value("'dict object' has no attribute '" + name->bytes + "'");
  return get_attribute(runtime, self, name->bytes);
}

constexpr NamedBuiltin kSelectionFilters[] = {
    {"map", map_filter},
    {"select", select_filter},
    {"reject", reject_filter},
    {"selectattr", select_attribute_filter},
    {"rejectattr", reject_attribute_filter},
    {"default", default_filter},
    {"d", default_filter},
    {"attr", attribute_filter},
};

}  // namespace

std::span<const NamedBuiltin> selection_filters() { return kSelectionFilters; }

}  // namespace qualia::jinja

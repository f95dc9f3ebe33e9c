// Methods of list, tuple, dict and loop.
#include <algorithm>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

Result<Value> list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"value"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("index", kParameters, 1, arguments));
  const auto& items = self.sequence().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equals(runtime.budget, items[i], *bound.get(0))) return Value(static_cast<int64_t>(i));
  }
  return invalid_argument("the value is not in the list");
}

Result<Value> list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"value"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("count", kParameters, 1, arguments));
  const auto& items = self.sequence().items;
  return Value(int64_t{std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equals(runtime.budget, item, *bound.get(0));
  })});
}

Result<Value> copy(Runtime&, const Value& self, const Arguments&) { return self; }

Result<Value> dict_items(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> items;
  items.reserve(self.dict().entries.size());
  for (const auto& [key, value] : self.dict().entries) {
    if (!runtime.budget.ok()) break;
    items.push_back(make_tuple(runtime.budget, {key, value}));
  }
  return make_sequence(runtime.budget, Flavour::dict_items, std::move(items));
}

Result<Value> dict_keys(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> keys;
  for (const auto& [key, value] : self.dict().entries) keys.push_back(key);
  return make_sequence(runtime.budget, Flavour::dict_keys, std::move(keys));
}

Result<Value> dict_values(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> values;
  for (const auto& [key, value] : self.dict().entries) values.push_back(value);
  return make_sequence(runtime.budget, Flavour::dict_values, std::move(values));
}

Result<Value> dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"key", "default"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("get", kParameters, 1, arguments));
  const Value& key = *bound.get(0);
  if (key.is(Kind::text)) {
    runtime.budget.spend_bytes(key.text()->size());
    if (const Value* value = self.dict().find(key.bytes())) return *value;
  } else {
    for (const auto& [name, value] : self.dict().entries) {
      if (!name.is(Kind::text) && equals(runtime.budget, name, key)) return value;
    }
  }
  return bound.get(1) != nullptr ? *bound.get(1) : Value(None{});
}

Result<Value> loop_cycle(Runtime&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return invalid_argument("cycle() gets no items");
  const auto index = static_cast<size_t>(std::max<int64_t>(0, self.loop().index0));
  return arguments.positional[index % arguments.positional.size()];
}

// Only values that hold no others are remembered, so that a loop never holds itself.
Result<Value> loop_changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
  std::vector<Value>& last = self.loop().changed;
  bool same = self.loop().index0 > 0 && last.size() == arguments.positional.size();
  for (size_t i = 0; same && i < last.size(); ++i) {
    same = equals(runtime.budget, last[i], arguments.positional[i]);
  }
  last.clear();
  for (const Value& value : arguments.positional) {
    if (depth_of(value) == 0) last.push_back(value);
  }
  return Value(!same);
}

constexpr NamedBuiltin kListMethods[] = {
    {"index", list_index}, {"count", list_count}, {"copy", copy}};
constexpr NamedBuiltin kDictMethods[] = {{"items", dict_items},
                                         {"keys", dict_keys},
                                         {"values", dict_values},
                                         {"get", dict_get},
                                         {"copy", copy}};
constexpr NamedBuiltin kLoopMethods[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};

}  // namespace

std::span<const NamedBuiltin> list_methods() { return kListMethods; }
std::span<const NamedBuiltin> dict_methods() { return kDictMethods; }
std::span<const NamedBuiltin> loop_methods() { return kLoopMethods; }

}  // namespace qualia::jinja

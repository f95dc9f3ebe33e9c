#include "jinja/builtins.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/error.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

namespace {

constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear", "pop",    "reverse",
                                                           "insert", "sort",  "extend", "remove"};
constexpr std::array<std::string_view, 5> kDictMutators = {"clear", "pop", "popitem", "setdefault",
                                                           "update"};

const NamedBuiltin* find_in(std::span<const NamedBuiltin> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const NamedBuiltin& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

template <typename... Tables>
const NamedBuiltin* find_in_all(std::string_view name, Tables... tables) {
  const NamedBuiltin* found = nullptr;
  ((found = found != nullptr ? found : find_in(tables, name)), ...);
  return found;
}

bool is_dict_view(const Value& value) {
  return value.is(Kind::sequence) && value.sequence().flavour > Flavour::range;
}

std::string object_name(const Value& object) {
  if (object.is(Kind::none)) return "None";
  return fmt::format("{} object", type_name(object));
}

Value missing_attribute(const Value& object, std::string_view name) {
  return undefined_value(fmt::format("'{}' has no attribute '{}'", object_name(object), name));
}

Value missing_item(Runtime& runtime, const Value& object, const Value& key) {
  if (key.is(Kind::text)) return missing_attribute(object, key.bytes());
  return undefined_value(
      fmt::format("{} has no element {}", object_name(object), repr(runtime.budget, key).bytes));
}

const Value* find_entry(Runtime& runtime, const Dict& dict, const Value& key) {
  if (key.is(Kind::text)) {
    runtime.budget.spend_bytes(key.text()->size());
    return dict.find(key.bytes());
  }
  for (const auto& [name, value] : dict.entries) {
    if (!name.is(Kind::text) && equals(runtime.budget, name, key)) return &value;
  }
  return nullptr;
}

// The attribute proper, without falling back to items; undefined if there is none.
Value own_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is(Kind::name_space)) {
    const Value* value = object.name_space().find(name);
    return value != nullptr ? *value : Value();
  }
  if (is_mutating_method(object, name)) {
    return undefined_value(
        fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(object)));
  }
  const NamedBuiltin* method = find_method(object, name);
  if (method == nullptr) return Value();
  runtime.budget.spend(1);
  return Value(CallablePtr(std::make_shared<const Callable>(method, object)));
}

bool is_plain_undefined(const Value& value) {
  return value.is(Kind::undefined) && !value.undefined().sentence;
}

}  // namespace

const NamedBuiltin* find_filter(std::string_view name) {
  return find_in_all(name, text_filters(), sequence_filters(), selection_filters(),
                     number_filters());
}

const NamedBuiltin* find_test(std::string_view name) { return find_in(tests(), name); }

const NamedBuiltin* find_function(std::string_view name) { return find_in(functions(), name); }

const NamedBuiltin* find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::text:
      return find_in_all(name, text_methods(), text_class_methods(), split_methods());
    case Kind::dict:
      return find_in(dict_methods(), name);
    case Kind::loop:
      return find_in(loop_methods(), name);
    case Kind::sequence:
      return is_dict_view(self) ? nullptr : find_in(list_methods(), name);
    default:
      return nullptr;
  }
}

bool is_mutating_method(const Value& self, std::string_view name) {
  if (self.is(Kind::dict)) {
    return std::find(kDictMutators.begin(), kDictMutators.end(), name) != kDictMutators.end();
  }
  return self.is(Kind::sequence) && self.sequence().flavour == Flavour::list &&
         std::find(kListMutators.begin(), kListMutators.end(), name) != kListMutators.end();
}

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) return tl::unexpected(undefined_error(object));
  Value value = own_attribute(runtime, object, name);
  if (!is_plain_undefined(value)) return value;
  if (object.is(Kind::dict)) {
    const Value* entry = object.dict().find(name);
    if (entry != nullptr) return *entry;
  }
  return missing_attribute(object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is(Kind::undefined)) return tl::unexpected(undefined_error(object));
  if (object.is(Kind::dict)) {
    if (const Value* value = find_entry(runtime, object.dict(), key)) return *value;
  }
  if (object.is(Kind::sequence) && key.is_integral()) {
    const auto& items = object.sequence().items;
    const auto count = static_cast<int64_t>(items.size());
    const int64_t index = key.as_integer() < 0 ? key.as_integer() + count : key.as_integer();
    if (index >= 0 && index < count) return items[static_cast<size_t>(index)];
  }
  if (object.is(Kind::text) && key.is_integral()) {
    if (TextPtr character = character_at(runtime.budget, object.text(), key.as_integer())) {
      return Value(std::move(character));
    }
  }
  if (key.is(Kind::text)) {
    Value value = own_attribute(runtime, object, key.bytes());
    if (!is_plain_undefined(value)) return value;
  }
  return missing_item(runtime, object, key);
}

bool is_loop_attribute(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "index",  "index0", "revindex", "revindex0", "first",   "last",
      "length", "depth",  "depth0",   "previtem",  "nextitem"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace qualia::jinja

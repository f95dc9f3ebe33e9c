// Filters, tests, methods and functions by name.
// Thread-safety: pure tables.
// A filter's or test's self is its input; a method's self is its receiver.
#pragma once

#include <span>
#include <string_view>

#include "jinja/callable.h"

namespace qualia::jinja {

// Null if there is none of that name.
const NamedBuiltin* find_filter(std::string_view name);
const NamedBuiltin* find_test(std::string_view name);
const NamedBuiltin* find_function(std::string_view name);
// The method of a str, list, tuple, dict or loop. Methods that would change a list or dict are
// known, but calling them is an Error, as in Jinja's immutable sandbox.
const NamedBuiltin* find_method(const Value& self, std::string_view name);
bool is_mutating_method(const Value& self, std::string_view name);

// obj.name, which prefers methods over items, and obj[key], which prefers items. Neither fails on a
// missing name: the result is undefined. Errors: the object itself is undefined.
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);

// The state of the running loop by name (index, first, last, ...); the evaluation provides it, as
// some names pull the next item.
bool is_loop_attribute(std::string_view name);

// Tables of the single files, found by the functions above.
std::span<const NamedBuiltin> text_filters();
std::span<const NamedBuiltin> sequence_filters();
std::span<const NamedBuiltin> selection_filters();
std::span<const NamedBuiltin> number_filters();
std::span<const NamedBuiltin> tests();
std::span<const NamedBuiltin> functions();
std::span<const NamedBuiltin> text_methods();
std::span<const NamedBuiltin> text_class_methods();
std::span<const NamedBuiltin> split_methods();
std::span<const NamedBuiltin> list_methods();
std::span<const NamedBuiltin> dict_methods();
std::span<const NamedBuiltin> loop_methods();

}  // namespace qualia::jinja

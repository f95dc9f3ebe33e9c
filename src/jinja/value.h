// Values of the template language, with Python's types.
// Thread-safety: shared parts are immutable and reference counted; a Value may be read from many
// threads. Namespaces and loops change, and belong to the evaluation that made them.
// Nesting is bounded at construction (kValueDepthMax), so recursion over a value is too.
// Errors: none here; a structure that nests too deep exhausts the budget.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/budget.h"
#include "jinja/text.h"

namespace qualia::jinja {

struct Sequence;
struct Dict;
struct Namespace;
struct Loop;
struct Callable;

// What an undefined value says when it is used; null: a plain one.
struct Undefined {
  std::shared_ptr<const std::string> sentence;
};
struct None {};

using SequencePtr = std::shared_ptr<const Sequence>;  // shared like TextPtr
using DictPtr = std::shared_ptr<const Dict>;
using LoopPtr = std::shared_ptr<Loop>;  // shared between the running loop and its `loop` variable
using CallablePtr = std::shared_ptr<const Callable>;

// In the order of Value's alternatives.
enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  text,
  sequence,
  dict,
  name_space,
  loop,
  callable,
};

class Value {
 public:
  Value() = default;  // undefined
  Value(Undefined undefined) : data_(std::move(undefined)) {}
  Value(None none) : data_(none) {}
  explicit Value(bool boolean) : data_(boolean) {}
  explicit Value(int64_t integer) : data_(integer) {}
  explicit Value(double real) : data_(real) {}
  Value(TextPtr text) : data_(std::move(text)) {}
  Value(SequencePtr sequence) : data_(std::move(sequence)) {}
  Value(DictPtr dict) : data_(std::move(dict)) {}
  explicit Value(Namespace* name_space) : data_(name_space) {}
  explicit Value(LoopPtr loop) : data_(std::move(loop)) {}
  explicit Value(CallablePtr callable) : data_(std::move(callable)) {}

  Kind kind() const noexcept { return static_cast<Kind>(data_.index()); }
  bool is(Kind wanted) const noexcept { return kind() == wanted; }
  // bool counts as a number, as in Python.
  bool is_integral() const noexcept { return is(Kind::integer) || is(Kind::boolean); }
  bool is_number() const noexcept { return is_integral() || is(Kind::real); }

  // REQUIRES: is() of the kind, is_integral() for as_integer, is_number() for as_real.
  bool as_boolean() const { return std::get<bool>(data_); }
  int64_t as_integer() const {
    return is(Kind::boolean) ? int64_t{as_boolean()} : std::get<int64_t>(data_);
  }
  double as_real() const {
    return is(Kind::real) ? std::get<double>(data_) : static_cast<double>(as_integer());
  }
  const TextPtr& text() const { return std::get<TextPtr>(data_); }
  const std::string& bytes() const { return text()->bytes; }
  const Sequence& sequence() const { return *std::get<SequencePtr>(data_); }
  const SequencePtr& sequence_ptr() const { return std::get<SequencePtr>(data_); }
  const Dict& dict() const { return *std::get<DictPtr>(data_); }
  Namespace& name_space() const { return *std::get<Namespace*>(data_); }
  Loop& loop() const { return *std::get<LoopPtr>(data_); }
  const Callable& callable() const { return *std::get<CallablePtr>(data_); }
  const Undefined& undefined() const { return std::get<Undefined>(data_); }
  // The same object, or equal scalars: Python's `is`.
  bool same_object(const Value& other) const;

 private:
  std::variant<Undefined, None, bool, int64_t, double, TextPtr, SequencePtr, DictPtr, Namespace*,
               LoopPtr, CallablePtr>
      data_;
};

Value undefined_value(std::string sentence);

// What Python would call the ordered collection; they differ in printing and truth.
enum class Flavour : uint8_t {
  list,
  tuple,
  range,
  generator,  // what lazy filters answer: always true
  dict_keys,
  dict_values,
  dict_items,
};

struct Sequence : Metered {
  Sequence(Budget* budget, Flavour sequence_flavour, std::vector<Value> values);
  const Flavour flavour;
  const std::vector<Value> items;
  const size_t depth;
  int64_t range_start = 0, range_stop = 0, range_step = 1;  // for printing a range
};

struct Dict : Metered {
  using Entry = std::pair<Value, Value>;
  Dict(Budget* budget, std::vector<Entry> unique_entries);

  // Null if absent. Linear for small dicts, by binary search over sorted text keys for large ones.
  const Value* find(std::string_view key) const;

  const std::vector<Entry> entries;         // in order of insertion, keys unique
  const std::vector<uint32_t> by_text_key;  // entries with text keys in byte order; empty if small
  const size_t depth;
};

Value make_sequence(Budget& budget, Flavour flavour, std::vector<Value> items);
inline Value make_list(Budget& budget, std::vector<Value> items) {
  return make_sequence(budget, Flavour::list, std::move(items));
}
inline Value make_tuple(Budget& budget, std::vector<Value> items) {
  return make_sequence(budget, Flavour::tuple, std::move(items));
}
// Keys may repeat: the last value wins, in the place of the first, as in Python.
Value make_dict(Budget& budget, std::vector<Dict::Entry> entries);

// Mutable, owned by the evaluation; a Value only points to it, so that namespaces that hold each
// other neither leak nor recurse.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

size_t depth_of(const Value& value);
// "str", "int", "NoneType", ... as in Python's error sentences.
std::string_view type_name(const Value& value);

}  // namespace qualia::jinja

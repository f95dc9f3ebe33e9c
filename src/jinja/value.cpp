#include "jinja/value.h"

#include <algorithm>
#include <bit>

#include "jinja/callable.h"
#include "jinja/operators.h"

namespace qualia::jinja {

namespace {

// Below this a linear look through the entries beats the sorted index.
constexpr size_t kIndexedDictSize = 9;

size_t depth_of_items(const std::vector<Value>& items) {
  size_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

size_t depth_of_entries(const std::vector<Dict::Entry>& entries) {
  size_t depth = 0;
  for (const auto& [key, value] : entries) {
    depth = std::max({depth, depth_of(key), depth_of(value)});
  }
  return depth + 1;
}

// What sorting the keys twice reads at most.
size_t bytes_to_sort(const std::vector<Dict::Entry>& entries) {
  size_t bytes = 0;
  for (const auto& [key, value] : entries) {
    if (key.is(Kind::text)) bytes += key.text()->size();
  }
  return 2 * bytes * static_cast<size_t>(std::bit_width(entries.size()));
}

std::vector<uint32_t> sorted_text_keys(const std::vector<Dict::Entry>& entries) {
  std::vector<uint32_t> order;
  if (entries.size() < kIndexedDictSize) return order;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].first.is(Kind::text)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&entries](uint32_t a, uint32_t b) {
    return entries[a].first.bytes() < entries[b].first.bytes();
  });
  return order;
}

// Marks the entries whose text key occurred before and moves their value to the first place.
void fold_repeated_text_keys(std::vector<Dict::Entry>& entries, std::vector<bool>& repeated) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].first.is(Kind::text)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&entries](uint32_t a, uint32_t b) {
    return entries[a].first.bytes() < entries[b].first.bytes();
  });
  for (size_t i = 1, first = 0; i < order.size(); ++i) {
    if (entries[order[i]].first.bytes() != entries[order[first]].first.bytes()) {
      first = i;
      continue;
    }
    entries[order[first]].second = entries[order[i]].second;
    repeated[order[i]] = true;
  }
}

// Keys that are no text are rare in templates and never come from JSON: compared pairwise.
void fold_repeated_other_keys(Budget& budget, std::vector<Dict::Entry>& entries,
                              std::vector<bool>& repeated) {
  std::vector<size_t> seen;
  for (size_t i = 0; i < entries.size() && budget.ok(); ++i) {
    if (entries[i].first.is(Kind::text)) continue;
    const auto same = std::find_if(seen.begin(), seen.end(), [&](size_t other) {
      return equals(budget, entries[i].first, entries[other].first);
    });
    if (same == seen.end()) {
      seen.push_back(i);
    } else {
      entries[*same].second = entries[i].second;
      repeated[i] = true;
    }
  }
}

}  // namespace

Sequence::Sequence(Budget* budget, Flavour sequence_flavour, std::vector<Value> values)
    : Metered(budget, sizeof(Sequence) + values.capacity() * sizeof(Value)),
      flavour(sequence_flavour),
      items(std::move(values)),
      depth(depth_of_items(items)) {}

Dict::Dict(Budget* budget, std::vector<Entry> unique_entries)
    : Metered(budget, sizeof(Dict) + unique_entries.capacity() * (sizeof(Entry) + 4)),
      entries(std::move(unique_entries)),
      by_text_key(sorted_text_keys(entries)),
      depth(depth_of_entries(entries)) {}

const Value* Dict::find(std::string_view key) const {
  if (entries.size() >= kIndexedDictSize) {
    const auto found = std::lower_bound(
        by_text_key.begin(), by_text_key.end(), key,
        [this](uint32_t i, std::string_view wanted) { return entries[i].first.bytes() < wanted; });
    if (found == by_text_key.end() || entries[*found].first.bytes() != key) return nullptr;
    return &entries[*found].second;
  }
  for (const auto& [name, value] : entries) {
    if (name.is(Kind::text) && name.bytes() == key) return &value;
  }
  return nullptr;
}

bool Value::same_object(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::boolean:
      return as_boolean() == other.as_boolean();
    case Kind::integer:
      return as_integer() == other.as_integer();
    case Kind::real:
      return false;
    case Kind::text:
      return text() == other.text();
    case Kind::sequence:
      return sequence_ptr() == other.sequence_ptr();
    case Kind::dict:
      return &dict() == &other.dict();
    case Kind::name_space:
      return &name_space() == &other.name_space();
    case Kind::loop:
      return &loop() == &other.loop();
    case Kind::callable:
      return &callable() == &other.callable();
  }
  return false;
}

Value undefined_value(std::string sentence) {
  return Undefined{std::make_shared<const std::string>(std::move(sentence))};
}

Value make_sequence(Budget& budget, Flavour flavour, std::vector<Value> items) {
  budget.spend(1 + items.size());
  auto sequence = std::make_shared<const Sequence>(&budget, flavour, std::move(items));
  if (sequence->depth > kValueDepthMax) {
    budget.fail("its lists nest deeper than " + std::to_string(kValueDepthMax));
    return Value();
  }
  return sequence;
}

Value make_dict(Budget& budget, std::vector<Dict::Entry> entries) {
  if (!budget.spend(1 + entries.size()) || !budget.spend_bytes(bytes_to_sort(entries))) return {};
  std::vector<bool> repeated(entries.size(), false);
  fold_repeated_text_keys(entries, repeated);
  fold_repeated_other_keys(budget, entries, repeated);
  std::vector<Dict::Entry> unique;
  unique.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!repeated[i]) unique.push_back(std::move(entries[i]));
  }
  auto dict = std::make_shared<const Dict>(&budget, std::move(unique));
  if (dict->depth > kValueDepthMax) {
    budget.fail("its dicts nest deeper than " + std::to_string(kValueDepthMax));
    return Value();
  }
  return dict;
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

size_t depth_of(const Value& value) {
  switch (value.kind()) {
    case Kind::sequence:
      return value.sequence().depth;
    case Kind::dict:
      return value.dict().depth;
    case Kind::loop:
      return value.loop().depth;
    case Kind::callable:
      return value.callable().depth;
    default:
      return 0;
  }
}

std::string_view type_name(const Value& value) {
  static constexpr std::string_view kNames[] = {"Undefined", "NoneType",    "bool",    "int",
                                                "float",     "str",         "list",    "dict",
                                                "Namespace", "LoopContext", "function"};
  static constexpr std::string_view kFlavours[] = {
      "list", "tuple", "range", "generator", "dict_keys", "dict_values", "dict_items"};
  if (value.is(Kind::sequence)) return kFlavours[static_cast<size_t>(value.sequence().flavour)];
  return kNames[static_cast<size_t>(value.kind())];
}

}  // namespace qualia::jinja

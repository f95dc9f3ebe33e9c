#include "gguf/metadata.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/name_order.h"

namespace qualia::gguf {
namespace {

constexpr uint64_t kKeyBytesMax = 65535;  // ggml's docs/gguf.md
constexpr uint64_t kStringBytesMax = 256 * 1024 * 1024;
constexpr uint64_t kArrayItemsMax = 16 * 1024 * 1024;  // 256 MiB of string views
constexpr uint64_t kInnerArraysMax = 64 * 1024;
constexpr uint32_t kNestingMax = 8;
constexpr uint64_t kPairBytesMin = 8 + 1 + 4 + 1;  // key length, key, type, value
// Room made before the items are seen: a sparse file may be huge and hold nothing.
constexpr uint64_t kReserveMax = 4096;

constexpr std::array<std::string_view, 13> kTypeNames{
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

std::string_view key_of(const Entry& entry) { return entry.key; }

// What the arrays of one file may still use.
struct Budget {
  uint64_t items = kArrayItemsMax;
  uint64_t inner_arrays = kInnerArraysMax;
};

Result<void> spend(uint64_t& left, uint64_t count, uint64_t limit, const Cursor& cursor) {
  if (count > left)
    return corrupt_file("The arrays of '{}' exceed {} items in {}.", cursor.file_name(), limit,
                        cursor.place());
  left -= count;
  return {};
}

Result<ValueType> read_type(Cursor& cursor) {
  QUALIA_ASSIGN(const uint32_t id, cursor.read<uint32_t>());
  if (id >= kTypeNames.size())
    return corrupt_file("The value type {} in {} of '{}' is unknown (at most {}).", id,
                        cursor.place(), cursor.file_name(), kTypeNames.size() - 1);
  return static_cast<ValueType>(id);
}

tl::unexpected<Error> bad_bool(const Cursor& cursor, uint8_t byte) {
  return corrupt_file("A bool in {} of '{}' is {} (0 or 1).", cursor.place(), cursor.file_name(),
                      byte);
}

Result<bool> read_bool(Cursor& cursor) {
  QUALIA_ASSIGN(const uint8_t byte, cursor.read<uint8_t>());
  if (byte > 1) return bad_bool(cursor, byte);
  return byte == 1;
}

Result<std::shared_ptr<const Array>> read_array(Cursor& cursor, Budget& budget, uint32_t depth);

template <typename T>
Result<std::vector<T>> read_numbers(Cursor& cursor, uint64_t count) {
  QUALIA_TRY(cursor.expect_room(count, sizeof(T)));
  QUALIA_ASSIGN(const auto bytes, cursor.take(count * sizeof(T)));
  std::vector<T> numbers(static_cast<size_t>(count));
  if (count > 0) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Result<std::vector<uint8_t>> read_bools(Cursor& cursor, uint64_t count) {
  QUALIA_ASSIGN(auto bytes, read_numbers<uint8_t>(cursor, count));
  const auto bad = std::ranges::find_if(bytes, [](uint8_t byte) { return byte > 1; });
  if (bad != bytes.end()) return bad_bool(cursor, *bad);
  return bytes;
}

Result<std::vector<std::string_view>> read_strings(Cursor& cursor, uint64_t count) {
  QUALIA_TRY(cursor.expect_room(count, sizeof(uint64_t)));
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(std::min(count, kReserveMax)));
  for (uint64_t i = 0; i < count; ++i) {
    QUALIA_ASSIGN(const auto text, cursor.read_string(kStringBytesMax));
    strings.push_back(text);
  }
  return strings;
}

Result<std::vector<std::shared_ptr<const Array>>> read_arrays(Cursor& cursor, uint64_t count,
                                                              Budget& budget, uint32_t depth) {
  QUALIA_TRY(cursor.expect_room(count, sizeof(uint32_t) + sizeof(uint64_t)));
  QUALIA_TRY(spend(budget.inner_arrays, count, kInnerArraysMax, cursor));
  std::vector<std::shared_ptr<const Array>> arrays;
  for (uint64_t i = 0; i < count; ++i) {
    QUALIA_ASSIGN(auto inner, read_array(cursor, budget, depth + 1));
    arrays.push_back(std::move(inner));
  }
  return arrays;
}

// Stores what a reader gave, or passes its error on.
template <typename Items>
Result<void> keep(Array& array, Result<Items> items) {
  if (!items) return tl::unexpected<Error>(std::move(items).error());
  array.items = std::move(*items);
  return {};
}

Result<void> read_items(Cursor& cursor, uint64_t count, Array& array, Budget& budget,
                        uint32_t depth) {
  switch (array.type) {
    case ValueType::u8:
      return keep(array, read_numbers<uint8_t>(cursor, count));
    case ValueType::i8:
      return keep(array, read_numbers<int8_t>(cursor, count));
    case ValueType::u16:
      return keep(array, read_numbers<uint16_t>(cursor, count));
    case ValueType::i16:
      return keep(array, read_numbers<int16_t>(cursor, count));
    case ValueType::u32:
      return keep(array, read_numbers<uint32_t>(cursor, count));
    case ValueType::i32:
      return keep(array, read_numbers<int32_t>(cursor, count));
    case ValueType::f32:
      return keep(array, read_numbers<float>(cursor, count));
    case ValueType::boolean:
      return keep(array, read_bools(cursor, count));
    case ValueType::string:
      return keep(array, read_strings(cursor, count));
    case ValueType::array:
      return keep(array, read_arrays(cursor, count, budget, depth));
    case ValueType::u64:
      return keep(array, read_numbers<uint64_t>(cursor, count));
    case ValueType::i64:
      return keep(array, read_numbers<int64_t>(cursor, count));
    case ValueType::f64:
      return keep(array, read_numbers<double>(cursor, count));
  }
  return internal("Value type {} has no reader.", static_cast<uint32_t>(array.type));
}

Result<std::shared_ptr<const Array>> read_array(Cursor& cursor, Budget& budget, uint32_t depth) {
  if (depth > kNestingMax)
    return corrupt_file("The array in {} of '{}' is nested deeper than {}.", cursor.place(),
                        cursor.file_name(), kNestingMax);
  auto array = std::make_shared<Array>();
  QUALIA_ASSIGN(array->type, read_type(cursor));
  QUALIA_ASSIGN(const uint64_t count, cursor.read<uint64_t>());
  QUALIA_TRY(cursor.expect_room(count, 1));
  QUALIA_TRY(spend(budget.items, count, kArrayItemsMax, cursor));
  QUALIA_TRY(read_items(cursor, count, *array, budget, depth));
  return array;
}

template <typename T>
Result<Value> as_value(Result<T> result) {
  if (!result) return tl::unexpected<Error>(std::move(result).error());
  return Value(std::in_place_type<T>, std::move(*result));
}

Result<Value> read_value(Cursor& cursor, ValueType type, Budget& budget) {
  switch (type) {
    case ValueType::u8:
      return as_value(cursor.read<uint8_t>());
    case ValueType::i8:
      return as_value(cursor.read<int8_t>());
    case ValueType::u16:
      return as_value(cursor.read<uint16_t>());
    case ValueType::i16:
      return as_value(cursor.read<int16_t>());
    case ValueType::u32:
      return as_value(cursor.read<uint32_t>());
    case ValueType::i32:
      return as_value(cursor.read<int32_t>());
    case ValueType::f32:
      return as_value(cursor.read<float>());
    case ValueType::boolean:
      return as_value(read_bool(cursor));
    case ValueType::string:
      return as_value(cursor.read_string(kStringBytesMax));
    case ValueType::array:
      return as_value(read_array(cursor, budget, 1));
    case ValueType::u64:
      return as_value(cursor.read<uint64_t>());
    case ValueType::i64:
      return as_value(cursor.read<int64_t>());
    case ValueType::f64:
      return as_value(cursor.read<double>());
  }
  return internal("Value type {} has no reader.", static_cast<uint32_t>(type));
}

Result<Entry> read_entry(Cursor& cursor, uint64_t index, Budget& budget) {
  cursor.at("Key", index);
  QUALIA_ASSIGN(const std::string_view key, cursor.read_string(kKeyBytesMax));
  if (key.empty()) return corrupt_file("Key {} of '{}' is empty.", index, cursor.file_name());
  cursor.at("Key", index, key);
  QUALIA_ASSIGN(const ValueType type, read_type(cursor));
  QUALIA_ASSIGN(Value value, read_value(cursor, type, budget));
  return Entry{key, type, std::move(value)};
}

}  // namespace

std::string_view value_type_name(ValueType type) { return kTypeNames[static_cast<uint32_t>(type)]; }

const Entry* Metadata::find(std::string_view key) const {
  return find_by_name(std::span<const Entry>(entries), order, key, key_of);
}

Result<Metadata> read_metadata(Cursor& cursor, uint64_t count) {
  cursor.at("the list of keys");
  QUALIA_TRY(cursor.expect_room(count, kPairBytesMin));
  if (!checked_cast<uint32_t>(count))
    return corrupt_file("'{}' has {} keys (at most {}).", cursor.file_name(), count, UINT32_MAX);
  Metadata metadata;
  metadata.entries.reserve(static_cast<size_t>(std::min(count, kReserveMax)));
  Budget budget;
  for (uint64_t i = 0; i < count; ++i) {
    QUALIA_ASSIGN(Entry entry, read_entry(cursor, i, budget));
    metadata.entries.push_back(std::move(entry));
  }
  const std::span<const Entry> entries(metadata.entries);
  metadata.order = order_by_name(entries, key_of);
  if (const Entry* twice = find_duplicate(entries, metadata.order, key_of))
    return corrupt_file("Key {} appears twice in '{}'.", quoted(twice->key), cursor.file_name());
  return metadata;
}

}  // namespace qualia::gguf

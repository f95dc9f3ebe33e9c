// Lookup by name over a vector that keeps the file's order: a second vector of sorted indices.
// Thread-safety: pure. `name_of` maps an item to its std::string_view.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace qualia::gguf {

// REQUIRES: items.size() fits 32 bits.
template <typename Item, typename NameOf>
std::vector<uint32_t> order_by_name(std::span<const Item> items, NameOf name_of) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  // Stable, so that of two equal names the file's second one is reported.
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return name_of(items[i]); });
  return order;
}

// The first item in sorted order whose name an earlier item has, or nullptr.
template <typename Item, typename NameOf>
const Item* find_duplicate(std::span<const Item> items, std::span<const uint32_t> order,
                           NameOf name_of) {
  const auto same = [&](uint32_t a, uint32_t b) { return name_of(items[a]) == name_of(items[b]); };
  const auto found = std::ranges::adjacent_find(order, same);
  return found == order.end() ? nullptr : &items[*std::next(found)];
}

template <typename Item, typename NameOf>
const Item* find_by_name(std::span<const Item> items, std::span<const uint32_t> order,
                         std::string_view name, NameOf name_of) {
  const auto name_at = [&](uint32_t i) { return name_of(items[i]); };
  const auto found = std::ranges::lower_bound(order, name, {}, name_at);
  if (found == order.end() || name_at(*found) != name) return nullptr;
  return &items[*found];
}

}  // namespace qualia::gguf

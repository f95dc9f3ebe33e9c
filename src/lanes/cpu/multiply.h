// How the threads of a step share the products of one input (see step.h).
// Thread-safety: called by all threads of a step.
#pragma once

#include <algorithm>
#include <atomic>

#include "lanes/cpu/step.h"

namespace qualia::lanes::cpu {

// From here on a product takes long enough (tens of microseconds) for a shared counter to pay: a
// thread that another process holds up then delays the others by one piece only.
inline constexpr size_t kSharedCounterRows = 8;
inline constexpr size_t kPiecesPerThread = 8;
// Tiles pay from so many panels a call on (product_int8_amx.cpp).
inline constexpr size_t kPiecePanels = 4;

template <typename Finish>
void multiply_panels(size_t row_count, const Activations& input, std::span<const Product> products,
                     Range wanted, const Finish& finish) {
  size_t first = 0;
  for (const Product& product : products) {
    const size_t count = product.weight->panel_count();
    const Range panels{std::max(wanted.begin, first), std::min(wanted.end, first + count)};
    if (panels.begin < panels.end) {
      const Range own{panels.begin - first, panels.end - first};
      product.weight->multiply(input, row_count, product.y, product.weight->rows(), own.begin,
                               own.end);
      finish(product, own);
    }
    first += count;
  }
}

// Calls body(range) over ranges of `count` units that together cover all of them, on all threads.
template <typename Body>
void share_units(Step& step, size_t thread, size_t count, const Body& body) {
  const size_t phase = step.work.threads[thread].phase++;
  if (step.team.size() == 1 || step.row_count() < kSharedCounterRows) {
    const Range mine = step.work.shares.part(count, thread);
    if (mine.size() > 0) body(mine);
    return;
  }
  const size_t threads = step.team.size();
  const size_t pieces =
      std::clamp(count / kPiecePanels, std::min(count, threads), kPiecesPerThread * threads);
  std::atomic<uint32_t>& ticket = step.work.tickets[phase];
  for (size_t piece = ticket.fetch_add(1, std::memory_order_relaxed); piece < pieces;
       piece = ticket.fetch_add(1, std::memory_order_relaxed)) {
    body(part_of(count, piece, pieces));
  }
}

template <typename Finish>
void multiply(Step& step, size_t thread, const Activations& input,
              std::span<const Product> products, const Finish& finish) {
  size_t panel_count = 0;
  for (const Product& product : products) panel_count += product.weight->panel_count();
  share_units(step, thread, panel_count, [&](const Range& panels) {
    multiply_panels(step.row_count(), input, products, panels, finish);
  });
}

}  // namespace qualia::lanes::cpu

// PagePool: which KV pages are free, and how many sequences hold each of the others.
// Thread-safety: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanes/lane.h"

namespace qualia::engine {

using lanes::PageId;

class PagePool {
 public:
  explicit PagePool(uint32_t capacity) : capacity_(capacity) {}

  // A page held once, the lowest free id first, so that a lane that grows its pages grows little;
  // nullopt: all are held.
  std::optional<PageId> take();
  void share(PageId page);    // one holder more
  void release(PageId page);  // one holder less; free at zero

  bool is_shared(PageId page) const { return holders_[page] > 1; }
  uint32_t capacity() const { return capacity_; }
  uint32_t free_count() const { return capacity_ - held_count_; }

 private:
  uint32_t capacity_;
  uint32_t held_count_ = 0;
  std::vector<uint32_t> holders_;  // by page id, as far as ids were ever used
  std::vector<PageId> freed_;      // a heap, lowest id on top
};

}  // namespace qualia::engine

#include "engine/page_pool.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace qualia::engine {

std::optional<PageId> PagePool::take() {
  PageId page = 0;
  if (!freed_.empty()) {
    std::ranges::pop_heap(freed_, std::greater{});
    page = freed_.back();
    freed_.pop_back();
  } else if (holders_.size() < capacity_) {
    page = static_cast<PageId>(holders_.size());
    holders_.push_back(0);
  } else {
    return std::nullopt;
  }
  holders_[page] = 1;
  ++held_count_;
  return page;
}

void PagePool::share(PageId page) {
  QUALIA_CHECK(page < holders_.size() && holders_[page] > 0);
  ++holders_[page];
}

void PagePool::release(PageId page) {
  QUALIA_CHECK(page < holders_.size() && holders_[page] > 0);
  if (--holders_[page] > 0) return;
  --held_count_;
  freed_.push_back(page);
  std::ranges::push_heap(freed_, std::greater{});
}

}  // namespace qualia::engine

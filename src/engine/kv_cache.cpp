#include "engine/kv_cache.h"

#include <algorithm>

#include "base/error.h"

namespace qualia::engine {
namespace {

using lanes::kPagePositions;

size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<size_t>(end - a.begin());
}

size_t pages_for(size_t positions) { return (positions + kPagePositions - 1) / kPagePositions; }

}  // namespace

KvCache::Handle KvCache::begin(std::span<const TokenId> prompt) {
  const auto usable = prompt.first(prompt.empty() ? 0 : prompt.size() - 1);
  auto best = sequences_.end();
  size_t best_length = 0;
  for (auto it = sequences_.begin(); it != sequences_.end(); ++it) {
    const size_t length = common_prefix(it->tokens, usable);
    if (length > best_length) {
      best = it;
      best_length = length;
    }
  }
  const Handle sequence = sequences_.insert(sequences_.end(), Sequence{});
  if (best_length == 0) return sequence;
  // The donor was used: it moves to the recently used end, before the new one.
  sequences_.splice(sequence, sequences_, best);
  sequence->tokens.assign(usable.begin(), usable.begin() + static_cast<ptrdiff_t>(best_length));
  const auto shared_end = best->pages.begin() + static_cast<ptrdiff_t>(pages_for(best_length));
  sequence->pages.assign(best->pages.begin(), shared_end);
  for (const PageId page : sequence->pages) pool_.share(page);
  return sequence;
}

Result<void> KvCache::make_room(Handle sequence, uint32_t count) {
  const size_t length = sequence->tokens.size();
  if (count > 0 && length % kPagePositions != 0) QUALIA_TRY(unshare_last(sequence));
  const size_t pages_before = sequence->pages.size();
  while (sequence->pages.size() < pages_for(length + count)) {
    if (auto added = add_page(sequence); !added) {
      release_pages_behind(*sequence, pages_before);
      return added;
    }
  }
  return {};
}

void KvCache::append(Handle sequence, std::span<const TokenId> tokens) {
  sequence->tokens.insert(sequence->tokens.end(), tokens.begin(), tokens.end());
  QUALIA_CHECK(sequence->pages.size() >= pages_for(sequence->tokens.size()));
}

void KvCache::truncate(Handle sequence, uint32_t length) {
  if (length >= sequence->tokens.size()) return;
  sequence->tokens.resize(length);
  release_pages_behind(*sequence, pages_for(length));
}

void KvCache::make_idle(Handle sequence) {
  // An idle sequence is of use only if no other one begins with all of it. Without this, prompts
  // that come again and again would fill the list without ever holding a page of their own.
  const auto is_within = [](const Sequence& inner, const Sequence& outer) {
    return common_prefix(inner.tokens, outer.tokens) == inner.tokens.size();
  };
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const Handle other = it++;
    if (other == sequence) continue;
    if (is_within(*sequence, *other)) return drop(sequence);
    if (other->is_idle && is_within(*other, *sequence)) drop(other);
  }
  sequence->is_idle = true;
  sequences_.splice(sequences_.end(), sequences_, sequence);
  // Room that was made but never filled goes back.
  release_pages_behind(*sequence, pages_for(sequence->tokens.size()));
  if (sequence->tokens.empty()) drop(sequence);
}

void KvCache::drop(Handle sequence) {
  release_pages_behind(*sequence, 0);
  sequences_.erase(sequence);
}

void KvCache::release_pages_behind(Sequence& sequence, size_t page_count) {
  while (sequence.pages.size() > page_count) {
    pool_.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
}

Result<void> KvCache::add_page(Handle sequence) {
  QUALIA_ASSIGN(const PageId page, take_page());
  sequence->pages.push_back(page);
  return {};
}

// Idle sequences give way to a lane out of memory too: their pages exist already.
Result<PageId> KvCache::take_page() {
  for (;;) {
    const std::optional<PageId> page = pool_.take();
    if (!page) {
      if (evict_idle_page()) continue;
      return context_full("All {} pages of {} positions are in use.", pool_.capacity(),
                          kPagePositions);
    }
    auto made = make_in_lane(*page);
    if (made) return *page;
    pool_.release(*page);
    if (made.error().code != ErrorCode::out_of_memory || !evict_idle_page())
      return tl::unexpected<Error>(std::move(made).error());
  }
}

Result<void> KvCache::make_in_lane(PageId page) {
  if (page < reserved_) return {};
  QUALIA_TRY(lane_->reserve_pages(page + 1));
  reserved_ = page + 1;
  return {};
}

// The page that the next position goes to may hold another sequence's positions behind ours.
Result<void> KvCache::unshare_last(Handle sequence) {
  const size_t index = sequence->tokens.size() / kPagePositions;
  if (!pool_.is_shared(sequence->pages[index])) return {};
  const Result<PageId> copy = take_page();
  PageId& last = sequence->pages[index];
  // The search for a page may have evicted whoever shared it.
  if (!pool_.is_shared(last)) {
    if (copy) pool_.release(*copy);
    return {};
  }
  if (!copy) return tl::unexpected<Error>(copy.error());
  if (auto copied = lane_->copy_page(last, *copy); !copied) {
    pool_.release(*copy);
    return copied;
  }
  pool_.release(last);
  last = *copy;
  return {};
}

bool KvCache::evict_idle_page() {
  const auto idle = std::ranges::find(sequences_, true, &Sequence::is_idle);
  if (idle == sequences_.end()) return false;
  const size_t kept_pages = idle->pages.size() - 1;
  release_pages_behind(*idle, kept_pages);
  idle->tokens.resize(kept_pages * kPagePositions);
  if (kept_pages == 0) sequences_.erase(idle);
  return true;
}

}  // namespace qualia::engine

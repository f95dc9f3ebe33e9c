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

Result<KvCache::Handle> KvCache::begin(std::span<const TokenId> prompt) {
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
  while (sequence->pages.size() < pages_for(length + count)) QUALIA_TRY(add_page(sequence));
  return {};
}

void KvCache::append(Handle sequence, std::span<const TokenId> tokens) {
  sequence->tokens.insert(sequence->tokens.end(), tokens.begin(), tokens.end());
  QUALIA_CHECK(sequence->pages.size() >= pages_for(sequence->tokens.size()));
}

void KvCache::truncate(Handle sequence, uint32_t length) {
  if (length >= sequence->tokens.size()) return;
  sequence->tokens.resize(length);
  const size_t keep = pages_for(length);
  for (size_t i = keep; i < sequence->pages.size(); ++i) pool_.release(sequence->pages[i]);
  sequence->pages.resize(keep);
}

void KvCache::make_idle(Handle sequence) {
  if (sequence->tokens.empty()) return drop(sequence);
  sequence->is_idle = true;
  sequences_.splice(sequences_.end(), sequences_, sequence);
  // Room that was made but never filled goes back.
  const size_t keep = pages_for(sequence->tokens.size());
  for (size_t i = keep; i < sequence->pages.size(); ++i) pool_.release(sequence->pages[i]);
  sequence->pages.resize(keep);
}

void KvCache::drop(Handle sequence) {
  for (const PageId page : sequence->pages) pool_.release(page);
  sequences_.erase(sequence);
}

Result<void> KvCache::add_page(Handle sequence) {
  QUALIA_ASSIGN(const PageId page, take_page());
  sequence->pages.push_back(page);
  return {};
}

Result<PageId> KvCache::take_page() {
  std::optional<PageId> page = pool_.take();
  while (!page && evict_oldest_idle()) page = pool_.take();
  if (!page)
    return context_full("All {} pages of {} positions are in use.", pool_.capacity(), kPagePositions);
  if (*page >= reserved_) {
    if (auto made = lane_->reserve_pages(*page + 1); !made) {
      pool_.release(*page);
      return tl::unexpected<Error>(std::move(made).error());
    }
    reserved_ = *page + 1;
  }
  return *page;
}

// The page that the next position goes to may hold another sequence's positions behind ours.
Result<void> KvCache::unshare_last(Handle sequence) {
  PageId& last = sequence->pages[sequence->tokens.size() / kPagePositions];
  if (!pool_.is_shared(last)) return {};
  QUALIA_ASSIGN(const PageId copy, take_page());
  if (auto copied = lane_->copy_page(last, copy); !copied) {
    pool_.release(copy);
    return copied;
  }
  pool_.release(last);
  last = copy;
  return {};
}

bool KvCache::evict_oldest_idle() {
  const auto idle = std::ranges::find(sequences_, true, &Sequence::is_idle);
  if (idle == sequences_.end()) return false;
  drop(idle);
  return true;
}

}  // namespace qualia::engine

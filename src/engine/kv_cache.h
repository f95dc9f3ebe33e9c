// KvCache: which tokens have their keys and values in which pages.
// Thread-safety: one owner.
// A sequence that ended stays as an idle one, so that a later prompt with the same beginning starts
// from its pages. When pages are needed, idle sequences give theirs back page by page from their
// ends, least recently used sequence first. Whole pages are shared; a page shared in part is
// copied, so no sequence ever writes into another's page.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "engine/page_pool.h"
#include "lanes/lane.h"
#include "qualia/result.h"

namespace qualia::engine {

using lanes::TokenId;

class KvCache {
 public:
  struct Sequence {
    std::vector<TokenId> tokens;  // those whose KV is computed: position i holds tokens[i]
    std::vector<PageId> pages;    // room for tokens.size() positions or more
    bool is_idle = false;
  };
  using Handle = std::list<Sequence>::iterator;

  // `lane` outlives the cache. Pages are made in the lane as they are first needed.
  KvCache(lanes::LaneModel& lane, uint32_t page_capacity) : lane_(&lane), pool_(page_capacity) {}

  // A new sequence with as much of `prompt` as some sequence already holds, but never all of it
  // (the last token must be computed for its logits).
  Handle begin(std::span<const TokenId> prompt);

  // Makes room for `count` positions after tokens.size(), or adds no page. Errors: context_full
  // when active sequences hold all pages; out_of_memory and device_lost from the lane.
  Result<void> make_room(Handle sequence, uint32_t count);

  // Tells that the KV of `tokens` was computed at the sequence's end.
  void append(Handle sequence, std::span<const TokenId> tokens);
  // Forgets positions from `length` on.
  void truncate(Handle sequence, uint32_t length);

  void make_idle(Handle sequence);  // ended; kept for its prefix, the handle is void from here on
  void drop(Handle sequence);       // forgotten

  uint32_t free_pages() const { return pool_.free_count(); }
  size_t sequence_count() const { return sequences_.size(); }

 private:
  Result<void> add_page(Handle sequence);
  Result<PageId> take_page();
  Result<void> make_in_lane(PageId page);
  Result<void> unshare_last(Handle sequence);
  void release_pages_behind(Sequence& sequence, size_t page_count);
  bool evict_idle_page();

  lanes::LaneModel* lane_;
  PagePool pool_;
  uint32_t reserved_ = 0;          // pages that the lane has made
  std::list<Sequence> sequences_;  // least recently used first; a list keeps handles valid
};

// A sequence that is dropped with its scope, whichever way it is left.
class ScopedSequence {
 public:
  explicit ScopedSequence(KvCache& cache) : cache_(cache), sequence_(cache.begin({})) {}
  ~ScopedSequence() { cache_.drop(sequence_); }
  ScopedSequence(const ScopedSequence&) = delete;
  ScopedSequence& operator=(const ScopedSequence&) = delete;

  KvCache::Handle operator*() const { return sequence_; }

 private:
  KvCache& cache_;
  KvCache::Handle sequence_;
};

}  // namespace qualia::engine

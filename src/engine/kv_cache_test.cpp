#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "engine/fake_lane_test.h"

namespace qualia::engine {
namespace {

std::vector<TokenId> counting(size_t count, TokenId first = 0) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class KvCacheTest : public testing::Test {
 protected:
  // A sequence that holds `tokens`, as after computing them.
  KvCache::Handle filled(const std::vector<TokenId>& tokens) {
    const auto sequence = cache_.begin({});
    EXPECT_TRUE(cache_.make_room(sequence, static_cast<uint32_t>(tokens.size())).has_value());
    cache_.append(sequence, tokens);
    return sequence;
  }

  FakeLane lane_{100, 16};
  KvCache cache_{lane_, 4};
};

TEST_F(KvCacheTest, TakesPagesOnlyAsPositionsNeedThem) {
  const auto sequence = filled(counting(64));
  EXPECT_EQ(sequence->pages.size(), 1U);
  ASSERT_TRUE(cache_.make_room(sequence, 1).has_value());
  EXPECT_EQ(sequence->pages.size(), 2U);
}

TEST_F(KvCacheTest, SharesTheCommonBeginningButNeverTheWholePrompt) {
  const auto first = filled(counting(70));
  const auto second = cache_.begin(counting(70));
  EXPECT_EQ(second->tokens, counting(69));
  EXPECT_EQ(second->pages, first->pages);
  EXPECT_EQ(cache_.free_pages(), 2U);
}

TEST_F(KvCacheTest, CopiesAPageThatIsSharedInPartBeforeWriting) {
  const auto first = filled(counting(70));
  const auto second = cache_.begin(counting(75));
  ASSERT_TRUE(cache_.make_room(second, 5).has_value());
  EXPECT_EQ(second->pages[0], first->pages[0]);
  EXPECT_NE(second->pages[1], first->pages[1]);
  EXPECT_EQ(lane_.copies, 1U);
}

TEST_F(KvCacheTest, CopiesForTheDonorTooWhenItGoesOn) {
  const auto first = filled(counting(70));
  const auto second = cache_.begin(counting(75));
  const auto page_before = second->pages[1];
  ASSERT_TRUE(cache_.make_room(first, 1).has_value());
  EXPECT_NE(first->pages[1], page_before);
  EXPECT_EQ(second->pages[1], page_before);
}

TEST_F(KvCacheTest, EvictsTheLeastRecentlyUsedIdleSequence) {
  const auto old_one = filled(counting(64, 1000));
  const auto new_one = filled(counting(128, 2000));
  cache_.make_idle(old_one);
  cache_.make_idle(new_one);
  filled(counting(128, 3000));  // needs a page of an idle one
  EXPECT_TRUE(cache_.begin(counting(64, 1000))->tokens.empty());
  EXPECT_EQ(cache_.begin(counting(128, 2000))->tokens.size(), 127U);
}

TEST_F(KvCacheTest, TakesPagesFromTheEndOfAnIdleSequenceAndKeepsItsBeginning) {
  cache_.make_idle(filled(counting(256)));
  filled(counting(64, 1000));
  EXPECT_EQ(cache_.begin(counting(256))->tokens.size(), 192U);
}

TEST_F(KvCacheTest, NeedsNoCopyOnceTheSharerIsEvicted) {
  const auto donor = filled(counting(250));
  const auto sequence = cache_.begin(counting(250));
  cache_.make_idle(donor);
  ASSERT_TRUE(cache_.make_room(sequence, 7).has_value());
  EXPECT_EQ(sequence->pages.size(), 4U);
  EXPECT_EQ(lane_.copies, 0U);
}

TEST_F(KvCacheTest, KeepsNoIdleSequenceThatIsTheBeginningOfAnother) {
  for (size_t length = 10; length < 100; ++length) {
    const std::vector<TokenId> tokens = counting(length);
    const auto sequence = cache_.begin(tokens);
    const auto rest = std::span(tokens).subspan(sequence->tokens.size());
    ASSERT_TRUE(cache_.make_room(sequence, static_cast<uint32_t>(rest.size())).has_value());
    cache_.append(sequence, rest);
    cache_.make_idle(sequence);
    EXPECT_EQ(cache_.sequence_count(), 1U);
  }
  cache_.make_idle(cache_.begin(counting(50)));
  EXPECT_EQ(cache_.sequence_count(), 1U);
}

TEST_F(KvCacheTest, AddsNoPageWhereNotAllOfThemCanBeHad) {
  const auto first = filled(counting(192));
  const auto second = cache_.begin({});
  EXPECT_FALSE(cache_.make_room(second, 65).has_value());
  EXPECT_EQ(cache_.free_pages(), 1U);
  EXPECT_EQ(first->pages.size(), 3U);
}

TEST_F(KvCacheTest, SaysSoWhenActiveSequencesHoldEveryPage) {
  const auto first = filled(counting(256));
  const auto second = cache_.begin({});
  const auto room = cache_.make_room(second, 1);
  ASSERT_FALSE(room.has_value());
  EXPECT_EQ(room.error().code, ErrorCode::context_full);
  cache_.drop(first);
  EXPECT_TRUE(cache_.make_room(second, 1).has_value());
}

TEST_F(KvCacheTest, PassesOnThatTheLaneIsOutOfMemory) {
  lane_.page_limit = 1;
  const auto sequence = cache_.begin({});
  EXPECT_EQ(cache_.make_room(sequence, 65).error().code, ErrorCode::out_of_memory);
  cache_.drop(sequence);
  EXPECT_EQ(cache_.free_pages(), 4U);
}

TEST_F(KvCacheTest, TakesIdlePagesWhenTheLaneCanMakeNoMore) {
  lane_.page_limit = 1;
  cache_.make_idle(filled(counting(64, 1000)));
  EXPECT_TRUE(cache_.make_room(cache_.begin({}), 64).has_value());
}

TEST_F(KvCacheTest, TruncatesToAPositionWithinAPage) {
  const auto sequence = filled(counting(150));
  cache_.truncate(sequence, 65);
  EXPECT_EQ(sequence->pages.size(), 2U);
  EXPECT_EQ(sequence->tokens, counting(65));
}

TEST_F(KvCacheTest, LosesNoPageInAnyOrderOfCalls) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  std::vector<KvCache::Handle> active;
  for (int i = 0; i < 2000; ++i) {
    if (active.size() < 3 && below(2) == 0) {
      active.push_back(cache_.begin(counting(1 + below(150))));
      continue;
    }
    if (active.empty()) continue;
    const size_t index = below(static_cast<uint32_t>(active.size()));
    const auto sequence = active[index];
    const auto length = static_cast<uint32_t>(sequence->tokens.size());
    switch (below(4)) {
      case 0:
        if (const uint32_t more = 1 + below(60); cache_.make_room(sequence, more))
          cache_.append(sequence, counting(more, static_cast<TokenId>(length)));
        continue;
      case 1:
        cache_.truncate(sequence, below(length + 1));
        continue;
      case 2:
        cache_.make_idle(sequence);
        break;
      default:
        cache_.drop(sequence);
        break;
    }
    active.erase(active.begin() + static_cast<ptrdiff_t>(index));
  }
  for (const auto sequence : active) cache_.drop(sequence);
  // Whatever is idle gives way: one sequence can have every page.
  EXPECT_TRUE(cache_.make_room(cache_.begin({}), 256).has_value());
}

}  // namespace
}  // namespace qualia::engine

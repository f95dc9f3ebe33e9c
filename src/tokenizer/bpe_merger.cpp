#include "tokenizer/bpe_merger.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/error.h"
#include "tokenizer/byte_letters.h"

namespace qualia::tokenizer {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Links are indexed by 32 bits; a longer word (a gigabyte without a break) is merged in slices.
constexpr size_t kSliceBytes = size_t{1} << 30;

uint64_t pair_of(uint32_t left, uint32_t right) { return (uint64_t{left} << 32) | right; }

// Fibonacci hashing: the product's upper bits depend on all bits of the pair.
size_t slot_of(uint64_t pair, size_t table_size) {
  const uint64_t product = (pair ^ (pair >> 29)) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(product >> 20) & (table_size - 1);
}

// Order of a heap whose top is the best rank, leftmost first.
bool worse(const BpeMerger::Candidate& a, const BpeMerger::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Result<BpeMerger> BpeMerger::create(std::span<const std::string_view> token_bytes,
                                    std::span<const std::string> merges) {
  BpeMerger merger;
  merger.token_count_ = token_bytes.size();
  merger.symbols_.reserve(token_bytes.size());
  for (size_t id = 0; id < token_bytes.size(); ++id) {
    if (!token_bytes[id].empty()) {
      merger.symbols_.emplace(token_bytes[id], static_cast<uint32_t>(id));
    }
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    merger.byte_token_[byte] = merger.whole(bytes);
    merger.byte_symbol_[byte] = merger.symbol_of(bytes);
  }
  QUALIA_TRY(merger.add_merges(merges));
  return merger;
}

Result<void> BpeMerger::add_merges(std::span<const std::string> merges) {
  table_.resize(std::bit_ceil(merges.size() * 2 + 1));
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return corrupt_file("Merge {} is not two pieces with a space between them.", rank);
    }
    const std::optional<std::string> left = bytes_of_letters(merge.substr(0, space));
    const std::optional<std::string> right = bytes_of_letters(merge.substr(space + 1));
    // A piece with other characters can't arise from bytes, so its merges never apply.
    if (!left || !right) continue;
    const uint64_t pair = pair_of(symbol_of(*left), symbol_of(*right));
    insert({pair, static_cast<uint32_t>(rank), symbol_of(*left + *right)});
  }
  return {};
}

uint32_t BpeMerger::symbol_of(std::string bytes) {
  const auto found = symbols_.find(bytes);
  if (found != symbols_.end()) return found->second;
  const auto symbol = static_cast<uint32_t>(token_count_ + extra_.size());
  extra_.push_back(std::make_unique<const std::string>(std::move(bytes)));
  symbols_.emplace(*extra_.back(), symbol);
  return symbol;
}

void BpeMerger::insert(const Merge& merge) {
  size_t slot = slot_of(merge.pair, table_.size());
  while (table_[slot].pair != kNoPair) {
    if (table_[slot].pair == merge.pair) return;  // named twice: the better rank stays
    slot = (slot + 1) & (table_.size() - 1);
  }
  table_[slot] = merge;
}

const BpeMerger::Merge* BpeMerger::find(uint32_t left, uint32_t right) const {
  const uint64_t pair = pair_of(left, right);
  size_t slot = slot_of(pair, table_.size());
  while (table_[slot].pair != kNoPair) {
    if (table_[slot].pair == pair) return &table_[slot];
    slot = (slot + 1) & (table_.size() - 1);
  }
  return nullptr;
}

std::optional<TokenId> BpeMerger::whole(std::string_view bytes) const {
  const auto found = symbols_.find(bytes);
  if (found == symbols_.end() || found->second >= token_count_) return std::nullopt;
  return static_cast<TokenId>(found->second);
}

void BpeMerger::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const {
  for (size_t at = 0; at < word.size(); at += kSliceBytes) {
    encode_slice(word.substr(at, kSliceBytes), scratch, ids);
  }
}

void BpeMerger::push_candidate(uint32_t left, Scratch& scratch) const {
  if (left == kNone || scratch.links[left].next == kNone) return;
  const uint32_t first = scratch.links[left].symbol;
  const uint32_t second = scratch.links[scratch.links[left].next].symbol;
  const Merge* merge = find(first, second);
  if (merge == nullptr) return;
  scratch.heap.push_back({merge->rank, left, {first, second}});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), worse);
}

// Applies the best-ranked merge until none is left. The word is a linked list; a heap holds the
// pairs that could merge, among them stale ones, which are recognised when they come up.
void BpeMerger::encode_slice(std::string_view word, Scratch& scratch,
                             std::vector<TokenId>& ids) const {
  std::vector<Link>& links = scratch.links;
  links.resize(word.size());
  scratch.heap.clear();
  for (uint32_t i = 0; i < word.size(); ++i) {
    links[i] = {byte_symbol_[static_cast<uint8_t>(word[i])], i == 0 ? kNone : i - 1,
                i + 1 == word.size() ? kNone : i + 1};
  }
  for (uint32_t i = 0; i < word.size(); ++i) push_candidate(i, scratch);

  while (!scratch.heap.empty()) {
    const Candidate best = scratch.heap.front();
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), worse);
    scratch.heap.pop_back();
    Link& left = links[best.left];
    if (left.symbol != best.symbols[0] || left.next == kNone) continue;
    Link& right = links[left.next];
    if (right.symbol != best.symbols[1]) continue;

    left.symbol = find(best.symbols[0], best.symbols[1])->symbol;
    right.symbol = kNone;
    left.next = right.next;
    if (left.next != kNone) links[left.next].previous = best.left;
    push_candidate(left.previous, scratch);
    push_candidate(best.left, scratch);
  }
  for (uint32_t i = 0; i != kNone; i = links[i].next) append(links[i].symbol, ids);
}

void BpeMerger::append(uint32_t symbol, std::vector<TokenId>& ids) const {
  if (symbol < token_count_) {
    ids.push_back(static_cast<TokenId>(symbol));
    return;
  }
  for (const char byte : *extra_[symbol - token_count_]) {
    const std::optional<TokenId> id = byte_token_[static_cast<uint8_t>(byte)];
    if (id) ids.push_back(*id);
  }
}

}  // namespace qualia::tokenizer

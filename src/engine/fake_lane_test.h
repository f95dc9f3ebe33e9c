// A lane for the engine's tests whose "keys and values" are the tokens themselves: what it answers
// depends on every token that the page table leads to, so a wrong page, a stale copy or a skipped
// row changes the answer.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "lanes/lane.h"

namespace qualia::engine {

class FakeLane : public lanes::LaneModel {
 public:
  explicit FakeLane(uint32_t vocabulary, uint32_t batch_rows) : vocabulary_(vocabulary) {
    resident_.batch_rows = batch_rows;
    resident_.kv_page_bytes = sizeof(Page);
    resident_.step_weight_bytes = 1000;
  }

  // The answer after `tokens`: a sum that every position takes part in.
  static lanes::TokenId answer(const std::vector<lanes::TokenId>& tokens, uint32_t vocabulary) {
    uint64_t sum = 7;
    for (const lanes::TokenId token : tokens) sum = sum * 31 + static_cast<uint64_t>(token) + 1;
    return static_cast<lanes::TokenId>(sum % vocabulary);
  }

  const lanes::ResidentReport& resident() const override { return resident_; }

  Result<void> reserve_pages(uint32_t page_count) override {
    if (page_count > page_limit) return out_of_memory("The fake lane has {} pages.", page_limit);
    if (pages_.size() < page_count) pages_.resize(page_count);
    return {};
  }

  Result<void> copy_page(lanes::PageId from, lanes::PageId to) override {
    pages_.at(to) = pages_.at(from);
    ++copies;
    return {};
  }

  Result<lanes::StepTicket> submit(const lanes::Batch& batch) override {
    ++steps;
    if (fail_next) {
      fail_next = false;
      return device_lost("The fake device is gone.");
    }
    output_ = {};
    largest_batch = std::max(largest_batch, batch.rows.size());
    rows += batch.rows.size();
    for (const lanes::Row& row : batch.rows) {
      const auto pages = batch.sequences[row.sequence].pages;
      pages_.at(pages[row.position / lanes::kPagePositions])[row.position % lanes::kPagePositions] =
          row.token;
      if (row.output != lanes::RowOutputKind::none)
        output_.rows.push_back(compute(row, pages, batch.top_k));
    }
    return ++ticket_;
  }

  Result<lanes::StepOutput> collect(lanes::StepTicket) override { return std::move(output_); }

  uint32_t page_limit = std::numeric_limits<uint32_t>::max();
  std::optional<lanes::TokenId> poison;  // a sequence that holds it has NaN logits
  bool fail_next = false;
  size_t copies = 0;
  size_t steps = 0;
  size_t rows = 0;
  size_t largest_batch = 0;

 private:
  using Page = std::array<lanes::TokenId, lanes::kPagePositions>;

  lanes::RowOutput compute(const lanes::Row& row, std::span<const lanes::PageId> pages,
                           uint32_t top_k) {
    std::vector<lanes::TokenId> tokens;
    for (uint32_t i = 0; i <= row.position; ++i)
      tokens.push_back(pages_.at(pages[i / lanes::kPagePositions])[i % lanes::kPagePositions]);
    lanes::RowOutput output;
    output.is_finite = !poison || std::ranges::find(tokens, *poison) == tokens.end();
    output.argmax = answer(tokens, vocabulary_);
    std::vector<float> logits(vocabulary_);
    for (uint32_t i = 0; i < vocabulary_; ++i)
      logits[i] = -static_cast<float>((i + vocabulary_ - static_cast<uint32_t>(output.argmax)) %
                                      vocabulary_);
    if (row.output == lanes::RowOutputKind::logits) output.logits = logits;
    if (row.output == lanes::RowOutputKind::top_k)
      for (uint32_t i = 0; i < std::min(top_k, vocabulary_); ++i) {
        const uint32_t id = (static_cast<uint32_t>(output.argmax) + i) % vocabulary_;
        output.top.push_back({static_cast<lanes::TokenId>(id), logits[id]});
      }
    return output;
  }

  uint32_t vocabulary_;
  lanes::ResidentReport resident_;
  std::vector<Page> pages_;
  lanes::StepOutput output_;
  lanes::StepTicket ticket_ = 0;
};

}  // namespace qualia::engine

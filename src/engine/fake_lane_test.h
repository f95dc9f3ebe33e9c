// A lane for the engine's tests whose "keys and values" are the tokens themselves: what it answers
// depends on every token that the page table leads to, so a wrong page, a stale copy or a skipped
// row changes the answer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <utility>
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
    EXPECT_TRUE(queued_.empty()) << "A queued step may write to what is copied.";
    pages_.at(to) = pages_.at(from);
    ++copies;
    return {};
  }

  Result<lanes::StepTicket> submit(const lanes::Batch& batch) override {
    ++steps;
    if (fail_submit_of == steps) return device_lost("The fake device is gone.");
    if (fail_next) {
      fail_next = false;
      return device_lost("The fake device is gone.");
    }
    Step step{.ticket = ++ticket_,
              .number = steps,
              .rows = {batch.rows.begin(), batch.rows.end()},
              .tables = {},
              .top_k = batch.top_k};
    for (const lanes::SequenceView& view : batch.sequences)
      step.tables.emplace_back(view.pages.begin(), view.pages.end());
    if (!queued_.empty()) expect_follows(step, queued_.back());
    largest_batch = std::max(largest_batch, batch.rows.size());
    rows += batch.rows.size();
    queued_.push_back(std::move(step));
    queued_max = std::max(queued_max, queued_.size());
    return ticket_;
  }

  // Computes only now, so that what happens to the pages in between shows.
  Result<lanes::StepOutput> collect(lanes::StepTicket ticket) override {
    if (queued_.empty() || queued_.front().ticket != ticket) {
      ADD_FAILURE() << "Ticket " << ticket << " is not the next.";
      return internal("Ticket {} is not the next.", ticket);
    }
    const Step step = std::move(queued_.front());
    queued_.pop_front();
    const bool is_fed = step.rows.front().feedback != lanes::kNoFeedback;
    has_failed_ = fail_collect_of == step.number || (has_failed_ && is_fed);
    if (has_failed_) return device_lost("The fake device is gone.");
    return run(step);
  }

  // Records 10 ns of attention for each row.
  Result<void> set_profiling(const lanes::ProfileOptions& options) override {
    if (options.is_on && !has_clock) return unsupported("The fake lane has no clock.");
    is_recorded = options.is_on;
    recorder_.reset();
    return {};
  }
  Result<lanes::ProfileReading> profile() override {
    return lanes::ProfileReading{recorder_.snapshot(), "each row"};
  }

  uint32_t page_limit = std::numeric_limits<uint32_t>::max();
  std::optional<lanes::TokenId> poison;  // a sequence that holds it has NaN logits
  bool fail_next = false;
  std::optional<size_t> fail_submit_of;   // number of a step, from 1
  std::optional<size_t> fail_collect_of;  // likewise; those fed by it fail too
  bool has_clock = true;
  bool is_recorded = false;
  size_t copies = 0;
  size_t steps = 0;
  size_t rows = 0;
  size_t largest_batch = 0;
  size_t queued_max = 0;  // steps submitted and not collected

  size_t queued_count() const { return queued_.size(); }
  void set_computes_in_submit() { resident_.computes_in_submit = true; }

 private:
  using Page = std::array<lanes::TokenId, lanes::kPagePositions>;
  struct Step {
    lanes::StepTicket ticket;
    size_t number;
    std::vector<lanes::Row> rows;
    std::vector<std::vector<lanes::PageId>> tables;
    uint32_t top_k;
  };

  // A step that is queued behind another goes on with the same sequences, each a position further.
  static void expect_follows(const Step& step, const Step& before) {
    ASSERT_EQ(step.tables.size(), before.tables.size());
    ASSERT_EQ(step.rows.size(), step.tables.size());
    for (uint32_t i = 0; i < step.rows.size(); ++i) {
      const auto last =
          std::ranges::find(before.rows.rbegin(), before.rows.rend(), i, &lanes::Row::sequence);
      EXPECT_EQ(step.rows[i].feedback, i);
      EXPECT_EQ(step.rows[i].position, last->position + 1);
      ASSERT_GE(step.tables[i].size(), before.tables[i].size());
      EXPECT_TRUE(std::ranges::equal(before.tables[i],
                                     std::span(step.tables[i]).first(before.tables[i].size())));
    }
  }

  lanes::StepOutput run(const Step& step) {
    if (is_recorded) {
      const uint32_t op = recorder_.op("attend", Phase::attention);
      for (size_t i = 0; i < step.rows.size(); ++i) recorder_.add(op, 100 + 10 * i, 110 + 10 * i);
      recorder_.end_step();
    }
    lanes::StepOutput output;
    for (const lanes::Row& row : step.rows) {
      const std::span<const lanes::PageId> pages = step.tables[row.sequence];
      pages_.at(pages[row.position / lanes::kPagePositions])[row.position % lanes::kPagePositions] =
          row.feedback == lanes::kNoFeedback ? row.token : chosen_.at(row.feedback);
      if (row.output != lanes::RowOutputKind::none)
        output.rows.push_back(compute(row, pages, step.top_k));
    }
    chosen_.clear();
    for (const lanes::RowOutput& row : output.rows) chosen_.push_back(row.argmax);
    return output;
  }

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
  std::deque<Step> queued_;
  std::vector<lanes::TokenId> chosen_;  // by the step that ran last
  bool has_failed_ = false;             // the step that was collected last
  lanes::StepTicket ticket_ = 0;
  profile::Recorder recorder_;
};

}  // namespace qualia::engine

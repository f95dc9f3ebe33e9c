#include "lanes/step_queue.h"

#include "base/error.h"
#include "hardware/memory.h"

namespace qualia::lanes {

void check_batch(const Batch& batch, uint32_t page_count, uint32_t vocabulary_size,
                 size_t previous_outputs) {
  for (const Row& row : batch.rows) {
    QUALIA_CHECK(row.sequence < batch.sequences.size());
    const std::span<const PageId> pages = batch.sequences[row.sequence].pages;
    QUALIA_CHECK(row.position / kPagePositions < pages.size());
    if (row.feedback == kNoFeedback) {
      QUALIA_CHECK(row.token >= 0 && static_cast<uint32_t>(row.token) < vocabulary_size);
    } else {
      QUALIA_CHECK(row.feedback < previous_outputs);
    }
  }
  for (const SequenceView& sequence : batch.sequences) {
    for (const PageId page : sequence.pages) QUALIA_CHECK(page < page_count);
  }
}

TokenId StepQueue::token_of(const Row& row) const {
  return row.feedback == kNoFeedback ? row.token : previous_argmax_[row.feedback];
}

StepTicket StepQueue::push(StepOutput output) {
  std::vector<TokenId> argmax(output.rows.size());
  for (size_t i = 0; i < argmax.size(); ++i) argmax[i] = output.rows[i].argmax;
  done_.emplace_back(next_ticket_, std::move(output));
  previous_argmax_ = std::move(argmax);
  return next_ticket_++;
}

StepOutput StepQueue::take(StepTicket ticket) {
  QUALIA_CHECK(!done_.empty() && done_.front().first == ticket);
  StepOutput output = std::move(done_.front().second);
  done_.pop_front();
  return output;
}

tl::unexpected<Error> no_room_for_step(const Batch& batch) {
  return out_of_memory("A step of {} rows does not fit in memory ({} bytes are available).",
                       batch.rows.size(), hardware::available_memory_bytes().value_or(0));
}

}  // namespace qualia::lanes

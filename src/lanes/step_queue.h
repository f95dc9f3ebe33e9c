// What lanes that compute a step inside submit() share: the checks of a batch, and the finished
// steps that wait for collect().
// Thread-safety: one owner.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "lanes/lane.h"

namespace qualia::lanes {

// Stops the program where a batch breaks its contract: rows name sequences, pages, tokens and
// outputs of the previous step that there are.
void check_batch(const Batch& batch, uint32_t page_count, uint32_t vocabulary_size,
                 size_t previous_outputs);

class StepQueue {
 public:
  void check(const Batch& batch, uint32_t page_count, uint32_t vocabulary_size) const {
    check_batch(batch, page_count, vocabulary_size, previous_argmax_.size());
  }

  // The row's own token, or the one that the previous step chose.
  TokenId token_of(const Row& row) const;

  // Throws std::bad_alloc, and is then unchanged.
  StepTicket push(StepOutput output);
  // REQUIRES: tickets are taken in order.
  StepOutput take(StepTicket ticket);

 private:
  std::vector<TokenId> previous_argmax_;  // of the previous step's outputs, for feedback
  std::deque<std::pair<StepTicket, StepOutput>> done_;
  StepTicket next_ticket_ = 1;
};

// "A step of N rows does not fit in memory (M bytes are available)."
tl::unexpected<Error> no_room_for_step(const Batch& batch);

}  // namespace qualia::lanes

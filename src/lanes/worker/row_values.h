// The numbers of a step's outputs as one run of bytes: row by row its best entries (token, logit),
// then its logits. They lie in a shared block, or at the end of the Output when they are few.
// Thread-safety: pure.
// Errors: internal where heads and bytes contradict each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanes/worker/messages.h"

namespace qualia::lanes::worker {

// Upper bound of what `batch` can ask for.
uint64_t row_values_bytes_max(const Batch& batch, uint32_t vocabulary_size);

std::vector<RowHead> heads_of(const StepOutput& output);
uint64_t row_values_bytes(std::span<const RowHead> heads);

// REQUIRES: `into` has row_values_bytes(heads_of(output)) bytes.
void write_row_values(const StepOutput& output, std::span<std::byte> into);

// Refuses an argmax outside the vocabulary and rows longer than it.
Result<StepOutput> read_row_values(std::span<const RowHead> heads, std::span<const std::byte> from,
                                   uint32_t vocabulary_size);

}  // namespace qualia::lanes::worker

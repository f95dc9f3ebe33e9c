#include "lanes/worker/row_values.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace qualia::lanes::worker {

static_assert(sizeof(TokenLogit) == 8 && std::is_trivially_copyable_v<TokenLogit>);

uint64_t row_values_bytes_max(const Batch& batch, uint32_t vocabulary_size) {
  const uint64_t top_bytes = std::min(batch.top_k, vocabulary_size) * uint64_t{sizeof(TokenLogit)};
  const uint64_t logits_bytes = vocabulary_size * uint64_t{sizeof(float)};
  uint64_t total = 0;
  for (const Row& row : batch.rows) {
    if (row.output == RowOutputKind::top_k) total += top_bytes;
    if (row.output == RowOutputKind::logits) total += logits_bytes;
  }
  return total;
}

std::vector<RowHead> heads_of(const StepOutput& output) {
  std::vector<RowHead> heads;
  heads.reserve(output.rows.size());
  for (const RowOutput& row : output.rows) {
    heads.push_back({row.is_finite, row.argmax, static_cast<uint32_t>(row.top.size()),
                     static_cast<uint32_t>(row.logits.size())});
  }
  return heads;
}

uint64_t row_values_bytes(std::span<const RowHead> heads) {
  uint64_t total = 0;
  for (const RowHead& head : heads) {
    total +=
        head.top_count * uint64_t{sizeof(TokenLogit)} + head.logit_count * uint64_t{sizeof(float)};
  }
  return total;
}

void write_row_values(const StepOutput& output, std::span<std::byte> into) {
  const auto put = [&](const auto& values) {
    if (values.empty()) return;
    const auto bytes = std::as_bytes(std::span(values));
    std::memcpy(into.data(), bytes.data(), bytes.size());
    into = into.subspan(bytes.size());
  };
  for (const RowOutput& row : output.rows) {
    put(row.top);
    put(row.logits);
  }
}

Result<StepOutput> read_row_values(std::span<const RowHead> heads, std::span<const std::byte> from,
                                   uint32_t vocabulary_size) {
  const uint64_t needed = row_values_bytes(heads);
  if (needed > from.size()) {
    return internal("The values of {} rows have {} bytes ({} are needed).", heads.size(),
                    from.size(), needed);
  }
  const auto take = [&](auto& values, size_t count) {
    values.resize(count);
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (!bytes.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
    from = from.subspan(bytes.size());
  };
  StepOutput output;
  output.rows.resize(heads.size());
  for (size_t i = 0; i < heads.size(); ++i) {
    const RowHead& head = heads[i];
    const uint32_t longest = std::max(head.top_count, head.logit_count);
    if (longest > vocabulary_size || static_cast<uint32_t>(head.argmax) >= vocabulary_size) {
      return internal("A row chooses {} and has {} values (the vocabulary has {}).", head.argmax,
                      longest, vocabulary_size);
    }
    RowOutput& row = output.rows[i];
    row.is_finite = head.is_finite;
    row.argmax = head.argmax;
    take(row.top, head.top_count);
    take(row.logits, head.logit_count);
  }
  return output;
}

}  // namespace qualia::lanes::worker

#include "engine/speed_run.h"

#include <chrono>
#include <utility>

#include "base/error.h"

namespace qualia::engine {
namespace {

using lanes::Row;
using lanes::RowOutputKind;

// Turns the recording of a lane off when it goes.
class RecordingEnd {
 public:
  explicit RecordingEnd(lanes::LaneModel& lane) : lane_(lane) {}
  RecordingEnd(const RecordingEnd&) = delete;
  RecordingEnd& operator=(const RecordingEnd&) = delete;
  ~RecordingEnd() { (void)lane_.set_profiling({}); }

 private:
  lanes::LaneModel& lane_;
};

}  // namespace

Result<double> SpeedRun::prefill_seconds(uint32_t count) {
  return timed(1, [&](Sequences& sequences) {
    return feed(*sequences.front(), count, RowOutputKind::argmax);
  });
}

Result<double> SpeedRun::decode_seconds(uint32_t count, uint32_t sequence_count) {
  return timed(sequence_count, [&](Sequences& sequences) { return decode(sequences, count); });
}

Result<double> SpeedRun::reply_seconds(uint32_t prompt_tokens, uint32_t generated_tokens) {
  return timed(1, [&](Sequences& sequences) -> Result<void> {
    QUALIA_TRY(feed(*sequences.front(), prompt_tokens, RowOutputKind::argmax));
    return decode(sequences, generated_tokens);
  });
}

Result<double> SpeedRun::timed(uint32_t sequence_count, const Body& body) {
  Sequences sequences;
  for (uint32_t i = 0; i < sequence_count; ++i) {
    sequences.emplace_back(engine_.cache());
    QUALIA_TRY(feed(*sequences.back(), depth_, RowOutputKind::none));
  }
  if (profiling_.is_on) return recorded(sequences, body);
  const auto start = std::chrono::steady_clock::now();
  QUALIA_TRY(body(sequences));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<double> SpeedRun::recorded(Sequences& sequences, const Body& body) {
  QUALIA_TRY(engine_.lane().set_profiling(profiling_));
  const RecordingEnd end(engine_.lane());
  steps_ = 0;
  const auto start = std::chrono::steady_clock::now();
  QUALIA_TRY(body(sequences));
  const auto took = std::chrono::steady_clock::now() - start;
  QUALIA_ASSIGN(profiled_.reading, engine_.lane().profile());
  profiled_.steps = steps_;
  profiled_.wall_ns = static_cast<uint64_t>(std::chrono::nanoseconds(took).count());
  return std::chrono::duration<double>(took).count();
}

Result<void> SpeedRun::check_cancel() const {
  if (hooks_.cancel && hooks_.cancel()) return cancelled("The measurement is cancelled.");
  return {};
}

TokenId SpeedRun::any_token() {
  return std::uniform_int_distribution<TokenId>(
      0, static_cast<TokenId>(engine_.limits().vocabulary_size - 1))(random_);
}

// Replies as greedy sampling makes them: each step's tokens are what the step before chose, on
// the device, so that steps are queued ahead.
Result<void> SpeedRun::decode(Sequences& sequences, uint32_t count) {
  std::deque<lanes::StepTicket> queued;
  for (uint32_t i = 0; i < count; ++i) {
    QUALIA_TRY(check_cancel());
    QUALIA_ASSIGN(const lanes::StepTicket ticket, queue_step(sequences, i == 0));
    queued.push_back(ticket);
    if (queued.size() <= kStepsAhead) continue;
    QUALIA_TRY(engine_.lane().collect(queued.front()));
    queued.pop_front();
  }
  for (const lanes::StepTicket ticket : queued) QUALIA_TRY(engine_.lane().collect(ticket));
  return {};
}

Result<lanes::StepTicket> SpeedRun::queue_step(Sequences& sequences, bool is_first) {
  std::vector<Row> rows;
  std::vector<lanes::SequenceView> views;
  for (const ScopedSequence& scoped : sequences) {
    const KvCache::Handle sequence = *scoped;
    QUALIA_TRY(engine_.cache().make_room(sequence, 1));
    const auto index = static_cast<uint32_t>(views.size());
    rows.push_back({.token = any_token(),
                    .sequence = index,
                    .position = static_cast<uint32_t>(sequence->tokens.size()),
                    .output = RowOutputKind::argmax,
                    .feedback = is_first ? lanes::kNoFeedback : index});
    views.push_back({.pages = sequence->pages});
  }
  QUALIA_ASSIGN(const lanes::StepTicket ticket,
                engine_.lane().submit({.rows = rows, .sequences = views}));
  ++steps_;
  for (size_t i = 0; i < rows.size(); ++i) {
    // The token itself is not known yet, and nothing reads it: the sequence is dropped after.
    engine_.cache().append(*sequences[i], std::span(&rows[i].token, 1));
  }
  return ticket;
}

// `count` random tokens in batches; the last row has output `last`.
Result<void> SpeedRun::feed(KvCache::Handle sequence, uint32_t count, RowOutputKind last) {
  while (count > 0) {
    QUALIA_TRY(check_cancel());
    const uint32_t part = std::min(count, engine_.lane().resident().batch_rows);
    count -= part;
    std::vector<TokenId> tokens(part);
    std::vector<Row> rows(part);
    const auto begin = static_cast<uint32_t>(sequence->tokens.size());
    for (uint32_t i = 0; i < part; ++i) {
      tokens[i] = any_token();
      rows[i] = {.token = tokens[i], .position = begin + i};
    }
    if (count == 0) rows.back().output = last;
    QUALIA_TRY(engine_.cache().make_room(sequence, part));
    const lanes::SequenceView view{.pages = sequence->pages};
    QUALIA_TRY(engine_.lane().forward({.rows = rows, .sequences = std::span(&view, 1)}));
    ++steps_;
    engine_.cache().append(sequence, tokens);
  }
  return {};
}

}  // namespace qualia::engine

// The engine's own view of a request and of a batch; only the engine's sources include it.
// Thread-safety: the engine's owner.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace qualia::engine {

using Clock = std::chrono::steady_clock;

// One request: what was said so far and when, and its sequence while it runs.
struct Engine::Generation {
  explicit Generation(Request r)
      : request(std::move(r)), sampler(request.sampler), text(request.stops) {}

  Request request;
  Sampler sampler;
  TextStream text;
  Completion done;
  std::vector<TokenId> history = request.prompt;  // prompt and reply
  std::optional<KvCache::Handle> sequence;        // absent: waiting for pages
  std::optional<Clock::time_point> started;       // first batch
  std::optional<Clock::time_point> first_token;
  uint64_t last_turn = 0;  // the engine's turn_count_ when it last had rows
  bool ended = false;

  // Tokens of the history whose KV is still to compute: a chunk of the prompt, or the last token.
  uint32_t pending() const {
    return static_cast<uint32_t>(history.size() - (*sequence)->tokens.size());
  }
};

// The rows of one request in a batch.
struct Engine::Part {
  Generation* generation;
  uint32_t row_count;
  bool has_output;  // its last row reaches the end of the history, so a token can be chosen
};

struct Engine::Plan {
  std::vector<lanes::Row> rows;
  std::vector<lanes::SequenceView> sequences;
  std::vector<Part> parts;  // by index of the sequence
  uint32_t top_k = 0;
};

// A step that the lane has and whose outputs were not collected.
struct Engine::QueuedStep {
  lanes::StepTicket ticket;
  std::vector<Part> parts;
};

}  // namespace qualia::engine

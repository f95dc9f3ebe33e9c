#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace qualia::engine {
namespace {

using Clock = std::chrono::steady_clock;
using lanes::Row;
using lanes::RowOutputKind;

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

// One request on its way: its sequence, what was said so far and when.
struct Engine::Generation {
  Generation(Request r, KvCache::Handle s)
      : request(std::move(r)), sequence(s), sampler(request.sampler), text(request.stops) {}

  Request request;
  KvCache::Handle sequence;
  Sampler sampler;
  TextStream text;
  Completion done;
  std::vector<TokenId> history = request.prompt;  // prompt and reply
  std::optional<Clock::time_point> started;       // first batch
  std::optional<Clock::time_point> first_token;
  bool ended = false;

  // Tokens of the history whose KV is still to compute: a chunk of the prompt, or the last token.
  size_t pending() const { return history.size() - sequence->tokens.size(); }
};

// The rows of one batch and whose they are.
struct Engine::Plan {
  struct Part {
    Generation* generation;
    uint32_t first_row;
    uint32_t row_count;
    bool has_output;  // its last row reaches the end of the history, so a token can be chosen
  };
  std::vector<Row> rows;
  std::vector<lanes::SequenceView> sequences;
  std::vector<Part> parts;
  uint32_t top_k = 0;
};

Engine::Engine(std::unique_ptr<lanes::LaneModel> lane, const tokenizer::Tokenizer* tokenizer,
               EngineLimits limits)
    : lane_(std::move(lane)),
      tokenizer_(tokenizer),
      limits_(limits),
      cache_(*lane_, limits.page_capacity) {}

Engine::~Engine() = default;

Result<void> Engine::submit(Request request) {
  QUALIA_TRY(check(request));
  QUALIA_ASSIGN(const KvCache::Handle sequence, cache_.begin(request.prompt));
  auto generation = std::make_unique<Generation>(std::move(request), sequence);
  generation->done.cached_tokens = static_cast<uint32_t>(sequence->tokens.size());
  if (generation->request.max_tokens == 0U) {
    end(*generation, EndReason::length);
    return {};
  }
  generations_.push_back(std::move(generation));
  return {};
}

Result<void> Engine::check(const Request& request) const {
  if (request.prompt.empty()) return invalid_argument("The prompt has no tokens.");
  for (const TokenId token : request.prompt)
    if (token < 0 || static_cast<uint32_t>(token) >= limits_.vocabulary_size)
      return invalid_argument("Token {} is out of range (the vocabulary has {}).", token,
                              limits_.vocabulary_size);
  if (request.prompt.size() > limits_.context)
    return invalid_argument("The prompt has {} tokens (the context has {}).", request.prompt.size(),
                            limits_.context);
  return validate(request.sampler, limits_.vocabulary_size);
}

bool Engine::step() {
  end_cancelled();
  remove_ended();
  if (generations_.empty()) return false;
  const Plan plan = plan_batch();
  if (!plan.rows.empty()) {
    const auto now = Clock::now();
    for (const Plan::Part& part : plan.parts)
      if (!part.generation->started) part.generation->started = now;
    const auto output =
        lane_->forward({.rows = plan.rows, .sequences = plan.sequences, .top_k = plan.top_k});
    if (output) {
      apply(plan, *output);
    } else {
      for (const Plan::Part& part : plan.parts)
        end(*part.generation, tl::unexpected<Error>(output.error()));
    }
  }
  remove_ended();
  return !generations_.empty();
}

void Engine::end_cancelled() {
  for (const auto& generation : generations_) {
    const std::atomic<bool>* cancel = generation->request.cancel;
    if (cancel && cancel->load(std::memory_order_relaxed)) end(*generation, EndReason::cancelled);
  }
}

// Decoding requests come first, a row each, so that a long prompt never holds up a reply.
Engine::Plan Engine::plan_batch() {
  Plan plan;
  const uint32_t rows_max = std::max<uint32_t>(lane_->resident().batch_rows, 1);
  const auto rows_left = [&] { return rows_max - static_cast<uint32_t>(plan.rows.size()); };
  for (const auto& generation : generations_)
    if (generation->pending() == 1 && rows_left() > 0) add_rows(plan, *generation, 1);
  for (const auto& generation : generations_) {
    const size_t pending = generation->pending();
    if (generation->ended || pending <= 1 || rows_left() == 0) continue;
    add_rows(plan, *generation, static_cast<uint32_t>(std::min<size_t>(pending, rows_left())));
  }
  for (const Plan::Part& part : plan.parts)
    plan.sequences.push_back({.pages = part.generation->sequence->pages});
  return plan;
}

void Engine::add_rows(Plan& plan, Generation& generation, uint32_t row_count) {
  if (auto room = cache_.make_room(generation.sequence, row_count); !room) {
    // Pages are taken by other requests: this one waits for them, unless it is alone.
    if (room.error().code == ErrorCode::context_full && !plan.parts.empty()) return;
    return end(generation, tl::unexpected<Error>(std::move(room).error()));
  }
  const auto index = static_cast<uint32_t>(plan.parts.size());
  const auto begin = static_cast<uint32_t>(generation.sequence->tokens.size());
  const bool has_output = row_count == generation.pending();
  plan.parts.push_back({.generation = &generation,
                        .first_row = static_cast<uint32_t>(plan.rows.size()),
                        .row_count = row_count,
                        .has_output = has_output});
  for (uint32_t i = 0; i < row_count; ++i)
    plan.rows.push_back({.token = generation.history[begin + i], .sequence = index, .position = begin + i});
  if (!has_output) return;
  plan.rows.back().output = generation.sampler.output_kind();
  plan.top_k = std::max(plan.top_k, generation.sampler.top_k());
}

void Engine::apply(const Plan& plan, const lanes::StepOutput& output) {
  size_t next_output = 0;
  for (const Plan::Part& part : plan.parts) {
    Generation& generation = *part.generation;
    const size_t begin = generation.sequence->tokens.size();
    cache_.append(generation.sequence,
                  std::span(generation.history).subspan(begin, part.row_count));
    if (part.has_output) accept(generation, output.rows[next_output++]);
  }
}

void Engine::accept(Generation& generation, const lanes::RowOutput& output) {
  const auto now = Clock::now();
  Completion& done = generation.done;
  if (!output.is_finite)
    return end(generation, numeric("The logits after {} tokens are not finite.",
                                   generation.history.size()));
  if (!generation.first_token) {
    generation.first_token = now;
    done.prefill_ms = milliseconds(*generation.started, now);
  } else {
    ++done.decode_tokens;
    done.decode_ms = milliseconds(*generation.first_token, now);
  }
  const TokenId token = generation.sampler.pick(output, generation.history);
  if (tokenizer_ && tokenizer_->is_end_of_generation(token)) return end(generation, EndReason::stop);
  done.tokens.push_back(token);
  generation.history.push_back(token);
  if (tokenizer_ && !tokenizer_->is_control(token)) {
    const std::string shown = generation.text.push(tokenizer_->piece_bytes(token));
    done.text += shown;
    if (!shown.empty() && generation.request.on_text) generation.request.on_text(shown);
  }
  if (generation.text.is_stopped()) return end(generation, EndReason::stop);
  if (done.tokens.size() == generation.request.max_tokens) return end(generation, EndReason::length);
  if (generation.history.size() > limits_.context) return end(generation, EndReason::context);
}

void Engine::end(Generation& generation, Result<EndReason> how) {
  if (generation.ended) return;
  generation.ended = true;
  if (!how) {
    // Its KV may be half written.
    cache_.drop(generation.sequence);
    generation.request.on_end(tl::unexpected<Error>(std::move(how).error()));
    return;
  }
  cache_.make_idle(generation.sequence);
  generation.done.reason = *how;
  const std::string rest = generation.text.finish();
  generation.done.text += rest;
  if (!rest.empty() && generation.request.on_text) generation.request.on_text(rest);
  generation.request.on_end(std::move(generation.done));
}

void Engine::remove_ended() {
  std::erase_if(generations_, [](const auto& generation) { return generation->ended; });
}

Result<void> Engine::score(std::span<const TokenId> tokens, uint32_t first_output,
                           RowOutputKind kind, const Visit& visit) {
  // Full logits of many rows are large (49152 entries x 64 rows = 12.6 MB): chunks of at most 64.
  constexpr uint32_t kLogitRowsMax = 64;
  const uint32_t chunk = std::max<uint32_t>(std::min(lane_->resident().batch_rows, kLogitRowsMax), 1);
  const KvCache::Handle sequence = *cache_.begin({});
  const auto run = [&]() -> Result<void> {
    for (uint32_t begin = 0; begin < tokens.size(); begin += chunk) {
      const auto part = tokens.subspan(begin, std::min<size_t>(chunk, tokens.size() - begin));
      QUALIA_TRY(cache_.make_room(sequence, static_cast<uint32_t>(part.size())));
      std::vector<Row> rows(part.size());
      for (uint32_t i = 0; i < rows.size(); ++i)
        rows[i] = {.token = part[i],
                   .position = begin + i,
                   .output = begin + i >= first_output ? kind : RowOutputKind::none};
      const lanes::SequenceView view{.pages = sequence->pages};
      QUALIA_ASSIGN(const lanes::StepOutput output,
                    lane_->forward({.rows = rows, .sequences = std::span(&view, 1)}));
      cache_.append(sequence, part);
      for (size_t i = 0; i < output.rows.size(); ++i) {
        const size_t skipped = part.size() - output.rows.size();
        QUALIA_TRY(visit(begin + static_cast<uint32_t>(skipped + i), output.rows[i]));
      }
    }
    return {};
  };
  Result<void> result = run();
  cache_.drop(sequence);
  return result;
}

}  // namespace qualia::engine

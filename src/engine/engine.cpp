#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/generation.h"

namespace qualia::engine {
namespace {

using lanes::Row;
using lanes::RowOutputKind;

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

Engine::Engine(std::unique_ptr<lanes::LaneModel> lane, const tokenizer::Tokenizer* tokenizer,
               EngineLimits limits)
    : lane_(std::move(lane)),
      tokenizer_(tokenizer),
      limits_(limits),
      cache_(*lane_, limits.page_capacity) {
  const uint64_t positions = uint64_t{limits.page_capacity} * lanes::kPagePositions;
  limits_.context = static_cast<uint32_t>(std::min<uint64_t>(limits.context, positions));
}

Engine::~Engine() = default;

Result<void> Engine::submit(Request request) {
  QUALIA_TRY(check(request));
  auto generation = std::make_unique<Generation>(std::move(request));
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
  if (queued_.empty()) {
    keep_running();
    start_waiting();
    remove_ended();
    queue_step(plan_batch());
  }
  while (can_queue_ahead() && queue_ahead()) {
  }
  collect_oldest();
  if (queued_.empty()) remove_ended();
  return std::ranges::any_of(generations_, [](const auto& entry) { return !entry->ended; });
}

void Engine::end_cancelled() {
  for (const auto& generation : generations_) {
    const auto& is_cancelled = generation->request.is_cancelled;
    if (!generation->ended && is_cancelled && is_cancelled())
      end(*generation, EndReason::cancelled);
  }
}

// Every running request gets room for its next rows, at the cost of the youngest where need be.
void Engine::keep_running() {
  bool has_elder = false;
  for (const auto& generation : generations_) {
    while (generation->sequence) {
      auto room = cache_.make_room(*generation->sequence, generation->pending());
      if (room) break;
      const ErrorCode code = room.error().code;
      const bool is_short = code == ErrorCode::context_full || code == ErrorCode::out_of_memory;
      Generation* const youngest = youngest_running();
      if (!is_short || (youngest == generation.get() && !has_elder)) {
        end(*generation, tl::unexpected<Error>(std::move(room).error()));
      } else {
        pause(*youngest);
      }
    }
    has_elder = has_elder || generation->sequence;
  }
}

void Engine::start_waiting() {
  for (const auto& generation : generations_) {
    if (generation->ended || generation->sequence) continue;
    if (start_is_hopeless_) return;
    if (const auto started = start(*generation); !started) {
      if (youngest_running()) {
        start_is_hopeless_ = true;
      } else {
        end(*generation, tl::unexpected<Error>(started.error()));
      }
    }
  }
}

Result<void> Engine::start(Generation& generation) {
  const KvCache::Handle sequence = cache_.begin(generation.history);
  const auto cached = static_cast<uint32_t>(sequence->tokens.size());
  const auto missing = static_cast<uint32_t>(generation.history.size()) - cached;
  if (auto room = cache_.make_room(sequence, missing); !room) {
    cache_.drop(sequence);
    return room;
  }
  if (!generation.started) generation.done.cached_tokens = cached;
  generation.sequence = sequence;
  return {};
}

void Engine::pause(Generation& generation) {
  cache_.make_idle(*std::exchange(generation.sequence, std::nullopt));
  // Its own pages would let it start at once, and what it gave them up for would get none.
  start_is_hopeless_ = true;
}

Engine::Generation* Engine::youngest_running() {
  for (auto it = generations_.rbegin(); it != generations_.rend(); ++it)
    if ((*it)->sequence) return it->get();
  return nullptr;
}

// A row for each running request, longest unserved first where the lane takes fewer rows than there
// are requests; what is left goes to prompts. So a long prompt holds up no reply, nor replies it.
Engine::Plan Engine::plan_batch() {
  std::vector<Generation*> running;
  for (const auto& generation : generations_)
    if (generation->sequence) running.push_back(generation.get());
  std::ranges::stable_sort(running, {}, &Generation::last_turn);
  const uint32_t rows_max = std::max<uint32_t>(lane_->resident().batch_rows, 1);
  if (running.size() > rows_max) running.resize(rows_max);
  Plan plan;
  uint32_t rows_left = rows_max - static_cast<uint32_t>(running.size());
  for (Generation* generation : running) {
    const uint32_t more = std::min(generation->pending() - 1, rows_left);
    rows_left -= more;
    add_rows(plan, *generation, 1 + more);
  }
  return plan;
}

void Engine::add_rows(Plan& plan, Generation& generation, uint32_t row_count) {
  const auto index = static_cast<uint32_t>(plan.parts.size());
  const auto begin = static_cast<uint32_t>((*generation.sequence)->tokens.size());
  const bool has_output = row_count == generation.pending();
  plan.parts.push_back({&generation, row_count, has_output});
  plan.sequences.push_back({.pages = (*generation.sequence)->pages});
  for (uint32_t i = 0; i < row_count; ++i)
    plan.rows.push_back(
        {.token = generation.history[begin + i], .sequence = index, .position = begin + i});
  if (!has_output) return;
  plan.rows.back().output = generation.sampler.output_kind();
  plan.top_k = std::max(plan.top_k, generation.sampler.top_k());
}

void Engine::apply(std::span<const Part> parts, const lanes::StepOutput& output) {
  size_t next_output = 0;
  for (const Part& part : parts) {
    const lanes::RowOutput* const row = part.has_output ? &output.rows[next_output++] : nullptr;
    Generation& generation = *part.generation;
    // The step was queued before it was known that the request ends.
    if (generation.ended) continue;
    const size_t begin = (*generation.sequence)->tokens.size();
    cache_.append(*generation.sequence,
                  std::span(generation.history).subspan(begin, part.row_count));
    if (!generation.first_token) generation.done.prefill_tokens += part.row_count;
    const Request& request = generation.request;
    if (request.on_prompt && begin < request.prompt.size())
      request.on_prompt(begin + part.row_count, request.prompt.size());
    if (row) accept(generation, *row);
  }
}

void Engine::accept(Generation& generation, const lanes::RowOutput& output) {
  const auto now = Clock::now();
  Completion& done = generation.done;
  if (!output.is_finite)
    return end(generation,
               numeric("The logits after {} tokens are not finite.", generation.history.size()));
  if (!generation.first_token) {
    generation.first_token = now;
    done.prefill_ms = milliseconds(*generation.started, now);
  } else {
    ++done.decode_tokens;
    done.decode_ms = milliseconds(*generation.first_token, now);
  }
  const TokenId token = generation.sampler.pick(output, generation.history);
  // The output matrix may have more rows than the vocabulary has tokens; those mean nothing.
  const bool has_text = tokenizer_ && static_cast<size_t>(token) < tokenizer_->size();
  if (has_text && tokenizer_->is_end_of_generation(token)) return end(generation, EndReason::stop);
  done.tokens.push_back(token);
  generation.history.push_back(token);
  if (has_text && !tokenizer_->is_control(token)) show(generation, token);
  if (generation.text.is_stopped()) return end(generation, EndReason::stop);
  if (done.tokens.size() == generation.request.max_tokens)
    return end(generation, EndReason::length);
  if (generation.history.size() > limits_.context) return end(generation, EndReason::context);
}

void Engine::show(Generation& generation, TokenId token) {
  const std::string text = generation.text.push(tokenizer_->piece_bytes(token));
  generation.done.text += text;
  if (!text.empty() && generation.request.on_text) generation.request.on_text(text);
}

void Engine::end(Generation& generation, Result<EndReason> how) {
  if (generation.ended) return;
  generation.ended = true;
  start_is_hopeless_ = false;
  const auto sequence = std::exchange(generation.sequence, std::nullopt);
  if (!how) {
    // Its KV may be half written.
    if (sequence) cache_.drop(*sequence);
    generation.request.on_end(tl::unexpected<Error>(std::move(how).error()));
    return;
  }
  if (sequence) cache_.make_idle(*sequence);
  generation.done.reason = *how;
  const std::string rest = generation.text.finish();
  generation.done.text += rest;
  if (!rest.empty() && generation.request.on_text) generation.request.on_text(rest);
  generation.request.on_end(std::move(generation.done));
}

// REQUIRES: no queued step has rows of an ended request.
void Engine::remove_ended() {
  std::erase_if(generations_, [](const auto& generation) { return generation->ended; });
}

Result<void> Engine::score(std::span<const TokenId> tokens, uint32_t first_output,
                           RowOutputKind kind, const Visit& visit) {
  // Full logits of many rows are large (49152 entries x 64 rows = 12.6 MB): chunks of at most 64.
  constexpr uint32_t kLogitRowsMax = 64;
  const uint32_t chunk =
      std::max<uint32_t>(std::min(lane_->resident().batch_rows, kLogitRowsMax), 1);
  drain();
  const ScopedSequence scoped(cache_);
  const KvCache::Handle sequence = *scoped;
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
    const size_t skipped = part.size() - output.rows.size();
    for (size_t i = 0; i < output.rows.size(); ++i)
      QUALIA_TRY(visit(begin + static_cast<uint32_t>(skipped + i), output.rows[i]));
  }
  return {};
}

}  // namespace qualia::engine

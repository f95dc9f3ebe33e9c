// The engine's steps on their way through the lane: handed over, queued ahead, collected in order.
// While every request decodes greedily, a step's tokens are what the step before chose, on the
// device; so the next ones are queued before anyone has read them, and the device never waits for
// the host. What was queued behind a request's last token is void for it.
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/generation.h"

namespace qualia::engine {

// An empty plan is no step. A lane that refuses a step ends the requests in it, once the steps
// before it have told what they chose.
bool Engine::queue_step(Plan plan) {
  if (plan.rows.empty()) return false;
  const auto now = Clock::now();
  for (const Part& part : plan.parts) {
    part.generation->last_turn = ++turn_count_;
    if (!part.generation->started) part.generation->started = now;
  }
  const auto ticket =
      lane_->submit({.rows = plan.rows, .sequences = plan.sequences, .top_k = plan.top_k});
  if (ticket) {
    queued_.push_back({*ticket, std::move(plan.parts)});
    return true;
  }
  while (!queued_.empty()) collect_oldest();
  end_all(plan.parts, ticket.error());
  return false;
}

// Whether the step after the youngest queued one is known to come, but for ends that nobody can
// foresee, and needs nothing but the tokens which that one chooses.
bool Engine::can_queue_ahead() const {
  if (lane_->resident().computes_in_submit) return false;
  if (queued_.empty() || queued_.size() > kStepsAhead) return false;
  const std::vector<Part>& parts = queued_.back().parts;
  if (parts.size() != generations_.size()) return false;  // someone waits
  for (const Part& part : parts) {
    const Generation& generation = *part.generation;
    const bool is_greedy = generation.sampler.output_kind() == lanes::RowOutputKind::argmax;
    if (generation.ended || !part.has_output || !is_greedy) return false;
    // Each queued step chooses one token, and the next one would compute the last of them.
    const auto& tokens_max = generation.request.max_tokens;
    if (tokens_max && generation.done.tokens.size() + queued_.size() >= *tokens_max) return false;
    if (generation.history.size() + queued_.size() > limits_.context) return false;
  }
  return true;
}

// False: there is no room now, or the lane has failed; what is queued is then collected first.
bool Engine::queue_ahead() {
  Plan plan;
  for (const Part& part : queued_.back().parts) {
    Generation& generation = *part.generation;
    const KvCache::Handle sequence = *generation.sequence;
    const auto position = static_cast<uint32_t>(generation.history.size() - 1 + queued_.size());
    const auto known = static_cast<uint32_t>(sequence->tokens.size());
    if (!cache_.make_room(sequence, position + 1 - known)) return false;
    const auto index = static_cast<uint32_t>(plan.parts.size());
    plan.parts.push_back({&generation, 1, true});
    plan.sequences.push_back({.pages = sequence->pages});
    plan.rows.push_back({.sequence = index,
                         .position = position,
                         .output = lanes::RowOutputKind::argmax,
                         .feedback = index});
  }
  return queue_step(std::move(plan));
}

void Engine::collect_oldest() {
  if (queued_.empty()) return;
  const QueuedStep step = std::move(queued_.front());
  queued_.erase(queued_.begin());
  const auto output = lane_->collect(step.ticket);
  if (output) return apply(step.parts, *output);
  end_all(step.parts, output.error());
}

void Engine::end_all(std::span<const Part> parts, const Error& error) {
  for (const Part& part : parts) end(*part.generation, tl::unexpected<Error>(error));
}

// Ended requests go only now: queued steps have rows of them and write to the pages they held,
// which nobody takes before then.
void Engine::drain() {
  while (!queued_.empty()) collect_oldest();
  remove_ended();
}

}  // namespace qualia::engine

// Engine: many requests over one resident model, batched row by row.
// Thread-safety: one owner; callers that share an engine serialise their calls. Callbacks run
// inside the engine's functions, on their thread; they must neither throw nor call the engine. A
// request's prompt is computed in chunks and its reply token by token; each step() collects one
// batch, which has a row of every running request and fills up with prompt rows. While all decode
// greedily, step() leaves batches queued in the lane (step_ahead.cpp); the tokens are the same.
//
// KV pages. Requests start in order of arrival, each once there are pages for its whole prompt; one
// that waits holds none, and later ones don't overtake it. When a running request needs a page and
// none is free, the youngest running one goes back to waiting and its pages become idle ones: what
// nobody took by the time it runs again is not computed again. The oldest request thus always gets
// on, so none starves, and none fails that could run alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/sampler.h"
#include "engine/text_stream.h"
#include "lanes/lane.h"
#include "qualia/result.h"
#include "tokenizer/tokenizer.h"

namespace qualia::engine {

// Steps that wait in the lane behind the one that runs: one hides the time to encode a step and to
// read its result; a second evens out what the system takes.
inline constexpr size_t kStepsAhead = 2;

enum class EndReason { stop, length, context, cancelled };

struct Completion {
  EndReason reason = EndReason::stop;
  std::string text;
  std::vector<TokenId> tokens{};  // an end-of-turn token is not among them
  uint32_t cached_tokens = 0;     // prompt tokens whose KV was there already
  uint32_t prefill_tokens = 0;    // tokens computed before the first one was chosen
  double prefill_ms = 0;          // from the first batch to the first token
  double decode_ms = 0;           // from the first token to the end
  uint32_t decode_tokens = 0;     // tokens chosen after the first
};

struct Request {
  std::vector<TokenId> prompt{};
  SamplerOptions sampler{};
  std::optional<uint32_t> max_tokens{};  // unset: until the turn ends
  std::vector<std::string> stops{};
  // Tokens of the prompt known after each batch of it, and all; may be empty.
  std::function<void(uint64_t done, uint64_t total)> on_prompt{};
  std::function<void(std::string_view)> on_text{};   // may be empty
  std::function<void(Result<Completion>)> on_end{};  // called exactly once
  std::function<bool()> is_cancelled{};              // may be empty; polled before every batch
};

struct EngineLimits {
  uint32_t context = 0;  // positions a sequence may have; no more than all pages hold
  uint32_t vocabulary_size = 0;
  uint32_t page_capacity = 0;  // pages over all sequences
};

class Engine {
 public:
  // `tokenizer` may be nullptr (replies then have tokens but no text) and outlives the engine.
  Engine(std::unique_ptr<lanes::LaneModel> lane, const tokenizer::Tokenizer* tokenizer,
         EngineLimits limits);
  ~Engine();

  // Errors (at once, without on_end): invalid_argument for an empty prompt, an id out of range, a
  // prompt that leaves no room in the context, or an option out of range.
  Result<void> submit(Request request);

  // Runs one batch to its end. False: no request is left. A lane's fault ends the requests in the
  // batch with its error and is not an error of step().
  bool step();

  // Runs `tokens` as a sequence of its own and hands every position's output to `visit`, in order:
  // kind none for positions before `first_output`. For logits, perplexity and benches.
  using Visit = std::function<Result<void>(uint32_t position, const lanes::RowOutput& output)>;
  Result<void> score(std::span<const TokenId> tokens, uint32_t first_output,
                     lanes::RowOutputKind kind, const Visit& visit);

  // Both collect what is queued first, so that the caller finds the lane at rest.
  lanes::LaneModel& lane() {
    drain();
    return *lane_;
  }
  KvCache& cache() {
    drain();
    return cache_;
  }
  const EngineLimits& limits() const { return limits_; }

 private:
  struct Generation;
  struct Part;
  struct Plan;
  struct QueuedStep;

  Result<void> check(const Request& request) const;
  void end_cancelled();
  void keep_running();
  void start_waiting();
  Result<void> start(Generation& generation);
  void pause(Generation& generation);
  Generation* youngest_running();
  Plan plan_batch();
  void add_rows(Plan& plan, Generation& generation, uint32_t row_count);
  bool queue_step(Plan plan);
  bool can_queue_ahead() const;
  bool queue_ahead();
  void collect_oldest();
  void drain();
  void apply(std::span<const Part> parts, const lanes::StepOutput& output);
  void accept(Generation& generation, const lanes::RowOutput& output);
  void show(Generation& generation, TokenId token);
  void end(Generation& generation, Result<EndReason> how);
  void end_all(std::span<const Part> parts, const Error& error);
  void remove_ended();

  std::unique_ptr<lanes::LaneModel> lane_;
  const tokenizer::Tokenizer* tokenizer_;
  EngineLimits limits_;
  KvCache cache_;
  // In order of arrival; the running ones come before the waiting ones.
  std::vector<std::unique_ptr<Generation>> generations_;
  std::vector<QueuedStep> queued_;  // oldest first
  uint64_t turn_count_ = 0;         // how often some request had rows in a batch
  bool start_is_hopeless_ = false;  // no pages were given back since a request could not start
};

}  // namespace qualia::engine

// Session: a conversation or completion with a model; text in, streamed text out.
// Thread-safety: one owner at a time; several sessions of one model may live side by side, and
// their calls take turns. What a call shares with earlier ones (a common beginning) is not computed
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qualia/export.h"
#include "qualia/model.h"
#include "qualia/result.h"

namespace qualia {

// Order of application: logit bias, repeat penalty, temperature, top-k, top-p, min-p, draw.
// Temperature comes before the cuts, so that a high one flattens what they see.
struct SamplingOptions {
  float temperature = 0.8F;  // 0: greedy, the cuts are not applied
  uint32_t top_k = 40;       // keep the k best; 0: all
  float top_p = 0.95F;       // keep the fewest best that sum to p; 1: all
  float min_p = 0.05F;       // keep those with at least min_p times the best's probability; 0: all
  float repeat_penalty = 1.0F;     // > 1 lowers the logits of recent tokens; 1: off
  uint32_t repeat_window = 64;     // tokens that count as recent, prompt included
  std::optional<uint64_t> seed{};  // unset: from the system
  std::vector<std::pair<TokenId, float>> logit_bias{};  // -1e9 to 1e9, or -inf: never
};

struct GenerateOptions {
  SamplingOptions sampling{};
  std::optional<uint32_t> max_tokens{};  // unset: to the end of the turn
  std::vector<std::string> stop{};       // the reply ends before the first of these
  bool parse_special = true;             // complete(): read control tokens in the prompt
  bool add_special = true;               // complete(): add BOS as the model's file asks
  // Called after each batch of the prompt with its tokens known so far and all; may be empty.
  std::function<void(uint64_t done, uint64_t total)> prompt_progress{};
};

enum class FinishReason {
  stop,       // the model ended its turn, or a stop string came
  length,     // max_tokens reached
  context,    // the context is full
  cancelled,  // the caller asked to stop; the text so far is there
};

// "stop", "length", "context", "cancelled"
QUALIA_API std::string_view to_string(FinishReason reason);

struct Timings {
  double prefill_ms = 0;
  double decode_ms = 0;
  uint32_t prefill_tokens = 0;  // computed before the first; those found in the cache are not
  uint32_t decode_tokens = 0;
  double prefill_tok_s() const { return prefill_ms > 0 ? prefill_tokens * 1000.0 / prefill_ms : 0; }
  double decode_tok_s() const { return decode_ms > 0 ? decode_tokens * 1000.0 / decode_ms : 0; }
};

struct Reply {
  std::string text;
  std::vector<TokenId> tokens;
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0;
  FinishReason finish_reason = FinishReason::stop;
  uint64_t seed = 0;  // that repeats this reply
  Timings timings;
};

struct ChatMessage {
  std::string role{};  // "system", "user", "assistant", "tool"
  std::string content{};
};

// Called with each piece of finished text, never with part of a UTF-8 character, on the caller's
// thread. It must not use the session's model; an exception ends the reply and reaches the caller.
using OnText = std::function<void(std::string_view text)>;
// Asked on the caller's thread at least once per token, once the call has its turn; true ends the
// reply.
using IsCancelled = std::function<bool()>;

class QUALIA_API Session {
 public:
  static Result<Session> create(const Model& model);

  // Continues `prompt`. Errors: invalid_argument when the prompt is longer than the context.
  Result<Reply> complete(std::string_view prompt, const GenerateOptions& options,
                         const OnText& on_text = {}, const IsCancelled& is_cancelled = {});
  // Continues token ids. Errors: also invalid_argument for an id outside the vocabulary.
  Result<Reply> complete_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                const OnText& on_text = {}, const IsCancelled& is_cancelled = {});
  // The assistant's next turn after `messages`, by the model's chat template; control text in a
  // message stays plain text. Errors: not_found when the model has no template; what the template
  // itself refuses is invalid_argument with its sentence.
  Result<Reply> chat(std::span<const ChatMessage> messages, const GenerateOptions& options,
                     const OnText& on_text = {}, const IsCancelled& is_cancelled = {});

 private:
  explicit Session(const Model& model) : model_(model) {}
  Model model_;
};

}  // namespace qualia

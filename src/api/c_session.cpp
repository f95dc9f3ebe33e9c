// C ABI: sessions, cancel flags, replies.

#include <cstddef>
#include <limits>

#include "api/c_support.h"

using namespace qualia;  // NOLINT: the functions of the C ABI stand in no namespace
using namespace qualia::api;

namespace {

qualia_generate_options generate_defaults() {
  const SamplingOptions sampling;
  const GenerateOptions generate;
  qualia_generate_options defaults{};
  defaults.struct_size = sizeof(defaults);
  defaults.max_tokens = -1;
  defaults.temperature = sampling.temperature;
  defaults.top_p = sampling.top_p;
  defaults.min_p = sampling.min_p;
  defaults.repeat_penalty = sampling.repeat_penalty;
  defaults.top_k = sampling.top_k;
  defaults.repeat_window = sampling.repeat_window;
  defaults.parse_special = generate.parse_special;
  defaults.add_special = generate.add_special;
  return defaults;
}

// Stays as it is when fields are added.
constexpr size_t kGenerateOptionsFirstBytes =
    offsetof(qualia_generate_options, logit_bias_count) + sizeof(size_t);

Result<GenerateOptions> to_generate_options(const qualia_generate_options* given) {
  QUALIA_ASSIGN(const qualia_generate_options from,
                read_growing(given, generate_defaults(), kGenerateOptionsFirstBytes, "options"));
  GenerateOptions options;
  options.sampling = {.temperature = from.temperature,
                      .top_k = from.top_k,
                      .top_p = from.top_p,
                      .min_p = from.min_p,
                      .repeat_penalty = from.repeat_penalty,
                      .repeat_window = from.repeat_window,
                      .seed = std::nullopt,
                      .logit_bias = {}};
  if (from.has_seed) options.sampling.seed = from.seed;
  QUALIA_ASSIGN(const std::span<const qualia_logit_bias> biases,
                need_array(from.logit_biases, from.logit_bias_count, "logit_biases"));
  for (const qualia_logit_bias& each : biases)
    options.sampling.logit_bias.emplace_back(each.token, each.bias);
  if (from.max_tokens > std::numeric_limits<uint32_t>::max())
    return invalid_argument("Option 'max_tokens' is {} (at most {}).", from.max_tokens,
                            std::numeric_limits<uint32_t>::max());
  if (from.max_tokens >= 0) options.max_tokens = static_cast<uint32_t>(from.max_tokens);
  QUALIA_ASSIGN(const std::span<const char* const> stops,
                need_array(from.stops, from.stop_count, "stops"));
  for (const char* stop : stops) {
    QUALIA_TRY(need(stop, "stops[...]"));
    options.stop.emplace_back(stop);
  }
  options.parse_special = from.parse_special;
  options.add_special = from.add_special;
  return options;
}

// The caller's callback and flag, as the C++ API takes them.
class Watch {
 public:
  explicit Watch(const qualia_generate& generate) : generate_(generate) {}

  OnText on_text() {
    if (!generate_.on_text) return {};
    return [this](std::string_view text) {
      const std::string terminated(text);
      if (generate_.on_text(terminated.c_str(), terminated.size(), generate_.user_data) != 0)
        is_stopped_ = true;
    };
  }

  IsCancelled is_cancelled() {
    return [this] { return is_stopped_ || (generate_.cancel && generate_.cancel->is_set.load()); };
  }

 private:
  const qualia_generate& generate_;
  bool is_stopped_ = false;
};

// `run` gets the options, the text hook and the cancel hook, and gives a Result<Reply>.
template <typename Run>
Result<void> make_reply(const qualia_session* session, const qualia_generate* generate,
                        qualia_reply** reply, const Run& run) {
  QUALIA_TRY(need(session, "session"));
  QUALIA_TRY(need(reply, "reply"));
  const qualia_generate how = generate ? *generate : qualia_generate{};
  QUALIA_ASSIGN(const GenerateOptions options, to_generate_options(how.options));
  Watch watch(how);
  QUALIA_ASSIGN(Reply made, run(options, watch.on_text(), watch.is_cancelled()));
  *reply = new qualia_reply{std::move(made)};
  return {};
}

static_assert(static_cast<int>(FinishReason::stop) == QUALIA_FINISH_STOP);
static_assert(static_cast<int>(FinishReason::length) == QUALIA_FINISH_LENGTH);
static_assert(static_cast<int>(FinishReason::context) == QUALIA_FINISH_CONTEXT);
static_assert(static_cast<int>(FinishReason::cancelled) == QUALIA_FINISH_CANCELLED);

}  // namespace

void qualia_generate_options_init(qualia_generate_options* options, size_t struct_size) {
  init_growing(options, generate_defaults(), struct_size);
}

qualia_status qualia_session_create(const qualia_model* model, qualia_session** session,
                                    qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(model, "model"));
    QUALIA_TRY(need(session, "session"));
    QUALIA_ASSIGN(Session created, Session::create(model->model));
    *session = new qualia_session{std::move(created)};
    return {};
  });
}

void qualia_session_free(qualia_session* session) { delete session; }

qualia_status qualia_cancel_create(qualia_cancel** cancel, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(cancel, "cancel"));
    *cancel = new qualia_cancel;
    return {};
  });
}

// A signal handler may set the flag.
static_assert(std::atomic<bool>::is_always_lock_free);
void qualia_cancel_set(qualia_cancel* cancel) {
  if (cancel) cancel->is_set.store(true);
}
void qualia_cancel_reset(qualia_cancel* cancel) {
  if (cancel) cancel->is_set.store(false);
}
void qualia_cancel_free(qualia_cancel* cancel) { delete cancel; }

qualia_status qualia_session_complete(qualia_session* session, const char* prompt,
                                      size_t prompt_bytes, const qualia_generate* generate,
                                      qualia_reply** reply, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_ASSIGN(const std::string_view text, need_text(prompt, prompt_bytes, "prompt"));
    return make_reply(session, generate, reply,
                      [&](const auto&... how) { return session->session.complete(text, how...); });
  });
}

qualia_status qualia_session_complete_tokens(qualia_session* session, const qualia_token* tokens,
                                             size_t count, const qualia_generate* generate,
                                             qualia_reply** reply, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_ASSIGN(const std::span<const qualia_token> ids, need_array(tokens, count, "tokens"));
    return make_reply(session, generate, reply, [&](const auto&... how) {
      return session->session.complete_tokens(ids, how...);
    });
  });
}

qualia_status qualia_session_chat(qualia_session* session, const qualia_message* messages,
                                  size_t message_count, const qualia_generate* generate,
                                  qualia_reply** reply, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_ASSIGN(const std::span<const qualia_message> given,
                  need_array(messages, message_count, "messages"));
    std::vector<ChatMessage> turns;
    for (const qualia_message& message : given) {
      QUALIA_TRY(need(message.role, "messages[...].role"));
      QUALIA_ASSIGN(const std::string_view content,
                    need_text(message.content, message.content_bytes, "messages[...].content"));
      turns.push_back({message.role, std::string(content)});
    }
    return make_reply(session, generate, reply,
                      [&](const auto&... how) { return session->session.chat(turns, how...); });
  });
}

const char* qualia_reply_text(const qualia_reply* reply, size_t* size_bytes) {
  if (size_bytes) *size_bytes = reply ? reply->reply.text.size() : 0;
  return reply ? reply->reply.text.c_str() : "";
}

const qualia_token* qualia_reply_tokens(const qualia_reply* reply, size_t* count) {
  if (count) *count = reply ? reply->reply.tokens.size() : 0;
  return reply ? reply->reply.tokens.data() : nullptr;
}

qualia_finish_reason qualia_reply_finish_reason(const qualia_reply* reply) {
  return reply ? static_cast<qualia_finish_reason>(reply->reply.finish_reason)
               : qualia_finish_reason{QUALIA_FINISH_STOP};
}

qualia_status qualia_reply_get_stats(const qualia_reply* reply, qualia_reply_stats* stats,
                                     qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(reply, "reply"));
    const Reply& from = reply->reply;
    qualia_reply_stats filled{};
    filled.seed = from.seed;
    filled.prefill_ms = from.timings.prefill_ms;
    filled.decode_ms = from.timings.decode_ms;
    filled.prompt_tokens = from.prompt_tokens;
    filled.completion_tokens = from.completion_tokens;
    filled.prefill_tokens = from.timings.prefill_tokens;
    filled.decode_tokens = from.timings.decode_tokens;
    return write_growing(stats, filled, "stats");
  });
}

void qualia_reply_free(qualia_reply* reply) { delete reply; }

#include "qualia/session.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <random>

#include "api/model_state.h"
#include "api/tokenizer_state.h"
#include "base/error.h"

namespace qualia {
namespace {

uint64_t random_seed() {
  std::random_device device;
  // 53 bits: a JSON reader that keeps numbers as doubles can hand it back exactly.
  return ((uint64_t{device()} << 32) | device()) >> 11;
}

engine::SamplerOptions to_engine(const SamplingOptions& options, uint64_t seed) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repeat_penalty = options.repeat_penalty,
          .repeat_window = options.repeat_window,
          .seed = seed,
          .logit_bias = options.logit_bias};
}

FinishReason to_public(engine::EndReason reason) {
  switch (reason) {
    case engine::EndReason::stop:
      return FinishReason::stop;
    case engine::EndReason::length:
      return FinishReason::length;
    case engine::EndReason::context:
      return FinishReason::context;
    case engine::EndReason::cancelled:
      return FinishReason::cancelled;
  }
  return FinishReason::stop;
}

Reply to_reply(engine::Completion done, size_t prompt_tokens, uint64_t seed) {
  Reply reply;
  reply.text = std::move(done.text);
  reply.tokens = std::move(done.tokens);
  reply.prompt_tokens = static_cast<uint32_t>(prompt_tokens);
  reply.completion_tokens = static_cast<uint32_t>(reply.tokens.size());
  reply.finish_reason = to_public(done.reason);
  reply.seed = seed;
  reply.timings = {.prefill_ms = done.prefill_ms,
                   .decode_ms = done.decode_ms,
                   .prefill_tokens = done.prefill_tokens,
                   .decode_tokens = done.decode_tokens};
  return reply;
}

// The messages as JSON; invalid UTF-8 in a message becomes U+FFFD.
std::string to_json(std::span<const ChatMessage> messages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string piece_or_empty(const tokenizer::Tokenizer& text, std::optional<TokenId> id) {
  return id ? text.vocabulary().tokens[static_cast<size_t>(*id)] : std::string();
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::context:
      return "context";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "stop";
}

Result<Session> Session::create(const Model& model) { return Session(model); }

Result<Reply> Session::complete(std::string_view prompt, const GenerateOptions& options,
                                const OnText& on_text, const IsCancelled& is_cancelled) {
  const Tokenizer* tokenizer = model_.tokenizer();
  if (!tokenizer) return tl::unexpected<Error>(*model_.tokenizer_error());
  return complete_tokens(tokenizer->encode(prompt, {.add_special = options.add_special,
                                                    .parse_special = options.parse_special}),
                         options, on_text, is_cancelled);
}

Result<Reply> Session::complete_tokens(std::span<const TokenId> prompt,
                                       const GenerateOptions& options, const OnText& on_text,
                                       const IsCancelled& is_cancelled) {
  Model::State& state = model_.state();
  const uint64_t seed = options.sampling.seed ? *options.sampling.seed : random_seed();
  std::optional<Result<engine::Completion>> ended;
  // The caller's own exception ends the reply and goes on to the caller; the engine sees none.
  std::exception_ptr thrown;
  const auto guarded_on_text = [&](std::string_view text) {
    if (thrown) return;
    try {
      on_text(text);
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  engine::Request request{
      .prompt = {prompt.begin(), prompt.end()},
      .sampler = to_engine(options.sampling, seed),
      .max_tokens = options.max_tokens,
      .stops = options.stop,
      .on_prompt = options.prompt_progress,
      .on_text = {},
      .on_end = [&](Result<engine::Completion> done) { ended = std::move(done); },
      .is_cancelled = [&] { return thrown || (is_cancelled && is_cancelled()); }};
  if (on_text) request.on_text = guarded_on_text;
  {
    const std::lock_guard lock(state.engine_mutex);
    QUALIA_TRY(state.engine->submit(std::move(request)));
    while (!ended) state.engine->step();
  }
  if (thrown) std::rethrow_exception(thrown);
  if (!*ended) return tl::unexpected<Error>(std::move(*ended).error());
  return to_reply(std::move(**ended), prompt.size(), seed);
}

Result<Reply> Session::chat(std::span<const ChatMessage> messages, const GenerateOptions& options,
                            const OnText& on_text, const IsCancelled& is_cancelled) {
  const Model::State& state = model_.state();
  if (!state.tokenizer) return tl::unexpected<Error>(*state.tokenizer_error);
  if (state.chat_template_error) return tl::unexpected<Error>(*state.chat_template_error);
  if (!state.chat_template) return not_found("The model's file has no chat template.");
  const tokenizer::Tokenizer& text = *state.tokenizer->state().tokenizer;
  tokenizer::TemplateInput input;
  input.messages_json = to_json(messages);
  input.bos_token = piece_or_empty(text, text.vocabulary().bos);
  input.eos_token = piece_or_empty(text, text.vocabulary().eos);
  QUALIA_ASSIGN(const tokenizer::RenderedPrompt prompt, state.chat_template->render(input));
  // The template writes BOS itself where the model wants one.
  return complete_tokens(text.encode(prompt.text, tokenizer::AddSpecial::no,
                                     tokenizer::ControlText::parse, prompt.untrusted),
                         options, on_text, is_cancelled);
}

}  // namespace qualia

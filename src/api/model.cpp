#include "qualia/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/circuit_choice.h"
#include "api/file_error.h"
#include "api/model_state.h"
#include "api/runtime_state.h"
#include "api/tokenizer_state.h"
#include "api/worker.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/log.h"
#include "gguf/gguf_file.h"
#include "hardware/memory.h"
#include "model/architecture.h"

namespace qualia {
namespace {

using lanes::kPagePositions;

uint32_t pages_for(uint32_t positions) {
  return static_cast<uint32_t>((uint64_t{positions} + kPagePositions - 1) / kPagePositions);
}

api::CircuitWish make_wish(const Runtime::State& runtime, const ModelOptions& options) {
  api::CircuitWish wish{
      .lane = options.lane, .backend = options.backend, .backend_origin = "--backend"};
  // The variable pins the backend of the wgpu lane; a lane that was asked for comes before it.
  const bool may_be_wgpu = wish.lane.empty() || wish.lane == "wgpu";
  if (wish.backend.empty() && may_be_wgpu && runtime.environment.wgpu_backend) {
    wish.backend = *runtime.environment.wgpu_backend;
    wish.backend_origin = "QUALIA_WGPU_BACKEND";
  }
  wish.thread_count = options.threads.value_or(static_cast<uint32_t>(runtime.default_threads));
  return wish;
}

Result<void> check_options(const ModelOptions& options) {
  if (options.threads && (*options.threads < 1 || *options.threads > api::kThreadsMax))
    return invalid_argument("Option 'threads' is {} (1 to {}).", *options.threads,
                            api::kThreadsMax);
  if (options.context && *options.context < 1)
    return invalid_argument("Option 'context' is {} (at least 1).", *options.context);
  return {};
}

// Positions per sequence: what was asked for, if its KV cache fits; else what the model was trained
// for, or as much of it as half of the free memory holds.
Result<uint32_t> choose_context(const ModelOptions& options, uint32_t trained,
                                uint64_t page_bytes) {
  const uint32_t wanted = options.context.value_or(trained);
  // A product that overflows fits nowhere.
  const uint64_t needed = checked_mul<uint64_t>(pages_for(wanted), page_bytes)
                              .value_or(std::numeric_limits<uint64_t>::max());
  const auto available = hardware::available_memory_bytes();
  if (options.context) {
    if (available && needed > *available)
      return out_of_memory(
          "A context of {} positions needs {} bytes for keys and values ({} free).", wanted, needed,
          *available);
    if (wanted > trained)
      log(LogLevel::warn,
          "The context of {} positions exceeds the {} that the model was trained for.", wanted,
          trained);
    return wanted;
  }
  if (!available || needed <= *available / 2) return wanted;
  const uint64_t fitting =
      std::max<uint64_t>(*available / 2 / std::max<uint64_t>(page_bytes, 1), 1);
  const auto context = static_cast<uint32_t>(std::min<uint64_t>(fitting * kPagePositions, trained));
  log(LogLevel::warn,
      "The context is {} of the {} positions: {} bytes would be needed, {} are free.", context,
      trained, needed, *available);
  return context;
}

void describe_file(const gguf::File& file, const std::filesystem::path& path, ModelInfo& info) {
  info.path = path;
  if (const auto name = file.get_string("general.name"); name && *name) info.name = **name;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    info.weights_bytes += tensor.size_bytes;
    info.parameter_count += tensor.shape.element_count().value_or(0);
  }
}

void read_text_side(const gguf::File& file, Model::State& state) {
  auto tokenizer = api::read_tokenizer(file);
  if (!tokenizer) {
    state.tokenizer_error = api::in_file(state.info.path, std::move(tokenizer).error()).value();
    return;
  }
  state.tokenizer = std::move(*tokenizer);
  state.info.has_tokenizer = true;
  const std::string& source = state.tokenizer->state().tokenizer->vocabulary().chat_template;
  if (source.empty()) return;
  state.info.has_chat_template = true;
  auto parsed = tokenizer::ChatTemplate::parse(source);
  if (parsed) {
    state.chat_template = std::move(*parsed);
    return;
  }
  state.chat_template_error = api::in_file(state.info.path, std::move(parsed).error()).value();
  // Whoever needs the template gets the error; raw completion does not.
  log(LogLevel::info, "{}", state.chat_template_error->message);
}

Result<void> check_vocabulary_fits(const Model::State& state) {
  if (!state.tokenizer) return {};
  const size_t tokens = state.tokenizer->vocabulary_size();
  if (tokens <= state.info.vocabulary_size) return {};
  return corrupt_file("The vocabulary has {} tokens (the output matrix has {} rows).", tokens,
                      state.info.vocabulary_size);
}

// Everything that depends on the file.
Result<std::shared_ptr<Model::State>> load_state(const api::CircuitChoice& choice,
                                                 size_t thread_count,
                                                 const std::filesystem::path& path,
                                                 const ModelOptions& options) {
  QUALIA_ASSIGN(const gguf::File file, gguf::File::open(path));
  QUALIA_ASSIGN(model::Decoder decoder, model::read_decoder(file));
  const ops::DecoderSpec& spec = decoder.spec;

  auto state = std::make_shared<Model::State>();
  state->thread_count = thread_count;
  state->path = choice.path;
  describe_file(file, path, state->info);
  state->info.architecture = spec.architecture;
  state->info.vocabulary_size = spec.vocabulary_size;
  state->info.trained_context = spec.context_length;
  read_text_side(file, *state);
  QUALIA_TRY(check_vocabulary_fits(*state));

  QUALIA_ASSIGN(std::unique_ptr<lanes::LaneModel> resident,
                choice.lane->load(spec, decoder.weights,
                                  {.circuit = choice.circuit,
                                   .precision = options.precision.value_or(Precision::precise),
                                   .kv = options.kv,
                                   .thread_count = thread_count,
                                   .progress = options.progress}));
  state->info.step_weight_bytes = resident->resident().step_weight_bytes;
  state->info.precision = resident->resident().precision;
  state->info.kv = resident->resident().kv;
  QUALIA_ASSIGN(state->info.context,
                choose_context(options, spec.context_length, resident->resident().kv_page_bytes));
  const engine::EngineLimits limits{.context = state->info.context,
                                    .vocabulary_size = spec.vocabulary_size,
                                    .page_capacity = pages_for(state->info.context)};
  const tokenizer::Tokenizer* text =
      state->tokenizer ? state->tokenizer->state().tokenizer.get() : nullptr;
  state->engine = std::make_unique<engine::Engine>(std::move(resident), text, limits);
  return state;
}

}  // namespace

Result<Model> Model::load(const Runtime& runtime, const std::filesystem::path& path,
                          const ModelOptions& options) {
  QUALIA_TRY(check_options(options));
  const Runtime::State& host = runtime.state();
  const api::CircuitWish wish = make_wish(host, options);
  QUALIA_ASSIGN(api::CircuitChoice choice, api::choose_circuit(host.lanes, wish));
  const api::LaneHost place = api::choose_host(choice.lane->name(), options.in_process);
  if (place.worker) choice.lane = place.worker.get();
  if (!place.reason.empty()) choice.path.rationale.push_back(place.reason);
  auto state = load_state(choice, wish.thread_count, path, options);
  if (!state) return api::in_file(path, std::move(state).error());
  (*state)->profile_is_asked = host.environment.gpu_profile;
  log(LogLevel::info, "'{}' runs on {}: {}.", path.string(), (*state)->path.winning_circuit,
      fmt::join((*state)->path.rationale, "; "));
  return Model(std::move(*state));
}

const ModelInfo& Model::info() const { return state_->info; }
const PathReport& Model::path() const { return state_->path; }
const Tokenizer* Model::tokenizer() const {
  return state_->tokenizer ? &*state_->tokenizer : nullptr;
}
const std::optional<Error>& Model::tokenizer_error() const { return state_->tokenizer_error; }
const std::optional<Error>& Model::chat_template_error() const {
  return state_->chat_template_error;
}

}  // namespace qualia

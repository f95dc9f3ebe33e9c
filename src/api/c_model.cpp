// C ABI: models and tokenizers.

#include <array>
#include <cstddef>
#include <optional>

#include "api/c_support.h"

using namespace qualia;  // NOLINT: the functions of the C ABI stand in no namespace
using namespace qualia::api;

namespace {

constexpr qualia_model_options kModelDefaults{
    sizeof(qualia_model_options), nullptr, nullptr, 0,    0, QUALIA_KV_AUTOMATIC,
    QUALIA_PRECISION_AUTOMATIC,   nullptr, nullptr, false};
// Stays as it is when fields are added.
constexpr size_t kModelOptionsFirstBytes =
    offsetof(qualia_model_options, progress_user_data) + sizeof(void*);

constexpr std::array kKvTypes{KvType::automatic, KvType::int8, KvType::f16, KvType::f32};
constexpr std::array<std::optional<Precision>, 4> kPrecisions{std::nullopt, Precision::fast,
                                                              Precision::precise, Precision::exact};

template <typename T, size_t n>
Result<T> pick(const std::array<T, n>& values, int32_t index, const char* name) {
  if (index >= 0 && static_cast<size_t>(index) < n) return values[static_cast<size_t>(index)];
  return invalid_argument("Option '{}' is {} (0 to {}).", name, index, n - 1);
}

Result<ModelOptions> to_model_options(const qualia_model_options* given) {
  QUALIA_ASSIGN(const qualia_model_options from,
                read_growing(given, kModelDefaults, kModelOptionsFirstBytes, "options"));
  ModelOptions options;
  options.lane = text_or_empty(from.lane);
  options.backend = text_or_empty(from.backend);
  if (from.threads > 0) options.threads = from.threads;
  if (from.context > 0) options.context = from.context;
  QUALIA_ASSIGN(options.kv, pick(kKvTypes, from.kv, "kv"));
  QUALIA_ASSIGN(options.precision, pick(kPrecisions, from.precision, "precision"));
  options.in_process = from.in_process;
  if (from.progress)
    options.progress = [from](uint64_t done_bytes, uint64_t total_bytes) {
      from.progress(done_bytes, total_bytes, from.progress_user_data);
    };
  return options;
}

}  // namespace

void qualia_model_options_init(qualia_model_options* options, size_t struct_size) {
  init_growing(options, kModelDefaults, struct_size);
}

qualia_status qualia_model_load(const qualia_runtime* runtime, const char* path,
                                const qualia_model_options* options, qualia_model** model,
                                qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(runtime, "runtime"));
    QUALIA_TRY(need(path, "path"));
    QUALIA_TRY(need(model, "model"));
    QUALIA_ASSIGN(const ModelOptions wanted, to_model_options(options));
    QUALIA_ASSIGN(Model loaded, Model::load(runtime->runtime, path, wanted));
    *model = new qualia_model{std::move(loaded), path};
    return {};
  });
}

void qualia_model_free(qualia_model* model) { delete model; }

qualia_status qualia_model_get_info(const qualia_model* model, qualia_model_info* info,
                                    qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(model, "model"));
    const ModelInfo& from = model->model.info();
    const PathReport& path = model->model.path();
    qualia_model_info filled{};
    filled.path = model->path.c_str();
    filled.architecture = from.architecture.c_str();
    filled.name = from.name.c_str();
    filled.lane = path.lane.c_str();
    filled.device = path.device.c_str();
    filled.backend = path.backend.c_str();
    filled.weights_bytes = from.weights_bytes;
    filled.parameter_count = from.parameter_count;
    filled.vocabulary_size = from.vocabulary_size;
    filled.trained_context = from.trained_context;
    filled.context = from.context;
    filled.has_tokenizer = from.has_tokenizer;
    filled.has_chat_template = from.has_chat_template;
    return write_growing(info, filled, "info");
  });
}

const char* qualia_model_path_reason(const qualia_model* model, size_t index) {
  if (!model || index >= model->model.path().rationale.size()) return nullptr;
  return model->model.path().rationale[index].c_str();
}

qualia_status qualia_tokenizer_open(const char* path, qualia_tokenizer** tokenizer,
                                    qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(path, "path"));
    QUALIA_TRY(need(tokenizer, "tokenizer"));
    QUALIA_ASSIGN(Tokenizer opened, Tokenizer::open(path));
    *tokenizer = new qualia_tokenizer{std::move(opened)};
    return {};
  });
}

qualia_status qualia_model_tokenizer(const qualia_model* model, qualia_tokenizer** tokenizer,
                                     qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(model, "model"));
    QUALIA_TRY(need(tokenizer, "tokenizer"));
    if (!model->model.tokenizer()) return tl::unexpected<Error>(*model->model.tokenizer_error());
    *tokenizer = new qualia_tokenizer{*model->model.tokenizer()};
    return {};
  });
}

void qualia_tokenizer_free(qualia_tokenizer* tokenizer) { delete tokenizer; }

size_t qualia_tokenizer_vocabulary_size(const qualia_tokenizer* tokenizer) {
  return tokenizer ? tokenizer->tokenizer.vocabulary_size() : 0;
}

qualia_status qualia_tokenizer_encode(const qualia_tokenizer* tokenizer, const char* text,
                                      size_t text_bytes, bool add_special, bool parse_special,
                                      qualia_token* tokens, size_t capacity, size_t* count,
                                      qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(tokenizer, "tokenizer"));
    QUALIA_TRY(need(count, "count"));
    if (capacity > 0) QUALIA_TRY(need(tokens, "tokens"));
    QUALIA_ASSIGN(const std::string_view input, need_text(text, text_bytes, "text"));
    const std::vector<TokenId> ids = tokenizer->tokenizer.encode(
        input, {.add_special = add_special, .parse_special = parse_special});
    *count = ids.size();
    std::copy_n(ids.begin(), std::min(capacity, ids.size()), tokens);
    return {};
  });
}

qualia_status qualia_tokenizer_decode(const qualia_tokenizer* tokenizer, const qualia_token* tokens,
                                      size_t count, bool with_special, char* text, size_t capacity,
                                      size_t* size_bytes, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(tokenizer, "tokenizer"));
    QUALIA_TRY(need(size_bytes, "size_bytes"));
    if (capacity > 0) QUALIA_TRY(need(text, "text"));
    QUALIA_ASSIGN(const std::span<const qualia_token> ids, need_array(tokens, count, "tokens"));
    QUALIA_ASSIGN(const std::string bytes, tokenizer->tokenizer.decode(ids, with_special));
    *size_bytes = bytes.size();
    copy_text(bytes, text, capacity);
    return {};
  });
}

// Model: one GGUF model, resident on the circuit that the runtime chose for it.
// Thread-safety: const members may be called in parallel; loading and destruction have one owner.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qualia/export.h"
#include "qualia/lane.h"
#include "qualia/path.h"
#include "qualia/profile.h"
#include "qualia/result.h"
#include "qualia/runtime.h"
#include "qualia/tokenizer.h"

namespace qualia {

struct ModelOptions {
  std::string lane{};                 // empty: the runtime chooses
  std::string backend{};              // empty: the runtime chooses
  std::optional<uint32_t> threads{};  // host threads; unset: Runtime::default_threads()
  std::optional<uint32_t>
      context{};  // positions a sequence may have; unset: the model's own length
  KvType kv = KvType::automatic;
  std::optional<Precision> precision{};  // unset: the lane's own
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress{};  // may be empty
  // A GPU model is loaded into this process too, whose end a driver's failure may then be.
  bool in_process = false;
};

struct ModelInfo {
  std::filesystem::path path;
  std::string architecture;
  std::string name;  // the file's general.name, or empty
  uint64_t weights_bytes = 0;
  uint64_t parameter_count = 0;
  uint32_t vocabulary_size = 0;
  uint32_t trained_context = 0;
  uint32_t context = 0;                    // in force
  uint64_t step_weight_bytes = 0;          // weights read once per decoded token
  Precision precision = Precision::exact;  // in force
  KvType kv = KvType::f32;                 // in force, never automatic
  bool has_tokenizer = false;
  bool has_chat_template = false;
};

struct PositionLogits {
  uint32_t position = 0;
  std::vector<TokenId> top_ids;  // best first
  std::vector<float> top_logits;
  double logsumexp = 0;  // over the whole vocabulary, natural logarithm
};

struct PerplexityReport {
  uint64_t tokens = 0;  // scored positions
  uint64_t windows = 0;
  double mean_nll = 0;  // natural logarithm
  double perplexity = 0;
  std::vector<TokenId> argmax;  // the model's choice after each position of each window
};

struct BenchOptions {
  uint32_t prompt_tokens = 512;     // 0: no prefill test
  uint32_t generated_tokens = 128;  // 0: no decode test
  uint32_t depth = 0;               // positions already in the KV cache
  uint32_t sequences = 1;           // that decode side by side; tokens per second are of all
  uint32_t repetitions = 5;
  bool profile = false;  // also on with QUALIA_LLM_GPU_PROFILE
};

struct BenchRow {
  std::string test;  // "pp512", "tg128", "pp512 @ d4096", "tg128 x8"
  double tok_s_median = 0, tok_s_min = 0, tok_s_max = 0;
  uint32_t runs = 0;
  uint64_t bytes_per_token = 0;  // weights and KV read per token (decode) or per prefill / tokens
  double gb_per_s = 0;           // bytes_per_token * tok_s_median
  std::optional<double> ceiling_share;  // of the measured read bandwidth; unset: not measured
  // Of the last run of a profiled bench, whose speeds are all perturbed by it.
  std::optional<ProfileReport> profile{};
  std::string profile_lacks{};  // why a bench that was to be profiled is not; empty: it is, or off
};

class QUALIA_API Model {
 public:
  // Errors: not_found, corrupt_file, unsupported, out_of_memory; a lane or backend that was asked
  // for and isn't there is not_found and lists what there is.
  static Result<Model> load(const Runtime& runtime, const std::filesystem::path& path,
                            const ModelOptions& options = {});

  const ModelInfo& info() const;
  const PathReport& path() const;
  // nullptr: the file has no tokenizer, or one this build can't read (tokenizer_error() says why).
  const Tokenizer* tokenizer() const;
  const std::optional<Error>& tokenizer_error() const;
  // Why the file's chat template can't be used; such a model still completes raw text.
  const std::optional<Error>& chat_template_error() const;

  // The logits after each of the last `last` tokens, with the `top` best ids of each.
  // Errors: invalid_argument for an empty list, an id out of range or more tokens than the context.
  Result<std::vector<PositionLogits>> logits(std::span<const TokenId> tokens, uint32_t last,
                                             uint32_t top) const;
  // Mean negative log likelihood of `text` over non-overlapping windows of `window` tokens, every
  // position but the first scored; a trailing partial window is dropped.
  // `progress` gets positions done and all; `cancel` is polled at each of them.
  Result<PerplexityReport> perplexity(std::string_view text, uint32_t window,
                                      const std::function<void(uint64_t, uint64_t)>& progress = {},
                                      const std::function<bool()>& cancel = {}) const;
  // `progress` gets runs done and all, outside the timed part; `cancel` is polled between batches.
  Result<std::vector<BenchRow>> bench(const BenchOptions& options,
                                      const std::function<void(uint64_t, uint64_t)>& progress = {},
                                      const std::function<bool()>& cancel = {}) const;

  // Decodes as bench does and tells where the time goes. `progress` and `cancel` as there.
  // Errors: unsupported with the reason where the lane or its device reads no clock;
  // invalid_argument for no tokens at all, or more than the context has.
  Result<ProfileReport> profile(const ProfileOptions& options,
                                const std::function<void(uint64_t, uint64_t)>& progress = {},
                                const std::function<bool()>& cancel = {}) const;

  struct State;
  State& state() const { return *state_; }

 private:
  explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
  // Shared with the sessions on it.
  std::shared_ptr<State> state_;
};

struct MetadataEntry {
  std::string key;
  std::string type;   // "u32", "string", "array of string", ...
  std::string value;  // as people read it; long strings and arrays are cut, and say so
};

struct TensorEntry {
  std::string name;
  std::string type;             // "Q4_1"
  std::vector<uint64_t> shape;  // innermost first
  uint64_t offset = 0;          // in its file
  uint64_t size_bytes = 0;
  std::string file;  // of a split model, the one that holds it
};

struct FileReport {
  uint32_t version = 0;
  std::vector<std::filesystem::path> files;
  std::vector<MetadataEntry> metadata;
  std::vector<TensorEntry> tensors;
};

// What a GGUF file contains; the model need not be one that this build can run.
QUALIA_API Result<FileReport> inspect_file(const std::filesystem::path& path);

}  // namespace qualia

// A GGUF model on a lane, for tests of whole models against stored references.
// QUALIA_CPU_MASK hides instruction sets from the cpu lane, as it does from a Runtime.
// Thread-safety: one owner.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lanes/lane.h"

namespace qualia::test {

using lanes::TokenId;

// Where tools/fetch_default_model.sh puts the default model.
std::filesystem::path default_model_path();

nlohmann::json read_json(const std::filesystem::path& path);

// The golden file of the default model, one case of it, and the nll of each perplexity window.
nlohmann::json golden_case(const std::string& id);
nlohmann::json golden_windows();

double log_sum_exp(const std::vector<float>& logits);
TokenId argmax(const std::vector<float>& logits);

struct LaneChoice {
  std::string lane = "reference";  // or "cpu"
  Precision precision = Precision::exact;
  KvType kv = KvType::automatic;
};

class GoldenModel {
 public:
  // The error's message is a sentence for people; a missing default model says what fetches it.
  static Result<GoldenModel> load(const std::filesystem::path& path, const LaneChoice& choice = {});

  // Logits after each token from index `first_output` on, fed from position 0 in batches.
  // `take` gets the position and its logits.
  using Take = std::function<void(size_t position, const std::vector<float>& logits)>;
  Result<void> feed(std::span<const TokenId> tokens, size_t first_output, const Take& take);

  // Negative log-likelihoods over the first `window_count` windows of the perplexity text.
  struct PerplexityRun {
    std::vector<double> window_nll;  // mean per window
    size_t argmax_equal = 0;         // of window_count * window positions
    double mean_nll() const;
  };
  Result<PerplexityRun> run_windows(const nlohmann::json& entry, size_t window_count);

  lanes::LaneModel& lane() { return *lane_; }

 private:
  std::unique_ptr<lanes::LaneModel> lane_;
};

}  // namespace qualia::test

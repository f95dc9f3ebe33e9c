// A GGUF model on the reference lane, for tests of whole models.
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

class GoldenModel {
 public:
  // The error's message is a sentence for people; a missing default model says what fetches it.
  static Result<GoldenModel> load(const std::filesystem::path& path);

  // Logits after each token from index `first_output` on, fed from position 0 in batches.
  // `take` gets the position and its logits.
  using Take = std::function<void(size_t position, const std::vector<float>& logits)>;
  Result<void> feed(std::span<const TokenId> tokens, size_t first_output, const Take& take);

 private:
  std::unique_ptr<lanes::LaneModel> lane_;
};

}  // namespace qualia::test

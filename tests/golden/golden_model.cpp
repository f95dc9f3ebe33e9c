#include "golden/golden_model.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "hardware/cpu.h"
#include "lanes/reference/reference_lane.h"
#include "model/architecture.h"

namespace qualia::test {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path cache_folder() {
  if (const std::string folder = environment("QUALIA_CACHE_DIR"); !folder.empty()) return folder;
  const std::filesystem::path xdg = environment("XDG_CACHE_HOME");
  if (xdg.is_absolute()) return xdg / "qualia";
  return std::filesystem::path(environment("HOME")) / ".cache" / "qualia";
}

}  // namespace

std::filesystem::path default_model_path() {
  return cache_folder() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

Result<GoldenModel> GoldenModel::load(const std::filesystem::path& path) {
  if (path == default_model_path() && !std::filesystem::exists(path)) {
    return not_found("The default model is not at '{}': tools/fetch_default_model.sh fetches it.",
                     path.string());
  }
  QUALIA_ASSIGN(const gguf::File file, gguf::File::open(path));
  QUALIA_ASSIGN(const model::Decoder decoder, model::read_decoder(file));
  lanes::LoadOptions options;
  options.thread_count = hardware::default_thread_count(hardware::count_cpus());
  GoldenModel model;
  QUALIA_ASSIGN(model.lane_,
                lanes::make_reference_lane()->load(decoder.spec, decoder.weights, options));
  return model;
}

Result<void> GoldenModel::feed(std::span<const TokenId> tokens, size_t first_output,
                               const Take& take) {
  std::vector<lanes::PageId> pages(tokens.size() / lanes::kPagePositions + 1);
  std::iota(pages.begin(), pages.end(), 0U);
  QUALIA_TRY(lane_->reserve_pages(static_cast<uint32_t>(pages.size())));
  const lanes::SequenceView sequence{pages};
  for (size_t begin = 0; begin < tokens.size();) {
    const size_t end = std::min<size_t>(tokens.size(), begin + lane_->resident().batch_rows);
    std::vector<lanes::Row> rows;
    for (size_t i = begin; i < end; ++i) {
      const auto output =
          i < first_output ? lanes::RowOutputKind::none : lanes::RowOutputKind::logits;
      rows.push_back({tokens[i], 0, static_cast<uint32_t>(i), output});
    }
    QUALIA_ASSIGN(const lanes::StepOutput output, lane_->forward({rows, {&sequence, 1}}));
    const size_t first = std::max(begin, first_output);
    for (size_t i = 0; i < output.rows.size(); ++i) take(first + i, output.rows[i].logits);
    begin = end;
  }
  return {};
}

}  // namespace qualia::test

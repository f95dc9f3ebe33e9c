#include "golden/golden_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "hardware/cpu.h"
#include "lanes/cpu/cpu_lane.h"
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

double log_sum_exp(const std::vector<float>& logits) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

TokenId argmax(const std::vector<float>& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

nlohmann::json golden_case(const std::string& id) {
  const nlohmann::json golden = read_json("tests/data/golden/smollm2-135m-instruct-q4_1.json");
  for (const nlohmann::json& entry : golden.at("cases")) {
    if (entry.at("id") == id) return entry;
  }
  QUALIA_CHECK(false);  // a case that the file lacks is a mistake in a test
  return {};
}

nlohmann::json golden_windows() {
  return read_json("tests/data/golden/smollm2-135m-instruct-q4_1-windows.json");
}

double GoldenModel::PerplexityRun::mean_nll() const {
  return std::accumulate(window_nll.begin(), window_nll.end(), 0.0) /
         static_cast<double>(window_nll.size());
}

Result<GoldenModel> GoldenModel::load(const std::filesystem::path& path, const LaneChoice& choice) {
  if (path == default_model_path() && !std::filesystem::exists(path)) {
    return not_found("The default model is not at '{}': tools/fetch_default_model.sh fetches it.",
                     path.string());
  }
  QUALIA_ASSIGN(const gguf::File file, gguf::File::open(path));
  QUALIA_ASSIGN(const model::Decoder decoder, model::read_decoder(file));
  lanes::LoadOptions options;
  options.thread_count = hardware::default_thread_count(hardware::count_cpus());
  options.precision = choice.precision;
  options.kv = choice.kv;
  // As Runtime::create does, so that the checks can be run for each instruction set.
  QUALIA_ASSIGN(
      const lanes::cpu::CpuFeatures features,
      lanes::cpu::hide_features(lanes::cpu::detect_cpu_features(), environment("QUALIA_CPU_MASK")));
  const std::unique_ptr<lanes::Lane> lane =
      choice.lane == "cpu" ? lanes::make_cpu_lane(features) : lanes::make_reference_lane();
  GoldenModel model;
  QUALIA_ASSIGN(model.lane_, lane->load(decoder.spec, decoder.weights, options));
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

Result<GoldenModel::PerplexityRun> GoldenModel::run_windows(const nlohmann::json& entry,
                                                            size_t window_count) {
  const auto tokens = entry.at("tokens").get<std::vector<TokenId>>();
  const auto size = entry.at("window").get<size_t>();
  PerplexityRun run;
  for (size_t window = 0; window < window_count; ++window) {
    const std::span<const TokenId> part = std::span(tokens).subspan(window * size, size);
    double sum = 0.0;
    QUALIA_TRY(feed(part, 0, [&](size_t position, const std::vector<float>& logits) {
      const TokenId expected = entry.at("argmax").at(window * size + position).get<TokenId>();
      if (argmax(logits) == expected) ++run.argmax_equal;
      if (position + 1 == size) return;  // what follows belongs to the next window
      sum += log_sum_exp(logits) -
             static_cast<double>(logits[static_cast<size_t>(part[position + 1])]);
    }));
    run.window_nll.push_back(sum / static_cast<double>(size - 1));
  }
  return run;
}

}  // namespace qualia::test

#include "json.h"

#include <nlohmann/json.hpp>

#include "option_values.h"

namespace qualia::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json path_json(const PathReport& path) {
  return {{"lane", path.lane},
          {"device", path.device},
          {"backend", path.backend},
          {"winning_circuit", path.winning_circuit},
          {"rationale", path.rationale}};
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json phases_json(const ProfileReport& report) {
  Json list = Json::array();
  for (const ProfilePhase& phase : report.phases)
    list.push_back({{"phase", to_string(phase.phase)},
                    {"total_ns", phase.total_ns},
                    {"calls", phase.calls},
                    {"share", or_null(phase.share)}});
  return list;
}

Json ops_json(const ProfileReport& report) {
  Json list = Json::array();
  for (const ProfileOp& op : report.ops)
    list.push_back({{"name", op.name},
                    {"phase", to_string(op.phase)},
                    {"calls", op.calls},
                    {"total_ns", op.total_ns},
                    {"bytes", op.bytes},
                    {"multiply_adds", op.multiply_adds},
                    {"gb_per_s", or_null(op.gb_per_s)},
                    {"gflop_per_s", or_null(op.gflop_per_s)},
                    {"ceiling_share", or_null(op.ceiling_share)}});
  return list;
}

// What a report and a profiled bench's row have in common.
void add_phases(Json& entry, const ProfileReport& report) {
  entry["phases"] = phases_json(report);
  entry["steps"] = report.steps;
  entry["wall_ns"] = report.wall_ns;
  entry["busy_ns"] = report.busy_ns;
  entry["unattributed_ns"] = report.unattributed_ns;
  entry["dropped"] = report.dropped;
  entry["perturbed"] = report.perturbed;
}

}  // namespace

std::string to_json(const Reply& reply, const Model& model, double load_ms) {
  const Timings& timings = reply.timings;
  return dump({{"model", model.info().path.string()},
               {"text", reply.text},
               {"tokens", reply.tokens},
               {"prompt_tokens", reply.prompt_tokens},
               {"completion_tokens", reply.completion_tokens},
               {"finish_reason", to_string(reply.finish_reason)},
               {"seed", reply.seed},
               {"timings",
                {{"load_ms", load_ms},
                 {"prefill_ms", timings.prefill_ms},
                 {"prefill_tok_s", timings.prefill_tok_s()},
                 {"decode_ms", timings.decode_ms},
                 {"decode_tok_s", timings.decode_tok_s()}}},
               {"path", path_json(model.path())}});
}

std::string to_json(std::span<const TokenId> ids) {
  return dump(Json(std::vector<TokenId>(ids.begin(), ids.end())));
}

std::string to_json(const std::string& text) { return dump(Json{{"text", text}}); }

std::string to_json(const std::vector<PositionLogits>& positions) {
  Json list = Json::array();
  for (const PositionLogits& position : positions)
    list.push_back({{"position", position.position},
                    {"top_ids", position.top_ids},
                    {"top_logits", position.top_logits},
                    {"logsumexp", position.logsumexp}});
  return dump({{"positions", std::move(list)}});
}

std::string to_json(const PerplexityReport& report) {
  return dump({{"tokens", report.tokens},
               {"windows", report.windows},
               {"mean_nll", report.mean_nll},
               {"perplexity", report.perplexity},
               {"argmax", report.argmax}});
}

std::string to_json(const std::vector<BenchRow>& rows, const Model& model) {
  Json list = Json::array();
  for (const BenchRow& row : rows) {
    Json entry{{"test", row.test},
               {"lane", model.path().lane},
               {"device", model.path().device},
               {"backend", model.path().backend},
               {"precision", word_of(model.info().precision, kPrecisions)},
               {"kv", word_of(model.info().kv, kKvTypes)},
               {"tok_s_median", row.tok_s_median},
               {"tok_s_min", row.tok_s_min},
               {"tok_s_max", row.tok_s_max},
               {"runs", row.runs},
               {"bytes_per_token", row.bytes_per_token},
               {"gb_per_s", row.gb_per_s},
               {"ceiling_share", nullptr}};
    if (row.ceiling_share) entry["ceiling_share"] = *row.ceiling_share;
    if (row.profile) add_phases(entry, *row.profile);
    if (!row.profile_lacks.empty()) {
      entry["phases"] = nullptr;
      entry["perturbed"] = false;
      entry["profile_lacks"] = row.profile_lacks;
    }
    list.push_back(std::move(entry));
  }
  return dump(list);
}

std::string to_json(const ProfileReport& report, const Model& model) {
  Json document{{"lane", model.path().lane},
                {"device", model.path().device},
                {"backend", model.path().backend},
                {"tokens", report.tokens},
                {"prompt_tokens", report.prompt_tokens},
                {"depth", report.depth}};
  add_phases(document, report);
  document["ops"] = ops_json(report);
  document["every"] = report.every;
  document["granularity"] = report.granularity;
  document["read_bytes_per_s"] = or_null(report.read_bytes_per_s);
  document["tok_s"] = or_null(report.tok_s);
  document["note"] =
      "tok_s is that of the profiled run, perturbed by reading clocks; it is not the speed of an "
      "ordinary run.";
  return dump(document);
}

std::string to_json(const FileReport& report) {
  Json files = Json::array();
  for (const auto& file : report.files) files.push_back(file.string());
  Json metadata = Json::array();
  for (const MetadataEntry& entry : report.metadata)
    metadata.push_back({{"key", entry.key}, {"type", entry.type}, {"value", entry.value}});
  Json tensors = Json::array();
  for (const TensorEntry& tensor : report.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"offset", tensor.offset},
                       {"size_bytes", tensor.size_bytes},
                       {"file", tensor.file}});
  return dump({{"version", report.version},
               {"files", std::move(files)},
               {"metadata", std::move(metadata)},
               {"tensors", std::move(tensors)}});
}

}  // namespace qualia::cli

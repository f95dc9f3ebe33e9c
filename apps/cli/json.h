// The JSON documents that scripts rely on (docs/cli.md gives their shapes).
// Thread-safety: pure. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qualia/model.h"
#include "qualia/session.h"

namespace qualia::cli {

std::string to_json(const Reply& reply, const Model& model, double load_ms);
std::string to_json(std::span<const TokenId> ids);
std::string to_json(const std::string& text);
std::string to_json(const std::vector<PositionLogits>& positions);
std::string to_json(const PerplexityReport& report);
std::string to_json(const std::vector<BenchRow>& rows, const Model& model);
std::string to_json(const ProfileReport& report, const Model& model);
std::string to_json(const FileReport& report);

}  // namespace qualia::cli

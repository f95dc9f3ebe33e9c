#include "gguf/split.h"

#include <fmt/format.h>

#include "base/error.h"

namespace qualia::gguf {
namespace {

std::string suffix_of(uint32_t index, uint32_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", uint64_t{index} + 1, count);
}

}  // namespace

Result<SplitInfo> read_split_info(const Metadata& metadata, std::string_view file_name) {
  constexpr uint64_t kCountMax = 65535;  // gguf-split stores a u16
  QUALIA_ASSIGN(const auto count, uint_of(metadata.find("split.count"), file_name));
  if (!count || *count <= 1) return SplitInfo{};
  if (*count > kCountMax)
    return corrupt_file("Key 'split.count' of '{}' is {} (at most {}).", file_name, *count,
                        kCountMax);
  QUALIA_ASSIGN(const auto index, uint_of(metadata.find("split.no"), file_name));
  if (!index)
    return corrupt_file("'{}' is one of {} files of a split model and lacks the key 'split.no'.",
                        file_name, *count);
  if (*index >= *count)
    return corrupt_file("Key 'split.no' of '{}' is {} ('split.count' is {}).", file_name, *index,
                        *count);
  SplitInfo info{static_cast<uint32_t>(*index), static_cast<uint32_t>(*count), {}};
  QUALIA_ASSIGN(info.tensor_count, uint_of(metadata.find("split.tensors.count"), file_name));
  return info;
}

Result<std::vector<std::filesystem::path>> sibling_paths(const std::filesystem::path& path,
                                                         const SplitInfo& info) {
  const std::string name = path.filename().string();
  const std::string suffix = suffix_of(info.index, info.count);
  if (!name.ends_with(suffix))
    return corrupt_file("'{}' is file {} of {} of a split model, and its name doesn't end in '{}'.",
                        path.string(), info.index + 1, info.count, suffix);
  const std::string prefix = name.substr(0, name.size() - suffix.size());
  std::vector<std::filesystem::path> paths;
  for (uint32_t i = 0; i < info.count; ++i)
    paths.push_back(path.parent_path() / (prefix + suffix_of(i, info.count)));
  return paths;
}

}  // namespace qualia::gguf

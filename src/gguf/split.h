// Split models: NAME-00001-of-00003.gguf and its siblings in the same folder.
// Thread-safety: pure.
// Facts: numbers in names are 1-based and five digits wide; split.no is 0-based, split.count is the
// number of files, split.tensors.count the tensors of all files (llama.cpp's gguf-split).
// Errors: corrupt_file; the message names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "qualia/result.h"

namespace qualia::gguf {

struct SplitInfo {
  uint32_t index = 0;  // 0-based
  uint32_t count = 1;  // 1: not split
  std::optional<uint64_t> tensor_count;
};

// What a file's split.* keys say about it.
Result<SplitInfo> read_split_info(const Metadata& metadata, std::string_view file_name);

// The names of all files, in order, derived from one file's path and its split info (count > 1).
Result<std::vector<std::filesystem::path>> sibling_paths(const std::filesystem::path& path,
                                                         const SplitInfo& info);

}  // namespace qualia::gguf

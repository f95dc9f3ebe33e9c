// One file of a model: header, metadata and tensor directory of one run of bytes.
// Thread-safety: values; everything points into `map`, which stays where it is when moved.
// Errors: corrupt_file, unsupported (a version, a big-endian file, a tensor type).
#pragma once

#include <string>
#include <vector>

#include "base/file_map.h"
#include "gguf/gguf_file.h"
#include "gguf/metadata.h"
#include "gguf/split.h"

namespace qualia::gguf {

struct Part {
  FileMap map;
  uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;
  SplitInfo split;
};

// `file_name` is for error sentences.
Result<Part> read_part(FileMap map, const std::string& file_name);

}  // namespace qualia::gguf

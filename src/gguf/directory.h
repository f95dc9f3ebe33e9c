// The tensor directory of one GGUF file.
// Thread-safety: pure; names point into the file's bytes, which must outlive them.
// Units: offsets in bytes from the start of the file.
// Every returned tensor lies inside the file, aligned, apart from all others; order and gaps are
// free. So all sizes together never exceed the file, though its directory may claim anything.
// Errors: corrupt_file, unsupported (a tensor type); the message names file and tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "gguf/cursor.h"
#include "gguf/gguf_file.h"
#include "gguf/metadata.h"

namespace qualia::gguf {

// general.alignment: 32 where absent; a power of two stored as u32, else an error.
Result<uint32_t> read_alignment(const Metadata& metadata, std::string_view file_name);

// Reads `count` tensors (the cursor stands behind the metadata) and checks their ranges. file_index
// stays 0. Names may still repeat: order_by_name and find_duplicate tell over all files of a model.
Result<std::vector<TensorInfo>> read_directory(Cursor& cursor, uint64_t count, uint32_t alignment);

}  // namespace qualia::gguf

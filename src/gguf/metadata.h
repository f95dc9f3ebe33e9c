// The key-value section of a GGUF file, and typed access to its values.
// Thread-safety: values; the string views point into the file's bytes, which must outlive them.
// Limits: keys 1 to 65535 bytes (the format's), strings 256 MiB, arrays nested 8 deep with 16 Mi
// items and 64 Ki inner arrays a file. The largest known: a 33 MB tokenizer text, 1.3 million
// items. Errors: corrupt_file; the message names file and key.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gguf/cursor.h"
#include "gguf/gguf_file.h"

namespace qualia::gguf {

struct Metadata {
  std::vector<Entry> entries;   // in the file's order
  std::vector<uint32_t> order;  // indices sorted by key

  const Entry* find(std::string_view key) const;
};

// "u32", "string", ...
std::string_view value_type_name(ValueType type);

// Reads `count` pairs and leaves the cursor behind them.
Result<Metadata> read_metadata(Cursor& cursor, uint64_t count);

// Typed access to one entry (nullptr: absent); `file_name` is for the error sentence.
Result<std::optional<uint64_t>> uint_of(const Entry* entry, std::string_view file_name);
Result<std::optional<double>> float_of(const Entry* entry, std::string_view file_name);
Result<std::optional<bool>> bool_of(const Entry* entry, std::string_view file_name);
Result<std::optional<std::string_view>> string_of(const Entry* entry, std::string_view file_name);
Result<const Array*> array_of(const Entry* entry, std::string_view file_name);

}  // namespace qualia::gguf

// Errors about a model's content that name its file: rooms that read one file of many don't know
// it. Thread-safety: pure.
#pragma once

#include <filesystem>
#include <utility>

#include "base/error.h"

namespace qualia::api {

// The error, with the file's path in front of its sentence unless the sentence has it already.
inline tl::unexpected<Error> in_file(const std::filesystem::path& path, Error error) {
  if (error.message.find(path.string()) == std::string::npos)
    error.message = fmt::format("'{}': {}", path.string(), error.message);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace qualia::api

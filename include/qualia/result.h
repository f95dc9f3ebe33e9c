// Result and Error: how every fallible call of qualia answers.
// Thread-safety: values; copy and move freely.
// An Error's message is one clear sentence in the present tense that names what failed, with the
// actual value and the limit; programs print it as it is.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace qualia {

enum class ErrorCode {
  invalid_argument,  // the caller's value is outside what is allowed (usage)
  not_found,         // a file, device, lane or model that was asked for is not there
  corrupt_file,      // a file's content contradicts its format
  unsupported,       // well-formed, but this build or lane lacks it; the message names what
  io,                // the operating system refused to read or write
  out_of_memory,     // does not fit; the message has needed and available bytes
  context_full,      // the sequence has no room for another token
  device_lost,       // the device went away; other devices still work
  cancelled,         // the caller asked to stop
  numeric,           // NaN or infinity where a finite number must be
  internal,          // a fault of qualia itself
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

}  // namespace qualia

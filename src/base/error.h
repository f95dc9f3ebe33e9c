// Making and passing on errors: constructors per ErrorCode, QUALIA_TRY, QUALIA_ASSIGN,
// QUALIA_CHECK. Thread-safety: pure. Result is the world's fault and travels to the caller;
// QUALIA_CHECK is our own bug and ends the process with the place and the condition.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "qualia/result.h"

namespace qualia {

inline tl::unexpected<Error> make_error(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// One constructor per code, each with fmt arguments:
//   return corrupt_file("Tensor '{}' ends at {} (file has {} bytes).", name, end, size);
#define QUALIA_ERROR_CONSTRUCTOR(name)                                                    \
  template <typename... Args>                                                             \
  tl::unexpected<Error> name(fmt::format_string<Args...> format, Args&&... args) {        \
    return make_error(ErrorCode::name, fmt::format(format, std::forward<Args>(args)...)); \
  }
QUALIA_ERROR_CONSTRUCTOR(invalid_argument)
QUALIA_ERROR_CONSTRUCTOR(not_found)
QUALIA_ERROR_CONSTRUCTOR(corrupt_file)
QUALIA_ERROR_CONSTRUCTOR(unsupported)
QUALIA_ERROR_CONSTRUCTOR(io)
QUALIA_ERROR_CONSTRUCTOR(out_of_memory)
QUALIA_ERROR_CONSTRUCTOR(context_full)
QUALIA_ERROR_CONSTRUCTOR(device_lost)
QUALIA_ERROR_CONSTRUCTOR(cancelled)
QUALIA_ERROR_CONSTRUCTOR(numeric)
QUALIA_ERROR_CONSTRUCTOR(internal)
#undef QUALIA_ERROR_CONSTRUCTOR

// Prints the place and the message to standard error and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace qualia

#define QUALIA_CONCAT_INNER(a, b) a##b
#define QUALIA_CONCAT(a, b) QUALIA_CONCAT_INNER(a, b)

// Returns the error of a Result<void> expression to the caller, if it has one. The hidden variable
// has a name of its own (__COUNTER__), since the expression may hold a lambda that uses the macros.
#define QUALIA_TRY(expression) \
  QUALIA_TRY_INNER(QUALIA_CONCAT(qualia_result_, __COUNTER__), expression)
#define QUALIA_TRY_INNER(result, expression)                                        \
  do {                                                                              \
    auto result = (expression);                                                     \
    if (!result) return tl::unexpected<::qualia::Error>(std::move(result).error()); \
  } while (false)

// QUALIA_ASSIGN(auto value, expression): the value of a Result, or returns its error to the caller.
#define QUALIA_ASSIGN(declaration, expression) \
  QUALIA_ASSIGN_INNER(QUALIA_CONCAT(qualia_result_, __COUNTER__), declaration, expression)
#define QUALIA_ASSIGN_INNER(result, declaration, expression)                      \
  auto result = (expression);                                                     \
  if (!result) return tl::unexpected<::qualia::Error>(std::move(result).error()); \
  declaration = std::move(*result)

#define QUALIA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::qualia::check_failed(#condition, __FILE__, __LINE__))

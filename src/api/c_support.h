// What the files of the C ABI share: the handles, the seam that no exception passes, checks of
// arguments, texts and arrays handed to a caller's buffer, structs that can grow.
// Thread-safety: pure.
// Errors: invalid_argument names the argument.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "qualia/model.h"
#include "qualia/qualia_c.h"
#include "qualia/runtime.h"
#include "qualia/session.h"
#include "qualia/tokenizer.h"

struct qualia_error {
  qualia_status status;
  std::string message;
};
struct qualia_runtime {
  qualia::Runtime runtime;
};
struct qualia_tokenizer {
  qualia::Tokenizer tokenizer;
};
struct qualia_model {
  qualia::Model model;
  std::string path;  // of its info, as a C string
};
struct qualia_session {
  qualia::Session session;
};
struct qualia_cancel {
  std::atomic<bool> is_set{false};
};
struct qualia_reply {
  qualia::Reply reply;
};

namespace qualia::api {

qualia_status to_status(ErrorCode code);

// Hands the caller an error object, or none where there is no memory for it; returns its status.
qualia_status report(qualia_error** error, ErrorCode code, const char* message) noexcept;

// Runs `body`, which returns Result<void>.
template <typename Body>
qualia_status seam(qualia_error** error, const Body& body) noexcept {
  if (error) *error = nullptr;
  try {
    const Result<void> result = body();
    if (result) return QUALIA_OK;
    return report(error, result.error().code, result.error().message.c_str());
  } catch (const std::bad_alloc&) {
    return report(error, ErrorCode::out_of_memory, "The system gives no more memory.");
  } catch (const std::exception& exception) {
    return report(error, ErrorCode::internal, exception.what());
  } catch (...) {
    return report(error, ErrorCode::internal, "An exception of an unknown type is thrown.");
  }
}

inline Result<void> need(const void* pointer, const char* name) {
  if (pointer) return {};
  return invalid_argument("Argument '{}' is NULL.", name);
}

// An array of the caller's; NULL is fine where it is empty.
template <typename T>
Result<std::span<const T>> need_array(const T* items, size_t count, const char* name) {
  if (count > 0) QUALIA_TRY(need(items, name));
  return std::span<const T>(items, count);
}

inline Result<std::string_view> need_text(const char* text, size_t size_bytes, const char* name) {
  if (size_bytes > 0) QUALIA_TRY(need(text, name));
  if (size_bytes == QUALIA_ZSTRING) return std::string_view(text);
  return std::string_view(text, size_bytes);
}

inline std::string text_or_empty(const char* text) { return text ? text : ""; }

// Copies `text` and a NUL, cut to fit. REQUIRES: `to` has `capacity` bytes.
inline void copy_text(std::string_view text, char* to, size_t capacity) {
  if (capacity == 0) return;
  const size_t copied = std::min(text.size(), capacity - 1);
  std::memcpy(to, text.data(), copied);
  to[copied] = '\0';
}

// The options of a caller that was built with another version of this library: fields that it does
// not have keep the value in `defaults`, fields that this library does not have must be zero.
// `first_bytes` is the size of the struct when it was first published.
template <typename T>
Result<T> read_growing(const T* given, const T& defaults, size_t first_bytes, const char* name) {
  if (!given) return defaults;
  const size_t size = given->struct_size;
  if (size < first_bytes)
    return invalid_argument("Argument '{}' has struct_size {} (at least {}).", name, size,
                            first_bytes);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return invalid_argument(
          "Argument '{}' sets a field at byte {} (this library knows {} bytes).", name, i,
          sizeof(T));
  T read = defaults;
  std::memcpy(&read, given, std::min(size, sizeof(T)));
  return read;
}

// Fills as much of a caller's struct as both sides know and clears the rest.
template <typename T>
Result<void> write_growing(T* to, T from, const char* name) {
  QUALIA_TRY(need(to, name));
  const size_t size = to->struct_size;
  if (size < sizeof(size_t))
    return invalid_argument("Argument '{}' has struct_size {} (at least {}).", name, size,
                            sizeof(size_t));
  from.struct_size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &from, std::min(size, sizeof(T)));
  return {};
}

// The body of a *_init function.
template <typename T>
void init_growing(T* to, const T& defaults, size_t struct_size) noexcept {
  if (!to || struct_size < sizeof(size_t)) return;
  T from = defaults;
  from.struct_size = struct_size;
  std::memset(static_cast<void*>(to), 0, struct_size);
  std::memcpy(static_cast<void*>(to), &from, std::min(struct_size, sizeof(T)));
}

}  // namespace qualia::api

// C ABI: version, log level, errors, runtime.

#include "api/c_support.h"
#include "qualia/version.h"

namespace qualia::api {

// The codes of the C ABI are those of ErrorCode in its order, one higher.
qualia_status to_status(ErrorCode code) { return static_cast<qualia_status>(code) + 1; }
static_assert(static_cast<int>(ErrorCode::invalid_argument) + 1 == QUALIA_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorCode::context_full) + 1 == QUALIA_CONTEXT_FULL);
static_assert(static_cast<int>(ErrorCode::internal) + 1 == QUALIA_INTERNAL);

qualia_status report(qualia_error** error, ErrorCode code, const char* message) noexcept {
  const qualia_status status = to_status(code);
  if (!error) return status;
  try {
    *error = new qualia_error{status, message};
  } catch (const std::bad_alloc&) {
    *error = nullptr;
  }
  return status;
}

}  // namespace qualia::api

using namespace qualia;  // NOLINT: the functions of the C ABI stand in no namespace
using namespace qualia::api;

const char* qualia_version(void) { return version().data(); }
const char* qualia_build_id(void) { return build_id().data(); }

qualia_status qualia_set_log_level(const char* level, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(level, "level"));
    return set_log_level(std::string_view(level));
  });
}

qualia_status qualia_error_status(const qualia_error* error) {
  return error ? error->status : QUALIA_OK;
}
const char* qualia_error_message(const qualia_error* error) {
  return error ? error->message.c_str() : "";
}
void qualia_error_free(qualia_error* error) { delete error; }

qualia_status qualia_runtime_create(qualia_runtime** runtime, qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(runtime, "runtime"));
    QUALIA_ASSIGN(Runtime created, Runtime::create());
    *runtime = new qualia_runtime{std::move(created)};
    return {};
  });
}

void qualia_runtime_free(qualia_runtime* runtime) { delete runtime; }

qualia_status qualia_runtime_fetch_default_model(const qualia_runtime* runtime, char* path,
                                                 size_t capacity, size_t* size_bytes,
                                                 qualia_error** error) {
  return seam(error, [&]() -> Result<void> {
    QUALIA_TRY(need(runtime, "runtime"));
    QUALIA_TRY(need(size_bytes, "size_bytes"));
    if (capacity > 0) QUALIA_TRY(need(path, "path"));
    QUALIA_ASSIGN(const std::filesystem::path fetched, runtime->runtime.fetch_default_model());
    *size_bytes = fetched.native().size();
    copy_text(fetched.native(), path, capacity);
    return {};
  });
}

#include "api/own_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace qualia::api {

Result<std::filesystem::path> own_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_library), &info) == 0 || !info.dli_fname)
    return not_found("The folder of the qualia library can't be told.");
  std::error_code error;
  auto library = std::filesystem::canonical(info.dli_fname, error);
  if (error)
    return not_found("The qualia library '{}' is gone: {}.", info.dli_fname, error.message());
  return library;
}

}  // namespace qualia::api

#include "qualia/version.h"

#include "api/build_id.h"

namespace qualia {

std::string_view version() { return api::kVersion; }
std::string_view build_id() { return api::kBuildId; }

}  // namespace qualia

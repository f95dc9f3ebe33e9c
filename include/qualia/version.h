// The version and build of the library in use.
// Thread-safety: pure.
#pragma once

#include <string_view>

#include "qualia/export.h"

namespace qualia {

// "0.1.0"
QUALIA_API std::string_view version();
// "0.1.0 (a1b2c3d4e5f6, Release, gcc 12.2.0)": version, commit, build type and compiler.
QUALIA_API std::string_view build_id();

}  // namespace qualia

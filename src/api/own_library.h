// Where this library lies, and what an installation puts beside it.
// Thread-safety: pure.
// Errors: not_found when the system can't tell.
#pragma once

#include <filesystem>

#include "qualia/result.h"

namespace qualia::api {

// The file that this code was loaded from: the qualia library, or a program that holds it.
Result<std::filesystem::path> own_library();

}  // namespace qualia::api

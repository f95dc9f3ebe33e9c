// What of a decoder spec and of the load options the reference lane can execute.
// Thread-safety: pure.
// Errors: unsupported names the field and its value; corrupt_file for a spec that contradicts
// itself.
#pragma once

#include "lanes/lane.h"

namespace qualia::lanes::reference {

Result<void> check_spec(const ops::DecoderSpec& spec);

// Every precision is served by exact arithmetic; KV is f32 only.
Result<void> check_options(const LoadOptions& options);

}  // namespace qualia::lanes::reference

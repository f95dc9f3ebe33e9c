// What of a decoder spec a lane can execute, and the KV type that goes with its options.
// Thread-safety: pure.
// Errors: unsupported names the field and its value; corrupt_file for a spec that contradicts
// itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "lanes/lane.h"

namespace qualia::lanes {

// `head_dim_max`: the largest head that the lane's attention takes.
Result<void> check_spec(const ops::DecoderSpec& spec, std::string_view lane, uint32_t head_dim_max);

// The type asked for, or the one that goes with the precision: INT8 with fast, f16 with precise,
// f32 with exact.
KvType kv_of(const LoadOptions& options);

// "int8", "f16", "f32", "automatic"
std::string_view kv_name(KvType kv);

}  // namespace qualia::lanes

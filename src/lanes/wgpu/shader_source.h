// Makes a shader of shaders/*.wgsl into the text of one variant.
// Thread-safety: pure.
// Three rewrites:
// - `// include: name` becomes that file's text (reduce and product_sums: the version with
//   subgroups where the constant HAS_SUBGROUPS says so);
// - `override NAME: T = X;` becomes `const NAME: T = value;` with the value that the variant gives,
//   or X;
// - a loop whose opening line ends in `// unroll`, for instance
//   `for (var r = 0u; r < ROWS; r++) {  // unroll`, is written out, since naga turns loops into a
//   form that some compilers don't unroll. Its bound is a constant of the variant or a literal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qualia/result.h"

namespace qualia::lanes::wgpu {

struct ShaderConstant {
  std::string_view name;
  uint32_t value = 0;  // of bool constants 0 or 1
  bool operator==(const ShaderConstant&) const = default;
};

// Errors: internal for a shader that isn't there or a loop without an end.
Result<std::string> shader_variant(std::string_view name,
                                   std::span<const ShaderConstant> constants);
// The same of a shader's text.
Result<std::string> variant_of_text(std::string_view source,
                                    std::span<const ShaderConstant> constants);

}  // namespace qualia::lanes::wgpu

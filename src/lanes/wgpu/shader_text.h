// The WGSL files of shaders/, by name without ending; empty for a name that isn't there.
// Thread-safety: pure.
#pragma once

#include <string_view>

namespace qualia::lanes::wgpu {

std::string_view shader_text(std::string_view name);

}  // namespace qualia::lanes::wgpu

// A half-open range of bytes in some text.
// Thread-safety: value.
#pragma once

#include <cstddef>

namespace qualia {

struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

}  // namespace qualia

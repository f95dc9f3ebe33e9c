#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace qualia {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "qualia: internal fault: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace qualia

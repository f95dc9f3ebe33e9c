// What qualia's helper program does; no other program needs it. qualia starts the helper, which
// lies beside the library (libexec/qualia), where a lane is to live in a process of its own: a GPU
// device that is lost may end the process that holds it.
// Thread-safety: call it once, in a process that does nothing else.
#pragma once

#include "qualia/export.h"
#include "qualia/result.h"

namespace qualia {

// Hosts a lane of this build for the process at the other end of `socket`, which it takes over;
// returns when that end closes. Errors: invalid_argument when it is no socket, or a variable has an
// unknown value; internal when the other end is no qualia of this build.
QUALIA_API Result<void> run_worker(int socket);

}  // namespace qualia

// How a reply appears: its streamed text on standard output, one line about where and how fast it
// ran on standard error.
#pragma once

#include <string>

#include "arguments.h"
#include "qualia/session.h"

namespace qualia::cli {

// "reference / CPU, 2 threads / scalar: 36 prompt tokens at 41.2 tok/s, 8 tokens at 15.1 tok/s"
std::string summary_line(const Model& model, const Reply& reply);

// A sentence about an end that the user should know of; empty for an ordinary one.
std::string finish_note(const Reply& reply);

}  // namespace qualia::cli

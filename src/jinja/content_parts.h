// Whether a template takes message content as a list of parts.
// Thread-safety: pure.
// OpenAI's requests may carry content as [{"type": "text", "text": ...}, ...]. A template that
// loops over the content of a message gets it as it is; any other expects a string and gets the
// texts joined. The rule looks at the source alone: a `for` runs over `x.content`, `x['content']`,
// a variable or macro parameter that holds it, directly or through list filters, `or` or inline if.
// A loop over something made from the content, such as content.split(...), does not count.
// Source: the same question is answered this way by vLLM's content format detection.
#pragma once

#include "jinja/ast.h"

namespace qualia::jinja {

bool loops_over_content(const Program& program);

}  // namespace qualia::jinja

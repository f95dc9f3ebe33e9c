// What a public Model holds.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "qualia/model.h"
#include "tokenizer/chat_template.h"

namespace qualia {

struct Model::State {
  ModelInfo info;
  PathReport path;
  std::optional<Tokenizer> tokenizer;
  std::optional<Error> tokenizer_error;
  // Absent, with or without an error: the model still completes raw text.
  std::optional<tokenizer::ChatTemplate> chat_template;
  std::optional<Error> chat_template_error;
  std::mutex engine_mutex;  // guards engine: calls of all sessions take turns
  std::unique_ptr<engine::Engine> engine;
  size_t thread_count = 1;
  bool profile_is_asked = false;  // by the environment
};

}  // namespace qualia

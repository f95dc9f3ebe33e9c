// Opening the model that the arguments name, or the default one.
#pragma once

#include <filesystem>

#include "arguments.h"
#include "qualia/model.h"
#include "qualia/runtime.h"

namespace qualia::cli {

struct LoadedModel {
  Model model;
  double load_ms = 0;
};

// The file that -m names; without -m the default model, fetched if it is not there yet.
Result<std::filesystem::path> model_path(const Runtime& runtime, const Arguments& arguments);
Result<LoadedModel> load_model(const Runtime& runtime, const Arguments& arguments);

// Reports the error on standard error. Returns 1.
int fail(const Error& error);

}  // namespace qualia::cli

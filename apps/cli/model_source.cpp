#include "model_source.h"

#include <chrono>

#include "interrupt.h"
#include "output.h"
#include "progress.h"

namespace qualia::cli {

Result<std::filesystem::path> model_path(const Runtime& runtime, const Arguments& arguments) {
  if (arguments.model.file) return std::filesystem::path(*arguments.model.file);
  return runtime.fetch_default_model([] { return stop_requested().load(); });
}

Result<LoadedModel> load_model(const Runtime& runtime, const Arguments& arguments) {
  const auto path = model_path(runtime, arguments);
  if (!path) return tl::unexpected(path.error());
  const ModelArguments& wanted = arguments.model;
  const auto start = std::chrono::steady_clock::now();
  auto model = [&] {
    ProgressBar bar("Loading", arguments.quiet);
    return Model::load(runtime, *path,
                       {.lane = wanted.lane,
                        .backend = wanted.backend,
                        .threads = wanted.threads,
                        .context = wanted.context,
                        .kv = wanted.kv,
                        .precision = wanted.precision,
                        .progress = bar.hook(),
                        .in_process = wanted.in_process});
  }();
  if (!model) return tl::unexpected(model.error());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return LoadedModel{std::move(*model), took.count()};
}

int fail(const Error& error) {
  complain(error.message);
  return 1;
}

}  // namespace qualia::cli

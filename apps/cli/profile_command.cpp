#include <fmt/core.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "model_source.h"
#include "output.h"
#include "progress.h"

namespace qualia::cli {
namespace {

Result<void> write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return tl::unexpected(Error{ErrorCode::io, fmt::format("Trace '{}' can't be written: {}.", path,
                                                         std::generic_category().message(errno))});
}

}  // namespace

int profile_command(const Runtime& runtime, const Arguments& arguments) {
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  const auto report = [&] {
    ProgressBar bar("Profile", arguments.quiet);
    return loaded->model.profile(arguments.profile, bar.hook(),
                                 [] { return stop_requested().load(); });
  }();
  if (!report) return fail(report.error());
  if (arguments.trace_file) {
    const auto written = write_file(*arguments.trace_file, to_chrome_trace(*report));
    if (!written) return fail(written.error());
  }
  const bool is_json = arguments.format == OutputFormat::json;
  print(is_json ? to_json(*report, loaded->model) : to_text(*report));
  return 0;
}

}  // namespace qualia::cli

#include "api/default_model.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/log.h"

extern char** environ;

namespace qualia::api {
namespace {

constexpr const char* kScript = "fetch_default_model.sh";

// <prefix>/lib/libqualia.so or <prefix>/bin/<program> -> <prefix>/share/qualia.
Result<std::filesystem::path> find_script() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&fetch_default_model), &info) == 0 || !info.dli_fname)
    return not_found("The folder of the qualia library can't be told.");
  std::error_code error;
  const auto library = std::filesystem::canonical(info.dli_fname, error);
  // Debian keeps libraries one folder deeper (lib/x86_64-linux-gnu).
  for (auto folder = library.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (const auto script = folder / "share" / "qualia" / kScript;
        std::filesystem::exists(script, error))
      return script;
  return not_found("The script {} is not beside the qualia library (share/qualia).", kScript);
}

Result<int> run_script(const std::filesystem::path& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The script prints the path it wrote; our standard output is for the reply.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "sh";
  std::string argument = script.string();
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return io("Starting '{}' fails: {}.", argument, std::strerror(failure));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return io("Waiting for '{}' fails: {}.", argument, std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool has_right_size(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error) == kDefaultModelBytes && !error;
}

}  // namespace

Result<void> fetch_default_model(const std::filesystem::path& path) {
  if (has_right_size(path)) return {};
  QUALIA_ASSIGN(const std::filesystem::path script, find_script());
  log(LogLevel::info, "The default model is fetched into '{}'.", path.parent_path().string());
  QUALIA_ASSIGN(const int status, run_script(script));
  if (status != 0) return io("Fetching the default model fails (exit status {}).", status);
  if (!has_right_size(path)) return io("The fetched default model '{}' is missing.", path.string());
  return {};
}

}  // namespace qualia::api

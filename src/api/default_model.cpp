#include "api/default_model.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "api/own_library.h"
#include "base/error.h"
#include "base/log.h"

extern char** environ;

namespace qualia::api {
namespace {

constexpr const char* kScript = "fetch_default_model.sh";

Result<pid_t> start_script(const std::string& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Our standard input is for the prompt; the script prints the path it wrote, and our standard
  // output is for the reply.
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // Ignored signals would be inherited; the script's pipes count on SIGPIPE.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string program = "sh";
  std::string argument = script;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return io("Starting '{}' fails: {}.", script, std::strerror(failure));
  return child;
}

// The script's exit status.
Result<int> run_script(const std::string& script, const std::function<bool()>& cancel) {
  QUALIA_ASSIGN(const pid_t child, start_script(script));
  int status = 0;
  bool ended = false;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return io("Waiting for '{}' fails: {}.", script, std::strerror(errno));
    if (!cancel || !cancel() || ended) continue;
    ended = true;
    ::kill(child, SIGTERM);  // it removes what it has written so far
  }
  if (ended) return cancelled("Fetching the default model is cancelled.");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool has_right_size(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error) == kDefaultModelBytes && !error;
}

}  // namespace

// <prefix>/lib/libqualia.so or <prefix>/bin/<program> -> <prefix>/share/qualia; Debian keeps
// libraries one folder deeper (lib/x86_64-linux-gnu).
Result<std::filesystem::path> find_fetch_script(const std::filesystem::path& library) {
  std::error_code error;
  for (auto folder = library.parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (auto script = folder / "share" / "qualia" / kScript; std::filesystem::exists(script, error))
      return script;
  return not_found("The script {} is not beside '{}' (share/qualia).", kScript, library.string());
}

Result<void> fetch_default_model(const std::filesystem::path& path,
                                 const std::function<bool()>& cancel) {
  if (has_right_size(path)) return {};
  QUALIA_ASSIGN(const std::filesystem::path library, own_library());
  QUALIA_ASSIGN(const std::filesystem::path script, find_fetch_script(library));
  log(LogLevel::info, "The default model is fetched into '{}'.", path.parent_path().string());
  QUALIA_ASSIGN(const int status, run_script(script.string(), cancel));
  if (status != 0) return io("Fetching the default model fails (exit status {}).", status);
  if (!has_right_size(path)) return io("The fetched default model '{}' is missing.", path.string());
  return {};
}

}  // namespace qualia::api

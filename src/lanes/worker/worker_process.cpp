#include "lanes/worker/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "lanes/worker/poll_until.h"

extern char** environ;

namespace qualia::lanes::worker {
namespace {

constexpr int kWorkerSocket = 3;  // the first after the standard streams
// Variables that choose a path: the parent has chosen, and the worker must not choose again.
constexpr std::array<std::string_view, 3> kPins{
    "QUALIA_WGPU_BACKEND=", "QUALIA_INFERENCE_MODE=", "QUALIA_PATH_AUTO="};
constexpr size_t kLineBytesMax = 4096;  // of words; what is longer is cut
// A killed process that is still there then hangs in the kernel (a driver, a dead disk).
constexpr std::chrono::milliseconds kKillPatience{5000};

std::vector<char*> environment_without_pins() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable);
    if (std::ranges::none_of(kPins, [&](auto pin) { return text.starts_with(pin); })) {
      variables.push_back(*variable);
    }
  }
  variables.push_back(nullptr);
  return variables;
}

class SpawnActions {
 public:
  SpawnActions(int socket, int words) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // A driver may print to standard output, which is for the parent's data.
    posix_spawn_file_actions_adddup2(&actions_, words, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, words, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, socket, kWorkerSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kWorkerSocket + 1);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Signals as a fresh program has them, in a process group of its own.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGXFSZ}) {
      sigaddset(&signals, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

Result<pid_t> spawn(const std::filesystem::path& program, int socket, int words) {
  const SpawnActions actions(socket, words);
  const SpawnAttributes attributes;
  std::string name = program.string();
  std::string number = std::to_string(kWorkerSocket);
  char* const arguments[] = {name.data(), number.data(), nullptr};
  const std::vector<char*> environment = environment_without_pins();
  pid_t id = 0;
  const int failure = posix_spawn(&id, name.c_str(), actions.get(), attributes.get(), arguments,
                                  environment.data());
  if (failure == ENOENT) return not_found("Helper program '{}' does not exist.", name);
  if (failure != 0) return io("Starting '{}' fails: {}.", name, std::strerror(failure));
  return id;
}

FileDescriptor end_descriptor_of(pid_t id) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, id, 0)));
}

// Above the numbers that spawn() hands to the worker: dup2 onto one of them must not close another.
Result<FileDescriptor> moved_up(FileDescriptor low) {
  FileDescriptor high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kWorkerSocket + 1));
  if (!high) return io("A descriptor can't be duplicated: {}.", std::strerror(errno));
  return high;
}

}  // namespace

Result<WorkerProcess::Started> WorkerProcess::start(const std::filesystem::path& program) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return io("A pair of sockets can't be made: {}.", std::strerror(errno));
  }
  FileDescriptor ours(sockets[0]);
  QUALIA_ASSIGN(const FileDescriptor theirs, moved_up(FileDescriptor(sockets[1])));
  int pipes[2];
  if (::pipe2(pipes, O_CLOEXEC) != 0) return io("A pipe can't be made: {}.", std::strerror(errno));
  FileDescriptor words(pipes[0]);
  QUALIA_ASSIGN(const FileDescriptor their_words, moved_up(FileDescriptor(pipes[1])));
  ::fcntl(words.get(), F_SETFL, O_NONBLOCK);
  QUALIA_ASSIGN(const pid_t id, spawn(program, theirs.get(), their_words.get()));
  return Started{std::unique_ptr<WorkerProcess>(new WorkerProcess(id, std::move(words))),
                 std::move(ours)};
}

WorkerProcess::WorkerProcess(pid_t id, FileDescriptor words)
    : id_(id), end_(end_descriptor_of(id)), words_(std::move(words)) {}

WorkerProcess::~WorkerProcess() { end(std::chrono::milliseconds{0}); }

void WorkerProcess::read_words() {
  std::array<char, 4096> part;
  while (words_) {
    const ssize_t count = ::read(words_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      words_.reset();
      take_line();
      return;
    }
    for (const char c : std::string_view(part.data(), static_cast<size_t>(count))) {
      if (c == '\n') {
        take_line();
      } else if (line_.size() < kLineBytesMax) {
        line_ += c;
      }
    }
  }
}

void WorkerProcess::take_line() {
  const std::string line = std::exchange(line_, {});
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  last_words_ = line;
  constexpr std::pair<std::string_view, LogLevel> kForms[] = {{"qualia: error: ", LogLevel::error},
                                                              {"qualia: warning: ", LogLevel::warn},
                                                              {"qualia: debug: ", LogLevel::debug},
                                                              {"qualia: info: ", LogLevel::info}};
  for (const auto& [form, level] : kForms) {
    if (line.starts_with(form)) {
      return log(level, "{}", std::string_view(line).substr(form.size()));
    }
  }
  log(LogLevel::info, "worker {}: {}", id_, line);
}

bool WorkerProcess::has_ended(std::chrono::milliseconds patience) const {
  pollfd wanted{end_.get(), POLLIN, 0};
  return poll_until({&wanted, 1}, Clock::now() + patience);
}

const std::string& WorkerProcess::end(std::chrono::milliseconds patience) {
  if (std::exchange(is_reaped_, true)) return how_it_ended_;
  const bool ends_itself = end_ && has_ended(patience);
  // The id is ours until it is reaped: no other process can be hit.
  if (!ends_itself) ::kill(id_, SIGKILL);
  if (ends_itself || !end_ || has_ended(kKillPatience)) {
    const std::string how = reap();
    if (ends_itself) how_it_ended_ = how;
  } else {
    log(LogLevel::warn, "Worker {} is killed but does not end.", id_);
  }
  read_words();
  words_.reset();
  return how_it_ended_;
}

std::string WorkerProcess::reap() const {
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0) {
    // The host program waits for all children itself, or ignores SIGCHLD.
    if (errno != EINTR) return "an unknown status";
  }
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* const name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("signal {}", name ? name : std::to_string(WTERMSIG(status)));
}

}  // namespace qualia::lanes::worker

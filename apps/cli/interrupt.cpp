#include "interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace qualia::cli {
namespace {

// Signal handlers can reach globals only; lock-free atomics are safe in them.
std::atomic<bool> g_stop{false};
std::atomic<int> g_signal{0};
std::atomic<int> g_wake[2] = {-1, -1};  // a pipe: a byte in it ends a wait
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  const int saved_errno = errno;
  const int before = g_signal.exchange(signal);
  if (g_stop.exchange(true) && before != 0) ::_exit(128 + signal);
  const char byte = 0;
  // A full pipe wakes as well as one more byte would.
  [[maybe_unused]] const ssize_t written = ::write(g_wake[1].load(), &byte, 1);
  errno = saved_errno;
}

void handle(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read from the terminal returns
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    g_wake[0].store(ends[0]);
    g_wake[1].store(ends[1]);
  }
  handle(SIGINT);
  handle(SIGTERM);
  handle(SIGHUP);
  // A closed pipe is an error of the write (reported there), not the death of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file size limit
}

const std::atomic<bool>& stop_requested() { return g_stop; }

void request_stop() { g_stop.store(true); }

void clear_interrupt() {
  if (must_leave()) return;
  // In this order a SIGTERM that comes meanwhile is never forgotten.
  g_stop.store(false);
  int interrupt = SIGINT;
  g_signal.compare_exchange_strong(interrupt, 0);
  char bytes[64];
  while (::read(g_wake[0].load(), bytes, sizeof bytes) > 0) {
  }
}

bool must_leave() {
  const int signal = g_signal.load();
  return signal == SIGTERM || signal == SIGHUP;
}

int exit_status_of_signal() {
  const int signal = g_signal.load();
  return signal == 0 ? 0 : 128 + signal;
}

bool wait_readable(int fd) {
  pollfd waits[2] = {{fd, POLLIN, 0}, {g_wake[0].load(), POLLIN, 0}};
  while (!g_stop.load()) {
    const int count = ::poll(waits, 2, -1);
    if (count < 0 && errno == EINTR) continue;
    // What poll can't watch is for read() to tell.
    if (count < 0 || waits[0].revents != 0) return !g_stop.load();
  }
  return false;
}

}  // namespace qualia::cli

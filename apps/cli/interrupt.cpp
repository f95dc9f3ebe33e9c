#include "interrupt.h"

#include <csignal>

namespace qualia::cli {
namespace {

// Signal handlers can reach globals only; lock-free atomics are safe in them.
std::atomic<bool> g_stop{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  if (g_stop.exchange(true) && signal == SIGINT) {
    // Asked twice: whatever is running ends now, by the system's default.
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  g_signal.store(signal);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read from the terminal returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed pipe is an error of the write (reported there), not the death of the process.
  std::signal(SIGPIPE, SIG_IGN);
}

const std::atomic<bool>& stop_requested() { return g_stop; }

void clear_interrupt() {
  if (g_signal.load() == SIGTERM) return;
  g_stop.store(false);
  g_signal.store(0);
}

int exit_status_of_signal() {
  switch (g_signal.load()) {
    case SIGINT: return kExitInterrupted;
    case SIGTERM: return kExitTerminated;
    default: return 0;
  }
}

}  // namespace qualia::cli

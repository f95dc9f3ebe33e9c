// Ctrl-C and SIGTERM: the first asks the program to stop, a second Ctrl-C ends it at once.
// Thread-safety: the flags may be read from any thread.
#pragma once

#include <atomic>

namespace qualia::cli {

// Exit status of a program that a signal stopped, by the shell's convention.
inline constexpr int kExitInterrupted = 130;  // SIGINT
inline constexpr int kExitTerminated = 143;   // SIGTERM

void install_signal_handlers();

// Set once a signal asks to stop.
const std::atomic<bool>& stop_requested();
// Forgets a Ctrl-C that was dealt with (chat: the reply stopped, the program goes on).
void clear_interrupt();
// kExitInterrupted or kExitTerminated after such a signal, else 0.
int exit_status_of_signal();

}  // namespace qualia::cli

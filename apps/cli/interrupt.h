// Ctrl-C, SIGTERM and SIGHUP: the first asks the program to stop, a second one ends it at once.
// Thread-safety: the flags may be read from any thread.
// A signal that the parent had ignored (nohup, a shell's background job) stays ignored.
#pragma once

#include <atomic>

namespace qualia::cli {

// Exit status of a program that a signal stopped, by the shell's convention.
inline constexpr int kExitInterrupted = 130;  // SIGINT

void install_signal_handlers();

// Set once a signal asks to stop, or request_stop() does.
const std::atomic<bool>& stop_requested();
// The same as a function, for calls that poll one.
inline bool is_stopped() { return stop_requested().load(); }
// Ends what is running without a signal: nobody reads the output any more.
void request_stop();
// Forgets a Ctrl-C that was dealt with (chat: the reply stopped, the program goes on).
void clear_interrupt();
// True after a signal that means the end of the program, not of what is running.
bool must_leave();
// 128 + its number after a signal (130 SIGINT, 143 SIGTERM, 129 SIGHUP), else 0.
int exit_status_of_signal();

// Waits until `fd` can be read; false when a signal asks to stop first. A signal between a check of
// stop_requested() and a blocking read would be noticed only after the next byte; here it is not.
bool wait_readable(int fd);

}  // namespace qualia::cli

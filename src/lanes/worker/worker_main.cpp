#include "lanes/worker/worker_main.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <csignal>

#include "base/error.h"
#include "lanes/worker/server.h"

namespace qualia::lanes {
namespace {

// The system sends the signal when the thread that started this process ends, which is not yet the
// end of its process: a server may load a model on a thread of short life. So a handler looks.
constexpr int kParentSignal = SIGUSR1;

pid_t watched_parent() {
  static const pid_t parent = ::getppid();
  return parent;
}

void on_parent_signal(int) {
  if (::getppid() != watched_parent()) ::_exit(1);
}

void end_with_parent() {
  watched_parent();  // before the first signal
  struct sigaction action {};
  action.sa_handler = on_parent_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(kParentSignal, &action, nullptr);
  ::prctl(PR_SET_PDEATHSIG, kParentSignal);
}

}  // namespace

Result<void> worker_main(int fd, std::span<const std::unique_ptr<Lane>> lanes,
                         std::string_view build_id) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return invalid_argument("Descriptor {} is no socket.", fd);
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // programs that a driver starts must not hold it open
  end_with_parent();
  return worker::Server(worker::FileDescriptor(fd), lanes, build_id).run();
}

}  // namespace qualia::lanes

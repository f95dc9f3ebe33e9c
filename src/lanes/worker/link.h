// The parent's end of a worker: its process and its socket, and the one error that everything gets
// once the worker is lost.
// Thread-safety: one owner.
// Errors: device_lost with how the worker ended, or that it is silent or speaks nonsense, and the
// last line of its standard error. The loss is final: later calls return it at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "lanes/worker/channel.h"
#include "lanes/worker/poll_until.h"
#include "lanes/worker/worker_lane.h"
#include "lanes/worker/worker_process.h"

namespace qualia::lanes::worker {

class Link {
 public:
  // Starts the worker and hears that it is of the same build.
  static Result<std::unique_ptr<Link>> start(const WorkerOptions& options);
  ~Link();

  const WorkerOptions& options() const { return options_; }
  pid_t process_id() const { return process_->id(); }

  // Does not wait for the worker, unless the socket is full of what it has not read.
  template <typename T>
  Result<void> send(const T& message, int attached = -1) {
    return send(T::kKind, encode(message), attached);
  }

  // The worker's next message; it may stay silent for that long.
  Result<Frame> await(std::chrono::milliseconds silence_max);

  // Sends and waits for the reply; messages of other kinds that come first go to `on_other`.
  using OnOther = std::function<Result<void>(const Frame&)>;
  template <typename T>
  Result<Bytes> request(const T& message, std::chrono::milliseconds silence_max,
                        const OnOther& on_other) {
    QUALIA_TRY(send(message));
    return await_reply(silence_max, on_other);
  }

  // The worker broke the protocol: it is ended and lost.
  tl::unexpected<Error> lose_damaged(const Error& error);

 private:
  Link(const WorkerOptions& options, WorkerProcess::Started started);
  Result<void> check_build();
  Result<void> send(MessageKind kind, const Bytes& payload, int attached);
  Result<Bytes> await_reply(std::chrono::milliseconds silence_max, const OnOther& on_other);
  Result<void> wait(short events, Clock::time_point deadline,
                    std::chrono::milliseconds silence_max);
  tl::unexpected<Error> lose(std::string how);
  tl::unexpected<Error> lose_ended();

  WorkerOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  Channel channel_;
  bool process_ended_ = false;
  std::optional<Error> lost_;
};

}  // namespace qualia::lanes::worker

#include "lanes/worker/link.h"

#include <array>
#include <utility>

namespace qualia::lanes::worker {
namespace {

// A worker that has closed its socket is about to end; what it ends with is worth this wait.
constexpr std::chrono::milliseconds kEndPatience{500};
// An idle worker leaves in a few milliseconds; one that is in the middle of a step is not waited
// for longer.
constexpr std::chrono::milliseconds kLeavePatience{1000};

}  // namespace

Result<std::unique_ptr<Link>> Link::start(const WorkerOptions& options) {
  QUALIA_ASSIGN(WorkerProcess::Started started, WorkerProcess::start(options.helper_program));
  auto link = std::unique_ptr<Link>(new Link(options, std::move(started)));
  QUALIA_TRY(link->check_build());
  return link;
}

Link::Link(const WorkerOptions& options, WorkerProcess::Started started)
    : options_(options),
      process_(std::move(started.process)),
      channel_(std::move(started.socket)) {}

Link::~Link() {
  if (lost_) return;
  channel_.close();
  process_->end(kLeavePatience);
}

Result<void> Link::check_build() {
  QUALIA_ASSIGN(const Frame frame, await(options_.load_silence_max));
  const Result<Hello> hello = decode<Hello>(frame.payload);
  if (frame.kind != MessageKind::hello || !hello) {
    return lose("is no helper program of qualia");
  }
  if (hello->build_id == options_.build_id) return {};
  lose("is of another build");
  return unsupported("Helper program '{}' is of build '{}' ('{}' is needed).",
                     options_.helper_program.string(), hello->build_id, options_.build_id);
}

Result<void> Link::send(MessageKind kind, const Bytes& payload, int attached) {
  if (lost_) return tl::unexpected<Error>(*lost_);
  channel_.put(kind, payload, attached);
  const auto deadline = Clock::now() + options_.step_silence_max;
  while (true) {
    switch (channel_.flush()) {
      case Flow::done:
        return {};
      case Flow::closed:
        return lose_ended();
      case Flow::must_wait:
        // The worker may itself be waiting for us to read.
        QUALIA_TRY(wait(POLLIN | POLLOUT, deadline, options_.step_silence_max));
        if (channel_.fill() == Flow::closed) return lose_ended();
    }
  }
}

Result<Frame> Link::await(std::chrono::milliseconds silence_max) {
  if (lost_) return tl::unexpected<Error>(*lost_);
  const auto deadline = Clock::now() + silence_max;
  while (true) {
    Result<std::optional<Frame>> frame = channel_.next();
    if (!frame) return lose_damaged(frame.error());
    if (*frame) return std::move(**frame);
    switch (channel_.fill()) {
      case Flow::done:
        break;
      case Flow::closed:
        return lose_ended();
      case Flow::must_wait:
        // What it said before its end is read; another process may hold its socket open.
        if (process_ended_) return lose_ended();
        QUALIA_TRY(wait(POLLIN, deadline, silence_max));
    }
  }
}

Result<Bytes> Link::await_reply(std::chrono::milliseconds silence_max, const OnOther& on_other) {
  while (true) {
    QUALIA_ASSIGN(const Frame frame, await(silence_max));
    if (frame.kind != MessageKind::reply) {
      QUALIA_TRY(on_other(frame));
      continue;
    }
    Result<Reply> reply = decode<Reply>(frame.payload);
    if (!reply) return lose_damaged(reply.error());
    if (reply->error) return tl::unexpected<Error>(std::move(*reply->error));
    return std::move(reply->value);
  }
}

// Until the socket is ready or the worker has ended; listens to its words meanwhile, since a worker
// that is not heard could not go on.
Result<void> Link::wait(short events, Clock::time_point deadline,
                        std::chrono::milliseconds silence_max) {
  while (true) {
    std::array<pollfd, 3> wanted{{{channel_.descriptor(), events, 0},
                                  {process_->words_descriptor(), POLLIN, 0},
                                  {process_->end_descriptor(), POLLIN, 0}}};
    if (!poll_until(wanted, deadline)) {
      const double seconds = static_cast<double>(silence_max.count()) / 1000.0;
      return lose(fmt::format("is silent for more than {} s", seconds));
    }
    if (wanted[1].revents != 0) process_->read_words();
    process_ended_ = wanted[2].revents != 0;
    if (wanted[0].revents != 0 || process_ended_) return {};
  }
}

tl::unexpected<Error> Link::lose(std::string how) {
  process_->end(std::chrono::milliseconds{0});
  channel_.close();
  std::string words;
  if (!process_->last_words().empty()) {
    words = fmt::format("; its last line is \"{}\"", process_->last_words());
  }
  lost_ = Error{ErrorCode::device_lost,
                fmt::format("The worker of lane '{}' {}{}.", options_.lane_name, how, words)};
  return tl::unexpected<Error>(*lost_);
}

tl::unexpected<Error> Link::lose_ended() {
  const std::string& how = process_->end(kEndPatience);
  return lose(how.empty() ? "closes its connection" : fmt::format("ends with {}", how));
}

tl::unexpected<Error> Link::lose_damaged(const Error& error) {
  const std::string_view what = error.message;
  return lose(fmt::format("sends what can't be used ({})", what.substr(0, what.rfind('.'))));
}

}  // namespace qualia::lanes::worker

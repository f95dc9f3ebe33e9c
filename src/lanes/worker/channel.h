// Frames over a stream socket: length, kind, payload. Nothing here waits; who owns a channel waits
// for the socket in its own way (a worker for the socket alone, its parent for the worker's end and
// its words too).
// Thread-safety: one owner.
// Errors: internal for a length that no message has. A closed other end is a state, not an error;
// what it had sent can still be read. Writing to it raises no SIGPIPE.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "lanes/worker/file_descriptor.h"
#include "lanes/worker/messages.h"

namespace qualia::lanes::worker {

struct Frame {
  MessageKind kind{};
  Bytes payload;
};

enum class Flow { done, must_wait, closed };

class Channel {
 public:
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // Makes a frame ready to be sent by flush(), with a descriptor or without (-1).
  // REQUIRES: the frame before is sent.
  void put(MessageKind kind, std::span<const std::byte> payload, int attached = -1);
  Flow flush();

  // Reads what is there. done: something was.
  Flow fill();
  // The next frame of what was read; nullopt: it is not whole yet.
  Result<std::optional<Frame>> next();
  // The descriptor that came with the frames read so far, oldest first; none: an empty one.
  FileDescriptor take_descriptor();

 private:
  void keep_descriptors(void* header);

  FileDescriptor socket_;
  Bytes out_;
  size_t out_begin_ = 0;
  int out_attached_ = -1;
  Bytes in_;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  std::deque<FileDescriptor> descriptors_;
};

}  // namespace qualia::lanes::worker

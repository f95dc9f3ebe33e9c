#include "lanes/worker/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace qualia::lanes::worker {
namespace {

struct FrameHeader {
  uint32_t payload_bytes;
  uint32_t kind;
};

// Derived: a weight map of 100,000 tensors has about 20 MB; a million pages have 4 MB.
constexpr uint32_t kPayloadBytesMax = 1U << 28;
// A receive buffer that holds the steps of many sequences; grows for larger frames.
constexpr size_t kReceiveBytes = 64 * 1024;

// Room for one descriptor, in the form that the socket calls want.
union Attachment {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr alignment;
};

void attach(msghdr& message, Attachment& room, int descriptor) {
  message.msg_control = room.bytes;
  message.msg_controllen = sizeof(room.bytes);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
}

// After a call that moved nothing.
Flow flow_of_errno() {
  return errno == EAGAIN || errno == EWOULDBLOCK ? Flow::must_wait : Flow::closed;
}

}  // namespace

void Channel::put(MessageKind kind, std::span<const std::byte> payload, int attached) {
  QUALIA_CHECK(out_begin_ == out_.size() && payload.size() <= kPayloadBytesMax);
  const FrameHeader header{static_cast<uint32_t>(payload.size()), static_cast<uint32_t>(kind)};
  out_.resize(sizeof(header) + payload.size());
  std::memcpy(out_.data(), &header, sizeof(header));
  std::ranges::copy(payload, out_.begin() + sizeof(header));
  out_begin_ = 0;
  out_attached_ = attached;
}

Flow Channel::flush() {
  while (out_begin_ < out_.size()) {
    iovec part{out_.data() + out_begin_, out_.size() - out_begin_};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    Attachment room{};
    if (out_attached_ >= 0) attach(message, room, out_attached_);
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return flow_of_errno();
    out_attached_ = -1;
    out_begin_ += static_cast<size_t>(count);
  }
  return Flow::done;
}

Flow Channel::fill() {
  if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
  if (in_.size() - in_end_ < kReceiveBytes / 2) {
    std::copy(in_.begin() + static_cast<std::ptrdiff_t>(in_begin_),
              in_.begin() + static_cast<std::ptrdiff_t>(in_end_), in_.begin());
    in_end_ -= std::exchange(in_begin_, 0);
    in_.resize(std::max({kReceiveBytes, in_.size(), 2 * in_end_}));
  }
  while (true) {
    iovec part{in_.data() + in_end_, in_.size() - in_end_};
    Attachment room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.bytes;
    message.msg_controllen = sizeof(room.bytes);
    const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return flow_of_errno();
    keep_descriptors(&message);
    if (count == 0) return Flow::closed;
    in_end_ += static_cast<size_t>(count);
    return Flow::done;
  }
}

void Channel::keep_descriptors(void* header) {
  auto& message = *static_cast<msghdr*>(header);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(part), sizeof(int));
    descriptors_.emplace_back(descriptor);
  }
}

Result<std::optional<Frame>> Channel::next() {
  FrameHeader header{};
  if (in_end_ - in_begin_ < sizeof(header)) return std::nullopt;
  std::memcpy(&header, in_.data() + in_begin_, sizeof(header));
  if (header.payload_bytes > kPayloadBytesMax) {
    return internal("A message of {} bytes is announced ({}).", header.payload_bytes,
                    kPayloadBytesMax);
  }
  if (in_end_ - in_begin_ - sizeof(header) < header.payload_bytes) return std::nullopt;
  const std::byte* const payload = in_.data() + in_begin_ + sizeof(header);
  in_begin_ += sizeof(header) + header.payload_bytes;
  return Frame{static_cast<MessageKind>(header.kind),
               Bytes(payload, payload + header.payload_bytes)};
}

FileDescriptor Channel::take_descriptor() {
  if (descriptors_.empty()) return {};
  FileDescriptor descriptor = std::move(descriptors_.front());
  descriptors_.pop_front();
  return descriptor;
}

}  // namespace qualia::lanes::worker

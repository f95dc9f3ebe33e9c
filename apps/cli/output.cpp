#include "output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "interrupt.h"

namespace qualia::cli {
namespace {

// The state of this process's one standard output.
int g_output_errno = 0;

Result<std::string> read_all(int fd, const std::string& name) {
  std::string bytes;
  char buffer[1 << 16];
  while (wait_readable(fd)) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count == 0) return bytes;
    if (count > 0) {
      bytes.append(buffer, static_cast<size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      return tl::unexpected(
          Error{ErrorCode::io, "Reading " + name + " fails: " + std::strerror(errno) + "."});
    }
  }
  return tl::unexpected(Error{ErrorCode::cancelled, "Reading " + name + " is cancelled."});
}

// Bytes of the control character that `text` starts with; 0: it starts with another one.
// Controls are U+0000 to U+001F, U+007F, and U+0080 to U+009F (in UTF-8 C2 80 to C2 9F), where
// terminals look for a one-character CSI.
size_t control_size(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x20 || byte == 0x7F) return 1;
  if (byte != 0xC2 || text.size() < 2) return 0;
  return static_cast<unsigned char>(text[1]) <= 0x9F ? 2 : 0;
}

std::string escaped(std::string_view control) {
  switch (control.front()) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\x{:02x}", static_cast<unsigned char>(control.back()));
  }
}

// `text` with each control character replaced.
template <typename Replace>
std::string without_controls(std::string_view text, const Replace& replace) {
  std::string shown;
  while (!text.empty()) {
    const size_t size = control_size(text);
    if (size > 0)
      shown += replace(text.substr(0, size));
    else
      shown += text.front();
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return shown;
}

// Standard error may be a pipe or a file: what it refuses has nowhere else to go.
void write_error_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, line.data(), line.size());
    if (count >= 0)
      line.remove_prefix(static_cast<size_t>(count));
    else if (errno != EINTR)
      return;
  }
}

}  // namespace

void guard_standard_streams() {
  // The wrong direction on purpose: using the stream stays an error.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) [[maybe_unused]]
      const int opened = ::open("/dev/null", kModes[fd]);  // the lowest free: fd
}

void print(std::string_view text) {
  while (!text.empty() && g_output_errno == 0) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd wait{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      g_output_errno = errno;
      request_stop();
    }
  }
}

bool output_failed() { return g_output_errno != 0; }

int output_status() {
  if (g_output_errno == 0) return 0;
  if (g_output_errno != EPIPE)
    complain(std::string("Writing to standard output fails: ") + std::strerror(g_output_errno) +
             ".");
  return 1;
}

void complain(std::string_view message) { write_error_line("qualia: " + one_line(message) + "\n"); }

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
    return tl::unexpected(
        Error{code, "Opening '" + path + "' fails: " + std::strerror(errno) + "."});
  }
  auto bytes = read_all(fd, "'" + path + "'");
  ::close(fd);
  return bytes;
}

bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string one_line(std::string_view text) { return without_controls(text, escaped); }

std::string for_terminal(std::string_view text) {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!is_terminal) return std::string(text);
  return without_controls(text, [](std::string_view control) -> std::string {
    const char c = control.front();
    return c == '\n' || c == '\t' ? std::string(1, c) : "\xEF\xBF\xBD";
  });
}

}  // namespace qualia::cli

#include "output.h"

#include <fcntl.h>
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
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count == 0) return bytes;
    if (count > 0) {
      bytes.append(buffer, static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return tl::unexpected(
          Error{ErrorCode::io, "Reading " + name + " fails: " + std::strerror(errno) + "."});
    } else if (stop_requested()) {
      return tl::unexpected(Error{ErrorCode::cancelled, "Reading " + name + " is cancelled."});
    }
  }
}

}  // namespace

void print(std::string_view text) {
  while (!text.empty() && g_output_errno == 0) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      g_output_errno = errno;
    }
  }
}

bool output_failed() { return g_output_errno != 0; }

int output_status() {
  if (g_output_errno == 0) return 0;
  if (g_output_errno != EPIPE)
    complain(std::string("Writing to standard output fails: ") + std::strerror(g_output_errno) + ".");
  return 1;
}

void complain(std::string_view message) {
  std::fprintf(stderr, "qualia: %.*s\n", static_cast<int>(message.size()), message.data());
}

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

std::string for_terminal(std::string_view text) {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!is_terminal) return std::string(text);
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F)
      shown += "\xEF\xBF\xBD";
    else
      shown += c;
  }
  return shown;
}

}  // namespace qualia::cli

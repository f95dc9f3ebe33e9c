#include "base/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace qualia {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<void> read_all(int fd, const std::filesystem::path& path, std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::read(fd, into.data() + done, into.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io("Reading '{}' fails: {}.", path.string(), std::strerror(errno));
    if (count == 0)
      return io("'{}' ends at {} while it is being read ({} bytes expected).", path.string(), done,
                into.size());
    done += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

Result<FileMap> FileMap::open(const std::filesystem::path& path, Mode mode) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; regular files ignore it.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return not_found("File '{}' does not exist.", path.string());
    return io("Opening '{}' fails: {}.", path.string(), std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return io("'{}' can't be examined: {}.", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return io("'{}' is not a regular file.", path.string());
  const auto size = checked_cast<size_t>(status.st_size);
  if (!size) return io("'{}' is too large for this system.", path.string());

  FileMap map;
  if (*size == 0) return map;
  if (mode == Mode::map_or_read) {
    void* const address = ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address != MAP_FAILED) {
      map.bytes_ = {static_cast<const std::byte*>(address), *size};
      map.mapped_ = true;
      return map;
    }
  }
  map.owned_.reset(new (std::nothrow) std::byte[*size]);
  if (!map.owned_)
    return out_of_memory("'{}' needs {} bytes, which can't be allocated.", path.string(), *size);
  QUALIA_TRY(read_all(file.get(), path, {map.owned_.get(), *size}));
  map.bytes_ = {map.owned_.get(), *size};
  return map;
}

FileMap FileMap::borrow(std::span<const std::byte> bytes) {
  FileMap map;
  map.bytes_ = bytes;
  return map;
}

FileMap::FileMap(FileMap&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      owned_(std::move(other.owned_)),
      mapped_(std::exchange(other.mapped_, false)) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  if (this == &other) return *this;
  reset();
  bytes_ = std::exchange(other.bytes_, {});
  owned_ = std::move(other.owned_);
  mapped_ = std::exchange(other.mapped_, false);
  return *this;
}

FileMap::~FileMap() { reset(); }

void FileMap::release(size_t offset, size_t size_bytes) const {
  if (!mapped_ || offset >= bytes_.size()) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + std::min(size_bytes, bytes_.size() - offset)) / page * page;
  if (begin >= end) return;
  // madvise takes a mutable pointer but MADV_DONTNEED on a private read-only file map drops pages.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

void FileMap::reset() noexcept {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
  owned_.reset();
  mapped_ = false;
}

}  // namespace qualia

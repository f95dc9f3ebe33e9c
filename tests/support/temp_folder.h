// A new empty folder that is removed with everything in it when the object ends.
// Thread-safety: one owner; each object has its own folder.
// Errors: ends the test program when the system refuses.
#pragma once

#include <filesystem>
#include <string_view>

namespace qualia::test {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace qualia::test

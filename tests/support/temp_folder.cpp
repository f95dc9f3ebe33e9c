#include "support/temp_folder.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

namespace qualia::test {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "qualia_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    std::perror(name.c_str());
    std::abort();
  }
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;  // a folder that stays behind fails no test
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace qualia::test

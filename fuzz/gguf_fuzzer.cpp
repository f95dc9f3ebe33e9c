// Any bytes as a GGUF file: parsing must end in a File or an error, and every tensor of a File must
// be readable from its first byte to its last.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "gguf/gguf_file.h"

namespace {

using qualia::gguf::Entry;
using qualia::gguf::File;

// Every typed accessor on every key: an answer or an error, and the key is found again.
void read_entry(const File& file, const Entry& entry) {
  QUALIA_CHECK(file.find(entry.key) == &entry);
  size_t answers = 0;
  answers += file.get_uint(entry.key).has_value();
  answers += file.get_float(entry.key).has_value();
  answers += file.get_bool(entry.key).has_value();
  answers += file.get_string(entry.key).has_value();
  answers += file.get_array(entry.key).has_value();
  QUALIA_CHECK(answers >= 1 && answers <= 2);  // an integer that fits answers twice
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A block of exactly the input's size: the address sanitizer sees a read of one byte more.
  const auto input = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> bytes(input.begin(), input.end());
  const auto file = File::parse(bytes, "input");
  if (!file) {
    QUALIA_CHECK(!file.error().message.empty());
    return 0;
  }
  for (const Entry& entry : file->entries()) read_entry(*file, entry);
  uint64_t total_bytes = 0;
  for (const auto& tensor : file->tensors()) {
    const qualia::TensorView view = file->view(tensor);
    QUALIA_CHECK(view.bytes.size() == tensor.size_bytes);
    QUALIA_CHECK(file->find_tensor(tensor.name) == &tensor);
    volatile auto sum = std::count(view.bytes.begin(), view.bytes.end(), std::byte{0});
    static_cast<void>(sum);
    total_bytes += tensor.size_bytes;
  }
  QUALIA_CHECK(total_bytes <= size);  // tensors lie apart
  return 0;
}

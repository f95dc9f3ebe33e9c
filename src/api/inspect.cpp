// inspect_file: a GGUF file as people read it.

#include <fmt/format.h>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "qualia/model.h"

namespace qualia {
namespace {

using gguf::Array;
using gguf::ValueType;

constexpr size_t kShownItems = 8;     // of an array
constexpr size_t kShownBytes = 4096;  // of a string: long enough for most chat templates

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::u8:
      return "u8";
    case ValueType::i8:
      return "i8";
    case ValueType::u16:
      return "u16";
    case ValueType::i16:
      return "i16";
    case ValueType::u32:
      return "u32";
    case ValueType::i32:
      return "i32";
    case ValueType::f32:
      return "f32";
    case ValueType::boolean:
      return "bool";
    case ValueType::string:
      return "string";
    case ValueType::array:
      return "array";
    case ValueType::u64:
      return "u64";
    case ValueType::i64:
      return "i64";
    case ValueType::f64:
      return "f64";
  }
  return "?";
}

std::string show(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  size_t cut = kShownBytes;
  // Not within a UTF-8 character: its bytes behind the first are 10xxxxxx, at most three.
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80; ++i) --cut;
  return fmt::format("{}... ({} bytes)", text.substr(0, cut), text.size());
}

std::string show(const Array& array);

template <typename T>
std::string show_item(const T& item) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return fmt::format("\"{}\"", show(item));
  } else if constexpr (std::is_same_v<T, std::shared_ptr<const Array>>) {
    return show(*item);
  } else {
    return fmt::format("{}", item);
  }
}

std::string show(const Array& array) {
  return std::visit(
      [](const auto& items) {
        std::string text = "[";
        for (size_t i = 0; i < std::min(items.size(), kShownItems); ++i)
          text += (i > 0 ? ", " : "") + show_item(items[i]);
        if (items.size() > kShownItems) text += fmt::format(", ... ({} items)", items.size());
        return text + "]";
      },
      array.items);
}

std::string show_value(const gguf::Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string_view>)
          return show(held);
        else
          return show_item(held);
      },
      value);
}

MetadataEntry to_public(const gguf::Entry& entry) {
  std::string type(type_name(entry.type));
  if (const auto* array = std::get_if<std::shared_ptr<const Array>>(&entry.value))
    type = fmt::format("array of {}", type_name((*array)->type));
  return {.key = std::string(entry.key), .type = std::move(type), .value = show_value(entry.value)};
}

}  // namespace

Result<FileReport> inspect_file(const std::filesystem::path& path) {
  QUALIA_ASSIGN(const gguf::File file, gguf::File::open(path));
  FileReport report;
  report.version = file.version();
  report.files = file.paths();
  for (const gguf::Entry& entry : file.entries()) report.metadata.push_back(to_public(entry));
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    const auto& dims = tensor.shape.dims;
    report.tensors.push_back({.name = std::string(tensor.name),
                              .type = std::string(dtype_name(tensor.dtype)),
                              .shape = {dims.begin(), dims.begin() + tensor.shape.rank},
                              .offset = tensor.file_offset,
                              .size_bytes = tensor.size_bytes,
                              .file = file.paths()[tensor.file_index].filename().string()});
  }
  return report;
}

}  // namespace qualia

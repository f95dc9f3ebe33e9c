// Opening: one file, or all files of a split model, become one File.
#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "gguf/name_order.h"
#include "gguf/part.h"

namespace qualia::gguf {

class FileBuilder {
 public:
  // Parts come in the order of the split; the first one's metadata counts.
  void add(const std::filesystem::path& path, Part part) {
    const auto file_index = static_cast<uint32_t>(file_.maps_.size());
    if (file_index == 0) {
      file_.version_ = part.version;
      file_.entries_ = std::move(part.metadata.entries);
      file_.entry_order_ = std::move(part.metadata.order);
      tensor_count_ = part.split.tensor_count;
    }
    for (TensorInfo& tensor : part.tensors) {
      tensor.file_index = file_index;
      file_.tensors_.push_back(tensor);
    }
    file_.paths_.push_back(path);
    file_.maps_.push_back(std::move(part.map));
  }

  Result<File> finish() {
    const std::span<const TensorInfo> tensors(file_.tensors_);
    const auto name_of = [](const TensorInfo& tensor) { return tensor.name; };
    file_.tensor_order_ = order_by_name(tensors, name_of);
    if (const TensorInfo* twice = find_duplicate(tensors, file_.tensor_order_, name_of))
      return corrupt_file("Tensor {} appears twice in '{}'.", quoted(twice->name),
                          file_.paths_[twice->file_index].string());
    if (tensor_count_ && *tensor_count_ != tensors.size())
      return corrupt_file("The {} files of '{}' have {} tensors ('split.tensors.count' is {}).",
                          file_.paths_.size(), file_.paths_.front().string(), tensors.size(),
                          *tensor_count_);
    return std::move(file_);
  }

 private:
  File file_;
  std::optional<uint64_t> tensor_count_;
};

namespace {

Result<Part> open_part(const std::filesystem::path& path, FileMap::Mode mode) {
  QUALIA_ASSIGN(FileMap map, FileMap::open(path, mode));
  return read_part(std::move(map), path.string());
}

// A missing sibling is told with the file that asks for it.
Result<Part> open_sibling(const std::filesystem::path& path, const std::filesystem::path& named,
                          uint32_t index, uint32_t count, FileMap::Mode mode) {
  auto map = FileMap::open(path, mode);
  if (!map && map.error().code == ErrorCode::not_found)
    return not_found("File '{}' does not exist ('{}' is one of {} files of a split model).",
                     path.string(), named.string(), count);
  if (!map) return tl::unexpected<Error>(std::move(map).error());
  QUALIA_ASSIGN(Part part, read_part(std::move(*map), path.string()));
  if (part.split.index != index || part.split.count != count)
    return corrupt_file("'{}' says that it is file {} of {} (its name says {} of {}).",
                        path.string(), part.split.index + 1, part.split.count, index + 1, count);
  return part;
}

}  // namespace

Result<File> File::open(const std::filesystem::path& path, FileMap::Mode mode) {
  QUALIA_ASSIGN(Part named, open_part(path, mode));
  FileBuilder builder;
  const SplitInfo split = named.split;
  if (split.count == 1) {
    builder.add(path, std::move(named));
    return builder.finish();
  }
  QUALIA_ASSIGN(const auto paths, sibling_paths(path, split));
  for (uint32_t i = 0; i < split.count; ++i) {
    if (i == split.index) {
      builder.add(path, std::move(named));
      continue;
    }
    QUALIA_ASSIGN(Part sibling, open_sibling(paths[i], path, i, split.count, mode));
    builder.add(paths[i], std::move(sibling));
  }
  return builder.finish();
}

Result<File> File::parse(std::span<const std::byte> bytes, std::string_view name) {
  const std::string file_name(name);
  QUALIA_ASSIGN(Part part, read_part(FileMap::borrow(bytes), file_name));
  if (part.split.count > 1)
    return unsupported("'{}' is file {} of {} of a split model, which can't be read from memory.",
                       file_name, part.split.index + 1, part.split.count);
  FileBuilder builder;
  builder.add(file_name, std::move(part));
  return builder.finish();
}

}  // namespace qualia::gguf

#include "lanes/weight_source.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "ops/dequantize.h"

namespace qualia::lanes {
namespace {

std::string_view role_name(ops::WeightRole role) {
  switch (role) {
    case ops::WeightRole::token_embedding:
      return "token embedding";
    case ops::WeightRole::output_norm:
      return "output norm";
    case ops::WeightRole::output:
      return "output";
    case ops::WeightRole::attention_norm:
      return "attention norm";
    case ops::WeightRole::query:
      return "query";
    case ops::WeightRole::key:
      return "key";
    case ops::WeightRole::value:
      return "value";
    case ops::WeightRole::attention_output:
      return "attention output";
    case ops::WeightRole::feed_forward_norm:
      return "feed-forward norm";
    case ops::WeightRole::gate:
      return "gate";
    case ops::WeightRole::up:
      return "up";
    case ops::WeightRole::down:
      return "down";
  }
  return "unknown";
}

std::string place(ops::WeightRole role, uint32_t layer) {
  if (layer == ops::kNoLayer) return fmt::format("The {} weight", role_name(role));
  return fmt::format("The {} weight of layer {}", role_name(role), layer);
}

struct WeightShape {
  uint64_t columns = 0;
  uint64_t rows = 1;
};

// The shape that the spec needs of a weight, as ops/weights.h lists them.
WeightShape shape_of(const ops::DecoderSpec& spec, ops::WeightRole role, uint32_t layer) {
  using ops::WeightRole;
  const uint64_t width = spec.width;
  if (layer == ops::kNoLayer) {
    return {width, role == WeightRole::output_norm ? 1 : uint64_t{spec.vocabulary_size}};
  }
  const ops::AttentionSpec& attention = spec.layers[layer].attention;
  const uint64_t queries = uint64_t{attention.head_count} * attention.head_dim;
  const uint64_t keys = uint64_t{attention.kv_head_count} * attention.head_dim;
  const uint64_t hidden = spec.layers[layer].feed_forward.width;
  switch (role) {
    case WeightRole::query:
      return {width, queries};
    case WeightRole::key:
    case WeightRole::value:
      return {width, keys};
    case WeightRole::attention_output:
      return {queries, width};
    case WeightRole::gate:
    case WeightRole::up:
      return {width, hidden};
    case WeightRole::down:
      return {hidden, width};
    default:  // the norms
      return {width};
  }
}

}  // namespace

Result<const ops::WeightView*> WeightSource::find(ops::WeightRole role, uint32_t layer,
                                                  uint64_t columns, uint64_t rows) const {
  const ops::WeightView* view = map_->find(role, layer);
  if (view == nullptr) return corrupt_file("{} is missing.", place(role, layer));
  const Shape needed{{columns, rows, 1, 1}, rows == 1 ? 1U : 2U};
  if (view->shape.dims != needed.dims) {
    return corrupt_file("Tensor '{}' has shape {} ({} is needed).", view->name,
                        to_string(view->shape), to_string(needed));
  }
  const bool is_vector = rows == 1;
  if (ops::find_dequantize(view->dtype) == nullptr || !(is_vector || can_compute_(view->dtype))) {
    return unsupported("Tensor '{}' has type {}, which the {} lane does not compute.", view->name,
                       dtype_name(view->dtype), lane_);
  }
  const std::optional<uint64_t> size_bytes = tensor_size_bytes(view->shape, view->dtype);
  if (!size_bytes) {
    return corrupt_file("Tensor '{}' has rows of {} values ({} stores multiples of {}).",
                        view->name, columns, dtype_name(view->dtype),
                        dtype_info(view->dtype).block_size);
  }
  if (view->size_bytes != *size_bytes) {
    return corrupt_file("Tensor '{}' has {} bytes ({} are needed).", view->name, view->size_bytes,
                        *size_bytes);
  }
  return view;
}

Result<std::span<const std::byte>> WeightSource::open_file(const std::filesystem::path& path) {
  const auto found = file_indexes_.find(path);
  if (found != file_indexes_.end()) return files_[found->second].bytes();
  QUALIA_ASSIGN(FileMap file, FileMap::open(path));
  if (!file.is_mapped()) held_bytes_ += file.bytes().size();
  file_indexes_.emplace(path, files_.size());
  files_.push_back(std::move(file));
  return files_.back().bytes();
}

Result<std::span<const std::byte>> WeightSource::bytes_of(const ops::WeightView& view) {
  QUALIA_ASSIGN(const std::span<const std::byte> file, open_file(view.file));
  const std::optional<uint64_t> end = checked_add(view.file_offset, view.size_bytes);
  if (!end || *end > file.size()) {
    return corrupt_file("Tensor '{}' takes {} bytes from {} on (file '{}' has {} bytes).",
                        view.name, view.size_bytes, view.file_offset, view.file.string(),
                        file.size());
  }
  taken_bytes_ += view.size_bytes;
  return file.subspan(view.file_offset, view.size_bytes);
}

Result<ops::MatmulWeight> WeightSource::matrix(ops::WeightRole role, uint32_t layer) {
  const auto [columns, rows] = shape_of(*spec_, role, layer);
  QUALIA_ASSIGN(const ops::WeightView* view, find(role, layer, columns, rows));
  QUALIA_ASSIGN(const std::span<const std::byte> bytes, bytes_of(*view));
  return ops::MatmulWeight{bytes.data(), view->dtype, rows, columns, bytes.size() / rows};
}

void WeightSource::release(const ops::MatmulWeight& weight, size_t begin, size_t end) const {
  const std::byte* const first = weight.data + begin * weight.row_bytes;
  for (const FileMap& file : files_) {
    const std::span<const std::byte> bytes = file.bytes();
    const std::less<const std::byte*> before;
    if (before(first, bytes.data())) continue;
    if (!before(first, bytes.data() + bytes.size())) continue;
    file.release(static_cast<size_t>(first - bytes.data()), weight.row_bytes * (end - begin));
    return;
  }
}

Result<std::vector<float>> WeightSource::vector(ops::WeightRole role, uint32_t layer) {
  const uint64_t count = shape_of(*spec_, role, layer).columns;
  QUALIA_ASSIGN(const ops::WeightView* view, find(role, layer, count, 1));
  QUALIA_ASSIGN(const std::span<const std::byte> bytes, bytes_of(*view));
  std::vector<float> values(count);
  ops::find_dequantize(view->dtype)(bytes.data(), values.data(), count);
  held_bytes_ += count * sizeof(float);
  return values;
}

}  // namespace qualia::lanes

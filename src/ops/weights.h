// Weights as named places in files: what a lane loads. No bytes here, so that a worker process can
// map the files itself.
// Thread-safety: value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/shape.h"

namespace qualia::ops {

enum class WeightRole {
  token_embedding,    // [width, vocabulary]
  output_norm,        // [width]
  output,             // [width, vocabulary]; absent when tied
  attention_norm,     // [width]
  query,              // [width, heads * head_dim]
  key,                // [width, kv_heads * head_dim]
  value,              // [width, kv_heads * head_dim]
  attention_output,   // [heads * head_dim, width]
  feed_forward_norm,  // [width]
  gate,               // [width, feed-forward width]
  up,                 // [width, feed-forward width]
  down,               // [feed-forward width, width]
};

struct WeightView {
  std::string name;  // as the file names the tensor
  std::filesystem::path file;
  uint64_t file_offset = 0;  // absolute
  uint64_t size_bytes = 0;
  DType dtype = DType::f32;
  Shape shape;
};

// Layer of weights that belong to no layer.
inline constexpr uint32_t kNoLayer = 0xFFFFFFFF;

class WeightMap {
 public:
  void set(WeightRole role, uint32_t layer, WeightView view) {
    views_[{layer, role}] = std::move(view);
  }
  // nullptr: the model has no such weight.
  const WeightView* find(WeightRole role, uint32_t layer = kNoLayer) const {
    const auto found = views_.find({layer, role});
    return found == views_.end() ? nullptr : &found->second;
  }
  // In the order layer by layer, the layerless ones last.
  const std::map<std::pair<uint32_t, WeightRole>, WeightView>& all() const { return views_; }
  uint64_t size_bytes() const {
    uint64_t total = 0;
    for (const auto& [key, view] : views_) total += view.size_bytes;
    return total;
  }

 private:
  std::map<std::pair<uint32_t, WeightRole>, WeightView> views_;
};

}  // namespace qualia::ops

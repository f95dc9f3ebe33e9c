// Takes weights out of a weight map one by one: checks each against the shape that the spec needs
// and against its file, and opens every file once.
// Thread-safety: one owner.
// Errors: corrupt_file for a weight that is missing, of another shape or outside its file;
// unsupported for a type that ops/dequantize.h or the lane lacks; io, not_found from opening the
// files. Messages name the tensor, the actual and the needed value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_map.h"
#include "ops/decoder_spec.h"
#include "ops/matmul.h"
#include "ops/weights.h"

namespace qualia::lanes {

class WeightSource {
 public:
  using CanCompute = bool (*)(DType dtype);

  // `spec` and `map` outlive this. Messages name the lane; `can_compute`: which matrices it takes.
  WeightSource(const ops::DecoderSpec& spec, const ops::WeightMap& map, std::string_view lane,
               CanCompute can_compute)
      : spec_(&spec), map_(&map), lane_(lane), can_compute_(can_compute) {}

  // Points into a mapped file: columns inputs, rows outputs.
  Result<ops::MatmulWeight> matrix(ops::WeightRole role, uint32_t layer = ops::kNoLayer);
  Result<std::vector<float>> vector(ops::WeightRole role, uint32_t layer = ops::kNoLayer);

  // Tells the system that rows [begin, end) of a matrix were consumed, so that their pages need not
  // stay resident. Any thread may call it.
  void release(const ops::MatmulWeight& weight, size_t begin, size_t end) const;

  uint64_t taken_bytes() const { return taken_bytes_; }  // of all weights handed out
  uint64_t held_bytes() const { return held_bytes_; }    // of vectors and of unmapped files
  std::vector<FileMap> take_files() && { return std::move(files_); }

 private:
  Result<const ops::WeightView*> find(ops::WeightRole role, uint32_t layer, uint64_t columns,
                                      uint64_t rows) const;
  Result<std::span<const std::byte>> bytes_of(const ops::WeightView& view);
  Result<std::span<const std::byte>> open_file(const std::filesystem::path& path);

  const ops::DecoderSpec* spec_;
  const ops::WeightMap* map_;
  std::string_view lane_;
  CanCompute can_compute_;
  std::vector<FileMap> files_;
  std::map<std::filesystem::path, size_t> file_indexes_;
  uint64_t taken_bytes_ = 0;
  uint64_t held_bytes_ = 0;
};

}  // namespace qualia::lanes

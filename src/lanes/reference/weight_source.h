// Takes weights out of a weight map one by one: checks each against the shape that the spec needs
// and against its file, and opens every file once.
// Thread-safety: one owner.
// Errors: see lanes/reference/weights.h; messages name the tensor, the actual and the needed value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/file_map.h"
#include "ops/matmul.h"
#include "ops/weights.h"

namespace qualia::lanes::reference {

class WeightSource {
 public:
  // `map` outlives this.
  explicit WeightSource(const ops::WeightMap& map) : map_(&map) {}

  // Points into a mapped file: columns inputs, rows outputs.
  Result<ops::MatmulWeight> matrix(ops::WeightRole role, uint32_t layer, uint64_t columns,
                                   uint64_t rows);
  Result<std::vector<float>> vector(ops::WeightRole role, uint32_t layer, uint64_t count);

  uint64_t taken_bytes() const { return taken_bytes_; }  // of all weights handed out
  uint64_t held_bytes() const { return held_bytes_; }    // of vectors and of unmapped files
  std::vector<FileMap> take_files() && { return std::move(files_); }

 private:
  Result<const ops::WeightView*> find(ops::WeightRole role, uint32_t layer, uint64_t columns,
                                      uint64_t rows) const;
  Result<std::span<const std::byte>> bytes_of(const ops::WeightView& view);
  Result<std::span<const std::byte>> open_file(const std::filesystem::path& path);

  const ops::WeightMap* map_;
  std::vector<FileMap> files_;
  std::map<std::filesystem::path, size_t> file_indexes_;
  uint64_t taken_bytes_ = 0;
  uint64_t held_bytes_ = 0;
};

}  // namespace qualia::lanes::reference

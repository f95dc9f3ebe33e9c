// A weight matrix on the GPU: its planes in parts that each fit one binding.
// Thread-safety: immutable once loaded.
// Several source matrices of equal width may make one: query, key and value one after the other,
// gate and up row by row in turns. Sources of different formats become parts of their own.
// Errors: out_of_memory from the device; see lanes/weight_source.h for the sources.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "lanes/planes.h"
#include "lanes/wgpu/device.h"
#include "ops/matmul.h"
#include "profile/recorder.h"

namespace qualia::lanes::wgpu {

struct MatrixPart {
  PlaneFormat format;
  Buffer codes;
  Buffer scales;   // a word where the format has none
  Buffer factors;  // a word where the format has none
  uint32_t rows = 0;
  uint32_t first_out = 0;  // output column of row 0
  uint32_t out_step = 1;   // from one row to the next
  profile::Cost cost;      // of one row of x
};

struct Matrix {
  uint32_t k = 0;
  uint32_t n = 0;
  std::vector<MatrixPart> parts;

  uint32_t groups() const { return (k + 31) / 32; }
  bool reads_int8(Precision precision) const;
  bool reads_f32(Precision precision) const;
  // Gate and up in turns, in one form: a product may apply the activation itself.
  bool is_interleaved = false;
};

enum class Arrangement { one_after_the_other, in_turns };

class MatrixLoader {
 public:
  // `binding_bytes_max`: no plane of a part is larger. `released(weight, begin, end)` hears which
  // rows of a source were consumed.
  using Released = std::function<void(const ops::MatmulWeight&, size_t begin, size_t end)>;
  MatrixLoader(Device& device, ThreadPool& pool, Precision precision, uint64_t binding_bytes_max,
               Released released);

  Result<Matrix> load(std::span<const ops::MatmulWeight> sources, Arrangement arrangement);
  uint64_t resident_bytes() const { return resident_bytes_; }

 private:
  struct Rows;     // of a part: where they come from
  struct Segment;  // rows of one source
  Result<void> load_parts(const Rows& rows, Matrix& matrix);
  Result<MatrixPart> load_part(const Rows& rows, size_t begin, size_t end);
  static std::vector<Segment> segments_of(const Rows& rows, size_t begin, size_t end);
  Result<Buffer> upload(uint64_t size_bytes, const std::function<void(std::byte*)>& fill);
  Result<void> flush();

  Device& device_;
  ThreadPool& pool_;
  Precision precision_;
  uint64_t binding_bytes_max_;
  Released released_;
  uint64_t resident_bytes_ = 0;
  uint64_t unflushed_bytes_ = 0;
};

}  // namespace qualia::lanes::wgpu

#include "lanes/wgpu/matrix.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/tensor_view.h"

namespace qualia::lanes::wgpu {
namespace {

TensorView view_of(const ops::MatmulWeight& source) {
  return {
      source.dtype, {{source.k, source.n, 1, 1}, 2}, {source.data, source.row_bytes * source.n}};
}

PlaneFormat format_of(const ops::MatmulWeight& source, Precision precision) {
  return plane_format(source.dtype, precision).value();
}

}  // namespace

// Sources of one format whose rows make one series: one after the other, or in turns.
struct MatrixLoader::Rows {
  std::span<const ops::MatmulWeight> sources{};
  bool in_turns = false;
  uint32_t first_out = 0;
  uint32_t out_step = 1;

  size_t count() const {
    size_t rows = 0;
    for (const ops::MatmulWeight& source : sources) rows += source.n;
    return rows;
  }
};

// Rows [begin, end) of a source; the first lies at `place` of the part, others `stride` apart.
struct MatrixLoader::Segment {
  const ops::MatmulWeight* source = nullptr;
  size_t begin = 0;
  size_t end = 0;
  size_t place = 0;
  size_t stride = 1;
};

bool Matrix::reads_int8(Precision precision) const {
  return precision != Precision::exact &&
         std::any_of(parts.begin(), parts.end(),
                     [](const MatrixPart& part) { return part.format.is_integer(); });
}

bool Matrix::reads_f32(Precision precision) const {
  return precision == Precision::exact ||
         std::any_of(parts.begin(), parts.end(),
                     [](const MatrixPart& part) { return !part.format.is_integer(); });
}

MatrixLoader::MatrixLoader(Device& device, ThreadPool& pool, Precision precision,
                           uint64_t binding_bytes_max, Released released)
    : device_(device),
      pool_(pool),
      precision_(precision),
      binding_bytes_max_(binding_bytes_max),
      released_(std::move(released)) {}

Result<Matrix> MatrixLoader::load(std::span<const ops::MatmulWeight> sources,
                                  Arrangement arrangement) {
  Matrix matrix;
  matrix.k = static_cast<uint32_t>(sources.front().k);
  for (const ops::MatmulWeight& source : sources) matrix.n += static_cast<uint32_t>(source.n);
  const bool is_alike = std::all_of(sources.begin(), sources.end(), [&](const auto& source) {
    return format_of(source, precision_) == format_of(sources.front(), precision_);
  });
  const bool in_turns = arrangement == Arrangement::in_turns;
  matrix.is_interleaved = in_turns && is_alike;
  if (is_alike) {
    QUALIA_TRY(load_parts({sources, in_turns}, matrix));
    return matrix;
  }
  uint32_t first_out = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    Rows rows{sources.subspan(i, 1)};
    rows.first_out = in_turns ? static_cast<uint32_t>(i) : first_out;
    rows.out_step = in_turns ? static_cast<uint32_t>(sources.size()) : 1;
    QUALIA_TRY(load_parts(rows, matrix));
    first_out += static_cast<uint32_t>(sources[i].n);
  }
  return matrix;
}

// As many parts as it takes for every plane to fit a binding.
Result<void> MatrixLoader::load_parts(const Rows& rows, Matrix& matrix) {
  const PlaneFormat format = format_of(rows.sources.front(), precision_);
  // Rows in turns are not torn apart.
  const size_t unit = rows.in_turns ? rows.sources.size() : 1;
  const uint64_t unit_bytes =
      std::max(format.row_code_bytes(matrix.k), format.row_scale_bytes(matrix.k)) * unit;
  size_t step = static_cast<size_t>(binding_bytes_max_ / unit_bytes) * unit;
  // Whole blocks of product_block.wgsl.
  constexpr size_t kBlock = 64;
  if (step > kBlock) step = step / kBlock * kBlock;
  if (step == 0) {
    return unsupported("A row of {} bytes is larger than a binding of the GPU ({} bytes).",
                       unit_bytes, binding_bytes_max_);
  }
  for (size_t begin = 0; begin < rows.count(); begin += step) {
    QUALIA_ASSIGN(MatrixPart part, load_part(rows, begin, std::min(rows.count(), begin + step)));
    matrix.parts.push_back(std::move(part));
  }
  return {};
}

// Rows [begin, end) of the series.
std::vector<MatrixLoader::Segment> MatrixLoader::segments_of(const Rows& rows, size_t begin,
                                                             size_t end) {
  std::vector<Segment> segments;
  const size_t turns = rows.sources.size();
  size_t first = 0;  // row of the series that the source begins with
  for (size_t i = 0; i < turns; ++i) {
    const ops::MatmulWeight& source = rows.sources[i];
    if (rows.in_turns) {
      segments.push_back({&source, begin / turns, end / turns, i, turns});
      continue;
    }
    const size_t from = std::max(begin, first);
    const size_t to = std::min(end, first + source.n);
    if (from < to) segments.push_back({&source, from - first, to - first, from - begin, 1});
    first += source.n;
  }
  return segments;
}

Result<MatrixPart> MatrixLoader::load_part(const Rows& rows, size_t begin, size_t end) {
  const size_t k = rows.sources.front().k;
  MatrixPart part;
  part.format = format_of(rows.sources.front(), precision_);
  part.rows = static_cast<uint32_t>(end - begin);
  part.first_out = rows.first_out + static_cast<uint32_t>(begin) * rows.out_step;
  part.out_step = rows.out_step;
  const uint64_t code_bytes = part.format.row_code_bytes(k);
  const uint64_t scale_bytes = part.format.row_scale_bytes(k);
  std::vector<std::byte> scales(part.rows * scale_bytes + 4);
  std::vector<float> factors(part.format.has_row_factors ? part.rows : 1);
  // Rows that a thread takes at a time: about 256 KiB of codes.
  const size_t grain = std::max<size_t>(1, (size_t{1} << 18) / code_bytes);
  const auto fill = [&](std::byte* codes) {
    for (const Segment& segment : segments_of(rows, begin, end)) {
      pool_.parallel_for(segment.end - segment.begin, grain, [&](size_t from, size_t to) {
        const size_t place = segment.place + from * segment.stride;
        const PlaneTargets targets{codes + place * code_bytes, scales.data() + place * scale_bytes,
                                   part.format.has_row_factors ? factors.data() + place : nullptr};
        write_planes(view_of(*segment.source), part.format, segment.begin + from,
                     segment.begin + to, targets, segment.stride);
      });
      released_(*segment.source, segment.begin, segment.end);
    }
  };
  QUALIA_ASSIGN(part.codes, upload(part.rows * code_bytes, fill));
  const auto copy = [](const auto& from) {
    return [&from](std::byte* to) {
      const auto bytes = std::as_bytes(std::span(from));
      std::copy(bytes.begin(), bytes.end(), to);
    };
  };
  QUALIA_ASSIGN(part.scales, upload(scales.size(), copy(scales)));
  QUALIA_ASSIGN(part.factors, upload(factors.size() * sizeof(float), copy(factors)));
  part.cost.bytes = part.rows * (code_bytes + scale_bytes);
  part.cost.multiply_adds = uint64_t{part.rows} * k;
  return part;
}

Result<Buffer> MatrixLoader::upload(uint64_t size_bytes,
                                    const std::function<void(std::byte*)>& fill) {
  QUALIA_ASSIGN(Buffer buffer, device_.create_filled(size_bytes, fill));
  resident_bytes_ += size_bytes;
  unflushed_bytes_ += size_bytes;
  // Staging memory lives to the next submission: a ring of this size.
  constexpr uint64_t kStagingBytes = uint64_t{256} << 20;
  if (unflushed_bytes_ >= kStagingBytes) QUALIA_TRY(flush());
  return buffer;
}

Result<void> MatrixLoader::flush() {
  device_.api().QueueSubmit(device_.queue(), 0, nullptr);
  device_.api().DevicePoll(device_.raw(), 1, nullptr);
  unflushed_bytes_ = 0;
  return device_.errors().take();
}

}  // namespace qualia::lanes::wgpu

// INT8 products with AArch64's matrix instructions (i8mm, Armv8.6, some of Armv8.2): smmla adds the
// dots of two rows of eight signed bytes with two others to a square of four 32-bit sums, twice the
// products of sdot. A lone row of x takes sdot.
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/product_variants.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstring>

#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("arch=armv8.2-a+dotprod+i8mm")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/product_int8_neon_body.h"

// Squares of dots: rows 2t and 2t + 1 of x with rows 4j + 2i and 4j + 2i + 1 of the panel.
template <size_t kCount>
using Squares = int32x4_t[kCount / 2][kQuarters][2];

// Registers for a tile of four rows of x: 16 of squares, up to 4 of activations, and the codes of
// eight columns of four rows, as they are stored, in pairs of rows, and unpacked.
template <PackedFormat kFormat, size_t kCount>
struct MatrixDots {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  // Nibbles: a byte's other half is 16 columns further on.
  static constexpr size_t kParts = kInfo.code_bits == 4 ? 2 : 1;
  static constexpr size_t kOctets = 4 / kParts / kInfo.scale_count;

  QUALIA_INLINE static void compute(const Block<kFormat>& block, const ActivationBlock* x, size_t s,
                                    int32x4_t (&dots)[kCount][kQuarters]) noexcept {
    Squares<kCount> squares;
    start(x, squares);
    QUALIA_UNROLL
    for (size_t octet = s * kOctets; octet < (s + 1) * kOctets; ++octet) {
      add_octet(block, x, octet, squares);
    }
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) {
      QUALIA_UNROLL
      for (size_t j = 0; j < kQuarters; ++j) dots[t][j] = row_of(squares[t / 2][j], t % 2);
    }
  }

 private:
  QUALIA_INLINE static void start(const ActivationBlock* x, Squares<kCount>& squares) noexcept {
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount / 2; ++t) {
      const int32x4_t both = vcombine_s32(vdup_n_s32(dot_start<kFormat>(x[2 * t])),
                                          vdup_n_s32(dot_start<kFormat>(x[2 * t + 1])));
      QUALIA_UNROLL
      for (size_t j = 0; j < kQuarters; ++j) squares[t][j][0] = squares[t][j][1] = both;
    }
  }

  // Columns 8 octet .. 8 octet + 7, of nibbles those 16 further on too.
  QUALIA_INLINE static void add_octet(const Block<kFormat>& block, const ActivationBlock* x,
                                      size_t octet, Squares<kCount>& squares) noexcept {
    int8x16_t eight[kCount / 2][kParts];
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount / 2; ++t) {
      QUALIA_UNROLL
      for (size_t part = 0; part < kParts; ++part) {
        const size_t column = 8 * octet + 16 * part;
        eight[t][part] =
            vcombine_s8(vld1_s8(x[2 * t].values + column), vld1_s8(x[2 * t + 1].values + column));
      }
    }
    QUALIA_UNROLL
    for (size_t j = 0; j < kQuarters; ++j) {
      const uint32x4_t low = vreinterpretq_u32_u8(block.bytes_of(2 * octet, j));
      const uint32x4_t high = vreinterpretq_u32_u8(block.bytes_of(2 * octet + 1, j));
      add_rows(vzip1q_u32(low, high), eight, j, 0, squares);
      add_rows(vzip2q_u32(low, high), eight, j, 1, squares);
    }
  }

  // `bytes`: eight columns of two rows of the panel.
  QUALIA_INLINE static void add_rows(uint32x4_t bytes, const int8x16_t (&eight)[kCount / 2][kParts],
                                     size_t j, size_t i, Squares<kCount>& squares) noexcept {
    QUALIA_UNROLL
    for (size_t part = 0; part < kParts; ++part) {
      const int8x16_t codes = Block<kFormat>::unpack(vreinterpretq_u8_u32(bytes), part);
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount / 2; ++t) {
        squares[t][j][i] = vmmlaq_s32(squares[t][j][i], eight[t][part], codes);
        QUALIA_PIN(squares[t][j][i]);
      }
    }
  }

  // The dots of one of a square's two rows of x with four rows of the panel.
  QUALIA_INLINE static int32x4_t row_of(const int32x4_t (&square)[2], size_t row) noexcept {
    const int64x2_t first = vreinterpretq_s64_s32(square[0]);
    const int64x2_t second = vreinterpretq_s64_s32(square[1]);
    return vreinterpretq_s32_s64(row == 0 ? vzip1q_s64(first, second) : vzip2q_s64(first, second));
  }
};

// A lone row would leave half of each square unused.
template <PackedFormat kFormat>
struct MatrixDots<kFormat, 1> : VectorDots<kFormat, 1> {};

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format, MatrixDots>(arguments);                             \
  }
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, i8mm)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif

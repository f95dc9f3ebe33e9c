#include "lanes/cpu/product_variants.h"

#include <array>

namespace qualia::lanes::cpu {

std::span<const ProductVariant> product_variants() {
  static constexpr std::array kVariants{
#define QUALIA_PRODUCT(format, form, isa)                               \
  ProductVariant{PackedFormat::format, ActivationForms::form, Isa::isa, \
                 product_##format##_##form##_##isa},
      QUALIA_PRODUCTS(QUALIA_PRODUCT)
#undef QUALIA_PRODUCT
  };
  return kVariants;
}

ProductFunction find_product(PackedFormat format, ActivationForms form, Isa isa) {
  const ProductVariant* best = nullptr;
  for (const ProductVariant& variant : product_variants()) {
    if (variant.format != format || variant.form != form || variant.isa > isa) continue;
    if (best == nullptr || variant.isa > best->isa) best = &variant;
  }
  return best == nullptr ? nullptr : best->function;
}

}  // namespace qualia::lanes::cpu

# Warnings and sanitizers, applied to our own targets only.
add_library(qualia_flags INTERFACE)
target_compile_options(qualia_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
  # No silent fused multiply-adds: a value is the same on every processor, and kernels ask for FMA.
  -ffp-contract=off
  # g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(QUALIA_SANITIZE)
  add_compile_options(-fsanitize=${QUALIA_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QUALIA_SANITIZE})
endif()
if(QUALIA_FUZZ)
  # Coverage feedback for libFuzzer; its main() comes with the fuzz targets alone.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

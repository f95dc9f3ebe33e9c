// Target regions: functions between QUALIA_TARGET_BEGIN("avx2,fma") and QUALIA_TARGET_END are
// compiled for these instruction sets, whatever the rest of the file is compiled for.
// Thread-safety: pure.
// Open one after all includes (style.md, rule 16): code of a header that came inside a region could
// replace the baseline copy at link time.
#pragma once

#define QUALIA_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define QUALIA_TARGET_BEGIN(features) \
  QUALIA_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define QUALIA_TARGET_END QUALIA_PRAGMA(clang attribute pop)
#else
#define QUALIA_TARGET_BEGIN(features) \
  QUALIA_PRAGMA(GCC push_options)     \
  QUALIA_PRAGMA(GCC target(features))
#define QUALIA_TARGET_END QUALIA_PRAGMA(GCC pop_options)
#endif

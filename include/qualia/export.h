// QUALIA_API marks what libqualia exports; everything else stays hidden in the library.
#pragma once

#define QUALIA_API __attribute__((visibility("default")))

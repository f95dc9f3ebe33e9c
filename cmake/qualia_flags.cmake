# Warnings and sanitizers, applied to our own targets only.
add_library(qualia_flags INTERFACE)
target_compile_options(qualia_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
if(QUALIA_SANITIZE)
  add_compile_options(-fsanitize=${QUALIA_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QUALIA_SANITIZE})
endif()

# Filled by packaging/: see packaging/CMakeLists.txt.

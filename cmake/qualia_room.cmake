# qualia_room(NAME <room> USES <rooms...> [LINKS <third-party targets...>] [SEPARATE]
#   [LABEL <label> of its tests] [LONG, as below])
#
# One room of the house (see src/LAYERS): every *.cpp of the folder becomes the static library
# qualia_<room>; *_test.cpp become the test program qualia_<room>_test; *_bench.cpp the benchmark
# qualia_<room>_bench. A room may include only itself and the rooms under USES; the tidy test holds
# both USES and every #include against src/LAYERS.
#
# The presets release, asan and tsan compile a room in batches of files (unity builds), which takes
# about a third of the time; so names in anonymous namespaces are unique within a room. SEPARATE
# compiles each file by itself, for rooms whose variants repeat names (kernels by instruction set).
function(qualia_room)
  cmake_parse_arguments(ROOM "SEPARATE;LONG" "NAME;LABEL" "USES;LINKS" ${ARGN})
  string(REPLACE "/" "_" target ${ROOM_NAME})
  set(target qualia_${target})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")

  set(kind PUBLIC)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE qualia_flags)
    if(ROOM_SEPARATE)
      set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(${target} ${kind}
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${target} ${kind} tl::expected fmt::fmt ${ROOM_LINKS})
  foreach(used ${ROOM_USES})
    string(REPLACE "/" "_" used ${used})
    target_link_libraries(${target} ${kind} qualia_${used})
  endforeach()

  if(tests AND QUALIA_TESTS)
    set(options)
    if(ROOM_LABEL)
      list(APPEND options LABEL ${ROOM_LABEL})
    endif()
    if(ROOM_LONG)
      list(APPEND options LONG)
    endif()
    qualia_test(NAME ${target}_test ROOM ${ROOM_NAME} SOURCES ${tests} USES ${target} ${options})
  endif()
  if(benches AND QUALIA_BENCHES)
    add_executable(${target}_bench ${benches})
    target_link_libraries(${target}_bench PRIVATE qualia_flags ${target} benchmark::benchmark_main)
  endif()
endfunction()

# Test code needs no speed: compiling it costs more than running it.
add_library(qualia_test_flags INTERFACE)
target_link_libraries(qualia_test_flags INTERFACE qualia_flags)
if(QUALIA_SANITIZE)
  target_compile_options(qualia_test_flags INTERFACE -O0)
else()
  target_compile_options(qualia_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)
endif()
# g++ 12 sees std::string overflow its own short buffer in inlined tests (GCC bug 105329).
target_compile_options(qualia_test_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)

if(QUALIA_TESTS)
  add_custom_target(qualia_tests)
endif()

# qualia_test(NAME <program> SOURCES <files...> USES <targets...> [ROOM <room>] [LABEL <label>]
#   [LONG])
# Tests run with the source tree's root as working directory, so "tests/data/..." names test data.
# QUALIA_TEST_ROOMS, where set, leaves out the tests of every other room and the cross-room tests
# (those without ROOM). Under a sanitizer a program is one ctest case: its start costs more than
# most cases do. LONG: suites and instances named ...Long take minutes and have the label "long".
# The target qualia_tests builds every test program and only those.
function(qualia_test)
  cmake_parse_arguments(TEST "LONG" "NAME;ROOM;LABEL" "SOURCES;USES" ${ARGN})
  if(QUALIA_TEST_ROOMS AND NOT "${TEST_ROOM}" IN_LIST QUALIA_TEST_ROOMS)
    return()
  endif()
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  target_link_libraries(${TEST_NAME} PRIVATE
    qualia_test_flags ${TEST_USES} qualia_test_support GTest::gtest_main GTest::gmock)
  add_dependencies(qualia_tests ${TEST_NAME})
  set(label unit)
  if(TEST_LABEL)
    set(label ${TEST_LABEL})
  endif()
  set(filter)
  set(sanitized_filter)
  if(TEST_LONG)
    set(filter TEST_FILTER "-*Long/*:*Long.*")
    set(sanitized_filter "--gtest_filter=-*Long/*:*Long.*")
  endif()
  if(QUALIA_SANITIZE)
    add_test(NAME ${TEST_NAME} COMMAND ${TEST_NAME} --gtest_brief=1 ${sanitized_filter}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${TEST_NAME} PROPERTIES LABELS ${label} TIMEOUT 300)
  else()
    gtest_discover_tests(${TEST_NAME} DISCOVERY_MODE PRE_TEST ${filter}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES LABELS ${label} TIMEOUT 300)
    if(TEST_LONG)
      gtest_discover_tests(${TEST_NAME} DISCOVERY_MODE PRE_TEST TEST_FILTER "*Long/*:*Long.*"
        TEST_LIST ${TEST_NAME}_long WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        PROPERTIES LABELS long TIMEOUT 600)
    endif()
  endif()
endfunction()

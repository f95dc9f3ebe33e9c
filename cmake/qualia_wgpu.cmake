# wgpu-native, the portable GPU library: the wheel wgpu 0.32.0 carries library and headers. Fetched
# once by hash into build/packages (QUALIA_WGPU_WHEEL names a file instead), unpacked for all
# presets, installed beside the binary and opened at run time. Without it the lane is absent: the
# build then compiles wgpu_lane_absent.cpp, and the program says why.
set(QUALIA_WGPU_WHEEL "" CACHE FILEPATH "The wheel wgpu 0.32.0 as a file; empty: pip fetches it")
set(wgpu_folder ${CMAKE_SOURCE_DIR}/build/packages/wgpu-0.32.0)
set(QUALIA_WGPU_INCLUDE ${wgpu_folder}/wgpu/resources)
set(QUALIA_WGPU_LIBRARY ${QUALIA_WGPU_INCLUDE}/libwgpu_native-release.so)

function(qualia_fetch_wgpu)
  if(EXISTS ${QUALIA_WGPU_LIBRARY})
    return()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(hash 6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(hash 00454ba1bc794d38c8365f4ad29f381b88ce0a7f115133bfaa6f1dfad7eb2764)
  else()
    message(WARNING "No wgpu-native is known for ${CMAKE_SYSTEM_PROCESSOR}: no wgpu lane.")
    return()
  endif()
  # Two presets may be configured at a time: each unpacks into a folder of its own and renames it.
  string(RANDOM LENGTH 8 suffix)
  set(work ${wgpu_folder}.${suffix})
  file(MAKE_DIRECTORY ${work})
  set(wheel "${QUALIA_WGPU_WHEEL}")
  if(NOT wheel)
    find_package(Python3 3.9 COMPONENTS Interpreter)
    file(WRITE ${work}/requirements.txt "wgpu==0.32.0 --hash=sha256:${hash}\n")
    execute_process(COMMAND ${Python3_EXECUTABLE} -m pip download -q --progress-bar off
      --disable-pip-version-check --no-deps --only-binary :all: --require-hashes
      -d ${work} -r ${work}/requirements.txt
      RESULT_VARIABLE failed ERROR_VARIABLE reason OUTPUT_QUIET)
    if(failed)
      message(WARNING "wgpu-native can't be fetched, so this build has no wgpu lane: ${reason}")
      file(REMOVE_RECURSE ${work})
      return()
    endif()
    file(GLOB wheel ${work}/wgpu-0.32.0-*.whl)
  endif()
  file(SHA256 ${wheel} found)
  if(NOT found STREQUAL hash)
    message(FATAL_ERROR "'${wheel}' has SHA-256 ${found} (${hash} is wgpu 0.32.0's).")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${work}/out PATTERNS
    *.h *libwgpu_native-release.so *LICENSE*)
  file(RENAME ${work}/out ${wgpu_folder} RESULT ignored)
  file(REMOVE_RECURSE ${work})
endfunction()

qualia_fetch_wgpu()
set(QUALIA_HAS_WGPU OFF)
if(EXISTS ${QUALIA_WGPU_LIBRARY})
  set(QUALIA_HAS_WGPU ON)
  configure_file(${QUALIA_WGPU_LIBRARY}
    ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libwgpu_native.so COPYONLY)
endif()

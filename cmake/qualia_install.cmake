# `cmake --install`: programs, library, public headers, CMake package, man page, completions.
if(NOT TARGET qualia-program)
  return()  # a fuzz build makes no program
endif()
include(CMakePackageConfigHelpers)

# bin/ finds lib/ beside it wherever the tree is moved; the build tree has that shape. RPATH, not
# RUNPATH (new dtags): only RPATH is also searched for the libraries of libraries, which a bundle
# carries in the same folder.
file(RELATIVE_PATH lib_from_bin
  /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set(helper_folder ${CMAKE_INSTALL_LIBEXECDIR}/qualia)
file(RELATIVE_PATH lib_from_helper /prefix/${helper_folder} /prefix/${CMAKE_INSTALL_LIBDIR})
set_target_properties(qualia PROPERTIES INSTALL_RPATH $ORIGIN)
set_target_properties(qualia-program PROPERTIES INSTALL_RPATH $ORIGIN/${lib_from_bin})
set_target_properties(qualia-worker PROPERTIES INSTALL_RPATH $ORIGIN/${lib_from_helper})
foreach(target qualia qualia-program qualia-worker)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()

install(TARGETS qualia EXPORT qualiaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS qualia-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS qualia-worker RUNTIME DESTINATION ${helper_folder})
# The program's older name.
install(CODE "
  file(CREATE_LINK qualia
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/qualia-cli\" SYMBOLIC)")

if(QUALIA_HAS_WGPU)
  # Opened by its plain name beside the qualia library.
  install(PROGRAMS ${QUALIA_WGPU_LIBRARY} RENAME libwgpu_native.so
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES packaging/licences/wgpu-native.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences)
endif()

install(DIRECTORY include/qualia DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/qualia)
configure_package_config_file(packaging/qualiaConfig.cmake.in
  ${CMAKE_BINARY_DIR}/qualiaConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/qualiaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/qualiaConfig.cmake ${CMAKE_BINARY_DIR}/qualiaConfigVersion.cmake
  DESTINATION ${package_folder})
install(EXPORT qualiaTargets NAMESPACE qualia:: DESTINATION ${package_folder})

install(PROGRAMS tools/fetch_default_model.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/qualia)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES packaging/man/qualia.1 packaging/man/qualia-cli.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# bash-completion loads the file that is named like the command.
foreach(command qualia qualia-cli)
  install(FILES packaging/completion/qualia.bash RENAME ${command}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
install(FILES packaging/completion/_qualia
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES packaging/completion/qualia.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# SPDX-License-Identifier: Apache-2.0
# Installs the library, its headers, a CMake package (clusterjit::clusterjit) and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/clusterjit)
write_basic_package_version_file(clusterjitConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# Relative, so that the installed tree can be moved.
file(RELATIVE_PATH CJ_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/clusterjit.pc.in clusterjit.pc @ONLY)

install(TARGETS clusterjit EXPORT clusterjitTargets)
install(DIRECTORY include/clusterjit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT clusterjitTargets NAMESPACE clusterjit:: DESTINATION ${package_directory})
install(FILES cmake/clusterjitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/clusterjitConfigVersion.cmake
    DESTINATION ${package_directory})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/clusterjit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

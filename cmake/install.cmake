# SPDX-License-Identifier: Apache-2.0
# Installs the library, its headers, a CMake package (clusterjit::clusterjit) and a pkg-config file, in three components:
# `runtime` (the shared library), `development` and `tools` (ptxgen, and what it needs beside it). As a part of another project
# (add_subdirectory) nothing is installed, unless that project sets CJ_INSTALL.
option(CJ_INSTALL "Install the library and the command" ${PROJECT_IS_TOP_LEVEL})
if(NOT CJ_INSTALL)
    return()
endif()
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/clusterjit)
write_basic_package_version_file(clusterjitConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# Relative, so that the installed tree can be moved.
file(RELATIVE_PATH CJ_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/clusterjit.pc.in clusterjit.pc @ONLY)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS clusterjit EXPORT clusterjitTargets
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development ARCHIVE COMPONENT development)
install(DIRECTORY include/clusterjit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT clusterjitTargets NAMESPACE clusterjit:: DESTINATION ${package_directory})
install(FILES cmake/clusterjitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/clusterjitConfigVersion.cmake
    DESTINATION ${package_directory})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/clusterjit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

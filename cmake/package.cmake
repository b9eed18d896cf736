# SPDX-License-Identifier: Apache-2.0
# `cpack` in a build directory makes an archive of all components, and three Debian packages: libclusterjit0.2 (the shared
# library), libclusterjit-dev (headers, CMake package, pkg-config file) and ptxgen (the command). dpkg-shlibdeps finds their
# dependencies; libcuda, libnvrtc and libnccl are opened at run time, so no package depends on them.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT CJ_INSTALL)
    return()
endif()
set(CPACK_PACKAGE_NAME clusterjit)
set(CPACK_PACKAGE_VENDOR "clusterjit")
set(CPACK_PACKAGE_CONTACT "clusterjit maintainers <maintainers@clusterjit.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "PTX kernels for thread block clusters, written, checked and launched at run time")
set(CPACK_PACKAGE_DESCRIPTION "\
clusterjit writes PTX kernels for NVIDIA thread block clusters at run time, checks them, loads them through the driver API and
launches them with cluster attributes. A CPU device executes the same PTX where there is no GPU, and finds missing
synchronization.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TXZ DEB)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

set(library libclusterjit${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libclusterjit-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ptxgen)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "gnuplot-nox, nvidia-cuda-toolkit")
include(CPack)

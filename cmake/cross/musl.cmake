# SPDX-License-Identifier: Apache-2.0
# Linux on this machine's processor with musl, by the compiler wrapper of Debian's musl-tools. tools/cross uses this file.
set(CMAKE_C_COMPILER musl-gcc)
include(${CMAKE_CURRENT_LIST_DIR}/prefix.cmake)

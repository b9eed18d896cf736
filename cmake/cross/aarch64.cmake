# SPDX-License-Identifier: Apache-2.0
# Linux on aarch64 with glibc, by Debian's cross compiler; programs run under qemu-user. tools/cross uses this file.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/prefix.cmake)

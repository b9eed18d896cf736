# SPDX-License-Identifier: Apache-2.0
# macOS on arm64. tools/cross uses this file.
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_C_COMPILER zig-cc -target aarch64-macos)
include(${CMAKE_CURRENT_LIST_DIR}/macos.cmake)

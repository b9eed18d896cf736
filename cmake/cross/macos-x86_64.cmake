# SPDX-License-Identifier: Apache-2.0
# macOS on x86_64. tools/cross uses this file.
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER zig-cc -target x86_64-macos)
include(${CMAKE_CURRENT_LIST_DIR}/macos.cmake)

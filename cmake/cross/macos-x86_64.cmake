# SPDX-License-Identifier: Apache-2.0
# macOS on x86_64, by zig cc; tools/cross uses this file, and puts zig-cc, zig-ar and zig-ranlib into PATH.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER zig-cc -target x86_64-macos)
set(CMAKE_AR zig-ar)
set(CMAKE_RANLIB zig-ranlib)
include(${CMAKE_CURRENT_LIST_DIR}/prefix.cmake)

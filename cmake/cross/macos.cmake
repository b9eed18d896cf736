# SPDX-License-Identifier: Apache-2.0
# macOS by zig cc, of both processors' files, which name the processor and the compiler. tools/cross puts zig-cc, zig-ar and
# zig-ranlib into PATH.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_AR zig-ar)
set(CMAKE_RANLIB zig-ranlib)
include(${CMAKE_CURRENT_LIST_DIR}/prefix.cmake)

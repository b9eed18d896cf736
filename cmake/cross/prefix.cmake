# SPDX-License-Identifier: Apache-2.0
# Libraries and headers come from CMAKE_PREFIX_PATH alone, never from this machine's own folders.
set(CMAKE_CXX_COMPILER NOTFOUND)  # the library and its tests are C; the examples in C++ are left out
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# SPDX-License-Identifier: Apache-2.0
# Sets CJ_HAVE_CUDA. Only the toolkit's headers are wanted, and only by src/device/cuda.
set(CJ_HAVE_CUDA OFF)
set_property(CACHE CJ_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT CJ_CUDA)
    message(STATUS "gpu device: off (CJ_CUDA=${CJ_CUDA})")
    return()
endif()

find_package(CUDAToolkit 12.4 QUIET)
find_file(CJ_CUDA_TYPEDEFS cudaTypedefs.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(CUDAToolkit_FOUND AND CJ_CUDA_TYPEDEFS)
    set(CJ_HAVE_CUDA ON)
    message(STATUS "gpu device: on, with the headers of CUDA ${CUDAToolkit_VERSION}")
elseif(CJ_CUDA STREQUAL "AUTO")
    message(STATUS "gpu device: off, no CUDA toolkit 12.4 or later was found (the cpu device runs every kernel; "
        "-DCUDAToolkit_ROOT=DIR names a toolkit)")
else()
    message(FATAL_ERROR "CJ_CUDA=${CJ_CUDA} but no CUDA toolkit 12.4 or later was found; name it with "
        "-DCUDAToolkit_ROOT=DIR or configure with -DCJ_CUDA=AUTO")
endif()

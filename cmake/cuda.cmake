# SPDX-License-Identifier: Apache-2.0
# Sets CJ_HAVE_CUDA, and CUDAToolkit_INCLUDE_DIRS and CUDAToolkit_VERSION. Only the toolkit's headers are wanted, and only by src/device/cuda
# and the libraries in CUDA's place.
set(CJ_HAVE_CUDA OFF)
set_property(CACHE CJ_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT CJ_CUDA)
    message(STATUS "gpu device: off (CJ_CUDA=${CJ_CUDA})")
    return()
endif()

if(EXISTS "${CUDAToolkit_ROOT}/include/cuda.h" AND NOT EXISTS "${CUDAToolkit_ROOT}/bin/nvcc")
    # A folder of headers, as conda and PyPI have them: FindCUDAToolkit would take the nvcc of another toolkit.
    set(CUDAToolkit_INCLUDE_DIRS ${CUDAToolkit_ROOT}/include)
    file(STRINGS ${CUDAToolkit_INCLUDE_DIRS}/cuda.h version REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX REPLACE "[^0-9]+" "" version "${version}")
    math(EXPR major "${version} / 1000")
    math(EXPR minor "${version} % 1000 / 10")
    set(CUDAToolkit_VERSION ${major}.${minor})
    set(CUDAToolkit_FOUND OFF)
    if(version GREATER_EQUAL 12040)
        set(CUDAToolkit_FOUND ON)
    endif()
else()
    find_package(CUDAToolkit 12.4 QUIET)
endif()
find_file(CJ_CUDA_TYPEDEFS cudaTypedefs.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(CUDAToolkit_FOUND AND CJ_CUDA_TYPEDEFS)
    set(CJ_HAVE_CUDA ON)
    message(STATUS "gpu device: on, with the headers of CUDA ${CUDAToolkit_VERSION}")
elseif(CJ_CUDA STREQUAL "AUTO")
    message(STATUS "gpu device: off, no CUDA toolkit 12.4 or later was found (the cpu device runs every kernel; "
        "-DCUDAToolkit_ROOT=DIR names a toolkit, or a folder whose include/ has its headers)")
else()
    message(FATAL_ERROR "CJ_CUDA=${CJ_CUDA} but no CUDA toolkit 12.4 or later was found; name it, or a folder whose include/ has its "
        "headers, with -DCUDAToolkit_ROOT=DIR, or configure with -DCJ_CUDA=AUTO")
endif()

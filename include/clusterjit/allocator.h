// SPDX-License-Identifier: Apache-2.0
// Where the library's memory comes from: host memory of the whole process, and workspaces of kernels on a device.
//
//     cj_allocator mine = {CJ_INIT(mine), .allocate = take, .free = give_back, .user = &pool};
//     if (cj_allocator_set(&mine, &error)) …                              // before any other call of the library
//     cj_workspaces of_pool = {CJ_INIT(of_pool), .allocate = take_device, .free = give_back_device, .user = &pool};
//     if (cj_workspaces_set(device, &of_pool, &error)) …                  // before kernels are made
//
// Launches allocate nothing, from either.
#ifndef CLUSTERJIT_ALLOCATOR_H
#define CLUSTERJIT_ALLOCATOR_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// Functions for host memory, which begins as that of malloc. `alignment` is a power of two, at least 16. NULL means that there is
// none: the call of the library that needed it gives back what it has taken and fails with OUT_OF_MEMORY, or goes another way
// where there is one (fewer threads, no disk cache). Thread safety: they are called by several threads at once, also by
// threads of the CPU device, and must not call the library. They are not to throw, nor to leave by longjmp.
// What the C library allocates for itself in fopen, opendir, realpath, dlopen or pthread_create, and what the CUDA driver and
// NVRTC allocate, does not pass here. Text that the library returns is from here, so only cj_text_free frees it.
typedef struct cj_allocator {
    CJ_STRUCT_SIZE(cj_allocator);
    void *(*allocate)(void *user, size_t bytes, size_t alignment);  // bytes > 0
    void *(*allocate_zeroed)(void *user, size_t bytes, size_t alignment);  // NULL: allocate, and then zeros are written
    // A block with the first bytes of `memory`, which is freed; of NULL leaves `memory` as it is. NULL: allocate, copy, free.
    void *(*reallocate)(void *user, void *memory, size_t old_bytes, size_t new_bytes);
    void (*free)(void *user, void *memory);  // never NULL
    void *user;
} cj_allocator;

// Sets it for the process; the structure is copied. To be called before the library allocates for the first time, which
// checking a text or opening a device does: INVALID_ARGUMENT afterwards, for one without allocate or free, and for NULL.
CJ_API cj_status cj_allocator_set(const cj_allocator *allocator, cj_error *error);

// Functions for the workspaces of kernels on a device (cj_plan.workspace_bytes), as of cudaMallocAsync, RMM or torch's caching
// allocator. `stream` is the one whose launches use the workspace first: that of cj_kernel_get and of the one-call functions;
// NULL, the default stream, for kernels that were created for any. The library writes zeros on it and waits for it.
// `allocate` gives an address that is a multiple of 256, on the cpu device one of cj_mem_alloc or cj_mem_wrap, which it may
// call; 0: there is none, and the call that makes the kernel fails with OUT_OF_MEMORY. `free` gets it back with the same bytes
// and stream when the kernel is destroyed, whose launches have ended by then. Thread safety: called by the threads that make and
// destroy kernels, several at once; they may not make or launch kernels.
typedef struct cj_workspaces {
    CJ_STRUCT_SIZE(cj_workspaces);
    cj_ptr (*allocate)(void *user, size_t bytes, cj_stream stream);
    void (*free)(void *user, cj_ptr memory, size_t bytes, cj_stream stream);
    void *user;
} cj_workspaces;

// Sets where workspaces of kernels that are made on the device from now on come from; the structure is copied. NULL: from
// cj_mem_alloc, as at first. A kernel's workspace goes back to where it came from, so `user` must live until the last of these
// kernels is destroyed: by cj_device_trim, cj_device_close and the caller. INVALID_ARGUMENT without allocate or free.
CJ_API cj_status cj_workspaces_set(cj_device *device, const cj_workspaces *workspaces, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif

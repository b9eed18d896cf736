// SPDX-License-Identifier: Apache-2.0
// The fake driver's memory: the host's.
#define _GNU_SOURCE  // MAP_ANONYMOUS
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_parts.h"

// Memory of all processes that are forked after it was made: what cuMemAlloc gives from then on, and nothing gives back.
enum { ARENA_BYTES = 64 << 20 };
static uint64_t *arena;  // its first word: bytes that are in use

void cj_fake_share(void) {
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) abort();
    *arena = BLOCK_ALIGNMENT;
}

// This process's allocations of it, for cuMemGetAddressRange; the first ones, if there are many.
enum { ARENA_KNOWN = 64 };
static struct {
    uintptr_t begin;
    size_t    bytes;
} known[ARENA_KNOWN];
static int known_count;

static void *arena_made(void *made, size_t bytes) {
    pthread_mutex_lock(&fake_lock);
    if (made && known_count < ARENA_KNOWN) {
        known[known_count].begin = (uintptr_t)made;
        known[known_count++].bytes = bytes;
    }
    pthread_mutex_unlock(&fake_lock);
    return made;
}

static void *arena_make(size_t bytes) {
    const size_t   room = (bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    const uint64_t at = __atomic_fetch_add(arena, room, __ATOMIC_RELAXED);
    return arena_made(at + room > ARENA_BYTES ? NULL : (char *)arena + at, bytes);
}

// ---- calls

// --- memory and streams ---

CUresult fake_MemAlloc(CUdeviceptr *memory, size_t bytes) {
    ENTER_UNCAPTURED(MemAlloc);
    void *made = arena ? arena_make(bytes) : fake_block_make(bytes);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_memory, 1);
    *memory = (CUdeviceptr)(uintptr_t)made;
    return CUDA_SUCCESS;
}

CUresult fake_MemFree(CUdeviceptr memory) {
    ENTER_UNCAPTURED(MemFree);
    COUNT(alive_memory, -1);
    if (!arena) fake_block_free((void *)(uintptr_t)memory);
    return CUDA_SUCCESS;
}

CUresult fake_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemcpyHtoDAsync);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult fake_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemcpyDtoHAsync);
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

CUresult fake_MemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemsetD8Async);
    memset((void *)(uintptr_t)to, byte, bytes);
    return CUDA_SUCCESS;
}

// What a handle of the fake says: of memory of the arena, its place there; else a process that may not open it itself.
typedef struct ipc_handle {
    uint64_t magic, at;
    int64_t  process;
} ipc_handle;

enum { IPC_MAGIC = 0x66616b65 };

CUresult fake_IpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr memory) {
    ENTER_CONTEXT(IpcGetMemHandle);
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    const ipc_handle made = {IPC_MAGIC, memory, getpid()};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &made, sizeof made);
    return CUDA_SUCCESS;
}

// As the driver, it does not open what this process has made.
CUresult fake_IpcOpenMemHandle(CUdeviceptr *memory, CUipcMemHandle handle, unsigned flags) {
    ENTER_CONTEXT(IpcOpenMemHandle);
    ipc_handle given;
    memcpy(&given, &handle, sizeof given);
    if (given.magic != IPC_MAGIC || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    if (given.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    if (cj_fake_driver.peerless) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    COUNT(alive_opened, 1);
    *memory = given.at;
    return CUDA_SUCCESS;
}

CUresult fake_IpcCloseMemHandle(CUdeviceptr memory) {
    ENTER_CONTEXT(IpcCloseMemHandle);
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    COUNT(alive_opened, -1);
    return CUDA_SUCCESS;
}

// Blocks of the list do not know their size: each address is an allocation of its own, as large as a test says.
CUresult fake_MemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr memory) {
    ENTER_CONTEXT(MemGetAddressRange);
    *base = memory;
    *size = cj_fake_driver.range_bytes ? cj_fake_driver.range_bytes : (size_t)1 << 40;
    for (int i = 0; i < known_count; i++)
        if (memory - known[i].begin < known[i].bytes) *base = known[i].begin, *size = known[i].bytes;
    return CUDA_SUCCESS;
}

CUresult fake_PointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr memory) {
    ENTER_CONTEXT(PointerGetAttribute);
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || !memory) return CUDA_ERROR_INVALID_VALUE;
    const int place = fake_current_gpu(cj_fake_driver.gpu_count - 1);
    *(int *)data = cj_fake_driver.other_place ? cj_fake_driver.other_place : place;
    return CUDA_SUCCESS;
}

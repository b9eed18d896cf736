// SPDX-License-Identifier: Apache-2.0
// Multicast objects: their devices, and the memory that is bound to them. cuMemMap maps them (virtual.c).
#define _POSIX_C_SOURCE 200809L
#include "multicast.h"

#include <stdlib.h>
#include <time.h>

static void *pointer(CUmemGenericAllocationHandle handle) { return (void *)(uintptr_t)handle; }

static CUresult check_properties(const CUmulticastObjectProp *properties) {
    if (!properties) return cj__refuse_null("prop");
    if (properties->flags)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", properties->flags);
    if (properties->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "handle types 0x%llx: multicast objects are of one process here",
                          properties->handleTypes);
    if (!properties->numDevices)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "numDevices is 0: a multicast object has at least one device");
    if (properties->numDevices > (unsigned)cj__driver.gpu_count) {
        cj__refuse(CUDA_ERROR_INVALID_VALUE, "numDevices is %u, but there are %d devices", properties->numDevices,
                   cj__driver.gpu_count);
        cj__hint("ptxgen run-program --gpus N gives a program N devices");
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *properties,
                                   CUmulticastGranularity_flags option) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(granularity);
    TRY(check_properties(properties));
    if ((unsigned)option > CU_MULTICAST_GRANULARITY_RECOMMENDED)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "option %d is not known", (int)option));
    *granularity = CJ_GRANULARITY;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *properties) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(handle);
    TRY(check_properties(properties));
    if (!properties->size) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the size is 0"));
    TRY(cj__check_grain("the size", properties->size));
    cj_team *made = cj__team_new(properties);
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    *handle = made->generic.base.handle;
    LEAVE(CUDA_SUCCESS);
}

#define FIND_TEAM(name, given)                                     \
    cj_team *name = cj__object_find(CJ_MULTICAST, pointer(given)); \
    if (!name) LEAVE(cj__refuse_handle(CJ_MULTICAST, pointer(given)))

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle given, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    FIND_TEAM(team, given);
    cj_gpu *gpu = cj__gpu_of(device);
    if (!gpu) LEAVE(cj__refuse_device(device));
    if (cj__team_has(team, gpu)) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "device %d was added already", device));
    if (team->count == team->properties.numDevices)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "all %u devices of the multicast object were added already",
                         team->count));
    team->gpu[team->count++] = gpu;
    LEAVE(CUDA_SUCCESS);
}

// ---- binds

static CUresult check_range(const cj_team *team, size_t offset, size_t bytes) {
    CUresult code = cj__check_grain("mcOffset", offset);
    if (!bytes) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the size is 0");
    if (!code) code = cj__check_grain("the size", bytes);
    if (!code && (offset > team->properties.size || bytes > team->properties.size - offset))
        code = cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %zu leave the multicast object's %zu", bytes, offset,
                          team->properties.size);
    return code;
}

static const cj_bind *bind_in(const cj_team *team, const cj_gpu *gpu, size_t offset, size_t bytes) {
    const cj_bind *b = team->binds;
    while (b && (b->gpu != gpu || b->offset >= offset + bytes || offset >= b->offset + b->bytes)) b = b->next;
    return b;
}

static CUresult check_memory(const cj_team *team, const cj_physical *memory, size_t from, size_t bytes) {
    if (memory->properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the memory is the host's, and no device's");
    if (!cj__team_has(team, memory->gpu))
        return cj__refuse(CUDA_ERROR_INVALID_DEVICE, "the memory is device %d's, which was not added",
                          memory->gpu->ordinal);
    const CUresult code = cj__check_grain("memOffset", from);
    if (code || (from <= memory->bytes && bytes <= memory->bytes - from)) return code;
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %zu leave the memory's %zu", bytes, from, memory->bytes);
}

static CUresult add_bind(cj_team *team, size_t offset, cj_physical *memory, size_t from, size_t bytes) {
    CUresult code = check_range(team, offset, bytes);
    if (!code) code = check_memory(team, memory, from, bytes);
    if (code) return code;
    const cj_bind *other = bind_in(team, memory->gpu, offset, bytes);
    if (other) {
        cj__refuse(CUDA_ERROR_INVALID_VALUE, "device %d has bound %zu bytes at %zu of the multicast object already",
                   memory->gpu->ordinal, other->bytes, other->offset);
        cj__hint("call cuMulticastUnbind first");
        return CUDA_ERROR_INVALID_VALUE;
    }
    cj_bind *made = malloc(sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (cj_bind){team->binds, memory->gpu, offset, bytes, cj__keep(memory), from};
    team->binds = made;
    return cj__team_renew();
}

// Another thread may add the last device: as the driver's, the call waits for that, but not for ever.
enum { WAIT_MS = 2000 };

static CUresult wait_for_devices(cj_team *team) {
    cj__keep(team);
    for (int waited = 0; team->count < team->properties.numDevices && waited < WAIT_MS; waited++) {
        const cj_pause pause = cj__pause();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        cj__resume(pause);
    }
    const CUresult code = team->count == team->properties.numDevices
                              ? CUDA_SUCCESS
                              : cj__refuse(
                                    CUDA_ERROR_INVALID_VALUE,
                                    "%u of the multicast object's %u devices were added; a GPU's driver waits for "
                                    "the others for ever",
                                    team->count, team->properties.numDevices);
    cj__let(team);
    return code;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle given, size_t offset, CUmemGenericAllocationHandle memory,
                            size_t from, size_t bytes, unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    FIND_TEAM(waited, given);
    TRY(wait_for_devices(waited));
    FIND_TEAM(team, given);
    cj_physical *physical = cj__object_find(CJ_PHYSICAL, pointer(memory));
    if (!physical) LEAVE(cj__refuse_handle(CJ_PHYSICAL, pointer(memory)));
    LEAVE(add_bind(team, offset, physical, from, bytes));
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle given, size_t offset, CUdeviceptr address, size_t bytes,
                             unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    FIND_TEAM(waited, given);
    TRY(wait_for_devices(waited));
    FIND_TEAM(team, given);
    const cj_block *block = cj__memory_at(address);
    TRY(cj__check_grain("memptr", address));
    if (!block || block->type != CJ_MEMORY_VIRTUAL)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is mapped memory of no cuMemCreate",
                         (unsigned long long)address));
    if (bytes > block->bytes - (address - block->base))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx leave the mapping's %zu", bytes,
                         (unsigned long long)address, block->bytes));
    LEAVE(add_bind(team, offset, block->map, block->map_offset + (address - block->base), bytes));
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle given, CUdevice device, size_t offset, size_t bytes) {
    ENTER(CJ_NEED_INIT);
    for (int i = 0; i < cj__driver.gpu_count; i++) cj__gpu_wait(&cj__driver.gpu[i]);
    FIND_TEAM(team, given);
    cj_gpu *gpu = cj__gpu_of(device);
    if (!gpu) LEAVE(cj__refuse_device(device));
    TRY(check_range(team, offset, bytes));
    cj_bind **at = &team->binds;
    while (*at && ((*at)->gpu != gpu || (*at)->offset != offset || (*at)->bytes != bytes)) at = &(*at)->next;
    cj_bind *gone = *at;
    if (!gone)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "device %d has bound no %zu bytes at %zu in one call", device, bytes,
                         offset));
    *at = gone->next;
    const CUresult code = cj__team_renew();
    cj__let(gone->memory);
    free(gone);
    LEAVE(code);
}

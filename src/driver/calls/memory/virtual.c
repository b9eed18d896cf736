// SPDX-License-Identifier: Apache-2.0
// Virtual memory: reserved addresses, memory without addresses, and mappings of one into the other.
//
// Memory is an anonymous file of the host's, so that it can be mapped at several addresses at once. Mappings that follow each
// other are one piece of memory to the kernels of a device that reaches them: they are wrapped together.
#define _GNU_SOURCE  // memfd_create
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "multicast.h"

typedef struct reservation {
    struct reservation *next;
    uint64_t            base;
    size_t              bytes;
} reservation;

static reservation *reservations;

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

// ---- addresses

static CUresult reserve(CUdeviceptr *result, size_t bytes, size_t alignment, CUdeviceptr wanted) {
    const size_t step = alignment > CJ_GRANULARITY ? alignment : CJ_GRANULARITY, all = bytes + step;
    reservation *made = malloc(sizeof *made);
    char        *at = all < bytes || !made
                          ? MAP_FAILED
                          : mmap(pointer(wanted), all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        free(made);
        return cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes of addresses", bytes);
    }
    const size_t before = (step - (uintptr_t)at % step) % step;
    if (before) munmap(at, before);
    if (all - before > bytes) munmap(at + before + bytes, all - before - bytes);
    *made = (reservation){reservations, (uintptr_t)at + before, bytes};
    reservations = made;
    *result = made->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(address);
    REQUIRE(bytes);
    if (flags || alignment & (alignment - 1))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, the alignment %zu", flags, alignment));
    TRY(cj__check_grain("the size", bytes));
    LEAVE(reserve(address, bytes, alignment, wanted));
}

// The reservation that holds all of a range; NULL: none does.
static const reservation *reservation_of(uint64_t address, size_t bytes) {
    const reservation *r = reservations;
    while (r && (address < r->base || address - r->base >= r->bytes || bytes > r->bytes - (address - r->base)))
        r = r->next;
    return r;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    ENTER(CJ_NEED_INIT);
    reservation **at = &reservations;
    while (*at && (*at)->base != address) at = &(*at)->next;
    reservation *found = *at;
    if (!found || found->bytes != bytes)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx were not reserved", bytes,
                         (unsigned long long)address));
    const cj_block *mapped = cj__memory_next(address);
    if (mapped && mapped->base - address < bytes)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "some of these addresses are mapped: unmap them first"));
    *at = found->next;
    munmap(pointer(address), bytes);
    free(found);
    LEAVE(CUDA_SUCCESS);
}

// ---- memory

static void release_physical(void *object) {
    cj_physical *physical = object;
    cj__physical_hide(physical);
    if (physical->file >= 0) close(physical->file);
    physical->gpu->used -= physical->bytes;
    free(physical);
}

static CUresult new_physical(int file, size_t bytes, const CUmemAllocationProp *properties, cj_gpu *gpu,
                             CUmemGenericAllocationHandle *result) {
    cj_physical *made = cj__object_new(CJ_PHYSICAL, sizeof *made, NULL, release_physical);
    if (!made) {
        close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->file = file;
    made->bytes = bytes;
    made->gpu = gpu;
    made->properties = *properties;
    made->generic.references = 1;
    gpu->used += bytes;
    *result = made->generic.base.handle;
    return CUDA_SUCCESS;
}

static CUresult check_properties(const CUmemAllocationProp *properties, cj_gpu **gpu) {
    if (!properties) return cj__refuse_null("prop");
    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "allocation type %d", (int)properties->type);
    if (properties->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "only file descriptors are shared here");
    const bool on_host = properties->location.type >= CU_MEM_LOCATION_TYPE_HOST &&
                         properties->location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    if (!on_host && properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)properties->location.type);
    *gpu = on_host ? &cj__driver.gpu[0] : cj__gpu_of(properties->location.id);
    return *gpu ? CUDA_SUCCESS : cj__refuse_device(properties->location.id);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties,
                     unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    cj_gpu *gpu = NULL;
    REQUIRE(handle);
    REQUIRE(bytes);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    TRY(check_properties(properties, &gpu));
    TRY(cj__check_grain("the size", bytes));
    const uint64_t all = gpu->limits->global_bytes;
    if (gpu->used > all || bytes > all - gpu->used)
        LEAVE(cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes are more than the device has left", bytes));
    const int file = memfd_create("clusterjit", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes)) {
        if (file >= 0) close(file);
        LEAVE(cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "no host memory for %zu bytes: %s", bytes, strerror(errno)));
    }
    LEAVE(new_physical(file, bytes, properties, gpu, handle));
}

// Finds the memory of a handle, which is a number here and not a pointer.
#define FIND_PHYSICAL(name, given)                                    \
    cj_physical *name = cj__object_find(CJ_PHYSICAL, pointer(given)); \
    if (!name) LEAVE(cj__refuse_handle(CJ_PHYSICAL, pointer(given)))

// A multicast object is released, and mapped, by the same calls.
static cj_generic *generic_of(CUmemGenericAllocationHandle given) {
    cj_generic *found = cj__object_find(CJ_PHYSICAL, pointer(given));
    return found ? found : cj__object_find(CJ_MULTICAST, pointer(given));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle given) {
    ENTER(CJ_NEED_INIT);
    cj_generic *generic = generic_of(given);
    if (!generic) LEAVE(cj__refuse_handle(CJ_PHYSICAL, pointer(given)));
    if (!--generic->references) cj__object_destroy(generic);
    LEAVE(CUDA_SUCCESS);
}

static bool is_mapping(const cj_block *block) {
    return block && (block->type == CJ_MEMORY_VIRTUAL || block->type == CJ_MEMORY_MULTICAST);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(handle);
    const cj_block *block = cj__memory_at((uintptr_t)address);
    if (!is_mapping(block)) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%p is mapped by no cuMemMap", address));
    cj_generic *generic = block->type == CJ_MEMORY_VIRTUAL ? block->map : &cj__team_of(block)->generic;
    if (!cj__object_find(generic->base.kind, HANDLE_OF(generic)))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the memory's handle was released"));
    generic->references++;
    *handle = generic->base.handle;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option) {
    ENTER(CJ_NEED_INIT);
    cj_gpu *gpu = NULL;
    REQUIRE(granularity);
    TRY(check_properties(properties, &gpu));
    if ((unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "option %d is not known", (int)option));
    *granularity = CJ_GRANULARITY;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle given) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(properties);
    FIND_PHYSICAL(physical, given);
    *properties = physical->properties;
    LEAVE(CUDA_SUCCESS);
}

// ---- between processes

CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle given, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(shared);
    if (cj__object_find(CJ_MULTICAST, pointer(given)))
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "a multicast object is of one process here"));
    FIND_PHYSICAL(physical, given);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "handle type %d, flags %llu: only file descriptors are shared here",
                         (int)type, flags));
    const int file = dup(physical->file);
    if (file < 0) LEAVE(cj__refuse(CUDA_ERROR_OPERATING_SYSTEM, "dup: %s", strerror(errno)));
    *(int *)shared = file;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        CUmemAllocationHandleType type) {
    ENTER(CJ_NEED_INIT);
    struct stat               about;
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    REQUIRE(handle);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "handle type %d: only file descriptors are shared here", (int)type));
    const int file = dup((int)(intptr_t)shared);
    if (file < 0 || fstat(file, &about) || about.st_size <= 0 || about.st_size % CJ_GRANULARITY) {
        if (file >= 0) close(file);
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the file descriptor is none of cuMemExportToShareableHandle"));
    }
    LEAVE(new_physical(file, (size_t)about.st_size, &properties, &cj__driver.gpu[0], handle));
}

// ---- mappings

static bool reaches(const cj_block *block, const cj_gpu *gpu) { return block->reached >> gpu->ordinal & 1; }

static bool is_reached(const cj_block *block, const cj_gpu *gpu) {
    return block && block->type == CJ_MEMORY_VIRTUAL && reaches(block, gpu);
}

// Calls `each` for every run of mappings, one after another, that a device reaches in a reservation.
static CUresult each_run(const reservation *r, const cj_gpu *gpu,
                         CUresult (*each)(const cj_gpu *gpu, uint64_t base, size_t bytes)) {
    CUresult  code = CUDA_SUCCESS;
    cj_block *block = cj__memory_next(r->base);
    while (block && block->base - r->base < r->bytes && !code) {
        const uint64_t base = block->base;
        if (!is_reached(block, gpu)) {
            block = cj__memory_next(base + block->bytes);
            continue;
        }
        uint64_t end = base + block->bytes;
        while (end - r->base < r->bytes && is_reached(cj__memory_begin(end), gpu)) end += cj__memory_begin(end)->bytes;
        code = each(gpu, base, end - base);
        block = cj__memory_next(end);
    }
    return code;
}

static CUresult unwrap_run(const cj_gpu *gpu, uint64_t base, size_t bytes) {
    (void)bytes;
    cj_mem_free(gpu->device, base);
    return CUDA_SUCCESS;
}

static CUresult wrap_run(const cj_gpu *gpu, uint64_t base, size_t bytes) {
    cj_ptr   address = 0;
    cj_error error = {0};
    return cj_mem_wrap(gpu->device, pointer(base), bytes, &address, &error) ? cj__refuse_error(&error) : CUDA_SUCCESS;
}

// Lets a device reach the mappings of a range, or no more.
static CUresult change_access(const reservation *r, const cj_gpu *gpu, uint64_t address, size_t bytes, bool given) {
    const uint32_t bit = UINT32_C(1) << gpu->ordinal;
    each_run(r, gpu, unwrap_run);
    for (cj_block *b = cj__memory_next(address); b && b->base - address < bytes;
         b = cj__memory_next(b->base + b->bytes))
        b->reached = given ? b->reached | bit : b->reached & ~bit;
    const CUresult code = each_run(r, gpu, wrap_run);
    return code ? code : cj__team_renew();
}

static CUresult map_physical(cj_physical *physical, CUdeviceptr address, size_t bytes, size_t offset) {
    cj_block      *block = NULL;
    const cj_block wanted = {.base = address,
                             .bytes = bytes,
                             .type = CJ_MEMORY_VIRTUAL,
                             .gpu = physical->gpu,
                             .call = cj__thread.call,
                             .map = physical,
                             .map_offset = offset};
    if (mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file, (off_t)offset) ==
        MAP_FAILED)
        return cj__refuse(CUDA_ERROR_MAP_FAILED, "mmap: %s", strerror(errno));
    const CUresult code = cj__memory_add(&wanted, &block);
    if (!code) cj__keep(physical);
    return code;
}

static CUresult map_team(cj_team *team, CUdeviceptr address, size_t bytes, size_t offset) {
    if (team->count < team->properties.numDevices)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%u of the multicast object's %u devices were added", team->count,
                          team->properties.numDevices);
    return cj__team_map(team, address, bytes, offset);
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle given,
                  unsigned long long flags) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(bytes);
    cj_physical *physical = cj__object_find(CJ_PHYSICAL, pointer(given));
    cj_team     *team = cj__object_find(CJ_MULTICAST, pointer(given));
    if (!physical && !team) LEAVE(cj__refuse_handle(CJ_PHYSICAL, pointer(given)));
    const size_t all = physical ? physical->bytes : team->properties.size;
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    TRY(cj__check_grain("address, size or offset", address | bytes | offset));
    if (offset > all || bytes > all - offset)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %zu leave the memory's %zu", bytes, offset, all));
    if (!reservation_of(address, bytes))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx were not reserved", bytes,
                         (unsigned long long)address));
    const cj_block *after = cj__memory_next(address);
    if (cj__memory_at(address) || (after && after->base - address < bytes))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "some of these addresses are mapped"));
    LEAVE(physical ? map_physical(physical, address, bytes, offset) : map_team(team, address, bytes, offset));
}

static CUresult unmap(const reservation *r, cj_block *block) {
    const uint64_t base = block->base;
    const size_t   bytes = block->bytes;
    CUresult       code = CUDA_SUCCESS;
    if (block->type == CJ_MEMORY_MULTICAST) {
        cj__team_unmap(block);
        return CUDA_SUCCESS;
    }
    cj_physical *physical = block->map;
    for (int i = 0; i < cj__driver.gpu_count && !code; i++)
        code = change_access(r, &cj__driver.gpu[i], base, bytes, false);
    cj__memory_free(block);
    cj__let(physical);
    if (mmap(pointer(base), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return cj__refuse(CUDA_ERROR_UNMAP_FAILED, "mmap: %s", strerror(errno));
    return code;
}

// Whether whole mappings cover the range from its first to its last byte.
static bool is_mapped(uint64_t address, size_t bytes) {
    uint64_t at = address;
    while (at - address < bytes) {
        const cj_block *block = cj__memory_begin(at);
        if (!is_mapping(block)) return false;
        at += block->bytes;
    }
    return at - address == bytes;
}

static CUresult check_mapped(uint64_t address, size_t bytes, const reservation **r) {
    *r = bytes ? reservation_of(address, bytes) : NULL;
    if (*r && is_mapped(address, bytes)) return CUDA_SUCCESS;
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx are not whole mappings", bytes,
                      (unsigned long long)address);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
    ENTER(CJ_NEED_INIT);
    const reservation *r = NULL;
    TRY(check_mapped(address, bytes, &r));
    for (int i = 0; i < cj__driver.gpu_count; i++) cj__gpu_wait(&cj__driver.gpu[i]);
    TRY(check_mapped(address, bytes, &r));
    while (bytes) {
        cj_block    *block = cj__memory_begin(address);
        const size_t gone = block->bytes;
        TRY(unmap(r, block));
        address += gone;
        bytes -= gone;
    }
    LEAVE(CUDA_SUCCESS);
}

// Only an object's own devices can use it.
static CUresult check_teams(const cj_gpu *gpu, uint64_t address, size_t bytes) {
    for (const cj_block *b = cj__memory_next(address); b && b->base - address < bytes;
         b = cj__memory_next(b->base + b->bytes)) {
        if (b->type == CJ_MEMORY_MULTICAST && !cj__team_has(cj__team_of(b), gpu))
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "device %d was not added to the multicast object at 0x%llx",
                              gpu->ordinal, (unsigned long long)b->base);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *list, size_t count) {
    ENTER(CJ_NEED_INIT);
    const reservation *r = NULL;
    REQUIRE(list);
    TRY(check_mapped(address, bytes, &r));
    for (size_t i = 0; i < count; i++) {
        if (list[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;  // the host reaches all of it
        const cj_gpu *gpu = cj__gpu_of(list[i].location.id);
        if (!gpu) LEAVE(cj__refuse_device(list[i].location.id));
        TRY(check_teams(gpu, address, bytes));
        TRY(change_access(r, gpu, address, bytes, list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE));
    }
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(flags);
    REQUIRE(location);
    const cj_block *block = cj__memory_at(address);
    if (!is_mapping(block))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is mapped by no cuMemMap", (unsigned long long)address));
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !cj__gpu_of(location->id))
        LEAVE(cj__refuse_device(location->id));
    *flags = reaches(block, cj__gpu_of(location->id)) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                      : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    LEAVE(CUDA_SUCCESS);
}

// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // MAP_ANONYMOUS
#include "multicast.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A mapping of an object.
typedef struct view {
    struct view      *next;
    cj_team          *team;  // kept
    cj_block         *block;
    size_t            offset;  // in the object
    cj_cpu_multicast *made;    // NULL: no device reaches it
} view;

static view *views;

CUresult cj__check_grain(const char *what, uint64_t value) {
    if (!(value % CJ_GRANULARITY)) return CUDA_SUCCESS;
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s is 0x%llx, which is no multiple of the granularity, 0x%x", what,
                      (unsigned long long)value, CJ_GRANULARITY);
}

// ---- where the bound memory is

void cj__physical_hide(cj_physical *physical) {
    if (!physical->hidden) return;
    cj_mem_free(physical->gpu->device, (uintptr_t)physical->hidden);
    munmap(physical->hidden, physical->bytes);
    physical->hidden = NULL;
}

static CUresult show_hidden(cj_physical *physical) {
    cj_ptr   address = 0;
    cj_error error = {0};
    if (physical->hidden) return CUDA_SUCCESS;
    void *at = mmap(NULL, physical->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical->file, 0);
    if (at == MAP_FAILED)
        return cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no %zu bytes of addresses", physical->bytes);
    if (cj_mem_wrap(physical->gpu->device, at, physical->bytes, &address, &error)) {
        munmap(at, physical->bytes);
        return cj__refuse_error(&error);
    }
    physical->hidden = at;
    return CUDA_SUCCESS;
}

// The address at which the memory's device reaches these bytes.
static CUresult place_of(cj_physical *physical, size_t from, size_t bytes, cj_ptr *address) {
    const uint32_t bit = UINT32_C(1) << physical->gpu->ordinal;
    for (const cj_block *b = cj__memory_next(0); b; b = cj__memory_next(b->base + b->bytes)) {
        if (b->type != CJ_MEMORY_VIRTUAL || b->map != physical || !(b->reached & bit)) continue;
        if (from < b->map_offset || from + bytes > b->map_offset + b->bytes) continue;
        *address = b->base + (from - b->map_offset);
        return CUDA_SUCCESS;
    }
    const CUresult code = show_hidden(physical);
    if (!code) *address = (uintptr_t)physical->hidden + from;
    return code;
}

// ---- objects

static void release_team(void *object) {
    cj_team *team = object;
    while (team->binds) {
        cj_bind *bind = team->binds;
        team->binds = bind->next;
        cj__let(bind->memory);
        free(bind);
    }
    free(team);
}

cj_team *cj__team_new(const CUmulticastObjectProp *properties) {
    cj_team *made = cj__object_new(CJ_MULTICAST, sizeof *made, NULL, release_team);
    if (!made) return NULL;
    made->properties = *properties;
    made->generic.references = 1;
    return made;
}

bool cj__team_has(const cj_team *team, const cj_gpu *gpu) {
    for (unsigned i = 0; i < team->count; i++) {
        if (team->gpu[i] == gpu) return true;
    }
    return false;
}

// ---- mappings

// Binds the part of a bind that a mapping shows.
static CUresult bind_part(const view *v, uint32_t member, const cj_bind *bind) {
    const size_t begin = bind->offset > v->offset ? bind->offset : v->offset, bind_end = bind->offset + bind->bytes,
                 view_end = v->offset + v->block->bytes, end = bind_end < view_end ? bind_end : view_end;
    cj_error error = {0};
    cj_ptr   address = 0;
    if (begin >= end) return CUDA_SUCCESS;
    const CUresult code = place_of(bind->memory, bind->from + (begin - bind->offset), end - begin, &address);
    if (code) return code;
    return cj_cpu_multicast_bind(v->made, member, begin - v->offset, address, end - begin, &error)
               ? cj__refuse_error(&error)
               : CUDA_SUCCESS;
}

// A new object of the CPU devices for a mapping, with all binds.
static CUresult renew(view *v) {
    cj_device     *device[CJ_GPUS];
    const cj_team *team = v->team;
    cj_error       error = {0};
    CUresult       code = CUDA_SUCCESS;
    cj_cpu_multicast_destroy(v->made);
    v->made = NULL;
    if (!v->block->reached) return CUDA_SUCCESS;
    for (unsigned i = 0; i < team->count; i++) device[i] = team->gpu[i]->device;
    if (cj_cpu_multicast_create(device, team->count, v->block->bytes, v->block->base, &v->made, &error))
        return cj__refuse_error(&error);
    for (uint32_t i = 0; i < team->count && !code; i++) {
        cj_ptr address = 0;
        for (const cj_bind *b = team->binds; b && !code; b = b->next) {
            if (b->gpu == team->gpu[i]) code = bind_part(v, i, b);
        }
        if (!code && v->block->reached >> team->gpu[i]->ordinal & 1 &&
            cj_cpu_multicast_map(v->made, i, &address, &error))
            code = cj__refuse_error(&error);
    }
    return code;
}

CUresult cj__team_renew(void) {
    CUresult code = CUDA_SUCCESS;
    for (view *v = views; v && !code; v = v->next) code = renew(v);
    return code;
}

CUresult cj__team_map(cj_team *team, uint64_t address, size_t bytes, size_t offset) {
    view          *made = malloc(sizeof *made);
    const cj_block wanted = {.base = address,
                             .bytes = bytes,
                             .type = CJ_MEMORY_MULTICAST,
                             .gpu = team->gpu[0],
                             .call = cj__thread.call,
                             .map = made};
    cj_block      *block = NULL;
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult code = cj__memory_add(&wanted, &block);
    if (code) {
        free(made);
        return code;
    }
    *made = (view){.next = views, .team = cj__keep(team), .block = block, .offset = offset};
    views = made;
    return CUDA_SUCCESS;
}

void cj__team_unmap(cj_block *block) {
    view *gone = block->map, **at = &views;
    while (*at != gone) at = &(*at)->next;
    *at = gone->next;
    cj_cpu_multicast_destroy(gone->made);
    block->reached = 0;  // the object's end has ended that
    cj__memory_free(block);
    cj__let(gone->team);
    free(gone);
}

cj_team *cj__team_of(const cj_block *block) { return ((const view *)block->map)->team; }

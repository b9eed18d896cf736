// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Each end of a copy is checked against the block that it lies in; what lies in none is the host's.
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"
#include "work.h"

// An end of a copy in bytes.
typedef struct span {
    unsigned char *at;
    size_t         pitch, slice;
    cj_block      *block;  // NULL: the host's
} span;

static size_t or_else(size_t given, size_t otherwise) { return given ? given : otherwise; }

static CUresult span_of_array(const cj_place *place, const cj_copy *copy, span *result) {
    const cj_array *array = place->array;
    cj_block       *block = cj__memory_begin(array->memory);
    if (!block || block->id != array->id) return cj__refuse_handle(CJ_ARRAY, HANDLE_OF(array));
    if (place->x > array->width || copy->bytes > array->width - place->x || place->y > array->rows ||
        copy->height > array->rows - place->y || place->z > array->slices || copy->depth > array->slices - place->z) {
        return cj__refuse(CUDA_ERROR_INVALID_VALUE,
                          "%zu x %zu x %zu from (%zu, %zu, %zu) on leave an array of %zu x %zu x %zu (x in bytes)",
                          copy->bytes, copy->height, copy->depth, place->x, place->y, place->z, array->width,
                          array->rows, array->slices);
    }
    *result = (span){.pitch = array->width, .slice = array->width * array->rows, .block = block};
    result->at = (unsigned char *)(uintptr_t)array->memory + place->x + place->y * result->pitch +
                 place->z * result->slice;
    return CUDA_SUCCESS;
}

// The bytes from the first to the last one of a copy; false: they do not fit in 64 bits.
static bool extent_of(const cj_copy *copy, size_t pitch, size_t slice, size_t *bytes) {
    size_t rows = 0, slices = 0;
    if (__builtin_mul_overflow(copy->height - 1, pitch, &rows) ||
        __builtin_mul_overflow(copy->depth - 1, slice, &slices) || __builtin_add_overflow(rows, slices, &rows))
        return false;
    return !__builtin_add_overflow(rows, copy->bytes, bytes);
}

// The blocks of virtual memory that are mapped one after another are one piece of memory to a copy.
static bool holds(const cj_block *block, uint64_t address, size_t bytes) {
    while (block && bytes > block->bytes - (address - block->base)) {
        bytes -= block->bytes - (address - block->base);
        address = block->base + block->bytes;
        block = block->type == CJ_MEMORY_VIRTUAL ? cj__memory_begin(address) : NULL;
    }
    return block != NULL;
}

static CUresult refuse_range(uint64_t address, size_t bytes, const cj_block *block) {
    if (!block) {
        cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no address of device memory", (unsigned long long)address);
        cj__hint("it was freed, or is memory of the host that was not registered");
    } else {
        cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx leave the %zu bytes at 0x%llx that %s allocated",
                   bytes, (unsigned long long)address, block->bytes, (unsigned long long)block->base,
                   block->call ? block->call : "the module");
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult refuse_multicast(uint64_t address) {
    cj__refuse(CUDA_ERROR_INVALID_VALUE,
               "0x%llx is an address of a multicast object, which only multimem instructions of kernels reach",
               (unsigned long long)address);
    cj__hint("copy each device's own memory");
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult span_of_memory(const cj_place *place, const cj_copy *copy, span *result) {
    const size_t pitch = or_else(place->pitch, place->x + copy->bytes), rows = or_else(place->rows, copy->height);
    size_t       bytes = 0, first = 0, extent = 0;
    if (pitch < copy->bytes && copy->height > 1)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a pitch of %zu bytes is less than a row of %zu", pitch,
                          copy->bytes);
    if (__builtin_mul_overflow(pitch, rows, &result->slice) || !extent_of(copy, pitch, result->slice, &extent) ||
        __builtin_mul_overflow(place->y, pitch, &first) || __builtin_mul_overflow(place->z, result->slice, &bytes) ||
        __builtin_add_overflow(first, bytes, &first) || __builtin_add_overflow(first, place->x, &first))
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the copy is longer than the memory of any machine");
    const uint64_t address = place->address + first;
    if (!place->address) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "an address is NULL");
    result->pitch = pitch;
    result->at = (unsigned char *)(uintptr_t)address;
    result->block = cj__memory_at(address);
    if (result->block && result->block->type == CJ_MEMORY_MULTICAST) return refuse_multicast(address);
    if (!result->block && place->type == CU_MEMORYTYPE_DEVICE) return refuse_range(address, extent, NULL);
    if (result->block && !holds(result->block, address, extent)) return refuse_range(address, extent, result->block);
    return CUDA_SUCCESS;
}

static CUresult span_of(const cj_place *place, const cj_copy *copy, span *result) {
    *result = (span){0};
    return place->array ? span_of_array(place, copy, result) : span_of_memory(place, copy, result);
}

static bool is_empty(const cj_copy *copy) { return !copy->bytes || !copy->height || !copy->depth; }

CUresult cj__copy_check(const cj_copy *copy) {
    span           to, from;
    const CUresult code = is_empty(copy) ? CUDA_SUCCESS : span_of(&copy->to, copy, &to);
    return code || is_empty(copy) ? code : span_of(&copy->from, copy, &from);
}

// What is written to a device's memory counts as initialized there.
static CUresult copy_row(const span *to, size_t to_offset, const span *from, size_t from_offset, size_t bytes) {
    unsigned char       *at = to->at + to_offset;
    const unsigned char *source = from->at + from_offset;
    cj_error             error = {0};
    const bool           overlaps = at < source + bytes && source < at + bytes;
    if (overlaps || !to->block || to->block->type != CJ_MEMORY_DEVICE) {
        memmove(at, source, bytes);
        return CUDA_SUCCESS;
    }
    return cj_mem_write(to->block->gpu->device, (uintptr_t)at, source, bytes, NULL, &error) ? cj__refuse_error(&error)
                                                                                            : CUDA_SUCCESS;
}

CUresult cj__copy_run(const cj_copy *copy) {
    span     to, from;
    CUresult code = CUDA_SUCCESS;
    size_t   bytes = copy->bytes, height = copy->height, depth = copy->depth;
    if (is_empty(copy)) return CUDA_SUCCESS;
    code = span_of(&copy->to, copy, &to);
    if (!code) code = span_of(&copy->from, copy, &from);
    if (code) return code;
    cj__counts.copies++;
    cj__counts.copied_bytes += bytes * height * depth;
    if (to.pitch == bytes && from.pitch == bytes) {  // rows without gaps are one
        bytes *= height;
        height = 1;
    }
    for (size_t z = 0; z < depth && !code; z++) {
        for (size_t y = 0; y < height && !code; y++)
            code = copy_row(&to, z * to.slice + y * to.pitch, &from, z * from.slice + y * from.pitch, bytes);
    }
    return code;
}

// ---- fills

static CUresult set_span(const cj_set *set, span *result) {
    size_t         bytes = 0;
    const cj_place place = {.type = CU_MEMORYTYPE_DEVICE, .address = set->to, .pitch = set->pitch};
    if (__builtin_mul_overflow(set->width, (size_t)set->element, &bytes))
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu elements are more than the memory of any machine", set->width);
    if (set->to % set->element || (set->height > 1 && set->pitch % set->element)) {
        return cj__refuse(CUDA_ERROR_INVALID_VALUE,
                          "0x%llx, or a pitch of %zu, is not aligned to the %u bytes of an element",
                          (unsigned long long)set->to, set->pitch, set->element);
    }
    const cj_copy copy = {.bytes = bytes, .height = set->height, .depth = 1};
    return span_of(&place, &copy, result);
}

static bool sets_nothing(const cj_set *set) { return !set->width || !set->height; }

CUresult cj__set_check(const cj_set *set) {
    span to;
    return sets_nothing(set) ? CUDA_SUCCESS : set_span(set, &to);
}

enum { PATTERN = 4096 };

static CUresult set_row(const span *to, size_t offset, const unsigned char *pattern, size_t bytes) {
    const span from = {.at = (unsigned char *)(uintptr_t)pattern};
    CUresult   code = CUDA_SUCCESS;
    for (size_t done = 0, piece; done < bytes && !code; done += piece) {
        piece = bytes - done < PATTERN ? bytes - done : PATTERN;
        code = copy_row(to, offset + done, &from, 0, piece);
    }
    return code;
}

CUresult cj__set_run(const cj_set *set) {
    span          to;
    unsigned char pattern[PATTERN];
    CUresult      code = sets_nothing(set) ? CUDA_SUCCESS : set_span(set, &to);
    if (code || sets_nothing(set)) return code;
    const size_t bytes = set->width * set->element, used = bytes < PATTERN ? bytes : PATTERN;
    memset(pattern, (int)(set->value & 0xff), used);
    for (size_t i = 0; set->element > 1 && i < used; i += set->element) memcpy(pattern + i, &set->value, set->element);
    for (size_t y = 0; y < set->height && !code; y++) code = set_row(&to, y * to.pitch, pattern, bytes);
    return code;
}

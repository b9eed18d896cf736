// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static cj_block **blocks;  // ascending
static size_t     count, room;
static uint64_t   last_id;

// The index of the first block that begins above the address.
static size_t above(uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (blocks[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cj_block *cj__memory_at(uint64_t address) {
    const size_t at = above(address);
    cj_block    *block = at ? blocks[at - 1] : NULL;
    return block && address - block->base < block->bytes ? block : NULL;
}

cj_block *cj__memory_begin(uint64_t address) {
    cj_block *block = cj__memory_at(address);
    return block && block->base == address ? block : NULL;
}

cj_block *cj__memory_next(uint64_t address) {
    const size_t at = address ? above(address - 1) : 0;
    return at < count ? blocks[at] : NULL;
}

static cj_block *insert(const cj_block *wanted) {
    const size_t at = above(wanted->base);
    cj_block    *made = malloc(sizeof *made);
    if (count == room && made) {
        cj_block **grown = realloc(blocks, (2 * room + 64) * sizeof *grown);
        if (grown) {
            blocks = grown;
            room = 2 * room + 64;
        }
    }
    if (!made || count == room) {
        free(made);
        return NULL;
    }
    *made = *wanted;
    made->id = ++last_id;
    memmove(blocks + at + 1, blocks + at, (count - at) * sizeof *blocks);
    blocks[at] = made;
    count++;
    return made;
}

static void take_out(const cj_block *block) {
    const size_t at = above(block->base) - 1;
    memmove(blocks + at, blocks + at + 1, (count - at - 1) * sizeof *blocks);
    count--;
}

// ---- which kernels reach a block

uint32_t cj__all_gpus(void) { return (UINT32_C(1) << cj__driver.gpu_count) - 1; }

CUresult cj__memory_reach(cj_block *block, const cj_gpu *gpu) {
    const uint32_t bit = UINT32_C(1) << gpu->ordinal;
    cj_error       error = {0};
    cj_ptr         address = 0;
    if (block->reached & bit || (block->type == CJ_MEMORY_DEVICE && block->gpu == gpu)) return CUDA_SUCCESS;
    if (cj_mem_wrap(gpu->device, (void *)(uintptr_t)block->base, block->bytes, &address, &error))
        return cj__refuse_error(&error);
    block->reached |= bit;
    return CUDA_SUCCESS;
}

void cj__memory_unreach(cj_block *block, const cj_gpu *gpu) {
    const uint32_t bit = UINT32_C(1) << gpu->ordinal;
    if (block->reached & bit) cj_mem_free(gpu->device, block->base);
    block->reached &= ~bit;
}

static CUresult reach_all(cj_block *block, uint32_t gpus) {
    CUresult code = CUDA_SUCCESS;
    for (int i = 0; i < cj__driver.gpu_count && !code; i++) {
        if (gpus >> i & 1) code = cj__memory_reach(block, &cj__driver.gpu[i]);
    }
    return code;
}

// The devices whose kernels were given access to the memory of this one.
static uint32_t peers_of(const cj_gpu *gpu) {
    uint32_t peers = 0;
    for (int i = 0; i < cj__driver.gpu_count; i++) peers |= (cj__driver.gpu[i].peers >> gpu->ordinal & 1) << i;
    return peers;
}

// ---- allocation

static CUresult take_device(const cj_block *wanted, uint64_t *base) {
    cj_error error = {0};
    if (cj_mem_alloc(wanted->gpu->device, wanted->bytes, base, &error)) return cj__refuse_error(&error);
    wanted->gpu->used += wanted->bytes;
    return CUDA_SUCCESS;
}

enum { PAGE = 4096 };

static CUresult take_host(const cj_block *wanted, uint64_t *base) {
    void *memory = NULL;
    if (wanted->bytes > wanted->gpu->limits->global_bytes || posix_memalign(&memory, PAGE, wanted->bytes))
        return cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "no host memory for %zu bytes", wanted->bytes);
    memset(memory, 0, wanted->bytes);
    *base = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

static void give_back(const cj_block *block) {
    if (block->type == CJ_MEMORY_DEVICE) {
        cj_mem_free(block->gpu->device, block->base);
        block->gpu->used -= block->bytes;
    } else if (block->type == CJ_MEMORY_MANAGED || block->type == CJ_MEMORY_PINNED) {
        free((void *)(uintptr_t)block->base);
    }
}

CUresult cj__memory_add(const cj_block *wanted, cj_block **made) {
    cj_block kept = *wanted;
    kept.reached = 0;
    cj_block *block = insert(&kept);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult code = reach_all(block, wanted->reached);
    if (code) {
        for (int i = 0; i < cj__driver.gpu_count; i++) cj__memory_unreach(block, &cj__driver.gpu[i]);
        take_out(block);
        free(block);
        return code;
    }
    *made = block;
    return CUDA_SUCCESS;
}

CUresult cj__memory_new(const cj_block *wanted, cj_block **made) {
    if (!wanted->bytes) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes are asked for");
    cj_block   block = *wanted;
    const bool on_device = wanted->type == CJ_MEMORY_DEVICE;
    CUresult   code = on_device ? take_device(wanted, &block.base) : take_host(wanted, &block.base);
    if (code) return code;
    block.call = cj__thread.call;
    if (on_device) block.reached |= peers_of(wanted->gpu);
    if (!on_device && !wanted->pool) block.reached = cj__all_gpus();
    code = cj__memory_add(&block, made);
    if (code) give_back(&block);
    return code;
}

void cj__memory_free(cj_block *block) {
    for (int i = 0; i < cj__driver.gpu_count; i++) cj__memory_unreach(block, &cj__driver.gpu[i]);
    take_out(block);
    give_back(block);
    if (block->pool) block->pool->used -= block->bytes;
    cj__let(block->pool);
    free(block);
}

void cj__memory_free_all(cj_context *context) {
    for (size_t i = count; i--;) {
        if (blocks[i]->owner == context) cj__memory_free(blocks[i]);
    }
}

void cj__gpu_wait(cj_gpu *gpu) {
    if (pthread_mutex_trylock(&gpu->run)) {
        const cj_pause pause = cj__pause();
        pthread_mutex_lock(&gpu->run);
        pthread_mutex_unlock(&gpu->run);
        cj__resume(pause);
    } else {
        pthread_mutex_unlock(&gpu->run);
    }
}

// ---- at the end

typedef struct leak {
    const char *call;
    int         device;
    uint64_t    count, bytes;
} leak;

// One line for each call that allocated: programs leak in loops.
void cj__memory_tell_leaks(void) {
    leak   leaks[32];
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (!blocks[i]->call || (blocks[i]->owner && blocks[i]->owner->fault)) continue;
        while (at < known && (leaks[at].call != blocks[i]->call || leaks[at].device != blocks[i]->gpu->ordinal)) at++;
        if (at == sizeof leaks / sizeof *leaks) continue;
        if (at == known) leaks[known++] = (leak){.call = blocks[i]->call, .device = blocks[i]->gpu->ordinal};
        leaks[at].count++;
        leaks[at].bytes += blocks[i]->bytes;
    }
    for (size_t i = 0; i < known; i++) {
        char message[128];
        snprintf(message, sizeof message, "%llu bytes were never freed, in %llu allocation%s",
                 (unsigned long long)leaks[i].bytes, (unsigned long long)leaks[i].count,
                 leaks[i].count == 1 ? "" : "s");
        const cj_record record = {.kind = "leak",
                                  .call = leaks[i].call,
                                  .message = message,
                                  .device = leaks[i].device,
                                  .bytes = leaks[i].bytes,
                                  .count = leaks[i].count};
        cj__report(&record);
    }
}

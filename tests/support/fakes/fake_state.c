// SPDX-License-Identifier: Apache-2.0
// The fake driver's state: what a test sets and reads, the counts of calls, current contexts, blocks of memory, the capture.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

static const struct {
    const char *name;
    bool        optional;
} symbols[] = {
#define OPTIONAL true
#define NEEDED false
#define CJ_X(name, version, need) {"cu" #name, need},
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
#undef OPTIONAL
#undef NEEDED
};

cj_fake              cj_fake_driver;
static unsigned      calls[SYMBOL_COUNT];
bool                 fake_initialized;
pthread_mutex_t      fake_lock = PTHREAD_MUTEX_INITIALIZER;
capture             *fake_capturing;
int                  fake_primary[GPU_COUNT_MAX];
_Thread_local void  *fake_stack[STACK_MAX];
_Thread_local size_t fake_depth;

// ---- blocks

// All allocations of the fake, in a list, so that a reset can free what a test did not release. Data begin at multiples of
// 256 bytes, as cuMemAlloc's do.
typedef struct block {
    _Alignas(BLOCK_ALIGNMENT) struct block *next;
    struct block *previous;
} block;

static block block_list = {&block_list, &block_list};

void *fake_block_make(size_t bytes) {
    const size_t room = bytes > SIZE_MAX - 2 * sizeof(block)
                            ? 0
                            : (bytes + 2 * sizeof(block) - 1) / sizeof(block) * sizeof(block);
    block       *made = room ? aligned_alloc(BLOCK_ALIGNMENT, room) : NULL;
    if (!made) return NULL;
    memset(made, 0, room);
    pthread_mutex_lock(&fake_lock);
    *made = (block){block_list.next, &block_list};
    made->next->previous = block_list.next = made;
    pthread_mutex_unlock(&fake_lock);
    return made + 1;
}

void fake_block_free(void *data) {
    if (!data) return;
    block *gone = (block *)data - 1;
    pthread_mutex_lock(&fake_lock);
    gone->next->previous = gone->previous;
    gone->previous->next = gone->next;
    pthread_mutex_unlock(&fake_lock);
    free(gone);
}

// ---- what a test sets and reads

void cj_fake_fail_times(const char *call, unsigned from, unsigned to, int code) {
    cj_fake_driver.failing = call;
    cj_fake_driver.from = from;
    cj_fake_driver.to = to;
    cj_fake_driver.code = code;
}

void cj_fake_fail(const char *call, int code) { cj_fake_fail_times(call, 1, UINT_MAX, code); }

void cj_fake_reset(void) {
    while (block_list.next != &block_list) fake_block_free(block_list.next + 1);
    cj_fake_driver = (cj_fake){.version = 13000, .gpu_count = 2, .compute_capability = 90, .largest_cluster = 16,
                                .active_clusters = 30, .blocks_per_sm = 2};
    memset(calls, 0, sizeof calls);
    memset(fake_primary, 0, sizeof fake_primary);
    fake_initialized = false;
    fake_capturing = NULL;
    fake_depth = 0;
}

static char log_text[1024];
static bool logging;

void cj_fake_log_start(void) {
    log_text[0] = '\0';
    logging = true;
}

const char *cj_fake_log_end(void) {
    logging = false;
    return log_text;
}

static void log_call(const char *name) {
    const size_t length = strlen(log_text);
    if (logging) snprintf(log_text + length, sizeof log_text - length, "%s%s", length ? " " : "", name);
}

unsigned cj_fake_calls(const char *symbol) {
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (!strcmp(symbol, symbols[i].name)) return calls[i];
    }
    return 0;
}

const char *cj_fake_symbol(size_t i, bool *optional) {
    if (i >= SYMBOL_COUNT) return NULL;
    *optional = symbols[i].optional;
    return symbols[i].name;
}

void *cj_fake_context_create(void) {
    COUNT(alive_contexts, 1);
    return calloc(1, sizeof(int));
}

void cj_fake_context_destroy(void *context) {
    COUNT(alive_contexts, -1);
    free(context);
}

void *cj_fake_context_current(void) { return fake_depth ? fake_stack[fake_depth - 1] : NULL; }

void cj_fake_context_set(void *context) {
    fake_depth = context != NULL;
    fake_stack[0] = context;
}

// ---- at the beginning of a call

CUresult fake_enter(enum symbol symbol) {
    unsigned count = __atomic_add_fetch(&calls[symbol], 1, __ATOMIC_RELAXED);
    if (logging) log_call(symbols[symbol].name);
    bool     fails = cj_fake_driver.failing && !strcmp(cj_fake_driver.failing, symbols[symbol].name);
    return fails && count >= cj_fake_driver.from && count <= cj_fake_driver.to ? (CUresult)cj_fake_driver.code
                                                                               : CUDA_SUCCESS;
}

CUresult fake_break_capture(void) {
    if (!fake_capturing || !pthread_equal(fake_capturing->thread, pthread_self())) return CUDA_SUCCESS;
    fake_capturing->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// SPDX-License-Identifier: Apache-2.0
// What the files of the fake driver share: fake_state.c has the state, on which the others stand; fake_driver.c has devices and contexts,
// fake_memory.c memory, fake_module.c code and occupancy, fake_stream.c streams, events, graphs and launches; fake_table.c finds functions.
#ifndef CJ_TESTS_FAKE_PARTS_H
#define CJ_TESTS_FAKE_PARTS_H

#include <pthread.h>

#include "driver.h"
#include "fake_driver.h"

enum { GPU_COUNT_MAX = 4, STACK_MAX = 8, DEFAULT_SHARED = 48 * 1024, LARGEST_SHARED = 227 * 1024,
       BLOCK_ALIGNMENT = 256 };

enum symbol {
#define CJ_X(name, version, need) SYMBOL_##name,
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
        SYMBOL_COUNT
};

// Counts the call; returns the failure that the test asked for, if it is due.
CUresult fake_enter(enum symbol symbol);

#define ENTER(name)                                   \
    do {                                              \
        CUresult failure = fake_enter(SYMBOL_##name); \
        if (failure) return failure;                  \
    } while (0)

// For calls that need a current context.
#define ENTER_CONTEXT(name)                                                \
    do {                                                                   \
        ENTER(name);                                                       \
        if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT; \
    } while (0)

// For calls that a stream's capture does not allow: they end it with an error.
CUresult fake_break_capture(void);

#define ENTER_UNCAPTURED(name)                          \
    do {                                                \
        ENTER_CONTEXT(name);                            \
        const CUresult captures = fake_break_capture(); \
        if (captures) return captures;                  \
    } while (0)

#define ENTER_DEVICE(name, device)                                                                  \
    do {                                                                                            \
        ENTER(name);                                                                                \
        if (!fake_initialized) return CUDA_ERROR_NOT_INITIALIZED;                                   \
        if ((device) < 0 || (device) >= cj_fake_driver.gpu_count) return CUDA_ERROR_INVALID_DEVICE; \
    } while (0)

// Adds to one of the fake's counts, from any thread.
#define COUNT(field, change) __atomic_add_fetch(&cj_fake_driver.field, (change), __ATOMIC_RELAXED)

// Every function, with the signature that NVIDIA's typedef of it says.
#define CJ_X(name, version, need) extern __typeof__(*(PFN_cu##name##_v##version)0) fake_##name;
CJ_DRIVER_LIST(CJ_X)
#undef CJ_X

extern bool            fake_initialized;
extern pthread_mutex_t fake_lock;  // of the record of the last launch, and of the blocks

// The GPU whose primary context is current; else `otherwise`.
int fake_current_gpu(int otherwise);

// Zeroed memory that a reset frees; NULL when out of memory.
void *fake_block_make(size_t bytes);
void  fake_block_free(void *data);

// A stream that the fake has made. Handles that a test invents are streams, too, which cannot capture.
typedef struct capture {
    bool      broken;
    int       launches;
    pthread_t thread;
} capture;

extern capture *fake_capturing;  // the captured launches of the only stream that captures; the stream's handle points to it

extern int                  fake_primary[GPU_COUNT_MAX];  // their addresses are the primary contexts, their values the retain counts
extern _Thread_local void  *fake_stack[STACK_MAX];        // of current contexts
extern _Thread_local size_t fake_depth;

// ---- code

typedef struct function {
    char  name[64];
    int   large_shared;  // bytes of dynamic shared memory opted into
    bool  nonportable;
    void *context;
} function;

typedef struct module {
    void    *context;
    function functions[4];
    size_t   count;
    char     ptx[];
} module;

#endif

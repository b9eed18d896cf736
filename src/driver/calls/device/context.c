// SPDX-License-Identifier: Apache-2.0
// Contexts: the primary one of each device, those that a program creates, and which one is current in a thread.
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"

// ---- making and ending

static cj_context *new_context(cj_gpu *gpu, unsigned flags, unsigned version) {
    cj_context *made = cj__object_new(CJ_CONTEXT, sizeof *made, NULL, free);
    if (!made) return NULL;
    made->gpu = gpu;
    made->flags = flags;
    made->version = version;
    return made;
}

// Makes what a context has from the start. Its handle stays the same over a reset.
static CUresult open_context(cj_context *context) {
    static const size_t limits[CU_LIMIT_MAX] = {[CU_LIMIT_STACK_SIZE] = 1024,
                                                [CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20,
                                                [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
                                                [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
                                                [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
                                                [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128};
    context->fault = CUDA_SUCCESS;
    context->cache = CU_FUNC_CACHE_PREFER_NONE;
    context->banks = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    memcpy(context->limit, limits, sizeof limits);
    context->legacy = cj__stream_new(context, CU_STREAM_DEFAULT, 0);
    context->per_thread = cj__stream_new(context, CU_STREAM_NON_BLOCKING, 0);
    if (!context->legacy || !context->per_thread) return CUDA_ERROR_OUT_OF_MEMORY;
    context->legacy->is_legacy = true;
    context->legacy->base.call = context->per_thread->base.call = NULL;  // the program need not destroy them
    return CUDA_SUCCESS;
}

// Waits until no kernel uses what goes.
static void clear_context(cj_context *context) {
    cj__gpu_wait(context->gpu);
    cj__memory_free_all(context);
    for (cj_object *o; (o = cj__object_next(NULL, context));) cj__object_destroy(o);
    context->legacy = context->per_thread = NULL;
}

// ---- the stack of this thread

static CUresult push(const void *handle) {
    cj_thread *t = &cj__thread;
    const int  most = (int)(sizeof t->current / sizeof *t->current);
    if (t->depth == most)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "more than %d contexts are pushed in this thread", most);
    t->current[t->depth++] = handle;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext given) {
    ENTER(CJ_NEED_INIT);
    cj_thread *t = &cj__thread;
    if (!given) {
        if (t->depth) t->depth--;
        LEAVE(CUDA_SUCCESS);
    }
    FIND(cj_context, context, CJ_CONTEXT, given);
    if (!t->depth) LEAVE(push(HANDLE_OF(context)));
    t->current[t->depth - 1] = HANDLE_OF(context);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(context);
    *context = cj__thread.depth ? (CUcontext)(uintptr_t)cj__thread.current[cj__thread.depth - 1] : NULL;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_context, context, CJ_CONTEXT, given);
    LEAVE(push(HANDLE_OF(context)));
}

CUresult cuCtxPopCurrent_v2(CUcontext *popped) {
    ENTER(CJ_NEED_INIT);
    cj_thread *t = &cj__thread;
    if (!t->depth) LEAVE(cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread"));
    t->depth--;
    if (popped) *popped = (CUcontext)(uintptr_t)t->current[t->depth];
    LEAVE(CUDA_SUCCESS);
}

// ---- contexts of the program's own

static const unsigned flags_known = CU_CTX_FLAGS_MASK;

static CUresult create(CUcontext *result, unsigned flags, CUdevice device, unsigned version) {
    cj_gpu *gpu = cj__gpu_of(device);
    if (!result) return cj__refuse_null("pctx");
    if (!gpu) return cj__refuse_device(device);
    if (flags & ~flags_known) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    cj_context *made = new_context(gpu, flags, version);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult code = open_context(made);
    if (!code) code = push(HANDLE_OF(made));
    if (code) {
        clear_context(made);
        cj__object_destroy(made);
        return code;
    }
    *result = HANDLE_OF(made);
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    LEAVE(create(context, flags, device, 3020));
}

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    if (affinity || count) LEAVE(cj__refuse(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the CPU device has no affinities"));
    LEAVE(create(context, flags, device, 3020));
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    if (params && params->numExecAffinityParams)
        LEAVE(cj__refuse(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the CPU device has no affinities"));
    if (params && params->cigParams) LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "the CPU device draws no graphics"));
    LEAVE(create(context, flags, device, 3020));
}

CUresult cuCtxDestroy_v2(CUcontext given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_context, context, CJ_CONTEXT, given);
    if (context->primary) {
        cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "it is the primary context of device %d", context->gpu->ordinal);
        cj__hint("cuDevicePrimaryCtxRelease ends it");
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    }
    cj_thread *t = &cj__thread;
    if (t->depth && t->current[t->depth - 1] == given) t->depth--;
    cj__keep(context);  // another thread may destroy it, too
    clear_context(context);
    cj__object_destroy(context);
    cj__let(context);
    LEAVE(CUDA_SUCCESS);
}

// ---- the primary context

static CUresult primary_of(CUdevice device, cj_context **primary) {
    cj_gpu *gpu = cj__gpu_of(device);
    if (!gpu) return cj__refuse_device(device);
    if (!gpu->primary) {
        gpu->primary = new_context(gpu, 0, 3020);
        if (!gpu->primary) return CUDA_ERROR_OUT_OF_MEMORY;
        gpu->primary->primary = true;
    }
    *primary = gpu->primary;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    cj_context *primary = NULL;
    REQUIRE(result);
    TRY(primary_of(device, &primary));
    if (!primary->retained) TRY(open_context(primary));
    primary->retained++;
    *result = HANDLE_OF(primary);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(CJ_NEED_INIT);
    cj_context *primary = NULL;
    TRY(primary_of(device, &primary));
    if (!primary->retained)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "the primary context of device %d is not retained", device));
    if (!--primary->retained) clear_context(primary);
    LEAVE(CUDA_SUCCESS);
}

// Destroys what the primary context holds and forgets its fault. Callers that retained the context still hold it.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    ENTER(CJ_NEED_INIT);
    cj_context *primary = NULL;
    TRY(primary_of(device, &primary));
    if (!primary->retained) LEAVE(CUDA_SUCCESS);
    clear_context(primary);
    LEAVE(open_context(primary));
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    ENTER(CJ_NEED_INIT);
    cj_context *primary = NULL;
    TRY(primary_of(device, &primary));
    if (flags & ~flags_known) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    primary->flags = flags;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER(CJ_NEED_INIT);
    cj_context *primary = NULL;
    REQUIRE(flags);
    REQUIRE(active);
    TRY(primary_of(device, &primary));
    *flags = primary->flags;
    *active = primary->retained != 0;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

// ---- what is asked of a context

CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER(CJ_NEED_ANY_CONTEXT);
    REQUIRE(device);
    *device = cj__current()->gpu->ordinal;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext given) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    REQUIRE(device);
    TRY(cj__context_of(given, &context));
    *device = context->gpu->ordinal;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext given, unsigned long long *id) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    REQUIRE(id);
    TRY(cj__context_of(given, &context));
    *id = context->base.handle;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER(CJ_NEED_ANY_CONTEXT);
    REQUIRE(flags);
    *flags = cj__current()->flags;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxSetFlags(unsigned flags) {
    ENTER(CJ_NEED_ANY_CONTEXT);
    if (flags & ~flags_known) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    cj__current()->flags = flags;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetApiVersion(CUcontext given, unsigned *version) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    REQUIRE(version);
    TRY(cj__context_of(given, &context));
    *version = context->version;
    LEAVE(CUDA_SUCCESS);
}

// All work is done when its call returns, so waiting only tells of a fault.
CUresult cuCtxSynchronize(void) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(cj__capture_forbids(NULL));
}

CUresult cuCtxSynchronize_v2(CUcontext given) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    TRY(cj__context_of(given, &context));
    LEAVE(context->fault);
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(value);
    if ((unsigned)limit >= CU_LIMIT_MAX) LEAVE(cj__refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d", (int)limit));
    *value = cj__current()->limit[limit];
    LEAVE(CUDA_SUCCESS);
}

enum { STACK_LEAST = 16 << 10, STACK_MOST = 512 << 10 };

// The CPU device has its own stack and heap, which grow to what is asked for; other limits are kept, and mean nothing to it.
static CUresult set_limit(cj_context *context, CUlimit limit, size_t value) {
    cj_gpu        *gpu = context->gpu;
    cj_cpu_options options = cj__driver.options;
    cj_error       error = {0};
    if (limit == CU_LIMIT_STACK_SIZE && value > STACK_MOST)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a stack of %zu bytes; the CPU device's have %d at most", value,
                          STACK_MOST);
    const size_t stack = limit == CU_LIMIT_STACK_SIZE ? value : context->limit[CU_LIMIT_STACK_SIZE];
    options.stack_bytes = (uint32_t)(stack < STACK_LEAST ? STACK_LEAST : stack);
    options.heap_bytes = limit == CU_LIMIT_MALLOC_HEAP_SIZE ? value : context->limit[CU_LIMIT_MALLOC_HEAP_SIZE];
    cj__gpu_wait(gpu);
    if (cj_cpu_configure(gpu->device, &options, &error)) return cj__refuse_error(&error);
    context->limit[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    ENTER(CJ_NEED_CONTEXT);
    if ((unsigned)limit >= CU_LIMIT_MAX) LEAVE(cj__refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d", (int)limit));
    LEAVE(set_limit(cj__current(), limit, value));
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(config);
    *config = cj__current()->cache;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    ENTER(CJ_NEED_CONTEXT);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "config is %d", (int)config));
    cj__current()->cache = config;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(config);
    *config = cj__current()->banks;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    ENTER(CJ_NEED_CONTEXT);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "config is %d", (int)config));
    LEAVE(CUDA_SUCCESS);  // sm_90 has one width of banks
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER(CJ_NEED_CONTEXT);
    if (least) *least = 0;
    if (greatest) *greatest = CJ_PRIORITY_GREATEST;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxResetPersistingL2Cache(void) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type) {
    ENTER(CJ_NEED_CONTEXT);
    (void)affinity;
    LEAVE(cj__refuse(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "affinity %d", (int)type));
}

// SPDX-License-Identifier: Apache-2.0
// How a call begins and ends: the lock, what it needs, and what the report says of a call that fails.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

// ---- why a call fails

CUresult cj__refuse(CUresult code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(cj__thread.message, sizeof cj__thread.message, format, args);
    va_end(args);
    cj__thread.hint[0] = 0;
    return code;
}

void cj__hint(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(cj__thread.hint, sizeof cj__thread.hint, format, args);
    va_end(args);
}

CUresult cj__refuse_null(const char *argument) {
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s is NULL or 0", argument);
}

CUresult cj__refuse_handle(cj_kind kind, const void *handle) {
    static const char *const names[] = {
#define CJ_X(name, text) [CJ_##name] = text,
        CJ_KINDS(CJ_X)
#undef CJ_X
    };
    cj__refuse(CUDA_ERROR_INVALID_HANDLE, "%p is no %s, or one that was destroyed", handle, names[kind]);
    return kind == CJ_CONTEXT ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

// CUDA's error of a status; a broken launch rule has one of its own.
static CUresult code_of(const cj_error *error) {
    static const CUresult codes[] = {[CJ_INVALID_ARGUMENT] = CUDA_ERROR_INVALID_VALUE,
                                     [CJ_OUT_OF_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
                                     [CJ_UNSUPPORTED] = CUDA_ERROR_NOT_SUPPORTED,
                                     [CJ_INVALID_KERNEL] = CUDA_ERROR_INVALID_PTX,
                                     [CJ_CONTRACT] = CUDA_ERROR_INVALID_VALUE,
                                     [CJ_HAZARD] = CUDA_ERROR_LAUNCH_FAILED,
                                     [CJ_FILE] = CUDA_ERROR_FILE_NOT_FOUND};
    if (error->status == CJ_CONTRACT && !strcmp(error->rule, "cooperative-size"))
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (error->status == CJ_CONTRACT && (!strncmp(error->rule, "cluster", 7) || !strncmp(error->rule, "preferred", 9)))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const size_t at = (size_t)error->status;
    return at < sizeof codes / sizeof *codes && codes[at] ? codes[at] : CUDA_ERROR_UNKNOWN;
}

CUresult cj__refuse_error(const cj_error *error) {
    char place[64] = "";
    if (error->line) snprintf(place, sizeof place, "PTX line %u: ", error->line);
    const CUresult code = cj__refuse(code_of(error), "%s%s%s%s%s", place, error->message, error->rule[0] ? " [" : "",
                                     error->rule, error->rule[0] ? "]" : "");
    cj__hint("%s", error->hint);
    return code;
}

// ---- what calls name

cj_gpu *cj__gpu_of(int ordinal) {
    return ordinal >= 0 && ordinal < cj__driver.gpu_count ? &cj__driver.gpu[ordinal] : NULL;
}

CUresult cj__refuse_device(int ordinal) {
    cj__refuse(CUDA_ERROR_INVALID_DEVICE, "there is no device %d; there are %d", ordinal, cj__driver.gpu_count);
    cj__hint("CLUSTERJIT_GPUS=N makes N devices");
    return CUDA_ERROR_INVALID_DEVICE;
}

cj_context *cj__current(void) {
    const cj_thread *t = &cj__thread;
    return t->depth ? cj__object_find(CJ_CONTEXT, t->current[t->depth - 1]) : NULL;
}

CUresult cj__context_of(CUcontext given, cj_context **context) {
    *context = given ? cj__object_find(CJ_CONTEXT, given) : cj__current();
    return *context ? CUDA_SUCCESS : cj__refuse_handle(CJ_CONTEXT, given);
}

// ---- entry and exit

// The child of a fork has none of the threads and locks of the devices.
static CUresult refuse_fork(const char *call) {
    const cj_record record = {
        .kind = "refused",
        .call = call,
        .message = "this process was forked after cuInit, and its parent's driver does not work in it",
        .hint = "call cuInit after the fork alone, or start the process anew (Python: the start method spawn)",
        .code = CUDA_ERROR_NOT_INITIALIZED,
        .count = 1};
    cj__report_once(&record);
    return CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult missing(cj_need need) {
    if (need == CJ_NEED_NOTHING) return CUDA_SUCCESS;
    if (!cj__driver.ready) return cj__refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
    if (need == CJ_NEED_INIT) return CUDA_SUCCESS;
    const cj_context *context = cj__current();
    if (!context && cj__thread.depth && cj__thread.current[cj__thread.depth - 1])
        return cj__refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
    if (!context) return cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    if (context->primary && !context->retained)
        return cj__refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the primary context was released");
    return need == CJ_NEED_CONTEXT ? context->fault : CUDA_SUCCESS;
}

CUresult cj__enter(const char *call, cj_need need) {
    if (cj__driver.forked && need != CJ_NEED_NOTHING) return refuse_fork(call);
    pthread_mutex_lock(&cj__driver.lock);
    cj__thread.call = cj__thread.spoken_for ? cj__thread.spoken_for : call;
    cj__thread.message[0] = cj__thread.hint[0] = 0;
    const CUresult code = missing(need);
    return code ? cj__leave(code) : CUDA_SUCCESS;
}

// A code that nothing was said of is an ordinary answer (NOT_READY, a sticky error again), and is not told.
CUresult cj__leave(CUresult code) {
    const cj_thread  *t = &cj__thread;
    const cj_context *context = code && t->message[0] ? cj__current() : NULL;
    const int         device = context ? context->gpu->ordinal : 0;
    pthread_mutex_unlock(&cj__driver.lock);
    if (!code || !t->message[0] || !*t->call) return code;
    const cj_record record = {.kind = code == CUDA_ERROR_NOT_SUPPORTED ? "unsupported" : "refused",
                              .call = t->call,
                              .message = t->message,
                              .hint = t->hint,
                              .code = code,
                              .device = device,
                              .count = 1};
    cj__report_once(&record);
    return code;
}

cj_pause cj__pause(void) {
    const cj_pause pause = {cj__thread.call};
    pthread_mutex_unlock(&cj__driver.lock);
    return pause;
}

void cj__resume(cj_pause pause) {
    pthread_mutex_lock(&cj__driver.lock);
    cj__thread.call = pause.call;
    cj__thread.message[0] = cj__thread.hint[0] = 0;
}

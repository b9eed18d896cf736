// SPDX-License-Identifier: Apache-2.0
// The thread's last error, the names and the words of all errors, and what is told of a call that the runtime itself refuses.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hook.h"
#include "runtime.h"

typedef struct error_row {
    cudaError_t code;
    bool        of_driver;  // a driver's result with the same number becomes it
    const char *name, *text;
} error_row;

#define CUDA_ERROR_NONE CUDA_SUCCESS
static const error_row rows[] = {
    {cudaSuccess, true, "cudaSuccess", "no error"},
#define X(name, driver, text) {cudaError##name, CUDA_ERROR_##driver != CUDA_ERROR_NONE, "cudaError" #name, text},
#include "errors.def"
#undef X
};

#define X(name, driver, text) \
    _Static_assert(CUDA_ERROR_##driver == CUDA_ERROR_NONE || (int)CUDA_ERROR_##driver == (int)cudaError##name, #name);
#include "errors.def"
#undef X

static _Thread_local cudaError_t last;

static const error_row *find(int code) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((int)rows[i].code == code) return &rows[i];
    return NULL;
}

cudaError_t cj__fail(cudaError_t code) { return last = code; }

cudaError_t cj__result(CUresult result) {
    if (!result) return cudaSuccess;
    const error_row *row = find((int)result);
    return cj__fail(row && row->of_driver ? row->code : cudaErrorUnknown);
}

// ---- what is told

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const cj_hook *hook;

static void find_hook(void) {
    const void *table = NULL;
    CUuuid      id;
    memcpy(&id, CJ_HOOK_ID, sizeof id);
    if (!cuGetExportTable(&table, &id)) hook = table;
}

static void tell(const char *kind, const char *call, const char *message, const char *hint) {
    pthread_once(&once, find_hook);
    if (hook)
        hook->tell(kind, call, message, hint);
    else
        fprintf(stderr, "clusterjit: %s: %s: %s\n", kind, call, message);
}

const char *cj__speak_for(const char *call) {
    pthread_once(&once, find_hook);
    return hook ? hook->speak_for(call) : NULL;
}

void cj__speak_again(const char *const *before) {
    if (hook) hook->speak_for(*before);
}

cudaError_t cj__refuse(const char *call, cudaError_t code, const char *format, ...) {
    char    message[640];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof message)
        snprintf(message + length, sizeof message - (size_t)length, " (%s)", cudaGetErrorName(code));
    tell("refused", call, message, NULL);
    return cj__fail(code);
}

// Called by the functions of missing.def, whose names are all that is known of them.
int cj__missing(const char *call);
int cj__missing(const char *call) {
    tell("unsupported", call, "this function of the CUDA runtime is missing here (cudaErrorNotSupported)",
         "run the program on a GPU, or without what calls it");
    return (int)cj__fail(cudaErrorNotSupported);
}

// ---- what programs ask

cudaError_t cudaPeekAtLastError(void) { return last; }

cudaError_t cudaGetLastError(void) {
    const cudaError_t was = last;
    last = cudaSuccess;
    return was;
}

const char *cudaGetErrorName(cudaError_t code) {
    const error_row *row = find((int)code);
    return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code) {
    const error_row *row = find((int)code);
    return row ? row->text : "unrecognized error code";
}

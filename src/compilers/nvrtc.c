// SPDX-License-Identifier: Apache-2.0
// libnvrtc.so.13: passes every call on to NVIDIA's. A program that was compiled for machine code (-arch=sm_90) is compiled to
// PTX, with the lines of its source, and GetCUBIN hands out that PTX: cuModuleLoadData takes either.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "real.h"

// nvrtc.h, whose interface has not changed since CUDA 8; a test compares the exported names with those of NVIDIA's library.
typedef struct _nvrtcProgram *program;
enum { SUCCESS = 0, OUT_OF_MEMORY = 1, INTERNAL_ERROR = 11 };

static void    open_real(void);
static cj_real real = {.which = {"CLUSTERJIT_NVRTC", "libnvrtc", "cuda_nvrtc"},
                       .package = "install CUDA's NVRTC (cuda-nvrtc, or pip install nvidia-cuda-nvrtc), or set "
                                  "CLUSTERJIT_NVRTC to the path of libnvrtc.so",
                       .once = PTHREAD_ONCE_INIT,
                       .open = open_real};
static void    open_real(void) { cj__real_open(&real); }

// ---- what is passed on as it is

#define FORWARDED(X)                                                                           \
    X(Version, (int *major, int *minor), (major, minor))                                       \
    X(GetNumSupportedArchs, (int *count), (count))                                             \
    X(GetSupportedArchs, (int *archs), (archs))                                                \
    X(GetPTXSize, (program p, size_t * bytes), (p, bytes))                                     \
    X(GetPTX, (program p, char *ptx), (p, ptx))                                                \
    X(GetLTOIRSize, (program p, size_t * bytes), (p, bytes))                                   \
    X(GetLTOIR, (program p, char *code), (p, code))                                            \
    X(GetOptiXIRSize, (program p, size_t * bytes), (p, bytes))                                 \
    X(GetOptiXIR, (program p, char *code), (p, code))                                          \
    X(GetProgramLogSize, (program p, size_t * bytes), (p, bytes))                              \
    X(GetProgramLog, (program p, char *log), (p, log))                                         \
    X(AddNameExpression, (program p, const char *name), (p, name))                             \
    X(GetLoweredName, (program p, const char *name, const char **lowered), (p, name, lowered)) \
    X(GetPCHHeapSize, (size_t * bytes), (bytes))                                               \
    X(SetPCHHeapSize, (size_t bytes), (bytes))                                                 \
    X(GetPCHCreateStatus, (program p), (p))                                                    \
    X(GetPCHHeapSizeRequired, (program p, size_t * bytes), (p, bytes))                         \
    X(SetFlowCallback, (program p, int (*callback)(void *, void *), void *payload), (p, callback, payload))

#define X(name, parameters, arguments)                                             \
    int nvrtc##name parameters;                                                    \
    int nvrtc##name parameters {                                                   \
        int(*forward) parameters;                                                  \
        if (!cj__real_find(&real, "nvrtc" #name, &forward)) return INTERNAL_ERROR; \
        return forward arguments;                                                  \
    }
FORWARDED(X)
#undef X

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result) {
    const char *(*forward)(int result);
    if (cj__real_find(&real, "nvrtcGetErrorString", &forward)) return forward(result);
    return result ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_SUCCESS";
}

// ---- programs

// What is known of a program of the real library, by its handle.
typedef struct known {
    struct known *next;
    program       handle;
    char         *name, *text;
    bool          machine;  // the last compilation asked for machine code
} known;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static known          *programs;

static known **find(program handle) {
    known **at = &programs;
    while (*at && (*at)->handle != handle) at = &(*at)->next;
    return at;
}

static void release(known *k) {
    if (!k) return;
    free(k->name);
    free(k->text);
    free(k);
}

// Forgets the program, if it is known.
static void forget(program handle) {
    pthread_mutex_lock(&guard);
    known **at = find(handle), *k = *at;
    if (k) *at = k->next;
    pthread_mutex_unlock(&guard);
    release(k);
}

static bool asks_for_machine(program handle) {
    pthread_mutex_lock(&guard);
    const known *k = *find(handle);
    const bool   machine = k && k->machine;
    pthread_mutex_unlock(&guard);
    return machine;
}

int nvrtcCreateProgram(program *p, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names);
int nvrtcCreateProgram(program *p, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    int (*forward)(program *, const char *, const char *, int, const char *const *, const char *const *);
    if (!cj__real_find(&real, "nvrtcCreateProgram", &forward)) return INTERNAL_ERROR;
    int result = forward(p, source, name, headers, texts, names);
    if (result) return result;
    known *k = calloc(1, sizeof *k);
    if (k) *k = (known){.handle = *p, .name = strdup(name ? name : "default_program"), .text = strdup(source)};
    if (!k || !k->name || !k->text) {
        int (*destroy)(program *);
        release(k);
        if (cj__real_find(&real, "nvrtcDestroyProgram", &destroy)) destroy(p);
        return OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&guard);
    k->next = programs;
    programs = k;
    pthread_mutex_unlock(&guard);
    return SUCCESS;
}

int nvrtcDestroyProgram(program *p);
int nvrtcDestroyProgram(program *p) {
    int (*forward)(program *);
    if (!cj__real_find(&real, "nvrtcDestroyProgram", &forward)) return INTERNAL_ERROR;
    if (p && *p) forget(*p);
    return forward(p);
}

// NVRTC's handle belongs to one thread at a time, so what is known of the program does, too; only the list is shared.
static void compiled(program handle, const cj_options *options) {
    pthread_mutex_lock(&guard);
    known *k = *find(handle);
    pthread_mutex_unlock(&guard);
    if (!k) return;
    k->machine = options->machine;
    cj__real_source(k->name, k->text);
}

int nvrtcCompileProgram(program p, int count, const char *const *given);
int nvrtcCompileProgram(program p, int count, const char *const *given) {
    int (*forward)(program, int, const char *const *);
    cj_options options;
    if (!cj__real_find(&real, "nvrtcCompileProgram", &forward)) return INTERNAL_ERROR;
    if (count < 0 || (count && !given)) return forward(p, count, given);
    if (!cj__options_rewrite(&options, count, given)) return OUT_OF_MEMORY;
    int result = forward(p, options.count, (const char *const *)options.item);
    if (!result) compiled(p, &options);
    cj__options_free(&options);
    return result;
}

// ---- machine code

int nvrtcGetCUBINSize(program p, size_t *bytes);
int nvrtcGetCUBINSize(program p, size_t *bytes) {
    int (*forward)(program, size_t *);
    if (!cj__real_find(&real, asks_for_machine(p) ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", &forward))
        return INTERNAL_ERROR;
    return forward(p, bytes);
}

int nvrtcGetCUBIN(program p, char *code);
int nvrtcGetCUBIN(program p, char *code) {
    int (*forward)(program, char *);
    if (!cj__real_find(&real, asks_for_machine(p) ? "nvrtcGetPTX" : "nvrtcGetCUBIN", &forward)) return INTERNAL_ERROR;
    return forward(p, code);
}

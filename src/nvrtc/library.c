// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // secure_getenv: a setuid program loads no library that its user names
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "text.h"

// Where the library is searched for, in this order: an environment variable that must be set, or NULL, and what follows
// its value.
static const struct {
    const char *variable, *name;
} places[] = {
    {NULL, "libnvrtc.so.13"},
    {NULL, "libnvrtc.so.12"},
    {NULL, "libnvrtc.so"},
    {"CUDA_HOME", "/lib64/libnvrtc.so"},
    {"CUDA_PATH", "/lib64/libnvrtc.so"},
    {NULL, "/usr/local/cuda/lib64/libnvrtc.so"},
};

static void *open_one(const char *path, cj_text *tried) {
    cj__text_printf(tried, "%s%s", tried->length ? ", " : "", path);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_library(cj_text *tried) {
    const char *own = secure_getenv("CLUSTERJIT_NVRTC");
    void       *library = NULL;
    if (own && *own) return open_one(own, tried);
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        char        path[4096];
        const char *root = places[i].variable ? secure_getenv(places[i].variable) : "";
        if (!root || (places[i].variable && !*root)) continue;
        int length = snprintf(path, sizeof path, "%s%s", root, places[i].name);
        if (length > 0 && (size_t)length < sizeof path) library = open_one(path, tried);
    }
    return library;
}

static cj_status no_library(const cj_text *tried, cj_error *error) {
    if (tried->failed) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while looking for NVRTC");
    const char *why = dlerror();
    cj__fail(error, CJ_UNSUPPORTED, "CUDA C needs NVRTC, and there is none: looked for %.600s (the last: %.300s)",
             tried->data, why ? why : "no reason");
    cj__hint(error, "install CUDA's NVRTC (cuda-nvrtc), or set CLUSTERJIT_NVRTC to the path of libnvrtc.so");
    return CJ_UNSUPPORTED;
}

static const struct {
    const char *name;
    size_t      at;
} functions[] = {
#define CJ_X(name, result, arguments) {"nvrtc" #name, offsetof(cj_nvrtc, name)},
    CJ_NVRTC_LIST(CJ_X)
#undef CJ_X
};

cj_status cj__nvrtc_open(cj_nvrtc *nvrtc, cj_error *error) {
    cj_text   tried = {0};
    void     *library = open_library(&tried);
    cj_status status = library ? CJ_OK : no_library(&tried, error);
    cj__text_free(&tried);
    for (size_t i = 0; !status && i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        _Static_assert(sizeof symbol == sizeof(void (*)(void)), "function and object pointers are of one size");
        memcpy((char *)nvrtc + functions[i].at, &symbol, sizeof symbol);
        if (symbol) continue;
        status = cj__fail(error, CJ_UNSUPPORTED, "this NVRTC lacks %s", functions[i].name);
        cj__hint(error, "NVRTC of CUDA 12 or later has it");
    }
    return status;
}

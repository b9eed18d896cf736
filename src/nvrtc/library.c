// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // dladdr
#include "library.h"

#include <clusterjit/nvrtc.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "places.h"
#include "text.h"

static const cj_toolkit_library nvrtc_library = {"CLUSTERJIT_NVRTC", "libnvrtc", "cuda_nvrtc"};

bool cj__nvrtc_path(const cj_nvrtc *nvrtc, char *path, size_t size) {
    Dl_info about;
    char    real[PATH_MAX];
    void   *symbol;
    memcpy(&symbol, (const void *)&nvrtc->Version, sizeof symbol);
    if (!dladdr(symbol, &about) || !realpath(about.dli_fname, real) || strlen(real) >= size) return false;
    memcpy(path, real, strlen(real) + 1);
    return true;
}

bool cj__nvrtc_directory(const cj_nvrtc *nvrtc, char *path, size_t size) {
    char *slash = cj__nvrtc_path(nvrtc, path, size) ? strrchr(path, '/') : NULL;
    if (slash) *slash = '\0';
    return slash;
}

static cj_status no_library(const cj_text *tried, cj_error *error) {
    if (tried->failed) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while looking for NVRTC");
    const char *why = dlerror();
    cj__fail(error, CJ_UNSUPPORTED, "CUDA C needs NVRTC, and there is none: looked for %.640s (the last: %.240s)",
             tried->data, why ? why : "no reason");
    cj__hint(error, "install CUDA's NVRTC (cuda-nvrtc, or pip install nvidia-cuda-nvrtc), or set CLUSTERJIT_NVRTC to "
                    "the path of libnvrtc.so");
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
    void     *library = cj__toolkit_open(&nvrtc_library, NULL, &tried);
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

cj_status cj_nvrtc_find(int *major, int *minor, char *path, size_t size, cj_error *error) {
    cj_nvrtc nvrtc;
    if (!major || !minor || !path) return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_nvrtc_find: an argument is 0");
    cj_status status = cj__nvrtc_open(&nvrtc, error);
    if (status) return status;
    nvrtc.Version(major, minor);
    if (cj__nvrtc_path(&nvrtc, path, size)) return CJ_OK;
    return cj__fail(error, CJ_FILE, "the path of NVRTC does not fit %zu bytes", size);
}

// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // secure_getenv: a program that runs for another user loads no library that this user names
#include "library.h"

#include <clusterjit/nvrtc.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "text.h"

// Where it is looked for, in this order: a variable of the environment that must be set, or NULL, and what follows it.
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

// ---- pip's wheels

bool cj__nvrtc_wheel(const char *root, char *path, size_t size) {
    static const char pattern[] =
        "%s/lib*/python3*/{site,dist}-packages/nvidia/{cu1[3-9],cuda_nvrtc}/lib/libnvrtc.so.1[2-9]";
    char   wanted[4096];
    glob_t found = {0};
    int    length = snprintf(wanted, sizeof wanted, pattern, root);
    bool fits = length > 0 && (size_t)length < sizeof wanted && !glob(wanted, GLOB_BRACE | GLOB_NOSORT, NULL, &found) &&
                found.gl_pathc;
    if (fits) {
        length = snprintf(path, size, "%s", found.gl_pathv[0]);
        fits = length > 0 && (size_t)length < size;
    }
    globfree(&found);
    return fits;
}

// Where the python3 of PATH is installed: PREFIX/bin/python3, as it is named there, since a virtual environment's is a link.
static bool python_prefix(char *prefix, size_t size) {
    const char *at = secure_getenv("PATH");
    while (at && *at) {
        const int length = (int)strcspn(at, ":");
        char      program[4096];
        const int wrote = snprintf(program, sizeof program, "%.*s/python3", length, at);
        if (length && wrote > 0 && (size_t)wrote < sizeof program && !access(program, X_OK)) {
            snprintf(prefix, size, "%.*s/..", length, at);
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

static void *open_wheel(cj_text *tried) {
    char        python[4096], home[4096], path[4096];
    const char *environment = secure_getenv("VIRTUAL_ENV"), *user = secure_getenv("HOME");
    if (user) snprintf(home, sizeof home, "%.4000s/.local", user);
    const char *const roots[] = {environment, python_prefix(python, sizeof python) ? python : NULL, user ? home : NULL,
                                 "/usr/local"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (!roots[i] || !*roots[i]) continue;
        if (!cj__nvrtc_wheel(roots[i], path, sizeof path)) {
            cj__text_printf(tried, ", a wheel beneath %s", roots[i]);
            continue;
        }
        void *library = open_one(path, tried);
        if (library) return library;
    }
    return NULL;
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
    return library ? library : open_wheel(tried);
}

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

cj_status cj_nvrtc_find(int *major, int *minor, char *path, size_t size, cj_error *error) {
    cj_nvrtc nvrtc;
    if (!major || !minor || !path) return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_nvrtc_find: an argument is 0");
    cj_status status = cj__nvrtc_open(&nvrtc, error);
    if (status) return status;
    nvrtc.Version(major, minor);
    if (cj__nvrtc_path(&nvrtc, path, size)) return CJ_OK;
    return cj__fail(error, CJ_FILE, "the path of NVRTC does not fit %zu bytes", size);
}

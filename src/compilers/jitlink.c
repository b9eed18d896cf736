// SPDX-License-Identifier: Apache-2.0
// libnvJitLink.so.13: passes every call on to NVIDIA's, whose errors and logs a program sees. Where the link made machine code, a
// program gets PTX in its place: its own PTX, and its LTO IR as linked by a second linker with -ptx.
#include "system.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linker.h"
#include "real.h"

static void    open_real(void);
static cj_real real = {.which = {"CLUSTERJIT_NVJITLINK", "libnvJitLink", "nvjitlink"},
                       .package = "install CUDA's nvJitLink (libnvjitlink, or pip install nvidia-nvjitlink), or set "
                                  "CLUSTERJIT_NVJITLINK to the path of libnvJitLink.so",
                       .once = PTHREAD_ONCE_INIT,
                       .open = open_real};
static void    open_real(void) { cj__real_open(&real); }

// A function of the real library has the bare name, or that of nvJitLink.h, which contains the release.
static bool find_real(const char *name, void *function) {
    char text[96];
    snprintf(text, sizeof text, "nvJitLink%s", name);
    if (cj__real_find(&real, text, function)) return true;
    for (int minor = 9; minor >= 0; minor--) {
        snprintf(text, sizeof text, "__nvJitLink%s_13_%d", name, minor);
        if (cj__real_find(&real, text, function)) return true;
    }
    return false;
}

static bool find_calls(cj_link_calls *c) {
    return find_real("Create", &c->create) && find_real("Destroy", &c->destroy) && find_real("AddData", &c->add) &&
           find_real("Complete", &c->complete) && find_real("GetLinkedPtxSize", &c->ptx_size) &&
           find_real("GetLinkedPtx", &c->ptx) && find_real("GetErrorLogSize", &c->log_size) &&
           find_real("GetErrorLog", &c->log);
}

// ---- linkers

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static cj_linker      *linkers;

// A handle belongs to one thread at a time, so what is found belongs to it, too; only the list is shared.
static cj_linker *find(cj_jitlink handle) {
    pthread_mutex_lock(&guard);
    cj_linker *l = linkers;
    while (l && l->handle != handle) l = l->next;
    pthread_mutex_unlock(&guard);
    return l;
}

static cj_linker *take(cj_jitlink handle) {
    pthread_mutex_lock(&guard);
    cj_linker **at = &linkers;
    while (*at && (*at)->handle != handle) at = &(*at)->next;
    cj_linker *l = *at;
    if (l) *at = l->next;
    pthread_mutex_unlock(&guard);
    return l;
}

static int create(cj_jitlink *handle, uint32_t count, const char **options) {
    cj_link_calls c;
    if (!find_calls(&c)) return CJ_LINK_INTERNAL;
    int result = c.create(handle, count, options);
    if (result) return result;
    cj_linker *l = cj__linker_create(*handle, count, options);
    if (!l) {
        c.destroy(handle);
        return CJ_LINK_INTERNAL;
    }
    pthread_mutex_lock(&guard);
    l->next = linkers;
    linkers = l;
    pthread_mutex_unlock(&guard);
    return CJ_LINK_SUCCESS;
}

static int destroy(cj_jitlink *handle) {
    int (*forward)(cj_jitlink *);
    if (!find_real("Destroy", &forward)) return CJ_LINK_INTERNAL;
    if (handle && *handle) cj__linker_free(take(*handle));
    return forward(handle);
}

static int add_data(cj_jitlink handle, int type, const void *bytes, size_t size, const char *name) {
    int (*forward)(cj_jitlink, int, const void *, size_t, const char *);
    cj_linker *l = find(handle);
    if (!find_real("AddData", &forward)) return CJ_LINK_INTERNAL;
    const int is = l && bytes && size ? cj__linker_type(type, bytes, size) : type;
    int       result = forward(handle, is == CJ_LINK_PTX ? is : type, bytes, size, name);
    if (!result && l && !cj__linker_add(l, is, bytes, size, name)) return CJ_LINK_INTERNAL;
    return result;
}

// The whole file; NULL: it cannot be read.
static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long  length = 0;
    if (file && !fseek(file, 0, SEEK_END) && (length = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET))
        bytes = malloc((size_t)length);
    *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    if (file) fclose(file);
    if (*size == (size_t)length) return bytes;
    free(bytes);
    return NULL;
}

static int add_file(cj_jitlink handle, int type, const char *path) {
    int (*forward)(cj_jitlink, int, const char *);
    cj_linker *l = find(handle);
    size_t     size;
    if (!find_real("AddFile", &forward)) return CJ_LINK_INTERNAL;
    char *bytes = l && path ? read_file(path, &size) : NULL;
    int   is = bytes ? cj__linker_type(type, bytes, size) : type;
    int   result = forward(handle, is == CJ_LINK_PTX ? is : type, path);
    if (!result && bytes && !cj__linker_add(l, is, bytes, size, path)) result = CJ_LINK_INTERNAL;
    free(bytes);
    return result;
}

static int complete(cj_jitlink handle) {
    cj_link_calls c;
    cj_linker    *l = find(handle);
    if (!find_calls(&c)) return CJ_LINK_INTERNAL;
    int result = c.complete(handle);
    if (result || !l || cj__linker_has(l, "-ptx")) return result;
    if (cj__linker_make(l, &c)) return CJ_LINK_SUCCESS;
    cj__real_refuse("nvJitLinkComplete", l->failure ? l->failure : "out of memory",
                    "link PTX or LTO IR in place of machine code");
    return CJ_LINK_INTERNAL;
}

// ---- results

static int cubin_size(cj_jitlink handle, size_t *size) {
    int (*forward)(cj_jitlink, size_t *);
    const cj_linker *l = find(handle);
    if (!find_real("GetLinkedCubinSize", &forward)) return CJ_LINK_INTERNAL;
    if (!l || !l->linked || !size) return forward(handle, size);
    *size = strlen(l->linked) + 1;
    return CJ_LINK_SUCCESS;
}

static int cubin(cj_jitlink handle, void *code) {
    int (*forward)(cj_jitlink, void *);
    const cj_linker *l = find(handle);
    if (!find_real("GetLinkedCubin", &forward)) return CJ_LINK_INTERNAL;
    if (!l || !l->linked || !code) return forward(handle, code);
    memcpy(code, l->linked, strlen(l->linked) + 1);
    return CJ_LINK_SUCCESS;
}

static int ptx_size(cj_jitlink handle, size_t *size) {
    int (*forward)(cj_jitlink, size_t *);
    return find_real("GetLinkedPtxSize", &forward) ? forward(handle, size) : CJ_LINK_INTERNAL;
}

static int ptx(cj_jitlink handle, char *text) {
    int (*forward)(cj_jitlink, char *);
    return find_real("GetLinkedPtx", &forward) ? forward(handle, text) : CJ_LINK_INTERNAL;
}

static int errors_size(cj_jitlink handle, size_t *size) {
    int (*forward)(cj_jitlink, size_t *);
    const cj_linker *l = find(handle);
    if (!find_real("GetErrorLogSize", &forward)) return CJ_LINK_INTERNAL;
    if (!l || !l->failure || !size) return forward(handle, size);
    *size = strlen(l->failure) + 1;
    return CJ_LINK_SUCCESS;
}

static int errors(cj_jitlink handle, char *log) {
    int (*forward)(cj_jitlink, char *);
    const cj_linker *l = find(handle);
    if (!find_real("GetErrorLog", &forward)) return CJ_LINK_INTERNAL;
    if (!l || !l->failure || !log) return forward(handle, log);
    memcpy(log, l->failure, strlen(l->failure) + 1);
    return CJ_LINK_SUCCESS;
}

static int infos_size(cj_jitlink handle, size_t *size) {
    int (*forward)(cj_jitlink, size_t *);
    return find_real("GetInfoLogSize", &forward) ? forward(handle, size) : CJ_LINK_INTERNAL;
}

static int infos(cj_jitlink handle, char *log) {
    int (*forward)(cj_jitlink, char *);
    return find_real("GetInfoLog", &forward) ? forward(handle, log) : CJ_LINK_INTERNAL;
}

int nvJitLinkVersion(unsigned *major, unsigned *minor);
int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    int (*forward)(unsigned *, unsigned *);
    return find_real("Version", &forward) ? forward(major, minor) : CJ_LINK_INTERNAL;
}

// ---- the exported names: bare, and of each release's nvJitLink.h

#define EXPORT(name, parameters, call, arguments) \
    int name parameters;                          \
    int name parameters { return call arguments; }
#define RELEASE(name, minor, parameters, call, arguments) \
    EXPORT(__nvJitLink##name##_13_##minor, parameters, call, arguments)
#define FUNCTION(name, parameters, call, arguments)      \
    EXPORT(nvJitLink##name, parameters, call, arguments) \
    RELEASE(name, 0, parameters, call, arguments)        \
    RELEASE(name, 1, parameters, call, arguments)        \
    RELEASE(name, 2, parameters, call, arguments)        \
    RELEASE(name, 3, parameters, call, arguments)        \
    RELEASE(name, 4, parameters, call, arguments)        \
    RELEASE(name, 5, parameters, call, arguments)

FUNCTION(Create, (cj_jitlink * h, uint32_t count, const char **options), create, (h, count, options))
FUNCTION(Destroy, (cj_jitlink * h), destroy, (h))
FUNCTION(AddData, (cj_jitlink h, int type, const void *bytes, size_t size, const char *name), add_data,
         (h, type, bytes, size, name))
FUNCTION(AddFile, (cj_jitlink h, int type, const char *path), add_file, (h, type, path))
FUNCTION(Complete, (cj_jitlink h), complete, (h))
FUNCTION(GetLinkedCubinSize, (cj_jitlink h, size_t *size), cubin_size, (h, size))
FUNCTION(GetLinkedCubin, (cj_jitlink h, void *code), cubin, (h, code))
FUNCTION(GetLinkedPtxSize, (cj_jitlink h, size_t *size), ptx_size, (h, size))
FUNCTION(GetLinkedPtx, (cj_jitlink h, char *text), ptx, (h, text))
FUNCTION(GetErrorLogSize, (cj_jitlink h, size_t *size), errors_size, (h, size))
FUNCTION(GetErrorLog, (cj_jitlink h, char *log), errors, (h, log))
FUNCTION(GetInfoLogSize, (cj_jitlink h, size_t *size), infos_size, (h, size))
FUNCTION(GetInfoLog, (cj_jitlink h, char *log), infos, (h, log))

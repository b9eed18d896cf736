// SPDX-License-Identifier: Apache-2.0
#include "jitlink.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "toolchain.h"

// From nvJitLink.h.
enum { INPUT_PTX = 2, UNRECOGNIZED_ARCH = 16, UNSUPPORTED_ARCH = 17 };
typedef struct linker linker;

// The functions used: field, name, parameters. All return 0 for success.
#define FUNCTIONS(X)                                                                \
    X(create, "nvJitLinkCreate", (linker **, uint32_t, const char **))              \
    X(destroy, "nvJitLinkDestroy", (linker **))                                     \
    X(add, "nvJitLinkAddData", (linker *, int, const void *, size_t, const char *)) \
    X(complete, "nvJitLinkComplete", (linker *))                                    \
    X(errors_size, "nvJitLinkGetErrorLogSize", (linker *, size_t *))                \
    X(errors, "nvJitLinkGetErrorLog", (linker *, char *))                           \
    X(infos_size, "nvJitLinkGetInfoLogSize", (linker *, size_t *))                  \
    X(infos, "nvJitLinkGetInfoLog", (linker *, char *))

typedef struct functions {
#define X(field, name, parameters) int (*field) parameters;
    FUNCTIONS(X)
#undef X
} functions;

static bool find_named(void *library, const char *prefix, const char *suffix, functions *f) {
    char text[64];
#define X(field, name, parameters)                               \
    snprintf(text, sizeof text, "%s%s%s", prefix, name, suffix); \
    if (!toolchain_function(library, text, &f->field)) return false;
    FUNCTIONS(X)
#undef X
    return true;
}

// Finds the bare names, or those of nvJitLink.h, which contain the release: __nvJitLinkCreate_13_0.
static bool find_functions(void *library, functions *f) {
    enum { MAJOR_FIRST = 12, MAJOR_LAST = 15, MINOR_LAST = 9 };
    if (find_named(library, "", "", f)) return true;
    char suffix[16];
    for (int major = MAJOR_LAST; major >= MAJOR_FIRST; major--)
        for (int minor = MINOR_LAST; minor >= 0; minor--) {
            snprintf(suffix, sizeof suffix, "_%d_%d", major, minor);
            if (find_named(library, "__", suffix, f)) return true;
        }
    return false;
}

// Reads errors, then warnings and other messages; NULL when out of memory.
static char *read_logs(const functions *f, linker *handle) {
    size_t errors = 0, infos = 0;
    f->errors_size(handle, &errors);
    f->infos_size(handle, &infos);
    char *log = calloc(errors + infos + 2, 1);
    if (!log) return NULL;
    if (errors) f->errors(handle, log);
    size_t used = strlen(log);
    if (used) log[used++] = '\n';
    if (infos) f->infos(handle, log + used);
    return log;
}

int jitlink_ask(void *library, const document *d, const char *arch, char **log, verdict *answer) {
    functions f;
    if (!find_functions(library, &f))
        return message_error(CJ_COMPILER, "this libnvJitLink.so has not the functions of any release that is known");
    char        option[48];
    const char *options[] = {option};
    linker     *handle = NULL;
    snprintf(option, sizeof option, "-arch=%s", arch);
    int result = f.create(&handle, 1, options);
    if (result && handle) f.destroy(&handle);  // half made: any other call would crash
    if (result == UNRECOGNIZED_ARCH || result == UNSUPPORTED_ARCH) {
        *answer = UNKNOWN_TARGET;
        return CODE_OK;
    }
    if (result) return message_error(CJ_COMPILER, "nvJitLink refuses to start for '%s': result %d", arch, result);
    bool accepted = !f.add(handle, INPUT_PTX, d->text, d->length, "PTX") && !f.complete(handle);
    *answer = accepted ? ACCEPTED : REFUSED;
    *log = read_logs(&f, handle);
    f.destroy(&handle);
    return *log ? CODE_OK : message_error(CJ_OUT_OF_MEMORY, "no memory for the log of nvJitLink");
}

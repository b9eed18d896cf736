// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "real.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

// ---- the report

static void put_string(cj_text *line, const char *name, const char *value) {
    cj__text_printf(line, "%s\"%s\": ", line->length > 1 ? ", " : "", name);
    cj__text_json(line, value);
}

// One write of the whole line: other threads and processes append to the file, too.
static void append(cj_text *line) {
    const char *path = cj__getenv("CLUSTERJIT_REPORT");
    cj__text_puts(line, "}\n");
    const int file = line->failed || !path ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
        size_t done = 0;
        for (ssize_t wrote = 1; wrote > 0 && done < line->length; done += (size_t)(wrote > 0 ? wrote : 0))
            wrote = write(file, line->data + done, line->length - done);
        close(file);
    }
    cj__text_free(line);
}

static bool is_reported(void) {
    const char *path = cj__getenv("CLUSTERJIT_REPORT");
    return path && *path;
}

void cj__real_refuse(const char *call, const char *message, const char *hint) {
    cj_text line = {0};
    if (!is_reported()) {
        fprintf(stderr, "clusterjit: %s: %s\nhint: %s\n", call, message, hint);
        return;
    }
    cj__text_puts(&line, "{");
    put_string(&line, "kind", "refused");
    put_string(&line, "call", call);
    put_string(&line, "message", message);
    put_string(&line, "hint", hint);
    append(&line);
}

void cj__real_source(const char *file, const char *text) {
    cj_text line = {0}, path = {0};
    char    here[4096];
    if (!is_reported()) return;
    if (*file != '/' && getcwd(here, sizeof here)) cj__text_printf(&path, "%s/", here);
    cj__text_puts(&path, file);
    cj__text_puts(&line, "{");
    put_string(&line, "kind", "source");
    put_string(&line, "file", path.failed ? file : path.data);
    put_string(&line, "text", text);
    append(&line);
    cj__text_free(&path);
}

// ---- the library

static void *symbol_of(void *library, const char *name) { return library ? dlsym(library, name) : NULL; }

// NVRTC opens its builtins by name, where only the wheels of CUDA 13.1 and later find them beside it: what is open already is found.
static void open_builtins(const char *library) {
    char        pattern[4096];
    glob_t      found = {0};
    const char *slash = strrchr(library, '/');
    const int   wrote = slash ? snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so.[0-9]*",
                                         (int)(slash - library), library)
                              : 0;
    if (wrote > 0 && (size_t)wrote < sizeof pattern && !glob(pattern, 0, NULL, &found))
        dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
}

// The file of a symbol's library, with its folder.
static const char *file_of(void *symbol) {
    Dl_info about;
    return symbol && dladdr(symbol, &about) ? about.dli_fname : NULL;
}

static void *own_symbol(void) {
    void *symbol;
    void (*own)(cj_real *) = cj__real_open;
    memcpy(&symbol, &own, sizeof symbol);
    return symbol;
}

void cj__real_open(cj_real *real) {
    cj_text tried = {0}, message = {0};
    real->library = cj__toolkit_open(&real->which, file_of(own_symbol()), &tried);
    const char *version = strcmp(real->which.name, "libnvrtc") ? NULL
                                                               : file_of(symbol_of(real->library, "nvrtcVersion"));
    if (version) open_builtins(version);
    if (!real->library) {
        cj__text_printf(&message, "NVIDIA's %s is needed, and there is none: looked for %s", real->which.name,
                        tried.failed ? "it" : tried.data);
        cj__real_refuse(real->which.name, message.failed ? "out of memory" : message.data, real->package);
    }
    cj__text_free(&message);
    cj__text_free(&tried);
}

bool cj__real_find(cj_real *real, const char *name, void *function) {
    pthread_once(&real->once, real->open);
    void *symbol = symbol_of(real->library, name);
    _Static_assert(sizeof symbol == sizeof(void (*)(void)), "function and object pointers are of one size");
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // dladdr
#include "libraries.h"

#include <clusterjit/base.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"

static const char driver[] = "libcuda.so.1";

// Takes ROOT/below if the driver is there.
static bool try_folder(libraries *l, const char *root, const char *below) {
    char path[IMAGE_PATH + sizeof driver + 1], real[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s%s/%s", root, below, driver);
    if (access(path, R_OK) || !realpath(path, real)) return false;
    snprintf(path, sizeof path, "%.3900s%s", root, below);
    if (!realpath(path, real) || strlen(real) >= sizeof l->folder) return false;
    snprintf(l->folder, sizeof l->folder, "%s", real);
    return true;
}

// The directory of a file, whose path is changed; false: it has none.
static bool directory_of(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    return slash;
}

static bool library_directory(char path[PATH_MAX]) {
    Dl_info about;
    void   *symbol;
    const char *(*version)(void) = cj_version;
    memcpy(&symbol, &version, sizeof symbol);
    return dladdr(symbol, &about) && realpath(about.dli_fname, path) && directory_of(path);
}

static bool command_directory(char path[PATH_MAX]) { return realpath("/proc/self/exe", path) && directory_of(path); }

static int find_folder(libraries *l) {
    static const char *const below[] = {"/clusterjit", "/lib/programs", "/../lib/programs", "/../lib/clusterjit",
                                        "/../lib64/clusterjit"};
    const char              *own = getenv("CLUSTERJIT_PROGRAMS");
    char                     library[PATH_MAX], command[PATH_MAX];
    if (own && *own) {
        if (try_folder(l, own, "")) return CODE_OK;
        return message_error(CJ_FILE, "there is no %s in '%s', which CLUSTERJIT_PROGRAMS names", driver, own);
    }
    const bool has_library = library_directory(library), has_command = command_directory(command);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if ((has_library && try_folder(l, library, below[i])) || (has_command && try_folder(l, command, below[i])))
            return CODE_OK;
    return message_error(CJ_FILE,
                         "the CPU device's %s is neither beside the library nor beside the command\nit is built "
                         "where CUDA's headers are; CLUSTERJIT_PROGRAMS=DIR names its folder",
                         driver);
}

// ---- what is loaded before the program

// By its path, since a bare name would be looked for in the RPATH, too. LD_PRELOAD has no way to write a blank or a colon.
static void add_preload(libraries *l, const char *name) {
    const size_t used = strlen(l->preload);
    const char  *colon = used ? ":" : "";
    if (strstr(l->preload, name)) return;
    if (strpbrk(l->folder, ": "))
        snprintf(l->preload + used, sizeof l->preload - used, "%s%s", colon, name);
    else
        snprintf(l->preload + used, sizeof l->preload - used, "%s%s/%s", colon, l->folder, name);
}

// A directory of an RPATH, with $ORIGIN; false: it does not fit.
static bool expand(char *path, size_t size, const char *at, int length, const image *program) {
    static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
    const char              *slash = strrchr(program->path, '/'), *origin = slash ? program->path : ".";
    const int                most = slash ? (int)(slash - program->path) : 1;
    int                      wrote = -1;
    for (size_t i = 0; i < sizeof names / sizeof *names && wrote < 0; i++) {
        const int name = (int)strlen(names[i]);
        if (length >= name && !strncmp(at, names[i], (size_t)name))
            wrote = snprintf(path, size, "%.*s%.*s", most, origin, length - name, at + name);
    }
    if (wrote < 0) wrote = snprintf(path, size, "%.*s", length, at);
    return wrote > 0 && (size_t)wrote < size;
}

// An RPATH comes before LD_LIBRARY_PATH, but not before what is loaded already.
static void look_at_rpath(libraries *l, const image *program) {
    static const char *const names[] = {"libcuda.so.1", "libcudart.so.13"};
    for (const char *at = program->fixed; *at;) {
        const int  length = (int)strcspn(at, ":");
        char       directory[IMAGE_PATH], path[IMAGE_PATH + 64];
        const bool fits = expand(directory, sizeof directory, at, length, program);
        for (size_t i = 0; fits && i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/%s", directory, names[i]);
            if (access(path, R_OK)) continue;
            add_preload(l, names[i]);
            snprintf(l->found, sizeof l->found, "%s", path);
        }
        at += length + (at[length] == ':');
    }
}

// Writes the path of what is in the folder; "": it is not there.
static void find_below(const libraries *l, char path[IMAGE_PATH + 64], const char *name) {
    snprintf(path, IMAGE_PATH + 64, "%s/%s", l->folder, name);
    if (access(path, X_OK)) path[0] = '\0';
}

int libraries_find(libraries *l, const image *program) {
    static const char *const compilers[] = {"libnvrtc.so.13", "libnvJitLink.so.13"};
    char                     path[IMAGE_PATH + 64];
    *l = (libraries){0};
    int code = find_folder(l);
    if (code) return code;
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers && !program->sanitized; i++) {
        snprintf(path, sizeof path, "%s/%s", l->folder, compilers[i]);
        if (!access(path, R_OK)) add_preload(l, compilers[i]);
    }
    find_below(l, l->ptxas, "ptxas");
    find_below(l, l->python, "python");
    look_at_rpath(l, program);
    return CODE_OK;
}

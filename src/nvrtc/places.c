// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "places.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#ifdef __linux__
#include <link.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct search {
    const cj_toolkit_library *which;
    const char               *own;
    cj_text                  *tried;
} search;

// Only Linux has wrappers that stand in the library's place.
static bool is_own(const search *s, void *library) {
#ifdef __linux__
    struct link_map *map = NULL;
    struct stat      a, b;
    return s->own && !dlinfo(library, RTLD_DI_LINKMAP, &map) && !stat(map->l_name, &a) && !stat(s->own, &b) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
#else
    (void)s, (void)library;
    return false;
#endif
}

static void *open_one(const search *s, const char *path) {
    cj__text_printf(s->tried, "%s%s", s->tried->length ? ", " : "", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || !is_own(s, library)) return library;
    dlclose(library);
    return NULL;
}

// DIRECTORY + between + the library's name + suffix, if it fits.
static void *open_below(const search *s, const char *directory, int length, const char *between, const char *suffix) {
    char      path[4096];
    const int wrote = snprintf(path, sizeof path, "%.*s%s%s%s", length, directory, between, s->which->name, suffix);
    return wrote > 0 && (size_t)wrote < sizeof path ? open_one(s, path) : NULL;
}

// ---- of the system, of a toolkit

// Where the library is searched for, in this order: an environment variable that must be set, or NULL, and what stands before and
// after the library's name.
static const struct {
    const char *variable, *before, *after;
} places[] = {
    {NULL, "", ".so.13"},
    {NULL, "", ".so.12"},
    {NULL, "", ".so"},
    {"CUDA_HOME", "/lib64/", ".so"},
    {"CUDA_PATH", "/lib64/", ".so"},
    {NULL, "/usr/local/cuda/lib64/", ".so"},
};

static void *open_usual(const search *s) {
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        const char *root = places[i].variable ? cj__getenv(places[i].variable) : "";
        if (!root || (places[i].variable && !*root)) continue;
        library = open_below(s, root, (int)strlen(root), places[i].before, places[i].after);
    }
    return library;
}

// What dlopen would have found after `own`, for whose name it now gives `own` alone.
static void *open_after_own(const search *s) {
    const char *at = cj__getenv("LD_LIBRARY_PATH");
    void       *library = NULL;
    while (at && *at && !library) {
        const int length = (int)strcspn(at, ":");
        char      path[4096];
        const int wrote = snprintf(path, sizeof path, "%.*s/%s.so.13", length, at, s->which->name);
        if (length && wrote > 0 && (size_t)wrote < sizeof path && !access(path, R_OK)) library = open_one(s, path);
        at += length + (at[length] == ':');
    }
    return library;
}

// ---- of pip's wheels

// The first file that a pattern of the shell matches, if it fits.
static bool first_match(const char *pattern, char *path, size_t size) {
    glob_t found = {0};
    bool   fits = !glob(pattern, GLOB_NOSORT, NULL, &found) && found.gl_pathc;
    if (fits) {
        const int length = snprintf(path, size, "%s", found.gl_pathv[0]);
        fits = length > 0 && (size_t)length < size;
    }
    globfree(&found);
    return fits;
}

bool cj__toolkit_wheel(const cj_toolkit_library *which, const char *root, char *path, size_t size) {
    const char *const packages[] = {"site", "dist"}, *const wheels[] = {"cu1[3-9]", which->wheel};
    for (size_t i = 0; i < 4; i++) {
        char      wanted[4096];
        const int length = snprintf(wanted, sizeof wanted, "%s/lib*/python3*/%s-packages/nvidia/%s/lib/%s.so.1[2-9]",
                                    root, packages[i / 2], wheels[i % 2], which->name);
        if (length > 0 && (size_t)length < sizeof wanted && first_match(wanted, path, size)) return true;
    }
    return false;
}

// Where the python3 of PATH is installed: PREFIX/bin/python3, as it is named there, since a virtual environment's is a link.
static bool python_prefix(char *prefix, size_t size) {
    const char *at = cj__getenv("PATH");
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

// Of this process, if it was started by a path: PREFIX/bin/python3.
static bool own_prefix(char *prefix, size_t size) {
    const char *program = cj__program_name(), *slash = strrchr(program, '/');
    if (!slash || slash == program) return false;
    const int wrote = snprintf(prefix, size, "%.*s/..", (int)(slash - program), program);
    return wrote > 0 && (size_t)wrote < size;
}

static void *open_wheel(const search *s) {
    char        own[4096], python[4096], home[4096], path[4096];
    const char *environment = cj__getenv("VIRTUAL_ENV"), *user = cj__getenv("HOME");
    if (user) snprintf(home, sizeof home, "%.4000s/.local", user);
    const char *const roots[] = {own_prefix(own, sizeof own) ? own : NULL, environment,
                                 python_prefix(python, sizeof python) ? python : NULL, user ? home : NULL,
                                 "/usr/local"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (!roots[i] || !*roots[i]) continue;
        if (!cj__toolkit_wheel(s->which, roots[i], path, sizeof path)) {
            cj__text_printf(s->tried, ", a wheel beneath %s", roots[i]);
            continue;
        }
        void *library = open_one(s, path);
        if (library) return library;
    }
    return NULL;
}

void *cj__toolkit_open(const cj_toolkit_library *which, const char *own, cj_text *tried) {
    const search s = {which, own, tried};
    const char  *only = cj__getenv(which->variable);
    if (only && *only) return open_one(&s, only);
    void *library = own ? open_after_own(&s) : NULL;
    if (!library) library = open_usual(&s);
    return library ? library : open_wheel(&s);
}

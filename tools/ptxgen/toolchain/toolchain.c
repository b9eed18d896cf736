// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "toolchain.h"

#include <clusterjit/nvrtc.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Where the user says that the toolkit is, and only else where it usually is.
static size_t find_roots(const char *roots[2]) {
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    size_t                   count = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *root = getenv(variables[i]);
        if (root && root[0]) roots[count++] = root;
    }
    if (!count) roots[count++] = "/usr/local/cuda";
    return count;
}

// Tries "<directory><below>/<name>" with the first `length` characters of `directory`.
static bool try_path(toolchain_item *item, const char *directory, size_t length, const char *below) {
    int wrote = snprintf(item->path, sizeof item->path, "%.*s%s/%s", (int)length, directory, below, item->name);
    if (length && wrote > 0 && (size_t)wrote < sizeof item->path && access(item->path, X_OK) == 0) return true;
    item->path[0] = '\0';
    return false;
}

bool toolchain_program(toolchain_item *item, const char *name) {
    *item = (toolchain_item){.name = name};
    const char *roots[2];
    size_t      count = find_roots(roots);
    for (size_t i = 0; i < count; i++)
        if (try_path(item, roots[i], strlen(roots[i]), "/bin")) return true;
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t length = strcspn(at, ":");
        if (try_path(item, at, length, "")) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

// Both programs end a line with "release 13.0, V13.0.88".
static void ask_version(toolchain_item *item) {
    char command[sizeof item->path + 32], line[256];
    if (strchr(item->path, '\'')) return;
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null", item->path);
    FILE *words = popen(command, "r");
    if (!words) return;
    while (fgets(line, sizeof line, words)) {
        const char *version = strstr(line, ", V");
        if (version) sscanf(version + 3, "%31s", item->version);
    }
    pclose(words);
}

// It stays loaded: the command ends soon, and unloading loses what the library allocated.
void *toolchain_library(toolchain_item *item, const char *name, const char *stem) {
    *item = (toolchain_item){.name = name};
    const char *roots[2];
    size_t      count = find_roots(roots);
    void       *library = NULL;
    for (size_t i = 0; i < count && !library; i++) {
        snprintf(item->path, sizeof item->path, "%s/lib64/lib%s.so", roots[i], stem);
        library = dlopen(item->path, RTLD_LAZY | RTLD_LOCAL);
    }
    static const char *const suffixes[] = {"", ".13", ".12"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && !library; i++) {
        snprintf(item->path, sizeof item->path, "lib%s.so%s", stem, suffixes[i]);
        library = dlopen(item->path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (!library) item->path[0] = '\0';
    return library;
}

bool toolchain_function(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    _Static_assert(sizeof symbol == sizeof(void (*)(void)), "dlsym returns functions as object pointers");
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

// NVRTC and nvJitLink give their version as two numbers; that one's are signed is all the same to a call.
static void find_library(toolchain_item *item, const char *name, const char *stem, const char *function) {
    void *library = toolchain_library(item, name, stem);
    int (*version)(unsigned *major, unsigned *minor);
    unsigned major, minor;
    if (library && toolchain_function(library, function, &version) && version(&major, &minor) == 0)
        snprintf(item->version, sizeof item->version, "%u.%u", major, minor);
}

// The one that the library uses.
static void find_nvrtc(toolchain_item *item) {
    int major, minor;
    *item = (toolchain_item){.name = "NVRTC"};
    if (cj_nvrtc_find(&major, &minor, item->path, sizeof item->path, NULL))
        item->path[0] = '\0';
    else
        snprintf(item->version, sizeof item->version, "%d.%d", major, minor);
}

void toolchain_find(toolchain_item items[TOOLCHAIN_COUNT]) {
    static const char *const programs[] = {"nvcc", "ptxas"};
    size_t                   count = sizeof programs / sizeof programs[0];
    for (size_t i = 0; i < count; i++)
        if (toolchain_program(&items[i], programs[i])) ask_version(&items[i]);
    find_nvrtc(&items[count]);
    find_library(&items[count + 1], "nvJitLink", "nvJitLink", "nvJitLinkVersion");
}

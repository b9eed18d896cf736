// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "toolchain.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usual_root[] = "/usr/local/cuda";

// Tries "<directory><below>/<name>" with the first `length` characters of `directory`.
static bool try_path(toolchain_item *item, const char *directory, size_t length, const char *below) {
    int wrote = snprintf(item->path, sizeof item->path, "%.*s%s/%s", (int)length, directory, below, item->name);
    if (length && wrote > 0 && (size_t)wrote < sizeof item->path && access(item->path, X_OK) == 0) return true;
    item->path[0] = '\0';
    return false;
}

static bool find_program(toolchain_item *item) {
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH")};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (roots[i] && try_path(item, roots[i], strlen(roots[i]), "/bin")) return true;
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t length = strcspn(at, ":");
        if (try_path(item, at, length, "")) return true;
        at += length + (at[length] == ':');
    }
    return try_path(item, usual_root, strlen(usual_root), "/bin");
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

static void find_nvrtc(toolchain_item *item) {
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library) continue;
        snprintf(item->path, sizeof item->path, "%s", names[i]);
        void *symbol = dlsym(library, "nvrtcVersion");
        int (*version)(int *major, int *minor);
        _Static_assert(sizeof version == sizeof symbol, "dlsym returns functions as object pointers");
        memcpy(&version, &symbol, sizeof version);
        int major, minor;
        if (version && version(&major, &minor) == 0)
            snprintf(item->version, sizeof item->version, "%d.%d", major, minor);
        return;  // it stays loaded: the command ends soon, and unloading loses what it allocated
    }
}

void toolchain_find(toolchain_item items[TOOLCHAIN_COUNT]) {
    static const char *const names[TOOLCHAIN_COUNT] = {"nvcc", "ptxas", "NVRTC"};
    for (size_t i = 0; i < TOOLCHAIN_COUNT; i++) {
        items[i] = (toolchain_item){.name = names[i]};
        if (i == TOOLCHAIN_COUNT - 1)
            find_nvrtc(&items[i]);
        else if (find_program(&items[i]))
            ask_version(&items[i]);
    }
}

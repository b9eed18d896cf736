// SPDX-License-Identifier: Apache-2.0
// The public calls on the disk cache; its directory and its size.
#include "system.h"

#include "cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "log.h"

enum { PATH_SIZE = 4096, SIZE_DEFAULT = 256 << 20 };

static const char *variable(const char *name) {
    const char *value = cj__getenv(name);
    return value && *value ? value : NULL;
}

// The first of these variables that is set gives the directory.
static const struct {
    const char *variable, *below;
    bool        absolute;  // a relative path is ignored, as the XDG base directory specification says
} places[] = {
    {"CLUSTERJIT_CACHE_DIR", "", false},
    {"XDG_CACHE_HOME", "/clusterjit", true},
    {"HOME", "/.cache/clusterjit", true},
};

static bool is_switched_off(void) {
    const char *own = cj__getenv(places[0].variable);
    return own && !*own;
}

// The path is empty if the cache is switched off.
static cj_status find_place(char *path, size_t size, cj_error *error) {
    if (size) *path = '\0';
    if (is_switched_off()) return CJ_OK;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = variable(places[i].variable);
        if (!base || (places[i].absolute && *base != '/')) continue;
        const int length = snprintf(path, size, "%s%s", base, places[i].below);
        if (length >= 0 && (size_t)length < size) return CJ_OK;
        cj__fail(error, CJ_FILE, "the path of the cache directory, from %s, does not fit %zu bytes", places[i].variable,
                 size);
        cj__hint(error, "set CLUSTERJIT_CACHE_DIR to a shorter one");
        return CJ_FILE;
    }
    cj__fail(error, CJ_FILE, "there is no cache directory: CLUSTERJIT_CACHE_DIR is not set, and neither XDG_CACHE_HOME nor HOME "
                            "is an absolute path");
    cj__hint(error, "set CLUSTERJIT_CACHE_DIR to a directory of your own, or to nothing for no disk cache");
    return CJ_FILE;
}

static uint64_t size_limit(void) {
    const char *text = variable("CLUSTERJIT_CACHE_SIZE");
    uint64_t    value;
    const char *end = text ? cj_number_read(text, &value) : NULL;
    if (end && !*end) return value;
    if (text)
        cj__log(CJ_LOG_WARNING, "CLUSTERJIT_CACHE_SIZE is '%s'; it must be a number of bytes (" CJ_NUMBER_FORMS
                "): the cache is limited to 256M", text);
    return SIZE_DEFAULT;
}

cj_status cj__cache_open(bool make, const cj_files *files, cj_disk **disk, cj_error *error) {
    char      path[PATH_SIZE];
    cj_status status = find_place(path, sizeof path, error);
    *disk = NULL;
    if (status || !*path) return status;
    const uint64_t limit = make ? size_limit() : SIZE_DEFAULT;  // only writers keep to the limit
    return cj__disk_open(path, make, limit, files, disk, error);
}

cj_status cj_cache_directory(char *path, size_t size, cj_error *error) {
    REQUIRE(path);
    return find_place(path, size, error);
}

cj_status cj_cache_each(cj_cache_visit visit, void *user, cj_error *error) {
    cj_disk  *disk;
    cj_status status = cj__cache_open(false, &cj__files, &disk, error);
    if (!status && disk) status = cj__disk_each(disk, visit, user, error);
    cj__disk_close(disk);
    return status;
}

cj_status cj_cache_clear(uint64_t *entries, uint64_t *bytes, cj_error *error) {
    cj_disk  *disk;
    *entries = *bytes = 0;
    cj_status status = cj__cache_open(false, &cj__files, &disk, error);
    if (!status && disk) status = cj__disk_clear(disk, entries, bytes, error);
    cj__disk_close(disk);
    return status;
}

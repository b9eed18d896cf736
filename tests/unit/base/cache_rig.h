// SPDX-License-Identifier: Apache-2.0
// A directory of the test's own for the disk cache, and a file system that fails where it is told to.
#ifndef CJ_TESTS_UNIT_CACHE_RIG_H
#define CJ_TESTS_UNIT_CACHE_RIG_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first header: O_TMPFILE"
#endif
#include <clusterjit/log.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "entry.h"
#include "test.h"

enum { ROOM = 1 << 20, TEXT = 300 };

static char directory[64];

static struct {
    const char *call;  // NULL: none fails
    unsigned    nth, seen;
    int         code;
    bool        short_counts;  // reads and writes take a few bytes, and every other one is interrupted
} fault;

static inline bool fails(const char *call) {
    if (!fault.call || strcmp(fault.call, call) || ++fault.seen != fault.nth) return false;
    errno = fault.code;
    return true;
}

static inline bool interrupted(size_t *bytes) {
    static unsigned count;
    if (!fault.short_counts) return false;
    if (*bytes > 7) *bytes = 7;
    errno = EINTR;
    return ++count % 2;
}

static bool all_named;  // the file system has no files without names

static inline int test_open(int at, const char *name, int flags, mode_t mode) {
    const bool  unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    const char *call = unnamed ? "open unnamed" : flags & O_CREAT ? "create" : flags & O_DIRECTORY ? "open directory" : "open";
    if (unnamed && all_named) return errno = EOPNOTSUPP, -1;
    return fails(call) ? -1 : cj__files.open(at, name, flags, mode);
}
static inline int test_close(int file) {
    const int result = cj__files.close(file);
    return fails("close") ? -1 : result;
}
static inline int test_stat(int file, struct stat *about) { return fails("stat") ? -1 : cj__files.stat(file, about); }
static inline ssize_t test_read(int file, void *to, size_t bytes) {
    return fails("read") || interrupted(&bytes) ? -1 : cj__files.read(file, to, bytes);
}
static inline ssize_t test_write(int file, const void *from, size_t bytes) {
    return fails("write") || interrupted(&bytes) ? -1 : cj__files.write(file, from, bytes);
}
static inline int test_sync(int file) { return (void)file, fails("sync") ? -1 : 0; }  // and is quick
static inline int test_touch(int file) { return fails("touch") ? -1 : cj__files.touch(file); }
static inline int test_link(int file, int at, const char *name) {
    return fails("link") ? -1 : cj__files.link(file, at, name);
}
static inline int test_rename(int at, const char *from, const char *to) {
    return fails("rename") ? -1 : cj__files.rename(at, from, to);
}
static inline int test_remove(int at, const char *name) { return fails("remove") ? -1 : cj__files.remove(at, name); }

static const cj_files files = {test_open, test_close, test_stat, test_read,   test_write,
                               test_sync, test_touch, test_link, test_rename, test_remove};

static inline void remove_all(const char *path) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command)) fail_msg("cannot remove %s", path);
}

static inline int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/cj-cache-XXXXXX");
    memset(&fault, 0, sizeof fault);
    return mkdtemp(directory) ? 0 : 1;
}

static inline int remove_directory(void **state) {
    (void)state;
    remove_all(directory);
    return 0;
}

static inline cj_disk *open_disk(uint64_t limit) {
    cj_disk *disk = NULL;
    cj_error error = {0};
    cj_test_ok(cj__disk_open(directory, true, limit, &files, &disk, &error), &error);
    return disk;
}

// A value that says which key it belongs to.
static inline void text_of(unsigned key, char value[TEXT]) {
    uint64_t state = key;
    for (int i = 0; i < TEXT; i++) value[i] = (char)cj_test_random(&state);
}

static inline void put(cj_disk *disk, unsigned key) {
    char value[TEXT];
    text_of(key, value);
    cj__disk_put(disk, (const char *)&key, sizeof key, value, sizeof value);
}

// Whether the key has a value; fails the test where it is not the right one.
static inline bool got(cj_disk *disk, unsigned key) {
    char   want[TEXT], *value = NULL;
    size_t bytes = 0;
    if (!cj__disk_get(disk, (const char *)&key, sizeof key, &value, &bytes)) return false;
    text_of(key, want);
    assert_int_equal(bytes, sizeof want);
    assert_memory_equal(value, want, sizeof want);
    free(value);
    return true;
}

static inline void path_of(unsigned key, char *path, size_t size) {
    char name[CJ_ENTRY_NAME];
    cj__entry_name((const char *)&key, sizeof key, name);
    snprintf(path, size, "%s/%s", directory, name);
}

static inline size_t count_files(void) {
    size_t         count = 0;
    DIR           *opened = opendir(directory);
    struct dirent *file;
    while ((file = readdir(opened)) != NULL) count += strcmp(file->d_name, ".") && strcmp(file->d_name, "..");
    closedir(opened);
    return count;
}

static inline size_t read_file(const char *path, char *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

static inline void write_file(const char *path, const char *bytes, size_t size) {
    unlink(path);  // a file system may take its time over one that is cut to nothing and written again
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

typedef struct said {
    unsigned count;
    char     last[2048];
} said;

static inline void hear(void *user, cj_log_level level, const char *message) {
    said *heard = user;
    if (level > CJ_LOG_WARNING) return;
    heard->count++;
    snprintf(heard->last, sizeof heard->last, "%s", message);
}

#endif

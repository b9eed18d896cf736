// SPDX-License-Identifier: Apache-2.0
// A directory that keeps values under keys, across processes. Each entry is a file of its own (entry.h), which is
// written without a name and then linked or renamed: a reader sees a whole entry or none, and a process that is killed
// leaves nothing. If the file system has no files without names, a killed process leaves at most a temporary file,
// which is removed once it is old. Keys are compared in full. Any thread may call these functions at any time.
#ifndef CJ_CACHE_DISK_H
#define CJ_CACHE_DISK_H

#include <clusterjit/base.h>
#include <clusterjit/cache.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "text.h"

// The system calls that the cache makes, so that a test can let them fail. Each does what the call of that name does;
// names are relative to the directory.
typedef struct cj_files {
    int (*open)(int directory, const char *name, int flags, mode_t mode);
    int (*close)(int file);
    int (*stat)(int file, struct stat *about);
    ssize_t (*read)(int file, void *to, size_t bytes);
    ssize_t (*write)(int file, const void *from, size_t bytes);
    int (*sync)(int file);
    int (*touch)(int file);
    int (*link)(int file, int directory, const char *name);  // gives a name to a file without one
    int (*rename)(int directory, const char *from, const char *to);
    int (*remove)(int directory, const char *name);
} cj_files;

extern const cj_files cj__files;

typedef struct cj_disk cj_disk;

// Opens the directory, or makes it with mode 0700 if `make`. What it holds will be executed, so it must belong to this
// user, be closed to others and be no symbolic link. It keeps `limit` bytes, give or take a few 64ths. FILE names path, owner and mode.
// *disk is owned by the caller; NULL if the directory does not exist and is not made.
cj_status cj__disk_open(const char *path, bool make, uint64_t limit, const cj_files *files, cj_disk **disk,
                        cj_error *error);
void      cj__disk_close(cj_disk *disk);  // NULL is allowed

// The value under the key, malloc'ed; false if there is none. Removes an entry that is damaged.
bool cj__disk_get(cj_disk *disk, const char *key, size_t key_bytes, char **value, size_t *bytes);

// Keeps a value, replaces an earlier one, and now and then removes the least recently used entries beyond the limit. A
// failure is logged once.
void cj__disk_put(cj_disk *disk, const char *key, size_t key_bytes, const char *value, size_t bytes);

// Removes the entry of the key.
void cj__disk_remove(cj_disk *disk, const char *key, size_t key_bytes);

// Visits the entries, each read and verified, in no order.
cj_status cj__disk_each(cj_disk *disk, cj_cache_visit visit, void *user, cj_error *error);
cj_status cj__disk_clear(cj_disk *disk, uint64_t *entries, uint64_t *bytes, cj_error *error);

// A text with a name of its own (at most 31 characters) beside the entries; the limit and clearing do not count it.
// Reads it: malloc'ed, without a NUL; NULL with OK if there is none. FILE if it exists and cannot be read.
cj_status cj__disk_read_text(const cj_disk *disk, const char *name, char **text, size_t *bytes, cj_error *error);

// Replaces the text by what `edit` makes of it ("" if there is none). A reader sees the old text or the new one; one
// thread of all processes edits at a time. FILE.
typedef void (*cj_edit)(void *user, const char *old, size_t bytes, cj_text *made);
cj_status cj__disk_edit_text(const cj_disk *disk, const char *name, cj_edit edit, void *user, cj_error *error);

#endif

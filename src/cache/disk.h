// SPDX-License-Identifier: Apache-2.0
// A directory that keeps values under keys, across processes. Every entry is a file of its own (entry.h), written
// without a name and renamed: whoever reads sees a whole entry or none, whoever is killed leaves nothing. Where the file
// system has no files without names, he leaves at most a temporary file, which is removed when it is old. A key is compared in full. All of it may be called from several threads.
#ifndef CJ_CACHE_DISK_H
#define CJ_CACHE_DISK_H

#include <clusterjit/base.h>
#include <clusterjit/cache.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "text.h"

// The system's calls, so that a test can let them fail. Each does as the call that it is named after; names are
// relative to the directory.
typedef struct cj_files {
    int (*open)(int directory, const char *name, int flags, mode_t mode);
    int (*close)(int file);
    int (*stat)(int file, struct stat *about);
    ssize_t (*read)(int file, void *to, size_t bytes);
    ssize_t (*write)(int file, const void *from, size_t bytes);
    int (*sync)(int file);
    int (*touch)(int file);
    int (*link)(int file, int directory, const char *name);  // a name for a file that has none
    int (*rename)(int directory, const char *from, const char *to);
    int (*remove)(int directory, const char *name);
} cj_files;

extern const cj_files cj__files;

typedef struct cj_disk cj_disk;

// Opens the directory, or makes it with mode 0700 where `make`. It must be ours alone, for what it holds will be
// executed: owned by this user, closed to others, no symbolic link. At most `limit` bytes are kept in it.
// FILE names path, owner and mode. *disk is owned by the caller; NULL where there is no such directory and none is
// made.
cj_status cj__disk_open(const char *path, bool make, uint64_t limit, const cj_files *files, cj_disk **disk,
                        cj_error *error);
void      cj__disk_close(cj_disk *disk);  // NULL is allowed

// The value under the key, malloc'ed, or false. An entry that is damaged is removed.
bool cj__disk_get(cj_disk *disk, const char *key, size_t key_bytes, char **value, size_t *bytes);

// Keeps a value, replacing that of before, and removes the least recently used entries beyond the limit. Where it
// cannot, it says so once.
void cj__disk_put(cj_disk *disk, const char *key, size_t key_bytes, const char *value, size_t bytes);

// Forgets what is kept under the key.
void cj__disk_remove(cj_disk *disk, const char *key, size_t key_bytes);

// The entries, each read and verified, in no order; how many entries and bytes were removed.
cj_status cj__disk_each(cj_disk *disk, cj_cache_visit visit, void *user, cj_error *error);
cj_status cj__disk_clear(cj_disk *disk, uint64_t *entries, uint64_t *bytes, cj_error *error);

// A text of its own name (at most 31 characters) beside the entries, which neither limit nor clearing touches. Reads
// it: malloc'ed, without a NUL; NULL with OK where there is none. FILE where it is there and cannot be read.
cj_status cj__disk_read_text(const cj_disk *disk, const char *name, char **text, size_t *bytes, cj_error *error);

// Replaces it by what `edit` makes of it, "" where there is none: whoever reads sees the old one or the new one, and
// one edits at a time, of all threads and processes. FILE.
typedef void (*cj_edit)(void *user, const char *old, size_t bytes, cj_text *made);
cj_status cj__disk_edit_text(const cj_disk *disk, const char *name, cj_edit edit, void *user, cj_error *error);

#endif

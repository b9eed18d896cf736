// SPDX-License-Identifier: Apache-2.0
// What systems call differently: glibc, musl, macOS. Included before every other header of its file.
#ifndef CJ_BASE_SYSTEM_H
#define CJ_BASE_SYSTEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1  // secure_getenv, O_TMPFILE, O_DIRECTORY, dladdr, program_invocation_name
#endif
#ifdef __APPLE__
#define _DARWIN_C_SOURCE 1  // issetugid, sysconf's names of the machine's size
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// A variable of the environment; NULL in a setuid program, which must not do what its user's environment says.
static inline const char *cj__getenv(const char *name) {
#ifdef __APPLE__
    return issetugid() ? NULL : getenv(name);
#else
    return secure_getenv(name);
#endif
}

// Opens a file without a name in a directory for writing; -1 where the system or the file system has none.
#ifdef O_TMPFILE
enum { CJ__UNNAMED_FILE = O_WRONLY | O_TMPFILE | O_CLOEXEC };
#else
enum { CJ__UNNAMED_FILE = O_WRONLY | O_DIRECTORY | O_CLOEXEC };  // open refuses to write to a directory (EISDIR)
#endif

// The name by which the program was called: on macOS without its path.
static inline const char *cj__program_name(void) {
#ifdef __APPLE__
    return getprogname();
#else
    return program_invocation_name;
#endif
}

static inline struct timespec cj__modified(const struct stat *about) {
#ifdef __APPLE__
    return about->st_mtimespec;
#else
    return about->st_mtim;
#endif
}

#endif

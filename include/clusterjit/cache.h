// SPDX-License-Identifier: Apache-2.0
// What is kept: modules shared within a device, and the compiled images of kernels on disk.
//
// The disk cache keeps what the driver's compiler makes of PTX, so that the next process need not compile. It is used
// on gpu devices by cj_module_get, and so by every kernel; a device opens it when it first needs it.
//   where    CLUSTERJIT_CACHE_DIR (empty: no disk cache), else XDG_CACHE_HOME/clusterjit, else ~/.cache/clusterjit. The
//            directory must be its user's alone (owner, mode 0700, no symbolic link), for what it holds is executed.
//            Without a usable one kernels are compiled in every process, and one warning says why (clusterjit/log.h).
//   how much CLUSTERJIT_CACHE_SIZE, bytes or with a suffix K, M, G (256M); the least recently used entries go first.
//   key      the PTX, the target, the versions of library, driver and compiler, and its options; compared in full.
//   trust    length and hash of an entry are checked before a byte of it reaches the driver. A damaged one is removed
//            and made anew.
// Thread safety: every call may run in any thread, and in several processes on one directory.
#ifndef CLUSTERJIT_CACHE_H
#define CLUSTERJIT_CACHE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// The device's module of a PTX text, whoever wrote it (NUL-terminated; `length` without the NUL). It is made once
// however many threads ask: they wait for that one, and get its error too. Every get wants a cj_module_release; the
// last one unloads the module, whose launches must have ended by then. Errors as cj_module_from_ptx.
CJ_API cj_status cj_module_get(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error);
CJ_API void      cj_module_release(cj_module *module);  // NULL is allowed

// Lets go of the kernels that the one-call functions (cj_reduce_launch) have made on this device. Their launches must
// have ended, and no other thread may be in such a call.
CJ_API void cj_device_trim(cj_device *device);

// The path of the disk cache, whether or not there is such a directory; empty where there is none to be.
// FILE where the path does not fit `size` bytes.
CJ_API cj_status cj_cache_directory(char *path, size_t size, cj_error *error);

// One entry. Strings live during the visit.
typedef struct cj_cache_entry {
    const char *name;           // of its file
    const char *entry;          // the PTX's first entry; "" where it is unknown
    const char *target;         // what it was compiled for: "sm_90"
    const char *compiler;       // the line that identifies the compiler
    uint64_t    bytes;          // of the file
    int64_t     created, used;  // made, last read: seconds since 1970; 0 where unknown
    const char *damage;         // what is wrong with it; NULL: nothing
} cj_cache_entry;

typedef void (*cj_cache_visit)(void *user, const cj_cache_entry *entry);

// Reads and verifies every entry, in no order; changes nothing. A directory that does not exist has none.
// FILE where the directory is not its user's alone.
CJ_API cj_status cj_cache_each(cj_cache_visit visit, void *user, cj_error *error);

// Removes every entry and what killed processes have left, and nothing else; says how many entries and bytes of theirs.
CJ_API cj_status cj_cache_clear(uint64_t *entries, uint64_t *bytes, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif

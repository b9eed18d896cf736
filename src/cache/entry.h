// SPDX-License-Identifier: Apache-2.0
// The format of an entry of the disk cache: one file that holds a key in full and the value kept under it.
//
//     offset  bytes
//          0      8  "CJCACHE\n"
//          8      4  version of the format, 1
//         12     12  zero
//         24      8  bytes of the key
//         32      8  bytes of the value
//         40      8  when it was made: seconds since 1970
//         48     16  XXH3-128 of all the rest: bytes 0 to 47, value, key
//         64      …  value, then key; the file ends with it
//
// Numbers are in the byte order of the machine, whose processes alone read them; another's fail the check of the
// version.
#ifndef CJ_CACHE_ENTRY_H
#define CJ_CACHE_ENTRY_H

#include <stddef.h>
#include <stdint.h>

enum { CJ_ENTRY_HEAD = 64, CJ_ENTRY_NAME = 40 };

// The parts of a whole file in memory. Pointers into it.
typedef struct cj_entry {
    const char *key, *value;
    size_t      key_bytes, value_bytes;
    int64_t     created;
} cj_entry;

// Writes the bytes before the value and the key.
void cj__entry_head(const cj_entry *entry, char head[CJ_ENTRY_HEAD]);

// Takes a file apart. Returns NULL, or what is wrong with it: then `entry` must not be used.
const char *cj__entry_read(const char *file, size_t bytes, cj_entry *entry);

// The name of a key's file: 32 hexadecimal digits of its hash and ".cj".
void cj__entry_name(const char *key, size_t bytes, char name[CJ_ENTRY_NAME]);

#endif

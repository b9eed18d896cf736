// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L

#include "fatbin.h"

#include <stdint.h>
#include <string.h>

// What the program's text refers to. The layouts are not documented: they are what nvcc 13.0 writes.
typedef struct wrapper {
    uint32_t    magic, version;
    const void *data;
    const void *linked;
} wrapper;

// data: a header, then entries, each with a header of its own.
typedef struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;  // of the entries
} header;

typedef struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;  // of the data behind it
    uint32_t compressed_bytes;
} entry;

enum { WRAPPER_MAGIC = 0x466243b1, KIND_PTX = 1 };
#define DATA_MAGIC 0xba55ed50u

const char *cj_fatbin_ptx(const void *container, size_t *length, const char **why) {
    wrapper outer;
    header  head;
    memcpy(&outer, container, sizeof outer);
    *why = "not a container of device code";
    if (outer.magic != WRAPPER_MAGIC) return NULL;
    memcpy(&head, outer.data, sizeof head);
    if (head.magic != DATA_MAGIC) return NULL;
    *why = "no PTX in it: compile with -arch=compute_NN -code=compute_NN";
    const unsigned char *at = (const unsigned char *)outer.data + head.header_bytes, *end = at + head.bytes;
    for (entry one; at + sizeof one <= end; at += one.header_bytes + one.bytes) {
        memcpy(&one, at, sizeof one);
        if (one.kind != KIND_PTX) continue;
        *why = "its PTX is compressed: compile with --compress-mode=none";
        if (one.compressed_bytes) continue;
        const char *text = (const char *)at + one.header_bytes;
        *length = strnlen(text, one.bytes);
        return text;
    }
    return NULL;
}

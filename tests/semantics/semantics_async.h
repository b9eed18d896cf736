// SPDX-License-Identifier: Apache-2.0
// Rows that complete later or that others wait for - asynchronous copies, stores and reductions, mbarriers, fences,
// cluster barriers - as families of small kernels that run on any device. The memory that a kernel leaves is compared
// with another device's, bit by bit, and with a plain model.
//
// A kernel is one cluster (or one block) whose blocks each have 1 KiB of input in shared memory, `tile`, the
// destination of transfers, and another 1 KiB, `from`, their source. At the end every block's tile is copied out: the
// bytes around the destination show whether they were touched. Other observations of a kernel are its notes, 64 bits
// each. A wait has a time limit, so that a wrong count costs milliseconds and gives a note, instead of stopping the
// machine.
#ifndef CJ_TESTS_SEMANTICS_ASYNC_H
#define CJ_TESTS_SEMANTICS_ASYNC_H

#include <clusterjit/device.h>
#include <stdbool.h>
#include <stdint.h>

#include "semantics.h"
#include "text.h"

enum {
    CJ_ASYNC_BLOCKS = 4,
    CJ_ASYNC_TILE = 1024,  // bytes of tile, of from and of notes
    CJ_ASYNC_NOTES = CJ_ASYNC_TILE / 8,
    CJ_ASYNC_LATE = CJ_ASYNC_NOTES - 1,  // the note of a wait that has timed out
    CJ_ASYNC_GLOBAL = 8192
};

// Memory at both ends of a launch. Before: tiles, sources, and the bytes that copies from global memory read. After, in
// a second one: tiles, notes, and the bytes that copies to global memory write, which start as the first one's.
typedef struct cj_async_state {
    struct {
        unsigned char tile[CJ_ASYNC_TILE];
        union {
            unsigned char from[CJ_ASYNC_TILE];
            uint64_t      note[CJ_ASYNC_NOTES];
        };
    } block[CJ_ASYNC_BLOCKS];
    unsigned char global[CJ_ASYNC_GLOBAL];
} cj_async_state;

typedef struct cj_async_case {
    char     name[256];
    unsigned index, threads;
    unsigned blocks;  // of the cluster; 1: launched without clusters
} cj_async_case;

// A body may use, besides what it declares:
//   tile, from, bar, bar2    shared: 1 KiB each, two mbarriers that it initializes
//   %in, %out                global: the bytes to copy from and to; %note: the block's notes
//   %policy                  a cache hint
//   %thread, %rank, %first   thread and rank; whether it is thread 0
//   %r0…, %l0…, %h0…, %p0…   32, 64, 16 bits, predicates
typedef struct cj_async_family {
    const char *name;
    unsigned (*count)(void);
    void (*make)(unsigned index, cj_async_case *c);
    void (*write)(const cj_async_case *c, cj_text *text);                        // the body
    void (*fill)(const cj_async_case *c, cj_async_state *in, uint64_t *random);  // changes random bytes; NULL: none
    void (*model)(const cj_async_case *c, const cj_async_state *in, cj_async_state *out);
} cj_async_family;

extern const cj_async_family cj_async_copies, cj_async_bulk, cj_async_reductions, cj_async_stores, cj_async_mbarriers,
    cj_async_fences;
extern const cj_async_family *const cj_async_families[];  // ended by NULL

// ---- for bodies

// A barrier of all threads of the cluster, or of the block; afterwards shared memory is visible to all, also to
// asynchronous copies.
void cj_async_barrier(const cj_async_case *c, cj_text *text);
// Waits for a phase of one of the block's own mbarriers. `label` must be unique.
void cj_async_wait(cj_text *text, const char *label, const char *mbarrier, unsigned parity);
// `to` (32 bits) becomes the address in .shared::cluster of `variable` + bytes in the block of the rank in `rank`.
void cj_async_map(cj_text *text, const char *to, const char *variable, unsigned bytes, const char *rank);

// ---- for models

// Applies a reduction ("add", …) on elements of a PTX type to `to`.
void cj_async_apply(const char *operation, const char *type, unsigned char *to, const unsigned char *from,
                    unsigned bytes);

// ---- running

// All kernels of a family, k0, k1, …; freed with cj__text_free.
void cj_async_text(const cj_async_family *family, cj_text *text);
// Runs them on one device and compares with the model; prints each that fails, and returns how many.
unsigned cj_async_check(const cj_async_family *family, cj_device *device, uint64_t seed);
// Runs them on both devices; prints a line for each that differs, fails or is refused.
cj_semantics cj_async_compare(const cj_async_family *family, cj_device *device, cj_device *twin, uint64_t seed);

#endif

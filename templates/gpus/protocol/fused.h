// SPDX-License-Identifier: Apache-2.0
// What the fused kernels of GPUs share: units of elements.
#ifndef CJ_TEMPLATES_GPUS_FUSED_H
#define CJ_TEMPLATES_GPUS_FUSED_H

#include "gpus.h"

// What a thread loads, sends and stores at once: 16 bytes, or one element, in words of 32 bits.
typedef struct gpus_unit {
    const char *type;                // "f32", "f16", "bf16"
    uint32_t    bytes, words, each;  // of an element; of a unit; elements
} gpus_unit;

enum { GPUS_EACH = 8 };  // elements of a unit, at most

// Of the word `dtype` of "f32 f16 bf16"; `align` is the word of "16 8 4 2", and all of these numbers of elements are multiples
// of 16 bytes where units are (they are or'ed in `multiples`).
gpus_unit cj__gpus_unit(uint64_t dtype, uint64_t align, uint64_t multiples);
uint32_t  cj__gpus_unit_bytes(const gpus_unit *u);     // in an array
uint32_t  cj__gpus_message_bytes(const gpus_unit *u);  // in a mailbox

// Under a predicate, or cj_always(). A thread for which it does not hold keeps its words.
void cj__gpus_load_unit(cj_func *f, const gpus_unit *u, cj_reg when, const char *load, cj_reg at, uint32_t offset,
                        const cj_reg *words);
void cj__gpus_store_unit(cj_func *f, const gpus_unit *u, cj_reg at, uint32_t offset, const cj_reg *words);

// The elements as f32, in new registers; and back, rounded, into `words`.
void cj__gpus_widen(cj_func *f, const gpus_unit *u, const cj_reg *words, cj_reg number[GPUS_EACH]);
void cj__gpus_narrow(const cj_plan *plan, cj_func *f, const gpus_unit *u, const cj_reg *number, const cj_reg *words);

// A checksum of a name and numbers: GPUS_CHECKSUM("allreducenorm", rows, columns).
#define GPUS_CHECKSUM(name, ...)                                                                              \
    cj__gpus_hash(cj__gpus_hash(GPUS_HASH_OF_NOTHING, name, strlen(name)), (const uint64_t[]){__VA_ARGS__}, \
                  sizeof((const uint64_t[]){__VA_ARGS__}))

#endif

// SPDX-License-Identifier: Apache-2.0
// The cases of semantics_tensor.h: a tile of a tensor, and an action on it.
#ifndef CJ_TESTS_SEMANTICS_TENSOR_CASE_H
#define CJ_TESTS_SEMANTICS_TENSOR_CASE_H

#include <clusterjit/tensormap.h>
#include <stdbool.h>

#include "text.h"

typedef enum cj_tensor_action {
    CJ_TENSOR_LOAD,
    CJ_TENSOR_LOAD_CTA,   // .shared::cta
    CJ_TENSOR_PREFETCH,   // to L2, then a load with a cache hint
    CJ_TENSOR_MULTICAST,  // from rank 1 to those of a mask
    CJ_TENSOR_REPLACE,    // a load, with a map that the kernel corrects
    CJ_TENSOR_STORE,
    CJ_TENSOR_STORE_HINT,
    CJ_TENSOR_ADD,
    CJ_TENSOR_MIN,
    CJ_TENSOR_MAX,
    CJ_TENSOR_INC,
    CJ_TENSOR_DEC,
    CJ_TENSOR_AND,
    CJ_TENSOR_OR,
    CJ_TENSOR_XOR,
    CJ_TENSOR_ACTIONS
} cj_tensor_action;

static inline bool cj_tensor_loads(cj_tensor_action action) { return action < CJ_TENSOR_STORE; }

enum {
    CJ_TENSOR_TILE = 8192,   // bytes of shared memory
    CJ_TENSOR_BYTES = 65536  // of a tensor
};

typedef struct cj_tensor_case {
    cj_tensor_action     action;
    cj_tensormap_type    type;
    unsigned             rank, element;  // bytes of one
    uint64_t             dims[5], strides[4];
    uint32_t             box[5], steps[5];  // element strides
    int32_t              at[5];
    cj_tensormap_swizzle swizzle;
    cj_tensormap_l2      l2;
    cj_tensormap_fill    fill;
    uint32_t             mask;         // of a multicast
    uint32_t             base;         // offset of the tile in shared memory
    unsigned             replacement;  // of tensormap.replace
    char                 name[200];
} cj_tensor_case;

unsigned                 cj_tensor_count(void);
void                     cj_tensor_make(unsigned index, cj_tensor_case *c);
extern const char *const cj_tensor_operations[CJ_TENSOR_ACTIONS];  // "add", …; "" for copies

// ---- tensormap.replace (semantics_tensor_replace.c)

enum { CJ_TENSOR_REPLACEMENTS = 28 };

void cj_tensor_replacement_make(unsigned index, cj_tensor_case *c);
// Changes the case, and the tensor's address, to what the wrong map says.
void cj_tensor_replacement_spoil(cj_tensor_case *c, uint64_t *address);
// The value that the kernel stores into the field.
uint64_t cj_tensor_replacement_value(const cj_tensor_case *c, uint64_t address);
void     cj_tensor_replacement_write(unsigned index, cj_text *text);

// ---- the model

// Elements of the tile in a dimension, bytes of all of them, and bytes that they span in shared memory.
unsigned cj_tensor_extent(const cj_tensor_case *c, unsigned dimension);
unsigned cj_tensor_bytes(const cj_tensor_case *c);
unsigned cj_tensor_footprint(const cj_tensor_case *c);

// Applies the action to the tile and to the tensor, which contain their earlier values.
void cj_tensor_apply(const cj_tensor_case *c, unsigned char *tile, unsigned char *tensor);

#endif

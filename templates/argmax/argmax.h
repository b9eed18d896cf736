// SPDX-License-Identifier: Apache-2.0
// The parts of argmax: plan.c, row.c (from memory to one value a thread), and argmax.c, which has the algorithm.
#ifndef CJ_TEMPLATES_ARGMAX_H
#define CJ_TEMPLATES_ARGMAX_H

#include "kit.h"

// Parameters.
enum {
#define PARAM(id, ...) ARGMAX_##id,
#include "params.def"
};

// Bytes of a load, elements of one at most, 32-bit words of one; bytes of an index; threads of a warp; lanes of a row of vectors, at least.
enum { ARGMAX_LOAD = 16, ARGMAX_WIDTH_MOST = 8, ARGMAX_LOADED = 4, ARGMAX_INDEX = 4, ARGMAX_WARP = 32, ARGMAX_LANES_LEAST = 8 };

// Elements of a short row that a lane loads, one by one, at most.
enum { ARGMAX_EACH = 8 };

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// 32-bit words of a message: key and column.
enum { ARGMAX_WORDS = 2 };

// How a plan's rows are read: bytes of an element, elements of a load.
typedef struct argmax_shape {
    cj_dtype dtype;
    unsigned bytes, width;
    bool     peeled;  // rows may begin or end beside multiples of 16 bytes
} argmax_shape;

argmax_shape cj__argmax_shape(const cj_plan *plan);

bool      cj__argmax_is_short(const cj_plan *plan);  // of a plan with lanes: whether each loads elements of its own
cj_status cj__argmax_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

typedef struct argmax_kernel {
    const cj_plan *plan;
    cj_func       *f;
    unsigned       block, cluster, parts, lanes;  // cluster 0: without; lanes 0: a block or more a row
    argmax_shape   s;
    cj_var         x, out, columns, stride, rows, piece, workspace;
    cj_reg         thread, lane, warp, row;
    cj_reg         in_row;      // thread among those that read together: of the lanes, the block or the cluster
    cj_reg         rank, part;  // with a cluster; of several parts
    cj_reg         there;       // with lanes: the row is one of the matrix
} argmax_kernel;

// The thread's largest key above the complement of its column; less than that of any element where it has none.
cj_reg cj__argmax_thread(const argmax_kernel *k, const cj_partials *kind);

#endif

// SPDX-License-Identifier: Apache-2.0
// Rows whose columns are sharded over GPUs: parameters, what a plan comes to, and what the parts of the kernel share. sharded.c says
// what it does.
#ifndef CJ_TEMPLATES_GPUS_SHARDED_H
#define CJ_TEMPLATES_GPUS_SHARDED_H

#include "fused.h"

enum {
#define PARAM(id, ...) SHARDED_##id,
#include "params.def"
    SHARDED_LABEL,
    SHARDED_IGNORE,
    SHARDED_SMOOTHING,
    SHARDED_GRADIENT,
    SHARDED_SCALE,
    SHARDED_LOG = SHARDED_LABEL
};

// Words of a row that a thread holds, at most; units of a row that it has at a time where it holds none. Rows in shared memory.
enum { SHARDED_HELD = 32, SHARDED_CHUNK = 4, SHARDED_STAGES = 3 };

typedef struct sharded_shape {
    gpus_unit unit;
    uint32_t  gpus, rows, columns, units, per, chunks;  // units of a row; of a thread in a chunk
    uint32_t  block, grid, words;                       // of a message
    uint64_t  mail, used;
    uint32_t  stage;                                    // bytes of a row in shared memory; 0: none is held there
    bool      hold, labels, wide, writes, log;          // i64 labels; a matrix is written
    double    ignore, smoothing, scale;
} sharded_shape;

typedef struct sharded_kernel {
    gpus_kernel    g;
    sharded_shape  s;
    cj_partials    kind;  // largest x, sum of e^(x - largest), and with smoothing half of the mean of x, as in crossentropy.c
    cj_slots       slots;
    cj_reg         x, label, loss, lse, out;
    cj_reg         warp, lane, leads, first_warp;  // predicates: lane 0, warp 0
    cj_reg         peer, is_peer, own_mail, results;  // of lane q: GPU q's mail, whether it is another one; in shared memory
    cj_reg         before;                         // columns of the GPUs before this one: s64
    cj_reg         held[SHARDED_HELD][GPUS_WORDS], last[SHARDED_HELD][GPUS_WORDS];
    cj_reg         said[GPUS_WORDS];               // the words of the last row's message
    cj_reg         row, previous;                  // which is loaded, and which is finished
    cj_pipeline    pipeline;                       // s.stage: of rows; its stages are free at B1, so it has no `empty` mbarriers
    cj_pipeline_at at;                             // the row that is loaded
    cj_reg         pool, fetches;                  // the stages' shared memory; the thread that copies
} sharded_kernel;

sharded_shape cj__gpus_sharded_shape(const cj_plan *plan);
cj_status     cj__gpus_sharded_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- row.c

// part = what the row has in this thread.
void cj__gpus_sharded_part(sharded_kernel *k, const cj_partial *part);
// s.stage: the mbarriers and the first row; the copy of the next row, after B1.
void cj__gpus_sharded_open_stages(sharded_kernel *k);
void cj__gpus_sharded_fetch_next(sharded_kernel *k);

// Writes the gradient or the softmax of the previous row.
void cj__gpus_sharded_write(sharded_kernel *k);
cj_reg cj__gpus_sharded_label(sharded_kernel *k, cj_reg row);  // s64

#endif

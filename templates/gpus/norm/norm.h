// SPDX-License-Identifier: Apache-2.0
// allreducenorm: its parameters and what a plan comes to. norm.c says what the kernel does.
#ifndef CJ_TEMPLATES_GPUS_NORM_H
#define CJ_TEMPLATES_GPUS_NORM_H

#include "fused.h"

enum {
#define PARAM(id, ...) NORM_##id,
#include "params.def"
};

enum { NORM_TAGS_AUTO, NORM_TAGS_WORDS, NORM_TAGS_BLOCKS };

enum { NORM_HELD = 32 };  // words of a row that a thread holds, at most

typedef struct norm_shape {
    gpus_unit unit;
    uint32_t  gpus, rows, columns, units, per;  // units of a row; of a thread
    uint32_t  block, cluster, teams;            // threads; blocks on a row; rows that are worked on at once
    uint32_t  shots, owned;                     // rows that a GPU combines, of two shots
    uint64_t  mail, used;
    bool      layer, residual, weight, bias;
    bool      by_blocks;                        // words without tags (gpus_shape)
    double    epsilon;
} norm_shape;

norm_shape cj__gpus_norm_shape(const cj_plan *plan);
cj_status  cj__gpus_norm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

#endif

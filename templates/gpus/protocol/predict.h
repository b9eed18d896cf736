// SPDX-License-Identifier: Apache-2.0
// What a collective of GPUs takes, predicted: for plans, and for the choice of a way.
#ifndef CJ_TEMPLATES_GPUS_PREDICT_H
#define CJ_TEMPLATES_GPUS_PREDICT_H

#include <stdint.h>

typedef enum cj_gpus_by {
    CJ_BY_ONE_SHOT,   // through mail, all to all
    CJ_BY_TWO_SHOTS,  // of all-reduce: the parts, then their results
    CJ_BY_BLOCKS,     // so, without an epoch beside each word
    CJ_BY_ARRAYS,     // straight into registered arrays
    CJ_BY_NCCL_CALL
} cj_gpus_by;

// What crosses a GPU's links: its work by kind.
typedef enum cj_gpus_traffic {
    CJ_TRAFFIC_ALLREDUCE,
    CJ_TRAFFIC_PART_EACH,  // all-gather, reduce-scatter, all-to-all: `bytes` of a part for each peer
    CJ_TRAFFIC_BROADCAST
} cj_gpus_traffic;

// ns, for `bytes` of x (of a part, where there are parts); docs/maintaining/gpus.md has the formulas.
double cj__gpus_predict(cj_gpus_by by, cj_gpus_traffic traffic, uint32_t gpus, double bytes);

// Of all-reduce through mail: the fastest of the first three.
cj_gpus_by cj__gpus_by_mail(uint32_t gpus, double bytes);

// In how many chunks a product of `rows` rows of each GPU goes, `width` elements of each of which are exchanged: 1, 2, 4, 8 or 16, which
// divide the rows. And how many blocks the exchange has beside a product.
uint32_t cj__gpus_chunks(uint32_t gpus, uint32_t sms, uint64_t rows, uint64_t n, uint64_t k, double width, double element);
uint32_t cj__gpus_side_blocks(void);

#endif

// SPDX-License-Identifier: Apache-2.0
// cj_gpus_topk: each device's own top-k into the results, then shardedtopk over them.
#include <clusterjit/topk.h>
#include <inttypes.h>

#include "fused.h"
#include "several.h"

static cj_status describe(const cj_topk_desc *desc, cj_params *params, cj_error *error) {
    static const char *const orders[] = {"largest", "smallest"}, *const index_types[] = {"i64", "u32"};
    REFUSE_IF(desc->kth || desc->unsorted,
              "%s: the k-th of all devices, or k in any order, cannot be found of each device's" CJ_HINT "leave it out",
              desc->kth ? "kth" : "unsorted");
    TRY(cj__call_family(params, "shardedtopk", error));
    TRY(cj__call_number(params, "rows", desc->rows ? desc->rows : 1, error));
    TRY(cj__call_number(params, "columns", desc->columns, error));
    TRY(cj__call_number(params, "k", desc->k, error));
    TRY(cj__call_dtype(params, "dtype", desc->dtype, error));
    TRY(cj__call_word(params, "order", WORDS(orders), desc->smallest, error));
    return cj__call_word(params, "index", WORDS(index_types), desc->index_u32, error);
}

cj_status cj_gpus_topk(cj_gpus *gpus, const cj_topk_desc *desc, const cj_ptr *x, const cj_ptr *values, const cj_ptr *indices,
                       const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_topk_desc, desc);
    const uint32_t bytes = (uint32_t)cj_dtype_size(desc->dtype), index_bytes = desc->index_u32 ? 4 : 8;
    cj_params       params, part;
    cj_gpus_loaded *own;
    cj_gpus_call    call = {.count = 0}, given = call;
    REFUSE_IF(!desc->k || !desc->columns, "%s: 0 is below 1: there is nothing to choose", desc->k ? "columns" : "k");
    TRY(describe(desc, &params, error));
    TRY(cj__gpus_array(gpus, &given, (cj_gpus_array){"x", x, bytes, 0, false}, error));
    for (unsigned time = 0; time < 2; time++) {  // what is read, and what is written
        TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"values", values, bytes, desc->k, false}, error));
        TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"indices", indices, index_bytes, desc->k, false}, error));
    }
    TRY(cj__gpus_call_prepare(gpus, &params, &call, error));  // before the first launch writes to the results
    TRY(cj__topk_describe(desc, &part, error));
    TRY(cj__gpus_find(gpus, &part, &own, error));
    for (uint32_t r = 0; r < gpus->local; r++)
        TRY(cj__topk_run(own->kernel[r], desc, x[r], values[r], indices[r], stream ? stream[r] : NULL, error));
    return cj__gpus_call_launch(gpus, &call, stream, error);
}

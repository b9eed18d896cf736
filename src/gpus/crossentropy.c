// SPDX-License-Identifier: Apache-2.0
// cj_gpus_crossentropy and cj_gpus_softmax: from descriptions to shardedcrossentropy and shardedsoftmax.
#include "fused.h"

static const char *const yes[] = {"no", "yes"};

static cj_status describe(const char *family, uint64_t rows, uint64_t columns, cj_dtype dtype, uint32_t block, uint32_t grid,
                          cj_params *params, cj_error *error) {
    REFUSE_IF(!rows || !columns, "%s: 0 is below 1: there is nothing to do", rows ? "columns" : "rows");
    TRY(cj__call_family(params, family, error));
    TRY(cj__call_number(params, "rows", rows, error));
    TRY(cj__call_number(params, "columns", columns, error));
    TRY(cj__call_dtype(params, "dtype", dtype, error));
    TRY(cj__call_number(params, "block", block, error));
    return cj__call_number(params, "grid", grid, error);
}

cj_status cj_gpus_crossentropy(cj_gpus *gpus, const cj_gpus_crossentropy_desc *desc, const cj_gpus_crossentropy_arrays *arrays,
                               const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_crossentropy_desc, desc);
    SIZED(cj_gpus_crossentropy_arrays, arrays);
    const uint32_t bytes = (uint32_t)cj_dtype_size(desc->dtype);
    const cj_dtype label = desc->label == (cj_dtype)0 ? CJ_I64 : desc->label;
    cj_params      params;
    cj_gpus_call   call = {.count = 0};
    TRY(describe("shardedcrossentropy", desc->rows, desc->columns, desc->dtype, desc->block, desc->grid, &params, error));
    TRY(cj__call_dtype(&params, "label", label, error));
    TRY(cj__call_real(&params, "ignore", desc->has_ignore ? desc->ignore : -100, error));
    TRY(cj__call_real(&params, "smoothing", desc->smoothing, error));
    TRY(cj__call_word(&params, "gradient", WORDS(yes), desc->gradient != 0, error));
    if (desc->scale != 0) TRY(cj__call_real(&params, "scale", desc->scale, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"x", arrays->x, bytes, desc->columns, true}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"label", arrays->label, (uint32_t)cj_dtype_size(label), 1, false}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"loss", arrays->loss, sizeof(float), 1, false}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"lse", arrays->lse, sizeof(float), 1, false}, error));
    if (desc->gradient) TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"dx", arrays->dx, bytes, desc->columns, true}, error));
    return cj__gpus_call_run(gpus, &params, &call, stream, error);
}

cj_status cj_gpus_softmax(cj_gpus *gpus, const cj_gpus_softmax_desc *desc, const cj_ptr *x, const cj_ptr *y,
                          const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_softmax_desc, desc);
    const uint32_t bytes = (uint32_t)cj_dtype_size(desc->dtype);
    cj_params      params;
    cj_gpus_call   call = {.count = 0};
    TRY(describe("shardedsoftmax", desc->rows, desc->columns, desc->dtype, desc->block, desc->grid, &params, error));
    TRY(cj__call_word(&params, "log", WORDS(yes), desc->log != 0, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"x", x, bytes, desc->columns, true}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"y", y, bytes, desc->columns, true}, error));
    return cj__gpus_call_run(gpus, &params, &call, stream, error);
}

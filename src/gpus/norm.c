// SPDX-License-Identifier: Apache-2.0
// cj_gpus_norm: from a description to allreducenorm.
#include "fused.h"

static const char *const yes[] = {"no", "yes"};
static const char *const norms[] = {[CJ_NORM_RMS] = "rms", [CJ_NORM_LAYER] = "layer"};

static cj_status describe(const cj_gpus_norm_desc *desc, cj_params *params, cj_error *error) {
    REFUSE_IF(!desc->rows || !desc->columns, "%s: 0 is below 1: there is nothing to do", desc->rows ? "columns" : "rows");
    TRY(cj__call_family(params, "allreducenorm", error));
    TRY(cj__call_number(params, "rows", desc->rows, error));
    TRY(cj__call_number(params, "columns", desc->columns, error));
    TRY(cj__call_dtype(params, "dtype", desc->dtype, error));
    TRY(cj__call_word(params, "norm", WORDS(norms), (unsigned)desc->kind, error));
    TRY(cj__call_word(params, "residual", WORDS(yes), desc->residual != 0, error));
    TRY(cj__call_word(params, "weight", WORDS(yes), desc->weight != 0, error));
    TRY(cj__call_word(params, "bias", WORDS(yes), desc->bias != 0, error));
    if (desc->epsilon != 0) TRY(cj__call_real(params, "epsilon", desc->epsilon, error));
    TRY(cj__call_number(params, "shots", desc->shots, error));
    TRY(cj__call_number(params, "block", desc->block, error));
    TRY(cj__call_number(params, "cluster", desc->cluster, error));
    return cj__call_number(params, "grid", desc->grid, error);
}

cj_status cj_gpus_norm(cj_gpus *gpus, const cj_gpus_norm_desc *desc, const cj_gpus_norm_arrays *arrays,
                       const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_norm_desc, desc);
    SIZED(cj_gpus_norm_arrays, arrays);
    const uint32_t bytes = (uint32_t)cj_dtype_size(desc->dtype);
    cj_params      params;
    cj_gpus_call   call = {.count = 0};
    TRY(describe(desc, &params, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"x", arrays->x, bytes, desc->columns, true}, error));
    if (desc->residual) TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"residual", arrays->residual, bytes, desc->columns, true}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"sum", arrays->sum, bytes, desc->columns, true}, error));
    TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"y", arrays->y, bytes, desc->columns, true}, error));
    if (desc->weight) TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"weight", arrays->weight, bytes, 0, true}, error));
    if (desc->bias) TRY(cj__gpus_array(gpus, &call, (cj_gpus_array){"bias", arrays->bias, bytes, 0, true}, error));
    return cj__gpus_call_run(gpus, &params, &call, stream, error);
}

// SPDX-License-Identifier: Apache-2.0
// One reduction and one histogram of the data of all GPUs: each GPU's own, then an all-reduce of the results in place. Both are
// launches on the stream, so a graph holds them. The kernels of a GPU's own part are the cj_gpus's, one a description and rank, not one a
// stream as those of one-call functions: the launches of a cj_gpus come one after the other, so their workspaces are never used twice at
// once, and a capture on a stream of its own finds them.
#include <clusterjit/histogram.h>
#include <clusterjit/reduce.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "gpus_state.h"
#include "several.h"

static cj_stream stream_of(const cj_stream *stream, uint32_t r) { return stream ? stream[r] : NULL; }

static const cj_combine_op combines[] = {
    [CJ_REDUCE_SUM] = CJ_COMBINE_SUM, [CJ_REDUCE_MIN] = CJ_COMBINE_MIN, [CJ_REDUCE_MAX] = CJ_COMBINE_MAX};

static cj_status check_reduce(const cj_reduce_desc *desc, cj_dtype result, cj_error *error) {
    REFUSE_IF(!cj_dtype_name(desc->dtype), "dtype: %d is not a cj_dtype", (int)desc->dtype);
    REFUSE_IF((unsigned)desc->op > CJ_REDUCE_MAX || desc->op_function,
              "op: %d is none of sum, min and max, which GPUs combine" CJ_HINT "of a mean divide the sum", (int)desc->op);
    REFUSE_IF(desc->result != CJ_REDUCE_TOTAL || desc->weight != CJ_REDUCE_WEIGHT_NONE,
              "result and weight: %d and %d are of blocks, but GPUs combine one total" CJ_HINT "leave both 0", (int)desc->result,
              (int)desc->weight);
    REFUSE_IF(result != CJ_F32 && result != CJ_I32 && result != CJ_U32,
              "dtype: results of %s are %s, which GPUs do not combine" CJ_HINT "f32, f16, bf16 and integers of up to 32 bits go",
              cj_dtype_name(desc->dtype), cj_dtype_name(result));
    return CJ_OK;
}

// Before the first launch: what is refused has written nothing.
static cj_status check_arrays(const cj_gpus *gpus, cj_dtype dtype, const cj_ptr *x, const char *name, cj_dtype result, const cj_ptr *out,
                              cj_error *error) {
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj__call_array("x", x[r], (uint32_t)cj_dtype_size(dtype), NULL, error));
        TRY(cj__call_array(name, out[r], (uint32_t)cj_dtype_size(result), NULL, error));
    }
    return CJ_OK;
}

cj_status cj_gpus_reduce(cj_gpus *gpus, const cj_reduce_desc *desc, const cj_ptr *x, const cj_ptr *out, const cj_stream *stream,
                         cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_reduce_desc, desc);
    REQUIRE(x);
    REQUIRE(out);
    const cj_dtype  result = cj_dtype_arithmetic(desc->dtype);
    cj_params       params;
    cj_gpus_loaded *own;
    cj_kernel      *kernel[CJ_GPUS_MAX];  // the list of those that are loaded may move
    cj_gpus_collective call;
    TRY(check_reduce(desc, result, error));
    TRY(cj__reduce_describe(desc, &params, error));
    TRY(check_arrays(gpus, desc->dtype, x, "out", result, out, error));
    TRY(cj__gpus_find(gpus, &params, &own, error));
    memcpy(kernel, own->kernel, sizeof kernel);
    const cj_gpus_desc all = {CJ_INIT(all), .dtype = result, .count = 1, .combine = combines[desc->op]};
    TRY(cj__gpus_prepare(gpus, &all, out, out, &call, error));
    for (uint32_t r = 0; r < gpus->local; r++) TRY(cj__reduce_run(kernel[r], desc, x[r], out[r], stream_of(stream, r), error));
    return cj__gpus_go(gpus, &call, out, out, stream, error);
}

cj_status cj_gpus_histogram(cj_gpus *gpus, const cj_histogram_desc *desc, const cj_ptr *x, const cj_ptr *counts,
                            const cj_stream *stream, cj_error *error) {
    enum { BINS = 256 };  // the default
    cj_params       params;
    cj_gpus_loaded *own;
    cj_kernel      *kernel[CJ_GPUS_MAX];  // the list of those that are loaded may move
    cj_gpus_collective call;
    REQUIRE(gpus);
    SIZED(cj_histogram_desc, desc);
    REQUIRE(x);
    REQUIRE(counts);
    REFUSE_IF(desc->counts == CJ_U64, "counts: u64 are not combined by GPUs" CJ_HINT "take u32, which wrap modulo 2^32");
    TRY(cj__histogram_describe(desc, &params, error));
    TRY(check_arrays(gpus, desc->dtype, x, "counts", CJ_U32, counts, error));
    TRY(cj__gpus_find(gpus, &params, &own, error));
    memcpy(kernel, own->kernel, sizeof kernel);
    const cj_gpus_desc all = {CJ_INIT(all), .dtype = CJ_U32, .count = desc->bins ? desc->bins : BINS};
    TRY(cj__gpus_prepare(gpus, &all, counts, counts, &call, error));
    for (uint32_t r = 0; r < gpus->local; r++)
        TRY(cj__histogram_run(gpus->device[r], kernel[r], desc, x[r], counts[r], stream_of(stream, r), error));
    return cj__gpus_go(gpus, &call, counts, counts, stream, error);
}

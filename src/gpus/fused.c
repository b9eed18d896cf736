// SPDX-License-Identifier: Apache-2.0
#include "fused.h"

#include <inttypes.h>

#include "log.h"

cj_status cj__gpus_array(const cj_gpus *gpus, cj_gpus_call *call, cj_gpus_array array, cj_error *error) {
    REFUSE_IF(!array.of, "%s is NULL" CJ_HINT "give one pointer for each of the %" PRIu32 " GPUs", array.name, gpus->local);
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj__call_array(array.name, array.of[r], array.bytes ? array.bytes : 1, NULL, error));
        if (array.matrix) call->bits |= array.of[r];
    }
    call->row_bytes[call->count] = array.width * array.bytes;
    call->array[call->count++] = array.of;
    return CJ_OK;
}

// Of the first call with a description: in how many launches it goes. No fused kernel goes by NCCL, nor straight into registered arrays.
static void tell(const cj_gpus *gpus, const cj_params *params, uint64_t rows, uint64_t piece) {
    const uint64_t launches = (rows + piece - 1) / piece;
    if (launches == 1)
        cj__log(CJ_LOG_INFO, "%s of %" PRIu64 " rows on rank %" PRIu32 " of %" PRIu32 " GPUs goes in one launch: the mail has room for it",
                cj_family_name(params->family), rows, gpus->first, gpus->count);
    else
        cj__log(CJ_LOG_INFO, "%s of %" PRIu64 " rows on rank %" PRIu32 " of %" PRIu32 " GPUs goes in %" PRIu64 " launches of up to %" PRIu64
                " rows, for which %" PRIu64 " bytes of mail have room", cj_family_name(params->family), rows, gpus->first, gpus->count, launches,
                piece, gpus->mail_bytes);
}

// The kernels of a call are kept by the parameters of all its rows: what they were divided into is known then.
static cj_status find(cj_gpus *gpus, const cj_params *params, cj_gpus_call *call, cj_error *error) {
    cj_gpus_loaded *loaded = cj__gpus_known(gpus, params);
    cj_params       piece;
    call->rows = cj_params_get(params, "rows");
    if (!loaded) {
        TRY(cj__gpus_divide_rows(gpus, params, &piece, error));
        TRY(cj__gpus_load(gpus, params, &piece, &loaded, error));
        tell(gpus, params, call->rows, cj_params_get(&piece, "rows"));
    }
    const cj_params *made = &cj_kernel_plan(loaded->kernel[0])->params;
    call->piece = cj_params_get(made, "rows");
    memcpy(call->kernel[0], loaded->kernel, sizeof loaded->kernel);
    const uint64_t last = call->rows % call->piece;
    if (!last) return CJ_OK;
    piece = *params;
    TRY(cj__call_number(&piece, "block", cj_params_get(made, "block"), error));
    if (cj_params_get(made, "cluster") != UINT64_MAX) TRY(cj__call_number(&piece, "cluster", cj_params_get(made, "cluster"), error));
    TRY(cj__call_number(&piece, "rows", last, error));
    TRY(cj__gpus_find(gpus, &piece, &loaded, error));
    memcpy(call->kernel[1], loaded->kernel, sizeof loaded->kernel);
    return CJ_OK;
}

cj_status cj__gpus_call_prepare(cj_gpus *gpus, cj_params *params, cj_gpus_call *call, cj_error *error) {
    static const char *const alignments[] = {"16", "8", "4", "2"};
    uint32_t                 align = 0;
    while (align < 3 && call->bits % (16u >> align)) align++;
    TRY(cj__gpus_check_ranks(gpus, error));
    TRY(cj__call_number(params, "gpus", gpus->count, error));
    TRY(cj__call_number(params, "mail", gpus->mail_bytes, error));
    if (call->bits) TRY(cj__call_word(params, "align", WORDS(alignments), align, error));
    return find(gpus, params, call, error);
}

cj_status cj__gpus_call_launch(cj_gpus *gpus, const cj_gpus_call *call, const cj_stream *stream, cj_error *error) {
    cj_ptr        from[CJ_GPUS_ARRAYS][CJ_GPUS_MAX];
    const cj_ptr *array[CJ_GPUS_ARRAYS];
    for (uint64_t at = 0; at < call->rows; at += call->piece) {
        for (uint32_t k = 0; k < call->count; k++) {
            for (uint32_t r = 0; r < gpus->local; r++) from[k][r] = call->array[k][r] + at * call->row_bytes[k];
            array[k] = from[k];
        }
        TRY(cj_gpus_launch_arrays(gpus, call->kernel[call->rows - at < call->piece], gpus->local, array, call->count, stream, error));
    }
    return CJ_OK;
}

cj_status cj__gpus_call_run(cj_gpus *gpus, cj_params *params, cj_gpus_call *call, const cj_stream *stream, cj_error *error) {
    TRY(cj__gpus_call_prepare(gpus, params, call, error));
    return cj__gpus_call_launch(gpus, call, stream, error);
}

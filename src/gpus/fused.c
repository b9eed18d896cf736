// SPDX-License-Identifier: Apache-2.0
#include "fused.h"

#include <inttypes.h>

cj_status cj__gpus_array(const cj_gpus *gpus, cj_gpus_call *call, const char *name, const cj_ptr *array, uint32_t bytes,
                         bool matrix, cj_error *error) {
    REFUSE_IF(!array, "%s is NULL" CJ_HINT "give one pointer for each of the %" PRIu32 " GPUs", name,
              gpus->local);
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj__call_array(name, array[r], bytes ? bytes : 1, NULL, error));
        if (matrix) call->bits |= array[r];
    }
    call->array[call->count++] = array;
    return CJ_OK;
}

cj_status cj__gpus_call_run(cj_gpus *gpus, cj_params *params, const cj_gpus_call *call, const cj_stream *stream, cj_error *error) {
    static const char *const alignments[] = {"16", "8", "4", "2"};
    cj_gpus_loaded          *loaded = NULL;
    uint32_t                 align = 0;
    while (align < 3 && call->bits % (16u >> align)) align++;
    TRY(cj__call_number(params, "gpus", gpus->count, error));
    TRY(cj__call_number(params, "mail", gpus->mail_bytes, error));
    if (call->bits) TRY(cj__call_word(params, "align", WORDS(alignments), align, error));
    TRY(cj__gpus_find(gpus, params, &loaded, error));
    return cj_gpus_launch_arrays(gpus, loaded->kernel, gpus->local, call->array, call->count, stream, error);
}

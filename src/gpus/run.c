// SPDX-License-Identifier: Apache-2.0
// The typed call: from a description to the kernels of a family, which are loaded at its first use.
#include <inttypes.h>
#include <string.h>

#include "allocate.h"
#include "call.h"
#include "error.h"
#include "gpus_state.h"
#include "sized.h"

static const char *const families[] = {
    [CJ_GPUS_ALLREDUCE] = "allreduce",  [CJ_GPUS_REDUCE_SCATTER] = "reducescatter",
    [CJ_GPUS_ALL_GATHER] = "allgather", [CJ_GPUS_ALL_TO_ALL] = "alltoall",
    [CJ_GPUS_BROADCAST] = "broadcast",  [CJ_GPUS_BARRIER] = "barrier"};
static const char *const combinations[] = {
    [CJ_COMBINE_SUM] = "sum", [CJ_COMBINE_MIN] = "min", [CJ_COMBINE_MAX] = "max"};
static const char *const alignments[] = {"16", "8", "4", "2"};

// The alignment that all addresses have: the index of its word.
static uint32_t alignment_of(const cj_gpus *gpus, const cj_ptr *x, const cj_ptr *out) {
    uint32_t index = 0;
    cj_ptr   all = 0;
    for (uint32_t r = 0; x && r < gpus->count; r++) all |= x[r] | out[r];
    while (index < 3 && all % (16u >> index)) index++;
    return index;
}

static cj_status check_arrays(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                              cj_error *error) {
    const uint32_t align = (uint32_t)cj_dtype_size(desc->dtype);
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    REQUIRE(x);
    REQUIRE(out);
    for (uint32_t r = 0; r < gpus->count; r++) {
        TRY(cj__call_array("x", x[r], align, NULL, error));
        TRY(cj__call_array("out", out[r], align, NULL, error));
    }
    return CJ_OK;
}

static cj_status describe(const cj_gpus *gpus, const cj_gpus_desc *desc, uint32_t align, cj_params *params,
                          cj_error *error) {
    const bool combines = desc->op <= CJ_GPUS_REDUCE_SCATTER;
    REFUSE_IF((uint32_t)desc->op > CJ_GPUS_BARRIER, "op: %d is none of cj_gpus_op", (int)desc->op);
    TRY(cj__call_family(params, families[desc->op], error));
    TRY(cj__call_number(params, "gpus", gpus->count, error));
    TRY(cj__call_number(params, "mail", gpus->mail_bytes, error));
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    REFUSE_IF(!desc->count, "count: 0 is below 1: there is nothing to move");
    TRY(cj__call_dtype(params, "dtype", desc->dtype, error));
    TRY(cj__call_number(params, "count", desc->count, error));
    TRY(cj__call_word(params, "align", WORDS(alignments), align, error));
    if (combines) TRY(cj__call_word(params, "combine", WORDS(combinations), desc->combine, error));
    if (desc->shots) TRY(cj__call_number(params, "shots", desc->shots, error));
    if (desc->root) TRY(cj__call_number(params, "root", desc->root, error));
    if (desc->block) TRY(cj__call_number(params, "block", desc->block, error));
    if (desc->grid) TRY(cj__call_number(params, "grid", desc->grid, error));
    return CJ_OK;
}

static cj_status load(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    if (gpus->loaded_count == gpus->loaded_room) {
        const size_t room = 2 * gpus->loaded_room + 8;
        void        *more = cj__realloc(gpus->loaded, gpus->loaded_room * sizeof *gpus->loaded, room * sizeof *gpus->loaded);
        if (!more) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a kernel of %" PRIu32 " GPUs", gpus->count);
        gpus->loaded = more;
        gpus->loaded_room = room;
    }
    cj_gpus_loaded *made = &gpus->loaded[gpus->loaded_count];
    memset(made, 0, sizeof *made);
    made->params = *params;
    for (uint32_t r = 0; r < gpus->count; r++) {
        const cj_status status = cj_kernel_create(gpus->device[r], params, &made->kernel[r], error);
        if (!status) continue;
        while (r--) cj_kernel_destroy(made->kernel[r]);
        return status;
    }
    gpus->loaded_count++;
    *found = made;
    return CJ_OK;
}

cj_status cj__gpus_find(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    for (size_t i = 0; i < gpus->loaded_count; i++) {
        *found = &gpus->loaded[i];
        const cj_params *known = &(*found)->params;
        if (known->family == params->family && !memcmp(known->value, params->value, sizeof known->value)) return CJ_OK;
    }
    return load(gpus, params, found, error);
}

cj_status cj_gpus_run(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                      const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_desc, desc);
    const bool moves = desc->op != CJ_GPUS_BARRIER;
    cj_params  params;
    TRY(check_arrays(gpus, desc, x, out, error));
    TRY(describe(gpus, desc, alignment_of(gpus, moves ? x : NULL, out), &params, error));
    cj_gpus_loaded *loaded = NULL;
    TRY(cj__gpus_find(gpus, &params, &loaded, error));
    return cj_gpus_launch(gpus, loaded->kernel, gpus->count, moves ? x : NULL, moves ? out : NULL, stream, error);
}

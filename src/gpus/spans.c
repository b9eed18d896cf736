// SPDX-License-Identifier: Apache-2.0
// The arrays of a collective: that there are all, aligned to an element, and which may overlap.
#include <inttypes.h>

#include "call.h"
#include "error.h"
#include "gpus_state.h"

static bool has_parts_in(cj_gpus_op op) { return op == CJ_GPUS_REDUCE_SCATTER || op == CJ_GPUS_ALL_TO_ALL; }
static bool has_parts_out(cj_gpus_op op) { return op == CJ_GPUS_ALL_GATHER || op == CJ_GPUS_ALL_TO_ALL; }

cj_status cj__gpus_check_arrays(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_error *error) {
    const uint32_t align = (uint32_t)cj_dtype_size(desc->dtype);
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj__call_array("x", x[r], align, NULL, error));
        TRY(cj__call_array("out", out[r], align, NULL, error));
    }
    return cj__gpus_check_spans(gpus, desc, x, out, error);
}

// ---- overlaps

static bool overlap(cj_ptr a, uint64_t a_bytes, cj_ptr b, uint64_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

// In place: a thread loads a unit of x before it stores to the same bytes of out, and no other thread and no peer reads them.
static bool is_in_place(cj_gpus_op op, uint32_t rank, uint64_t part, cj_ptr x, cj_ptr out) {
    if (op == CJ_GPUS_ALL_GATHER) return x == out + rank * part;
    if (op == CJ_GPUS_REDUCE_SCATTER) return out == x + rank * part;
    return x == out;
}

static const char *in_place(cj_gpus_op op) {
    return op == CJ_GPUS_ALL_GATHER       ? "x that is the rank's own part of its out"
           : op == CJ_GPUS_REDUCE_SCATTER ? "out that is the rank's own part of its x"
                                          : "out that is x of the same rank";
}

cj_status cj__gpus_check_spans(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_error *error) {
    const uint64_t part = desc->count * cj_dtype_size(desc->dtype);
    const uint64_t in = has_parts_in(desc->op) ? part * gpus->count : part, to = has_parts_out(desc->op) ? part * gpus->count : part;
    for (uint32_t i = 0; i < gpus->local; i++) {
        const uint32_t rank = gpus->first + i;
        const bool     is_read = desc->op != CJ_GPUS_BROADCAST || rank == desc->root;
        for (uint32_t k = 0; k < gpus->local; k++) {
            REFUSE_IF(k > i && overlap(out[i], to, out[k], to),
                      "out: %" PRIu64 " bytes of rank %" PRIu32 " at 0x%" PRIx64 " and of rank %" PRIu32 " at 0x%" PRIx64 " overlap" CJ_HINT
                      "give each rank an array of its own: all ranks write theirs at the same time",
                      to, rank, (uint64_t)out[i], gpus->first + k, (uint64_t)out[k]);
            REFUSE_IF(is_read && overlap(x[i], in, out[k], to) && !(k == i && is_in_place(desc->op, rank, part, x[i], out[i])),
                      "x: %" PRIu64 " bytes of rank %" PRIu32 " at 0x%" PRIx64 " overlap out of rank %" PRIu32 ", %" PRIu64 " bytes at 0x%" PRIx64 CJ_HINT
                      "give arrays that do not overlap, or %s",
                      in, rank, (uint64_t)x[i], gpus->first + k, to, (uint64_t)out[k], in_place(desc->op));
        }
    }
    return CJ_OK;
}

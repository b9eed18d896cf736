// SPDX-License-Identifier: Apache-2.0
// The typed call: from a description to the kernels of a family, which are loaded at its first use.
#include <inttypes.h>
#include <string.h>

#include "allocate.h"
#include "call.h"
#include "error.h"
#include "gpus_state.h"
#include "log.h"
#include "sized.h"

static const char *const families[] = {
    [CJ_GPUS_ALLREDUCE] = "allreduce", [CJ_GPUS_REDUCE_SCATTER] = "reducescatter", [CJ_GPUS_ALL_GATHER] = "allgather",
    [CJ_GPUS_ALL_TO_ALL] = "alltoall", [CJ_GPUS_BROADCAST] = "broadcast",          [CJ_GPUS_BARRIER] = "barrier"};
static const char *const combinations[] = {
    [CJ_COMBINE_SUM] = "sum", [CJ_COMBINE_MIN] = "min", [CJ_COMBINE_MAX] = "max"};
static const char *const memories[] = {"mail", "registered"};
static const char *const alignments[] = {"16", "8", "4", "2"};

// The alignment that all addresses have: the index of its word.
static uint32_t alignment_of(const cj_gpus *gpus, const cj_ptr *x, const cj_ptr *out) {
    uint32_t index = 0;
    cj_ptr   all = 0;
    for (uint32_t r = 0; x && r < gpus->local; r++) all |= x[r] | out[r];
    while (index < 3 && all % (16u >> index)) index++;
    return index;
}

static cj_status check_arrays(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                              cj_error *error) {
    const uint32_t align = (uint32_t)cj_dtype_size(desc->dtype);
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    REQUIRE(x);
    REQUIRE(out);
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj__call_array("x", x[r], align, NULL, error));
        TRY(cj__call_array("out", out[r], align, NULL, error));
    }
    return CJ_OK;
}

// What one launch moves of what desc says: `count` elements, `at` elements into the arrays.
typedef struct cj_gpus_piece {
    uint64_t at, count;
    uint32_t align, shots;
    bool     direct;
} cj_gpus_piece;

static cj_status describe(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_piece *piece, cj_params *params,
                          cj_error *error) {
    const bool combines = desc->op <= CJ_GPUS_REDUCE_SCATTER, is_piece = piece->count < desc->count;
    const bool has_parts = desc->op != CJ_GPUS_ALLREDUCE && desc->op != CJ_GPUS_BROADCAST;
    TRY(cj__call_family(params, families[desc->op], error));
    TRY(cj__call_number(params, "gpus", gpus->count, error));
    TRY(cj__call_number(params, "mail", gpus->mail_bytes, error));
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    TRY(cj__call_dtype(params, "dtype", desc->dtype, error));
    TRY(cj__call_number(params, "count", piece->count, error));
    TRY(cj__call_word(params, "align", WORDS(alignments), piece->align, error));
    if (piece->direct) TRY(cj__call_word(params, "memory", WORDS(memories), 1, error));
    if (combines) TRY(cj__call_word(params, "combine", WORDS(combinations), desc->combine, error));
    if (piece->shots) TRY(cj__call_number(params, "shots", piece->shots, error));
    if (has_parts && is_piece) TRY(cj__call_number(params, "stride", desc->count, error));
    if (desc->root) TRY(cj__call_number(params, "root", desc->root, error));
    if (desc->block) TRY(cj__call_number(params, "block", desc->block, error));
    if (desc->grid) TRY(cj__call_number(params, "grid", desc->grid, error));
    return CJ_OK;
}

static cj_status load(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    void *list = gpus->loaded;
    TRY(cj__gpus_grow(&list, gpus->loaded_count, &gpus->loaded_room, sizeof *gpus->loaded, error));
    gpus->loaded = list;
    cj_gpus_loaded *made = &gpus->loaded[gpus->loaded_count];
    memset(made, 0, sizeof *made);
    made->params = *params;
    for (uint32_t r = 0; r < gpus->local; r++) {
        const cj_status status = cj_kernel_create(gpus->device[r], params, &made->kernel[r], error);
        if (!status) continue;
        while (r--) cj_kernel_destroy(made->kernel[r]);
        return status;
    }
    gpus->loaded_count++;
    *found = made;
    return CJ_OK;
}

// User functions are compared by address: a kernel keeps its own alive. No family of several GPUs has a list.
static bool is_same(const cj_params *known, const cj_params *params) {
    return known->family == params->family && !memcmp(known->value, params->value, sizeof known->value) &&
           !memcmp(known->function, params->function, sizeof known->function);
}

cj_status cj__gpus_find(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    for (size_t i = 0; i < gpus->loaded_count; i++) {
        *found = &gpus->loaded[i];
        if (is_same(&(*found)->params, params)) return CJ_OK;
    }
    return load(gpus, params, found, error);
}

static cj_status run_piece(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_piece *piece, const cj_ptr *x,
                           const cj_ptr *out, const cj_stream *stream, cj_error *error) {
    cj_ptr          from[CJ_GPUS_MAX], to[CJ_GPUS_MAX];
    cj_gpus_loaded *loaded = NULL;
    cj_params       params;
    const uint64_t  bytes = x ? piece->at * cj_dtype_size(desc->dtype) : 0;
    for (uint32_t i = 0; x && i < gpus->local; i++) from[i] = x[i] + bytes, to[i] = out[i] + bytes;
    TRY(describe(gpus, desc, piece, &params, error));
    TRY(cj__gpus_find(gpus, &params, &loaded, error));
    return cj_gpus_launch(gpus, loaded->kernel, gpus->local, x ? from : NULL, x ? to : NULL, stream, error);
}

cj_status cj__gpus_run_straight(cj_gpus *gpus, const cj_gpus_desc *desc, uint64_t at, uint64_t count, const cj_ptr *x, const cj_ptr *out,
                                const cj_stream *stream, cj_error *error) {
    const cj_gpus_piece piece = {.at = at, .count = count, .align = alignment_of(gpus, x, out), .direct = true};
    return run_piece(gpus, desc, &piece, x, out, stream, error);
}

// Whether all arrays are that peers read or write. An all-to-all in place has no room for what comes before it has sent.
static bool is_registered(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out) {
    const uint64_t bytes = desc->count * cj_dtype_size(desc->dtype), all = bytes * gpus->count;
    const bool     reads = desc->op <= CJ_GPUS_REDUCE_SCATTER || desc->op == CJ_GPUS_BROADCAST;
    if (!gpus->region_count || (desc->op == CJ_GPUS_ALL_TO_ALL && x[0] == out[0])) return false;
    if (reads && !cj__gpus_is_registered(gpus, x, desc->op == CJ_GPUS_REDUCE_SCATTER ? all : bytes)) return false;
    const bool gathers = desc->op == CJ_GPUS_ALL_GATHER || desc->op == CJ_GPUS_ALL_TO_ALL;
    return desc->op == CJ_GPUS_REDUCE_SCATTER || cj__gpus_is_registered(gpus, out, gathers ? all : bytes);
}

static cj_status run(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                     const cj_stream *stream, cj_error *error) {
    const bool    moves = desc->op != CJ_GPUS_BARRIER;
    cj_gpus_route route;
    const bool    registered = moves && is_registered(gpus, desc, x, out);
    TRY(cj__gpus_route(gpus, desc, registered || desc->memory == CJ_GPUS_MEMORY_REGISTERED, &route, NULL, 0, error));
    if (route.way == CJ_GPUS_BY_NCCL)
        return cj__gpus_by_nccl(gpus, desc, moves ? x[0] : 0, moves ? out[0] : 0, stream ? stream[0] : NULL, error);
    const uint32_t align = alignment_of(gpus, moves ? x : NULL, out);
    REFUSE_IF(route.way == CJ_GPUS_BY_MEMORY && desc->op == CJ_GPUS_ALL_TO_ALL && x[0] == out[0],
              "out: an all-to-all in registered memory cannot write to x" CJ_HINT "give an array of its own");
    for (uint64_t i = 0, at = 0; i < route.launches; i++, at += route.piece) {
        const uint64_t      left = desc->count - at;
        const cj_gpus_piece piece = {at, left < route.piece ? left : route.piece, align, route.shots, route.way == CJ_GPUS_BY_MEMORY};
        TRY(run_piece(gpus, desc, &piece, moves ? x : NULL, out, stream, error));
    }
    return CJ_OK;
}

// Of the first call with a description: which way it went.
static void tell(const cj_gpus *gpus, const cj_gpus_desc *desc, bool registered) {
    static const char *const ways[] = {"in one launch", "in pieces", "by NCCL", "straight into registered arrays"};
    cj_gpus_route            route;
    char                     why[256];
    if (cj__gpus_route(gpus, desc, registered, &route, why, sizeof why, NULL)) return;
    cj__log(CJ_LOG_INFO, "%s of %" PRIu64 " on rank %" PRIu32 " of %" PRIu32 " GPUs goes %s: %s", families[desc->op],
            desc->count, gpus->first, gpus->count, ways[route.way], why);
}

cj_status cj_gpus_run(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                      const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_desc, desc);
    const size_t known = gpus->loaded_count + gpus->agreed_count;
    TRY(check_arrays(gpus, desc, x, out, error));
    TRY(run(gpus, desc, x, out, stream, error));
    if (gpus->loaded_count + gpus->agreed_count != known) tell(gpus, desc, desc->op != CJ_GPUS_BARRIER && is_registered(gpus, desc, x, out));
    return CJ_OK;
}

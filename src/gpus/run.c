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
static const char *const memories[] = {[CJ_GPUS_MEMORY_MAIL] = "mail", [CJ_GPUS_MEMORY_REGISTERED] = "registered",
                                       [CJ_GPUS_MEMORY_MULTICAST] = "multicast"};
static const char *const alignments[] = {"16", "8", "4", "2", "1"};

// The alignment that all addresses have: the index of its word.
static uint32_t alignment_of(const cj_gpus *gpus, const cj_ptr *x, const cj_ptr *out) {
    uint32_t index = 0;
    cj_ptr   all = 0;
    for (uint32_t r = 0; x && r < gpus->local; r++) all |= x[r] | out[r];
    while (index < 4 && all % (16u >> index)) index++;
    return index;
}

// What one launch moves of what desc says: `count` elements.
typedef struct cj_gpus_piece {
    uint64_t       count;
    uint32_t       align, shots;
    cj_gpus_memory memory;  // ANY: the family's default
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
    if (piece->memory) TRY(cj__call_word(params, "memory", WORDS(memories), (unsigned)piece->memory, error));
    if (combines) TRY(cj__call_word(params, "combine", WORDS(combinations), desc->combine, error));
    if (piece->shots) TRY(cj__call_number(params, "shots", piece->shots, error));
    if (has_parts && is_piece) TRY(cj__call_number(params, "stride", desc->count, error));
    if (desc->root) TRY(cj__call_number(params, "root", desc->root, error));
    if (desc->block) TRY(cj__call_number(params, "block", desc->block, error));
    if (desc->grid) TRY(cj__call_number(params, "grid", desc->grid, error));
    return CJ_OK;
}

cj_status cj__gpus_load(cj_gpus *gpus, const cj_params *key, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    void *list = gpus->loaded;
    TRY(cj__gpus_grow(&list, gpus->loaded_count, &gpus->loaded_room, sizeof *gpus->loaded, error));
    gpus->loaded = list;
    cj_gpus_loaded *made = &gpus->loaded[gpus->loaded_count];
    memset(made, 0, sizeof *made);
    made->params = *key;
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

cj_gpus_loaded *cj__gpus_known(const cj_gpus *gpus, const cj_params *params) {
    for (size_t i = 0; i < gpus->loaded_count; i++)
        if (is_same(&gpus->loaded[i].params, params)) return &gpus->loaded[i];
    return NULL;
}

cj_status cj__gpus_find(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error) {
    *found = cj__gpus_known(gpus, params);
    return *found ? CJ_OK : cj__gpus_load(gpus, params, params, found, error);
}

static cj_status find_piece(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_piece *piece, cj_kernel **kernel, cj_error *error) {
    cj_gpus_loaded *loaded = NULL;
    cj_params       params;
    TRY(describe(gpus, desc, piece, &params, error));
    TRY(cj__gpus_find(gpus, &params, &loaded, error));
    memcpy(kernel, loaded->kernel, sizeof loaded->kernel);  // the list may move
    return CJ_OK;
}

static cj_status launch_piece(cj_gpus *gpus, const cj_gpus_desc *desc, uint64_t at, cj_kernel *const *kernel, const cj_ptr *x,
                              const cj_ptr *out, const cj_stream *stream, cj_error *error) {
    cj_ptr         from[CJ_GPUS_MAX], to[CJ_GPUS_MAX];
    const uint64_t bytes = x ? at * cj_dtype_size(desc->dtype) : 0;
    for (uint32_t i = 0; x && i < gpus->local; i++) from[i] = x[i] + bytes, to[i] = out[i] + bytes;
    return cj_gpus_launch(gpus, kernel, gpus->local, x ? from : NULL, x ? to : NULL, stream, error);
}

cj_status cj__gpus_run_straight(cj_gpus *gpus, const cj_gpus_desc *desc, uint64_t at, uint64_t count, const cj_ptr *x, const cj_ptr *out,
                                const cj_stream *stream, cj_error *error) {
    const cj_gpus_piece piece = {.count = count, .align = alignment_of(gpus, x, out), .memory = CJ_GPUS_MEMORY_REGISTERED};
    cj_kernel          *kernel[CJ_GPUS_MAX];
    TRY(find_piece(gpus, desc, &piece, kernel, error));
    return launch_piece(gpus, desc, at, kernel, x, out, stream, error);
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

// The last launch may have fewer elements, and a kernel of its own.
static cj_gpus_piece piece_of(const cj_gpus_collective *call, bool is_last, uint32_t align) {
    const cj_gpus_route *route = &call->route;
    return (cj_gpus_piece){.count = is_last ? call->desc.count - (route->launches - 1) * route->piece : route->piece,
                           .align = align, .shots = route->shots,
                           .memory = route->way == CJ_GPUS_BY_MULTICAST ? CJ_GPUS_MEMORY_MULTICAST
                                     : route->way == CJ_GPUS_BY_MEMORY  ? CJ_GPUS_MEMORY_REGISTERED
                                                                        : CJ_GPUS_MEMORY_ANY};
}

cj_status cj__gpus_plan_check(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_route *route, cj_error *error) {
    const cj_gpus_collective call = {.desc = *desc, .route = *route};
    const cj_gpus_piece      piece = piece_of(&call, false, 0);
    cj_params                params;
    cj_plan                  plan;
    TRY(describe(gpus, desc, &piece, &params, error));
    return cj_plan_make(&params, cj_device_limits(gpus->device[0]), NULL, &plan, error);
}

cj_status cj__gpus_prepare(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_gpus_collective *call,
                           cj_error *error) {
    const bool moves = desc->op != CJ_GPUS_BARRIER;
    REFUSE_IF(moves && (!x || !out), "%s is NULL" CJ_HINT "give one pointer for each of the %" PRIu32 " GPUs of this process", x ? "out" : "x",
              gpus->local);
    TRY(cj__gpus_check_desc(gpus, desc, error));
    if (moves) TRY(cj__gpus_check_arrays(gpus, desc, x, out, error));
    const uint32_t align = alignment_of(gpus, moves ? x : NULL, out);
    call->known = gpus->loaded_count + gpus->agreed_count;
    call->registered = moves && is_registered(gpus, desc, x, out);
    call->given = desc;
    call->desc = cj__gpus_as_words(desc, 16u >> align);
    TRY(cj__gpus_route(gpus, &call->desc, call->registered || desc->memory == CJ_GPUS_MEMORY_REGISTERED, &call->route, NULL, 0, error));
    TRY(cj__gpus_check_failed(gpus, error));
    if (call->route.way == CJ_GPUS_BY_NCCL) return CJ_OK;
    REFUSE_IF(call->route.way == CJ_GPUS_BY_MEMORY && desc->op == CJ_GPUS_ALL_TO_ALL && x[0] == out[0],
              "out: an all-to-all in registered memory cannot write to x" CJ_HINT "give an array of its own");
    const cj_gpus_piece first = piece_of(call, false, align), last = piece_of(call, true, align);
    TRY(find_piece(gpus, &call->desc, &first, call->kernel[0], error));
    return call->route.launches > 1 ? find_piece(gpus, &call->desc, &last, call->kernel[1], error) : CJ_OK;
}

// Of the first call with a description: which way it went.
static void tell(const cj_gpus *gpus, const cj_gpus_collective *call) {
    static const char *const ways[] = {"in one launch", "in pieces", "by NCCL", "straight into registered arrays", "over multicast"};
    cj_gpus_route            route;
    char                     why[256];
    if (cj__gpus_route(gpus, &call->desc, call->registered, &route, why, sizeof why, NULL)) return;
    cj__log(CJ_LOG_INFO, "%s of %" PRIu64 " on rank %" PRIu32 " of %" PRIu32 " GPUs goes %s: %s", families[call->desc.op],
            call->given->count, gpus->first, gpus->count, ways[route.way], why);
}

cj_status cj__gpus_go(cj_gpus *gpus, const cj_gpus_collective *call, const cj_ptr *x, const cj_ptr *out, const cj_stream *stream, cj_error *error) {
    const bool           moves = call->desc.op != CJ_GPUS_BARRIER;
    const cj_gpus_route *route = &call->route;
    if (route->way == CJ_GPUS_BY_NCCL)
        TRY(cj__gpus_by_nccl(gpus, call->given, moves ? x[0] : 0, moves ? out[0] : 0, stream ? stream[0] : NULL, error));
    for (uint64_t i = 0; i < route->launches && route->way != CJ_GPUS_BY_NCCL; i++)
        TRY(launch_piece(gpus, &call->desc, i * route->piece, call->kernel[i && i + 1 == route->launches], moves ? x : NULL, out, stream, error));
    if (gpus->loaded_count + gpus->agreed_count != call->known) tell(gpus, call);
    return CJ_OK;
}

cj_status cj_gpus_run(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                      const cj_stream *stream, cj_error *error) {
    cj_gpus_collective call;
    REQUIRE(gpus);
    SIZED(cj_gpus_desc, desc);
    TRY(cj__gpus_prepare(gpus, desc, x, out, &call, error));
    return cj__gpus_go(gpus, &call, x, out, stream, error);
}

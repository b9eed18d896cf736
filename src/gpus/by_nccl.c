// SPDX-License-Identifier: Apache-2.0
// Collectives by NCCL's calls, on the caller's stream. NCCL does not compare what ranks ask for: the first call with a description
// does, so that ranks with other sizes end with an error, and do not wait for each other.
#include <inttypes.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "gpus_state.h"

static const char *const names[] = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "barrier"};

// ncclDataType_t and ncclRedOp_t, which never change.
static const int types[] = {[CJ_F32] = 7, [CJ_I32] = CJ_NCCL_I32, [CJ_U32] = 3, [CJ_F16] = 6, [CJ_BF16] = 9};

// Of what is only moved the type is one of bytes where NCCL, or this table, has none.
static bool     is_known(cj_dtype type) { return (size_t)type < sizeof types / sizeof *types && types[type]; }
static int      type_of(const cj_gpus_desc *desc) { return is_known(desc->dtype) ? types[desc->dtype] : CJ_NCCL_U8; }
static uint64_t count_of(const cj_gpus_desc *desc) { return is_known(desc->dtype) ? desc->count : desc->count * cj_dtype_size(desc->dtype); }
static const int operations[] = {[CJ_COMBINE_SUM] = CJ_NCCL_SUM, [CJ_COMBINE_MIN] = 3, [CJ_COMBINE_MAX] = 2};

// ---- the descriptions of the ranks

static cj_gpus_agreed key_of(const cj_gpus_desc *desc) {
    const bool moves = desc->op != CJ_GPUS_BARRIER, combines = desc->op <= CJ_GPUS_REDUCE_SCATTER;
    return (cj_gpus_agreed){{(uint64_t)desc->op, moves ? (uint64_t)desc->dtype : 0, moves ? desc->count : 0,
                             combines ? (uint64_t)desc->combine : 0, desc->op == CJ_GPUS_BROADCAST ? desc->root : 0}};
}

static cj_status compare(const cj_gpus_agreed *first, const cj_gpus_agreed *one, uint32_t rank, cj_error *error) {
    if (!memcmp(first, one, sizeof *one)) return CJ_OK;
    const uint64_t *a = first->what, *b = one->what;
    const bool      is_known = a[0] <= CJ_GPUS_BARRIER && b[0] <= CJ_GPUS_BARRIER;
    return cj__fail(error, CJ_INVALID_ARGUMENT,
                    "rank %" PRIu32 " came with another description than rank 0: %s of %" PRIu64 " (dtype %" PRIu64
                    ", combine %" PRIu64 ", root %" PRIu64 "), rank 0 with %s of %" PRIu64 " (dtype %" PRIu64
                    ", combine %" PRIu64 ", root %" PRIu64 ")" CJ_HINT
                    "give all ranks the same operation, type, count and options",
                    rank, is_known ? names[b[0]] : "?", b[2], b[1], b[3], b[4], is_known ? names[a[0]] : "?", a[2],
                    a[1], a[3], a[4]);
}

static cj_status agree(cj_gpus *gpus, const cj_gpus_desc *desc, cj_error *error) {
    const cj_gpus_agreed mine = key_of(desc);
    for (size_t i = 0; i < gpus->agreed_count; i++)
        if (!memcmp(&gpus->agreed[i], &mine, sizeof mine)) return CJ_OK;
    void *list = gpus->agreed;
    TRY(cj__gpus_grow(&list, gpus->agreed_count, &gpus->agreed_room, sizeof mine, error));
    gpus->agreed = list;
    cj_gpus_agreed *all = cj__calloc(gpus->count, sizeof *all);
    if (!all)
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to compare the descriptions of %" PRIu32 " ranks",
                        gpus->count);
    cj_status status = cj__nccl_all_gather(&gpus->nccl, &mine, all, sizeof mine, error);
    for (uint32_t q = 0; q < gpus->count && !status; q++) status = compare(&all[0], &all[q], q, error);
    cj__free(all);
    if (!status) gpus->agreed[gpus->agreed_count++] = mine;
    gpus->failed = gpus->failed || status;
    return status;
}

// ---- the calls

static void *at(cj_ptr address, uint64_t bytes) { return (void *)(uintptr_t)(address + bytes); }

// Sends and receives of a group go at once, so none waits for another one.
static cj_status all_to_all(cj_nccl_ranks *n, const cj_gpus_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                            cj_error *error) {
    const uint64_t part = desc->count * cj_dtype_size(desc->dtype);
    const uint64_t count = count_of(desc);
    const int      type = type_of(desc);
    cj_status      status = CJ_OK;
    REFUSE_IF(x == out, "out: an all-to-all by NCCL cannot write to x" CJ_HINT "give an array of its own");
    TRY(CJ_NCCL(n, error, GroupStart, ()));
    for (uint32_t q = 0; q < n->size && !status; q++) {
        status = CJ_NCCL(n, error, Send, (at(x, q * part), count, type, (int)q, n->comm, stream));
        if (!status) status = CJ_NCCL(n, error, Recv, (at(out, q * part), count, type, (int)q, n->comm, stream));
    }
    const cj_status ended = CJ_NCCL(n, status ? NULL : error, GroupEnd,
                                    ());  // also after a failure: else the group stays open
    return status ? status : ended;
}

// One word of the exchanges' memory, of each rank.
static cj_status barrier(cj_nccl_ranks *n, cj_stream stream, cj_error *error) {
    void *word = at(n->scratch, 0);
    return CJ_NCCL(n, error, AllReduce, (word, word, 1, CJ_NCCL_I32, CJ_NCCL_SUM, n->comm, stream));
}

cj_status cj__gpus_by_nccl(cj_gpus *gpus, const cj_gpus_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error) {
    cj_nccl_ranks *n = &gpus->nccl;
    TRY(agree(gpus, desc, error));
    const void  *from = at(x, 0);
    void        *to = at(out, 0);
    const size_t count = desc->op == CJ_GPUS_BARRIER ? 0 : count_of(desc);
    const int    type = desc->op == CJ_GPUS_BARRIER ? 0 : type_of(desc);
    const int    operation = desc->op <= CJ_GPUS_REDUCE_SCATTER ? operations[desc->combine] : 0;
    switch (desc->op) {
    case CJ_GPUS_ALLREDUCE: return CJ_NCCL(n, error, AllReduce, (from, to, count, type, operation, n->comm, stream));
    case CJ_GPUS_REDUCE_SCATTER:
        return CJ_NCCL(n, error, ReduceScatter, (from, to, count, type, operation, n->comm, stream));
    case CJ_GPUS_ALL_GATHER: return CJ_NCCL(n, error, AllGather, (from, to, count, type, n->comm, stream));
    case CJ_GPUS_ALL_TO_ALL: return all_to_all(n, desc, x, out, stream, error);
    case CJ_GPUS_BROADCAST:
        return CJ_NCCL(n, error, Broadcast, (from, to, count, type, (int)desc->root, n->comm, stream));
    case CJ_GPUS_BARRIER: break;
    }
    return barrier(n, stream, error);
}

cj_status cj__gpus_check_nccl(const cj_gpus *gpus, cj_error *error) {
    const cj_nccl_ranks *n = &gpus->nccl;
    int                  state = 0;
    TRY(CJ_NCCL(n, error, CommGetAsyncError, (n->comm, &state)));
    return cj__nccl_status(&n->library, n->comm, state, "a call of this communicator", error);
}

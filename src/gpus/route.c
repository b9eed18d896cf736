// SPDX-License-Identifier: Apache-2.0
// Which way a collective goes: straight into registered arrays where that is predicted faster; else one launch through the mail where
// that has room for it, and NCCL is not predicted faster; else NCCL, or several launches.
#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "gpus_state.h"

enum { MAIL_PER_BYTE = 2, UNIT = 16 };  // a word of a message has its epoch beside it; bytes of a message

// Bytes that a launch moves, of a part where there are parts: in one shot the mail has them from each rank, in two shots each rank
// has a part of them, twice.
static uint64_t room(const cj_gpus *gpus, bool two_shots) {
    const uint64_t slots = gpus->mail_bytes / ((uint64_t)gpus->count * MAIL_PER_BYTE * UNIT);
    return two_shots ? slots / 2 * gpus->count * UNIT : slots * UNIT;
}

// ---- descriptions

// Kernels that only move have any type; those that combine have five.
static cj_status check_type(const cj_gpus_desc *desc, cj_error *error) {
    const bool combines = desc->op <= CJ_GPUS_REDUCE_SCATTER, is_known = desc->dtype == CJ_F32 || desc->dtype == CJ_F16 ||
                          desc->dtype == CJ_BF16 || desc->dtype == CJ_I32 || desc->dtype == CJ_U32;
    const char    *name = cj_dtype_name(desc->dtype);
    const uint64_t most = name && cj_dtype_size(desc->dtype) > 4 ? 1 << 27 : 1 << 28;
    REFUSE_IF(!name, "dtype: %d is not a cj_dtype", (int)desc->dtype);
    REFUSE_IF(combines && !is_known, "dtype: %s is none of f32, f16, bf16, i32, u32, which GPUs combine" CJ_HINT
              "all-gather, all-to-all and broadcast have every type", name);
    REFUSE_IF(!desc->count, "count: 0 is below 1: there is nothing to move");
    REFUSE_IF(desc->count > most, "count: %" PRIu64 " is above 2^%d" CJ_HINT "do it in several calls", desc->count, most >> 28 ? 28 : 27);
    return CJ_OK;
}

cj_status cj__gpus_check_desc(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_error *error) {
    REFUSE_IF((uint32_t)desc->op > CJ_GPUS_BARRIER, "op: %d is none of cj_gpus_op", (int)desc->op);
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    TRY(check_type(desc, error));
    REFUSE_IF((uint32_t)desc->memory > CJ_GPUS_MEMORY_MULTICAST, "memory: %d is none of cj_gpus_memory", (int)desc->memory);
    REFUSE_IF(desc->memory == CJ_GPUS_MEMORY_MULTICAST && desc->op > CJ_GPUS_REDUCE_SCATTER,
              "memory: multicast is for all-reduce and reduce-scatter" CJ_HINT "choose another one");
    REFUSE_IF(desc->memory == CJ_GPUS_MEMORY_MULTICAST && !gpus->multicast, "memory: these GPUs have no multicast addresses" CJ_HINT
              "make the cj_gpus with the option multicast, on CPU devices");
    REFUSE_IF((uint32_t)desc->combine > CJ_COMBINE_MAX, "combine: %d is none of sum, min, max", (int)desc->combine);
    REFUSE_IF(desc->root >= gpus->count,
              "root: %" PRIu32 " is no rank of %" PRIu32 " GPUs" CJ_HINT "ranks begin at 0: choose one below gpus",
              desc->root, gpus->count);
    REFUSE_IF(desc->op == CJ_GPUS_ALLREDUCE && desc->shots == 1 && desc->memory >= CJ_GPUS_MEMORY_REGISTERED,
              "shots: 1 goes through mail alone, and memory is %s" CJ_HINT "there each GPU combines its part: leave shots out",
              desc->memory == CJ_GPUS_MEMORY_MULTICAST ? "multicast" : "registered");
    return CJ_OK;
}

cj_gpus_desc cj__gpus_as_words(const cj_gpus_desc *desc, uint32_t align) {
    cj_gpus_desc as = *desc;
    if (desc->op <= CJ_GPUS_REDUCE_SCATTER || desc->op == CJ_GPUS_BARRIER) return as;
    const size_t size = cj_dtype_size(desc->dtype);
    if (desc->dtype == CJ_F32 || desc->dtype == CJ_F16 || desc->dtype == CJ_BF16 || desc->dtype == CJ_I32) return as;
    const uint64_t bytes = desc->count * size, all = bytes | align, word = all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
    as.dtype = word == 4 ? CJ_U32 : word == 2 ? CJ_U16 : CJ_U8;
    as.count = bytes / word;
    return as;
}

// ---- what each way is predicted to take

typedef struct prediction {
    double mail, arrays, nccl;  // ns
} prediction;

static cj_gpus_traffic traffic_of(cj_gpus_op op) {
    return op == CJ_GPUS_ALLREDUCE ? CJ_TRAFFIC_ALLREDUCE : op == CJ_GPUS_BROADCAST ? CJ_TRAFFIC_BROADCAST : CJ_TRAFFIC_PART_EACH;
}

static prediction predict(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_route *route, uint64_t element) {
    const cj_gpus_traffic traffic = traffic_of(desc->op);
    const double          bytes = (double)(desc->count * element), piece = (double)(route->piece * element);
    cj_gpus_by            by = CJ_BY_ONE_SHOT;
    if (desc->op == CJ_GPUS_ALLREDUCE && route->shots != 1) by = cj__gpus_by_mail(gpus->count, piece);
    if (route->shots == 2 && by == CJ_BY_ONE_SHOT) by = CJ_BY_TWO_SHOTS;
    return (prediction){
        .mail = (double)route->launches * cj__gpus_predict(by, traffic, gpus->count, piece),
        .arrays = cj__gpus_predict(CJ_BY_ARRAYS, traffic, gpus->count, bytes),
        .nccl = cj__gpus_predict(CJ_BY_NCCL_CALL, traffic, gpus->count, bytes)};
}

static void explain(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_route *route, const prediction *takes, uint64_t most,
                    char *why, size_t size) {
    const uint64_t bytes = desc->count * cj_dtype_size(desc->dtype);
    const bool     fits = bytes <= most, has_nccl = gpus->nccl.library.version;
    if (!gpus->mail)
        snprintf(why, size, "%s", gpus->unreached);
    else if (route->way == CJ_GPUS_BY_MEMORY)
        snprintf(why, size, "the arrays are registered: predicted %.1f us, through mail %.1f", takes->arrays / 1e3, takes->mail / 1e3);
    else if (route->way == CJ_GPUS_BY_NCCL && fits)
        snprintf(why, size, "NCCL is predicted to take %.1f us, mail %.1f", takes->nccl / 1e3, takes->mail / 1e3);
    else if (route->way == CJ_GPUS_BY_MAIL)
        snprintf(why, size, "the mail has room for it: all ranks reach each other");
    else
        snprintf(why, size, "%" PRIu64 " bytes are more than a launch's %" PRIu64 " of %" PRIu64 " bytes of mail%s",
                 bytes, most, gpus->mail_bytes,
                 route->way == CJ_GPUS_BY_NCCL ? ""
                 : has_nccl                    ? ", and NCCL has an order of its own"
                                               : ", and there is no NCCL");
}

static bool takes_nccl(const cj_gpus *gpus, const cj_gpus_desc *desc, bool fits, const prediction *takes) {
    if (!gpus->mail) return true;
    return gpus->nccl.library.version && !desc->ordered && (!fits || takes->nccl < takes->mail);
}

static bool takes_arrays(const cj_gpus *gpus, const cj_gpus_desc *desc, bool registered, const prediction *takes) {
    if (!gpus->mail || desc->op == CJ_GPUS_BARRIER || desc->memory == CJ_GPUS_MEMORY_MAIL) return false;
    if (desc->op == CJ_GPUS_ALLREDUCE && desc->shots == 1) return false;
    if (desc->memory == CJ_GPUS_MEMORY_REGISTERED || !registered) return registered;
    const bool by_nccl = gpus->nccl.library.version && !desc->ordered && takes->nccl < takes->arrays;
    return takes->arrays < takes->mail && !by_nccl;
}

// ---- the way

// Through mail, in as many launches as its room asks for.
static void divide(const cj_gpus *gpus, const cj_gpus_desc *desc, uint64_t most, uint64_t element, cj_gpus_route *route) {
    const uint64_t bytes = desc->count * element;
    *route = (cj_gpus_route){.way = CJ_GPUS_BY_MAIL, .piece = desc->count, .launches = 1, .shots = desc->shots};
    if (desc->op == CJ_GPUS_ALLREDUCE && !desc->shots && bytes > room(gpus, false)) route->shots = 2;
    if (bytes <= most || most < element) return;
    route->way = CJ_GPUS_IN_PIECES;
    route->piece = most / element;
    route->launches = (desc->count + route->piece - 1) / route->piece;
}

cj_status cj__gpus_route(const cj_gpus *gpus, const cj_gpus_desc *desc, bool registered, cj_gpus_route *route, char *why, size_t size,
                         cj_error *error) {
    const bool     moves = desc->op != CJ_GPUS_BARRIER;
    const uint64_t element = moves ? cj_dtype_size(desc->dtype) : 1, count = moves ? desc->count : 0;
    const uint64_t most = room(gpus, desc->op == CJ_GPUS_ALLREDUCE && desc->shots != 1);
    cj_gpus_desc   given = *desc;
    given.count = count;
    FAIL_IF(!gpus->mail && desc->ordered, CJ_UNSUPPORTED,
            "%s, and ordered is set" CJ_HINT "NCCL has an order of its own", gpus->unreached);
    FAIL_IF(!gpus->mail && desc->memory == CJ_GPUS_MEMORY_REGISTERED, CJ_UNSUPPORTED,
            "%s, and memory is registered" CJ_HINT "leave it out: it goes by NCCL", gpus->unreached);
    if (moves && desc->memory == CJ_GPUS_MEMORY_MULTICAST) {
        *route = (cj_gpus_route){.way = CJ_GPUS_BY_MULTICAST, .piece = count, .launches = 1};
        if (why) snprintf(why, size, "it is asked for");
        return CJ_OK;
    }
    divide(gpus, &given, most, element, route);
    const prediction takes = predict(gpus, &given, route, element);
    const bool       fits = count * element <= most, direct = takes_arrays(gpus, desc, registered, &takes);
    REFUSE_IF(!fits && !most && !gpus->nccl.library.version && !direct,
              "mail_bytes: %" PRIu64 " have no room for messages of %" PRIu32 " ranks" CJ_HINT "make it larger",
              gpus->mail_bytes, gpus->count);
    if (direct || takes_nccl(gpus, desc, fits, &takes))
        *route = (cj_gpus_route){.way = direct ? CJ_GPUS_BY_MEMORY : CJ_GPUS_BY_NCCL, .piece = desc->count, .launches = 1};
    if (why) explain(gpus, &given, route, &takes, most, why, size);
    return CJ_OK;
}

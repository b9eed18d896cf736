// SPDX-License-Identifier: Apache-2.0
// Which way a collective goes: straight into registered arrays where that is predicted faster; else one launch through the mail where
// that has room for it, and NCCL is not predicted faster; else NCCL, or several launches.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "gpus_state.h"
#include "sized.h"

enum { MAIL_PER_BYTE = 2, UNIT = 16 };  // a word of a message has its epoch beside it; bytes of a message

// Bytes that a launch moves, of a part where there are parts: in one shot the mail has them from each rank, in two shots each rank
// has a part of them, twice.
static uint64_t room(const cj_gpus *gpus, bool two_shots) {
    const uint64_t slots = gpus->mail_bytes / ((uint64_t)gpus->count * MAIL_PER_BYTE * UNIT);
    return two_shots ? slots / 2 * gpus->count * UNIT : slots * UNIT;
}

static cj_status check(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_error *error) {
    const bool is_known = desc->dtype == CJ_F32 || desc->dtype == CJ_F16 || desc->dtype == CJ_BF16 ||
                          desc->dtype == CJ_I32 || desc->dtype == CJ_U32;
    const char *name = cj_dtype_name(desc->dtype);
    REFUSE_IF((uint32_t)desc->op > CJ_GPUS_BARRIER, "op: %d is none of cj_gpus_op", (int)desc->op);
    if (desc->op == CJ_GPUS_BARRIER) return CJ_OK;
    REFUSE_IF(!is_known, "dtype: %s is none of f32, f16, bf16, i32, u32", name ? name : "a number outside cj_dtype");
    REFUSE_IF(!desc->count, "count: 0 is below 1: there is nothing to move");
    REFUSE_IF(desc->count > 1 << 28, "count: %" PRIu64 " is above 2^28" CJ_HINT "do it in several calls", desc->count);
    REFUSE_IF((uint32_t)desc->memory > CJ_GPUS_MEMORY_REGISTERED, "memory: %d is none of cj_gpus_memory", (int)desc->memory);
    REFUSE_IF((uint32_t)desc->combine > CJ_COMBINE_MAX, "combine: %d is none of sum, min, max", (int)desc->combine);
    REFUSE_IF(desc->root >= gpus->count,
              "root: %" PRIu32 " is no rank of %" PRIu32 " GPUs" CJ_HINT "ranks begin at 0: choose one below gpus",
              desc->root, gpus->count);
    return CJ_OK;
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
    if (!gpus->mail || desc->op == CJ_GPUS_BARRIER || desc->memory == CJ_GPUS_MEMORY_MAIL || desc->shots == 1) return false;
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
    TRY(check(gpus, desc, error));
    const bool     moves = desc->op != CJ_GPUS_BARRIER;
    const uint64_t element = moves ? cj_dtype_size(desc->dtype) : 1, count = moves ? desc->count : 0;
    const uint64_t most = room(gpus, desc->op == CJ_GPUS_ALLREDUCE && desc->shots != 1);
    cj_gpus_desc   given = *desc;
    given.count = count;
    FAIL_IF(!gpus->mail && desc->ordered, CJ_UNSUPPORTED,
            "%s, and ordered is set" CJ_HINT "NCCL has an order of its own", gpus->unreached);
    FAIL_IF(!gpus->mail && desc->memory == CJ_GPUS_MEMORY_REGISTERED, CJ_UNSUPPORTED,
            "%s, and memory is registered" CJ_HINT "leave it out: it goes by NCCL", gpus->unreached);
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

cj_status cj_gpus_about(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_gpus_info *info, cj_error *error) {
    cj_gpus_info found = {CJ_INIT(found)};
    REQUIRE(gpus);
    SIZED_OR_NULL(cj_gpus_desc, desc);
    TRY(cj__sized_check(info, "cj_gpus_info", error));
    found.rank = gpus->first;
    found.count = gpus->count;
    found.local = gpus->local;
    found.nccl = (uint32_t)gpus->nccl.library.version;
    found.mail_bytes = gpus->mail_bytes;
    memcpy(found.reach, gpus->reach, sizeof found.reach);
    memcpy(found.unreached, gpus->unreached, sizeof found.unreached);
    if (desc) {
        cj_gpus_route route;
        TRY(cj__gpus_route(gpus, desc, desc->memory == CJ_GPUS_MEMORY_REGISTERED, &route, found.why, sizeof found.why, error));
        found.way = route.way;
        found.launches = route.launches;
    }
    cj__sized_write(info, &found, sizeof found);
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Which way a collective goes: one launch through the mail where that has room for it, else NCCL, or several launches.
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
    REFUSE_IF((uint32_t)desc->combine > CJ_COMBINE_MAX, "combine: %d is none of sum, min, max", (int)desc->combine);
    REFUSE_IF(desc->root >= gpus->count,
              "root: %" PRIu32 " is no rank of %" PRIu32 " GPUs" CJ_HINT "ranks begin at 0: choose one below gpus",
              desc->root, gpus->count);
    return CJ_OK;
}

static void explain(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_route *route, uint64_t most, char *why,
                    size_t size) {
    const uint64_t bytes = desc->count * cj_dtype_size(desc->dtype);
    if (!gpus->mail)
        snprintf(why, size, "%s", gpus->unreached);
    else if (route->way == CJ_GPUS_BY_MAIL)
        snprintf(why, size, "the mail has room for it: all ranks reach each other");
    else
        snprintf(why, size, "%" PRIu64 " bytes are more than a launch's %" PRIu64 " of %" PRIu64 " bytes of mail%s",
                 bytes, most, gpus->mail_bytes,
                 route->way == CJ_GPUS_BY_NCCL ? ""
                 : gpus->nccl.library.version  ? ", and NCCL has an order of its own"
                                               : ", and there is no NCCL");
}

cj_status cj__gpus_route(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_gpus_route *route, char *why, size_t size,
                         cj_error *error) {
    TRY(check(gpus, desc, error));
    const bool     moves = desc->op != CJ_GPUS_BARRIER;
    const uint64_t element = moves ? cj_dtype_size(desc->dtype) : 1, bytes = moves ? desc->count * element : 0;
    const uint64_t most = room(gpus, desc->op == CJ_GPUS_ALLREDUCE && desc->shots != 1);
    const bool     fits = bytes <= most, has_nccl = gpus->nccl.library.version;
    FAIL_IF(!gpus->mail && desc->ordered, CJ_UNSUPPORTED,
            "%s, and ordered is set" CJ_HINT "NCCL has an order of its own", gpus->unreached);
    REFUSE_IF(!fits && !most && !has_nccl,
              "mail_bytes: %" PRIu64 " have no room for messages of %" PRIu32 " ranks" CJ_HINT "make it larger",
              gpus->mail_bytes, gpus->count);
    route->way = !gpus->mail || (!fits && has_nccl && !desc->ordered) ? CJ_GPUS_BY_NCCL
                 : fits                                               ? CJ_GPUS_BY_MAIL
                                                                      : CJ_GPUS_IN_PIECES;
    route->piece = route->way == CJ_GPUS_IN_PIECES ? most / element : desc->count;
    route->launches = route->way == CJ_GPUS_IN_PIECES ? (desc->count + route->piece - 1) / route->piece : 1;
    route->shots = desc->op == CJ_GPUS_ALLREDUCE && !desc->shots && bytes > room(gpus, false) ? 2 : desc->shots;
    if (why) explain(gpus, desc, route, most, why, size);
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
        TRY(cj__gpus_route(gpus, desc, &route, found.why, sizeof found.why, error));
        found.way = route.way;
        found.launches = route.launches;
    }
    cj__sized_write(info, &found, sizeof found);
    return CJ_OK;
}

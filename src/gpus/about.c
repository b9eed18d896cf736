// SPDX-License-Identifier: Apache-2.0
// What a cj_gpus is, and which way a collective goes.
#include <string.h>

#include "error.h"
#include "gpus_state.h"
#include "sized.h"

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
        TRY(cj__gpus_check_desc(gpus, desc, error));
        const cj_gpus_desc as = cj__gpus_as_words(desc, 16);
        TRY(cj__gpus_route(gpus, &as, desc->memory == CJ_GPUS_MEMORY_REGISTERED, &route, found.why, sizeof found.why, error));
        if (route.way != CJ_GPUS_BY_NCCL) TRY(cj__gpus_plan_check(gpus, &as, &route, error));
        found.way = route.way;
        found.launches = route.launches;
    }
    cj__sized_write(info, &found, sizeof found);
    return CJ_OK;
}

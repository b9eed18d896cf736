// SPDX-License-Identifier: Apache-2.0
// The rows of a fused call in as many launches as its mail asks for. Rows are independent, so a piece of them is a call of its own; the
// pieces are as large as each other, but for the last one.
//
// Pieces give the bits of one launch: within a row the order of a sum depends on the threads of a block and the blocks of a cluster, which the
// plan chooses for the number of rows. So pieces have those that the plan of all rows has, if mail were no limit.
#include "fused.h"

static cj_status plan_rows(const cj_gpus *gpus, const cj_params *params, uint64_t rows, cj_plan *plan, cj_error *error) {
    cj_params some = *params;
    TRY(cj__call_number(&some, "rows", rows, error));
    return cj_plan_make(&some, cj_device_limits(gpus->device[0]), NULL, plan, error);
}

// Rows of a launch, of `all` of which one plan has no room. INVALID_ARGUMENT if a row alone has none.
static cj_status rows_of_piece(const cj_gpus *gpus, const cj_params *params, uint64_t all, uint64_t *rows, cj_error *error) {
    cj_plan  plan;
    uint64_t least = 1, launches = 1;  // too few; enough
    TRY(plan_rows(gpus, params, 1, &plan, error));
    while (launches < all && plan_rows(gpus, params, (all + launches - 1) / launches, &plan, NULL)) least = launches, launches *= 2;
    while (least + 1 < launches) {
        const uint64_t middle = (least + launches) / 2;
        if (plan_rows(gpus, params, (all + middle - 1) / middle, &plan, NULL))
            least = middle;
        else
            launches = middle;
    }
    *rows = (all + launches - 1) / launches;
    return CJ_OK;
}

// The block and the cluster of a launch of all rows, of which the largest mail may still have no room.
static cj_status keep_order(const cj_gpus *gpus, cj_params *params, uint64_t all, cj_error *error) {
    enum { MAIL_MOST = 1 << 30 };
    static const char *const kept[] = {"block", "cluster"};
    cj_params                roomy = *params;
    cj_plan                  plan;
    uint64_t                 rows = all;
    TRY(cj__call_number(&roomy, "mail", MAIL_MOST, error));
    if (plan_rows(gpus, &roomy, all, &plan, NULL)) TRY(rows_of_piece(gpus, &roomy, all, &rows, error));
    TRY(plan_rows(gpus, &roomy, rows, &plan, error));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const uint64_t value = cj_params_get(&plan.params, kept[i]);
        if (value != UINT64_MAX) TRY(cj__call_number(params, kept[i], value, error));
    }
    return CJ_OK;
}

cj_status cj__gpus_divide_rows(const cj_gpus *gpus, const cj_params *params, cj_params *piece, cj_error *error) {
    const uint64_t all = cj_params_get(params, "rows");
    cj_plan        plan;
    uint64_t       rows = all;
    *piece = *params;
    if (!plan_rows(gpus, params, all, &plan, NULL)) return CJ_OK;
    TRY(plan_rows(gpus, params, 1, &plan, error));  // else it is not for the mail that there is no plan
    TRY(keep_order(gpus, piece, all, error));
    TRY(rows_of_piece(gpus, piece, all, &rows, error));
    return cj__call_number(piece, "rows", rows, error);
}

cj_status cj_gpus_divide(const cj_gpus *gpus, const cj_params *params, cj_params *piece, cj_error *error) {
    cj_params given;
    REQUIRE(gpus);
    REQUIRE(params);
    REQUIRE(piece);
    REFUSE_IF(cj_params_get(params, "gpus") == UINT64_MAX || cj_params_get(params, "rows") == UINT64_MAX,
              "the family %s has no rows of several GPUs" CJ_HINT "give parameters of allreducenorm, shardedcrossentropy, shardedsoftmax or shardedtopk",
              cj_family_name(params->family));
    given = *params;
    TRY(cj__call_number(&given, "gpus", gpus->count, error));
    TRY(cj__call_number(&given, "mail", gpus->mail_bytes, error));
    return cj__gpus_divide_rows(gpus, &given, piece, error);
}

// SPDX-License-Identifier: Apache-2.0
// The parameters of a collective, what a plan makes of them, and which of them exclude each other.
#include "collective.h"

enum { WARP = 32 };

static cj_status refuse(const cj_plan *plan, const collective_shape *s, bool clusters, cj_error *error) {
    const uint32_t size = cj__collective_param(plan, COLLECTIVE_SIZE);
    REFUSE_IF(size && size != s->cluster,
              "size=%u blocks work together, but a cluster has %u" CJ_HINT
              "leave size out, or choose cluster=0: without clusters",
              size, s->cluster);
    FAIL_IF(!clusters && plan->cluster.x, CJ_UNSUPPORTED,
            "%s has no thread block clusters (they need sm_90): a collective is of a cluster" CJ_HINT
            "choose a target from sm_90 on; or, without clusters, cluster=0 and size, how many blocks work together",
            plan->arch);
    REFUSE_IF(s->cluster > 16,
              "cluster x cluster-y x cluster-z is %u blocks, a cluster has at most 16" CJ_HINT
              "make one of them smaller",
              s->cluster);
    REFUSE_IF(s->what.root >= s->cluster,
              "root: %u is no rank of a cluster of %u" CJ_HINT
              "ranks begin at 0: choose one below the number of blocks",
              s->what.root, s->cluster);
    REFUSE_IF(!strcmp(s->dtype->type, "b32") && cj__collective_combines(s->what.op),
              "op=%s does not go with dtype=%s: integers of 8 and 16 bits are only moved" CJ_HINT
              "choose dtype=i32 or u32",
              CJ_PARAM_WORD(plan, "op"), CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}

// The pool and the mbarriers beside it, against what a block may have. The parts of all blocks of a cluster arrive in one phase
// of an mbarrier.
static cj_status refuse_memory(const cj_plan *plan, const collective_shape *s, const cj_limits *limits,
                               cj_error *error) {
    enum { BESIDE = 1024 };
    const uint64_t room = limits->shared_per_block_optin - BESIDE;
    const uint32_t most = CJ_TRANSACTION_MOST / (s->cluster ? s->cluster : 1) / COLLECTIVE_UNIT * COLLECTIVE_UNIT;
    FAIL_IF(plan->dynamic_shared > room, CJ_CONTRACT,
            "count=%u takes %u bytes of shared memory a block (%u parts in, %u out, %u bytes of scratch), there are "
            "%" PRIu64 CJ_HINT "choose a smaller count, or split the array",
            s->count, plan->dynamic_shared, s->gives, s->gets, s->scratch, room);
    REFUSE_IF(s->count > 1 && plan->cluster.x && s->part > most,
              "count=%u: a part of %u bytes exceeds the %u that each of %u"
              " blocks may have" CJ_HINT "choose a smaller count or cluster, or split the array",
              s->count, s->part, most, s->cluster);
    return CJ_OK;
}

// Blocks that work together stand beside each other along x where they are no cluster.
static void place_blocks(cj_plan *plan) {
    const uint32_t many = cj__collective_param(plan, COLLECTIVE_CLUSTERS), along = cj__collective_param(plan, COLLECTIVE_CLUSTER);
    plan->grid = (cj_dim3){cj__collective_param(plan, COLLECTIVE_SIZE) * many, 1, 1};
    if (!along) return;
    plan->cluster = (cj_dim3){along, cj__collective_param(plan, COLLECTIVE_CLUSTER_Y), cj__collective_param(plan, COLLECTIVE_CLUSTER_Z)};
    plan->grid = (cj_dim3){along * many, plan->cluster.y, plan->cluster.z};
}

cj_status cj__collective_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint32_t block = cj__collective_param(plan, COLLECTIVE_BLOCK);
    const uint32_t chosen = plan->params.value[COLLECTIVE_COUNT] == 1 ? WARP : COLLECTIVE_ARRAY_BLOCK;
    plan->block = (cj_dim3){block ? block : chosen, 1, 1};
    place_blocks(plan);
    REFUSE_IF(!plan->grid.x,
              "cluster: 0 and size: 0, but a collective is of a cluster, or of size blocks" CJ_HINT
              "cluster=1 is the least; with cluster=0, size says how many blocks work together without one");
    const collective_shape s = cj__collective_shape(plan);
    const uint64_t         pool = (uint64_t)(s.gives + s.gets) * s.part + s.scratch;
    TRY(refuse(plan, &s, clusters, error));
    plan->dynamic_shared = s.count == 1 || !plan->cluster.x ? 0 : (uint32_t)pool;
    if (!plan->cluster.x) plan->launches = cj__collective_param(plan, COLLECTIVE_ROUNDS);  // outputs go to the workspace by turns
    if (plan->launches > 1) plan->workspace_bytes = (size_t)plan->grid.x * s.gets * s.count * s.dtype->bytes;
    cj__name_entry(plan, "%s_%s%s", CJ_PARAM_WORD(plan, "op"), CJ_PARAM_WORD(plan, "dtype"),
                   plan->cluster.x ? "" : "_global");
    return refuse_memory(plan, &s, limits, error);
}

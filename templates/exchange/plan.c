// SPDX-License-Identifier: Apache-2.0
// The geometry that a plan chooses from the parameters.
#include "exchange.h"

enum {
#define PARAM(id, ...) id,
#include "params.def"
};

// The widest access, up to 16 bytes, that divides what it is to step through.
static uint32_t widest(uint64_t bytes) { return (uint32_t)cj__least(bytes & (~bytes + 1), 16); }

cj_exchange_shape cj__exchange_shape(const cj_plan *plan) {
    const uint64_t   *value = plan->params.value;
    const uint64_t    bytes = cj_dtype_size((cj_dtype)value[DTYPE]), chunk = value[N] * bytes;
    cj_exchange_shape s = {.pattern = (cj_exchange_pattern)value[PATTERN],
                           .size = (uint32_t)(value[SIZE] ? value[SIZE] : value[CLUSTER]),
                           .threads = plan->block.x,
                           .repeat = (uint32_t)value[REPEAT],
                           .parts = 1};
    const bool        is_halo = s.pattern == CJ_EXCHANGE_HALO, is_all = s.pattern == CJ_EXCHANGE_ALL_TO_ALL;
    s.strategy = !plan->cluster.x ? CJ_EXCHANGE_GLOBAL : value[STRATEGY] ? CJ_EXCHANGE_PULL : CJ_EXCHANGE_PUSH;
    s.shift = (uint32_t)value[SHIFT] % s.size;
    if (is_halo) s.parts = 2;
    if (is_all) s.parts = s.size;
    const uint64_t part = is_halo ? value[HALO] * bytes : chunk / s.parts;
    s.unit = widest(chunk | part | value[ALIGN]);
    s.slot = s.unit < 4 ? 4 : s.unit;
    s.chunk = (uint32_t)(chunk / s.unit);
    s.part = (uint32_t)(part / s.unit);
    s.halo = is_halo ? s.part : 0;
    s.in_stride = is_halo ? s.chunk - s.halo : s.part;
    s.out_stride = is_halo ? s.chunk + s.halo : s.part;
    s.out_chunk = s.chunk + 2 * s.halo;
    if (!s.threads) s.threads = (uint32_t)cj__least(cj__round_up((uint64_t)s.part * s.parts, 32), 1024);
    const uint32_t vectors = s.strategy == CJ_EXCHANGE_GLOBAL ? EXCHANGE_VECTORS : EXCHANGE_VECTORS / 2;
    s.tile = (uint32_t)cj__least(s.part, s.threads * vectors / s.parts);
    s.tiles = (uint32_t)cj__ceil_div(s.part, s.tile);
    s.vectors = (uint32_t)cj__ceil_div((uint64_t)s.tile * s.parts, s.threads);
    s.buffer_bytes = (uint32_t)cj__round_up((uint64_t)s.tile * s.parts * s.slot, EXCHANGE_BUFFER_ALIGN);
    s.items = value[CLUSTERS] * s.tiles;
    s.groups = plan->grid.x / s.size;
    s.guarded = s.tile * s.parts % s.threads || s.part % s.tile;
    const bool pushes = s.strategy == CJ_EXCHANGE_PUSH;
    s.credits = pushes && s.pattern == CJ_EXCHANGE_RING && 2 * s.shift % s.size;
    s.turned = pushes && is_all && s.parts > 1;
    s.bulk = pushes && !s.credits && s.unit == 16 && s.tile * s.slot >= EXCHANGE_BULK &&
             s.repeat >= EXCHANGE_BULK_ROUNDS;
    s.copy_bytes = s.tile * s.slot > 2 * EXCHANGE_COPY ? EXCHANGE_COPY : 2 * EXCHANGE_COPY;
    s.settles = pushes && !s.bulk && !s.credits && s.guarded && s.items > s.groups;
    return s;
}

static cj_status refuse(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    const uint64_t  bytes = cj_dtype_size((cj_dtype)value[DTYPE]), size = value[SIZE] ? value[SIZE] : value[CLUSTER];
    const uint64_t  halo = value[PATTERN] == CJ_EXCHANGE_HALO ? value[HALO] : 0;
    REFUSE_IF(!size, "size: 0 stands for the cluster's size, and cluster=0 has none" CJ_HINT
                     "say with size=2 … 16 how many blocks trade with each other");
    FAIL_IF(value[CLUSTER] && value[CLUSTER] != size, CJ_UNSUPPORTED,
            "size=%" PRIu64 " blocks trade, but cluster=%" PRIu64 CJ_HINT "choose cluster=%" PRIu64
            ", or cluster=0 to go through global memory",
            size, value[CLUSTER], size);
    REFUSE_IF(!value[CLUSTER] && value[STRATEGY],
              "strategy: pull with cluster=0, whose blocks push through global memory" CJ_HINT
              "leave strategy at its default, or choose cluster=%" PRIu64,
              size);
    REFUSE_IF((value[N] + 2 * halo) * bytes > UINT32_MAX,
              "n=%" PRIu64 ": a chunk of %" PRIu64 " bytes exceeds 4 GiB - 1" CJ_HINT "split it over more clusters",
              value[N], (value[N] + 2 * halo) * bytes);
    REFUSE_IF(value[GRID] % size,
              "grid=%" PRIu64 " is not a multiple of the %" PRIu64 " blocks that trade" CJ_HINT
              "choose a multiple, or leave grid at its default",
              value[GRID], size);
    REFUSE_IF(halo > value[N],
              "halo=%" PRIu64 " exceeds the chunk of n=%" PRIu64 " elements" CJ_HINT
              "edges are part of a chunk: make halo smaller, or chunks larger",
              halo, value[N]);
    REFUSE_IF(value[ALIGN] & (value[ALIGN] - 1) || value[ALIGN] < bytes,
              "align=%" PRIu64 " is not a power of two from the element's %" PRIu64 " to 16" CJ_HINT
              "leave align at its default where x and out come from cj_mem_alloc",
              value[ALIGN], bytes);
    REFUSE_IF(value[PATTERN] == CJ_EXCHANGE_ALL_TO_ALL && value[N] % size,
              "n=%" PRIu64 " is not a multiple of the %" PRIu64 " blocks that trade" CJ_HINT
              "all-to-all sends an equal part to each: choose n=%" PRIu64,
              value[N], size, cj__round_up(value[N], size));
    return CJ_OK;
}

// Groups of blocks at once: no more than have work, and than the device surely holds.
static uint64_t choose_groups(const cj_exchange_shape *s, const cj_limits *limits) {
    uint64_t per_sm = s->strategy == CJ_EXCHANGE_GLOBAL
                          ? EXCHANGE_RESIDENT / s->threads
                          : limits->shared_per_sm / (EXCHANGE_HEAD + EXCHANGE_BUFFERS * s->buffer_bytes);
    per_sm = cj__least(cj__least(per_sm, EXCHANGE_RESIDENT / s->threads), limits->max_blocks_per_sm / 2);
    uint64_t held = limits->sm_count * (per_sm ? per_sm : 1) / s->size;
    return cj__least(s->items, held ? held : 1);
}

cj_status cj__exchange_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    TRY(refuse(plan, error));
    if (value[CLUSTER] && !clusters)
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): %" PRIu64 " blocks trade through global memory",
                 plan->arch, value[CLUSTER]);
    if (value[CLUSTER] && clusters) plan->cluster = (cj_dim3){(uint32_t)value[CLUSTER], 1, 1};
    plan->block = (cj_dim3){(uint32_t)value[BLOCK], 1, 1};
    cj_exchange_shape s = cj__exchange_shape(plan);
    plan->block.x = s.threads;
    plan->cooperative = s.strategy == CJ_EXCHANGE_GLOBAL;
    if (!plan->cooperative) plan->dynamic_shared = EXCHANGE_HEAD + EXCHANGE_BUFFERS * s.buffer_bytes;
    REFUSE_IF(s.items > INT32_MAX,
              "clusters=%" PRIu64 " of %u tiles each are more than 2^31 - 1" CJ_HINT "use several launches",
              value[CLUSTERS], s.tiles);
    const uint64_t groups = value[GRID] ? cj__least(value[GRID] / s.size, s.items) : choose_groups(&s, limits);
    plan->grid = (cj_dim3){(uint32_t)groups * s.size, 1, 1};
    if (plan->cooperative)
        plan->workspace_bytes = (size_t)plan->grid.x * (EXCHANGE_FLAG + EXCHANGE_BUFFERS * (size_t)s.buffer_bytes);
    cj__name_entry(plan, "exchange_%s", CJ_PARAM_WORD(plan, "pattern"));
    return CJ_OK;
}

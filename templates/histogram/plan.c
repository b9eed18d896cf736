// SPDX-License-Identifier: Apache-2.0
// The histogram's parameters, and from them its layout in shared memory and its grid.
#include "histogram.h"

enum { OWNER, REMOTE };        // of strategy
enum { ADD, SET, AUTO };       // of result
enum { ANY, SHARED, GLOBAL };  // of memory

// Bits of a counter, and counters in a word, as the words of `width` name them.
static const cj_histogram_width widths[] = {{0, 0}, {32, 1}, {16, 2}, {10, 3}, {8, 4}, {4, 8}};
enum { WIDTH_COUNT = sizeof widths / sizeof *widths, WIDE = 1 };

static const cj_histogram_dtype dtypes[] = {[CJ_SAMPLE_F32] = {"f32", "f32", 4},
                                            [CJ_SAMPLE_U8] = {"u8", "u32", 1},
                                            [CJ_SAMPLE_U16] = {"u16", "u32", 2},
                                            [CJ_SAMPLE_U32] = {"u32", "u32", 4}};

const cj_histogram_dtype *cj__histogram_dtype(const cj_plan *plan) {
    return &dtypes[plan->params.value[HISTOGRAM_DTYPE]];
}

cj_status cj__histogram_binning(const cj_plan *plan, cj_binning *binning, cj_error *error) {
    return cj__binning_make(binning, (cj_sample)plan->params.value[HISTOGRAM_DTYPE], plan->params.value[HISTOGRAM_BINS],
                            cj_params_real(&plan->params, "lower"), cj_params_real(&plan->params, "upper"), error);
}

// Counts that are set are written in vectors, for which their counters lie up to a vector further.
static uint64_t shared_bytes(const cj_histogram_layout *l) {
    if (l->global) return 0;
    return cj__round_up(l->own / l->width.in_word * 4, HISTOGRAM_LOAD) + (l->set ? HISTOGRAM_LOAD : 0);
}

// ---- counts that are set: one pool, whose blocks all read all samples

// Each block has whole cache lines of 32-bit counters.
static uint64_t set_own(uint64_t bins, uint64_t pool) {
    return cj__round_up(cj__ceil_div(bins, pool), HISTOGRAM_LINE / 4);
}

// Of few bins one block. Of more as many as there are SMs, since clearing and writing the bins is then most of the work.
static uint64_t set_pool(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t bins = plan->params.value[HISTOGRAM_BINS];
    const uint64_t room = (limits->shared_per_block_optin - HISTOGRAM_LOAD) / HISTOGRAM_LINE * (HISTOGRAM_LINE / 4);
    const uint64_t wanted = bins < HISTOGRAM_SPREAD_LEAST ? 1 : cj__ceil_div(bins, HISTOGRAM_SPREAD_OWN);
    const uint64_t pool = cj__most(cj__least(wanted, cj__most(limits->sm_count, 1)), cj__ceil_div(bins, room));
    return cj__ceil_div(bins, set_own(bins, pool));
}

static uint64_t sample_bytes(const cj_plan *plan) {
    return plan->params.value[HISTOGRAM_N] * cj__histogram_dtype(plan)->bytes;
}

// Whether the blocks of one pool read all samples in less time than a fill takes.
static bool sets_sooner(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t looks = plan->params.value[HISTOGRAM_N] * HISTOGRAM_SAMPLE_TIME / 1000;
    const uint64_t reads = sample_bytes(plan) * set_pool(plan, limits) / 1000 * HISTOGRAM_BYTE_TIME / 1000;
    return cj__most(looks, reads) <= HISTOGRAM_FILL_TIME;
}

static void choose_result(cj_plan *plan, const cj_limits *limits) {
    uint64_t *value = plan->params.value;
    if (value[HISTOGRAM_RESULT] != AUTO) return;
    const bool can = !value[HISTOGRAM_CLUSTER] && !value[HISTOGRAM_GRID] && value[HISTOGRAM_WIDTH] <= WIDE &&
                     value[HISTOGRAM_STRATEGY] == OWNER && value[HISTOGRAM_MEMORY] != GLOBAL;
    value[HISTOGRAM_RESULT] = can && sets_sooner(plan, limits) ? SET : ADD;
}

// ---- the layout

// The smallest pool, of `cluster` blocks where that is not 0, that needs no more than `room` bytes a block, and in it
// the widest counters; of 4 bits only if asked for. What was chosen once is chosen again with its own bytes as room.
static bool choose_layout(const cj_plan *plan, uint64_t room, unsigned cluster, cj_histogram_layout *l) {
    const uint64_t *value = plan->params.value;
    const unsigned  least = cluster ? cluster : 1, most = cluster ? cluster : HISTOGRAM_POOL;
    const bool      remote = value[HISTOGRAM_STRATEGY] == REMOTE && cluster;
    for (unsigned pool = least; pool <= most; pool++)
        for (unsigned w = 1; w < WIDTH_COUNT; w++) {
            if (remote                   ? w != WIDE
                : value[HISTOGRAM_WIDTH] ? value[HISTOGRAM_WIDTH] != w
                                         : widths[w].bits < HISTOGRAM_AUTO_BITS)
                continue;
            const uint64_t own = cj__round_up(cj__ceil_div(value[HISTOGRAM_BINS], pool), widths[w].in_word);
            *l = (cj_histogram_layout){.width = widths[w], .pool = pool, .own = own, .remote = remote};
            if (shared_bytes(l) <= room) return true;
        }
    return false;
}

static cj_histogram_layout set_layout(const cj_plan *plan, uint64_t pool) {
    return (cj_histogram_layout){.width = widths[WIDE],
                                 .pool = (unsigned)pool,
                                 .own = set_own(plan->params.value[HISTOGRAM_BINS], pool),
                                 .set = true};
}

static cj_histogram_layout global_layout(const cj_plan *plan) {
    return (cj_histogram_layout){
        .width = widths[WIDE], .pool = 1, .own = plan->params.value[HISTOGRAM_BINS], .global = true};
}

cj_histogram_layout cj__histogram_layout(const cj_plan *plan) {
    cj_histogram_layout l = {.pool = 1};
    if (cj__histogram_overwrites(plan)) return set_layout(plan, plan->grid.x);
    if (plan->params.value[HISTOGRAM_MEMORY] == GLOBAL) return global_layout(plan);
    choose_layout(plan, plan->dynamic_shared, plan->cluster.x, &l);
    return l;
}

// Counters of 32 bits, and of a warp's run, must hold what a pool reads.
static uint64_t least_pools(const cj_plan *plan) {
    return cj__ceil_div(plan->params.value[HISTOGRAM_N], UINT32_MAX / 2);
}

// As many pools as the GPU holds at once, none without a load for each of its threads.
static uint64_t choose_pools(const cj_plan *plan, const cj_limits *limits, const cj_histogram_layout *l) {
    const cj_kernel_use use = {.threads = plan->block.x, .shared = plan->dynamic_shared, .cluster = plan->cluster.x};
    cj_occupancy        o;
    cj__occupancy(&use, limits, &o);
    const unsigned wide = l->global ? HISTOGRAM_BLOCK_MOST / plan->block.x : 1;  // blocks for one of most threads
    const uint64_t blocks = cj__least(o.blocks_per_sm, HISTOGRAM_BLOCKS_PER_SM * wide);
    uint64_t       pools = o.blocks_per_sm ? (uint64_t)o.active_clusters * blocks / o.blocks_per_sm : 1;
    if (!plan->cluster.x) pools /= l->pool;
    const uint64_t bytes = (uint64_t)plan->block.x * HISTOGRAM_LOAD * (l->remote ? l->pool : 1);
    const uint64_t wanted = cj__ceil_div(sample_bytes(plan), bytes);
    return cj__most(cj__most(cj__least(pools, wanted), least_pools(plan)), 1);
}

static cj_status check_words(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    const bool      narrow = value[HISTOGRAM_WIDTH] > WIDE, remote = value[HISTOGRAM_STRATEGY] == REMOTE;
    REFUSE_IF(value[HISTOGRAM_RESULT] == SET && (narrow || remote),
              "result: set goes with counters of 32 bits and strategy=owner only" CJ_HINT
              "leave width and strategy at their defaults, or choose result=add");
    REFUSE_IF(remote && !value[HISTOGRAM_CLUSTER],
              "strategy: remote counters are those of a cluster's blocks, but cluster is 0" CJ_HINT
              "choose cluster from 1 to 16, or strategy=owner");
    REFUSE_IF(remote && narrow,
              "width: %u, but remote counters have 32 bits" CJ_HINT
              "leave width at its default, or choose strategy=owner",
              widths[value[HISTOGRAM_WIDTH]].bits);
    REFUSE_IF(value[HISTOGRAM_MEMORY] == GLOBAL && (value[HISTOGRAM_RESULT] == SET || narrow || value[HISTOGRAM_CLUSTER]),
              "memory: global goes with result=add and counters of 32 bits, without clusters" CJ_HINT
              "leave result, width and cluster at their defaults, or choose memory=shared");
    return CJ_OK;
}

// Whether samples are added in global memory sooner than counters in shared memory are cleared, read, and added.
static bool adds_sooner(const cj_plan *plan, const cj_limits *limits, const cj_histogram_layout *l) {
    const uint64_t *value = plan->params.value, n = value[HISTOGRAM_N];
    if (l->remote || plan->cluster.x || value[HISTOGRAM_GRID] || value[HISTOGRAM_WIDTH]) return false;
    const uint64_t most = cj__most((uint64_t)limits->sm_count * HISTOGRAM_BLOCKS_PER_SM / l->pool, 1);
    const uint64_t pools = cj__least(cj__ceil_div(sample_bytes(plan), HISTOGRAM_BLOCK_MOST * HISTOGRAM_LOAD), most);
    const uint64_t counts = cj__least(pools * value[HISTOGRAM_BINS], n);
    const uint64_t shared = l->own * HISTOGRAM_COUNTER_TIME + counts * HISTOGRAM_RED_TIME;
    return n * HISTOGRAM_RED_TIME * HISTOGRAM_GLOBAL_MARGIN <= shared * 100;
}

static cj_status choose(cj_plan *plan, const cj_limits *limits, cj_histogram_layout *l, cj_error *error) {
    uint64_t      *value = plan->params.value;
    const unsigned cluster = plan->cluster.x, room = limits->shared_per_block_optin;
    bool           fits = true;
    if (value[HISTOGRAM_RESULT] == SET) {
        const uint64_t pool = cluster ? cluster : set_pool(plan, limits);
        *l = set_layout(plan, value[HISTOGRAM_GRID] ? value[HISTOGRAM_GRID] : pool);
        fits = shared_bytes(l) <= room;
    } else if (value[HISTOGRAM_MEMORY] == GLOBAL) {
        *l = global_layout(plan);
    } else {
        fits = choose_layout(plan, room, cluster, l);
        if (fits && value[HISTOGRAM_MEMORY] == ANY && adds_sooner(plan, limits, l)) *l = global_layout(plan);
    }
    const unsigned asked = l->remote || l->set ? widths[WIDE].bits : widths[value[HISTOGRAM_WIDTH]].bits;
    FAIL_IF(!fits, CJ_CONTRACT,
            "bins: %" PRIu64 " counters of %u bits do not fit the shared memory of %u blocks, %u bytes each" CJ_HINT
            "take larger clusters, narrower counters, or fewer bins",
            value[HISTOGRAM_BINS], asked ? asked : (unsigned)HISTOGRAM_AUTO_BITS,
            l->set ? l->pool : cluster ? cluster : HISTOGRAM_POOL, room);
    value[HISTOGRAM_MEMORY] = l->global ? GLOBAL : SHARED;
    return CJ_OK;
}

// Of few samples, a thread for each load or for two bins (of counts that are set, for two loads, or for the four bins of a store):
// fewer start and reach barriers sooner.
static uint64_t choose_block(const cj_plan *plan, const cj_histogram_layout *l) {
    if (l->global) return HISTOGRAM_GLOBAL_BLOCK;
    const uint64_t loads = cj__ceil_div(sample_bytes(plan), HISTOGRAM_LOAD * (l->set ? 2 : 1)),
                   bins = l->set ? cj__ceil_div(l->own, 4) : cj__ceil_div(plan->params.value[HISTOGRAM_BINS], 2);
    const uint64_t threads = cj__power_from(cj__most(loads, bins));
    return cj__least(cj__most(threads, HISTOGRAM_BLOCK_LEAST), HISTOGRAM_BLOCK_MOST);
}

static cj_status check_grid(const cj_plan *plan, const cj_histogram_layout *l, uint64_t grid, cj_error *error) {
    REFUSE_IF(grid % l->pool, "grid: %" PRIu64 " is not a multiple of the %u blocks of a pool" CJ_HINT "%" PRIu64 " is",
              grid, l->pool, cj__round_up(grid, l->pool));
    REFUSE_IF(grid / l->pool < least_pools(plan),
              "grid: %" PRIu64 " blocks are too few for %" PRIu64 " samples: at least %" PRIu64 CJ_HINT "%s", grid,
              plan->params.value[HISTOGRAM_N], least_pools(plan) * l->pool,
              l->set ? "choose result=add" : "leave grid at its default");
    return CJ_OK;
}

// The launch: block, shared memory and grid.
static cj_status shape(cj_plan *plan, const cj_limits *limits, const cj_histogram_layout *l, cj_error *error) {
    uint64_t *value = plan->params.value;
    value[HISTOGRAM_BLOCK] = cj__asked_or(plan, HISTOGRAM_BLOCK, choose_block(plan, l));
    plan->block = (cj_dim3){(uint32_t)value[HISTOGRAM_BLOCK], 1, 1};
    plan->dynamic_shared = (uint32_t)shared_bytes(l);
    const uint64_t pools = l->set ? 1 : choose_pools(plan, limits, l);
    const uint64_t grid = value[HISTOGRAM_GRID] ? value[HISTOGRAM_GRID] : pools * l->pool;
    TRY(check_grid(plan, l, grid, error));
    plan->grid = (cj_dim3){(uint32_t)grid, 1, 1};
    plan->resident = value[HISTOGRAM_GRID] || l->set || grid / l->pool < 4 * least_pools(plan)
                         ? 0
                         : l->pool;  // slices may become as large
    return CJ_OK;
}

bool cj__histogram_overwrites(const cj_plan *plan) { return plan->params.value[HISTOGRAM_RESULT] == SET; }

cj_status cj__histogram_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    cj_binning          binning;
    cj_histogram_layout l;
    TRY(cj__histogram_binning(plan, &binning, error));
    choose_result(plan, limits);
    TRY(check_words(plan, error));
    const unsigned cluster = (unsigned)cj__cluster_asked(plan, HISTOGRAM_CLUSTER, clusters);
    if (*plan->note && plan->params.value[HISTOGRAM_STRATEGY] == REMOTE)
        strncat(plan->note, ", nor is strategy=remote", sizeof plan->note - strlen(plan->note) - 1);
    if (cluster) plan->cluster = (cj_dim3){cluster, 1, 1};
    TRY(choose(plan, limits, &l, error));
    TRY(shape(plan, limits, &l, error));
    plan->programmatic = l.set && clusters;  // the same targets have programmatic dependent launch
    cj__name_entry(plan, "histogram_%s", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// The histogram's parameters, and from them its layout in shared memory and its grid.
#include "histogram.h"

enum { OWNER, REMOTE };  // of strategy
enum { ADD, SET };       // of result

// Bits of a counter, and counters in a word, as the words of `width` name them.
static const cj_histogram_width widths[] = {{0, 0}, {32, 1}, {16, 2}, {10, 3}, {8, 4}, {4, 8}};
enum { WIDTH_COUNT = sizeof widths / sizeof *widths, WIDE = 1 };

static const cj_histogram_dtype dtypes[] = {{CJ_SAMPLE_F32, "f32", "f32", 4},
                                            {CJ_SAMPLE_U8, "u8", "u32", 1},
                                            {CJ_SAMPLE_U16, "u16", "u32", 2},
                                            {CJ_SAMPLE_U32, "u32", "u32", 4}};

const cj_histogram_dtype *cj__histogram_dtype(const cj_plan *plan) {
    return &dtypes[plan->params.value[HISTOGRAM_DTYPE]];
}

cj_status cj__histogram_binning(const cj_plan *plan, cj_binning *binning, cj_error *error) {
    return cj__binning_make(binning, cj__histogram_dtype(plan)->sample, plan->params.value[HISTOGRAM_BINS],
                            cj_params_real(&plan->params, "lower"), cj_params_real(&plan->params, "upper"), error);
}

static uint64_t shared_bytes(const cj_histogram_layout *l) {
    return cj__round_up(l->own / l->width.in_word * 4, HISTOGRAM_LOAD);
}

// Whether many blocks own a few bins each, and all read all samples, from the L2 cache: of bins that are more than the samples, if
// the blocks together do not read too many; and of counts that one pool overwrites.
static bool spreads(const cj_plan *plan, unsigned cluster) {
    const uint64_t *value = plan->params.value;
    const uint64_t  blocks = cj__ceil_div(value[HISTOGRAM_BINS], HISTOGRAM_SPREAD_OWN);
    const bool      few = value[HISTOGRAM_N] <= value[HISTOGRAM_BINS] &&
                     value[HISTOGRAM_N] * blocks <= HISTOGRAM_SPREAD_READS;
    return (few || value[HISTOGRAM_RESULT] == SET) && !cluster && !value[HISTOGRAM_GRID] &&
           value[HISTOGRAM_WIDTH] <= WIDE && value[HISTOGRAM_BINS] >= HISTOGRAM_SPREAD_LEAST;
}

// The smallest pool, of `cluster` blocks where that is not 0, that needs no more than `room` bytes a block, and in it
// the widest counters; of 4 bits only if asked for. What was chosen once is chosen again with its own bytes as room.
static bool choose_layout(const cj_plan *plan, uint64_t room, unsigned cluster, cj_histogram_layout *l) {
    const uint64_t *value = plan->params.value;
    const bool      spread = spreads(plan, cluster);
    const unsigned least = cluster ? cluster : 1, most = cluster ? cluster : spread ? HISTOGRAM_SPREAD : HISTOGRAM_POOL;
    const bool     remote = value[HISTOGRAM_STRATEGY] == REMOTE && cluster, set = value[HISTOGRAM_RESULT] == SET;
    if (spread) room = cj__least(room, 4 * HISTOGRAM_SPREAD_OWN);
    for (unsigned pool = least; pool <= most; pool++)
        for (unsigned w = 1; w < WIDTH_COUNT; w++) {
            if (remote || set || spread  ? w != WIDE
                : value[HISTOGRAM_WIDTH] ? value[HISTOGRAM_WIDTH] != w
                                         : widths[w].bits < HISTOGRAM_AUTO_BITS)
                continue;
            const uint64_t own = cj__round_up(cj__ceil_div(value[HISTOGRAM_BINS], pool), widths[w].in_word);
            *l = (cj_histogram_layout){.width = widths[w], .pool = pool, .own = own, .remote = remote, .set = set};
            if (shared_bytes(l) <= room) return true;
        }
    return false;
}

cj_histogram_layout cj__histogram_layout(const cj_plan *plan) {
    cj_histogram_layout l = {.pool = 1};
    choose_layout(plan, plan->dynamic_shared, plan->cluster.x, &l);
    return l;
}

// Counters of 32 bits, and of a warp's run, must hold what a pool reads.
static uint64_t least_pools(const cj_plan *plan) {
    return cj__ceil_div(plan->params.value[HISTOGRAM_N], UINT32_MAX / 2);
}

// As many pools as the GPU holds at once, none without a load for each of its threads.
static uint64_t choose_pools(const cj_plan *plan, const cj_limits *limits, const cj_histogram_layout *l) {
    const uint64_t      bytes = plan->params.value[HISTOGRAM_N] * cj__histogram_dtype(plan)->bytes;
    const cj_kernel_use use = {.threads = plan->block.x, .shared = plan->dynamic_shared, .cluster = plan->cluster.x};
    cj_occupancy        o;
    cj__occupancy(&use, limits, &o);
    const uint64_t blocks = cj__least(o.blocks_per_sm, HISTOGRAM_BLOCKS_PER_SM);
    uint64_t       pools = o.blocks_per_sm ? (uint64_t)o.active_clusters * blocks / o.blocks_per_sm : 1;
    if (!plan->cluster.x) pools /= l->pool;
    if (l->set || spreads(plan, plan->cluster.x)) return 1;
    const uint64_t wanted = cj__ceil_div(bytes, (uint64_t)plan->block.x * HISTOGRAM_LOAD * (l->remote ? l->pool : 1));
    return cj__most(cj__most(cj__least(pools, wanted), least_pools(plan)), 1);
}

static cj_status check_strategy(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    REFUSE_IF(value[HISTOGRAM_RESULT] == SET && (value[HISTOGRAM_WIDTH] > WIDE || value[HISTOGRAM_STRATEGY] == REMOTE),
              "result: set goes with counters of 32 bits and strategy=owner only" CJ_HINT
              "leave width and strategy at their defaults, or choose result=add");
    if (value[HISTOGRAM_STRATEGY] != REMOTE) return CJ_OK;
    REFUSE_IF(!value[HISTOGRAM_CLUSTER],
              "strategy: remote counters are those of a cluster's blocks, but cluster is 0" CJ_HINT
              "choose cluster from 1 to 16, or strategy=owner");
    REFUSE_IF(value[HISTOGRAM_WIDTH] > WIDE,
              "width: %u, but remote counters have 32 bits" CJ_HINT
              "leave width at its default, or choose strategy=owner",
              widths[value[HISTOGRAM_WIDTH]].bits);
    return CJ_OK;
}

// Of few samples, a thread for each load or for two bins: fewer start and meet at barriers sooner.
static uint64_t choose_block(const cj_plan *plan) {
    const uint64_t bytes = plan->params.value[HISTOGRAM_N] * cj__histogram_dtype(plan)->bytes;
    const uint64_t loads = cj__ceil_div(bytes, HISTOGRAM_LOAD),
                   pairs = cj__ceil_div(plan->params.value[HISTOGRAM_BINS], 2);
    const uint64_t threads = cj__power_from(loads > pairs ? loads : pairs);
    return cj__least(cj__most(threads, HISTOGRAM_BLOCK_LEAST), HISTOGRAM_BLOCK_MOST);
}

static cj_status check_grid(const cj_plan *plan, const cj_histogram_layout *l, uint64_t grid, cj_error *error) {
    REFUSE_IF(grid % l->pool, "grid: %" PRIu64 " is not a multiple of the %u blocks of a pool" CJ_HINT "%" PRIu64 " is",
              grid, l->pool, cj__round_up(grid, l->pool));
    REFUSE_IF(l->set && grid > l->pool,
              "grid: %" PRIu64 " blocks, but with result=set all counts are those of one pool, %u blocks" CJ_HINT
              "leave grid at its default, or choose result=add",
              grid, l->pool);
    REFUSE_IF(grid / l->pool < least_pools(plan),
              "grid: %" PRIu64 " blocks are too few for %" PRIu64 " samples: at least %" PRIu64 CJ_HINT "%s", grid,
              plan->params.value[HISTOGRAM_N], least_pools(plan) * l->pool,
              l->set ? "choose result=add" : "leave grid at its default");
    return CJ_OK;
}

cj_status cj__histogram_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t     *value = plan->params.value;
    cj_binning          binning;
    cj_histogram_layout l;
    TRY(cj__histogram_binning(plan, &binning, error));
    TRY(check_strategy(plan, error));
    const unsigned cluster = (unsigned)cj__cluster_asked(plan, HISTOGRAM_CLUSTER, clusters);
    if (*plan->note && value[HISTOGRAM_STRATEGY] == REMOTE)
        strncat(plan->note, ", nor is strategy=remote", sizeof plan->note - strlen(plan->note) - 1);
    const bool     fits = choose_layout(plan, limits->shared_per_block_optin, cluster, &l);
    const unsigned asked = l.remote || l.set ? widths[WIDE].bits : widths[value[HISTOGRAM_WIDTH]].bits;
    FAIL_IF(!fits, CJ_CONTRACT,
            "bins: %" PRIu64 " counters of %u bits do not fit the shared memory of %u blocks, %u bytes each" CJ_HINT
            "take larger clusters, narrower counters, or fewer bins",
            value[HISTOGRAM_BINS], asked ? asked : (unsigned)HISTOGRAM_AUTO_BITS, cluster ? cluster : HISTOGRAM_POOL,
            limits->shared_per_block_optin);
    plan->params.value[HISTOGRAM_BLOCK] = cj__asked_or(plan, HISTOGRAM_BLOCK, choose_block(plan));
    plan->block = (cj_dim3){(uint32_t)value[HISTOGRAM_BLOCK], 1, 1};
    if (cluster) plan->cluster = (cj_dim3){cluster, 1, 1};
    plan->dynamic_shared = (uint32_t)shared_bytes(&l);
    const uint64_t grid = value[HISTOGRAM_GRID] ? value[HISTOGRAM_GRID] : choose_pools(plan, limits, &l) * l.pool;
    TRY(check_grid(plan, &l, grid, error));
    plan->grid = (cj_dim3){(uint32_t)grid, 1, 1};
    plan->resident = value[HISTOGRAM_GRID] || l.set || grid / l.pool < 4 * least_pools(plan)
                         ? 0
                         : l.pool;  // slices may become as large
    cj__name_entry(plan, "histogram_%s", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}

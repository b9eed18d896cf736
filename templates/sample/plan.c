// SPDX-License-Identifier: Apache-2.0
// The blocks that read a row, and what each warp has of it.
#include "sample.h"

enum { THREADS_MOST = 1024, VECTOR = 16, BESIDE_BINS = 8192 };  // a block's threads; bytes of a load, and of shared memory beside bins, at most
enum { SEARCH_AUTO, SEARCH_DIGITS, SEARCH_COUNTS };

static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16};

static double real_of(const cj_plan *plan, const char *name) { return cj_params_real(&plan->params, name); }

static bool has_penalties(const cj_plan *plan) {
    return real_of(plan, "repetition") != 1 || real_of(plan, "frequency") != 0 || real_of(plan, "presence") != 0;
}

static bool has_many(const cj_plan *plan) {
    const uint64_t *value = plan->params.value;
    return has_penalties(plan) || value[SAMPLE_TOP] || value[SAMPLE_DISTRIBUTION] || value[SAMPLE_DRAFT];
}

static bool may_list(const cj_plan *plan) {
    const uint64_t *value = plan->params.value;
    return value[SAMPLE_TOP_K] && !value[SAMPLE_DISTRIBUTION] && !value[SAMPLE_DRAFT];
}

// A list without penalties, of which more than the token is told.
static bool is_told_list(const cj_plan *plan) { return may_list(plan) && has_many(plan) && !has_penalties(plan); }

// Counts of keys tell masses where a key has one mass, and a block of the row has few enough of their bins.
static bool may_count(const cj_plan *plan, const sample_shape *s) {
    return s->dtype == CJ_BF16 && !s->top_k && !has_penalties(plan) &&
           cj__power_from(cj__ceil_div(2 * SAMPLE_KEYS, s->blocks)) <= (uint64_t)SAMPLE_BINS << cj__log2(s->block);
}

// Parts that are counted for themselves pay where a block has much of the row, and cost reads of its peers' bins. Where a block has less
// shared memory than an H200's, there are fewer.
static uint32_t choose_parts(const cj_plan *plan, const sample_shape *s) {
    const cj_limits *limits;
    uint32_t         parts = s->blocks == 1 ? SAMPLE_PARTS_MOST : 2;
    if (s->keeps || s->warps % SAMPLE_PARTS_MOST || s->blocks > 2 || cj_limits_builtin(plan->arch, &limits, NULL)) return 1;
    while (parts > 1 && parts * SAMPLE_BINS_BYTES + BESIDE_BINS > limits->shared_per_block_optin) parts /= 2;
    return parts;
}

// Loads of a thread at once, and whether these are all and stay in registers: as many as the passes over them have room for in the code, too.
static void choose_flight(const cj_plan *plan, sample_shape *s) {
    const uint64_t rounds = cj__ceil_div(cj__ceil_div(plan->params.value[SAMPLE_COLUMNS] / s->width, s->records), SAMPLE_WARP);
    const bool     small = s->block <= SAMPLE_BLOCK_MANY, wide = s->lists && !s->many && small;  // threads have registers for more
    const bool     digits = s->top_k || (s->top_p && !s->counts);
    const unsigned half = SAMPLE_FLIGHT / 2, quarter = SAMPLE_FLIGHT / 4;
    s->flight = (unsigned)cj__least(rounds, wide ? (unsigned)SAMPLE_FLIGHT : half);
    if (s->lists)
        s->keeps = rounds <= (wide ? (unsigned)SAMPLE_FLIGHT : quarter);
    else
        s->keeps = !s->many && rounds <= (small && !digits ? half : quarter);
}

// Without top-p counts are of use for the draw alone, from one of some parts.
static void choose_counts(const cj_plan *plan, sample_shape *s) {
    const uint64_t *value = plan->params.value, least = s->top_p ? SAMPLE_COUNTS_LEAST : SAMPLE_COUNTS_DRAW;
    s->counts = value[SAMPLE_SEARCH] == SEARCH_COUNTS || (value[SAMPLE_SEARCH] == SEARCH_AUTO && value[SAMPLE_COLUMNS] >= least);
    s->counts = s->counts && may_count(plan, s);
    choose_flight(plan, s);
    s->parts = s->counts && !s->many ? cj__asked_or(plan, SAMPLE_PARTS, choose_parts(plan, s)) : 1;
    s->counts = s->counts && (s->top_p || s->parts > 1);
    s->pushes = s->cluster && !s->lists && !s->many && s->parts == 1;
    if (s->parts > 1) s->keeps = false;
}

static unsigned share_of(unsigned block, unsigned count) {
    unsigned share = 2;
    while (share < SAMPLE_SHARE && 2 * share * count <= block) share *= 2;
    return share;
}

static unsigned width_of(const cj_plan *plan) {
    const uint64_t *value = plan->params.value, columns = value[SAMPLE_COLUMNS];
    const uint64_t  stride = value[SAMPLE_ROWS] > 1 ? cj__stride(plan, SAMPLE_STRIDE, columns) : 0;
    return cj__load_width(value[SAMPLE_ALIGN], (unsigned)cj_dtype_size(dtypes[value[SAMPLE_DTYPE]]), columns | stride);
}

void cj__sample_shape(const cj_plan *plan, sample_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (sample_shape){.dtype = dtypes[value[SAMPLE_DTYPE]],
                        .block = plan->block.x,
                        .cluster = plan->cluster.x,
                        .blocks = plan->cluster.x ? plan->cluster.x : 1,
                        .warps = plan->block.x / SAMPLE_WARP,
                        .top_k = value[SAMPLE_TOP_K] > 0,
                        .top_p = real_of(plan, "top-p") < 1,
                        .min_p = real_of(plan, "min-p") > 0,
                        .mask = value[SAMPLE_MASK]};
    s->penalties = has_penalties(plan);
    s->log_probability = value[SAMPLE_LOG_PROBABILITY];
    s->distribution = value[SAMPLE_DISTRIBUTION];
    s->draft = value[SAMPLE_DRAFT];
    s->top = (unsigned)value[SAMPLE_TOP];
    s->many = has_many(plan);
    s->lists = may_list(plan);
    s->bytes = (unsigned)cj_dtype_size(s->dtype);
    s->width = width_of(plan);
    s->records = s->warps * s->blocks;
    s->share = share_of(s->block, SAMPLE_EXPECTED);
    s->group_share = share_of(s->block, SAMPLE_GROUPS);
    s->lanes = SAMPLE_WARP;
    while (s->lanes > 1 && s->records * (SAMPLE_WARP / s->lanes) < SAMPLE_GROUPS) s->lanes /= 2;
    s->groups = s->records * (SAMPLE_WARP / s->lanes);
    s->digit = cj__log2(s->block) + 3 < SAMPLE_DIGIT_MOST ? cj__log2(s->block) + 3 : SAMPLE_DIGIT_MOST;
    choose_counts(plan, s);
}

// Clusters that are at work at once with an SM a block. An opened device does not tell the SMs of its GPCs, beyond which no cluster reaches.
static uint64_t clusters_at_once(const cj_limits *limits, uint32_t cluster) {
    if (limits->gpc_sms[0]) return cj__clusters_at_once(limits, THREADS_MOST, limits->shared_per_block_optin, cluster);
    return limits->sm_count / SAMPLE_GPC * (SAMPLE_GPC / cluster) + limits->sm_count % SAMPLE_GPC / cluster;
}

// Whether the row's passes have few instructions: keys are counted, or nothing is searched.
static bool is_light(const cj_plan *plan) {
    const uint64_t *value = plan->params.value;
    const bool      counts = dtypes[value[SAMPLE_DTYPE]] == CJ_BF16 && value[SAMPLE_SEARCH] != SEARCH_DIGITS && value[SAMPLE_COLUMNS] >= SAMPLE_COUNTS_LEAST;
    return !value[SAMPLE_TOP_K] && !has_penalties(plan) && (real_of(plan, "top-p") == 1 || counts);
}

// Threads of a block that has so much of a row. Of lists most instructions are a warp's, however much it has of the row: there a thread
// keeps as much as it has registers for. The same holds where a key is counted, or nothing is searched: a warp has some 900 instructions
// beside. Where a thread cannot keep its elements, more warps hide the latency of two passes (SAMPLE_EACH), the more where an SM has one row at most. Rows that are more than
// the GPU holds in the smallest of these blocks have a warp at least. Of lists of which more is told a block has fewer threads, with more registers each; so
// it has of a draft, and where two of penalties, top tokens and the distribution come together, of which ptxas would spill registers.
static uint64_t choose_block(const cj_plan *plan, const cj_limits *limits, uint64_t part) {
    const uint64_t *value = plan->params.value;
    const bool      many = value[SAMPLE_ROWS] * SAMPLE_BLOCK_FEW > cj__threads_at_once(limits);
    const bool      few = may_list(plan) && !has_many(plan), light = is_light(plan);
    const uint64_t  width = VECTOR / cj_dtype_size(dtypes[value[SAMPLE_DTYPE]]);
    const uint64_t  each = few ? SAMPLE_FLIGHT * width : light ? SAMPLE_FLIGHT / 2 * width : SAMPLE_EACH;
    const int       extras = has_penalties(plan) + (value[SAMPLE_TOP] > 0) + (value[SAMPLE_DISTRIBUTION] > 0) + 2 * (value[SAMPLE_DRAFT] > 0);
    const bool      told = is_told_list(plan), alone = value[SAMPLE_ROWS] <= limits->sm_count && each == SAMPLE_EACH && !told;
    const uint64_t  least = many ? SAMPLE_WARP : SAMPLE_BLOCK_FEW, most = few || told || extras > 1 ? SAMPLE_BLOCK_MANY : THREADS_MOST;
    const uint64_t  fewest = alone ? cj__least(cj__power_from(part / SAMPLE_EACH_ALONE), SAMPLE_BLOCK_MANY) : 0;
    return cj__least(cj__most(cj__power_from(part / each), cj__most(fewest, least)), most);
}

// More blocks cost more of each exchange. They pay where passes have many instructions, where fewer blocks could not keep the row, and of long rows.
static uint32_t largest_cluster(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t part = cj__ceil_div(plan->params.value[SAMPLE_COLUMNS], SAMPLE_CLUSTER_MOST);
    const bool     keeps = is_light(plan) && !has_many(plan) && choose_block(plan, limits, part) <= SAMPLE_BLOCK_MANY;
    const bool     lists = may_list(plan) && (has_many(plan) || part <= (uint64_t)SAMPLE_BLOCK_MANY * SAMPLE_FLIGHT * width_of(plan));
    const bool     is_long = plan->params.value[SAMPLE_COLUMNS] >= SAMPLE_LONG;
    return (lists || keeps) && !is_long ? SAMPLE_CLUSTER_MOST : SAMPLE_CLUSTER_SEARCH;
}

// A cluster a row while the clusters of all rows are at work at once with an SM a block (SAMPLE_GPC), and its blocks have enough of the row. Where a row
// takes many instructions, until the SMs have more blocks than one each: 38 rows in clusters of 2 leave half of them without work.
static uint32_t choose_cluster(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t *value = plan->params.value;
    const uint32_t  most = largest_cluster(plan, limits);
    const bool      heavy = has_many(plan) && !is_told_list(plan);
    uint32_t        cluster = 1;
    while (cluster < most) {
        const uint64_t parts = value[SAMPLE_COLUMNS] / (cluster * 2), blocks = value[SAMPLE_ROWS] * cluster;
        const bool     idle = heavy && 2 * blocks < 3 * (uint64_t)limits->sm_count && parts >= 2 * SAMPLE_PART_LEAST;
        if (parts < SAMPLE_PART_LEAST || !(idle || value[SAMPLE_ROWS] <= clusters_at_once(limits, cluster * 2))) break;
        cluster *= 2;
    }
    return cluster == 1 ? 0 : cluster;
}

static cj_status check_values(const cj_plan *plan, cj_error *error) {
    const double temperature = real_of(plan, "temperature"), p = real_of(plan, "top-p");
    const double least = real_of(plan, "min-p"), repetition = real_of(plan, "repetition");
    REFUSE_IF(temperature < 0,
              "temperature: %g is not 0 or above" CJ_HINT "0 takes the largest logit, 1 leaves them as they are", temperature);
    REFUSE_IF(!(p > 0 && p <= 1), "top-p: %g is not above 0 and at most 1" CJ_HINT "1 keeps all tokens", p);
    REFUSE_IF(!(least >= 0 && least <= 1), "min-p: %g is not from 0 to 1" CJ_HINT "0 keeps all tokens", least);
    TRY(cj__check_f32("repetition", repetition, error));
    TRY(cj__check_f32("frequency", real_of(plan, "frequency"), error));
    TRY(cj__check_f32("presence", real_of(plan, "presence"), error));
    REFUSE_IF(!(repetition > 0), "repetition: %g is not above 0" CJ_HINT "1 is no penalty", repetition);
    return CJ_OK;
}

cj_status cj__sample_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    sample_shape    s;
    TRY(check_values(plan, error));
    TRY(cj__check_stride(plan, SAMPLE_STRIDE, value[SAMPLE_COLUMNS], error));
    const uint64_t asked = cj__cluster_asked(plan, SAMPLE_CLUSTER, clusters);
    const uint32_t cluster = asked == CJ_PARAM_AUTO ? choose_cluster(plan, limits) : (uint32_t)asked;
    if (cluster) plan->cluster = (cj_dim3){cluster, 1, 1};
    const uint64_t part = cj__ceil_div(value[SAMPLE_COLUMNS], cluster ? cluster : 1);
    plan->block = (cj_dim3){cj__asked_or(plan, SAMPLE_BLOCK, choose_block(plan, limits, part)), 1, 1};
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    cj__sample_shape(plan, &s);
    REFUSE_IF(value[SAMPLE_SEARCH] == SEARCH_COUNTS && !s.counts,
              "search: counts are of bf16 logits without penalties and top-k, with at least %u threads a row; without top-p, of several parts" CJ_HINT
              "digits is for all", 2 * SAMPLE_KEYS / SAMPLE_BINS);
    REFUSE_IF(cj__is_asked(plan, SAMPLE_PARTS) && s.parts != value[SAMPLE_PARTS],
              "parts: %" PRIu64 " are asked for, but only counts of keys have them" CJ_HINT
              "leave parts at its default; search=counts says what it takes", value[SAMPLE_PARTS]);
    REFUSE_IF(s.warps % s.parts, "parts: %u, but the %u warps of a block are no multiple of that" CJ_HINT "leave parts at its default",
              s.parts, s.warps);
    REFUSE_IF(s.parts > 1 && s.parts * s.blocks > SAMPLE_WARP, "parts: %u of each of %u blocks are more than the %u lanes of a warp" CJ_HINT
              "leave parts at its default", s.parts, s.blocks, (unsigned)SAMPLE_WARP);
    plan->params.value[SAMPLE_CLUSTER] = s.cluster;
    plan->params.value[SAMPLE_BLOCK] = s.block;
    plan->params.value[SAMPLE_SEARCH] = s.counts ? SEARCH_COUNTS : SEARCH_DIGITS;
    plan->params.value[SAMPLE_PARTS] = s.parts;
    plan->dynamic_shared = s.counts ? s.parts * SAMPLE_BINS_BYTES : 0;
    const uint64_t blocks = value[SAMPLE_ROWS] * s.blocks;
    FAIL_IF(blocks > INT32_MAX, CJ_CONTRACT,
            "rows: %" PRIu64 " in clusters of %u are more blocks than the 2^31 - 1 of a grid" CJ_HINT
            "use several launches",
            value[SAMPLE_ROWS], s.cluster);
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    CJ_DERIVE(plan, value[SAMPLE_COLUMNS], cj__stride(plan, SAMPLE_STRIDE, value[SAMPLE_COLUMNS]));
    cj__name_entry(plan, "sample_%s", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}

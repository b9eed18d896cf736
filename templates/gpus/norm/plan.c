// SPDX-License-Identifier: Apache-2.0
// What the parameters of allreducenorm come to, and what is refused.
#include "norm.h"
#include "predict.h"

static uint64_t value_of(const cj_plan *plan, int param) { return plan->params.value[param]; }

norm_shape cj__gpus_norm_shape(const cj_plan *plan) {
    const uint32_t cluster = plan->cluster.x ? plan->cluster.x : 1;
    norm_shape     s = {.unit = cj__gpus_unit(value_of(plan, NORM_DTYPE), value_of(plan, NORM_ALIGN), value_of(plan, NORM_COLUMNS)),
                        .gpus = (uint32_t)value_of(plan, NORM_GPUS),
                        .rows = (uint32_t)value_of(plan, NORM_ROWS),
                        .columns = (uint32_t)value_of(plan, NORM_COLUMNS),
                        .block = plan->block.x,
                        .cluster = cluster,
                        .teams = plan->grid.x / cluster,
                        .shots = (uint32_t)value_of(plan, NORM_SHOTS),
                        .mail = value_of(plan, NORM_MAIL),
                        .layer = value_of(plan, NORM_NORM) != 0,
                        .residual = value_of(plan, NORM_RESIDUAL) != 0,
                        .weight = value_of(plan, NORM_WEIGHT) != 0,
                        .bias = value_of(plan, NORM_BIAS) != 0,
                        .by_blocks = value_of(plan, NORM_TAGS) == NORM_TAGS_BLOCKS,
                        .epsilon = cj_params_real(&plan->params, "epsilon")};
    s.units = s.columns / s.unit.each;
    s.owned = (uint32_t)cj__ceil_div(s.rows, s.gpus);
    if (s.block) s.per = (uint32_t)cj__ceil_div(s.units, (uint64_t)s.block * cluster);
    const uint64_t one = (uint64_t)s.gpus * s.rows, two = (uint64_t)s.gpus * s.owned + s.rows;
    s.used = (s.shots == 2 ? two : one) * s.units * (s.by_blocks ? s.unit.words * 4 : cj__gpus_message_bytes(&s.unit));
    return s;
}

// As all-reduce's are chosen: the exchange is the same.
static uint32_t choose_shots(const norm_shape *s) {
    const double bytes = (double)s->rows * s->columns * s->unit.bytes;
    return s->by_blocks || cj__gpus_by_mail(s->gpus, bytes) != CJ_BY_ONE_SHOT ? 2 : 1;
}

// Words that a thread holds: of more without tags, ptxas spills up to 32 bytes (7 or 8 units of 16 bytes for sm_75 to sm_89).
static uint32_t held(bool by_blocks) { return by_blocks ? NORM_HELD * 3 / 4 : NORM_HELD; }

// A block has one flag a launch and shot, so one row.
static uint64_t choose_tags(const norm_shape *s) {
    const double bytes = (double)s->rows * s->columns * s->unit.bytes;
    const bool   faster = cj__gpus_by_mail(s->gpus, bytes) == CJ_BY_BLOCKS, fits = s->per * s->unit.words <= held(true);
    return s->shots == 2 && s->teams == s->rows && faster && fits ? NORM_TAGS_BLOCKS : NORM_TAGS_WORDS;
}

// Of few rows several blocks send each, and of long ones several hold each.
static uint32_t choose_cluster(const norm_shape *s) {
    uint32_t cluster = 1;
    while (cluster < 8) {
        const bool is_long = s->units * s->unit.words > (uint64_t)GPUS_THREADS * cluster * (NORM_HELD / 2);
        const bool is_one_of_few = 2 * cluster * s->rows <= NORM_BLOCKS && s->units >= 2 * cluster * NORM_UNITS_LEAST;
        if (!is_long && !is_one_of_few) break;
        cluster *= 2;
    }
    return cluster;
}

static void choose_grid(cj_plan *plan, const cj_limits *limits, bool clusters) {
    const norm_shape s = cj__gpus_norm_shape(plan);
    uint64_t         cluster = cj__cluster_asked(plan, NORM_CLUSTER, clusters);
    if (clusters && !cj__is_asked(plan, NORM_CLUSTER)) cluster = choose_cluster(&s);
    cluster = cj__most(cluster, 1);
    const uint64_t threads = cj__round_up(cj__ceil_div(s.units, cluster), 32);
    const uint32_t block = cj__gpus_keep(plan, NORM_BLOCK, cj__least(threads, GPUS_THREADS));
    uint64_t       teams = CJ_BOX_BLOCKS / cluster;
    if (s.rows > teams) teams = cj__most(1, cj__least(teams, limits->sm_count / cluster));  // all are there at once
    plan->block = (cj_dim3){block, 1, 1};
    plan->cluster = cluster > 1 ? (cj_dim3){(uint32_t)cluster, 1, 1} : (cj_dim3){0, 0, 0};
    plan->grid = (cj_dim3){cj__gpus_keep(plan, NORM_GRID, cj__least(teams, s.rows) * cluster), 1, 1};
    plan->params.value[NORM_CLUSTER] = clusters ? cluster > 1 ? cluster : cj__asked_or(plan, NORM_CLUSTER, 1) : 0;
}

static cj_status refuse(const cj_plan *plan, const norm_shape *s, const cj_limits *limits, cj_error *error) {
    const uint32_t align = 16u >> value_of(plan, NORM_ALIGN), most = held(s->by_blocks) / s->unit.words;
    REFUSE_IF(align < s->unit.bytes,
              "align: %u bytes are less than an element's %u" CJ_HINT "elements lie at multiples of their size",
              align, s->unit.bytes);
    TRY(cj__check_f32("epsilon", s->epsilon, error));
    REFUSE_IF(!(s->epsilon >= 0), "epsilon: %g is below 0, and 1 / sqrt(mean + epsilon) would be NaN for small rows" CJ_HINT
              "1e-05 is usual", s->epsilon);
    REFUSE_IF(s->by_blocks && (s->shots == 1 || s->teams != s->rows),
              "tags: blocks is for two shots, and for as many blocks or clusters as there are rows" CJ_HINT "leave it out");
    REFUSE_IF(plan->grid.x % s->cluster, "grid: %u blocks are no whole clusters of %u" CJ_HINT
              "choose a multiple of cluster", plan->grid.x, s->cluster);
    REFUSE_IF(s->teams < s->rows && plan->grid.x > limits->sm_count,
              "grid: %u blocks take %u rows in turns, and wait for each other, but the GPU has %u"
              " SMs" CJ_HINT "choose at most so many blocks", plan->grid.x, s->rows, (uint32_t)limits->sm_count);
    REFUSE_IF(s->per > most,
              "columns: %u are more than the %u that %u blocks of %u threads hold" CJ_HINT
              "choose more threads or a larger cluster; rows of whole 16 bytes, aligned so, and with tags=words may be longest",
              s->columns, most * s->block * s->cluster * s->unit.each, s->cluster, s->block);
    const uint64_t set = cj__gpus_set_bytes(s->mail, s->by_blocks);
    REFUSE_IF(s->used > set && s->rows == 1, "columns: %u of a row take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "a row goes in one launch: make mail larger", s->columns, s->used, set);
    REFUSE_IF(s->used > set,
              "rows: %u of %u columns take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "make mail larger, or take fewer rows a launch", s->rows, s->columns, s->used, set);
    return CJ_OK;
}

cj_status cj__gpus_norm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    norm_shape s = cj__gpus_norm_shape(plan);
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    cj__gpus_keep(plan, NORM_SHOTS, choose_shots(&s));
    TRY(cj__refuse_bf16(plan, "allreducenorm", s.unit.type, error));
    choose_grid(plan, limits, clusters);
    s = cj__gpus_norm_shape(plan);
    if (value_of(plan, NORM_TAGS) == NORM_TAGS_AUTO) plan->params.value[NORM_TAGS] = choose_tags(&s);
    s = cj__gpus_norm_shape(plan);
    cj__name_entry(plan, "allreducenorm_%s_%u", s.unit.type, s.gpus);
    return refuse(plan, &s, limits, error);
}

// SPDX-License-Identifier: Apache-2.0
// What the parameters of rows with sharded columns come to, and what is refused.
#include "sharded.h"

enum { HOLD_AUTO, HOLD_NO, HOLD_YES, HOLD_SHARED };

enum { STATIC_SHARED = 1024, STAGE_UNITS_LEAST = 4 };  // bytes beside the rows, at most; units of a thread from which rows lie in shared memory

static uint64_t value_of(const cj_plan *plan, int param) { return plan->params.value[param]; }

sharded_shape cj__gpus_sharded_shape(const cj_plan *plan) {
    const uint64_t columns = value_of(plan, SHARDED_COLUMNS);
    sharded_shape  s = {.unit = cj__gpus_unit(value_of(plan, SHARDED_DTYPE), value_of(plan, SHARDED_ALIGN), columns),
                        .gpus = (uint32_t)value_of(plan, SHARDED_GPUS),
                        .rows = (uint32_t)value_of(plan, SHARDED_ROWS),
                        .columns = (uint32_t)columns,
                        .block = plan->block.x,
                        .grid = plan->grid.x,
                        .words = 2,
                        .mail = value_of(plan, SHARDED_MAIL),
                        .hold = value_of(plan, SHARDED_HOLD) == HOLD_YES,
                        .labels = plan->params.family->own != NULL};
    s.units = s.columns / s.unit.each;
    s.writes = !s.labels || value_of(plan, SHARDED_GRADIENT);
    if (s.labels) {
        s.words = 4;
        s.wide = !value_of(plan, SHARDED_LABEL);
        s.ignore = cj_params_real(&plan->params, "ignore");
        s.smoothing = cj_params_real(&plan->params, "smoothing");
        s.scale = cj_params_real(&plan->params, "scale");
    } else {
        s.log = value_of(plan, SHARDED_LOG) != 0;
    }
    s.used = (uint64_t)s.gpus * s.rows * s.words * CJ_MAIL_BYTES;
    if (value_of(plan, SHARDED_HOLD) == HOLD_SHARED) s.stage = (uint32_t)cj__round_up((uint64_t)s.columns * s.unit.bytes, CJ_POOL_ALIGN);
    if (!s.block) return s;
    const uint32_t all = (uint32_t)cj__ceil_div(s.units, s.block), most = SHARDED_HELD / s.unit.words;
    s.per = s.hold ? all : s.stage ? (uint32_t)cj__least(all, most) : SHARDED_CHUNK;
    s.chunks = s.per >= all && (s.hold || s.stage) ? 1 : 2;
    return s;
}

static uint64_t shared_of(const sharded_shape *s) { return (uint64_t)SHARDED_STAGES * s->stage + CJ_POOL_SLACK; }

static bool can_stage(const sharded_shape *s, const cj_limits *limits) {
    const uint64_t row = cj__round_up((uint64_t)s->columns * s->unit.bytes, CJ_POOL_ALIGN);
    return s->unit.words > 1 && s->writes && SHARDED_STAGES * row + CJ_POOL_SLACK + STATIC_SHARED <= limits->shared_per_block_optin;
}

// Blocks on an SM. One with stages has its next row on the way, and needs no other one to wait beside it.
static uint64_t on_sm(const sharded_shape *s, const cj_limits *limits) {
    return s->hold || s->stage || 2 * s->block > limits->max_threads_per_sm ? 1 : 2;
}

static uint64_t choose_hold(const sharded_shape *s, uint32_t block, const cj_limits *limits, bool clusters) {
    const uint64_t per = cj__ceil_div(s->units, block);
    if (clusters && can_stage(s, limits) && per > STAGE_UNITS_LEAST) return HOLD_SHARED;
    return per * s->unit.words <= SHARDED_HELD && s->writes ? HOLD_YES : HOLD_NO;
}

static cj_status refuse(const cj_plan *plan, const sharded_shape *s, const cj_limits *limits, uint64_t at_once, cj_error *error) {
    const uint32_t align = 16u >> value_of(plan, SHARDED_ALIGN), most = SHARDED_HELD / s->unit.words;
    REFUSE_IF(align < s->unit.bytes,
              "align: %u bytes are less than an element's %u" CJ_HINT "elements lie at multiples of their size",
              align, s->unit.bytes);
    TRY(cj__check_f32("scale", s->scale, error));
    REFUSE_IF(!(s->smoothing >= 0 && s->smoothing <= 1), "smoothing: %g is outside 0 to 1" CJ_HINT "0 is none, 0.1 is usual",
              s->smoothing);
    REFUSE_IF(!(s->ignore >= INT32_MIN && s->ignore <= INT32_MAX && (double)(int32_t)s->ignore == s->ignore),
              "ignore: %g is not a whole number of 32 bits" CJ_HINT "labels are whole numbers: choose one that none of them has",
              s->ignore);
    REFUSE_IF(s->hold && !s->writes, "hold: yes, but without a gradient a row is read once" CJ_HINT "leave it out");
    REFUSE_IF(s->stage && (!plan->programmatic || !can_stage(s, limits)),
              "hold: rows of %u columns do not lie in shared memory" CJ_HINT "that needs sm_90, 16-byte alignment, something that is "
              "written, and room for %d rows: leave it out", s->columns, SHARDED_STAGES);
    REFUSE_IF(s->hold && s->per > most,
              "hold: rows of %u columns are longer than the %u that %u threads hold" CJ_HINT
              "choose hold no, or more threads", s->columns, most * s->block * s->unit.each, s->block);
    REFUSE_IF(s->grid < s->rows && s->grid > at_once,
              "grid: %u blocks take %u rows in turns, and wait for each other, but %" PRIu64
              " are on the GPU at once" CJ_HINT "choose at most so many", s->grid, s->rows, at_once);
    REFUSE_IF(s->used > s->mail,
              "rows: %u take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "make mail larger, or take fewer rows a launch", s->rows, s->used, s->mail);
    return CJ_OK;
}

cj_status cj__gpus_sharded_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    sharded_shape  s = cj__gpus_sharded_shape(plan);
    const uint64_t threads = cj__least(GPUS_THREADS, cj__round_up(s.units, 32));
    const uint32_t block = cj__gpus_keep(plan, SHARDED_BLOCK, threads);
    if (value_of(plan, SHARDED_HOLD) == HOLD_AUTO) plan->params.value[SHARDED_HOLD] = choose_hold(&s, block, limits, clusters);
    plan->block = (cj_dim3){block, 1, 1};
    s = cj__gpus_sharded_shape(plan);
    const uint64_t at_once = limits->sm_count * on_sm(&s, limits);
    plan->dynamic_shared = s.stage ? (uint32_t)shared_of(&s) : 0;
    TRY(cj__refuse_bf16(plan, plan->params.family->name, s.unit.type, error));
    plan->grid = (cj_dim3){cj__gpus_keep(plan, SHARDED_GRID, cj__least(s.rows, cj__least(at_once, CJ_BOX_BLOCKS))), 1, 1};
    s = cj__gpus_sharded_shape(plan);
    cj__name_entry(plan, "%s_%s_%u", plan->params.family->name, s.unit.type, s.gpus);
    return refuse(plan, &s, limits, at_once, error);
}

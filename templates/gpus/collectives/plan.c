// SPDX-License-Identifier: Apache-2.0
// What the parameters come to, and what is refused.
#include "arrays.h"
#include "collectives.h"
#include "predict.h"

static const struct gpus_dtype {
    const char *type;
    uint32_t    bytes;
} dtypes[] = {{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"s32", 4}, {"u32", 4}, {"u16", 2}, {"u8", 1}};

enum { GPUS_NO_COUNT = 4096 };  // the parameter's default
enum { TAGS_AUTO, TAGS_WORDS, TAGS_BLOCKS };
enum { MEMORY_MAIL, MEMORY_REGISTERED, MEMORY_MULTICAST };

static uint32_t value_of(const cj_plan *plan, int param) { return (uint32_t)plan->params.value[param]; }

static const gpus_op *op_of(const cj_plan *plan) { return plan->params.family->own; }

// Messages of 16 bytes where x and out, and the parts in them, allow loads of 16 bytes.
static uint32_t words_of(const cj_plan *plan, uint32_t bytes) {
    const bool is_aligned = value_of(plan, GPUS_ALIGN) == 0;
    const bool is_whole = !((uint64_t)value_of(plan, GPUS_COUNT) * bytes % 16 + (uint64_t)value_of(plan, GPUS_STRIDE) * bytes % 16);
    return is_aligned && is_whole ? GPUS_WORDS : 1;
}

gpus_shape cj__gpus_shape(const cj_plan *plan) {
    const struct gpus_dtype *dtype = &dtypes[value_of(plan, GPUS_DTYPE)];
    gpus_shape               s = {.op = op_of(plan),
                                  .type = dtype->type,
                                  .gpus = value_of(plan, GPUS_GPUS),
                                  .bytes = dtype->bytes,
                                  .count = value_of(plan, GPUS_COUNT),
                                  .stride = value_of(plan, GPUS_STRIDE),
                                  .words = words_of(plan, dtype->bytes),
                                  .shots = 1,
                                  .direct = value_of(plan, GPUS_MEMORY) != MEMORY_MAIL,
                                  .multicast = value_of(plan, GPUS_MEMORY) == MEMORY_MULTICAST,
                                  .block = plan->block.x,
                                  .grid = plan->grid.x,
                                  .mail = plan->params.value[GPUS_MAIL]};
    s.each = s.direct && s.words == 1 && !s.multicast ? 1 : 4 * s.words / s.bytes;
    s.all = s.units = (uint32_t)cj__ceil_div(s.count, s.each);
    if (s.op->combines) {
        s.combine = (cj_combine){.op = (cj_combine_op)value_of(plan, GPUS_COMBINE), .type = s.bytes == 2 ? "f32" : s.type};
        s.shots = value_of(plan, GPUS_SHOTS);
    }
    if (s.op->combines && !s.direct) s.by_blocks = value_of(plan, GPUS_TAGS) == TAGS_BLOCKS;
    if (s.op->from_root) s.root = value_of(plan, GPUS_ROOT);
    const bool by_parts = s.direct && !s.op->by_rank && !s.op->gathers;
    if (s.shots == 2 || by_parts) s.units = (uint32_t)cj__ceil_div(s.all, s.gpus);
    if (s.grid > 1 && s.units <= (uint64_t)(s.grid - 1) * s.block) s.speaker = s.grid - 1;
    s.used = s.op->moves && !s.direct ? (uint64_t)s.shots * s.gpus * s.units * s.words * (s.by_blocks ? 4 : CJ_MAIL_BYTES) : 0;
    return s;
}

uint32_t cj__gpus_checksum(const gpus_shape *s) {
    const uint32_t part[] = {s->count, s->bytes, s->words, s->shots, s->root, (uint32_t)s->combine.op, s->gpus,
                             (uint32_t)s->mail};
    const uint32_t also[] = {s->stride, s->grid, s->by_blocks ? s->block : 0};  // what two GPUs' stores and flags go by
    uint32_t       sum = cj__gpus_hash(GPUS_HASH_OF_NOTHING, s->op->name, strlen(s->op->name));
    sum = cj__gpus_hash(sum, s->type, strlen(s->type));
    sum = cj__gpus_hash(sum, part, sizeof part);
    if (s->multicast) sum = cj__gpus_hash(sum, "multicast", strlen("multicast"));
    return s->direct || s->by_blocks ? cj__gpus_hash(sum, also, sizeof also) : sum;
}

// Shots and tags of all-reduce through mail, by the model. One of them may be asked for.
static void choose_way(cj_plan *plan) {
    const double     bytes = (double)value_of(plan, GPUS_COUNT) * dtypes[value_of(plan, GPUS_DTYPE)].bytes;
    const cj_gpus_by way = cj__gpus_by_mail(value_of(plan, GPUS_GPUS), bytes);
    const uint32_t   tags = value_of(plan, GPUS_TAGS);
    const uint32_t   shots = cj__gpus_keep(plan, GPUS_SHOTS, way == CJ_BY_ONE_SHOT && tags != TAGS_BLOCKS ? 1 : 2);
    if (!tags) plan->params.value[GPUS_TAGS] = shots == 2 && way == CJ_BY_BLOCKS ? TAGS_BLOCKS : TAGS_WORDS;
}

static void choose(cj_plan *plan, const gpus_op *op, bool direct) {
    if (op->combines && (op->by_rank || direct)) {
        plan->params.value[GPUS_SHOTS] = op->by_rank ? 1 : cj__asked_or(plan, GPUS_SHOTS, 2);
        if (!value_of(plan, GPUS_TAGS)) plan->params.value[GPUS_TAGS] = TAGS_WORDS;
    } else if (op->combines) {
        choose_way(plan);
    } else if (!op->from_root) {
        plan->params.value[GPUS_ROOT] = 0;
    }
}

cj_gpus_arrays cj__gpus_arrays(const cj_plan *plan) {
    if (plan->params.family->plan != cj__gpus_plan || value_of(plan, GPUS_MEMORY) == MEMORY_MAIL) return (cj_gpus_arrays){.direct = false};
    const gpus_shape s = cj__gpus_shape(plan);
    const uint64_t   one = (uint64_t)s.count * s.bytes, all = one + (s.gpus - 1) * (uint64_t)s.stride * s.bytes;
    return (cj_gpus_arrays){.direct = true,
                            .multicast = s.multicast,
                            .of_all_x = s.op->combines || s.op->from_root,
                            .of_all_out = !s.op->combines || !s.op->by_rank,
                            .x_bytes = s.op->by_rank ? all : one,
                            .out_bytes = s.op->gathers ? all : one};
}

static cj_status refuse(const cj_plan *plan, const gpus_shape *s, cj_error *error) {
    const uint32_t align = 16u >> value_of(plan, GPUS_ALIGN);
    REFUSE_IF(align < s->bytes,
              "align: %u bytes are less than an element's %u" CJ_HINT "elements lie at multiples of their size",
              align, s->bytes);
    REFUSE_IF(s->root >= s->gpus, "root: %u is no rank of %u GPUs" CJ_HINT "ranks begin at 0: choose one below gpus",
              s->root, s->gpus);
    REFUSE_IF(s->stride < s->count, "stride: %u is below count, %u" CJ_HINT "parts do not overlap", s->stride,
              s->count);
    REFUSE_IF(s->direct && !s->op->moves, "memory: %s has no arrays that could be registered" CJ_HINT "leave it out", s->op->name);
    REFUSE_IF(s->direct && s->shots == 1 && s->op->combines && !s->op->by_rank,
              "shots: 1 goes through mail alone" CJ_HINT "in registered memory each GPU combines its part: leave shots out");
    REFUSE_IF(s->op->combines && value_of(plan, GPUS_TAGS) == TAGS_BLOCKS && (s->direct || s->shots == 1),
              "tags: blocks is for two shots through mail" CJ_HINT "leave it out");
    REFUSE_IF(!s->direct && (s->op->by_rank || s->op->gathers) && (uint64_t)s->stride * s->bytes * (s->gpus - 1) > INT32_MAX,
              "stride: the parts of %u GPUs begin up to %" PRIu64 " bytes apart, and 2^31 - 1 are the most" CJ_HINT
              "make it smaller: copy, or call more often", s->gpus, (uint64_t)s->stride * s->bytes * (s->gpus - 1));
    const uint64_t set = cj__gpus_set_bytes(s->mail, s->by_blocks);
    REFUSE_IF(s->used > set,
              "count: %u elements take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "make mail larger, or count smaller: several launches, one after the other, do the whole",
              s->count, s->used, set);
    return CJ_OK;
}

// A unit for each thread, on as many SMs as there are. Threads of registered arrays have several loads on their way, so half the blocks
// do, with half the flags.
static uint64_t choose_block(const gpus_shape *s, uint64_t most) {
    if (!s->op->moves) return 32;
    return cj__least(GPUS_THREADS, cj__most(GPUS_THREADS_LEAST, cj__round_up(cj__ceil_div(s->units, most), 32)));
}

cj_status cj__gpus_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    const gpus_op *op = op_of(plan);
    if (!op->moves) plan->params.value[GPUS_COUNT] = GPUS_NO_COUNT;  // another one has no effect, and is refused
    const bool     direct = value_of(plan, GPUS_MEMORY) != MEMORY_MAIL;
    const uint64_t count = plan->params.value[GPUS_COUNT];
    const uint64_t stride = cj__gpus_keep(plan, GPUS_STRIDE, count);
    REFUSE_IF(stride != count && !op->by_rank && !op->gathers, "stride: %" PRIu64 " has no effect: %s has no parts" CJ_HINT
              "leave it out", stride, op->name);
    choose(plan, op, direct);
    const gpus_shape s = cj__gpus_shape(plan);
    const uint64_t   most = cj__asked_or(plan, GPUS_GRID, cj__least(direct ? ARRAYS_GRID_MOST : GPUS_GRID_MOST, limits->sm_count));
    const uint32_t   block = cj__gpus_keep(plan, GPUS_BLOCK, choose_block(&s, most));
    const bool       greets = op->moves && !direct && !s.by_blocks;  // by a block of its own, which waits while others work
    const uint64_t   blocks = op->moves ? cj__most(1, cj__least(most, cj__ceil_div(s.units, block) + greets)) : 1;
    if (op->combines) TRY(cj__refuse_bf16(plan, op->name, s.type, error));
    TRY(cj__gpus_refuse_multicast(&s, 16u >> value_of(plan, GPUS_ALIGN), clusters, error));
    plan->block = (cj_dim3){block, 1, 1};
    plan->grid = (cj_dim3){cj__gpus_keep(plan, GPUS_GRID, blocks), 1, 1};
    cj__name_entry(plan, "%s_%s_%u", op->name, s.type, s.gpus);
    return refuse(plan, &s, error);
}

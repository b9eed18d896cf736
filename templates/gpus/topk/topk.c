// SPDX-License-Identifier: Apache-2.0
// shardedtopk: the k largest (smallest) elements of rows whose columns are sharded. GPU r has the columns r * columns to
// (r + 1) * columns - 1 of each row, and comes with the k largest of these in order, as topk finds them.
//
//   the own k --> registers --> (value, column) --st.relaxed.sys--> each peer's mail[set][sender][row][place]
//                    |            own mail[set][sender][row][place] --polls--> (key, value, column)
//                    v                                                                |
//   shared memory: list of GPU 0 | of GPU 1 | … <------------------------------------'
//                    |
//                    '--> place of each = its own + how many of each other list come before it --> values, indices
//
// Each list is in order, so a thread finds how many of another list come before its candidate by halving. Of equal elements those of
// the lower GPU come first, which are those of lower columns. All GPUs get the same bits, in each run.
//
//   T1  bar.sync: the lists of all GPUs are in shared memory, before places are found in them; and the own k have been read,
//       before what is written over them.
//   T2  bar.sync: all places of the row have been found, before the lists of the next one are written.
//
// Epochs, hellos and sets are protocol/launch.c's. A block sends its row before it waits for anybody's, and blocks that take several rows are all
// on the GPU at once (refuse): so the least row that is not finished has been sent by all, or will be.
#include "fused.h"

enum {
#define PARAM(id, ...) TOPK_##id,
#include "params.def"
};

// Words of a message, and of a candidate in shared memory beside its key: value, column. Bytes of a candidate there.
enum { MESSAGE = 2, KEY_BYTES = 4, PAIR_BYTES = 8, CANDIDATE_BYTES = KEY_BYTES + PAIR_BYTES };

typedef struct topk_shape {
    const char *type;  // of an element
    uint32_t    gpus, rows, columns, k, bytes, block, grid;
    uint64_t    mail, used;
    bool        is_float, is_signed, smallest, wide;  // wide: i64 indices
} topk_shape;

typedef struct topk_kernel {
    gpus_kernel g;
    topk_shape  s;
    cj_reg      values, indices, values_to, indices_to;
    cj_reg      keys, pairs, before;    // in shared memory, of each list; columns of the GPUs before this one
    cj_reg      mail[CJ_BOX_GPUS];      // of each GPU, of this set
    cj_reg      own_mail;
} topk_kernel;

static uint64_t value_of(const cj_plan *plan, int param) { return plan->params.value[param]; }

static topk_shape shape_of(const cj_plan *plan) {
    static const char *const types[] = {"f32", "f16", "bf16", "s32", "u32"};
    const uint64_t           dtype = value_of(plan, TOPK_DTYPE);
    topk_shape               s = {.type = types[dtype],
                                  .gpus = (uint32_t)value_of(plan, TOPK_GPUS),
                                  .rows = (uint32_t)value_of(plan, TOPK_ROWS),
                                  .columns = (uint32_t)value_of(plan, TOPK_COLUMNS),
                                  .k = (uint32_t)value_of(plan, TOPK_K),
                                  .bytes = dtype == 1 || dtype == 2 ? 2 : 4,
                                  .block = plan->block.x,
                                  .grid = plan->grid.x,
                                  .mail = value_of(plan, TOPK_MAIL),
                                  .is_float = dtype < 3,
                                  .is_signed = dtype == 3,
                                  .smallest = value_of(plan, TOPK_ORDER) != 0,
                                  .wide = value_of(plan, TOPK_INDEX) == 0};
    s.used = (uint64_t)s.gpus * s.rows * s.k * MESSAGE * CJ_MAIL_BYTES;
    return s;
}

// ---- candidates

// The value's bits as an unsigned number that falls in the order of the results.
static cj_reg key_of(const topk_kernel *k, cj_reg word) {
    cj_func *f = k->g.f;
    cj_reg   key = cj_mov(f, "u32", "key", word);
    if (k->s.is_float) {
        cj_reg number = cj_f32(f, "number"), is_nan = cj_pred(f, "is_nan");
        if (k->s.bytes == 2)
            cj__half_widen(f, k->s.type, number, word);
        else
            cj_ptx(f, "mov.b32 $1, $2;", number, word);
        cj_ptx(f, "setp.nan.f32 $1, $2, $2;\nadd.rn.f32 $2, $2, 0f00000000; // -0 becomes 0", is_nan, number);
        cj_reg flips = cj_let(f, "b32", "flips", "mov.b32 $1, $2;\nshr.s32 $1, $1, 31;\nor.b32 $1, $1, 0x80000000;", number);
        cj_ptx(f, "mov.b32 $1, $2;\nxor.b32 $1, $1, $3;\n@$4 mov.u32 $1, 0xffffffff;", key, number, flips, is_nan);
    } else if (k->s.is_signed) {
        cj_ptx(f, "xor.b32 $1, $1, 0x80000000;", key);
    }
    if (k->s.smallest) cj_ptx(f, "not.b32 $1, $1;", key);
    return key;
}

// The number of candidate i of GPU q's list.
static cj_reg number_of(const topk_kernel *k, uint32_t q, cj_reg i) {
    return q ? cj_add(k->g.f, "number", i, q * k->s.k) : i;
}

static void put(const topk_kernel *k, cj_reg number, cj_reg value, cj_reg column) {
    cj_func     *f = k->g.f;
    const cj_reg pair[] = {value, column}, key = key_of(k, value);
    cj__store(f, cj_always(), "st.shared", "u32", &key, 1, cj_mad(f, "key_at", number, KEY_BYTES, k->keys), 0);
    cj__store(f, cj_always(), "st.shared", "u32", pair, 2, cj_mad(f, "pair_at", number, PAIR_BYTES, k->pairs), 0);
}

static cj_reg load_value(const topk_kernel *k, cj_reg at) {
    cj_func *f = k->g.f;
    cj_reg   word = cj_mov(f, "b32", "value", 0);
    if (k->s.bytes == 4) {
        cj_ptx(f, "ld.global.b32 $1, [$2];", word, at);
        return word;
    }
    cj_reg half = cj_let(f, "u16", "half", "ld.global.u16 $1, [$2];", at);
    cj_ptx(f, "cvt.u32.u16 $1, $2;", word, half);
    return word;
}

// The own k of the row to all peers, and to the own list. `from` is the row's first place.
static void send(const topk_kernel *k, cj_reg from) {
    cj_func *f = k->g.f;
    cj_step(f, "the own k, to all peers and to the own list");
    CJ_FOR(f, i, "u32", "place", k->g.thread, k->s.k, k->s.block) {
        cj_reg at = cj_add(f, "at", from, i), column = cj_u32(f, "column");
        cj_reg value = load_value(k, cj_mad_wide(f, "value_at", at, k->s.bytes, k->values));
        cj_ptx(f, "ld.global.u32 $1, [$2];", column, cj_mad_wide(f, "index_at", at, k->s.wide ? 8 : 4, k->indices));
        cj_update(f, column, "add", k->before);
        const cj_reg words[] = {value, column};
        cj_reg       slot = cj_mad(f, "slot", k->g.rank, k->s.rows * k->s.k, at);
        for (uint32_t q = 0; q < k->s.gpus; q++) {
            cj_reg to = cj_mad_wide(f, "to", slot, MESSAGE * CJ_MAIL_BYTES, k->mail[q]);
            CJ_UNLESS(f, k->g.mine[q], "no_peer")
                cj__mail_send(f, &k->g.message, cj_always(), to, CJ_BOX_MAIL, words, MESSAGE, k->g.epoch);
        }
        put(k, cj_mad(f, "number", k->g.rank, k->s.k, i), value, column);
    }
}

static void receive(const topk_kernel *k, cj_reg from) {
    cj_func *f = k->g.f;
    cj_step(f, "the lists of the others");
    CJ_FOR(f, i, "u32", "place", k->g.thread, k->s.k, k->s.block) {
        cj_reg at = cj_mad_wide(f, "from", cj_add(f, "at", from, i), MESSAGE * CJ_MAIL_BYTES, k->own_mail);
        cj_reg got[CJ_BOX_GPUS][GPUS_WORDS], none = cj_mov(f, "b32", "none", 0);
        const gpus_senders all = {at, CJ_BOX_MAIL, k->s.rows * k->s.k * MESSAGE * CJ_MAIL_BYTES, k->s.gpus, NULL};
        cj__gpus_receive_all(&k->g, &all, (cj_reg[]){none, none}, got);
        for (uint32_t q = 0; q < k->s.gpus; q++)
            CJ_UNLESS(f, k->g.mine[q], "own") put(k, number_of(k, q, i), got[q][0], got[q][1]);
    }
}

// ---- places

// Adds to `place` how many of GPU q's list come before a candidate of GPU g: greater keys, and equal ones of a lower GPU.
static void count_before(const topk_kernel *k, uint32_t q, uint32_t g, cj_reg key, cj_reg place) {
    cj_func *f = k->g.f;
    uint32_t step = 1;
    while (step * 2 <= k->s.k) step *= 2;
    cj_reg found = cj_mov(f, "u32", "found", 0);
    for (; step; step /= 2) {
        cj_reg next = cj_add(f, "next", found, step), comes = cj_le(f, "comes", next, k->s.k), other = cj_mov(f, "u32", "other", 0);
        cj_reg at = cj_mad(f, "other_at", number_of(k, q, next), KEY_BYTES, k->keys);
        cj_ptx(f, "@$1 ld.shared.u32 $2, [$3 + $4];", comes, other, at, -KEY_BYTES);
        cj_ptx(f, q < g ? "setp.ge.and.u32 $1, $2, $3, $1;" : "setp.gt.and.u32 $1, $2, $3, $1;", comes, other, key);
        cj_set_if(f, comes, found, next);
    }
    cj_update(f, place, "add", found);
}

static void store_result(const topk_kernel *k, cj_reg when, cj_reg at, cj_reg value, cj_reg column) {
    cj_func *f = k->g.f;
    cj_reg   to = cj_mad_wide(f, "value_to", at, k->s.bytes, k->values_to);
    if (k->s.bytes == 2)
        cj_ptx(f, "@$1 st.global.u16 [$2], $3;", when, to, cj_cvt(f, "u16", "half", value));
    else
        cj_ptx(f, "@$1 st.global.b32 [$2], $3;", when, to, value);
    cj_reg index = k->s.wide ? cj_cvt(f, "u64", "index", column) : column;
    cj__store(f, when, "st.global", k->s.wide ? "u64" : "u32", &index, 1,
              cj_mad_wide(f, "index_to", at, k->s.wide ? 8 : 4, k->indices_to), 0);
}

// Of GPU g's list, whose number says which candidates of equal keys come before its own.
static void place_list(const topk_kernel *k, uint32_t g, cj_reg from) {
    cj_func *f = k->g.f;
    CJ_FOR(f, i, "u32", "own_place", k->g.thread, k->s.k, k->s.block) {
        cj_reg number = number_of(k, g, i), place = cj_mov(f, "u32", "place", i), pair[2] = {cj_u32(f, "value"), cj_u32(f, "column")};
        cj_reg key = cj_let(f, "u32", "key", "ld.shared.u32 $1, [$2];", cj_mad(f, "key_at", number, KEY_BYTES, k->keys));
        cj__load(f, cj_always(), "ld.shared", "u32", pair, 2, cj_mad(f, "pair_at", number, PAIR_BYTES, k->pairs), 0);
        for (uint32_t q = 0; q < k->s.gpus; q++)
            if (q != g) count_before(k, q, g, key, place);
        cj_reg at = cj_add(f, "at", from, place), kept = cj_lt(f, "kept", place, k->s.k);
        store_result(k, kept, at, pair[0], pair[1]);
    }
}

// ---- the kernel

static void declare(topk_kernel *k) {
    gpus_kernel *g = &k->g;
    cj__gpus_given(g, &k->values, "own_values", "own_values[rows, k], in order");
    cj__gpus_given(g, &k->indices, "own_indices", "own_indices[rows, k], of this GPU's columns");
    cj__gpus_given(g, &k->values_to, "values", "values[rows, k]; may be own_values");
    cj__gpus_given(g, &k->indices_to, "indices", "indices[rows, k], of all columns; may be own_indices");
    cj__gpus_declare(g);
}

static void work(topk_kernel *k) {
    cj_func *f = k->g.f;
    k->pairs = cj_mov(f, "u32", "pairs", "pool");
    k->keys = cj_add(f, "keys", k->pairs, (uint64_t)k->s.gpus * k->s.k * PAIR_BYTES);
    k->before = cj_mul(f, "before", k->g.rank, k->s.columns);
    for (uint32_t q = 0; q < k->s.gpus; q++) k->mail[q] = cj_mad_wide(f, "mail", k->g.set, k->s.mail, k->g.box[q]);
    k->own_mail = cj_mad_wide(f, "own_mail", k->g.set, k->s.mail, k->g.own);
    CJ_FOR(f, row, "u32", "row", k->g.block, k->s.rows, k->s.grid) {
        cj_reg from = cj_mul(f, "row_first", row, k->s.k);
        send(k, from);
        cj__gpus_say_hello_at_row(&k->g, row);
        receive(k, from);
        cj_ptx(f, "bar.sync 0; // T1: all lists are here, and the own k have been read");
        cj_step(f, "each candidate to its place, if that is below k");
        for (uint32_t g = 0; g < k->s.gpus; g++) place_list(k, g, from);
        if (k->s.grid < k->s.rows) cj_ptx(f, "bar.sync 0; // T2: all places have been found");
    }
}

static void emit(const cj_plan *plan, cj_builder *b) {
    static const gpus_op op = {.name = "shardedtopk", .moves = true, .from_all = true};
    topk_kernel          k = {.s = shape_of(plan), .g = {.plan = plan}};
    const topk_shape    *s = &k.s;
    cj_head(b, "clusterjit: shardedtopk of %u GPUs  dtype=%s rows=%u columns=%u of each GPU, k=%u",
            s->gpus, s->type, s->rows, s->columns, s->k);
    cj_head(b, "\nThe %s of all columns, of the %u of each GPU: the same bits on all GPUs, in each run.",
            s->smallest ? "smallest" : "largest", s->k);
    cj_head(b, "\nLaunch: on each GPU, beside each other: grid %u, block %u threads.", s->grid, s->block);
    k.g.s = (gpus_shape){.op = &op, .gpus = s->gpus, .block = s->block, .grid = s->grid, .mail = s->mail};
    k.g.message = (cj_mailbox){.words = MESSAGE, .paired = true, .scope = "sys"};
    k.g.checksum = GPUS_CHECKSUM("shardedtopk", s->gpus, s->rows, s->columns, s->k, s->bytes, (unsigned char)s->type[0], s->smallest, s->mail);
    k.g.has_barrier = true;  // at T1: each block has a row
    cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.g.f = cj__entry(plan, b);
    cj__registers(plan, k.g.f, GPUS_REGISTERS, false);
    declare(&k);
    cj__gpus_open_thread(&k.g);
    cj__gpus_open_boxes(&k.g);
    work(&k);
    cj__gpus_close(&k.g);
}

// ---- the plan

static cj_status refuse(const topk_shape *s, const cj_limits *limits, cj_error *error) {
    const uint64_t lists = (uint64_t)s->gpus * s->k * CANDIDATE_BYTES;
    REFUSE_IF(s->k > s->columns, "k: %u is more than the %u columns of a GPU" CJ_HINT "choose a smaller k", s->k,
              s->columns);
    REFUSE_IF(lists > limits->shared_per_block_optin,
              "k: %u candidates of %u GPUs take %" PRIu64 " bytes of shared memory, a block has %u" CJ_HINT
              "choose a smaller k", s->k, s->gpus, lists, limits->shared_per_block_optin);
    REFUSE_IF(s->grid > s->rows, "grid: %u blocks are more than the %u rows" CJ_HINT "choose at most so many", s->grid,
              s->rows);
    REFUSE_IF(s->grid > limits->sm_count,
              "grid: %u blocks wait for each other, but %u are on the GPU at once" CJ_HINT "choose at most so many", s->grid,
              limits->sm_count);
    REFUSE_IF(s->used > s->mail && s->rows == 1,
              "k: %u of a row take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "a row goes in one launch: make mail larger, or k smaller", s->k, s->used, s->mail);
    REFUSE_IF(s->used > s->mail,
              "rows: %u of k = %u candidates take %" PRIu64 " bytes of mail, a set has %" PRIu64 CJ_HINT
              "make mail larger, or take fewer rows a launch", s->rows, s->k, s->used, s->mail);
    return CJ_OK;
}

static cj_status plan_topk(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    topk_shape     s = shape_of(plan);
    const uint64_t threads = cj__least(GPUS_THREADS, cj__round_up(s.k, 32));
    TRY(cj__refuse_bf16(plan, plan->params.family->name, s.type, error));
    plan->block = (cj_dim3){cj__gpus_keep(plan, TOPK_BLOCK, threads), 1, 1};
    plan->grid = (cj_dim3){cj__gpus_keep(plan, TOPK_GRID, cj__least(s.rows, cj__least(limits->sm_count, CJ_BOX_BLOCKS))), 1, 1};
    plan->dynamic_shared = s.gpus * s.k * CANDIDATE_BYTES;
    s = shape_of(plan);
    cj__name_entry(plan, "shardedtopk_%s_%u", s.type, s.gpus);
    return refuse(&s, limits, error);
}

static const cj_param_info params[] = {
#define PARAM(id, ...) [TOPK_##id] = {__VA_ARGS__},
#include "params.def"
};

const cj_family cj__family_shardedtopk = {
    CJ_FAMILY("shardedtopk", "GPUs: the k largest of rows whose columns are sharded, of the k largest of each", params, plan_topk, emit),
    .mail = TOPK_MAIL};

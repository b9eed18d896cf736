// SPDX-License-Identifier: Apache-2.0
// Rows of logits whose columns are sharded: GPU r has the columns r * columns to (r + 1) * columns - 1 of each row.
//
//   shardedcrossentropy  loss = lse - (1 - s) * x[label] - s / C * (sum of x); dx = scale * (p - (1 - s) * [column = label] - s / C),
//                        with lse = ln(sum of e^x), p = e^(x - lse), s = smoothing and C = gpus * columns
//   shardedsoftmax       y = e^(x - lse), or its logarithm
//
//   x --loads--> registers --> (largest, sum, x[label], sum of x) of the shard --st.relaxed.sys--> each peer's mail[set][sender][row]
//                                    own mail[set][sender][row] --lane q polls that of GPU q--> lse --> loss; registers or x --> dx
//
// A block takes every grid-th row, and finishes each one row later: while a message is on its way the block reads the next row. Lane q
// of the first warp has what GPU q says of a row; lanes combine in one order, so all GPUs get the same bits, in each run.
//
//   B1  bar.sync: all warps' parts of this row are in shared memory, before the first warp combines them; and all have read the result
//       of the row before the last one, before it writes that of the last one.
//   B2  bar.sync: the result of the last row is in shared memory, before all threads read it; and the parts of this row have been read, before
//       those of the next one are written.
//
// hold=shared: the block's next row is on its way to shared memory, by one bulk copy, while it combines this one and writes the
// last one: so HBM reads and writes all the time. After B1 all threads have written from the stage that the copy goes to.
//
// Epochs, hellos and sets are protocol/launch.c's. A block sends a row before it waits for the row before; all blocks are on the GPU at once
// where they take several rows (refuse): so the least row that is not finished has been sent by all, or will be, by blocks that
// wait for rows before it alone.
#include "sharded.h"

// ---- partials

static void clear(const cj_partials *kind, const cj_partial *part) {
    cj_set(kind->f, part->value[0], -3.40282347e38f);
    for (unsigned i = 1; i < kind->values; i++) cj_set(kind->f, part->value[i], 0.0f);
}

static cj_reg power(cj_func *f, cj_reg from, cj_reg largest) {
    cj_reg distance = cj_sub(f, "distance", from, largest);
    cj_update(f, distance, "mul", (float)CJ_LOG2E);
    cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", distance);
    return distance;
}

static void combine(const cj_partials *kind, const cj_partial *into, const cj_partial *from) {
    cj_func *f = kind->f;
    cj_reg   largest = cj_max(f, "largest", into->value[0], from->value[0]);
    cj_update(f, into->value[1], "mul", power(f, into->value[0], largest));
    cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", into->value[1], from->value[1], power(f, from->value[0], largest));
    cj_set(f, into->value[0], largest);
    if (kind->values > 2) cj_update(f, into->value[2], "add", from->value[2]);
}

static cj_partials partials(cj_func *f, const sharded_shape *s) {
    return (cj_partials){.f = f, .values = s->smoothing > 0 ? 3 : 2, .type = {"f32", "f32", "f32"}, .bytes = {4, 4, 4},
                         .suffix = {"_largest", "_sum", "_mean"}, .clear = clear, .combine = combine};
}

// Lane 0's, to all lanes.
static void spread(const cj_partials *kind, const cj_partial *part) {
    for (unsigned i = 0; i < kind->values; i++)
        cj__shuffle(kind->f, "idx", 4, part->value[i], part->value[i], CJ_ARG(0), 31);
}

// ---- the shard's part of this row, to all peers

static cj_reg as_word(cj_func *f, cj_reg value) { return cj_let(f, "b32", "word", "mov.b32 $1, $2;", value); }

// x[label], where this GPU has that column; else what nobody reads.
static cj_reg load_target(sharded_kernel *k) {
    cj_func *f = k->g.f;
    cj_reg   column = cj_sub(f, "column", cj__gpus_sharded_label(k, k->row), k->before);
    cj_reg   has = cj_let(f, "pred", "has_label", "setp.lt.u64 $1, $2, $3;", column, k->s.columns);
    cj_reg   at = cj_mad_wide(f, "target_at", k->row, k->s.columns * k->s.unit.bytes, k->x), number[GPUS_EACH], word;
    const gpus_unit one = {.type = k->s.unit.type, .bytes = k->s.unit.bytes, .words = 1, .each = 1};
    cj_ptx(f, "@$1 mad.lo.s64 $2, $3, $4, $2;", has, at, column, k->s.unit.bytes);
    word = cj_mov(f, "b32", "target_word", 0);
    cj__gpus_load_unit(f, &one, has, "ld.global", at, 0, &word);
    cj__gpus_widen(f, &one, &word, number);
    return number[0];
}

static void send(sharded_kernel *k, const cj_reg *words) {
    cj_func *f = k->g.f;
    cj_reg   index = cj_mad(f, "slot", k->g.rank, k->s.rows, k->row);
    cj_reg   at = cj_mad_wide(f, "to", index, k->s.words * CJ_MAIL_BYTES, k->peer);
    cj__mail_send(f, &k->g.message, k->is_peer, at, CJ_BOX_MAIL, words, k->s.words, k->g.epoch);
}

static void say(sharded_kernel *k, const cj_partial *part, cj_reg *words) {
    cj_func *f = k->g.f;
    cj_step(f, "the first warp: the shard's part of the row, to each peer by a lane");
    cj__slots_combine(&k->kind, &k->slots, k->lane, part);
    spread(&k->kind, part);
    cj_set(f, words[0], as_word(f, part->value[0]));
    cj_set(f, words[1], as_word(f, part->value[1]));
    if (k->s.labels) cj_set(f, words[2], as_word(f, load_target(k)));
    if (k->s.labels && k->s.smoothing > 0) cj_set(f, words[3], as_word(f, part->value[2]));
    send(k, words);
}

// ---- the previous row: what all said

static cj_reg as_float(cj_func *f, const char *name, cj_reg word) { return cj_let(f, "f32", name, "mov.b32 $1, $2;", word); }

// loss and lse, by lane 0; the factor of the gradient. target: of lane q what GPU q said.
static cj_reg write_loss(sharded_kernel *k, const cj_partial *part, cj_reg log2_factor, cj_reg target) {
    cj_func     *f = k->g.f;
    cj_reg       label = cj__gpus_sharded_label(k, k->previous), factor = cj_none();
    if (k->s.writes) factor = cj_mov(f, "f32", "factor", (float)k->s.scale);
    cj_reg       ignored = cj_eq(f, "ignored", label, (int64_t)k->s.ignore);
    cj_reg       owner = cj_let(f, "u64", "owner", "div.u64 $1, $2, $3;", label, k->s.columns);
    cj_reg       there = cj_let(f, "pred", "there", "setp.lt.u64 $1, $2, $3;", owner, k->s.gpus);
    cj_reg       from = cj_let(f, "u32", "from_lane", "cvt.u32.u64 $1, $2;", owner);
    cj_update(f, from, "and", 31);
    cj__shuffle(f, "idx", 4, target, target, CJ_ARG(from), 31);
    cj_ptx(f, "@!$1 mov.f32 $2, 0f7FFFFFFF; // no column has that label", there, target);
    cj_reg ln_powers = cj_mul(f, "ln_powers", log2_factor, (float)-CJ_LN2);
    cj_reg lse = cj_add(f, "lse", part->value[0], ln_powers);
    cj_reg below = cj_sub(f, "below", part->value[0], target);
    if (k->s.smoothing > 0) cj_update(f, below, "mul", (float)(1 - k->s.smoothing));
    cj_reg loss = cj_add(f, "loss", below, ln_powers);
    if (k->s.smoothing > 0) {
        cj_reg mean_below = cj_let(f, "f32", "mean_below", "fma.rn.f32 $1, $2, $3, $4;", part->value[2], -2.0f, part->value[0]);
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", loss, mean_below, (float)k->s.smoothing);
    }
    cj_ptx(f, "@$1 mov.f32 $2, 0f00000000;", ignored, loss);
    if (k->s.writes) cj_ptx(f, "@$1 mov.f32 $2, 0f00000000;", ignored, factor);
    cj__store(f, k->leads, "st.global", "f32", &loss, 1, cj_mad_wide(f, "loss_at", k->previous, 4, k->loss), 0);
    cj__store(f, k->leads, "st.global", "f32", &lse, 1, cj_mad_wide(f, "lse_at", k->previous, 4, k->lse), 0);
    return factor;
}

static void hear(sharded_kernel *k) {
    cj_func         *f = k->g.f;
    cj_reg           words[GPUS_WORDS];
    const cj_partial part = cj__partial_new(&k->kind, "row");
    cj_step(f, "the first warp: lane q has what GPU q said of the previous row");
    for (uint32_t w = 0; w < k->s.words; w++) words[w] = cj_mov(f, "b32", "heard", k->said[w]);
    cj_reg index = cj_mad(f, "slot", k->lane, k->s.rows, k->previous);
    cj_reg at = cj_mad_wide(f, "from", index, k->s.words * CJ_MAIL_BYTES, k->own_mail);
    CJ_IF(f, k->is_peer, "no_peer") cj__gpus_receive_from(&k->g, &k->g.message, at, CJ_BOX_MAIL, k->lane, words);
    clear(&k->kind, &part);
    cj_reg has = cj_lt(f, "is_gpu", k->lane, k->s.gpus);
    for (unsigned i = 0; i < k->kind.values; i++) cj_ptx(f, "@$1 mov.b32 $2, $3;", has, part.value[i], words[i < 2 ? i : 3]);
    cj__warp_combine(&k->kind, &part, k->s.gpus);
    spread(&k->kind, &part);
    cj_reg log2_factor = cj_let(f, "f32", "log2_factor", "lg2.approx.ftz.f32 $1, $2;\nneg.f32 $1, $1;", part.value[1]);
    cj_reg factor = cj_none();
    if (k->s.labels) factor = write_loss(k, &part, log2_factor, as_float(f, "target", words[2]));
    if (!k->s.writes) return;
    cj_ptx(f, "@$1 st.shared.v2.f32 [$2], {$3, $4};", k->leads, k->results, part.value[0], log2_factor);
    if (k->s.labels) cj_ptx(f, "@$1 st.shared.f32 [$2 + 8], $3;", k->leads, k->results, factor);
}

// ---- the kernel

static void declare(sharded_kernel *k) {
    gpus_kernel *g = &k->g;
    cj__gpus_given(g, &k->x, "x", "x[rows, columns], this GPU's columns");
    if (k->s.labels) {
        cj__gpus_given(g, &k->label, "label", "label[rows], of all columns, the same on all GPUs");
        cj__gpus_given(g, &k->loss, "loss", "loss[rows]");
        cj__gpus_given(g, &k->lse, "lse", "lse[rows], the logarithm of the sum of e^x");
    }
    if (k->s.writes) cj__gpus_given(g, &k->out, k->s.labels ? "dx" : "y", "[rows, columns], this GPU's columns");
    cj__gpus_declare(g);
}

static void open_rows(sharded_kernel *k) {
    cj_func *f = k->g.f;
    k->slots = cj__slots_make(&k->kind, "slots", k->s.block / 32);
    if (k->s.writes) k->results = cj_shared_address(f, cj_shared(f, "f32", "results", 3, 8));
    k->warp = cj_shr(f, "warp", k->g.thread, 5);
    k->lane = cj_and(f, "lane", k->g.thread, 31);
    k->leads = cj_eq(f, "leads", k->lane, 0);
    k->first_warp = cj_eq(f, "is_first_warp", k->warp, 0);
    if (k->s.labels) k->before = cj_let(f, "s64", "before", "mul.wide.u32 $1, $2, $3;", k->g.rank, k->s.columns);
    cj_step(f, "lane q's peer is GPU q");
    cj_reg set = cj_mul_wide(f, "set_bytes", k->g.set, k->s.mail);
    k->own_mail = cj_add(f, "own_mail", k->g.own, set);
    k->peer = cj_mov(f, "u64", "peer", k->g.box[0]);
    for (uint32_t q = 1; q < k->s.gpus; q++) cj_set_if(f, cj_eq(f, "is_peer", k->lane, q), k->peer, k->g.box[q]);
    cj_update(f, k->peer, "add", set);
    k->is_peer = cj_ne(f, "is_peer", k->lane, k->g.rank);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", k->is_peer, k->lane, k->s.gpus);
    for (uint32_t w = 0; w < k->s.words; w++) k->said[w] = cj_mov(f, "b32", "said", 0);
    for (uint32_t u = 0; u < k->s.per && k->s.hold; u++)
        for (uint32_t w = 0; w < k->s.unit.words; w++) k->last[u][w] = cj_mov(f, "b32", "last", 0);
}

static void work(sharded_kernel *k) {
    cj_func *f = k->g.f;
    CJ_FOR(f, row, "u32", "row", k->g.block, k->s.rows + k->s.grid, k->s.grid) {
        cj_reg           has_row = cj_lt(f, "has_row", row, k->s.rows), has_previous = cj_ge(f, "has_previous", row, k->s.grid);
        const cj_partial part = cj__partial_new(&k->kind, "part");
        cj_reg           words[GPUS_WORDS];
        k->row = row;
        k->previous = cj_sub(f, "previous", row, k->s.grid);
        for (uint32_t u = 0; u < k->s.per; u++)
            for (uint32_t w = 0; w < k->s.unit.words; w++) k->held[u][w] = cj_mov(f, "b32", "held", 0);
        CJ_IF_UNI(f, has_row, "no_row") {
            if (k->s.stage) cj_pipeline_wait(f, &k->pipeline, &k->at);
            cj__gpus_sharded_part(k, &part);
            cj__warp_combine(&k->kind, &part, 32);
            cj__slot_store(&k->kind, &k->slots, k->warp, k->leads, &part);
        }
        cj_ptx(f, "bar.sync 0; // B1: all warps' parts are here");
        if (k->s.stage) cj__gpus_sharded_fetch_next(k);
        CJ_IF_UNI(f, k->first_warp, "other_warp") {
            for (uint32_t w = 0; w < k->s.words; w++) words[w] = cj_mov(f, "b32", "saying", 0);
            CJ_IF_UNI(f, has_row, "nothing_to_say") say(k, &part, words);
            CJ_IF_UNI(f, has_previous, "nothing_to_hear") hear(k);
            for (uint32_t w = 0; w < k->s.words; w++) cj_set(f, k->said[w], words[w]);
        }
        cj_ptx(f, "bar.sync 0; // B2: the previous row's result is here, and this one's parts have been read");
        if (k->s.writes) CJ_IF_UNI(f, has_previous, "nothing_to_write") cj__gpus_sharded_write(k);
        for (uint32_t u = 0; u < k->s.per && k->s.hold; u++)
            for (uint32_t w = 0; w < k->s.unit.words; w++) cj_set(f, k->last[u][w], k->held[u][w]);
        if (k->s.stage) cj_pipeline_next(f, &k->pipeline, &k->at);
    }
}

static uint32_t checksum(const sharded_shape *s) {
    return GPUS_CHECKSUM(s->labels ? "shardedcrossentropy" : "shardedsoftmax", s->gpus, s->rows, s->columns, s->unit.bytes,
                     s->unit.type[0] == 'b', s->words, s->mail, s->log, s->writes, (uint64_t)(int64_t)s->ignore, (uint64_t)(s->smoothing * 1e9));
}

static void write_head(const cj_plan *plan, const sharded_shape *s, cj_builder *b) {
    cj_head(b, "clusterjit: %s of %u GPUs  dtype=%s rows=%u columns=%u of each GPU",
            plan->params.family->name, s->gpus, s->unit.type, s->rows, s->columns);
    if (s->labels)
        cj_head(b, "\nloss and lse of rows of all columns: the same bits on all GPUs, in each run%s.", s->writes ? "; dx of the own columns" : "");
    else
        cj_head(b, "\ny: the %ssoftmax of rows of all columns, the own ones of it.", s->log ? "logarithm of the " : "");
    if (s->writes) cj_head(b, "\n%s may be x.", s->labels ? "dx" : "y");
    cj_head(b, "\nLaunch: on each GPU, beside each other: grid %u, block %u threads.", s->grid, s->block);
}

static void emit(const cj_plan *plan, cj_builder *b) {
    const sharded_shape s = cj__gpus_sharded_shape(plan);
    const gpus_op       op = {.name = plan->params.family->name, .moves = true};
    sharded_kernel      k = {.s = s, .g = {.plan = plan}};
    k.g.s = (gpus_shape){.op = &op, .gpus = s.gpus, .block = s.block, .grid = s.grid, .mail = s.mail};
    k.g.message = (cj_mailbox){.words = s.words, .paired = true, .scope = "sys"};
    k.g.checksum = checksum(&s);
    k.g.has_barrier = true;  // at B1 and B2, also in a block without a row
    write_head(plan, &s, b);
    if (s.stage) cj_declare(b, ".extern .shared .align 16 .b8 sharded_rows[];");
    k.g.f = cj__entry(plan, b);
    if (s.hold || s.stage)
        cj__registers(plan, k.g.f, 2 * GPUS_REGISTERS, s.smoothing > 0);  // as one block has an SM; with smoothing ptxas spills some
    else
        cj__blocks_per_sm(plan, k.g.f, 2);
    k.kind = partials(k.g.f, &s);
    declare(&k);
    cj__gpus_open_thread(&k.g);
    cj__gpus_open_boxes(&k.g);
    open_rows(&k);
    cj__gpus_say_hello(&k.g, k.g.speaks);
    if (s.stage) cj__gpus_sharded_open_stages(&k);
    work(&k);
    cj__gpus_close(&k.g);
}

static const cj_param_info labelled[] = {
#define PARAM(id, ...) [SHARDED_##id] = {__VA_ARGS__},
#define LABELS PARAM
#include "params.def"
};

static const cj_param_info softmax[] = {
#define PARAM(id, ...) [SHARDED_##id] = {__VA_ARGS__},
#define SOFTMAX PARAM
#include "params.def"
};

// own: there are labels.
const cj_family cj__family_shardedcrossentropy = {
    CJ_FAMILY("shardedcrossentropy", "GPUs: loss and gradient of rows of logits whose columns are sharded", labelled,
              cj__gpus_sharded_plan, emit), .mail = SHARDED_MAIL, .own = labelled};
const cj_family cj__family_shardedsoftmax = {
    CJ_FAMILY("shardedsoftmax", "GPUs: softmax of rows whose columns are sharded", softmax, cj__gpus_sharded_plan, emit),
    .mail = SHARDED_MAIL};

// SPDX-License-Identifier: Apache-2.0
// allreducenorm: all-reduce, residual and norm of rows in one launch on each GPU.
//
//   sum = residual + x[0] + x[1] + …     of all GPUs, combined in pairs of neighbours in f32, rounded once
//   y   = norm(sum) * weight + bias      rms: sum / sqrt(mean(sum^2) + epsilon); layer: (sum - mean) / sqrt(variance + epsilon)
//
//   x --loads--> messages --st.relaxed.sys--> peers' mail[set]     own mail --polls--> registers --norm--> sum, y
//
//   one shot     each GPU sends its rows to all, and combines all rows
//   two shots    row r is combined by GPU r mod gpus, which adds the residual and sends the sum to all
//   tags=blocks  two shots whose words have no epochs beside them: half the bytes; flags say that a block's have come (flags.c)
//
// The norm is that of the sum as it is written, so both ways give the same bits, on all GPUs, in each run. A row is one block's
// or one cluster's: it stays in registers from the mail to y. A thread has the same units of a row all the way; only the sum
// over the row passes between threads:
//
//   N1  bar.sync: all warps' parts of the row are in shared memory. Slots alternate: a warp that writes those of sum i + 2 has
//       passed N1 of sum i + 1, to which all warps came after their reading of the slots of sum i.
//
// Blocks of a cluster combine theirs by a collective of the cluster (clusterjit/collectives.h).
// Epochs, hellos and sets are protocol/launch.c's. A block sends a row before it waits for it, and a thread takes its rows in their order.
// Either each team has one row, or all teams are on the GPU at once (plan.c): so the least row that is not ready
// has begun on all GPUs, or will, and its sends wait for no one but the owner of two shots, which waits for sends alone.
#include "norm.h"

enum { SLOTS = 16, EARLY_WORDS = 8 };  // warps of a block, at most; words of the residual that a thread loads before it waits

typedef struct kernel {
    gpus_kernel    g;
    norm_shape     s;
    cj_reg         x, residual, sum, y, weight, bias;
    cj_reg         lane, slot, slot_of_lane, reads, leads;  // of the sum over a row
    cj_collectives c;
    cj_reg         team, own_thread;                        // of the cluster's threads
    // Of a row:
    cj_reg row, index;                        // of the thread's first unit in the matrix
    cj_reg residual_at;
    cj_reg exists[NORM_HELD];                 // cj_always(), or whether the thread has a unit u
    cj_reg held[NORM_HELD][GPUS_WORDS];       // x, then the sum
    cj_reg added[NORM_HELD][GPUS_WORDS];      // the residual
} kernel;

static const cj_combine sum_of_floats = {.op = CJ_COMBINE_SUM, .type = "f32"};

// ---- addresses

static uint32_t step(const norm_shape *s) { return s->block * s->cluster; }  // units from a thread's one to its next

static uint32_t unit_offset(const kernel *k, uint32_t u) { return u * step(&k->s) * cj__gpus_unit_bytes(&k->s.unit); }
static uint32_t mail_offset(const kernel *k, uint32_t u) {
    return CJ_BOX_MAIL + u * step(&k->s) * cj__gpus_slot(k->s.unit.words);
}

static cj_reg address(kernel *k, const char *name, cj_reg base, cj_reg index) {
    return cj_mad_wide(k->g.f, name, index, cj__gpus_unit_bytes(&k->s.unit), base);
}

// Of the thread's first unit in the place `row` of a mail: a row has the first pairs of its units, then the second ones.
static cj_reg slot_address(kernel *k, const char *name, cj_reg mail, cj_reg row) {
    const uint32_t slots = k->s.units * (k->s.unit.words > 1 ? k->s.unit.words / 2 : 1);
    cj_reg         slot = cj_mad(k->g.f, "slot", row, slots, k->own_thread);
    return cj_mad_wide(k->g.f, name, slot, cj__gpus_slot(k->s.unit.words), mail);
}

#define EACH_UNIT(k, u)                                \
    for (uint32_t u = 0; u < (k)->s.per; u++)           \
        CJ_IF((k)->g.f, (k)->exists[u], "no_unit")

// ---- loads and messages

// What a unit that is not there holds, so that it adds nothing.
static void clear(kernel *k, uint32_t u, cj_reg *words, const char *name) {
    cj_registers(k->g.f, "b32", name, k->s.unit.words, words);
    for (uint32_t w = 0; w < k->s.unit.words && !cj_is_always(k->exists[u]); w++) cj_set(k->g.f, words[w], 0);
}

static void load_residual(kernel *k, uint32_t u) {
    clear(k, u, k->added[u], "added");
    cj__gpus_load_unit(k->g.f, &k->s.unit, k->exists[u], "ld.global", k->residual_at, unit_offset(k, u), k->added[u]);
}

// Before the wait for the mail, where there are registers for it.
static bool is_early(const norm_shape *s) { return s->per * s->unit.words <= EARLY_WORDS; }

static void load_row(kernel *k) {
    cj_func *f = k->g.f;
    cj_step(f, "the thread's units of the row");
    k->index = cj_mad(f, "index", k->row, k->s.units, k->own_thread);
    cj_reg at = address(k, "x_at", k->x, k->index);
    for (uint32_t u = 0; u < k->s.per; u++) {
        const bool always = (u + 1) * step(&k->s) <= k->s.units;
        k->exists[u] = always ? cj_always() : cj_lt(f, "exists", k->own_thread, (int64_t)k->s.units - u * step(&k->s));
        clear(k, u, k->held[u], "held");
        cj__gpus_load_unit(f, &k->s.unit, k->exists[u], "ld.global", at, unit_offset(k, u), k->held[u]);
    }
    if (!k->s.residual) return;
    k->residual_at = address(k, "residual_at", k->residual, k->index);
    for (uint32_t u = 0; u < k->s.per && is_early(&k->s); u++) load_residual(k, u);
}

static void send(kernel *k, cj_reg at, uint32_t before, uint32_t u) {
    cj__mail_send(k->g.f, &k->g.message, cj_always(), at, mail_offset(k, u) + before, k->held[u], k->s.unit.words, k->g.epoch);
}

static void send_to_all(kernel *k, cj_reg row, uint32_t before) {
    for (uint32_t i = 1; i < k->s.gpus; i++) {
        cj_reg at = slot_address(k, "to", k->g.mail[i], row);
        EACH_UNIT(k, u) send(k, at, before, u);
    }
}

// held = the residual and what all GPUs sent of the unit.
static void add_up(kernel *k, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS], uint32_t u) {
    cj_func *f = k->g.f;
    cj_reg   number[CJ_BOX_GPUS][GPUS_EACH], more[GPUS_EACH], total[GPUS_EACH];
    for (uint32_t q = 0; q < k->s.gpus; q++) cj__gpus_widen(f, &k->s.unit, got[q], number[q]);
    if (k->s.residual && !is_early(&k->s)) load_residual(k, u);
    if (k->s.residual) cj__gpus_widen(f, &k->s.unit, k->added[u], more);
    for (uint32_t i = 0; i < k->s.unit.each; i++) {
        cj_reg of_all[CJ_BOX_GPUS];
        for (uint32_t q = 0; q < k->s.gpus; q++) of_all[q] = number[q][i];
        cj__fold_all(f, &sum_of_floats, of_all, k->s.gpus);
        total[i] = of_all[0];
        if (k->s.residual) cj_update(f, total[i], "add", more[i]);
    }
    cj__gpus_narrow(k->g.plan, f, &k->s.unit, total, k->held[u]);
}

// The messages begin at `at`, `stride` bytes apart.
static void combine(kernel *k, cj_reg at, uint32_t stride, uint32_t u) {
    cj_reg got[CJ_BOX_GPUS][GPUS_WORDS];
    cj__gpus_receive_all(&k->g, &(gpus_senders){at, mail_offset(k, u), stride, k->s.gpus, NULL}, k->held[u], got);
    add_up(k, got, u);
}

static void one_shot(kernel *k) {
    const uint32_t stride = k->s.rows * k->s.units * cj__gpus_message_bytes(&k->s.unit);
    cj_step(k->g.f, "to all peers; and the sum of what all sent");
    send_to_all(k, cj_mad(k->g.f, "row_of_rank", k->g.rank, k->s.rows, k->row), 0);
    cj_reg at = slot_address(k, "from", k->g.mail[0], k->row);
    EACH_UNIT(k, u) combine(k, at, stride, u);
}

// Of another GPU.
static cj_reg mail_of(kernel *k, cj_reg owner) {
    cj_func *f = k->g.f;
    cj_reg   mail = cj_mov(f, "u64", "owners_mail", k->g.mail[1]);
    for (uint32_t i = 2; i < k->s.gpus; i++) {
        cj_reg peer = cj__gpus_peer(&k->g, i);
        cj_set_if(f, cj_eq(f, "is_owner", owner, peer), mail, k->g.mail[i]);
    }
    return mail;
}

// Mail: the parts of the rows that this GPU combines, by sender; then the sums of all rows.
static void two_shots(kernel *k) {
    cj_func       *f = k->g.f;
    const uint32_t bytes = cj__gpus_message_bytes(&k->s.unit), each = k->s.owned * k->s.units;
    const uint32_t sums = k->s.gpus * each * bytes;
    cj_reg         owner = cj_rem(f, "owner", k->row, k->s.gpus), among = cj_div(f, "among", k->row, k->s.gpus);
    cj_reg         owns = cj_eq(f, "owns", owner, k->g.rank);
    CJ_IF_ELSE(f, owns, "passes", "summed") {
        cj_step(f, "the owner of the row: the sum of what all sent, to all");
        cj_reg at = slot_address(k, "from", k->g.mail[0], among);
        EACH_UNIT(k, u) combine(k, at, each * bytes, u);
        send_to_all(k, k->row, sums);
    } else {
        cj_step(f, "the others: to the owner, and the sum from it");
        cj_reg to = mail_of(k, owner), row = cj_mad(f, "row_of_rank", k->g.rank, k->s.owned, among);
        to = slot_address(k, "to", to, row);
        EACH_UNIT(k, u) send(k, to, 0, u);
        cj_reg at = slot_address(k, "from", k->g.mail[0], k->row);
        EACH_UNIT(k, u) cj__gpus_receive_from(&k->g, &k->g.message, at, mail_offset(k, u) + sums, owner, k->held[u]);
    }
}

// ---- two shots without tags: words lie as in the row, and flags (flags.c) say that all of a block have come

static uint32_t words_offset(const kernel *k, uint32_t u) { return CJ_BOX_MAIL + 4 * u * step(&k->s) * k->s.unit.words; }

static cj_reg words_address(kernel *k, cj_reg mail, cj_reg row) {
    cj_reg index = cj_mad(k->g.f, "place", row, k->s.units, k->own_thread);
    return cj_mad_wide(k->g.f, "words_at", index, 4 * k->s.unit.words, mail);
}

static void push(kernel *k, cj_reg at, uint32_t before, uint32_t u) {
    cj__store(k->g.f, cj_always(), "st.global", "b32", k->held[u], k->s.unit.words, at, words_offset(k, u) + before);
}

static void pull(kernel *k, cj_reg at, uint32_t before, uint32_t u, const cj_reg *words) {
    cj__load(k->g.f, cj_always(), "ld.global", "b32", words, k->s.unit.words, at, words_offset(k, u) + before);
}

static void push_sum(kernel *k, cj_reg among, uint32_t part, uint32_t sums) {
    cj_reg from = words_address(k, k->g.mail[0], among);
    EACH_UNIT(k, u) {
        cj_reg got[CJ_BOX_GPUS][GPUS_WORDS];
        for (uint32_t q = 0; q < k->s.gpus; q++) {
            cj_registers(k->g.f, "b32", "got", k->s.unit.words, got[q]);
            pull(k, from, q * part, u, got[q]);
        }
        for (uint32_t q = 0; q < k->s.gpus; q++)
            for (uint32_t w = 0; w < k->s.unit.words; w++) cj_set_if(k->g.f, k->g.mine[q], got[q][w], k->held[u][w]);
        add_up(k, got, u);
    }
    for (uint32_t i = 1; i < k->s.gpus; i++) {
        cj_reg to = words_address(k, k->g.mail[i], k->row);
        EACH_UNIT(k, u) push(k, to, sums, u);
    }
}

static void by_blocks(kernel *k) {
    cj_func       *f = k->g.f;
    const uint32_t part = 4 * k->s.owned * k->s.units * k->s.unit.words, sums = k->s.gpus * part;
    cj_reg         owner = cj_rem(f, "owner", k->row, k->s.gpus), among = cj_div(f, "among", k->row, k->s.gpus);
    cj_reg         owns = cj_eq(f, "owns", owner, k->g.rank);
    CJ_UNLESS(f, owns, "stays") {
        cj_step(f, "to the owner of the row");
        cj_reg to = mail_of(k, owner), row = cj_mad(f, "row_of_rank", k->g.rank, k->s.owned, among);
        to = words_address(k, to, row);
        EACH_UNIT(k, u) push(k, to, 0, u);
    }
    cj_ptx(f, "bar.sync 0; // S1: all threads have stored");
    cj__gpus_exchange_flags(&k->g, GPUS_BEGIN, NULL);
    cj_ptx(f, "bar.sync 0; // S2: the flags have come, for all threads");
    CJ_IF(f, owns, "summed") {
        cj_step(f, "the owner: the sum of what all sent, to all");
        push_sum(k, among, part, sums);
    }
    cj_ptx(f, "bar.sync 0; // S3: all threads have stored");
    cj__gpus_exchange_flags(&k->g, GPUS_END, NULL);
    cj_ptx(f, "bar.sync 0; // S4: the flags have come, for all threads");
    CJ_UNLESS(f, owns, "has_sum") {
        cj_reg at = words_address(k, k->g.mail[0], k->row);
        EACH_UNIT(k, u) pull(k, at, sums, u, k->held[u]);
    }
}

// ---- the norm

// The sum over the row of what each thread has, to all threads.
static cj_reg over_row(kernel *k, cj_reg part) {
    cj_func *f = k->g.f;
    cj_warp_reduce(f, sum_of_floats, part, 32);
    if (k->s.block > 32) {
        cj_ptx(f, "@$1 st.shared.f32 [$2], $3;", k->leads, k->slot, part);
        cj_ptx(f, "bar.sync 0; // N1: all warps' parts are here");
        cj_set(f, part, 0.0f);
        cj_ptx(f, "@$1 ld.shared.f32 $2, [$3];", k->reads, part, k->slot_of_lane);
        cj_warp_reduce(f, sum_of_floats, part, 32);
        cj_update(f, k->slot, "xor", 4 * SLOTS);
        cj_update(f, k->slot_of_lane, "xor", 4 * SLOTS);
    }
    if (k->s.cluster > 1) {
        const cj_collective all = {.op = CJ_COLLECTIVE_ALLREDUCE, .type = "f32", .combine = sum_of_floats};
        cj_collective_value(f, &k->c, &all, part, part);
    }
    return part;
}

// mean and 1 / deviation; the mean of rms is none.
static cj_reg deviation(kernel *k, cj_reg *mean) {
    cj_func *f = k->g.f;
    cj_reg   number[GPUS_EACH], squares = cj_mov(f, "f32", "squares", 0.0f);
    if (k->s.layer) {
        cj_step(f, "the row's mean");
        cj_reg part = cj_mov(f, "f32", "part", 0.0f);
        for (uint32_t u = 0; u < k->s.per; u++) {
            cj__gpus_widen(f, &k->s.unit, k->held[u], number);
            for (uint32_t i = 0; i < k->s.unit.each; i++) cj_update(f, part, "add", number[i]);
        }
        *mean = over_row(k, part);
        if (k->s.columns > 1) cj_update(f, *mean, "mul", (float)(1 / (double)k->s.columns));
    }
    cj_step(f, "the row's squares");
    EACH_UNIT(k, u) {
        cj__gpus_widen(f, &k->s.unit, k->held[u], number);
        for (uint32_t i = 0; i < k->s.unit.each; i++) {
            if (k->s.layer) cj_update(f, number[i], "sub", *mean);
            cj_ptx(f, "fma.rn.f32 $1, $2, $2, $1;", squares, number[i]);
        }
    }
    squares = over_row(k, squares);
    cj_reg rstd = cj_mov(f, "f32", "rstd", (float)k->s.epsilon);
    cj_ptx(f, k->s.columns > 1 ? "fma.rn.f32 $1, $2, $3, $1;" : "add.f32 $1, $1, $2;", rstd, squares,
           (float)(1 / (double)k->s.columns));
    cj__inverse_root(f, rstd, k->s.epsilon);
    return rstd;
}

static void write_row(kernel *k, cj_reg mean, cj_reg rstd) {
    cj_func *f = k->g.f;
    cj_step(f, "sum and y");
    cj_reg sum_at = address(k, "sum_at", k->sum, k->index), y_at = address(k, "y_at", k->y, k->index);
    cj_reg weight_at = cj_none(), bias_at = cj_none();
    if (k->s.weight) weight_at = address(k, "weight_at", k->weight, k->own_thread);
    if (k->s.bias) bias_at = address(k, "bias_at", k->bias, k->own_thread);
    EACH_UNIT(k, u) {
        cj_reg         y[GPUS_EACH], factor[GPUS_EACH], more[GPUS_EACH], words[GPUS_WORDS];
        const uint32_t offset = unit_offset(k, u);
        cj__gpus_store_unit(f, &k->s.unit, sum_at, offset, k->held[u]);
        cj__gpus_widen(f, &k->s.unit, k->held[u], y);
        cj_registers(f, "b32", "word", k->s.unit.words, words);
        if (k->s.weight) {
            cj__gpus_load_unit(f, &k->s.unit, cj_always(), "ld.global", weight_at, offset, words);
            cj__gpus_widen(f, &k->s.unit, words, factor);
        }
        if (k->s.bias) {
            cj__gpus_load_unit(f, &k->s.unit, cj_always(), "ld.global", bias_at, offset, words);
            cj__gpus_widen(f, &k->s.unit, words, more);
        }
        for (uint32_t i = 0; i < k->s.unit.each; i++) {
            if (k->s.layer) cj_update(f, y[i], "sub", mean);
            cj_update(f, y[i], "mul", rstd);
            if (k->s.weight) cj_update(f, y[i], "mul", factor[i]);
            if (k->s.bias) cj_update(f, y[i], "add", more[i]);
        }
        cj__gpus_narrow(k->g.plan, f, &k->s.unit, y, words);
        cj__gpus_store_unit(f, &k->s.unit, y_at, offset, words);
    }
}

// ---- the kernel

static void declare(kernel *k) {
    gpus_kernel *g = &k->g;
    cj__gpus_given(g, &k->x, "x", "x[rows, columns], this GPU's part of the sum");
    if (k->s.residual) cj__gpus_given(g, &k->residual, "residual", "residual[rows, columns], the same on all GPUs");
    cj__gpus_given(g, &k->sum, "sum", "sum[rows, columns]");
    cj__gpus_given(g, &k->y, "y", "y[rows, columns]");
    if (k->s.weight) cj__gpus_given(g, &k->weight, "weight", "weight[columns]");
    if (k->s.bias) cj__gpus_given(g, &k->bias, "bias", "bias[columns]");
    cj__gpus_declare(g);
}

static void open_sums(kernel *k) {
    cj_func *f = k->g.f;
    k->team = k->g.block;
    k->own_thread = k->g.thread;
    if (k->s.block > 32) {
        cj_reg slots = cj_shared_address(f, cj_shared(f, "f32", "slots", 2 * SLOTS, 8 * SLOTS));
        cj_reg warp = cj_shr(f, "warp", k->g.thread, 5);
        k->lane = cj_and(f, "lane", k->g.thread, 31);
        k->leads = cj_eq(f, "leads", k->lane, 0);
        k->reads = cj_lt(f, "reads", k->lane, k->s.block / 32);
        k->slot = cj_mad(f, "slot_of_warp", warp, 4, slots);
        k->slot_of_lane = cj_mad(f, "slot_of_lane", k->lane, 4, slots);
    }
    if (k->s.cluster == 1) return;
    const cj_collectives_desc desc = {
        .strategy = CJ_STRATEGY_PUSH, .cluster = k->s.cluster, .threads = k->s.block, .values = true, .combines = true};
    k->c = cj_collectives_open(f, &desc);
    k->team = cj__group_number(f, "team", k->s.cluster);
    cj_reg place = cj_mov(f, "u32", "place", "%cluster_ctarank");
    k->own_thread = cj_mad(f, "own_thread", place, k->s.block, k->g.thread);
}

static void work(kernel *k) {
    cj_func *f = k->g.f;
    cj__gpus_open_mail(&k->g);
    if (k->s.cluster > 1) cj_collectives_ready(f, &k->c);
    if (k->s.by_blocks) k->g.what = cj_mov(f, "u32", "what", (uint64_t)k->g.checksum);
    CJ_FOR(f, row, "u32", "row", k->team, k->s.rows, k->s.teams) {
        cj_reg mean = cj_none();
        k->row = row;
        load_row(k);
        if (!k->s.by_blocks) cj__gpus_say_hello_at_row(&k->g, row);
        (k->s.by_blocks ? by_blocks : k->s.shots == 2 ? two_shots : one_shot)(k);
        cj_reg rstd = deviation(k, &mean);
        write_row(k, mean, rstd);
    }
    if (k->s.cluster > 1) cj_collectives_close(f, &k->c);
}

static uint32_t checksum(const norm_shape *s) {
    return GPUS_CHECKSUM("allreducenorm", s->gpus, s->rows, s->columns, s->unit.bytes, s->unit.words, s->shots, s->mail, s->layer, s->residual,
                     s->weight, s->bias, s->unit.type[0] == 'b', (uint64_t)(s->epsilon * 1e12), s->by_blocks ? s->block : 0,
                     s->by_blocks ? s->cluster : 0);
}

static void emit(const cj_plan *plan, cj_builder *b) {
    static const gpus_op op = {.name = "allreducenorm", .moves = true, .from_all = true};
    const norm_shape     s = cj__gpus_norm_shape(plan);
    kernel               k = {.s = s, .g = {.plan = plan}};
    k.g.s = (gpus_shape){.op = &op, .gpus = s.gpus, .block = s.block, .grid = plan->grid.x, .mail = s.mail,
                         .by_blocks = s.by_blocks};
    k.g.message = cj__gpus_message(s.unit.words, s.units);
    k.g.checksum = checksum(&s);
    k.g.has_barrier = s.by_blocks;  // at S1 to S4
    cj_head(b, "clusterjit: allreducenorm of %u GPUs  dtype=%s rows=%u columns=%u norm=%s shots=%u%s",
            s.gpus, s.unit.type, s.rows, s.columns, s.layer ? "layer" : "rms", s.shots, s.by_blocks ? " tags=blocks" : "");
    cj_head(b, "\nsum = %sx of all GPUs, rounded once; y = norm(sum)%s%s: the same bits on all GPUs, in each run.",
            s.residual ? "residual + " : "", s.weight ? " * weight" : "", s.bias ? " + bias" : "");
    cj_head(b, "\nsum and y overlap nothing that is read, but sum may be residual, and y may be x.");
    cj_head(b, "\nLaunch: on each GPU, beside each other: grid %u, block %u threads, %u blocks on a row.",
            plan->grid.x, s.block, s.cluster);
    k.g.f = cj__entry(plan, b);
    cj__registers(plan, k.g.f, k.s.gpus > CJ_BOX_GPUS / 2 ? 2 * GPUS_REGISTERS : GPUS_REGISTERS, !s.by_blocks);  // of those with tags ptxas spills some
    declare(&k);
    cj__gpus_open_thread(&k.g);
    cj__gpus_open_boxes(&k.g);
    open_sums(&k);
    work(&k);
    cj__gpus_close(&k.g);
}

static const cj_param_info params[] = {
#define PARAM(id, ...) [NORM_##id] = {__VA_ARGS__},
#include "params.def"
};

const cj_family cj__family_allreducenorm = {
    CJ_FAMILY("allreducenorm", "GPUs: the sum of all and a residual, and its norm along rows", params, cj__gpus_norm_plan, emit),
    .mail = NORM_MAIL};

// SPDX-License-Identifier: Apache-2.0
// collective: one of the ten collectives of a cluster, as often in a row as wanted.
//
// Each cluster works for itself. Without clusters (collective_global.c) each round is a launch. With count=1 a block's parts are single values, which travel from registers to registers
// (cj_collective_value); else they are arrays in shared memory (cj_collective_array):
//
//   x[block]: | part | part | …   --loads-->  pool: | from: parts | to: parts | scratch |  --stores-->  out[block]: | part | …
//                                                    --- collective, `rounds` times --->
//
// gives parts go in and gets parts come out, 1 or as many as the cluster has blocks, by the operation. Of blocks that get
// nothing, out is zero. Each round but the first depends on the one before: a block's input part p then begins with what
// its output part (p + rank + 1) mod gets begins with, 16 bytes of an array, or the value.
//
// Synchronization, beside what the collectives bring along (ptxgen/collectives_*.c):
//   B1  bar.sync: the pool's zeros are there before elements are written over them.
//   B2  bar.sync: `to` has been read for the next round's input, which other threads than its readers overwrite. With PULL
//       the barriers of the collectives do that; with PUSH their meeting does.
//   What a thread writes to `from` reaches the collective by the meeting, or the cluster barrier, at its head.
//
// cycles[block] is what the rounds took by the SM's clock, in cycles.
#include "collective.h"

static const cj_param_info params[] = {
    [COLLECTIVE_OP] = {.name = "op",
                       .choices = "broadcast reduce allreduce gather allgather scatter reduce-scatter all-to-all scan shift",
                       .initial = "allreduce", .help = "the collective"},
    [COLLECTIVE_STRATEGY] = {.name = "strategy", .choices = "pull push", .initial = "push",
                             .help = "cluster barriers and reading peers; or writing to peers, and mbarriers"},
    [COLLECTIVE_DTYPE] = {.name = "dtype", .choices = "f32 f64 i32 u32 i64 u64 f16 bf16 i8 u8 i16 u16", .initial = "f32",
                          .help = "type of an element; those of 8 bits and i16, u16 are only moved"},
    [COLLECTIVE_COUNT] = {.name = "count", .minimum = 1, .maximum = 1 << 16, .initial = "1",
                          .help = "elements of a part; 1: a value in registers, more: an array in shared memory"},
    [COLLECTIVE_COMBINE] = {.name = "combine", .choices = "sum min max product", .initial = "sum",
                            .only = "op=reduce allreduce reduce-scatter scan",
                            .help = "how two elements become one (reduce, allreduce, reduce-scatter, scan)"},
    [COLLECTIVE_CLUSTER] = {.name = "cluster", .maximum = 16, .initial = "4",
                            .help = "blocks a cluster, along x; 0: without clusters, through global memory, a launch a round"},
    [COLLECTIVE_CLUSTER_Y] = {.name = "cluster-y", .minimum = 1, .maximum = 16, .initial = "1", .help = "… along y"},
    [COLLECTIVE_CLUSTER_Z] = {.name = "cluster-z", .minimum = 1, .maximum = 16, .initial = "1", .help = "… along z"},
    [COLLECTIVE_ROOT] = {.name = "root", .maximum = 15, .initial = "0", .only = "op=broadcast reduce gather scatter",
                         .help = "a rank (broadcast, reduce, gather, scatter)"},
    [COLLECTIVE_EXCLUSIVE] = {.name = "exclusive", .choices = "no yes", .initial = "no", .only = "op=scan",
                              .help = "yes: a rank's own part is not in its result (scan)"},
    [COLLECTIVE_DISTANCE] = {.name = "distance", .maximum = 64, .initial = "1", .only = "op=shift",
                             .help = "ranks that a part goes on (shift)"},
    [COLLECTIVE_TOWARD] = {.name = "toward", .choices = "higher lower", .initial = "higher", .only = "op=shift",
                           .help = "which ranks (shift)"},
    [COLLECTIVE_AROUND] = {.name = "around", .choices = "no yes", .initial = "yes", .only = "op=shift",
                           .help = "from one end of the ranks to the other (shift)"},
    [COLLECTIVE_ROUNDS] = {.name = "rounds", .minimum = 1, .maximum = 1 << 20, .initial = "1",
                           .help = "times in a row, each on what the one before gave"},
    [COLLECTIVE_BLOCK] = {.name = "block", .maximum = 1024, .multiple = 32, .initial = "0",
                          .help = "threads a block; 0: 32 for values, 256 for arrays"},
    [COLLECTIVE_CLUSTERS] = {.name = "clusters", .minimum = 1, .maximum = 1 << 16, .initial = "1",
                             .help = "clusters in the grid, along x, each by itself"},
    [COLLECTIVE_SIZE] = {.name = "size", .maximum = 16, .initial = "0",
                         .help = "blocks that work together; 0: those of a cluster"},
};

// What the steps share.
typedef struct kernel {
    cj_func         *f;
    collective_shape s;
    uint32_t         threads, rounds;
    cj_var           x, out, cycles;
    cj_collectives   c;
    cj_reg           block;            // its number, cluster after cluster
    cj_reg           from, to, scratch;
    cj_reg           value, result;
} kernel;

static void write_head(const kernel *k, const cj_plan *plan, cj_builder *b) {
    char op[16], strategy[8], dtype[8], combine[8];
    cj_head(b, "clusterjit: collective  op=%s strategy=%s dtype=%s count=%u combine=%s cluster=%ux%ux%u rounds=%u",
            cj_params_word(&plan->params, "op", op, sizeof op),
            cj_params_word(&plan->params, "strategy", strategy, sizeof strategy),
            cj_params_word(&plan->params, "dtype", dtype, sizeof dtype), k->s.count,
            cj_params_word(&plan->params, "combine", combine, sizeof combine), plan->cluster.x, plan->cluster.y,
            plan->cluster.z, k->rounds);
    cj_head(b, "%s", "");
    cj_head(b, "  x[block]: %u part%s of %u  -->  out[block]: %u part%s of %u", k->s.gives, k->s.gives > 1 ? "s" : "",
            k->s.count, k->s.gets, k->s.gets > 1 ? "s" : "", k->s.count);
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads, as a cluster launch; grid any multiple of the cluster along x.", k->threads);
}

static void declare(kernel *k, const cj_plan *plan) {
    enum { REGISTERS = 80 };
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[blocks][parts in][count]");
    k->out = cj_param(f, "u64", "out", "out[blocks][parts out][count]");
    k->cycles = cj_param(f, "u64", "cycles", "u64 cycles[blocks]");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->threads, 1, 1);
    cj__registers(plan, f, REGISTERS, k->s.count > 1);
    cj_cluster(f, plan->cluster.x, plan->cluster.y, plan->cluster.z);
}

// Where this block's `bytes` begin in a global array.
static cj_reg block_part(const kernel *k, cj_var param, const char *name, uint32_t bytes) {
    cj_reg at = cj__load_pointer(k->f, param, name);
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, k->block, bytes);
    return at;
}

// ---- values

static void load_values(kernel *k) {
    cj_func                *f = k->f;
    const collective_dtype *type = k->s.dtype;
    cj_reg                  x = block_part(k, k->x, "x", k->s.gives * type->bytes);
    cj_step(f, k->s.gives > 1 ? "lane r's value is for rank r" : "the block's value, in all lanes");
    k->value = cj_register(f, type->reg, "value");
    k->result = cj_register(f, type->reg, "result");
    cj_ptx(f, "mov.$1 $2, 0;", type->bits, k->result);
    if (k->s.gives > 1) {
        cj_ptx(f, "mov.$1 $2, 0;", type->bits, k->value);
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", x, k->c.lane, type->bytes);
        cj_ptx(f, "@$1 ld.global.$2 $3, [$4];", k->c.sends, type->memory, k->value, x);
    } else {
        cj_ptx(f, "ld.global.$1 $2, [$3];", type->memory, k->value, x);
    }
}

static void store_values(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   out = block_part(k, k->out, "out", k->s.gets * k->s.dtype->bytes);
    cj_step(f, k->s.gets > 1 ? "lane r of warp 0 has rank r's value" : "one thread stores the result");
    if (k->s.gets > 1) cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->c.lane, k->s.dtype->bytes);
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", k->s.gets > 1 ? k->c.sends : k->c.first, k->s.dtype->memory, out, k->result);
}

// to = `from` of another lane.
static void shuffle(const kernel *k, cj_reg to, cj_reg from, cj_reg lane) {
    cj_func   *f = k->f;
    const bool is_half = k->s.dtype->reg[1] == '1', is_wide = k->s.dtype->bytes == 8;
    cj_reg     low = cj_b32(f, "low"), high = is_wide ? cj_b32(f, "high") : low;
    cj_ptx(f, is_wide ? "mov.b64 {$1, $3}, $2;" : is_half ? "cvt.u32.u16 $1, $2;" : "mov.b32 $1, $2;", low, from, high);
    if (is_wide) cj_ptx(f, "shfl.sync.idx.b32 $1, $1, $2, 31, 0xffffffff;", high, lane);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, $2, 31, 0xffffffff;", low, lane);
    cj_ptx(f, is_wide ? "mov.b64 $1, {$2, $3};" : is_half ? "cvt.u16.u32 $1, $2;" : "mov.b32 $1, $2;", to, low, high);
}

// The part that lies rank + 1 parts behind `part`, going around: a new u32 register.
static cj_reg next_part(const kernel *k, cj_reg part) {
    cj_func *f = k->f;
    cj_reg   next = cj_u32(f, "next_part");
    cj_ptx(f, "add.u32 $1, $2, $3;", next, part, k->c.rank);
    cj_ptx(f, "add.u32 $1, $1, 1;", next);
    cj_ptx(f, "rem.u32 $1, $1, $2;", next, k->s.gets);
    return next;
}

static void value_round(const kernel *k) {
    cj_func   *f = k->f;
    const bool to_root = k->s.what.op == CJ_COLLECTIVE_REDUCE || k->s.what.op == CJ_COLLECTIVE_GATHER;
    cj_collective_value(f, &k->c, &k->s.what, k->value, k->result);
    if (to_root) {
        cj_reg other = cj_pred(f, "not_root");
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", other, k->c.rank, k->s.what.root);
        cj_ptx(f, "@$1 mov.$2 $3, 0;", other, k->s.dtype->bits, k->result);
    }
    if (k->s.gets == 1) {
        cj_ptx(f, "mov.$1 $2, $3;", k->s.dtype->bits, k->value, k->result);
        return;
    }
    cj_reg part = k->c.lane;
    if (k->s.gives == 1) {
        part = cj_u32(f, "part");
        cj_ptx(f, "mov.u32 $1, 0;", part);
    }
    shuffle(k, k->value, k->result, next_part(k, part));
}

// ---- arrays

// for (at = thread * step; at < end; at += threads * step): the head, and the end of the body.
typedef struct loop {
    cj_reg   at;
    cj_label next, done;
    uint32_t step;
} loop;

static loop loop_begin(const kernel *k, const char *name, uint32_t step, uint32_t end) {
    cj_func *f = k->f;
    loop     l = {.at = cj_u32(f, name), .next = cj_label_new(f, "again"), .done = cj_label_new(f, "behind"), .step = step};
    cj_reg   past = cj_pred(f, "past");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", l.at, k->c.thread, step);
    cj_label_here(f, l.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, l.at, end);
    cj_ptx(f, "@$1 bra $2;", past, l.done);
    return l;
}

static void loop_end(const kernel *k, const loop *l) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", l->at, l->step * k->threads);
    cj_ptx(k->f, "bra $1;", l->next);
    cj_label_here(k->f, l->done);
}

// Element `index` of parts at `base` in the pool: a new u32 register.
static cj_reg element_at(const kernel *k, cj_reg base, cj_reg index) {
    cj_func *f = k->f;
    cj_reg   part = cj_u32(f, "part"), inside = cj_u32(f, "inside"), at = cj_u32(f, "at");
    cj_ptx(f, "div.u32 $1, $2, $3;", part, index, k->s.count);
    cj_ptx(f, "rem.u32 $1, $2, $3;", inside, index, k->s.count);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", at, part, k->s.part, base);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", at, inside, k->s.dtype->bytes);
    return at;
}

static void load_arrays(kernel *k) {
    cj_func       *f = k->f;
    const uint32_t bytes = k->s.dtype->bytes, in = k->s.gives * k->s.count, parts = k->s.gives + k->s.gets;
    cj_reg         x = block_part(k, k->x, "x", in * bytes), zero = cj_b32(f, "zero"), spot = cj_u32(f, "spot");
    cj_reg         from = cj_u64(f, "from"), element = cj_register(f, k->s.dtype->reg, "element");
    k->from = cj_u32(f, "pool_from");
    cj_step(f, "the pool: | from | to | scratch |; the first two are zero, their parts' last bytes too");
    cj_ptx(f, "mov.u32 $1, pool;", k->from);
    cj_ptx(f, "mov.b32 $1, 0;", zero);
    k->to = cj_u32(f, "pool_to");
    cj_ptx(f, "add.u32 $1, $2, $3;", k->to, k->from, k->s.gives * k->s.part);
    k->scratch = cj_u32(f, "pool_scratch");
    cj_ptx(f, "add.u32 $1, $2, $3;", k->scratch, k->from, parts * k->s.part);
    loop zeros = loop_begin(k, "clear_at", 16, parts * k->s.part);
    cj_ptx(f, "add.u32 $1, $2, $3;", spot, k->from, zeros.at);
    cj_ptx(f, "st.shared.v4.b32 [$1], {$2, $2, $2, $2};", spot, zero);
    loop_end(k, &zeros);
    cj_ptx(f, "bar.sync 0; // B1: they are there");
    cj_step(f, "the block's elements");
    loop loads = loop_begin(k, "index", 1, in);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, loads.at, bytes, x);
    cj_ptx(f, "ld.global.$1 $2, [$3];", k->s.dtype->memory, element, from);
    cj_ptx(f, "st.shared.$1 [$2], $3;", k->s.dtype->memory, element_at(k, k->from, loads.at), element);
    loop_end(k, &loads);
}

static void store_arrays(const kernel *k) {
    cj_func       *f = k->f;
    const uint32_t bytes = k->s.dtype->bytes, count = k->s.gets * k->s.count;
    cj_step(f, "the block's results");
    cj_reg out = block_part(k, k->out, "out", count * bytes), to = cj_u64(f, "to");
    cj_reg element = cj_register(f, k->s.dtype->reg, "element");
    loop   stores = loop_begin(k, "index", 1, count);
    cj_ptx(f, "ld.shared.$1 $2, [$3];", k->s.dtype->memory, element, element_at(k, k->to, stores.at));
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", to, stores.at, bytes, out);
    cj_ptx(f, "st.global.$1 [$2], $3;", k->s.dtype->memory, to, element);
    loop_end(k, &stores);
}

static void array_round(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   w[4], there = cj_u32(f, "there"), here = cj_u32(f, "here");
    cj_collective_array(f, &k->c, &k->s.what, k->s.part, k->to, k->from, k->scratch);
    cj_step(f, "the next round's input begins with what this round gave");
    for (int i = 0; i < 4; i++) w[i] = cj_b32(f, "w");
    loop parts = loop_begin(k, "part", 1, k->s.gives);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", there, next_part(k, parts.at), k->s.part, k->to);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", here, parts.at, k->s.part, k->from);
    cj_ptx(f, "ld.shared.v4.b32 {$1, $2, $3, $4}, [$5];", w[0], w[1], w[2], w[3], there);
    cj_ptx(f, "st.shared.v4.b32 [$1], {$2, $3, $4, $5};", here, w[0], w[1], w[2], w[3]);
    loop_end(k, &parts);
}

// ---- both

static void emit_rounds(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   left = cj_u32(f, "rounds"), more = cj_pred(f, "more"), begin = cj_u64(f, "begin"), end = cj_u64(f, "end");
    cj_label again = cj_label_new(f, "round");
    cj_step(f, "the rounds");
    cj_collectives_ready(f, &k->c);
    cj_ptx(f, "mov.u32 $1, $2;", left, k->rounds);
    cj_ptx(f, "mov.u64 $1, %clock64;", begin);
    cj_label_here(f, again);
    if (k->s.count == 1) value_round(k);
    else array_round(k);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, again);
    cj_ptx(f, "mov.u64 $1, %clock64;", end);
    cj_step(f, "what they took");
    cj_collectives_close(f, &k->c);
    cj_ptx(f, "sub.u64 $1, $1, $2;", end, begin);
    cj_ptx(f, "@$1 st.global.u64 [$2], $3;", k->c.first, block_part(k, k->cycles, "cycles", 8), end);
}

static void emit_collective(const cj_plan *plan, cj_builder *b) {
    if (!plan->cluster.x) {
        cj__collective_emit_global(plan, b);
        return;
    }
    kernel k = {.s = cj__collective_shape(plan), .threads = plan->block.x,
                .rounds = (uint32_t)plan->params.value[COLLECTIVE_ROUNDS]};
    write_head(&k, plan, b);
    if (plan->dynamic_shared) cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    cj_func *f = k.f = cj_entry(b, plan->entry);
    declare(&k, plan);
    cj_step(f, "what the collectives stand on");
    k.c = cj_collectives_open(f, &k.s.desc);
    k.block = cj_u32(f, "block");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k.block, cj_cluster_number(f), k.s.cluster, k.c.rank);
    if (k.s.count == 1) load_values(&k);
    else load_arrays(&k);
    emit_rounds(&k);
    if (k.s.count == 1) store_values(&k);
    else store_arrays(&k);
    cj_ptx(f, "ret;");
}

const cj_family cj__family_collective = {
    .name = "collective",
    .summary = "one of the ten collectives of a cluster: broadcast, reduce, … , scan, shift",
    .param = params,
    .param_count = sizeof params / sizeof *params,
    .plan = cj__collective_plan,
    .emit = emit_collective,
};

// SPDX-License-Identifier: Apache-2.0
// collective without clusters: what a program does that has none, to compare with. Each round is a launch, and the end of
// a launch is the barrier between the blocks. Block b of a group of `size` blocks reads from global memory, through L2, all
// that its output takes from its peers' inputs, and writes its output there:
//
//   launch    0          1          …  rounds - 1
//   reads     x          x and what the launch before wrote
//   writes    workspace  out        …  out         (by turns; out in the end)
//
// Combined elements are loaded from all ranks and folded in the order in which a cluster does it, so that the bits agree.
// A round's input is x, but for the first 16 bytes of each part, or the value: they are those of the output part (part + rank +
// 1) mod gets of the round before, and are read from there. Nothing is written that another block of the launch reads.
//
// cycles[block] is what the last round took.
#include "collective_parts.h"
#include "collective.h"

enum { LINK_BYTES = 16, RANKS_MOST = 16 };

typedef struct kernel {
    cj_func         *f;
    collective_shape s;
    uint32_t         threads, rounds;
    cj_var           params[3];  // x, out, cycles
    cj_var           turn, workspace;
    cj_reg           x, before, after;             // what is read, and written
    cj_reg           first, rank, block;           // the group's first block, the place in it, the block's number
    cj_reg           thread, index, part, inside;  // of an element of the output
    cj_reg           handed;                       // it is taken from the round before
} kernel;

static bool combines(cj_collective_op op) {
    return op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_ALLREDUCE || op == CJ_COLLECTIVE_REDUCE_SCATTER ||
           op == CJ_COLLECTIVE_SCAN;
}

static bool is_half(const kernel *k) { return combines(k->s.what.op) && k->s.dtype->bytes == 2; }

static void declare(kernel *k) {
    cj_func *f = k->f;
    k->params[0] = cj_param(f, "u64", "x", "x[blocks][parts in][count]");
    k->params[1] = cj_param(f, "u64", "out", "out[blocks][parts out][count]");
    k->params[2] = cj_param(f, "u64", "cycles", "u64 cycles[blocks]");
    k->turn = cj_param(f, "u64", "turn", "this launch's number");
    k->workspace = cj_param(f, "u64", "workspace", k->rounds > 1 ? "as large as out" : "not used");
    cj_block(f, k->threads, 1, 1);
}

static void find_place(kernel *k) {
    cj_func *f = k->f;
    cj_reg   group = cj_u32(f, "group");
    cj_step(f, "the block's group and rank");
    k->block = cj_u32(f, "block");
    k->first = cj_u32(f, "first_block");
    k->rank = cj_u32(f, "rank");
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->block);
    cj_ptx(f, "div.u32 $1, $2, $3;", group, k->block, k->s.cluster);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->first, group, k->s.cluster);
    cj_ptx(f, "sub.u32 $1, $2, $3;", k->rank, k->block, k->first);
}

// The last launch writes to out, the one before it to the workspace, and so on.
static void choose_arrays(kernel *k) {
    cj_func *f = k->f;
    k->x = cj__load_pointer(f, k->params[0], "x");
    k->after = cj__load_pointer(f, k->params[1], "after");
    if (k->rounds == 1) return;
    cj_step(f, "this launch writes to out where an even number of launches follow, and reads from the other one");
    cj_reg turn = cj_u64(f, "turn"), parity = cj_u64(f, "parity"), odd = cj_pred(f, "odd"), out = cj_u64(f, "out");
    k->before = cj__load_pointer(f, k->workspace, "before");
    cj_ptx(f, "ld.param.u64 $1, [$2];", turn, k->turn);
    cj_ptx(f, "sub.u64 $1, $2, $3;", parity, k->rounds - 1, turn);
    cj_ptx(f, "and.b64 $1, $1, 1;", parity);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0;", odd, parity);
    cj_ptx(f, "mov.u64 $1, $2;", out, k->after);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", odd, k->after, k->before);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", odd, k->before, out);
    k->handed = cj_pred(f, "handed");
    cj_ptx(f, "setp.ne.u64 $1, $2, 0;", k->handed, turn);
}

// to = array + ((first + rank) * parts + part) * count + inside, in bytes.
static cj_reg address(const kernel *k, cj_reg array, cj_reg rank, uint32_t parts, cj_reg part) {
    cj_func       *f = k->f;
    const uint32_t bytes = k->s.dtype->bytes;
    cj_reg         row = cj_u32(f, "row"), at = cj_u64(f, "at");
    cj_ptx(f, "add.u32 $1, $2, $3;", row, k->first, rank);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", row, parts, part);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, row, k->s.count * bytes, array);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, k->inside, bytes);
    return at;
}

static cj_reg constant(const kernel *k, const char *name, uint32_t value) {
    cj_reg reg = cj_u32(k->f, name);
    cj_ptx(k->f, "mov.u32 $1, $2;", reg, value);
    return reg;
}

// The element of a rank's input that this block takes: of the part for this rank, where there are several.
static cj_reg load_from(const kernel *k, cj_reg rank) {
    cj_func *f = k->f;
    cj_reg   own = k->s.gives > 1 ? k->rank : constant(k, "own", 0), value = cj_register(f, k->s.dtype->reg, "value");
    cj_reg   at = address(k, k->x, rank, k->s.gives, own);
    if (k->rounds > 1) {
        cj_reg linked = cj_pred(f, "linked"), part = cj_u32(f, "linked_part");
        cj_ptx(f, "add.u32 $1, $2, $3;", part, own, rank);
        cj_ptx(f, "add.u32 $1, $1, 1;", part);
        cj_ptx(f, "rem.u32 $1, $1, $2;", part, k->s.gets);
        cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $4;", linked, k->inside, LINK_BYTES / k->s.dtype->bytes, k->handed);
        cj_ptx(f, "@$1 mov.u64 $2, $3;", linked, at, address(k, k->before, rank, k->s.gets, part));
    }
    cj_ptx(f, "ld.global.$1 $2, [$3];", k->s.dtype->memory, value, at);
    return value;
}

// ---- combining

static cj_reg widened(const kernel *k, cj_reg value) {
    cj_func *f = k->f;
    if (!is_half(k)) return value;
    cj_reg wide = cj_register(f, "f32", "wide"), bits = cj_b32(f, "bits");
    cj_ptx(f, "cvt.u32.u16 $1, $2;", bits, value);
    cj__half_widen(f, k->s.dtype->type, wide, bits);
    return wide;
}

static cj_reg combined(const kernel *k) {
    cj_func             *f = k->f;
    const cj_collective *what = &k->s.what;
    cj_reg               v[RANKS_MOST];
    for (uint32_t q = 0; q < k->s.cluster; q++) v[q] = widened(k, load_from(k, constant(k, "peer", q)));
    if (what->op == CJ_COLLECTIVE_SCAN) {
        cj__fold_prefixes(f, &what->combine, v, k->s.cluster, what->exclusive);
        cj__fold_pick(f, &what->combine, v, k->s.cluster, k->rank);
    } else {
        cj__fold_all(f, &what->combine, v, k->s.cluster);
    }
    if (!is_half(k)) return v[0];
    cj_reg half = cj_register(f, "b16", "half");
    cj__half_round(f, k->s.dtype->type, half, v[0]);
    return half;
}

// ---- moving

// The rank that an element comes from; `misses`, where it is not NULL, whether it comes from none.
static cj_reg source_rank(const kernel *k, cj_reg *misses) {
    cj_func             *f = k->f;
    const cj_collective *what = &k->s.what;
    const int32_t        size = (int32_t)k->s.cluster;
    if (what->op == CJ_COLLECTIVE_BROADCAST || what->op == CJ_COLLECTIVE_SCATTER)
        return constant(k, "root", what->root);
    if (what->op != CJ_COLLECTIVE_SHIFT) return k->part;
    cj_reg source = cj_u32(f, "source");
    if (what->around) {
        cj_ptx(f, "add.u32 $1, $2, $3;", source, k->rank, (uint32_t)((size - what->distance % size) % size));
        cj_ptx(f, "rem.u32 $1, $1, $2;", source, k->s.cluster);
        return source;
    }
    *misses = cj_pred(f, "misses");
    cj_ptx(f, "sub.s32 $1, $2, $3;", source, k->rank, what->distance);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3; // negative ones too", *misses, source, k->s.cluster);
    cj_ptx(f, "@$1 mov.u32 $2, $3;", *misses, source, k->rank);
    return source;
}

static cj_reg moved(const kernel *k) {
    cj_reg none = k->rank, misses = none;
    cj_reg value = load_from(k, source_rank(k, &misses));
    if (misses.id != none.id) cj_ptx(k->f, "@$1 mov.$2 $3, 0;", misses, k->s.dtype->bits, value);
    return value;
}

// ---- the kernel

static void emit_element(const kernel *k) {
    cj_func   *f = k->f;
    const bool to_root = k->s.what.op == CJ_COLLECTIVE_REDUCE || k->s.what.op == CJ_COLLECTIVE_GATHER;
    cj_ptx(f, "div.u32 $1, $2, $3;", k->part, k->index, k->s.count);
    cj_ptx(f, "rem.u32 $1, $2, $3;", k->inside, k->index, k->s.count);
    cj_reg value = combines(k->s.what.op) ? combined(k) : moved(k);
    if (to_root) {
        cj_reg other = cj_pred(f, "not_root");
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", other, k->rank, k->s.what.root);
        cj_ptx(f, "@$1 mov.$2 $3, 0;", other, k->s.dtype->bits, value);
    }
    cj_ptx(f, "st.global.$1 [$2], $3;", k->s.dtype->memory, address(k, k->after, k->rank, k->s.gets, k->part), value);
}

static void emit_elements(kernel *k) {
    cj_func *f = k->f;
    cj_label again = cj_label_new(f, "again"), done = cj_label_new(f, "done");
    cj_reg   past = cj_pred(f, "past");
    k->index = cj_u32(f, "index");
    k->part = cj_u32(f, "part");
    k->inside = cj_u32(f, "inside");
    cj_step(f, "each element of the block's output: its part, its place in it, what it takes from its peers");
    cj_ptx(f, "mov.u32 $1, $2;", k->index, k->thread);
    cj_label_here(f, again);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->index, k->s.gets * k->s.count);
    cj_ptx(f, "@$1 bra $2;", past, done);
    emit_element(k);
    cj_ptx(f, "add.u32 $1, $1, $2;", k->index, k->threads);
    cj_ptx(f, "bra $1;", again);
    cj_label_here(f, done);
}

static void store_cycles(const kernel *k, cj_reg begin) {
    cj_func *f = k->f;
    cj_reg   end = cj_u64(f, "end"), at = cj__load_pointer(f, k->params[2], "cycles"), first = cj_pred(f, "first");
    cj_step(f, "what it took");
    cj_ptx(f, "mov.u64 $1, %clock64;", end);
    cj_ptx(f, "sub.u64 $1, $1, $2;", end, begin);
    cj_ptx(f, "mad.wide.u32 $1, $2, 8, $1;", at, k->block);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->thread);
    cj_ptx(f, "@$1 st.global.u64 [$2], $3;", first, at, end);
}

void cj__collective_emit_global(const cj_plan *plan, cj_builder *b) {
    kernel k = {.s = cj__collective_shape(plan),
                .threads = plan->block.x,
                .rounds = (uint32_t)plan->params.value[COLLECTIVE_ROUNDS]};
    char   op[16], dtype[8];
    cj_head(b, "clusterjit: collective  op=%s dtype=%s count=%u size=%u rounds=%u, without clusters",
            cj_params_word(&plan->params, "op", op, sizeof op),
            cj_params_word(&plan->params, "dtype", dtype, sizeof dtype), k.s.count, k.s.cluster, k.rounds);
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads, a launch a round; grid any multiple of %u.", k.threads, k.s.cluster);
    cj_func *f = k.f = cj_entry(b, plan->entry);
    declare(&k);
    cj_reg begin = cj_u64(f, "begin");
    cj_ptx(f, "mov.u64 $1, %clock64;", begin);
    k.thread = cj_u32(f, "thread");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k.thread);
    find_place(&k);
    choose_arrays(&k);
    emit_elements(&k);
    store_cycles(&k, begin);
    cj_ptx(f, "ret;");
}

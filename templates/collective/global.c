// SPDX-License-Identifier: Apache-2.0
// collective without clusters: what a program does that has none, to compare with. Each round is a launch, and the end of
// a launch is the barrier between the blocks. Block b of a group of `size` blocks reads from global memory, through L2, all
// that its output takes from its peers' inputs, and writes its output there:
//
//   launch    0          1          …  rounds - 1
//   reads     x          x and what the launch before wrote
//   writes    workspace  out        …  out         (by turns; out in the end)
//
// Combined elements are loaded from all ranks and combined in the order that a cluster has, so that the bits agree. A round's
// input is x, but for the first 16 bytes of each part, or the value: these are read from the output part (part + rank + 1) mod
// gets of the round before. No block writes what another block of the launch reads.
//
// cycles[block] is the time of the last round.
#include "collective.h"

enum { LINK_BYTES = 16, RANKS_MOST = 16 };

typedef struct kernel {
    cj_func         *f;
    collective_shape s;
    uint32_t         threads, rounds;
    cj_var           x, out, cycles, turn, workspace;
    cj_reg           first, rank, block;  // the group's first block, the place in it, the block's number
    cj_reg           thread;
    cj_reg           from, before, after;  // arrays: the first round's input, the last round's output, this round's
    cj_reg           linked;               // there was a last round
} kernel;

static bool is_half(const kernel *k) { return cj__collective_combines(k->s.what.op) && k->s.dtype->bytes == 2; }

static void declare(kernel *k) {
    k->x = cj_param(k->f, "u64", "x", "x[blocks][parts in][count]");
    k->out = cj_param(k->f, "u64", "out", "out[blocks][parts out][count]");
    k->cycles = cj_param(k->f, "u64", "cycles", "u64 cycles[blocks]");
    k->turn = cj_param(k->f, "u64", "turn", "this launch's number");
    k->workspace = cj_param(k->f, "u64", "workspace", k->rounds > 1 ? "as large as out" : "not used");
}

static void find_place(kernel *k) {
    cj_step(k->f, "the block's group and rank");
    k->block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    k->first = cj_mul(k->f, "first_block", cj_div(k->f, "group", k->block, k->s.cluster), k->s.cluster);
    k->rank = cj_sub(k->f, "rank", k->block, k->first);
}

// The last launch writes to out, the one before it to the workspace, and so on.
static void choose_arrays(kernel *k) {
    cj_func *f = k->f;
    k->from = cj__load_pointer(f, k->x, "x");
    k->after = cj__load_pointer(f, k->out, "after");
    if (k->rounds == 1) return;
    cj_step(f, "this launch writes to out where an even number of launches follow, and reads from the other one");
    k->before = cj__load_pointer(f, k->workspace, "before");
    cj_reg turn = cj_let(f, "u64", "turn", "ld.param.u64 $1, [$2];", k->turn);
    cj_reg left = cj_let(f, "u64", "left", "sub.u64 $1, $2, $3;", k->rounds - 1, turn);
    cj_reg odd = cj_ne(f, "odd", cj_and(f, "parity", left, 1), 0), out = cj_mov(f, "u64", "out", k->after);
    cj_set_if(f, odd, k->after, k->before);
    cj_set_if(f, odd, k->before, out);
    k->linked = cj_ne(f, "linked", turn, 0);
}

// The address of the element in part `part` of a block's `parts`: array + ((first + rank) * parts + part) * count + inside.
static cj_reg address(const kernel *k, cj_reg inside, cj_reg array, cj_reg rank, uint32_t parts, cj_reg part) {
    const uint32_t bytes = k->s.dtype->bytes;
    cj_reg         row = cj_mad(k->f, "row", cj_add(k->f, "block", k->first, rank), parts, part);
    return cj_mad_wide(k->f, "at", inside, bytes, cj_mad_wide(k->f, "row_at", row, k->s.count * bytes, array));
}

// The element of a rank's input that this block takes: of the part for this rank, where there are several.
static cj_reg load_from(const kernel *k, cj_reg inside, cj_reg rank) {
    cj_func *f = k->f;
    cj_reg   own = k->s.gives > 1 ? k->rank : cj_mov(f, "u32", "own", 0);
    cj_reg at = address(k, inside, k->from, rank, k->s.gives, own);
    if (k->rounds > 1) {
        cj_reg part = cj__collective_next_part(f, &k->s, "part", own, rank);
        cj_reg linked = cj_let(f, "pred", "linked", "setp.lt.and.u32 $1, $2, $3, $4;", inside,
                               LINK_BYTES / k->s.dtype->bytes, k->linked);
        cj_set_if(f, linked, at, address(k, inside, k->before, rank, k->s.gets, part));
    }
    return cj__load_value(f, cj_always(), "ld.global", k->s.dtype->memory, k->s.dtype->reg, "value", at);
}

// ---- combining

static cj_reg widened(const kernel *k, cj_reg value) {
    if (!is_half(k)) return value;
    cj_reg bits = cj_let(k->f, "b32", "bits", "cvt.u32.u16 $1, $2;", value), wide = cj_f32(k->f, "wide");
    cj__half_widen(k->f, k->s.dtype->type, wide, bits);
    return wide;
}

static cj_reg combined(const kernel *k, cj_reg inside) {
    const cj_collective *what = &k->s.what;
    cj_reg               v[RANKS_MOST];
    for (uint32_t q = 0; q < k->s.cluster; q++) v[q] = widened(k, load_from(k, inside, cj_mov(k->f, "u32", "peer", q)));
    if (what->op == CJ_COLLECTIVE_SCAN) {
        cj__fold_prefixes(k->f, &what->combine, v, k->s.cluster, what->exclusive);
        cj__fold_pick(k->f, v, k->s.cluster, k->rank);
    } else {
        cj__fold_all(k->f, &what->combine, v, k->s.cluster);
    }
    if (!is_half(k)) return v[0];
    cj_reg half = cj_register(k->f, "b16", "half");
    cj__half_round(k->f, k->s.dtype->type, half, v[0]);
    return half;
}

// ---- moving

// The rank that an element comes from; *misses says that it comes from none, or is cj_none().
static cj_reg source_rank(const kernel *k, cj_reg part, cj_reg *misses) {
    const cj_collective *what = &k->s.what;
    const int32_t        size = (int32_t)k->s.cluster;
    *misses = cj_none();
    if (what->op == CJ_COLLECTIVE_BROADCAST || what->op == CJ_COLLECTIVE_SCATTER)
        return cj_mov(k->f, "u32", "root", what->root);
    if (what->op != CJ_COLLECTIVE_SHIFT) return part;
    if (what->around) {
        const uint32_t back = (uint32_t)((size - what->distance % size) % size);
        return cj_rem(k->f, "source", cj_add(k->f, "source", k->rank, back), k->s.cluster);
    }
    cj_reg source = cj_let(k->f, "u32", "source", "sub.s32 $1, $2, $3;", k->rank, what->distance);
    *misses = cj_let(k->f, "pred", "misses", "setp.ge.u32 $1, $2, $3; // negative ones too", source, k->s.cluster);
    cj_set_if(k->f, *misses, source, k->rank);
    return source;
}

static cj_reg moved(const kernel *k, cj_reg part, cj_reg inside) {
    cj_reg misses, source = source_rank(k, part, &misses), value = load_from(k, inside, source);
    if (!cj_is_none(misses)) cj_ptx(k->f, "@$1 mov.$2 $3, 0;", misses, k->s.dtype->bits, value);
    return value;
}

// ---- the kernel

// Element `index` of the output: its part, and its place inside.
static void emit_element(const kernel *k, cj_reg index) {
    cj_reg   part = cj_div(k->f, "part", index, k->s.count), inside = cj_rem(k->f, "inside", index, k->s.count);
    cj_reg   value = cj__collective_combines(k->s.what.op) ? combined(k, inside) : moved(k, part, inside);
    if (cj__collective_is_to_root(&k->s)) cj__collective_clear_others(k->f, &k->s, k->rank, value);
    cj_reg at = address(k, inside, k->after, k->rank, k->s.gets, part);
    cj__store(k->f, cj_always(), "st.global", k->s.dtype->memory, &value, 1, at, 0);
}

static void store_cycles(const kernel *k, cj_reg begin) {
    cj_func *f = k->f;
    cj_reg   cycles = cj__load_pointer(f, k->cycles, "cycles");
    cj_step(f, "the time of the round");
    cj_reg end = cj_mov(f, "u64", "end", "%clock64"), time = cj_sub(f, "time", end, begin);
    cj_reg at = cj_mad_wide(f, "at", k->block, 8, cycles), first = cj_eq(f, "first", k->thread, 0);
    cj__store(f, first, "st.global", "u64", &time, 1, at, 0);
}

void cj__collective_emit_global(const cj_plan *plan, cj_builder *b) {
    kernel k = {.s = cj__collective_shape(plan),
                .threads = plan->block.x,
                .rounds = (uint32_t)plan->params.value[COLLECTIVE_ROUNDS]};
    cj_head(b, "clusterjit: collective  op=%s dtype=%s count=%u size=%u rounds=%u, without clusters\n",
            CJ_PARAM_WORD(plan, "op"), CJ_PARAM_WORD(plan, "dtype"), k.s.count, k.s.cluster, k.rounds);
    cj_head(b, "Launch: block %u threads, a launch a round; grid any multiple of %u.", k.threads, k.s.cluster);
    cj_func *f = k.f = cj__entry(plan, b);
    declare(&k);
    cj_reg begin = cj_mov(f, "u64", "begin", "%clock64");
    k.thread = cj_mov(f, "u32", "thread", "%tid.x");
    find_place(&k);
    choose_arrays(&k);
    cj_step(f, "each element of the block's output: its part, its place in it, what it takes from its peers");
    CJ_SHARE(f, index, "index", k.thread, 1, k.threads, k.s.gets * k.s.count) { emit_element(&k, index); }
    store_cycles(&k, begin);
    cj_ptx(f, "ret;");
}

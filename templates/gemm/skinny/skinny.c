// SPDX-License-Identifier: Apache-2.0
// gemm, form skinny: D = activation(alpha A B + beta C + bias) where one operand has few lines (16 at most), such as the
// activations of a few tokens, and the other one (the weights) is nearly all of the bytes.
//
// Algorithm. A block computes 16, 32 or 64 lines of the many times all of the few. Its warps share K: in each round
// every warp takes the next 64 or 128 bytes of K of all lines. A lane loads 16 bytes of a line at a time, straight into
// the registers from which mma.sync multiplies: the many are its A, the few its B. Two or three sets of registers are
// loaded ahead; no shared memory is filled and no thread waits for another until the sums are there.
//
//      K of a line   | warp 0 | warp 1 | … | warp 7 | warp 0 | …         a slice: 64 bytes, 16 of each of 4 lanes
//      line 0        | lanes 0 to 3                                      lane 4 i + j: lines i and i + 8 of each 16
//      line 1        | lanes 4 to 7
//
// mma.sync wants of each lane elements of K that are 16 bytes apart; a lane has 16 bytes side by side. A sum does not
// depend on the order of K, and both operands are loaded alike, so registers 0 and 1 of a load are one product's, 2 and
// 3 the next one's.
//
// Out of bounds. Beyond K, and in lines that the many do not have, nothing is loaded and registers are 0. For lines that
// the few do not have another one is loaded: their sums are dropped.
#include "skinny.h"

typedef struct set {
    cj_reg many[2 * SKINNY_GROUPS_MAX][SKINNY_SLICES_MAX][4], few[SKINNY_EIGHTS_MAX][SKINNY_SLICES_MAX][4];
} set;

typedef struct loads {
    const mma_kernel   *k;
    const skinny_shape *s;
    cj_reg              many_at, below, few_at[SKINNY_EIGHTS_MAX];  // addresses; bytes to the line 8 below
    cj_reg              from, lines_left, k_left;                   // s32: from this lane's line and element on
    set                 sets[SKINNY_SETS_MAX];
} loads;

static const char *load_of(const loads *l) {
    return l->k->base.plan->programmatic ? "ld.global.L1::no_allocate" : "ld.global.nc.L1::no_allocate";
}

// ---- begin

// The address of this lane's 16 bytes of a line.
static cj_reg lane_address(const mma_kernel *k, const gemm_operand *o, cj_reg line, cj_reg offset, cj_reg *pitch) {
    cj_func       *f = k->base.f;
    const unsigned which = o == &k->base.g->a ? GEMM_MAP_A : GEMM_MAP_B;
    cj_reg         at = cj__mma_matrix(k, which, o->shared, o->type->bytes);
    *pitch = cj__mma_line_bytes(k, which, o->type->bytes);
    at = cj_mad(f, "at", cj_let(f, "u64", "line", "cvt.u64.u32 $1, $2;", line), *pitch, at);
    return cj_let(f, "u64", "at", "add.u64 $1, $2, $3;", at, offset);
}

static cj_reg extent_of(const loads *l, bool is_a) {
    return cj__load_param(l->k->base.f, "s32", is_a ? l->k->m : l->k->n, "extent");
}

static void begin_sets(loads *l) {
    cj_func *f = l->k->base.f;
    for (uint32_t i = 0; i < l->s->sets; i++)
        for (uint32_t slice = 0; slice < l->s->slices; slice++)
            for (uint32_t j = 0; j < 4; j++) {
                for (uint32_t n = 0; n < 2 * l->s->groups; n++) l->sets[i].many[n][slice][j] = cj_b32(f, "many");
                for (uint32_t n = 0; n < l->s->eights; n++) l->sets[i].few[n][slice][j] = cj_b32(f, "few");
            }
}

static void begin(loads *l, cj_reg first) {
    const mma_kernel   *k = l->k;
    const skinny_shape *s = l->s;
    cj_func            *f = k->base.f;
    const uint32_t      bytes = s->many->type->bytes;
    cj_reg              pitch;
    cj_step(f, "where this lane loads: its line of each eight, its 16 bytes of K");
    cj_reg eighth = cj_shr(f, "eighth", k->base.lane, 2), quarter = cj_and(f, "quarter", k->base.lane, 3);
    cj_reg in_k = cj_mad(f, "in_k", quarter, MMA_CHUNK, cj_mul(f, "warp_k", k->base.warp, s->slices * SKINNY_SLICE));
    cj_reg offset = cj_let(f, "u64", "offset", "cvt.u64.u32 $1, $2;", in_k);
    cj_reg element = cj_let(f, "s32", "element", "shr.s32 $1, $2, $3;", in_k, cj__log2(bytes));
    l->k_left = cj_sub(f, "k_left", cj__load_param(f, "s32", k->k, "k_end"), element);
    cj_reg line = cj_let(f, "s32", "line", "add.s32 $1, $2, $3;", eighth, first);
    l->lines_left = cj_sub(f, "lines_left", extent_of(l, s->many_is_a), line);
    l->many_at = lane_address(k, s->many, line, offset, &pitch);
    l->below = cj_mul(f, "below", pitch, MMA_COLUMNS);
    l->from = cj_u64(f, "from");
    cj_reg last = cj_sub(f, "last", extent_of(l, !s->many_is_a), 1);
    for (uint32_t i = 0; i < s->eights; i++) {
        cj_reg own = cj_let(f, "s32", "few_line", "add.s32 $1, $2, $3;", eighth, i * MMA_COLUMNS);
        l->few_at[i] = lane_address(k, s->few, cj_min(f, "few_line", own, last), offset, &pitch);
    }
    begin_sets(l);
}

// ---- a set

static void load_chunk(const loads *l, cj_reg when, const char *load, const cj_reg to[4], cj_reg at, uint32_t slice) {
    for (uint32_t j = 0; j < 4; j++) cj_set(l->k->base.f, to[j], 0);
    cj__load(l->k->base.f, when, load, "b32", to, 4, at, slice * SKINNY_SLICE);
}

static void load_set(const loads *l, const set *to) {
    const skinny_shape *s = l->s;
    cj_func            *f = l->k->base.f;
    const uint32_t      bytes = s->many->type->bytes;
    cj_reg              inside[SKINNY_SLICES_MAX];
    for (uint32_t i = 0; i < s->slices; i++) inside[i] = cj_gt(f, "inside", l->k_left, i * SKINNY_SLICE / bytes);
    for (uint32_t n = 0; n < 2 * s->groups; n++) {
        if (n) cj_update(f, l->from, "add", l->below);
        if (!n) cj_set(f, l->from, l->many_at);
        for (uint32_t i = 0; i < s->slices; i++) {
            cj_reg is_line = cj_let(f, "pred", "is_line", "setp.gt.and.s32 $1, $2, $3, $4;", l->lines_left,
                                    n * MMA_COLUMNS, inside[i]);
            load_chunk(l, is_line, load_of(l), to->many[n][i], l->from, i);
        }
    }
    for (uint32_t n = 0; n < s->eights; n++)
        for (uint32_t i = 0; i < s->slices; i++) load_chunk(l, inside[i], "ld.global", to->few[n][i], l->few_at[n], i);
    cj_update(f, l->many_at, "add", cj__skinny_set_bytes(s));
    for (uint32_t n = 0; n < s->eights; n++) cj_update(f, l->few_at[n], "add", cj__skinny_set_bytes(s));
    cj_update(f, l->k_left, "sub", cj__skinny_set_bytes(s) / bytes);
}

// tf32: elements are rounded to the nearest, where mma.sync would cut them off.
static void round_set(const loads *l, const set *x) {
    const skinny_shape *s = l->s;
    if (s->many->type->bytes != 4) return;
    for (uint32_t i = 0; i < s->slices; i++)
        for (uint32_t j = 0; j < 4; j++) {
            for (uint32_t n = 0; n < 2 * s->groups; n++)
                cj_ptx(l->k->base.f, "cvt.rna.tf32.f32 $1, $1;", x->many[n][i][j]);
            for (uint32_t n = 0; n < s->eights; n++) cj_ptx(l->k->base.f, "cvt.rna.tf32.f32 $1, $1;", x->few[n][i][j]);
        }
}

static void multiply_set(const loads *l, const set *x, const cj_reg *sum) {
    const skinny_shape *s = l->s;
    round_set(l, x);
    for (uint32_t i = 0; i < s->slices * 2; i++)
        for (uint32_t n = 0; n < s->groups; n++)
            for (uint32_t m = 0; m < s->eights; m++) {
                const uint32_t at = i % 2 * 2;
                const cj_reg  *up = x->many[2 * n][i / 2] + at, *down = x->many[2 * n + 1][i / 2] + at;
                const cj_reg   a[4] = {up[0], down[0], up[1], down[1]};
                cj__mma_multiply(l->k->base.f, s->many->type, s->few->type, a, x->few[m][i / 2] + at,
                                 sum + 4 * (n * s->eights + m));
            }
}

// ---- the kernel

// The first of the block's lines of the operand that has many.
static cj_reg identify(mma_kernel *k, const skinny_shape *s) {
    gemm_kernel *b = &k->base;
    cj_func     *f = b->f;
    cj_step(f, "which thread this is, and which lines its block has of the operand with many");
    cj__gemm_identify_thread(b);
    cj_reg tile = cj_mov(f, "u32", "tile", "%ctaid.x");
    k->place.batch = cj_none();
    if (b->g->batches > 1) {
        b->of_one = cj__load_param(f, "u32", s->many_is_a ? b->tiles_m : b->tiles_n, "tiles_of_one");
        k->place.batch = cj__gemm_find_batch(b, &tile);
    }
    k->pool = cj__pool_address(f, "gemm_stages");
    return cj_let(f, "s32", "first", "mul.lo.u32 $1, $2, $3;", tile, s->many->lines);
}

static void multiply(const mma_kernel *k, const skinny_shape *s, const cj_reg *sum, cj_reg first) {
    cj_func *f = k->base.f;
    loads    l = {.k = k, .s = s};
    begin(&l, first);
    for (uint32_t i = 0; i < cj__skinny_sums(s); i++) cj__gemm_sum_clear(&k->base, sum[i]);
    cj_reg left = cj_mov(f, "u32", "sets_left", cj__load_param(f, "u32", k->part_steps, "sets"));
    cj__gemm_wait(&k->base);
    cj_step(f, "all sets are loaded; then each is multiplied and loaded again");
    for (uint32_t i = 0; i < s->sets; i++) load_set(&l, &l.sets[i]);
    CJ_LOOP_UNI(f, loop, "next_set", "multiplied") {
        for (uint32_t i = 0; i < s->sets; i++) {
            cj_note(f, "set %u", (unsigned)i);
            multiply_set(&l, &l.sets[i], sum);
            load_set(&l, &l.sets[i]);
            cj_update(f, left, "sub", 1);
            // The branch after each set keeps ptxas from moving its loads after the products of the next one.
            cj_leave(&loop, cj_eq(f, "none_left", left, 0));
        }
    }
}

static void write_head(const mma_kernel *k, const skinny_shape *s, cj_builder *b) {
    const gemm_shape *g = k->base.g;
    cj_head(b, "  %u lines of %s a block, times %u of %s; %d warps share K, %u sets ahead", s->groups * MMA_LINES,
            s->many_is_a ? "A" : "B", s->eights * MMA_COLUMNS, s->many_is_a ? "B" : "A", SKINNY_WARPS, s->sets);
    if (g->flipped) cj_head(b, "  this is D' = B' A', whose names are used here");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads, %u bytes of shared memory, a block for each tile.",
            k->base.plan->block.x, k->base.plan->dynamic_shared);
}

// Where two blocks of an SM have the registers of their sets, sums and addresses, ptxas is asked for that. By other
// types than those of 16 bits, which are rounded or converted, and for targets before sm_90, ptxas 13.0 would spill a
// few.
static void limit_registers(const mma_kernel *k, const skinny_shape *s) {
    enum { PAIRED = 65536 / (2 * SKINNY_WARPS * GEMM_WARP), MOST = 255, TARGET = 90 };
    const uint32_t sums = cj__skinny_sums(s), of_set = 4 * s->slices * (2 * s->groups + s->eights);
    const bool     fits = s->sets * of_set + sums + cj__gemm_constants.skinny_registers <= PAIRED;
    const bool     pairs = fits && s->many->type->bytes == 2 && cj__target_number(k->base.plan) >= TARGET;
    cj__registers(k->base.plan, k->base.f, pairs ? PAIRED : MOST, true);
}

void cj__skinny_emit(const cj_plan *plan, cj_builder *builder) {
    gemm_shape g;
    mma_kernel k = {.base = {.plan = plan, .g = &g}};
    cj__skinny_read(&plan->params, &g);
    const skinny_shape s = cj__skinny_shape(&g);
    cj_reg             sum[SKINNY_SUMS_MAX];
    write_head(&k, &s, builder);
    cj_declare(builder, ".extern .shared .align 16 .b8 gemm_stages[];");
    cj_func *f = k.base.f = cj__entry(plan, builder);
    cj__mma_declare(&k);
    limit_registers(&k, &s);
    cj__launch_dependents(plan, f);
    cj_reg first = identify(&k, &s);
    for (uint32_t i = 0; i < cj__skinny_sums(&s); i++) sum[i] = cj__gemm_sum(&k.base, "sum");
    multiply(&k, &s, sum, first);
    cj__skinny_results(&k, &s, sum, first);
    cj_ptx(f, "ret;");
}

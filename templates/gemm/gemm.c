// SPDX-License-Identifier: Apache-2.0
// gemm: D = activation(alpha A B + beta C + bias) on tensor cores, for A of m x k and B of k x n, sums in f32: of 16-bit
// floats, of f32 as tf32, or of 8-bit floats with scales; of integers in s32, of f64 in f64; one product, or a batch of them. Three forms
// compute it: wgmma, which sm_90a alone has; mma (mma.sync) for all targets from sm_80 on; skinny for few rows or columns. This file has the
// form wgmma.
//
// Algorithm. A persistent block computes one tile of D after another. Its first warp group is the producer: one thread of it starts
// the tensor copies (TMA) that bring steps of A and B, 128 bytes of K each, into the stages of a pipeline. The other one to three
// warp groups are consumers of 64 rows each: they multiply a stage (wgmma, out of shared memory) into registers. The blocks of a
// multicast group that need the same of A or B load a part of it each and multicast it to the others.
//
//            shared memory of a block                              registers of a consumer
//   A rows   | stage 0 | stage 1 | …    128 x 64      ---wgmma-->  64 x 256 sums, f32
//   B cols   | stage 0 | stage 1 | …     64 x 256                    | value.c, packed
//   results  | 2 buffers a warp of 16 x 64 |  <--stmatrix--        64 x 256 results, 16 bits
//                 | tensor store
//            global D
//
// Barriers: B0, B1, full[stage], empty[stage], named barriers 1 and 2 of consumers in turn, c_ready[warp]. docs/maintaining/gemm.md,
// "The form wgmma", says what each orders, and why that is enough; it also has the order of tiles, layouts and dependent launches.
#include "mma.h"
#include "plan.h"
#include "skinny.h"
#include "wgmma.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [GEMM_##id] = {__VA_ARGS__},
#include "params.def"
};

// ---- the head

static void write_formula(const gemm_shape *g, cj_builder *b) {
    static const char *const activations[] = {"", "relu(", "gelu(", "silu("};
    const char *bias = !g->bias ? "" : g->bias == GEMM_BIAS_ROWS ? " + bias of rows" : " + bias of columns";
    cj_head(b, "clusterjit: gemm  D = %s%sA B%s%s%s%s", activations[g->activation], cj__gemm_is_exact(g) ? "" : "alpha ", g->adds_c ? " + beta C" : "",
            bias, g->activation ? ")" : "", g->batches > 1 ? ", a batch" : "");
    cj_head(b, "  A %s, B %s, C %s, D %s, sums in %s%s", g->a.type->name, g->b.type->name, g->c_type->name, g->d_type->name,
            cj__gemm_is_f64(g->a.type) ? "f64" : cj__gemm_is_integer(g) ? "s32" : "f32", cj__gemm_is_scaled(g) ? ", alpha with the scales of A and B" : "");
}

static void write_head(const gemm_kernel *k, cj_builder *b) {
    const gemm_shape *g = k->g;
    cj_head(b, "  tile %ux%u, cluster %ux%u%s, %u stages of %u of K", g->tile_m, g->tile_n, g->cluster_m, g->cluster_n,
            g->clustered ? "" : " (none)", g->stages, g->step);
    if (g->rows < g->tile_m) cj_head(b, "  %u rows of a tile are stored; the next one begins after them", g->rows);
    if (cj__gemm_is_split(g))
        cj_head(b, "  split-K: %u ways in a cluster, %u ways across clusters", g->split, g->parts);
    if (g->sums_in_stages)
        cj_head(b, "  partial sums of a cluster's blocks come into the stages, after all have read theirs");
    if (g->teams > 1) cj_head(b, "  consumers in turn: each of two warp groups computes every other tile");
    cj_head(b, "  A lies by %s, B by %s%s", g->a.order == CJ_BY_K ? "k" : "rows",
            g->b.order == CJ_BY_K ? "k" : "columns",
            g->flipped ? "; this is D' = B' A', whose names are used here" : "");
    if (g->turned) cj_head(b, "  D lies by columns: subtiles are transposed on their way to it");
    if (cj__gemm_has_tail(g)) cj_head(b, "  D's lines end within 16 bytes: lanes store their last elements");
    cj_head(b,
            "\nLaunch: block %u threads (a producer warp group and %u of consumers), %u bytes of shared memory, any "
            "grid%s.",
            k->plan->block.x, g->groups * g->teams, k->plan->dynamic_shared, g->clustered ? " of whole clusters" : "");
}

// Arrivals that free a stage: of each consumer warp, at every block of its own row and column of the cluster.
static uint32_t releases_of(const gemm_shape *g) { return GEMM_WARPS * g->groups * (g->cluster_m + g->cluster_n - 1); }

// Whether other blocks use this one's mbarriers.
static bool is_cluster(const gemm_shape *g) { return cj__gemm_multicast(g) * g->split > 1; }

// Of an operand's stages the lines that no copy brings.
static void clear_lines(const gemm_kernel *k, const gemm_operand *o, const cj_reg zero[GEMM_CLEARED / 4]) {
    const uint32_t threads = k->plan->block.x, base = o == &k->g->a ? 0 : k->g->stages * k->g->a.bytes;
    const uint32_t first = cj__gemm_loaded_bytes(o);
    if (first == o->bytes) return;
    cj_reg at = cj_mad(k->f, "cleared", k->thread, GEMM_CLEARED, k->shared);
    for (uint32_t from = first; from < o->bytes; from += threads * GEMM_CLEARED) {
        const uint32_t left = (o->bytes - from) / GEMM_CLEARED;
        const cj_reg   inside = left < threads ? cj_lt(k->f, "is_cleared", k->thread, left) : cj_always();
        for (uint32_t stage = 0; stage < k->g->stages; stage++)
            cj__store(k->f, inside, "st.shared", "u32", zero, GEMM_CLEARED / 4, at, base + stage * o->bytes + from);
    }
}

// Where a tile needs fewer lines of A or B than it has, the stages hold zeros for the others. These go into sums that nobody stores, but
// what is multiplied has been written.
static void clear_stages(const gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_reg            zero[GEMM_CLEARED / 4];
    if (cj__gemm_loaded_stage_bytes(g) == cj__gemm_stage_bytes(g)) return;
    cj_step(k->f, "the stages' lines that no copy brings are zero");
    zero[0] = cj_mov(k->f, "u32", "zero", 0);
    for (unsigned i = 1; i < GEMM_CLEARED / 4; i++) zero[i] = zero[0];
    clear_lines(k, &g->a, zero);
    clear_lines(k, &g->b, zero);
    cj_async_fence(k->f, "for the products that read them");
    if (is_cluster(g)) cj_ptx(k->f, "bar.sync 0; // B0: they are, as the cluster's barrier publishes nothing");
}

static void emit_begin(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    k->stages = cj_pipeline_declare(f, "stages", g->stages);
    k->shared = cj_add(f, "pool", cj_mov(f, "u32", "pool", "gemm_stages"), GEMM_SHARED_ALIGN - 1);
    k->shared = cj_let(
        f, "u32", "a_stages",
        "and.b32 $1, $2, $3; // a whole swizzle pattern: the driver's linker does not keep such an .align", k->shared,
        -GEMM_SHARED_ALIGN);
    if (g->adds_c) k->c_ready = cj__mbarriers(f, "c_ready", cj__gemm_consumer_warps(g));
    clear_stages(k);
    cj_step(f, "one thread initializes the mbarriers and fetches the tensor maps");
    cj_reg first = cj_eq(f, "first", k->thread, 0);
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        if (i != GEMM_MAP_C || g->adds_c || cj__gemm_has_last(g)) cj_ptx(f, "@$1 prefetch.tensormap [$2];", first, cj__gemm_map_address(k, i));
    for (uint32_t i = 0; g->adds_c && i < cj__gemm_consumer_warps(g); i++)
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], 1;", first, k->c_ready, 8 * i);
    if (g->split > 1) cj__gemm_split_begin(k, first);
    cj_pipeline_init(f, first, &k->stages, CJ_ARG(releases_of(g)));
    if (!is_cluster(g)) {
        cj_ptx(f, "bar.sync 0; // B1: the mbarriers are initialized");
        return;
    }
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B1: the fence has published them");
    cj_cluster_wait(f, "every block's mbarriers are initialized");
}

static void emit_wgmma(const cj_plan *plan, cj_builder *b) {
    gemm_shape  g;
    gemm_kernel k = {.plan = plan, .g = &g};
    cj__gemm_read(&plan->params, &g);
    write_head(&k, b);
    cj_declare(b, ".extern .shared .align 16 .b8 gemm_stages[];");
    cj_func *f = k.f = cj__entry(plan, b);
    cj__gemm_declare(&k);
    cj__launch_dependents(plan, f);
    cj__gemm_identify(&k);
    emit_begin(&k);
    cj_label done = cj_label_new(f, "done");
    CJ_UNLESS(f, cj_ne(f, "consumes", k.group, 0), "consumer") cj__gemm_produce(&k, done);
    cj__gemm_consume(&k);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

// ---- the forms

static uint64_t choose_form(const cj_plan *plan, const cj_limits *limits) {
    uint32_t align;
    if (strcmp(plan->arch, "sm_90a") || cj__gemm_unaligned(&plan->params, &align) || cj__gemm_multiplies_f64(&plan->params)) return GEMM_FORM_MMA;
    return cj__skinny_pays(&plan->params, limits) ? GEMM_FORM_SKINNY : GEMM_FORM_WGMMA;
}

static bool has_tile(uint64_t form, uint64_t tile) {
    const bool is_skinny = tile >= SKINNY_TILE_FIRST && tile < SKINNY_TILE_FIRST + SKINNY_TILES;
    if (form == GEMM_FORM_WGMMA) return cj__gemm_tiles[tile].m > 0;
    return form == GEMM_FORM_MMA ? tile < MMA_TILES : is_skinny;
}

// Tensor maps, and the loads of the form skinny, take 16 bytes at a time.
static cj_status check_form(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    uint32_t        align;
    const char     *name = cj__gemm_unaligned(&plan->params, &align);
    REFUSE_IF(value[GEMM_SWAP] == GEMM_SWAP_YES && value[GEMM_FORM] != GEMM_FORM_WGMMA,
              "swap: yes, but form=%s has tiles of few rows" CJ_HINT "leave swap at its default",
              CJ_PARAM_WORD(plan, "form"));
    REFUSE_IF(cj__gemm_multiplies_f64(&plan->params) && value[GEMM_FORM] != GEMM_FORM_MMA,
              "dtype: f64, but form=%s does not multiply it" CJ_HINT "form=mma does, which form=auto takes for f64", CJ_PARAM_WORD(plan, "form"));
    REFUSE_IF(name && value[GEMM_FORM] != GEMM_FORM_MMA,
              "%s: %u bytes, but form=%s takes addresses and lines that are multiples of %d" CJ_HINT
              "form=mma takes any; or store the matrix with gaps between its lines",
              name, align, CJ_PARAM_WORD(plan, "form"), GEMM_ALIGN);
    return CJ_OK;
}

static cj_status plan_form(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t form = plan->params.value[GEMM_FORM];
    if (form == GEMM_FORM_SKINNY) return cj__skinny_plan(plan, limits, error);
    if (form == GEMM_FORM_MMA) return cj__mma_plan(plan, limits, error);
    return cj__gemm_plan(plan, limits, clusters, error);
}

// The hint names another form only if that has a plan for the problem.
static cj_status refuse_tile(const cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const char *tile = CJ_PARAM_WORD(plan, "tile"), *form = CJ_PARAM_WORD(plan, "form");
    REFUSE_IF(cj__gemm_multiplies_f64(&plan->params) && plan->params.value[GEMM_FORM] == GEMM_FORM_MMA,
              "tile: %s is none of form=%s, which f64 has alone" CJ_HINT "128x128 and smaller tiles are; or leave tile at its default", tile, form);
    for (uint64_t i = GEMM_FORM_WGMMA; i <= GEMM_FORM_SKINNY; i++) {
        cj_plan other = *plan;
        other.params.value[GEMM_FORM] = i;
        if (!has_tile(i, plan->params.value[GEMM_TILE]) || check_form(&other, NULL) || plan_form(&other, limits, clusters, NULL)) continue;
        return cj__fail(error, CJ_INVALID_ARGUMENT, "tile: %s is none of form=%s" CJ_HINT "form=%s has it", tile, form,
                        CJ_PARAM_WORD(&other, "form"));
    }
    return cj__fail(error, CJ_INVALID_ARGUMENT, "tile: %s is none of form=%s" CJ_HINT "leave tile at its default", tile, form);
}

static cj_status plan_gemm(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    uint64_t *value = plan->params.value;
    if (!value[GEMM_FORM]) value[GEMM_FORM] = choose_form(plan, limits);
    if (value[GEMM_TILE] && !has_tile(value[GEMM_FORM], value[GEMM_TILE])) return refuse_tile(plan, limits, clusters, error);
    TRY(check_form(plan, error));
    return plan_form(plan, limits, clusters, error);
}

static void emit_gemm(const cj_plan *plan, cj_builder *b) {
    static void (*const emit[])(const cj_plan *, cj_builder *) = {
        [GEMM_FORM_WGMMA] = emit_wgmma, [GEMM_FORM_MMA] = cj__mma_emit, [GEMM_FORM_SKINNY] = cj__skinny_emit};
    gemm_shape g;
    cj__gemm_problem(&plan->params, &g);
    write_formula(&g, b);
    emit[plan->params.value[GEMM_FORM]](plan, b);
}

const cj_family cj__family_gemm = {
    CJ_FAMILY("gemm", "matrix products on tensor cores: wgmma with tiles shared by a cluster, or mma.sync", params,
              plan_gemm, emit_gemm),
    .arch = "sm_90a"};

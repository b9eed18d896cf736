// SPDX-License-Identifier: Apache-2.0
// stencil: new = the weighted sum of a point's neighbours, everywhere in a grid of 1, 2 or 3 dimensions, step after
// step.
//
// A tap is a neighbour at a distance of up to `radius` along one axis (shape=star) or along all of them (box), the
// point itself included. Taps are ordered as they lie in memory, z before y before x, and so are the weights:
//   star, 2-D, radius 1:  (0,-1) (-1,0) (0,0) (1,0) (0,1)
// The sum is rounded in that order: the first product, then a fused multiply-add for each tap that follows. Every way
// of doing it gives the same bits, so a host that does the same holds them to account exactly. Weights stand in the
// text.
//
// Ways (strategy), by what is kept from one step to the next:
//   resident  the whole grid, in the shared memory or the registers of one cluster. One launch does all steps.
//   blocked   a tile with margins of depth * radius points, which are spent from step to step. One launch does `depth`
//             steps.
//   step      nothing: a launch a step. It is `blocked` with depth 1 and without clusters, to compare with.
//
// Forms, by where a tile lies:
//   shared     (shared.c)    any dimension, size, boundary and type; all three ways
//   registers  (resident.c)  2-D, resident: a warp holds rows of the grid, neighbours pass rows on
//              (stream.c)    2-D, blocked and step: rows stream through a warp, `depth` steps deep
//
// Launches. With several launches, the grid goes in -> … -> workspace -> out, by turns; `in` is never written.
//
//   launch    0      1          2      3 (the last)
//   reads     in     workspace  out    workspace
//   writes    workspace  out    workspace  out
#include "stencil.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [id] = {__VA_ARGS__},
#include "params.def"
};

// ---- the kernel

static const char *shape_text(const stencil *s, char buffer[64]) {
    int used = snprintf(buffer, 64, "%u", s->n[0]);
    for (uint32_t a = 1; a < s->dim; a++) used += snprintf(buffer + used, 64 - (size_t)used, "x%u", s->n[a]);
    return buffer;
}

static void write_head(const kernel *k, cj_builder *b) {
    const stencil *s = k->s;
    char           shape[64];
    cj_head(b, "clusterjit: stencil  %s grid of %s, %s of radius %u, boundary=%s", shape_text(s, shape), s->type,
            s->box ? "box" : "star", s->radius, CJ_PARAM_WORD(k->plan, "boundary"));
    cj_head(b, "  strategy=%s form=%s cluster=%u block=%u tile=%u depth=%u\n", CJ_PARAM_WORD(k->plan, "strategy"),
            CJ_PARAM_WORD(k->plan, "form"), k->plan->cluster.x, s->threads, s->tile, s->depth);
    cj_head(b, "new value of (x, y, z) = the sum of, rounded in this order:");
    for (uint32_t i = 0; i < s->tap_count; i++)
        cj_head(b, "  %.9g * (x %+d, y %+d, z %+d)", s->tap[i].weight, s->tap[i].at[0], s->tap[i].at[1],
                s->tap[i].at[2]);
    cj_head(b, "\nLaunch: block %u threads, grid %u blocks for each %" PRIu64 " problems%s", s->threads,
            k->plan->grid.x, s->batch, s->cluster > 1 ? ", as a cluster launch." : ".");
    if (s->launches > 1)
        cj_head(b, "%" PRIu64 " launches, turn = 0, 1, ..., in -> ... -> workspace -> out; the workspace holds a grid.",
                s->launches);
}

// Whether ptxas 13.0, asked for no number of registers, spills some for sm_90. It spills none of a star of radius 1 and 4-byte
// values in blocks of a power of two, except with these depths.
static bool spills_by_itself(const stencil *s) {
    static const uint32_t depths[] = {[BOUNDARY_ZERO] = 1 << 5 | 1 << 6, [BOUNDARY_PERIODIC] = 0xf << 4};
    const bool            star = !s->box && s->radius == 1 && s->boundary != BOUNDARY_CLAMP;
    const bool            plain = star && s->bytes == 4 && cj__is_power(s->threads);
    return !plain || (s->depth < 32 && depths[s->boundary] >> s->depth & 1);
}

static void declare(kernel *k) {
    k->in = cj_param(k->f, "u64", "in", "the grids, x fastest; aligned to 16 bytes");
    k->out = cj_param(k->f, "u64", "out", "the grids after `steps` steps; aligned to 16 bytes");
    k->steps = cj_param(k->f, "u64", "steps", "of all launches together");
    if (k->plan->launches) k->turn = cj_param(k->f, "u64", "turn", "this launch's number");
    k->workspace = cj_param(k->f, "u64", "workspace", k->plan->launches > 1 ? "as large as the grids" : "not used");
    if (k->s->form == FORM_REGISTERS && k->s->strategy != STRATEGY_RESIDENT)
        cj__registers(k->plan, k->f, cj__stencil_stream_registers(k->s), spills_by_itself(k->s));
}

static void emit_identity(kernel *k) {
    k->thread = cj_mov(k->f, "u32", "thread", "%tid.x");
    if (k->s->form == FORM_REGISTERS) k->lane = cj_and(k->f, "lane", k->thread, 31);
    if (cj__stencil_is_numbered(k->s)) k->block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    if (k->s->cluster > 1) k->rank = cj_cluster_rank(k->f);
}

static void emit_stencil(const cj_plan *plan, cj_builder *b) {
    stencil s;
    kernel  k = {.plan = plan, .s = &s};
    cj__stencil_read(&plan->params, &s);
    cj__stencil_layout(&s);
    write_head(&k, b);
    if (plan->dynamic_shared) cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.f = cj__entry(plan, b);
    declare(&k);
    emit_identity(&k);
    if (s.form == FORM_SHARED)
        cj__stencil_emit_shared(&k);
    else if (s.strategy == STRATEGY_RESIDENT)
        cj__stencil_emit_resident(&k);
    else
        cj__stencil_emit_stream(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_stencil = {
    CJ_FAMILY("stencil", "weighted sums of neighbours in 1-D, 2-D and 3-D grids, many time steps in a launch", params,
              cj__stencil_plan, emit_stencil)};

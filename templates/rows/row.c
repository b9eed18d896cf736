// SPDX-License-Identifier: Apache-2.0
// The row engine: softmax, norms, cross-entropy and their gradients are one kernel with other arithmetic.
//
// Algorithm. Each thread takes vectors of the row (16 bytes if pointers and strides allow it) into registers and makes its
// partial of a few values (a maximum and a sum, a mean, …). Partials combine across the lanes of a warp; then every warp
// gives its partial to all warps that work on the row, each of which combines all of them by itself: one exchange a row.
// What is written follows from the row's values and the elements, which the threads still have. So a row is read once and
// written once.
//
//   direct   lanes of a warp, a warp, a block or a cluster have a row. The hardware deals out rows. A row longer than all
//            registers is read twice, piece by piece (direct.c, pass.c, exchange.c)
//   stream   persistent clusters take row after row from a work counter, since SMs do not run equally fast; a producer
//            warp a block loads ahead (stream.h)
//   spread   few rows: persistent groups of blocks, too large for a cluster, have a row each (spread.c, exchange.c)
#include "engine.h"

// ---- the head

static const char *grid_words(const row_shape *s) {
    if (s->form == ROW_STREAM) return s->cluster ? "any multiple of the cluster" : "any number of blocks";
    if (s->blocks) return "any multiple of a row's blocks, all resident at once (cooperative)";
    if (s->totals) return "any number of blocks";
    if (cj__row_is_short(s)) return "a block for its rows";
    return s->rows_per_block > 1 ? "a block for as many rows as it has warps" : "a block, or a cluster, a row";
}

static void write_way(const row_shape *s, cj_builder *b) {
    cj_head(b, "\n  a row is %s%" PRIu64 " vectors of %u elements: %u block%s x %" PRIu64 " piece%s x %u threads x %u",
            s->peeled ? "some elements before and after up to " : "", s->vectors, s->elements, cj__row_blocks(s),
            cj__row_blocks(s) > 1 ? "s" : "", s->pieces, s->pieces > 1 ? "s" : "", cj__row_threads(s), s->held);
    if (s->transposed) cj_head(b, "  a warp brings 32 rows to shared memory, and takes what is written from there");
    if (cj__row_is_short(s))
        cj_head(b, "  a block has %u rows, a warp %u at once, of which each thread loads %u before it works on one",
                s->rows_per_block, ROW_WARP / s->lanes, s->unroll);
    if (s->form == ROW_STREAM)
        cj_head(b, "  row  --bulk copies-->  %u stages  -->  registers  -->  partials, pushed to all  -->  out%s",
                s->stages, s->resident ? "; weight, bias or mask stays in shared memory" : "");
    else
        cj_head(b, "  row  -->  registers%s  -->  partials, %s  -->  out", s->pieces > 1 ? ", twice" : "",
                cj__row_is_short(s)     ? "of a warp's lanes"
                : s->rows_per_block > 1 ? "of a warp"
                : s->blocks             ? "mailed to all"
                : s->cluster > 1        ? "pushed to all"
                                        : "in shared memory");
}

static void write_workspace(const cj_plan *plan, const row_shape *s, cj_builder *b) {
    if (s->totals)
        cj_head(b, "%u launches of one grid, turn = 0, 1, ...; the workspace has %zu bytes.", plan->launches,
                plan->workspace_bytes);
    else if (s->form == ROW_STREAM)
        cj_head(b, "The workspace is a u32 work counter, zero before the first launch and after each.");
    if (!s->blocks) return;
    cj_head(b,
            "The workspace, zero before the first launch: a u32 work counter; from byte 16 on, twice, a mailbox of %u"
            " words for each block%s; and then for each a u32, its last tag.",
            s->slot_words, s->counted ? ", and then 16 bytes for the row that its group takes next" : "");
    if (cj__mail_copies(s->blocks) > 1)
        cj_head(b, "There are %u copies of the mailboxes, each %zu bytes after the one before.",
                cj__mail_copies(s->blocks), cj__row_mail_copy_bytes(s, plan->grid.x));
}

static void write_head(const cj_plan *plan, const row_shape *s, cj_builder *b) {
    static const char *const forms[] = {"", "direct", "stream", "spread"};
    cj_head(b,
            "clusterjit: %s  columns=%" PRIu64 " dtype=%s out=%s stride=%" PRIu64 " out-stride=%" PRIu64
            " form=%s cluster=%u",
            plan->params.family->name, s->columns, cj__row_type(plan, ROW_DTYPE), cj__row_type(plan, ROW_OUT),
            s->stride, s->out_stride, forms[s->form], s->cluster);
    for (size_t i = ROW_OWN; i < plan->params.family->param_count; i++) {
        const char *name = plan->params.family->param[i].name;
        char        word[32];
        cj_head(b, "  %s=%s", name, cj_params_word(&plan->params, name, word, sizeof word));
    }
    write_way(s, b);
    cj_head(b, "\nLaunch: block %u threads%s; %u bytes of dynamic shared memory; grid %s.", plan->block.x,
            s->cluster ? ", as a cluster launch" : "", plan->dynamic_shared, grid_words(s));
    write_workspace(plan, s, b);
}

// ---- directives and parameters

// Two blocks of a stream share an SM if their stages fit it twice: registers must then, too. One that is alone there may have
// all registers; for sm_90 ptxas by itself spills some of 1,024 threads that compute gradients of 16-bit elements.
static void declare_stream(row_kernel *k) {
    enum { NO_LIMIT = 255, ALL_THREADS = 1024 };
    const bool sharing = !k->s->totals && k->s->warps <= SHARING_WARPS && k->plan->dynamic_shared <= SHARING_BYTES;
    const bool crowded = k->plan->block.x == ALL_THREADS && k->s->in_bytes == 2 && k->op->fold == ROW_FOLD_EXP;
    if (sharing)
        cj__blocks_per_sm(k->plan, k->f, 2);
    else
        cj__registers(k->plan, k->f, NO_LIMIT, crowded);
}

// Of spread rows as many blocks share an SM as have 32 warps, or fewer if threads need more registers.
static void declare_spread(row_kernel *k) {
    const unsigned registers = cj__row_spread_registers(k->plan, k->op, k->s);
    if (registers <= SPREAD_REGISTERS)
        cj__blocks_per_sm(k->plan, k->f, ALONE_WARPS / k->s->warps);
    else
        cj__registers(k->plan, k->f, registers, true);
}

// The direct form: ptxas by itself now and then spills some registers for a block more on an SM. For sm_90 it does so
// for moments and sums over rows of the shapes in constants.def, for nearly all warps of a block, which no plan chooses, and for
// peeled rows of a block, with three values or with 16-bit elements and a mask.
static void declare_direct(row_kernel *k) {
    enum { NO_LIMIT = 255 };
    const row_shape *s = k->s;
    const bool       f16 = *cj__row_type(k->plan, ROW_DTYPE) == 'f' && s->in_bytes == 2;
    const bool       halves = f16 && s->held * s->elements == SPILLS_HALVES;
    const bool       many = s->in_bytes == 4 && s->elements <= SPILLS_SHORT && s->held >= SPILLS_SHORT_HELD;
    const bool       moments = k->op->fold == ROW_FOLD_MOMENTS && (halves || many);
    const bool       sum = s->totals == 1 && s->pieces > 1 && s->held == SPILLS_SUM_HELD && k->op->values == 1;
    const bool       few = s->cluster * s->warps <= ROW_WARP, nearly_all = s->warps > CALM_WARPS && s->warps < ROW_WARP;
    const bool       swept = k->op->columns && !k->op->columns_written && s->in_bytes == 2;
    const bool       peeled = s->peeled && (k->op->values > 2 || swept || s->rows_per_block == 1);
    cj__registers(k->plan, k->f, NO_LIMIT, sum || (moments && few) || nearly_all || peeled);
}

static void declare(row_kernel *k) {
    static void (*const declare_form[])(row_kernel * k) = {NULL, declare_direct, declare_stream, declare_spread};
    for (unsigned i = 0; i < k->op->operands; i++)
        k->param[i] = cj_param(k->f, "u64", k->op->operand[i].name, k->op->operand[i].help);
    k->rows = cj_param(k->f, "u64", "rows", "rows of the matrix");
    if (k->plan->launches) k->turn = cj_param(k->f, "u64", "turn", "this launch's number");
    k->workspace = cj_param(k->f, "u64", "workspace",
                            k->s->totals               ? "partials of the sums over rows"
                            : k->s->form == ROW_STREAM ? "the work counter"
                            : k->s->blocks             ? "the work counter, mailboxes and last tags"
                                                       : "not used");
    declare_form[k->s->form](k);
}

// ---- the beginning

// Whether one thread alone reads or writes something of a row.
static bool has_first(const row_kernel *k) { return k->op->by_first || k->s->counted || k->s->strips; }

// Whether warps have partials, or rows, of their own.
static bool has_warps(const row_shape *s) {
    if (s->totals || s->form == ROW_STREAM) return true;
    return s->rows_per_block > 1 ? s->transposed || !cj__row_is_short(s) : cj__row_slots(s) > 1;
}

static void and_first_rank(row_kernel *k) { cj_ptx(k->f, "setp.eq.and.u32 $1, $2, 0, $1;", k->first, k->rank); }

// The block's place in its group, and the group's first row.
static void begin_group(row_kernel *k) {
    cj_reg block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    cj_ptx(k->f, "div.u32 $1, $2, $3;", k->row, block, k->s->blocks);
    cj_reg group = cj_mul(k->f, "group", k->row, k->s->blocks);
    k->rank = cj_sub(k->f, "rank", block, group);
    if (has_first(k)) and_first_rank(k);
}

static void emit_begin(row_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    if (has_warps(k->s) || k->s->rows_per_block > 1) k->lane = cj_and(f, "lane", k->thread, 31);
    if (has_warps(k->s)) k->warp = cj_shr(f, "warp", k->thread, 5);
    k->row = cj_u32(f, "row");
    if (k->s->rows_per_block > 1)
        k->thread = k->s->transposed         ? cj_mov(f, "u32", "thread", 0)
                    : cj__row_is_short(k->s) ? cj_and(f, "thread", k->lane, k->s->lanes - 1)
                                             : cj_mov(f, "u32", "thread", k->lane);
    if (has_first(k)) k->first = cj_eq(f, "first", k->thread, 0);
    if (k->s->cluster > 1 || (k->s->cluster && (has_first(k) || k->s->form == ROW_STREAM)))
        k->rank = cj_cluster_rank(f);
    if (k->s->cluster && has_first(k)) and_first_rank(k);
    if (k->s->blocks) begin_group(k);
    for (unsigned i = 0; i < k->op->operands; i++)
        k->base[i] = cj__load_pointer(f, k->param[i], k->op->operand[i].name);
    cj__row_new_registers(k);
    k->part = cj__row_part_new(k, "part");
}

void cj__row_emit(const cj_plan *plan, cj_builder *builder) {
    static void (*const emit_form[])(row_kernel *) = {NULL, cj__row_emit_direct, cj__row_emit_stream,
                                                      cj__row_emit_spread};
    row_op     op;
    row_shape  shape;
    row_kernel k = {.plan = plan, .op = &op, .s = &shape};
    cj__row_op(plan, &op, NULL);
    cj__row_read(plan, &op, &shape);
    write_head(plan, &shape, builder);
    if (shape.form == ROW_STREAM) cj_declare(builder, ".extern .shared .align 16 .b8 row_pool[];");
    k.f = cj__entry(plan, builder);
    declare(&k);
    emit_begin(&k);
    if (shape.form != ROW_SPREAD) cj__follow_launches(plan, k.f);
    if (shape.totals)
        cj__row_emit_sums(&k, emit_form[shape.form]);
    else
        emit_form[shape.form](&k);
}

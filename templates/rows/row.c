// SPDX-License-Identifier: Apache-2.0
// The row engine: softmax, norms, cross-entropy and their gradients are one kernel with other arithmetic.
//
// Algorithm. Each thread takes vectors of the row (16 bytes where pointers and strides allow it) into registers and
// makes its part of a few values (a maximum and a sum, a mean, …). Parts come together across the lanes of a warp, and
// then every warp gives its part to all warps that work on the row, each of which combines all of them by itself: one
// exchange a row. What is written follows from the row's values and the elements, which the threads still have. So a
// row is read once and written once.
//
//   direct   a block has a row: loads go straight to registers, parts meet in the block's shared memory. Or a warp has
//            one, several to a block; or a cluster, where rows are few or long. The hardware deals out rows. One longer
//            than all registers is read twice, piece by piece.
//   stream   clusters stay, and claim row after row from a counter in the workspace, since SMs do not run equally fast:
//
//     rank 0's loader  --claim, st.async-->  claim[stages + 1] of every rank        the row's number
//     each loader      --bulk copy-------->  stage[stages]        (its block)       the block's piece of the row
//     workers          --ld.shared-------->  registers, and the stage is free for the next row
//     each warp        --st.async--------->  slots[2][ranks * warps] of every rank  its part
//     workers          --st.global-------->  what is written
//     each loader      --bulk copy, once-->  resident                               the block's weights, bias or mask
//
//            A block that is a cluster by itself has no peers: its warps store their parts, and the workers have a
//            barrier. With cluster=0 there are no clusters at all: the blocks claim rows, and are dealt them.
//            With sums over rows (row_total.c) rows are dealt: there are no claims, and registers have the sums.
//            Where the block's share is more than one piece, the first is held in registers and the others stay in
//            their stages until they have been written from; without anything to be written they just pass.
//   spread   few rows: groups of blocks, too large for a cluster, stay and have a row each, which comes by direct
//            loads; where rows are left, a group claims its next one while the present one comes in:
//
//     warps            --st.shared-------->  slots[warps]                           their parts
//     warp 0           --tagged words----->  posts[2][copies][blocks] (workspace)   the block's part; rank 0: the claim
//     a lane a block   <--polls------------  posts of the group, in one of the copies
//     its warps        --st.shared-------->  row_part, from where every warp takes the row's
//
//            A tag is written as one with the value beside it, so whoever sees the tag has the value, and nothing needs
//            to be published or acquired. A block's tag is one more for each row; the last one stays in the workspace
//            for the next launch. A group's blocks have had the same rows, so their tags are equal. The blocks of a
//            group wait for each other, so that all must be resident at once: the launch is cooperative. It is a
//            dependent one too, where there are such (sm_90): the blocks may start while the kernels before still run,
//            and have their share of the first row, and of what columns have, prefetched into the L2 cache, which
//            reads nothing; all else is behind griddepcontrol.wait. They are let in when this launch's rows have come,
//            whose way they would be in; where those are long, at once.
//
//            Posts of many blocks are written in several copies, each of which some of them read: all wait at the
//            same time, and who reads the same words at once is served one after the other.
//
// Barriers of direct, and why each is needed and enough:
//   D1  bar.sync: all slots of the block are written before any warp reads them. A block has one row: slots are
//       used once.
//   D2  barrier.cluster: a block's memory may be written once it has started, and its mbarrier is there, which
//       fence.mbarrier_init publishes: so the arrival is relaxed. The loads hide it.
//   D3  the mbarrier of each block: all bytes of the parts have arrived, and are visible. Its phase cannot end before
//       thread 0 arrives, which says how many bytes there are: some may come before. Every block waits for what comes to
//       it, so that each may exit behind it.
// Barriers of stream:
//   S1  barrier.cluster: as D2; it also orders the mbarriers' initialization before the block's own waits. Without
//       clusters that is all there is to order: bar.sync, of all threads.
//   S2  the barrier of the stage's number, of all threads: workers arrive when they have read it for the last time, and
//       as they begin; the loader's warp waits before the next copy. A worker arrives again only behind S4, for which
//       the loader has been there: so each phase ends before one of the next arrives. Nobody waits for the last ones,
//       which hold nobody up.
//   S3  claimed[]: the row's number is there. A slot of claims comes round after stages + 1 rows. Rank 0 claims row i
//       when its warps have freed the stage of row i - stages or a later one; so they have met in row i - stages - 1
//       or later, and every warp of the cluster has read that row's number, and its loader copied that row, before: all
//       their lanes, for the workers as in S5, for the loader by bar.warp.sync or by S2 of the row's next piece.
//   S4  full[stage]: the bytes of the piece have arrived.
//   S5  met[turn]: every part of the row has arrived. Two turns are enough: a warp that pushes parts of row i + 2 has
//       met in row i + 1, for which all warps have pushed behind their reading of the parts of row i: all their lanes,
//       by bar.warp.sync. Where a row's last piece cannot come before all lanes have released one of the row before
//       behind its meeting, S2 and S4 say so already. Without peers it is a barrier of the workers.
//   S6  resident: what columns have has arrived; it is never written again.
//   Every block waits for all that comes to it, its last claim among that, so that each may exit behind it; the blocks
//   of a cluster are dealt the same rows.
// Barriers of spread:
//   P1  bar.sync: all slots of the block are written before warp 0 reads them. They are written again behind P2, to
//       which warp 0 comes behind its reading.
//   P2  bar.sync: what the warps that polled have of the row is written before any warp reads it. It is written again
//       behind the next row's P1, to which every warp comes behind its reading.
//   P3  one warp alone: all lanes have read the block's last tag before it is written.
//   Posts alternate between two turns. That is enough: a block that posts for row i + 2 has seen all posts of row
//   i + 1, each of which was made behind its block's reading of those of row i. Between launches their end orders all.
#include "row.h"
#include "constants.h"

#include <inttypes.h>

static void write_head(const cj_plan *plan, const row_op *op, const row_shape *s, cj_builder *b) {
    static const char *const forms[] = {"", "direct", "stream", "spread"};
    const bool               stream = s->form == ROW_STREAM;
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
    cj_head(b, "%s", "");
    cj_head(b, "  a row is %" PRIu64 " vectors of %u elements: %u block%s x %" PRIu64 " piece%s x %u threads x %u",
            s->vectors, s->elements, cj__row_blocks(s), cj__row_blocks(s) > 1 ? "s" : "", s->pieces,
            s->pieces > 1 ? "s" : "", cj__row_threads(s), s->held);
    if (stream)
        cj_head(b, "  row  --bulk copies-->  %u stages  -->  registers  -->  parts, pushed to all  -->  out%s",
                s->stages, s->resident ? "; what columns have stays in shared memory" : "");
    else
        cj_head(b, "  row  -->  registers%s  -->  parts, %s  -->  out", s->pieces > 1 ? ", twice" : "",
                s->rows_per_block > 1 ? "of a warp"
                : s->blocks           ? "posted to all"
                : s->cluster > 1      ? "pushed to all"
                                      : "in shared memory");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; %u bytes of dynamic shared memory; grid %s.", plan->block.x,
            s->cluster ? ", as a cluster launch" : "", plan->dynamic_shared,
            stream && s->cluster    ? "any multiple of the cluster"
            : stream                ? "any number of blocks"
            : s->blocks             ? "any multiple of a row's blocks, all resident at once (cooperative)"
            : s->totals             ? "any number of blocks"
            : s->rows_per_block > 1 ? "a block for as many rows as it has warps"
                                    : "a block, or a cluster, a row");
    if (s->totals)
        cj_head(b, "%u launches of one grid, turn = 0, 1, ...; the workspace has %zu bytes.", plan->launches,
                plan->workspace_bytes);
    else if (stream)
        cj_head(b, "The workspace is a u32 counter of claims, zero before the first launch and behind each.");
    else if (s->blocks)
        cj_head(
            b,
            "The workspace, zero before the first launch: a u32 counter of claims; from byte 16 on, twice, %u tagged"
            " values of 8 bytes for each block%s; and then for each a u32, its last tag.",
            cj__row_slot_words(op), s->claims ? ", and then 16 for its tagged claim" : "");
    if (s->blocks && cj__row_post_copies(s) > 1)
        cj_head(b, "There are %u copies of the tagged values, each %zu bytes behind the one before.",
                cj__row_post_copies(s), cj__row_copy_bytes(op, s, plan->grid.x));
}

// Two blocks of a stream share an SM where their stages fit it twice: registers must then, too.
static unsigned blocks_per_sm(const row_kernel *k) {
    return k->s->form == ROW_STREAM && !k->s->totals && k->s->warps <= SHARING_WARPS &&
                   k->plan->dynamic_shared <= SHARING_BYTES
               ? 2
               : 1;
}

// Of spread rows as many share it as have 32 warps, or fewer where threads need more registers than these leave.
static void declare_spread(row_kernel *k) {
    const unsigned registers = cj__row_spread_registers(k->plan, k->op, k->s);
    if (registers <= SPREAD_REGISTERS)
        cj__blocks_per_sm(k->plan, k->f, ALONE_WARPS / k->s->warps);
    else
        cj__registers(k->plan, k->f, registers, true);
}

// The direct form: ptxas by itself now and then spills some registers for a block more on an SM. For sm_90 it does so
// for f16 moments of 32 elements a thread, and for one sum over rows that are read twice, of two vectors a thread.
static void declare_direct(row_kernel *k) {
    enum { NO_LIMIT = 255, ELEMENTS = 32, TWO = 2 };
    const row_shape *s = k->s;
    const bool       f16 = *cj__row_type(k->plan, ROW_DTYPE) == 'f' && s->in_bytes == 2;
    const bool       moments = k->op->fold == ROW_FOLD_MOMENTS && f16 && s->held * s->elements == ELEMENTS;
    const bool       sum = s->totals == 1 && s->pieces > 1 && s->held == TWO && k->op->values == 1;
    cj__registers(k->plan, k->f, NO_LIMIT, sum || (moments && s->cluster * s->warps <= ROW_WARP));
}

static void declare(row_kernel *k) {
    cj_func *f = k->f;
    for (unsigned i = 0; i < k->op->operands; i++)
        k->param[i] = cj_param(f, "u64", k->op->operand[i].name, k->op->operand[i].help);
    k->rows = cj_param(f, "u64", "rows", "rows of the matrix");
    if (k->plan->launches) k->turn = cj_param(f, "u64", "turn", "this launch's number");
    k->workspace = cj_param(f, "u64", "workspace",
                            k->s->totals               ? "parts of the sums over rows"
                            : k->s->form == ROW_STREAM ? "claims"
                            : k->s->blocks             ? "posts"
                                                       : "not used");
    cj_block(f, k->plan->block.x, 1, 1);
    if (k->s->form == ROW_SPREAD)
        declare_spread(k);
    else if (k->s->form == ROW_DIRECT)
        declare_direct(k);
    else
        cj__blocks_per_sm(k->plan, f, blocks_per_sm(k));
    if (k->s->cluster) cj_cluster(f, k->s->cluster, 1, 1);
}

// The block's place in its group, and the group's first row.
static void begin_group(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   block = cj_u32(f, "block");
    k->rank = cj_u32(f, "rank");
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", block);
    cj_ptx(f, "div.u32 $1, $2, $3;", k->row, block, k->s->blocks);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->rank, k->row, k->s->blocks);
    cj_ptx(f, "sub.u32 $1, $2, $1;", k->rank, block);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", k->first, k->rank);
}

static void emit_begin(row_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->warp = cj_u32(f, "warp");
    k->row = cj_u32(f, "row");
    k->first = cj_pred(f, "first");
    k->column = cj_u32(f, "column");
    k->left = cj_s32(f, "left");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 5;", k->warp, k->thread);
    if (k->s->rows_per_block > 1) cj_ptx(f, "mov.u32 $1, $2;", k->thread, k->lane);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->first, k->thread);
    if (k->s->cluster) {
        k->rank = cj_cluster_rank(f);
        cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", k->first, k->rank);
    }
    if (k->s->blocks) begin_group(k);
    for (unsigned i = 0; i < k->op->operands; i++) {
        const row_role role = k->op->operand[i].role;
        k->base[i] = cj__load_pointer(f, k->param[i], k->op->operand[i].name);
        if (role == ROW_OUTPUT || (role == ROW_INPUT && k->s->form != ROW_STREAM)) k->at[i] = cj_u64(f, "at");
    }
    cj__row_new_registers(k);
    k->part = cj__row_part_new(k, "part");
}

void cj__row_emit(const cj_plan *plan, const row_op *op, void *own, cj_builder *builder) {
    row_shape shape;
    cj__row_read(plan, op, &shape);
    row_kernel k = {.plan = plan, .op = op, .s = &shape, .own = own};
    write_head(plan, op, &shape, builder);
    if (shape.form == ROW_STREAM) cj_declare(builder, ".extern .shared .align 16 .b8 row_pool[];");
    k.f = cj_entry(builder, plan->entry);
    declare(&k);
    emit_begin(&k);
    if (shape.form == ROW_STREAM)
        cj__row_emit_stream(&k);
    else if (shape.form == ROW_SPREAD)
        cj__row_emit_spread(&k);
    else if (shape.totals)
        cj__row_emit_dealt(&k);
    else
        cj__row_emit_direct(&k);
}

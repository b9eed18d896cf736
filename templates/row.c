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
//            A block that is a cluster by itself has no peers: who would push stores, and arrives.
//            With sums over rows (row_total.c) rows are dealt: there are no claims, and registers have the sums.
//            Where the block's share is more than one piece, the first is held in registers and the others stay in
//            their stages until they have been written from; without anything to be written they just pass.
//
// Barriers of direct, and why each is needed and enough:
//   D1  bar.sync: all slots of the block are written before any warp reads them. A block has one row: slots are
//       used once.
//   D2  barrier.cluster: a block's memory may be written once it has started, and its mbarrier once it counts, which
//       fence.mbarrier_init publishes: so the arrival is relaxed. The loads hide it.
//   D3  the mbarrier of each block: all bytes of the parts have arrived, and are visible. Every block waits for what
//       comes to it, so that each may exit behind it.
// Barriers of stream:
//   S1  barrier.cluster: as D2; it also orders the mbarriers' initialization before the block's own waits.
//   S2  empty[stage]: all warps have read it for the last time (a warp's lanes by bar.warp.sync, then one arrival),
//       before the next copy.
//   S3  claimed[]: the row's number is there. A slot of claims comes round after stages + 1 rows. Rank 0 claims row i
//       when its warps have freed the stage of row i - stages or a later one; so they have met in row i - stages - 1
//       or later, and every warp of the cluster has read that row's number, and its loader copied that row, before.
//   S4  full[stage]: the bytes of the piece have arrived.
//   S5  met[turn]: every part of the row has arrived. Two turns are enough: a warp that pushes parts of row i + 2 has
//       met in row i + 1, for which all warps have pushed behind their reading of the parts of row i.
//   S6  resident: what columns have has arrived; it is never written again.
// Every block waits for all that comes to it, its last claim among that, so that each may exit behind it; the blocks of
// a cluster are dealt the same rows.
#include "row.h"

#include <inttypes.h>

static void write_head(const cj_plan *plan, const row_shape *s, cj_builder *b) {
    const bool stream = s->form == ROW_STREAM;
    cj_head(b,
            "clusterjit: %s  columns=%" PRIu64 " dtype=%s out=%s stride=%" PRIu64 " out-stride=%" PRIu64
            " form=%s cluster=%u",
            plan->params.family->name, s->columns, cj__row_type(plan, ROW_DTYPE), cj__row_type(plan, ROW_OUT),
            s->stride, s->out_stride, stream ? "stream" : "direct", s->cluster);
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
                : s->cluster > 1      ? "pushed to all"
                                      : "in shared memory");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; %u bytes of dynamic shared memory; grid %s.", plan->block.x,
            s->cluster ? ", as a cluster launch" : "", plan->dynamic_shared,
            stream                  ? "any multiple of the cluster"
            : s->totals             ? "any number of blocks"
            : s->rows_per_block > 1 ? "a block for as many rows as it has warps"
                                    : "a block, or a cluster, a row");
    if (s->totals)
        cj_head(b, "%u launches of one grid, turn = 0, 1, ...; the workspace has %zu bytes.", plan->launches,
                plan->workspace_bytes);
    else if (stream)
        cj_head(b, "The workspace is a u32 counter of claims, zero before the first launch and behind each.");
}

// Two blocks of a stream share an SM where their stages fit it twice: registers must then, too.
static bool shares_sm(const row_kernel *k) {
    enum { WARPS_MOST = 16, BYTES_MOST = 100 * 1024 };
    return k->s->form == ROW_STREAM && !k->s->totals && k->s->warps <= WARPS_MOST &&
           k->plan->dynamic_shared <= BYTES_MOST;
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
                                                       : "not used");
    cj_block(f, k->plan->block.x, 1, 1);
    if (shares_sm(k)) cj_blocks_per_sm(f, 2);
    if (k->s->cluster) cj_cluster(f, k->s->cluster, 1, 1);
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
    write_head(plan, &shape, builder);
    if (shape.form == ROW_STREAM) cj_declare(builder, ".extern .shared .align 16 .b8 row_pool[];");
    k.f = cj_entry(builder, plan->entry);
    declare(&k);
    emit_begin(&k);
    if (shape.form == ROW_STREAM)
        cj__row_emit_stream(&k);
    else if (shape.totals)
        cj__row_emit_dealt(&k);
    else
        cj__row_emit_direct(&k);
}

// SPDX-License-Identifier: Apache-2.0
// The spread form: a persistent group of blocks has a row, and then another; groups are so large that few rows keep the
// whole GPU busy. Loads go straight to registers, as in the direct form; partials are exchanged in two steps, in the
// block's shared memory and in mailboxes of global memory (exchange.c). All blocks are resident: the launch is cooperative.
// It is a dependent one on targets that have these (sm_90): before griddepcontrol.wait a block only prefetches its share
// of the first row, and of weight and bias, into the L2 cache, which reads nothing.
#include "engine.h"

// Not what is read twice; and of long rows, what is prefetched while the launch before ends costs more than it brings if
// these are several, or have weights: 4 % on an H200, which a long row by itself gains.
static bool is_prefetched(const row_kernel *k) {
    const row_shape *s = k->s;
    const bool       whole = s->pieces == 1 && s->access * s->in_bytes == 16 && !cj__row_has_head(s);
    return k->plan->programmatic && whole &&
           !(cj__row_share_is_long(k) && (k->op->columns || s->blocks <= PREFETCH_BLOCKS));
}

// Nothing is read, so it may be done while the kernels before still run, whatever they write.
static void prefetch(row_kernel *k) {
    const row_shape *s = k->s;
    const unsigned   vector_bytes = s->elements * s->in_bytes;
    cj_func         *f = k->f;
    cj_reg           rows = cj__row_load_rows(k);
    cj_step(f, "the block's share of the first row may come into the L2 cache");
    cj_reg bytes = cj_let(f, "s32", "share_bytes", "mad.lo.s32 $1, $2, $3, $4;", k->rank, -(int64_t)s->piece,
                          (int64_t)s->vectors);
    cj_update(f, bytes, "min", s->piece);
    cj_update(f, bytes, "mul", vector_bytes);
    cj_reg leads = cj_eq(f, "leads", k->thread, 0);
    cj_reg has = cj_let(f, "pred", "has_share", "setp.gt.and.s32 $1, $2, 0, $3;", bytes, leads);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", has, k->row, rows);
    for (unsigned i = 0; i < k->op->operands; i++) {
        const row_role role = k->op->operand[i].role;
        if (role != ROW_INPUT && role != ROW_COLUMN) continue;
        cj_reg from = cj_mad_wide(f, "from", k->rank, s->piece * vector_bytes, k->base[i]);
        if (role == ROW_INPUT) from = cj_mad_wide(f, "from", cj__row_of(k, i), s->stride * s->in_bytes, from);
        cj_ptx(f, "@$1 cp.async.bulk.prefetch.L2.global [$2], $3;", has, from, bytes);
    }
}

static void begin(row_kernel *k) {
    if (is_prefetched(k)) prefetch(k);
    cj__wait_for_launches(k->plan, k->f);
    if (!cj__row_starts_next_late(k)) cj__launch_dependents(k->plan, k->f);
}

static void emit_group_row(row_kernel *k) {
    cj_step(k->f, "the group's next row");
    if (k->s->counted) {
        cj_note(k->f, "and the one after it, by rank 0");
        k->x.taken = cj__work_number(k->f, k->first, "number", cj__load_pointer(k->f, k->workspace, "counter"));
    }
    cj__row_pass(k);
    if (k->s->counted)
        cj_set(k->f, k->row, k->x.next);
    else
        cj__row_next_group(k, k->row, k->row);
}

void cj__row_emit_spread(row_kernel *k) {
    begin(k);
    cj__row_exchange_open(k, false);
    CJ_UNLESS(k->f, cj_ge(k->f, "out_of_bounds", k->row, k->x.rows), "done") {
        if (k->s->pieces == 1) {
            cj_step(k->f, "the thread's share of each row");
            cj__row_set_share(k);
            if (k->s->counted && !k->s->peeled) cj__row_keep_columns(k);
        }
        CJ_DO(k->f, "next_row", cj_lt(k->f, "more_rows", k->row, k->x.rows))
        emit_group_row(k);
        cj__row_mail_close(k);
    }
    cj_ptx(k->f, "ret;");
}

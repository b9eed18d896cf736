// SPDX-License-Identifier: Apache-2.0
// The stream form: shared memory, the two roles, and the sums over rows after them. stream.h has the picture.
#include "stream.h"

static void declare_shared(row_stream *t) {
    row_kernel      *k = t->k;
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    t->taken = s->totals ? 0 : s->stages + 1;
    t->vector_bytes = (uint64_t)s->elements * s->in_bytes;
    t->stages.threads = k->plan->block.x;
    t->stages.bytes = s->piece * t->vector_bytes * k->op->inputs;
    t->stages.pool = cj__pool_address(f, "row_pool");
    t->stages.full = cj__mbarriers(f, "full", s->stages);
    if (t->taken) t->row_full = cj__mbarriers(f, "row_full", t->taken);
    if (!cj__row_is_alone(t)) t->partials_full = cj__mbarriers(f, "partials_full", 2);
    if (t->taken) t->taken_row = cj_mov(f, "u32", "taken_row_base", cj_shared(f, "u32", "taken_row", t->taken, 0));
    t->slots = cj_mov(f, "u32", "slots_base", cj_shared(f, "f32", "slots", cj__row_slots_bytes(s) / 2, 16));
    if (s->resident) t->resident = cj__mbarriers(f, "resident", 1);
}

static void init_shared(row_stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_reg      inits = cj_eq(f, "inits", k->thread, 0);
    cj__mbarriers_init(f, inits, t->stages.full, k->s->stages);
    cj__mbarriers_init(f, inits, t->row_full, t->taken);
    if (!cj__row_is_alone(t)) cj__mbarriers_init(f, inits, t->partials_full, 2);
    if (k->s->resident) cj__mbarriers_init(f, inits, t->resident, 1);
    cj_mbarrier_init_done(f, "publishes the mbarriers, at S1");
    if (k->s->cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "S1: this block has started, its mbarriers are there");
    t->rows = cj__row_load_rows(k);
    t->leads = cj_eq(f, "leads", k->lane, 0);
    if (k->s->cluster)
        cj_cluster_wait(f, "S1: all blocks have started, their memory may be written");
    else
        cj_ptx(f, "bar.sync 0; // S1: the mbarriers are there");
}

void cj__row_emit_stream(row_kernel *k) {
    cj_func   *f = k->f;
    row_stream t = {.k = k};
    cj_label   done = cj_label_new(f, "done"), rows_done = k->s->totals ? cj_label_new(f, "rows_done") : done;
    cj_step(f, "shared memory: stages, numbers of taken rows, partials, and mbarriers for what comes to them");
    declare_shared(&t);
    init_shared(&t);
    t.piece = k->s->cluster ? cj_mul(f, "first_piece", k->rank, k->s->pieces) : cj_mov(f, "u32", "first_piece", 0);
    CJ_UNLESS(f, cj_lt(f, "consumes", k->warp, k->s->warps), "consumers") cj__row_produce(&t, done);
    cj__row_consume(&t, rows_done);
    if (k->s->totals) {
        cj_label_here(f, rows_done);
        cj__row_sums_store(k, cj__group_number(f, "own_partial", k->s->cluster));
    }
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

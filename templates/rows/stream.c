// SPDX-License-Identifier: Apache-2.0
// The stream form: clusters stay on their SMs and claim row after row. One warp a block loads, by bulk copies into
// stages of shared memory, ahead of the others, which work. row.c tells why the barriers are needed and enough.
#include <stdio.h>

#include "row.h"

// Counts round and round. The parity is that of the mbarrier's phase to wait for; barriers have none.
typedef struct ring {
    cj_reg   number, parity;
    unsigned count;
} ring;

static ring new_ring(cj_func *f, const char *name, unsigned count) {
    ring r = {.number = cj_u32(f, name), .count = count};
    cj_ptx(f, "mov.u32 $1, 0;", r.number);
    return r;
}

static ring new_ring_with_phases(cj_func *f, const char *name, unsigned count) {
    ring r = new_ring(f, name, count);
    r.parity = cj_u32(f, "parity");
    cj_ptx(f, "mov.u32 $1, 0;", r.parity);
    return r;
}

static void advance(cj_func *f, const ring *r) {
    cj_reg round = cj_pred(f, "round");
    cj_ptx(f, "add.u32 $1, $1, 1;", r->number);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", round, r->number, r->count);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", round, r->number);
    if (r->parity.id) cj_ptx(f, "@$1 xor.b32 $2, $2, 1;", round, r->parity);
}

// base + number * bytes, a new register.
static cj_reg at_ring(cj_func *f, const char *name, cj_reg base, const ring *r, unsigned bytes) {
    cj_reg at = cj_u32(f, name);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", at, r->number, bytes, base);
    return at;
}

typedef struct stream {
    row_kernel *k;
    cj_reg      pool, full, claimed, claim, met, slots, resident;  // addresses in shared memory
    cj_reg      rows, leads;                                       // leads: lane 0 of each warp
    cj_reg      clusters;                                          // dealt rows: from one to the next
    unsigned    claims, slot_bytes, slot_count;                    // claims: 0 where rows are dealt
    uint64_t    vector_bytes, stage_bytes, share_bytes;            // share: of one matrix, what a block has of a row
    ring        stage, turn, next;                                 // of the warp: pieces, meetings, claims
    cj_reg      peer_slot, peer_met, pushes;
    cj_reg      piece;
} stream;

// One block to a cluster, or no clusters: what meets does so in its own shared memory, and nothing needs a peer's address.
static bool is_alone(const stream *t) { return t->k->s->cluster <= 1; }

// The special registers that count who shares the rows: clusters, or blocks without clusters.
static const char *groups_register(const row_kernel *k) { return k->s->cluster ? "nclusterid.x" : "nctaid.x"; }
static const char *group_register(const row_kernel *k) { return k->s->cluster ? "clusterid.x" : "ctaid.x"; }

// At the barrier of a stage's number the workers arrive, and the warp that loads waits.
static unsigned block_threads(const stream *t) { return t->k->plan->block.x; }

// The workers' own barrier, where they have no peers.
static unsigned behind_stages(const stream *t) { return t->k->s->stages; }

// An array in shared memory: its address.
static cj_reg shared_array(cj_func *f, const char *type, const char *name, unsigned count, unsigned align) {
    char   base[32];
    cj_var array = cj_shared(f, type, name, count, align);
    snprintf(base, sizeof base, "%s_base", name);
    cj_reg at = cj_u32(f, base);
    cj_ptx(f, "mov.u32 $1, $2;", at, array);
    return at;
}

static void init_barriers(cj_func *f, cj_reg when, cj_reg first, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        cj_reg at = cj_u32(f, "mbarrier");
        cj_ptx(f, "add.u32 $1, $2, $3;", at, first, 8 * i);
        cj_mbarrier_init(f, when, at, CJ_ARG(1), NULL);
    }
}

static void emit_shared(stream *t) {
    row_kernel      *k = t->k;
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   words = cj__row_slot_words(k->op);
    cj_reg           inits = cj_pred(f, "inits");
    t->claims = s->totals ? 0 : s->stages + 1;
    t->slot_count = cj__row_blocks(s) * s->warps;
    t->slot_bytes = 4 * words;
    t->vector_bytes = (uint64_t)s->elements * s->in_bytes;
    t->stage_bytes = s->piece * t->vector_bytes * k->op->inputs;
    t->share_bytes = s->piece * s->pieces * t->vector_bytes;
    cj_step(f, "shared memory: stages, claims and parts that meet, and mbarriers for what comes to them");
    t->pool = cj__pool_address(f, "row_pool");
    t->full = shared_array(f, "b64", "full", s->stages, 0);
    if (t->claims) t->claimed = shared_array(f, "b64", "claimed", t->claims, 0);
    if (!is_alone(t)) t->met = shared_array(f, "b64", "met", 2, 0);
    if (t->claims) t->claim = shared_array(f, "u32", "claim", t->claims, 0);
    t->slots = shared_array(f, "f32", "slots", 2 * t->slot_count * words, 16);
    if (s->resident) t->resident = shared_array(f, "b64", "resident", 1, 0);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", inits, k->thread);
    init_barriers(f, inits, t->full, s->stages);
    init_barriers(f, inits, t->claimed, t->claims);
    if (!is_alone(t)) init_barriers(f, inits, t->met, 2);
    if (s->resident) init_barriers(f, inits, t->resident, 1);
    cj_mbarrier_init_done(f, "publishes the mbarriers, at S1");
    if (s->cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "S1: this block has started, its mbarriers are there");
    cj_reg rows = cj_u64(f, "row_count");
    t->rows = cj_u32(f, "rows");
    t->leads = cj_pred(f, "leads");
    cj_ptx(f, "ld.param.u64 $1, [$2];", rows, k->rows);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", t->rows, rows);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", t->leads, k->lane);
    if (s->cluster)
        cj_cluster_wait(f, "S1: all blocks have started, their memory may be written");
    else
        cj_ptx(f, "bar.sync 0; // S1: the mbarriers are there");
}

// ---- the warp that loads

static void wait_empty(stream *t) {
    cj_ptx(t->k->f, "bar.sync $1, $2; // S2: the stage is free", t->stage.number, block_threads(t));
}

// Where rows are dealt, each warp counts by itself, from before the cluster's first row.
static void begin_dealing(stream *t) {
    cj_func *f = t->k->f;
    t->clusters = cj_u32(f, "clusters");
    cj_ptx(f, "mov.u32 $1, %$2;", t->clusters, groups_register(t->k));
    cj_ptx(f, "mov.u32 $1, %$2;", t->k->row, group_register(t->k));
    cj_ptx(f, "sub.u32 $1, $1, $2;", t->k->row, t->clusters);
}

static void deal(stream *t) { cj_ptx(t->k->f, "add.u32 $1, $1, $2;", t->k->row, t->clusters); }

// k->row = the next of all, in every lane. The last claim of all leaves the counter ready for the next launch.
static void take_row(stream *t, cj_reg counter) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_reg      last = cj_u32(f, "last"), is_last = cj_pred(f, "is_last");
    cj_ptx(f, "@$1 atom.relaxed.gpu.global.add.u32 $2, [$3], 1;", t->leads, k->row, counter);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;", k->row);
    cj_ptx(f, "mov.u32 $1, %$2;", last, groups_register(k));
    cj_ptx(f, "add.u32 $1, $1, $2;", last, t->rows);
    cj_ptx(f, "sub.u32 $1, $1, 1;", last);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $4;", is_last, k->row, last, t->leads);
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], 0; // the last claim of all: ready for the next launch", is_last,
           counter);
}

static void emit_claim_alone(stream *t, cj_reg counter) {
    cj_func *f = t->k->f;
    cj_note(f, "the block claims a row");
    take_row(t, counter);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", t->leads, at_ring(f, "claim_at", t->claim, &t->next, 4), t->k->row);
    cj_mbarrier_arrive(f, t->leads, at_ring(f, "claimed_at", t->claimed, &t->next, 8), "S3: the row's number is here");
    advance(f, &t->next);
}

// Rank 0 takes the next row, and tells every block of the cluster.
static void emit_claim(stream *t, cj_reg counter) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_label    told = cj_label_new(f, "told");
    cj_reg      tells = cj_pred(f, "tells"), to = cj_u32(f, "to"), other = cj_pred(f, "other_rank");
    cj_reg      claimed = at_ring(f, "claimed_at", t->claimed, &t->next, 8),
           claim = at_ring(f, "claim_at", t->claim, &t->next, 4);
    cj_mbarrier_arrive_expect(f, t->leads, claimed, CJ_ARG(4), NULL);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->rank);
    cj_ptx(f, "@$1 bra $2;", other, told);
    cj_note(f, "rank 0 claims a row and pushes its number to all");
    take_row(t, counter);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", tells, k->lane, k->s->cluster);
    cj_ptx(f, "min.u32 $1, $2, $3;", to, k->lane, k->s->cluster - 1);
    cj_reg peer = cj_cluster_map_address(f, claim, to), mbarrier = cj_cluster_map_address(f, claimed, to);
    cj_st_async(f, tells, "u32", &k->row, 1, peer, 0, mbarrier);
    cj_label_here(f, told);
    cj_mbarrier_wait(f, claimed, CJ_ARG(t->next.parity), CJ_SCOPE_CLUSTER, "S3: the row's number is here");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", k->row, claim);
    if (t->k->s->pieces == 1)  // else a barrier comes before the row's last piece
        cj_ptx(f, "bar.warp.sync 0xffffffff; // S3: all lanes have read it, before what tells others that");
    advance(f, &t->next);
}

// The bytes of a matrix in `pieces` pieces of the block's share, from number `number` on: a new register.
static cj_reg piece_bytes(stream *t, uint64_t number, uint64_t pieces) {
    cj_func         *f = t->k->f;
    const row_shape *s = t->k->s;
    cj_reg           bytes = cj_s32(f, "piece_bytes"), from = cj_u32(f, "piece_from");
    if (s->vectors == cj__row_blocks(s) * s->pieces * s->piece) {
        cj_ptx(f, "mov.s32 $1, $2;", bytes, pieces * s->piece * t->vector_bytes);
        return bytes;
    }
    cj_ptx(f, "add.u32 $1, $2, $3;", from, t->piece, number);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", bytes, from, -(int64_t)s->piece, (int64_t)s->vectors);
    cj_ptx(f, "max.s32 $1, $1, 0;", bytes);
    cj_ptx(f, "min.s32 $1, $1, $2;", bytes, pieces * s->piece);
    cj_ptx(f, "mul.lo.s32 $1, $1, $2;", bytes, t->vector_bytes);
    return bytes;
}

// The block's share of what columns have, behind the stages.
static uint64_t resident_offset(const stream *t, unsigned number) {
    return t->k->s->stages * t->stage_bytes + number * t->share_bytes;
}

static void emit_load_resident(stream *t) {
    row_kernel    *k = t->k;
    cj_func       *f = k->f;
    const unsigned count = k->op->columns;
    cj_reg         bytes = piece_bytes(t, 0, k->s->pieces), all = cj_u32(f, "all_bytes"), copies = cj_pred(f, "copies");
    cj_note(f, "what columns have, once");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", all, bytes, count);
    cj_mbarrier_arrive_expect(f, t->leads, t->resident, CJ_ARG(all), NULL);
    cj_ptx(f, "setp.gt.and.s32 $1, $2, 0, $3;", copies, bytes, t->leads);
    for (unsigned i = 0, n = 0; i < k->op->operands; i++) {
        if (k->op->operand[i].role != ROW_COLUMN) continue;
        cj_reg from = cj_u64(f, "from"), into = cj_u32(f, "into");
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, t->piece, k->s->piece * t->vector_bytes, k->base[i]);
        cj_ptx(f, "add.u32 $1, $2, $3;", into, t->pool, resident_offset(t, n++));
        cj_ptx(f, "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$2], [$3], $4, [$5];", copies,
               into, from, bytes, t->resident);
    }
}

// What an input's copies say of the L2 cache: rows that are read once leave it first, those that repeat last.
static cj_reg new_policy(row_kernel *k, unsigned input) {
    const bool repeats = k->op->operand[cj__row_nth(k->op, ROW_INPUT, input)].period > 0;
    cj_reg     policy = cj_b64(k->f, "policy");
    cj_ptx(k->f, "createpolicy.fractional.L2::evict_$1.b64 $2, 0f3F800000;", repeats ? "last" : "first", policy);
    return policy;
}

static void emit_copy(stream *t, const cj_reg from[ROW_INPUTS], uint64_t number, cj_reg bytes,
                      const cj_reg policy[ROW_INPUTS]) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_reg      full = at_ring(f, "full_at", t->full, &t->stage, 8),
           into = at_ring(f, "stage_at", t->pool, &t->stage, (unsigned)t->stage_bytes);
    cj_reg at = cj_u64(f, "at"), all = cj_u32(f, "all_bytes"), copies = cj_pred(f, "copies");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", all, bytes, k->op->inputs);
    cj_mbarrier_arrive_expect(f, t->leads, full, CJ_ARG(all), NULL);
    cj_ptx(f, "setp.gt.and.s32 $1, $2, 0, $3;", copies, bytes, t->leads);
    for (unsigned i = 0; i < k->op->inputs; i++) {
        cj_ptx(f, "add.u64 $1, $2, $3;", at, from[i], number * k->s->piece * t->vector_bytes);
        cj_ptx(f,
               "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$2], [$3], $4, "
               "[$5], $6;",
               copies, into, at, bytes, full, policy[i]);
        if (i + 1 < k->op->inputs) cj_ptx(f, "add.u32 $1, $1, $2;", into, k->s->piece * t->vector_bytes);
    }
    advance(f, &t->stage);
}

static void emit_loader(stream *t, cj_label done) {
    row_kernel      *k = t->k;
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    cj_label         next = cj_label_new(f, "next_claim");
    cj_reg           counter = cj_u64(f, "counter"), past = cj_pred(f, "past");
    cj_reg           base[ROW_INPUTS], from[ROW_INPUTS], policy[ROW_INPUTS], bytes[ROW_PIECES_MAX];
    cj_step(f, "the last warp loads");
    t->stage = new_ring(f, "free_stage", s->stages);
    if (t->claims) {
        t->next = is_alone(t) ? new_ring(f, "next_row", t->claims) : new_ring_with_phases(f, "next_row", t->claims);
        cj_ptx(f, "ld.param.u64 $1, [$2];", counter, k->workspace);
        cj_ptx(f, "cvta.to.global.u64 $1, $1;", counter);
    } else {
        begin_dealing(t);
    }
    for (unsigned i = 0; i < k->op->inputs; i++) {
        policy[i] = new_policy(k, i);
        base[i] = cj_u64(f, "share");
        from[i] = cj_u64(f, "from");
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", base[i], t->piece, s->piece * t->vector_bytes,
               k->base[cj__row_nth(k->op, ROW_INPUT, i)]);
    }
    if (s->resident) emit_load_resident(t);
    for (uint64_t p = 0; p < s->pieces; p++) bytes[p] = piece_bytes(t, p, 1);
    cj_label_here(f, next);
    cj_step(f, "when there is room for it: the next row");
    wait_empty(t);
    if (t->claims && is_alone(t))
        emit_claim_alone(t, counter);
    else if (t->claims)
        emit_claim(t, counter);
    else
        deal(t);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, t->rows);
    cj_ptx(f, "@$1 bra $2;", past, done);
    for (unsigned i = 0; i < k->op->inputs; i++)
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from[i], cj__row_of(k, cj__row_nth(k->op, ROW_INPUT, i)),
               s->stride * s->in_bytes, base[i]);
    for (uint64_t p = 0; p < s->pieces; p++) {
        if (p) wait_empty(t);
        emit_copy(t, from, p, bytes[p], policy);
    }
    cj_ptx(f, "bra $1;", next);
}

// ---- the warps that work

static void wait_full(stream *t) {
    cj_func *f = t->k->f;
    cj_mbarrier_wait(f, at_ring(f, "full_at", t->full, &t->stage, 8), CJ_ARG(t->stage.parity), CJ_SCOPE_BLOCK,
                     "S4: the piece is here");
}

// Where the thread's first vector of a stage is.
static void set_stage(stream *t, const ring *stage) {
    row_kernel *k = t->k;
    k->stage_at = at_ring(k->f, "stage_at", t->pool, stage, (unsigned)t->stage_bytes);
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $1;", k->stage_at, k->thread, t->vector_bytes);
}

static void release(stream *t, const ring *stage) {
    cj_ptx(t->k->f, "bar.arrive $1, $2; // S2: this warp has read the stage", stage->number, block_threads(t));
}

static void fetch(stream *t) {
    wait_full(t);
    set_stage(t, &t->stage);
    cj__row_fetch_piece(t->k);
    release(t, &t->stage);
}

// The pieces behind the first: they stay in shared memory where they are written from, else they pass through
// registers.
static void emit_more_pieces(stream *t, const row_part *all) {
    row_kernel    *k = t->k;
    cj_func       *f = k->f;
    cj_reg         piece = cj_u32(f, "piece"), last = cj_u32(f, "last_piece"), more = cj_pred(f, "more");
    cj_label       next = cj_label_new(f, "next_piece");
    const row_part first = k->part, both[2] = {*all, first};
    cj_step(f, "the pieces behind it");
    for (unsigned i = 0; i < k->op->values; i++) cj_ptx(f, "mov.f32 $1, $2;", all->value[i], first.value[i]);
    cj_ptx(f, "add.u32 $1, $2, 1;", piece, t->piece);
    cj_ptx(f, "add.u32 $1, $2, $3;", last, t->piece, k->s->pieces);
    cj_label_here(f, next);
    cj__row_set_piece(k, piece);
    if (k->op->outputs) {
        wait_full(t);
        set_stage(t, &t->stage);
    } else {
        fetch(t);
    }
    k->in_shared = k->op->outputs > 0;
    cj__row_take(k);
    cj__row_fold(k, all, both, 2, false);
    k->in_shared = false;
    advance(f, &t->stage);
    cj_ptx(f, "add.u32 $1, $1, 1;", piece);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, piece, last);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void emit_give_more(stream *t, const ring *kept) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_reg      piece = cj_u32(f, "piece"), last = cj_u32(f, "last_piece"), more = cj_pred(f, "more");
    cj_label    next = cj_label_new(f, "next_written");
    cj_step(f, "what is written of the pieces behind it; their stages become free");
    cj_ptx(f, "add.u32 $1, $2, 1;", piece, t->piece);
    cj_ptx(f, "add.u32 $1, $2, $3;", last, t->piece, k->s->pieces);
    cj_label_here(f, next);
    cj__row_set_piece(k, piece);
    cj__row_place(k);
    set_stage(t, kept);
    k->in_shared = true;
    cj__row_give(k);
    k->in_shared = false;
    release(t, kept);
    advance(f, kept);
    cj_ptx(f, "add.u32 $1, $1, 1;", piece);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, piece, last);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

// Whether a row's last piece comes when all lanes have released a piece of the row before behind its meeting.
static bool awaits_reading(const stream *t) {
    const row_kernel *k = t->k;
    const uint64_t    behind = !t->claims ? 1 : k->op->outputs ? k->s->pieces - 1 : 0;
    return k->s->stages < k->s->pieces + behind;
}

// Every warp gives its part to every block of the cluster, waits for all parts and combines them by itself.
static void emit_meet(stream *t) {
    row_kernel    *k = t->k;
    cj_func       *f = k->f;
    const unsigned turn_bytes = t->slot_count * t->slot_bytes;
    cj_step(f, is_alone(t) ? "the warp's part goes to its slot"
                           : "the warp's part goes to every block of the cluster, lane r to rank r");
    cj__row_fold(k, &k->part, &k->part, 1, true);
    cj_reg slot = at_ring(f, is_alone(t) ? "slot_at" : "peer_slot", t->peer_slot, &t->turn, turn_bytes);
    if (is_alone(t)) {
        cj__row_store_slot(k, t->leads, slot);
        cj_ptx(f, "bar.sync $1, $2; // S5: every part of the row is here", behind_stages(t), cj__row_threads(k->s));
    } else {
        cj_reg value[ROW_VALUES];
        cj__row_slot_values(k, value);
        if (!awaits_reading(t))
            cj_ptx(f, "bar.warp.sync 0xffffffff; // S5: all lanes have read the parts of the row before");
        cj_st_async(f, t->pushes, "f32", value, t->slot_bytes / 4, slot, 0,
                    at_ring(f, "peer_met", t->peer_met, &t->turn, 8));
        cj_mbarrier_wait(f, at_ring(f, "met_at", t->met, &t->turn, 8), CJ_ARG(t->turn.parity), CJ_SCOPE_CLUSTER,
                         "S5: every part of the row is here");
    }
    cj_step(f, "every warp combines all parts");
    cj__row_fold_slots(k, at_ring(f, "slots_at", t->slots, &t->turn, turn_bytes), t->slot_count);
    advance(f, &t->turn);
}

static void emit_row(stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    const bool  many = k->s->pieces > 1, keeps = many && k->op->outputs;
    ring        kept = t->stage;
    row_part    own = k->part, all = many ? cj__row_part_new(k, "all") : own;
    if (k->op->prepare) k->op->prepare(k);
    cj_step(f, "the block's %s of the row goes into registers, and its stage is free", many ? "first piece" : "piece");
    if (many) cj__row_set_piece(k, t->piece);
    fetch(t);
    advance(f, &t->stage);
    if (keeps) {
        kept = (ring){.number = cj_u32(f, "kept_stage"), .count = t->stage.count};
        cj_ptx(f, "mov.u32 $1, $2;", kept.number, t->stage.number);
    }
    const bool in_place = k->s->in_bytes == 4 && (k->op->outputs || !many);
    k->in_place = in_place;
    cj__row_take(k);
    k->in_place = false;
    if (many) emit_more_pieces(t, &all);
    k->part = all;
    emit_meet(t);
    k->op->finish(k);
    if (k->op->outputs) {
        cj_step(f, "what is written");
        if (many) cj__row_set_piece(k, t->piece);
        cj__row_place(k);
        k->in_place = in_place;
        cj__row_give(k);
        k->in_place = false;
    }
    if (keeps) emit_give_more(t, &kept);
    k->part = own;
}

// Of a row that is dealt every piece stays in its stage until it has been written from: registers have the sums.
static void emit_dealt_row(stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    if (k->op->prepare) k->op->prepare(k);
    cj_step(f, "the block's piece of the row, for its values");
    wait_full(t);
    set_stage(t, &t->stage);
    k->in_shared = true;
    cj__row_take(k);
    emit_meet(t);
    k->op->finish(k);
    cj_step(f, "and for what is written; then the stage is free");
    cj__row_place(k);
    cj__row_give(k);
    k->in_shared = false;
    release(t, &t->stage);
    advance(f, &t->stage);
}

// k->row: that of the next claim.
static void take_claim(stream *t) {
    cj_func *f = t->k->f;
    cj_reg   claimed = at_ring(f, "claimed_at", t->claimed, &t->next, 8),
           claim = at_ring(f, "claim_at", t->claim, &t->next, 4);
    cj_mbarrier_wait(f, claimed, CJ_ARG(t->next.parity), is_alone(t) ? CJ_SCOPE_BLOCK : CJ_SCOPE_CLUSTER,
                     "S3: the row's number is here");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", t->k->row, claim);
    advance(f, &t->next);
}

// Column 0 is so far before what the block has.
static void emit_wait_resident(stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_mbarrier_wait(f, t->resident, CJ_ARG(0), CJ_SCOPE_BLOCK, "S6: what columns have is here, and stays");
    for (unsigned i = 0, n = 0; i < k->op->operands; i++) {
        if (k->op->operand[i].role != ROW_COLUMN) continue;
        char name[32];
        snprintf(name, sizeof name, "%s_at", k->op->operand[i].name);
        k->resident_at[i] = cj_u32(f, name);
        cj_ptx(f, "add.u32 $1, $2, $3;", k->resident_at[i], t->pool, resident_offset(t, n++));
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", k->resident_at[i], t->piece, -(int64_t)(k->s->piece * t->vector_bytes));
    }
}

// Where the warp's parts go: the block's own slots, or those of rank r, for lane r.
static void aim_parts(stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_reg      own_slot = cj_u32(f, "own_slot"), to;
    if (is_alone(t))
        cj_ptx(f, "mov.u32 $1, $2;", own_slot, k->warp);
    else
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", own_slot, k->rank, k->s->warps, k->warp);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", own_slot, t->slot_bytes, t->slots);
    t->peer_slot = own_slot;
    if (is_alone(t)) return;
    to = cj_u32(f, "to");
    t->pushes = cj_pred(f, "pushes");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", t->pushes, k->lane, k->s->cluster);
    cj_ptx(f, "min.u32 $1, $2, $3;", to, k->lane, k->s->cluster - 1);
    t->peer_slot = cj_cluster_map_address(f, own_slot, to);
    t->peer_met = cj_cluster_map_address(f, t->met, to);
}

static void emit_workers(stream *t, cj_label done) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_label    next = cj_label_new(f, "next_row");
    cj_reg      past = cj_pred(f, "past"), expects = is_alone(t) ? (cj_reg){0} : cj_pred(f, "expects");
    cj_step(f, "the other warps work: all stages are free");
    for (unsigned i = 0; i < k->s->stages; i++) cj_ptx(f, "bar.arrive $1, $2; // S2", i, block_threads(t));
    t->stage = new_ring_with_phases(f, "stage", k->s->stages);
    if (t->claims) t->next = new_ring_with_phases(f, "next_row", t->claims);
    t->turn = is_alone(t) ? new_ring(f, "turn", 2) : new_ring_with_phases(f, "turn", 2);
    cj_step(f, "where a warp's parts go");
    aim_parts(t);
    if (!is_alone(t)) cj_ptx(f, "setp.eq.u32 $1, $2, 0;", expects, k->thread);
    if (k->s->pieces == 1) cj__row_set_piece(k, t->piece);
    if (k->s->resident) emit_wait_resident(t);
    if (!t->claims) {
        cj__row_total_clear(k);
        begin_dealing(t);
    }
    cj_label_here(f, next);
    cj_step(f, "the next row");
    if (t->claims)
        take_claim(t);
    else
        deal(t);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, t->rows);
    cj_ptx(f, "@$1 bra $2;", past, done);
    if (!is_alone(t))
        cj_mbarrier_arrive_expect(f, expects, at_ring(f, "met_at", t->met, &t->turn, 8),
                                  CJ_ARG(t->slot_count * t->slot_bytes), NULL);
    if (t->claims)
        emit_row(t);
    else
        emit_dealt_row(t);
    cj_ptx(f, "bra $1;", next);
}

// Behind the workers' last row.
static void emit_totals(row_kernel *k) {
    cj_reg part = cj_u32(k->f, "own_part");
    cj_ptx(k->f, "mov.u32 $1, %$2;", part, group_register(k));
    cj__row_total_store(k, part);
}

void cj__row_emit_stream(row_kernel *k) {
    cj_func   *f = k->f;
    const bool dealt = k->s->totals > 0;
    stream     t = {.k = k};
    cj_label   add_up = dealt ? cj__row_total_turns(k) : (cj_label){0};
    cj_label   done = cj_label_new(f, "done"), workers = cj_label_new(f, "workers");
    cj_label   worked = dealt ? cj_label_new(f, "rows_done") : done;
    cj_reg     works = cj_pred(f, "works");
    emit_shared(&t);
    t.piece = cj_u32(f, "first_piece");
    if (k->s->cluster)
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", t.piece, k->rank, k->s->pieces);
    else
        cj_ptx(f, "mov.u32 $1, 0;", t.piece);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", works, k->warp, k->s->warps);
    cj_ptx(f, "@$1 bra $2;", works, workers);
    emit_loader(&t, done);
    cj_label_here(f, workers);
    emit_workers(&t, worked);
    if (dealt) {
        cj_label_here(f, worked);
        emit_totals(k);
    }
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
    if (dealt) cj__row_total_add_up(k, add_up, groups_register(k));
}

// SPDX-License-Identifier: Apache-2.0
// Collectives of arrays in shared memory.
//
// PULL. Each block reads what it needs from its peers' `from`, 16 bytes a thread, between two cluster barriers: before the
// first `from` is written, after the second it may change, and its block exit.
//
// PUSH. Lane r of warp 0 sends rank r what is for it by one bulk copy (what is for the block itself its threads copy: a bulk
// copy goes to other blocks), and mbarriers say what may happen:
//
//   ready   counts every rank: nobody there uses `to` and `scratch` any more     before the copies start
//   landed  counts bytes: what is for this block has come                        before it is read
//   done    counts every rank: they have what was for them                       before `from` changes or its block exits
//
// Each is passed once a call, so a rank cannot arrive at it for the next call before this one's phase has ended: it would
// have had to pass the two others in between, which wait for every rank. The fences make what threads wrote visible to the
// copies, which read and write through the asynchronous proxy.
//
// What is combined without being scattered (reduce, allreduce, scan) goes in two halves, so that a block receives two arrays
// instead of C: rank r gets the r-th piece of every array into its scratch, combines there, and sends the results on.
//
//   from: | piece 0 | piece 1 | … |  --piece r-->  scratch of rank r: | from rank 0 | from rank 1 | … |     landed
//   scratch: results in place        ---------->   piece r of to, of every rank or of root                  second
//
// The second half has an mbarrier of its own, because a fast rank's results may come before the slowest rank's pieces.
#include "builder.h"
#include "collective_parts.h"
#include "loop.h"

enum { UNIT = 16, VECTOR_MOST = 4 };

// One call, as its steps see it.
typedef struct call {
    cj_func                  *f;
    const cj_collectives     *c;
    const cj_collective      *what;
    const cj_collective_kind *kind;
    const cj_combined        *element;  // of what is combined
    uint32_t                  bytes, ranks;
    uint32_t                  piece;  // bytes of a piece, where it goes in two halves; the last ones may be shorter
    cj_reg                    to, from, scratch;
    cj_reg                    gets;  // whether this block gets anything (to_root); cj_always(): it does
} call;

static bool in_halves(const cj_collective_kind *kind) { return kind->fold && !kind->by_rank; }

static uint32_t piece_bytes(uint32_t bytes, uint32_t ranks) { return (bytes / UNIT + ranks - 1) / ranks * UNIT; }

uint32_t cj_collective_scratch(const cj_collectives_desc *desc, const cj_collective *what, uint32_t bytes) {
    if (!desc || !what) return 0;
    const cj_collective_kind *kind = cj__collective_kind(what->op);
    if (desc->strategy == CJ_STRATEGY_PULL || !kind->fold) return 0;
    return desc->cluster * (in_halves(kind) ? piece_bytes(bytes, desc->cluster) : bytes);
}

// base + index * bytes.
static cj_reg part_of(const call *k, const char *name, cj_reg base, cj_reg index, uint32_t bytes) {
    return cj_mad(k->f, name, index, bytes, base);
}

// `yes` if `when` holds (cj_always(): it does), else 0.
static cj_reg count_if(const call *k, cj_reg when, uint32_t yes) {
    return cj_is_always(when) ? cj_mov(k->f, "u32", "count", yes) : cj_select(k->f, "u32", "count", when, yes, 0);
}

// A body by warp 0, which may be the only one.
static cj_body begin_by_warp_0(const call *k, const char *done) {
    const bool alone = cj_is_none(k->c->beyond);
    return cj_if_begin(k->f, alone ? cj_always() : k->c->beyond, alone, done, 0);
}

#define BY_WARP_0(k, done) for (cj_body body = begin_by_warp_0((k), (done)); body.open; cj_body_end(&body))

// ---- combining what lies at from[0 … ranks): [thread's share of `bytes` (a register)]

typedef struct fold_plan {
    const cj_reg *from;
    const char   *window;    // "shared", "shared::cluster"
    bool          in_place;  // prefixes go back to from[r]; else the result goes to `to`
    cj_reg        to, bytes;
} fold_plan;

// The elements of one vector, as they are computed: v[k].
static void load_vector(const call *k, const fold_plan *plan, cj_reg from, cj_reg at, cj_reg *v) {
    cj_func           *f = k->f;
    const cj_combined *e = k->element;
    cj_reg             bits[VECTOR_MOST], address = cj_add(f, "address", from, at);
    for (uint32_t i = 0; i < e->vector * e->packed; i++) v[i] = cj_register(f, e->computed, "v");
    for (uint32_t i = 0; i < e->vector; i++) bits[i] = e->packed > 1 ? cj_b32(f, "pair") : v[i];
    if (e->vector == 2)
        cj_ptx(f, "ld.$1.v2.$2 {$3, $4}, [$5];", plan->window, e->load, bits[0], bits[1], address);
    else
        cj_ptx(f, "ld.$1.v4.$2 {$3, $4, $5, $6}, [$7];", plan->window, e->load, bits[0], bits[1], bits[2], bits[3],
               address);
    for (uint32_t i = 0; i < e->vector && e->packed > 1; i++) {
        cj__half_widen(f, e->type, v[2 * i], bits[i]);
        cj__half_widen(f, e->type, v[2 * i + 1], cj_let(f, "b32", "high", "shr.u32 $1, $2, 16;", bits[i]));
    }
}

static void store_vector(const call *k, cj_reg to, cj_reg at, const cj_reg *v) {
    cj_func           *f = k->f;
    const cj_combined *e = k->element;
    cj_reg             bits[VECTOR_MOST];
    for (uint32_t i = 0; i < e->vector; i++) {
        bits[i] = v[i];
        if (e->packed == 1) continue;
        cj_reg low = cj_register(f, "b16", "low"), high = cj_register(f, "b16", "high");
        cj__half_round(f, e->type, low, v[2 * i]);
        cj__half_round(f, e->type, high, v[2 * i + 1]);
        bits[i] = cj_let(f, "b32", "pair", "mov.b32 $1, {$2, $3};", low, high);
    }
    cj_reg address = cj_add(f, "address", to, at);
    if (e->vector == 2)
        cj_ptx(f, "st.shared.v2.$1 [$2], {$3, $4};", e->load, address, bits[0], bits[1]);
    else
        cj_ptx(f, "st.shared.v4.$1 [$2], {$3, $4, $5, $6};", e->load, address, bits[0], bits[1], bits[2], bits[3]);
}

// v[r][i] combined over r for each i; store what came of it.
static void combine_vectors(const call *k, const fold_plan *plan, cj_reg at, cj_reg v[CJ_CLUSTER_MOST][VECTOR_MOST]) {
    const cj_combine *combine = &k->what->combine;
    const uint32_t    elements = k->element->vector * k->element->packed;
    for (uint32_t i = 0; i < elements; i++) {
        cj_reg column[CJ_CLUSTER_MOST];
        for (uint32_t r = 0; r < k->ranks; r++) column[r] = v[r][i];
        if (k->kind->fold == CJ_FOLD_ALL)
            cj__fold_all(k->f, combine, column, k->ranks);
        else
            cj__fold_prefixes(k->f, combine, column, k->ranks, k->what->exclusive);
        if (k->kind->fold == CJ_FOLD_PREFIX && !plan->in_place)
            cj__fold_pick(k->f, column, k->ranks, k->c->rank);
        for (uint32_t r = 0; r < k->ranks; r++) v[r][i] = column[r];
    }
    for (uint32_t r = 0; r < k->ranks && plan->in_place; r++) store_vector(k, plan->from[r], at, v[r]);
    if (!plan->in_place) store_vector(k, plan->to, at, v[0]);
}

// Bytes that a thread combines at once.
static uint32_t fold_step(const call *k) { return k->element->vector * k->element->packed * k->element->bytes; }

static void fold(const call *k, const fold_plan *plan) {
    cj_reg v[CJ_CLUSTER_MOST][VECTOR_MOST];
    CJ_SHARE(k->f, at, "at", k->c->thread, fold_step(k), k->c->desc.threads, plan->bytes) {
        for (uint32_t r = 0; r < k->ranks; r++) load_vector(k, plan, plan->from[r], at, v[r]);
        combine_vectors(k, plan, at, v);
    }
}

// 16 bytes a thread. The other way of `from` is a peer's, or the own memory.
static void copy_unit(const call *k, cj_reg to, cj_reg from, bool is_peer) {
    cj_reg w[4];
    for (uint32_t i = 0; i < 4; i++) w[i] = cj_b32(k->f, "w");
    if (is_peer)
        cj_dsmem_load(k->f, cj_always(), "b32", w, 4, from, 0);
    else
        cj_ptx(k->f, "ld.shared.v4.b32 {$1, $2, $3, $4}, [$5];", w[0], w[1], w[2], w[3], from);
    cj_ptx(k->f, "st.shared.v4.b32 [$1], {$2, $3, $4, $5};", to, w[0], w[1], w[2], w[3]);
}

static cj_reg first_unit(const call *k) { return cj_shl(k->f, "at", k->c->thread, 4); }

// ---- pull

static void pull_moved(const call *k) {
    cj_func           *f = k->f;
    const bool         all = k->kind->source == CJ_FROM_ALL;
    cj_collective_peer source = {.exists = cj_always()};
    if (!all) source = cj__collective_source(f, k->c, k->what);
    CJ_IF(f, source.exists, "no_source") {
        CJ_STRIDE(f, at, first_unit(k), UNIT * k->c->desc.threads, all ? k->ranks * k->bytes : k->bytes) {
            cj_reg rank = all ? cj_div(f, "source", at, k->bytes) : source.rank;
            cj_reg inside = all ? cj_rem(f, "inside", at, k->bytes) : at;
            cj_reg theirs = cj_cluster_map_address(f, k->from, rank);
            if (k->kind->by_rank) theirs = part_of(k, "part", theirs, k->c->rank, k->bytes);
            theirs = cj_add(f, "theirs", theirs, inside);
            copy_unit(k, cj_add(f, "mine", k->to, at), theirs, true);
        }
    }
}

static void pull_combined(const call *k) {
    cj_reg from[CJ_CLUSTER_MOST];
    for (uint32_t r = 0; r < k->ranks; r++) {
        from[r] = cj_cluster_map_address(k->f, k->from, cj_mov(k->f, "u32", "source", r));
        if (k->kind->by_rank) from[r] = part_of(k, "part", from[r], k->c->rank, k->bytes);
    }
    fold(k, &(fold_plan){
                .from = from, .window = "shared::cluster", .to = k->to, .bytes = count_if(k, cj_always(), k->bytes)});
}

static void pull(const call *k) {
    cj_cluster_sync(k->f, "every block's array is written");
    CJ_IF(k->f, k->gets, "gets_nothing") {
        if (k->kind->fold)
            pull_combined(k);
        else
            pull_moved(k);
    }
    cj_cluster_sync(k->f, "no array changes, no block exits while it is read");
}

// ---- push

// What goes from this block to rank `which`: `to` is where in its memory, as an own address. Which is the lane, for the copies
// to peers, or this block's own rank, for what stays here.
typedef struct shipment {
    cj_reg when, from, to;
    cj_arg bytes;
} shipment;

static cj_reg gate(const call *k, uint32_t which) {
    return cj__offset_from(k->f, "gate", k->c->gates, CJ_GATE_BYTES * which);
}

static cj_reg peer_gate(const call *k, uint32_t which) {
    return cj__offset_from(k->f, "peer_gate", k->c->peer_gates, CJ_GATE_BYTES * which);
}

// Two conditions: a new predicate; either may be cj_always().
static cj_reg both(const call *k, cj_reg one, cj_reg other) {
    if (cj_is_always(one)) return other;
    return cj_is_always(other) ? one : cj_and(k->f, "sends", one, other);
}

// Whether this block is the source of rank `which`.
static cj_reg sends_to(const call *k, cj_reg which) {
    const cj_collective *what = k->what;
    if (k->kind->to_root) return cj_eq(k->f, "to_root", which, what->root);
    if (k->kind->source == CJ_FROM_ROOT) return cj_eq(k->f, "is_root", k->c->rank, what->root);
    if (k->kind->source == CJ_FROM_ALL) return cj_always();
    cj_collective onward = *what;
    onward.distance = -what->distance;  // the block that takes from this one is as far the other way
    cj_collective_peer taker = cj__collective_source(k->f, k->c, &onward);
    return both(k, cj_eq(k->f, "is_taker", which, taker.rank), taker.exists);
}

// Whether a block may be a source of its own; if not, nothing stays.
static bool keeps_any(const call *k) {
    const int64_t distance = k->what->distance, size = k->ranks;
    return k->kind->source != CJ_FROM_DISTANCE || (k->what->around ? distance % size : distance) == 0;
}

static shipment whole_parts(const call *k, cj_reg which) {
    shipment s = {.when = sends_to(k, which),
                  .from = k->from,
                  .to = k->kind->fold ? k->scratch : k->to,
                  .bytes = CJ_ARG(k->bytes)};
    if (k->kind->by_rank) s.from = part_of(k, "part", k->from, which, k->bytes);
    if (k->kind->source == CJ_FROM_ALL) s.to = part_of(k, "slot", s.to, k->c->rank, k->bytes);
    return s;
}

// What peers send to this block.
static cj_reg whole_bytes(const call *k) {
    if (k->kind->source == CJ_FROM_ALL) return count_if(k, k->gets, (k->ranks - 1) * k->bytes);
    if (k->kind->source == CJ_FROM_DISTANCE)
        return count_if(k, cj__collective_source(k->f, k->c, k->what).exists, keeps_any(k) ? 0 : k->bytes);
    return count_if(k, cj_ne(k->f, "is_not_root", k->c->rank, k->what->root), k->bytes);
}

// Bytes of the piece of `rank`: the whole piece, less at the end, perhaps none.
static cj_reg bytes_of_piece(const call *k, cj_reg rank) {
    cj_reg begin = cj_min(k->f, "begin", cj_mul(k->f, "begin", rank, k->piece), k->bytes);
    cj_reg left = cj_let(k->f, "u32", "left", "sub.u32 $1, $2, $3;", k->bytes, begin);
    return cj_min(k->f, "bytes", left, k->piece);
}

static cj_reg unless_empty(const call *k, cj_reg when, cj_reg bytes) {
    return both(k, when, cj_ne(k->f, "some", bytes, 0));
}

static shipment pieces(const call *k, cj_reg which) {
    cj_reg   bytes = bytes_of_piece(k, which);
    shipment s = {.when = unless_empty(k, cj_always(), bytes), .bytes = CJ_ARG(bytes)};
    s.from = part_of(k, "part", k->from, which, k->piece);
    s.to = part_of(k, "slot", k->scratch, k->c->rank, k->piece);
    return s;
}

// Of a scan, rank r's prefix lies in slot r; of the others, the result in slot 0.
static shipment results(const call *k, cj_reg which, cj_reg bytes) {
    shipment s = {.when = unless_empty(k, sends_to(k, which), bytes), .from = k->scratch, .bytes = CJ_ARG(bytes)};
    if (k->kind->fold == CJ_FOLD_PREFIX) s.from = part_of(k, "part", k->scratch, which, k->piece);
    s.to = part_of(k, "slot", k->to, k->c->rank, k->piece);
    return s;
}

static void publish(const call *k, const char *why) {
    cj_async_fence(k->f, "copies see what threads wrote");
    cj__collective_barrier(k->f, k->c, why);
}

static void wait_gate(const call *k, uint32_t which, cj_reg parity, const char *why) {
    cj_mbarrier_wait(k->f, gate(k, which), CJ_ARG(parity), CJ_SCOPE_CLUSTER, why);
}

// Everyone is ready, and what will come is expected; `second`: of the second half, or cj_none().
static void begin(const call *k, cj_reg bytes, cj_reg second) {
    publish(k, "`from` is written, `to` has been read");
    BY_WARP_0(k, "all_ready") {
        cj_mbarrier_arrive_peer(k->f, k->c->sends, peer_gate(k, CJ_GATE_READY),
                                "this block is ready for the peer's copy");
        cj_mbarrier_arrive_expect(k->f, k->c->first, gate(k, CJ_GATE_LANDED), CJ_ARG(bytes), "as much as will come");
        if (k->piece)
            cj_mbarrier_arrive_expect(k->f, k->c->first, gate(k, CJ_GATE_SECOND), CJ_ARG(second), "the results");
        wait_gate(k, CJ_GATE_READY, k->c->parity, "every block is ready");
    }
}

// Lane r of warp 0 sends to rank r, unless that is this block.
static void ship(const call *k, const shipment *s, uint32_t gate_of) {
    BY_WARP_0(k, "copies_started") {
        cj_reg to_other = cj_let(k->f, "pred", "to_other", "setp.ne.and.u32 $1, $2, $3, $4;", k->c->lane, k->c->rank,
                                 k->c->sends);
        cj_reg peer = cj_min(k->f, "peer", k->c->lane, k->ranks - 1);
        cj_reg arrived = peer_gate(k, gate_of), to = cj_cluster_map_address(k->f, s->to, peer);
        cj_bulk_push(k->f, both(k, to_other, s->when), to, s->from, s->bytes, arrived);
    }
}

// What stays is copied by all threads.
static void keep(const call *k, const shipment *s) {
    CJ_IF(k->f, s->when, "keeps_nothing") {
        CJ_STRIDE(k->f, at, first_unit(k), UNIT * k->c->desc.threads, s->bytes) {
            cj_reg from = cj_add(k->f, "address", s->from, at);
            copy_unit(k, cj_add(k->f, "address", s->to, at), from, false);
        }
    }
}

// Whether what a thread keeps is combined by the same thread, 16 bytes by 16.
static bool keeps_for_itself(const call *k, uint32_t gate_of) {
    return k->kind->fold && gate_of == CJ_GATE_LANDED && fold_step(k) == UNIT;
}

// Sends, keeps what stays, and waits for what comes.
static void transfer(const call *k, const shipment *out, const shipment *own, uint32_t gate_of, cj_reg parity) {
    ship(k, out, gate_of);
    if (keeps_any(k)) keep(k, own);
    wait_gate(k, gate_of, parity, "what is for this block is there");
    if (keeps_any(k) && !keeps_for_itself(k, gate_of)) cj__collective_barrier(k->f, k->c, "what stayed is there too");
}

// Every peer hears that its copies to this block are through …
static void tell_done(const call *k) {
    BY_WARP_0(k, "all_told") {
        cj_mbarrier_arrive_peer(k->f, k->c->sends, peer_gate(k, CJ_GATE_DONE), "what the peer sent is here");
    }
}

// … and this block waits for the same from them.
static void wait_done(const call *k) {
    wait_gate(k, CJ_GATE_DONE, k->c->parity, "`from` may change");
    cj_mbarrier_flip(k->f, k->c->parity);
}

// Combines what lies in scratch, a slot of `stride` bytes a rank, of which the first `bytes` are used.
static void fold_scratch(const call *k, uint32_t stride, cj_reg bytes) {
    cj_reg from[CJ_CLUSTER_MOST];
    for (uint32_t r = 0; r < k->ranks; r++) from[r] = cj__offset_from(k->f, "from_rank", k->scratch, r * stride);
    fold(k, &(fold_plan){.from = from,
                         .window = "shared",
                         .in_place = k->kind->fold == CJ_FOLD_PREFIX,
                         .to = k->piece ? k->scratch : k->to,
                         .bytes = bytes});
}

static void push(const call *k) {
    const shipment out = whole_parts(k, k->c->lane), own = keeps_any(k) ? whole_parts(k, k->c->rank) : (shipment){.when = cj_always()};
    begin(k, whole_bytes(k), cj_none());
    transfer(k, &out, &own, CJ_GATE_LANDED, k->c->parity);
    tell_done(k);
    if (k->kind->fold) {
        fold_scratch(k, k->bytes, count_if(k, cj_always(), k->bytes));
        cj__collective_barrier(k->f, k->c, "any thread may read the results");
    }
    wait_done(k);
}

static void push_in_halves(const call *k) {
    cj_reg   bytes = bytes_of_piece(k, k->c->rank), second = count_if(k, k->gets, k->bytes);
    shipment out = pieces(k, k->c->lane), own = pieces(k, k->c->rank);
    cj_reg   first = cj_mul(k->f, "to_come", bytes, k->ranks - 1);
    cj_ptx(k->f, "@$1 sub.u32 $2, $2, $3;", k->gets, second, bytes);
    begin(k, first, second);
    transfer(k, &out, &own, CJ_GATE_LANDED, k->c->parity);
    fold_scratch(k, k->piece, bytes);
    out = results(k, k->c->lane, bytes);
    own = results(k, k->c->rank, bytes);
    publish(k, "the results are written");
    transfer(k, &out, &own, CJ_GATE_SECOND, k->c->second_parity);
    cj_mbarrier_flip(k->f, k->c->second_parity);
    tell_done(k);
    wait_done(k);
}

// ---- the call

static bool is_right(cj_func *f, const cj_collectives *c, const cj_collective *what, uint32_t bytes) {
    if (!cj__collective_is_right(f, c, what)) return false;
    if (!c->desc.arrays)
        cj__func_refuse(f, "collective", "a collective of arrays needs cj_collectives_desc.arrays");
    else if (!bytes || bytes % UNIT || bytes > CJ_TRANSACTION_MOST / c->desc.cluster)
        cj__func_refuse(f, "collective", "a collective of %u bytes a part: a multiple of %d, at most %d for %u blocks",
                        bytes, UNIT, CJ_TRANSACTION_MOST / (int)c->desc.cluster / UNIT * UNIT, c->desc.cluster);
    else if (in_halves(cj__collective_kind(what->op)) && c->desc.strategy == CJ_STRATEGY_PUSH && !c->desc.combines)
        cj__func_refuse(f, "collective", "reduce, allreduce and scan of arrays need cj_collectives_desc.combines");
    else
        return true;
    return false;
}

void cj_collective_array(cj_func *f, const cj_collectives *c, const cj_collective *what, uint32_t bytes, cj_reg to,
                         cj_reg from, cj_reg scratch) {
    if (!NEEDS(f, c) || !NEEDS(f, what)) return;
    if (!is_right(f, c, what, bytes)) return;
    const cj_collective_kind *kind = cj__collective_kind(what->op);
    call                      k = {.f = f,
                                   .c = c,
                                   .what = what,
                                   .kind = kind,
                                   .element = kind->fold ? cj__combined(what->type) : NULL,
                                   .bytes = bytes,
                                   .ranks = c->desc.cluster,
                                   .to = to,
                                   .from = from,
                                   .scratch = scratch,
                                   .gets = cj_always()};
    if (kind->to_root) k.gets = cj_eq(f, "is_root", c->rank, what->root);
    if (in_halves(kind)) k.piece = piece_bytes(bytes, k.ranks);
    if (c->desc.strategy == CJ_STRATEGY_PULL)
        pull(&k);
    else if (k.piece)
        push_in_halves(&k);
    else
        push(&k);
}

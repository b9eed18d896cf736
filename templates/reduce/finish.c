// SPDX-License-Identifier: Apache-2.0
// From the warps' parts to the result: block, cluster, grid. reduce.c tells what meets where, and why that is safe.
#include <stdio.h>

#include "reduce.h"

// ---- parts in shared memory

// An array of `count` parts: one of shared memory for each piece.
typedef struct slots {
    unsigned count;
    cj_var   piece[REDUCE_PIECES];
} slots;

static slots make_slots(reduce_kernel *k, const char *name, unsigned count) {
    slots s = {.count = count};
    for (unsigned i = 0; i < k->pieces; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s%.0u", name, i);  // no number behind the first
        s.piece[i] = cj_shared(k->f, k->type[i], full, count, 0);
    }
    return s;
}

// The address of a slot of a piece.
static cj_reg slot_address(reduce_kernel *k, const slots *s, unsigned piece, cj_reg index) {
    cj_reg slot = cj_u32(k->f, "slot");
    cj_ptx(k->f, "mov.u32 $1, $2;", slot, s->piece[piece]);
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $1;", slot, index, k->bytes[piece]);
    return slot;
}

static void store_slot(reduce_kernel *k, const slots *s, cj_reg index, cj_reg when) {
    for (unsigned i = 0; i < k->pieces; i++) {
        cj_reg slot = slot_address(k, s, i, index);
        cj_ptx(k->f, "@$1 st.shared.$2 [$3], $4;", when, k->type[i], slot, k->part.piece[i]);
    }
}

// k->part: all slots together, in lane 0 of the warp that executes this.
static void combine_slots(reduce_kernel *k, const slots *s) {
    cj_func    *f = k->f;
    cj_reg      slot[REDUCE_PIECES], reads = s->count % 32 ? cj_pred(f, "reads") : cj_always();
    reduce_part more = s->count > 32 ? cj__reduce_part_new(k, "more") : k->part;
    for (unsigned i = 0; i < k->pieces; i++) slot[i] = slot_address(k, s, i, k->lane);
    for (unsigned from = 0; from < s->count; from += 32) {
        const reduce_part *to = from ? &more : &k->part;
        bool               all = s->count - from >= 32;
        if (!all) cj_ptx(f, "setp.lt.u32 $1, $2, $3;", reads, k->lane, s->count - from);
        if (!all) cj__reduce_part_clear(k, to);
        for (unsigned i = 0; i < k->pieces; i++) {
            const unsigned offset = from * k->bytes[i];
            if (all)
                cj_ptx(f, "ld.shared.$1 $2, [$3 + $4];", k->type[i], to->piece[i], slot[i], offset);
            else
                cj_ptx(f, "@$1 ld.shared.$2 $3, [$4 + $5];", reads, k->type[i], to->piece[i], slot[i], offset);
        }
        if (from) cj__reduce_combine(k, &k->part, &more);
    }
    cj__reduce_warp(k, s->count < 32 ? s->count : 32);
}

static void leave_unless_warp_0(reduce_kernel *k, cj_label where) {
    cj_reg other = cj_pred(k->f, "other_warp");
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", other, k->warp);
    cj_ptx(k->f, "@$1 bra $2;", other, where);
}

// ---- the beginning

void cj__reduce_declare(reduce_kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[n], aligned to the element");
    k->out = cj_param(f, "u64", "out",
                      !k->per_block ? "the result"
                      : k->total    ? "the total, then out[1 + blocks]"
                                    : "out[blocks]");
    k->n = cj_param(f, "u64", "n", "elements");
    if (k->sliced) k->slice = cj_param(f, "u64", "slice", "elements a block");
    k->workspace = cj_param(f, "u64", "workspace", k->meets ? "the groups' tagged words" : "not used");
    cj_block(f, k->plan->block.x, 1, 1);
    if (cj__reduce_blocks_per_sm(k->plan) > 1)
        cj__blocks_per_sm(k->plan, f, cj__reduce_blocks_per_sm(k->plan));
    else
        cj__registers(k->plan, f, REDUCE_REGISTERS, cj__reduce_spills(k->plan));
    if (k->cluster) cj_cluster(f, k->cluster, 1, 1);
}

// Parts that each block of a cluster sends to rank 0.
static unsigned sent_by_block(const reduce_kernel *k) { return k->per_block ? 1 : k->warps; }

static unsigned part_bytes(const reduce_kernel *k) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < k->pieces; i++) bytes += k->bytes[i];
    return bytes;
}

void cj__reduce_begin(reduce_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->warp = cj_u32(f, "warp");
    k->block = cj_u32(f, "block");
    k->leader = cj_pred(f, "leader");
    k->warp_leader = cj_pred(f, "warp_leader");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 5;", k->warp, k->thread);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->block);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->leader, k->thread);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->warp_leader, k->lane);
    if (!k->pushes) return;
    cj_step(f, "an mbarrier, of which that of rank 0 will count the bytes of all parts that are sent there");
    k->rank = cj_cluster_rank(f);
    k->receiver = cj_pred(f, "receiver");
    cj_var mbarrier = cj_shared(f, "b64", "arrived", 1, 0);
    k->arrived = cj_shared_address(f, mbarrier);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $3;", k->receiver, k->rank, k->leader);
    cj_mbarrier_init(f, k->receiver, k->arrived, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "publishes the mbarrier, at B2");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B2: this block has started");
}

void cj__reduce_open_workspace(reduce_kernel *k) {
    cj_func *f = k->f;
    if (!k->meets) return;
    cj_reg groups = cj_u32(f, "groups"), group = cj_u32(f, "group");
    k->last_tag = cj_u32(f, "last_tag");
    k->tag = cj_u32(f, "tag");
    k->is_last = cj_pred(f, "is_last");
    k->reads_tag = cj_pred(f, "reads_tag");
    cj_step(f,
            k->gatherers > 1 ? "who needs the tag: warp 0 of each block, and all of the last %s"
                             : "warp 0 needs the tag",
            k->cluster ? "cluster" : "block");
    k->space = cj__load_pointer(k->f, k->workspace, "space");
    cj_ptx(f, "mov.u32 $1, %$2;", groups, k->cluster ? "nclusterid.x" : "nctaid.x");
    cj_ptx(f, "mov.u32 $1, %$2;", group, k->cluster ? "clusterid.x" : "ctaid.x");
    cj_ptx(f, "add.u32 $1, $1, 1;", group);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", k->is_last, group, groups);
    if (k->gatherers > 1)
        cj_ptx(f, "setp.eq.or.u32 $1, $2, 0, $3;", k->reads_tag, k->warp, k->is_last);
    else
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->reads_tag, k->warp);
    cj_ptx(f, "mov.u32 $1, 0;", k->last_tag);
}

// The tag is read early, so that its way is hidden behind the loads', and used late.
void cj__reduce_wait(reduce_kernel *k) {
    cj_func *f = k->f;
    if (k->plan->programmatic) {
        cj_step(f, "what the kernels before have written can be read");
        cj_ptx(f, "griddepcontrol.wait;");
    }
    if (k->meets) cj_ptx(f, "@$1 ld.relaxed.gpu.global.u32 $2, [$3];", k->reads_tag, k->last_tag, k->space);
}

// One more than the last launch left behind.
static void make_tag(reduce_kernel *k) { cj_ptx(k->f, "add.u32 $1, $2, 1;", k->tag, k->last_tag); }

// ---- block

static void emit_block(reduce_kernel *k, cj_label others) {
    cj_func *f = k->f;
    if (k->warps > 1) {
        slots warp_part = make_slots(k, "warp_part", k->warps);
        cj_step(f, "block: a slot a warp, combined by warp 0");
        store_slot(k, &warp_part, k->warp, k->warp_leader);
        cj_ptx(f, "bar.sync 0; // B1: warp_part is written");
        leave_unless_warp_0(k, others);
        combine_slots(k, &warp_part);
    }
}

static void emit_weight(reduce_kernel *k) {
    if (!k->plan->params.value[REDUCE_WEIGHT]) return;
    cj_func    *f = k->f;
    const char *type = k->type[0];
    cj_reg      number = cj_u32(f, "number"), weight = cj_register(f, type, "weight");
    cj_step(f, "weight: block b counts b + 1 times");
    cj_ptx(f, "add.u32 $1, $2, 1;", number, k->block);
    if (*type == 'f')
        cj_ptx(f, "cvt.rn.$1.u32 $2, $3;", type, weight, number);
    else if (k->bytes[0] == 8)
        cj_ptx(f, "cvt.$1.u32 $2, $3;", type, weight, number);
    else
        cj_ptx(f, "mov.b32 $1, $2;", weight, number);
    cj_ptx(f, "mul$1.$2 $3, $3, $4;", *type == 'f' ? ".rn" : ".lo", type, k->part.piece[0], weight);
}

// ---- cluster

// Bytes may arrive before they are expected: only behind the one arrival that it waits for can the phase end.
static void await_rank_0(reduce_kernel *k) {
    const unsigned bytes = k->cluster * sent_by_block(k) * part_bytes(k);
    cj_cluster_wait(k->f, "B2: rank 0 has started, its memory may be written");
    cj_mbarrier_arrive_expect(k->f, k->receiver, k->arrived, CJ_ARG(bytes), "B3: all parts");
}

// Every warp, or with a result for each block its warp 0, sends its part to rank 0; then only rank 0 is left.
static slots emit_push(reduce_kernel *k) {
    cj_func *f = k->f;
    slots    part = make_slots(k, "cluster_part", k->cluster * sent_by_block(k));
    cj_reg   index = cj_u32(f, "index"), zero = cj_u32(f, "rank_0"), other = cj_pred(f, "other_rank");
    cj_step(f, "cluster: parts are pushed to rank 0, whose mbarrier counts their bytes");
    cj_ptx(f, "mov.u32 $1, $2;", index, k->rank);
    if (!k->per_block) cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", index, k->rank, k->warps, k->warp);
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_reg mbarrier = cj_cluster_map_address(f, k->arrived, zero);
    for (unsigned i = 0; i < k->pieces; i++) {
        cj_reg slot = cj_cluster_map_address(f, slot_address(k, &part, i, index), zero);
        cj_st_async(f, k->per_block ? k->leader : k->warp_leader, k->type[i], &k->part.piece[i], 1, slot, 0, mbarrier);
    }
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->rank);
    cj_ptx(f, "@$1 bra $2;", other, k->done);
    return part;
}

static void wait_for_parts(reduce_kernel *k) {
    cj_mbarrier_wait(k->f, k->arrived, CJ_ARG(0), CJ_SCOPE_CLUSTER, "B3: every part of the cluster is here");
}

// ---- results

static void divide_by_n(reduce_kernel *k, cj_reg value) {
    const char *type = k->type[0];
    cj_reg      n = cj_u64(k->f, "count"), divisor = cj_register(k->f, type, "divisor");
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", n, k->n);
    cj_ptx(k->f, "cvt.rn.$1.u64 $2, $3;", type, divisor, n);
    cj_ptx(k->f, "div.rn.$1 $2, $2, $3;", type, value, divisor);
}

static void emit_result(reduce_kernel *k) {
    cj_func      *f = k->f;
    const cj_reg *piece = k->part.piece;
    const char   *type = k->type[0];
    cj_step(f, "one thread writes the result");
    cj_reg out = cj__load_pointer(k->f, k->out, "out");
    if (k->op->kind == REDUCE_BEST) {
        cj_reg none = cj_pred(f, "none");
        cj_ptx(f, "setp.eq.u64 $1, $2, -1;", none, piece[1]);
        cj_ptx(f, "@$1 mov.u64 $2, 0; // nothing stood before the first", none, piece[1]);
        cj_ptx(f, "@$1 st.global.u64 [$2 + 8], $3;", k->leader, out, piece[1]);
    }
    if (k->op->mean) divide_by_n(k, piece[k->op->kind == REDUCE_MOMENTS ? 2 : 0]);
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", k->leader, type, out, piece[k->op->kind == REDUCE_MOMENTS]);
    if (k->op->kind == REDUCE_MOMENTS)
        cj_ptx(f, "@$1 st.global.$2 [$3 + $4], $5;", k->leader, type, out, k->bytes[0], piece[2]);
}

// result=block, both: the block's element of out by one thread a block, or by the lanes of rank 0, whose block is the
// cluster's first. Behind the total, where there is one.
static void emit_block_results(reduce_kernel *k, const slots *part) {
    cj_func *f = k->f;
    cj_reg   writes = k->leader;
    cj_step(f, "a result for each block");
    cj_reg out = cj__load_pointer(k->f, k->out, "out");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->block, k->bytes[0]);
    if (k->pushes) {
        cj_reg slot = slot_address(k, part, 0, k->lane);
        writes = cj_pred(f, "writes");
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", writes, k->lane, k->cluster);
        cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", writes, k->type[0], k->part.piece[0], slot);
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->lane, k->bytes[0]);
    }
    cj_ptx(f, "@$1 st.global.$2 [$3 + $4], $5;", writes, k->type[0], out, k->total ? k->bytes[0] : 0, k->part.piece[0]);
}

// ---- grid

// The 32-bit words of a piece.
static unsigned words_of(const reduce_kernel *k, unsigned piece) { return k->bytes[piece] / 4; }

static void pack_words(const reduce_kernel *k, unsigned piece, cj_reg from, const cj_reg word[2]) {
    if (words_of(k, piece) == 2)
        cj_ptx(k->f, "mov.b64 {$1, $2}, $3;", word[0], word[1], from);
    else
        cj_ptx(k->f, "mov.b32 $1, $2;", word[0], from);
}

static void unpack_words(const reduce_kernel *k, unsigned piece, cj_reg to, const cj_reg word[2]) {
    if (words_of(k, piece) == 2)
        cj_ptx(k->f, "mov.b64 $1, {$2, $3};", to, word[0], word[1]);
    else
        cj_ptx(k->f, "mov.b32 $1, $2;", to, word[0]);
}

// Word and tag are written as one, so whoever reads the tag has the word.
static void emit_post(reduce_kernel *k) {
    cj_func *f = k->f;
    cj_reg   group = cj_u32(f, "group"), at = cj_u64(f, "at"), tagged = cj_b64(f, "tagged");
    unsigned words = cj__reduce_words(k->plan), next = 0;
    cj_reg   word[2] = {cj_b32(f, "word"), cj__reduce_is_wide(k) ? cj_b32(f, "word") : cj_always()};
    cj_step(f, "grid: the %s posts its part, word by word, each with this launch's tag",
            k->cluster ? "cluster" : "block");
    cj_ptx(f, "mov.u32 $1, %$2;", group, k->cluster ? "clusterid.x" : "ctaid.x");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, group, 8 * words, k->space);
    make_tag(k);
    for (unsigned i = 0; i < k->pieces; i++) {
        pack_words(k, i, k->part.piece[i], word);
        for (unsigned w = 0; w < words_of(k, i); w++, next++) {
            cj_ptx(f, "mov.b64 $1, {$2, $3};", tagged, word[w], k->tag);
            cj_ptx(f, "@$1 st.relaxed.gpu.global.b64 [$2 + $3], $4;", k->leader, at, REDUCE_WORDS_AT + 8 * next,
                   tagged);
        }
    }
}

// What a thread takes of the posted parts at once, and where.
typedef struct taken {
    unsigned    count;
    reduce_part part[REDUCE_MAILBOXES];
    cj_reg      there[REDUCE_MAILBOXES];  // none of one: the loop has looked
} taken;

// Reads all words of so many groups, again until every one has this launch's tag.
static void emit_poll(reduce_kernel *k, const taken *t, cj_reg at, uint32_t stride) {
    cj_func       *f = k->f;
    const unsigned words = cj__reduce_words(k->plan), all = t->count * words;
    cj_reg   word[REDUCE_MAILBOXES], tagged[REDUCE_MAILBOXES], found = cj_b32(f, "found"), late = cj_pred(f, "late");
    cj_label again = cj_label_new(f, "not_posted");
    for (unsigned w = 0; w < all; w++) {
        word[w] = cj_b32(f, "word");
        tagged[w] = cj_b64(f, "tagged");
        if (t->count > 1) cj_ptx(f, "mov.b64 $1, {$2, $2};", tagged[w], k->tag);
    }
    cj_label_here(f, again);
    for (unsigned w = 0; w < all; w++) {
        const uint32_t offset = REDUCE_WORDS_AT + w / words * stride + 8 * (w % words);
        if (t->count > 1)
            cj_ptx(f, "@$1 ld.relaxed.gpu.global.b64 $2, [$3 + $4];", t->there[w / words], tagged[w], at, offset);
        else
            cj_ptx(f, "ld.relaxed.gpu.global.b64 $1, [$2 + $3];", tagged[w], at, offset);
    }
    for (unsigned w = 0; w < all; w++) {
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", word[w], found, tagged[w]);
        if (w)
            cj_ptx(f, "setp.ne.or.u32 $1, $2, $3, $1;", late, found, k->tag);
        else
            cj_ptx(f, "setp.ne.u32 $1, $2, $3;", late, found, k->tag);
    }
    cj_ptx(f, "@$1 bra $2;", late, again);
    for (unsigned u = 0; u < t->count; u++)
        for (unsigned i = 0, next = u * words; i < k->pieces; next += words_of(k, i), i++)
            unpack_words(k, i, t->part[u].piece[i], &word[next]);
}

// The last group takes the posted parts: of few groups warp 0, several a lane on their way together; of many all threads of
// a block, each those of every block.x-th group.
static void emit_gather(reduce_kernel *k) {
    cj_func *f = k->f;
    cj_reg   group = cj_u32(f, "group"), groups = cj_u32(f, "groups"), at = cj_u64(f, "at"), past = cj_pred(f, "past");
    cj_label next = cj_label_new(f, "next_part"), all = cj_label_new(f, "all_parts");
    const uint32_t threads = 32 * k->gatherers, stride = 8 * cj__reduce_words(k->plan) * threads;
    taken          t = {.count = k->posts};
    cj_step(f, "the last %s combines what all have posted, always in the same order", k->cluster ? "cluster" : "block");
    cj_ptx(f, "@!$1 bra $2;", k->is_last, k->done);
    if (k->gatherers > 1) make_tag(k);
    cj__reduce_part_clear(k, &k->part);
    cj_ptx(f, "mov.u32 $1, %$2;", groups, k->cluster ? "nclusterid.x" : "nctaid.x");
    cj_ptx(f, "mov.u32 $1, $2;", group, k->thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->thread, stride / threads, k->space);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, group, groups);
    cj_ptx(f, "@$1 bra $2;", past, all);
    for (unsigned u = 0; u < t.count; u++) {
        t.part[u] = cj__reduce_part_new(k, "posted");
        if (t.count == 1) continue;
        cj_reg number = cj_u32(f, "number");
        t.there[u] = cj_pred(f, "there");
        cj_ptx(f, "add.u32 $1, $2, $3;", number, group, u * threads);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", t.there[u], number, groups);
    }
    emit_poll(k, &t, at, stride);
    for (unsigned u = 0; u < t.count; u++) {
        if (u) cj_ptx(f, "@!$1 bra $2;", t.there[u], all);
        cj__reduce_combine(k, &k->part, &t.part[u]);
    }
    cj_ptx(f, "add.u32 $1, $1, $2;", group, t.count * threads);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, t.count * stride);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, all);
    cj__reduce_warp(k, 32);
    if (k->gatherers > 1) {
        slots last_part = make_slots(k, "last_part", k->warps);
        store_slot(k, &last_part, k->warp, k->warp_leader);
        cj_ptx(f, "bar.sync 0; // B4: last_part is written, and nobody reads the tag any more");
        leave_unless_warp_0(k, k->done);
        combine_slots(k, &last_part);
    }
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], $3;", k->leader, k->space, k->tag);
}

// All threads of the last group come here; of a cluster, its rank 0: the warps that have made their block's part come
// straight from there, those of other ranks too.
static void open_gather(reduce_kernel *k, cj_label here) {
    cj_label_here(k->f, here);
    if (!k->pushes || !k->per_block) return;
    cj_reg other = cj_pred(k->f, "other_rank");
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", other, k->rank);
    cj_ptx(k->f, "@$1 bra $2;", other, k->done);
}

// ---- all of it

void cj__reduce_finish(reduce_kernel *k) {
    cj_func *f = k->f;
    cj_label others = k->gatherers > 1 ? cj_label_new(f, "gather") : k->done;
    slots    part = {0};
    cj_step(f, "warp: lane 0 gets the warp's part");
    cj__reduce_warp(k, 32);
    emit_weight(k);
    if (k->pushes) await_rank_0(k);
    if (!k->pushes || k->per_block) emit_block(k, others);
    if (k->pushes) {
        part = emit_push(k);
        if (!k->per_block && k->warps > 1) leave_unless_warp_0(k, others);
        wait_for_parts(k);
    }
    if (k->per_block) emit_block_results(k, &part);
    if (!k->total) return;
    if (k->pushes) combine_slots(k, &part);
    if (k->meets) {
        emit_post(k);
        if (k->gatherers > 1) open_gather(k, others);
        emit_gather(k);
    }
    emit_result(k);
}

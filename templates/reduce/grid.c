// SPDX-License-Identifier: Apache-2.0
// The grid's end: groups send their partials to mailboxes in the workspace, and the last group combines them. reduce.c has
// the picture and the barriers.
#include "reduce.h"

void cj__reduce_only_warp_0(const reduce_kernel *k, cj_label others) {
    cj_ptx(k->f, "@$1 bra $2;", cj_ne(k->f, "other_warp", k->warp, 0), others);
}

void cj__reduce_epoch(reduce_kernel *k) {
    cj_func      *f = k->f;
    reduce_epoch *e = &k->epoch;
    if (!k->gathers) return;
    cj_step(f,
            k->gatherers > 1 ? "who needs the tag: warp 0 of each block, and all of the last %s"
                             : "warp 0 needs the tag",
            cj__reduce_group(k));
    e->space = cj__load_pointer(f, k->workspace, "space");
    cj_reg groups = cj_mov(f, "u32", "groups", cj__group_count(k->cluster));
    cj_reg group = cj_add(f, "group", cj_mov(f, "u32", "group", cj__group_index(k->cluster)), 1);
    e->is_last = cj_eq(f, "is_last", group, groups);
    e->reads = k->gatherers > 1 ? cj_let(f, "pred", "reads", "setp.eq.or.u32 $1, $2, 0, $3;", k->warp, e->is_last)
                                : cj_eq(f, "reads", k->warp, 0);
    e->before = cj_mov(f, "u32", "last_tag", 0);
}

// The tag is read early, so that the loads hide its latency, and used late.
void cj__reduce_wait(const reduce_kernel *k) {
    cj__wait_for_launches(k->plan, k->f);
    if (k->gathers)
        cj_ptx(k->f, "@$1 ld.relaxed.gpu.global.u32 $2, [$3];", k->epoch.reads, k->epoch.before, k->epoch.space);
}

static cj_reg send(const reduce_kernel *k, const cj_mailbox *box, const cj_partial *partial) {
    cj_step(k->f, "grid: the %s sends its partial to its mailbox, word by word, each with this launch's tag",
            cj__reduce_group(k));
    cj_reg group = cj_mov(k->f, "u32", "group", cj__group_index(k->cluster));
    cj_reg at = cj_mad_wide(k->f, "mailbox", group, cj__mail_bytes(box), k->epoch.space),
           tag = cj_add(k->f, "tag", k->epoch.before, 1);
    cj__mail_post(k->f, box, k->leader, at, REDUCE_WORDS_AT, partial->value, k->partials.values, tag);
    return tag;
}

// Messages that a lane reads at once, and whether each is there: of one the loop around has looked, so that it always is.
typedef struct messages {
    unsigned   count;
    cj_partial partial[REDUCE_MAILBOXES];
    cj_reg     there[REDUCE_MAILBOXES];
} messages;

// Which of the lane's messages from group `first` on there are.
static messages count_messages(const reduce_kernel *k, cj_reg first, cj_reg groups, unsigned step) {
    messages m = {.count = k->messages, .there = {cj_always()}};
    for (unsigned u = 0; u < m.count && m.count > 1; u++)
        m.there[u] = cj_lt(k->f, "there", cj_add(k->f, "number", first, u * step), groups);
    return m;
}

// Reads the words of all messages, again until every one has this launch's tag. One that is not there seems to have it.
static void poll(const reduce_kernel *k, const cj_mailbox *box, messages *m, cj_reg at, unsigned stride, cj_reg tag) {
    cj_func       *f = k->f;
    const unsigned all = m->count * box->words;
    cj_reg         word[REDUCE_MAILBOXES], sealed[REDUCE_MAILBOXES], late = cj_pred(f, "late");
    for (unsigned u = 0; u < m->count && m->count == 1; u++) cj__mail_new(f, box, &sealed[u * box->words]);
    for (unsigned w = 0; w < all && m->count > 1; w++) sealed[w] = cj__mail_seal(f, tag, tag);
    CJ_DO(f, "not_here", late) {
        for (unsigned u = 0; u < m->count; u++)
            cj__mail_load(f, box, m->there[u], at, REDUCE_WORDS_AT + u * stride, &sealed[u * box->words]);
        for (unsigned w = 0; w < all; w++) word[w] = cj__mail_open(f, sealed[w], tag, late, !w);
    }
    for (unsigned u = 0, next = 0; u < m->count; u++)
        for (unsigned i = 0; i < k->partials.values; next += k->partials.bytes[i] / 4, i++)
            m->partial[u].value[i] = cj__mail_value(f, k->partials.type[i], "received", &word[next]);
}

// The partials of every threads-th group, from the thread's number on.
static void take_messages(const reduce_kernel *k, const cj_mailbox *box, cj_reg tag, const cj_partial *partial) {
    cj_func       *f = k->f;
    const unsigned threads = 32 * k->gatherers, stride = cj__mail_bytes(box) * threads;
    cj_reg groups = cj_mov(f, "u32", "groups", cj__group_count(k->cluster));
    cj_reg group = cj_mov(f, "u32", "group", k->thread);
    cj_reg at = cj_mad_wide(f, "mailbox", k->thread, cj__mail_bytes(box), k->epoch.space);
    CJ_LOOP(f, loop, "next_message", "all_read") {
        cj_leave(&loop, cj_ge(f, "past", group, groups));
        messages m = count_messages(k, group, groups, threads);
        poll(k, box, &m, at, stride, tag);
        for (unsigned u = 0; u < m.count; u++) {
            if (u) cj_leave_unless(&loop, m.there[u]);
            k->partials.combine(&k->partials, partial, &m.partial[u]);
        }
        cj_ptx(f, "add.u32 $1, $1, $2;", group, m.count * threads);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, m.count * stride);
    }
}

// Of few groups warp 0 reads the mailboxes, several a lane at once; of many all threads of a block of the last group.
void cj__reduce_grid(const reduce_kernel *k, const cj_partial *partial, cj_label gather) {
    cj_func         *f = k->f;
    const cj_mailbox box = {.words = cj__reduce_words(k->plan)};
    const bool       many = k->gatherers > 1;
    cj_reg           tag = send(k, &box, partial);
    if (many) cj_label_here(f, gather);
    if (many && k->pushes && k->per_block)  // warps come from every rank of the cluster
        cj_ptx(f, "@$1 bra $2;", cj_ne(f, "other_rank", k->rank, 0), k->done);
    cj_step(f, "the last %s combines the partials of all, always in the same order", cj__reduce_group(k));
    cj_ptx(f, "@!$1 bra $2;", k->epoch.is_last, k->done);
    if (many) cj_ptx(f, "add.u32 $1, $2, 1;", tag, k->epoch.before);
    k->partials.clear(&k->partials, partial);
    take_messages(k, &box, tag, partial);
    cj__warp_combine(&k->partials, partial, 32);
    if (many) {
        const cj_slots last_part = cj__slots_make(&k->partials, "last_part", k->warps);
        cj__slot_store(&k->partials, &last_part, k->warp, k->warp_leader, partial);
        cj_ptx(f, "bar.sync 0; // B4: last_part is written, and no thread reads the tag any more");
        cj__reduce_only_warp_0(k, k->done);
        cj__slots_combine(&k->partials, &last_part, k->lane, partial);
    }
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], $3;", k->leader, k->epoch.space, tag);
}

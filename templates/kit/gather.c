// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

cj_mailbox cj__gather_box(const cj_partials *kind, bool paired) {
    return (cj_mailbox){.words = cj__partial_bytes(kind) / 4, .paired = paired};
}

uint64_t cj__gather_bytes(uint64_t senders, unsigned words) { return CJ_GATHER_AT + senders * CJ_MAIL_BYTES * words; }

void cj__gather_read_tag(const cj_gather *g, cj_reg when) {
    cj_ptx(g->kind->f, "@$1 ld.relaxed.gpu.global.u32 $2, [$3];", when, g->before, g->space);
}

cj_reg cj__gather_tag(const cj_gather *g) { return cj_add(g->kind->f, "tag", g->before, 1); }

cj_reg cj__gather_send(const cj_gather *g, cj_reg when, cj_reg number, const cj_partial *partial) {
    cj_reg at = cj_mad_wide(g->kind->f, "mailbox", number, cj__mail_bytes(&g->box), g->space);
    cj_reg tag = cj__gather_tag(g);
    cj__mail_send(g->kind->f, &g->box, when, at, CJ_GATHER_AT, partial->value, g->kind->values, tag);
    return tag;
}

// The messages that a thread polls at once, and whether each is there: of a single one the loop around has made sure.
typedef struct messages {
    unsigned   count;
    cj_reg     there[CJ_MAIL_AT_ONCE];
    cj_partial partial[CJ_MAIL_AT_ONCE];
} messages;

static messages count_messages(const cj_gather *g, unsigned count, cj_reg first, unsigned step, cj_reg senders) {
    messages m = {.count = count, .there = {cj_always()}};
    for (unsigned u = 0; u < count && count > 1; u++)
        m.there[u] = cj_lt(g->kind->f, "there", cj_add(g->kind->f, "number", first, u * step), senders);
    return m;
}

static void receive(const cj_gather *g, messages *m, cj_reg at, unsigned stride, cj_reg tag) {
    const cj_partials *kind = g->kind;
    cj_reg             word[CJ_MAIL_AT_ONCE];
    cj_message         message[CJ_MAIL_AT_ONCE];
    for (unsigned u = 0; u < m->count; u++)
        message[u] = (cj_message){.box = g->box,
                                  .at = at,
                                  .offset = CJ_GATHER_AT + u * stride,
                                  .there = m->there[u],
                                  .word = &word[u * g->box.words]};
    cj__mail_receive(kind->f, message, m->count, tag, false);
    for (unsigned u = 0, next = 0; u < m->count; u++)
        for (unsigned i = 0; i < kind->values; next += kind->bytes[i] / 4, i++)
            m->partial[u].value[i] = cj__mail_value(kind->f, kind->type[i], "received", &word[next]);
}

void cj__gather_take(const cj_gather *g, cj_reg thread, unsigned threads, unsigned at_once, cj_reg senders, cj_reg tag,
                     const cj_partial *partial) {
    cj_func       *f = g->kind->f;
    const unsigned stride = cj__mail_bytes(&g->box) * threads;
    cj_reg         number = cj_mov(f, "u32", "sender", thread);
    cj_reg         at = cj_mad_wide(f, "mailbox", thread, cj__mail_bytes(&g->box), g->space);
    CJ_LOOP(f, loop, "next_message", "all_read") {
        cj_leave(&loop, cj_ge(f, "no_sender", number, senders));
        messages m = count_messages(g, at_once, number, threads, senders);
        receive(g, &m, at, stride, tag);
        for (unsigned u = 0; u < m.count; u++) {
            if (u) cj_leave_unless(&loop, m.there[u]);
            g->kind->combine(g->kind, partial, &m.partial[u]);
        }
        cj_ptx(f, "add.u32 $1, $1, $2;", number, at_once * threads);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, at_once * stride);
    }
}

void cj__gather_close(const cj_gather *g, cj_reg when, cj_reg tag) {
    cj_ptx(g->kind->f, "@$1 st.relaxed.gpu.global.u32 [$2], $3; // every message of this launch is read", when,
           g->space, tag);
}

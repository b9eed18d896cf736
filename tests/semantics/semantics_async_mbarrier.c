// SPDX-License-Identifier: Apache-2.0
// mbarriers: one thread executes a list of steps on one mbarrier, and notes after each what can be observed: the
// pending count in the state that an arrival returns, and the answers of waits. The model executes the same list.
//
// A case names a form of arrival, one of wait and one of transaction; each form is in some case, with each count.
#include <stdio.h>
#include <string.h>

#include "semantics_async.h"
#include "test.h"

// ---- forms

enum { FORM = 96, COUNT_MAX = (1 << 20) - 1 };

typedef struct arrival {
    char text[FORM];
    bool drops, expects, completes, is_remote;  // completes: may complete the phase
} arrival;

static const char *const semantics[] = {"", ".release.cta", ".release.cluster", ".relaxed.cta", ".relaxed.cluster"};
static const char *const acquires[] = {"", ".acquire.cta", ".acquire.cluster", ".relaxed.cta", ".relaxed.cluster"};
static const char *const spaces[] = {"", ".shared", ".shared::cta", ".shared::cluster"};
static const char *const kinds[] = {"", ".noComplete", ".expect_tx"};

enum {
    SEMANTICS = CJ_TEST_COUNT(semantics),
    SPACES = CJ_TEST_COUNT(spaces),
    KINDS = CJ_TEST_COUNT(kinds),
    REMOTE = SPACES - 1
};

// The i-th valid form of arrival; false after the last.
static bool arrival_at(unsigned wanted, arrival *a) {
    for (unsigned i = 0; i < 2 * KINDS * SEMANTICS * SPACES; i++) {
        const unsigned kind = i / 2 % KINDS, order = i / 2 / KINDS % SEMANTICS, space = i / 2 / KINDS / SEMANTICS;
        const bool     remote = space == REMOTE;
        if (kind == 1 && (order > 1 || remote)) continue;    // .noComplete: .release.cta
        if (remote && (order == 1 || order == 3)) continue;  // of a peer: .cluster
        if (wanted--) continue;
        *a = (arrival){.drops = i % 2, .expects = kind == 2, .completes = kind != 1, .is_remote = remote};
        snprintf(a->text, FORM, "mbarrier.arrive%s%s%s%s.b64", i % 2 ? "_drop" : "", kinds[kind], semantics[order],
                 spaces[space]);
        return true;
    }
    return false;
}

typedef struct wait {
    char text[FORM];
    bool by_parity, has_limit;
} wait;

enum { WAITS = 2 * 2 * SEMANTICS * REMOTE };

// The wait of a case: each form with and without a time limit, if it accepts one.
static wait wait_at(unsigned index) {
    const unsigned i = index % WAITS;
    const bool     tries = i & 1, parity = i >> 1 & 1;
    wait           w = {.by_parity = parity, .has_limit = tries && index / WAITS % 2};
    snprintf(w.text, FORM, "mbarrier.%s%s%s%s.b64", tries ? "try_wait" : "test_wait", parity ? ".parity" : "",
             acquires[i / 4 % SEMANTICS], spaces[i / 4 / SEMANTICS % REMOTE]);
    return w;
}

// `what`: expect_tx or complete_tx.
static void transaction_at(unsigned i, const char *what, char text[FORM]) {
    static const char *const orders[] = {"", ".relaxed.cta", ".relaxed.cluster"};
    snprintf(text, FORM, "mbarrier.%s%s%s.b64", what, orders[i % 3], spaces[i / 3 % SPACES]);
}

// ---- steps

typedef enum action { INIT, INVAL, ARRIVE, PLAIN, EXPECT, COMPLETE } action;  // PLAIN: arrivals without a form

typedef struct step {
    action   action;
    unsigned value;  // arrivals or bytes
} step;

enum { STEPS_MAX = 24, SLOTS = 4 };  // notes of a step: pending count, answer to the state, to parity 0 and to 1

typedef struct script {
    unsigned count;
    step     step[STEPS_MAX];
} script;

static void add(script *s, action what, unsigned value) { s->step[s->count++] = (step){what, value}; }

// Two phases of an mbarrier for `count` arrivals, and a second life. The form comes first; but an arrival that drops,
// or that must not complete the phase, is not the only one that the phase waits for.
static script script_of(const arrival *a, unsigned count, unsigned bytes) {
    const bool arrives = count > 1 || (a->completes && !a->drops);
    script     s = {0};
    unsigned   left = count;
    add(&s, INIT, count);
    add(&s, COMPLETE, bytes);  // too early: the pending bytes become negative
    add(&s, EXPECT, bytes);
    if (arrives && a->expects) {
        add(&s, ARRIVE, bytes);
        add(&s, COMPLETE, bytes);
        left--;
    } else if (arrives) {
        add(&s, ARRIVE, 1);
        if (left > 3) add(&s, ARRIVE, left - 3);
        left = left > 3 ? 2 : left - 1;
    }
    if (left > 1) add(&s, PLAIN, left - 1);
    if (left) {
        add(&s, EXPECT, bytes);
        add(&s, PLAIN, 1);
        add(&s, COMPLETE, bytes - 16);
        add(&s, COMPLETE, 16);
    }
    add(&s, PLAIN, 1);  // the next phase shows how many arrivals are expected
    add(&s, INVAL, 0);
    add(&s, INIT, count);
    add(&s, PLAIN, count);
    return s;
}

// ---- cases

static const unsigned counts[] = {1, 2, 7, COUNT_MAX};
static const unsigned sizes[] = {32, 48, COUNT_MAX - 15};

static unsigned arrivals_count(void) {
    arrival  a;
    unsigned n = 0;
    while (arrival_at(n, &a)) n++;
    return n;
}

static unsigned mbarriers_count(void) { return arrivals_count() * CJ_TEST_COUNT(counts); }

static script case_of(const cj_async_case *c, arrival *a, wait *w) {
    const unsigned of_count = c->index / arrivals_count();
    assert_true(arrival_at(c->index % arrivals_count(), a));
    *w = wait_at(c->index);
    return script_of(a, counts[of_count], sizes[c->index % CJ_TEST_COUNT(sizes)]);
}

static void mbarriers_make(unsigned index, cj_async_case *c) {
    arrival a;
    wait    w;
    c->index = index;
    case_of(c, &a, &w);
    c->blocks = a.is_remote ? 2 : 1;
    snprintf(c->name, sizeof c->name, "%s, %s, %u arrivals", a.text, w.text, counts[index / arrivals_count()]);
}

// ---- the kernel. %r1, %l1: the mbarrier's address for this thread, of a peer if the case is remote; %l2: a state.

// The address operand for that form; only forms without a space accept a generic address.
static const char *place(const char *form) { return strstr(form, ".shared") ? "[%r1]" : "[%l1]"; }

static void write_step(const cj_async_case *c, const arrival *a, step s, cj_text *text) {
    char form[FORM];
    switch (s.action) {
    case INIT: cj__text_printf(text, "    mbarrier.init.shared::cta.b64 [bar], %u;\n", s.value); break;
    case INVAL: cj__text_puts(text, "    mbarrier.inval.shared::cta.b64 [bar];\n"); break;
    case PLAIN:
        if (a->is_remote)
            cj__text_printf(text, "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%r1], %u;\n", s.value);
        else
            cj__text_printf(text, "    mbarrier.arrive.shared::cta.b64 %%l2, [bar], %u;\n", s.value);
        break;
    case ARRIVE:
        cj__text_printf(text, "    %s %s, %s", a->text, a->is_remote ? "_" : "%l2", place(a->text));
        cj__text_printf(text, s.value == 1 && a->completes ? ";\n" : ", %u;\n", s.value);
        break;
    case EXPECT:
    case COMPLETE:
        transaction_at(a->is_remote ? 3 * REMOTE + c->index % 3 : c->index,
                       s.action == EXPECT ? "expect_tx" : "complete_tx", form);
        cj__text_printf(text, "    %s %s, %u;\n", form, place(form), s.value);
        break;
    }
}

static void write_answer(const wait *w, const char *operand, unsigned note, cj_text *text) {
    cj__text_printf(
        text, "    %s %%p1, %s, %s%s;\n    selp.u64 %%l3, 1, 0, %%p1;\n    st.global.u64 [%%note + %u], %%l3;\n",
        w->text, strstr(w->text, ".shared") ? "[bar]" : "[%l4]", operand, w->has_limit ? ", 100" : "", note);
}

static void write_notes(const wait *w, bool state, unsigned index, cj_text *text) {
    const wait     plain = {.text = "mbarrier.test_wait.shared::cta.b64"};
    const wait     parity = {.text = "mbarrier.test_wait.parity.shared::cta.b64"};
    const unsigned note = index * SLOTS * 8;
    if (state) {
        cj__text_printf(text,
                        "    mbarrier.pending_count.b64 %%r2, %%l2;\n    cvt.u64.u32 %%l3, %%r2;\n"
                        "    st.global.u64 [%%note + %u], %%l3;\n",
                        note);
        write_answer(w->by_parity ? &plain : w, "%l2", note + 8, text);
    }
    write_answer(w->by_parity ? w : &parity, "0", note + 16, text);
    write_answer(w->by_parity ? w : &parity, "1", note + 24, text);
}

static bool gives_state(const arrival *a, step s) { return !a->is_remote && (s.action == ARRIVE || s.action == PLAIN); }

// Rank 0 arrives; if the case is remote, rank 1 owns the mbarrier and observes it after each step.
static void mbarriers_write(const cj_async_case *c, cj_text *text) {
    arrival      a;
    wait         w;
    const script s = case_of(c, &a, &w);
    cj__text_puts(
        text, "    mov.u64 %l4, bar;\n    cvta.shared.u64 %l4, %l4;\n    mov.u64 %l1, %l4;\n    mov.u32 %r1, bar;\n");
    if (a.is_remote) cj_async_map(text, "%r1", "bar", 0, "1");
    cj__text_puts(text, "    setp.eq.and.u32 %p2, %rank, 0, %first;\n");
    cj__text_printf(text, "    setp.eq.and.u32 %%p3, %%rank, %d, %%first;\n", a.is_remote);
    for (unsigned i = 0; i < s.count; i++) {
        const bool owns = s.step[i].action == INIT || s.step[i].action == INVAL;
        cj__text_printf(text, "    @!%%p%d bra step%u;\n", owns ? 3 : 2, i);
        write_step(c, &a, s.step[i], text);
        cj__text_printf(text, "step%u:\n", i);
        if (a.is_remote)
            cj__text_puts(text, "    fence.mbarrier_init.release.cluster;\n    barrier.cluster.arrive;\n"
                                "    barrier.cluster.wait;\n");
        if (s.step[i].action == INVAL) continue;
        cj__text_printf(text, "    @!%%p3 bra seen%u;\n", i);
        write_notes(&w, gives_state(&a, s.step[i]), i, text);
        cj__text_printf(text, "seen%u:\n", i);
        if (a.is_remote) cj__text_puts(text, "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n");
    }
}

// ---- the model

typedef struct mbarrier {
    unsigned phase, pending, expected;
    int64_t  bytes;
} mbarrier;

static void take(mbarrier *m, const arrival *a, step s) {
    const bool     formed = s.action == ARRIVE;
    const unsigned arrivals = s.action == PLAIN ? s.value : formed ? a->expects ? 1 : s.value : 0;
    if (s.action == INIT) *m = (mbarrier){0, s.value, s.value, 0};
    if (s.action == EXPECT || (formed && a->expects)) m->bytes += s.value;
    if (s.action == COMPLETE) m->bytes -= s.value;
    m->pending -= arrivals;
    if (formed && a->drops) m->expected -= arrivals;
    if (s.action == INIT || m->pending || m->bytes) return;
    m->pending = m->expected;
    m->phase++;
}

static void mbarriers_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    arrival      a;
    wait         w;
    const script s = case_of(c, &a, &w);
    mbarrier     m = {0};
    (void)in;
    for (unsigned i = 0; i < s.count; i++) {
        uint64_t      *note = &out->block[a.is_remote].note[i * SLOTS];
        const mbarrier before = m;
        take(&m, &a, s.step[i]);
        if (s.step[i].action == INVAL) continue;
        if (gives_state(&a, s.step[i])) {
            note[0] = before.pending;
            note[1] = m.phase != before.phase;
        }
        note[2] = m.phase % 2 == 1;
        note[3] = m.phase % 2 == 0;
    }
}

const cj_async_family cj_async_mbarriers = {"mbarrier", mbarriers_count, mbarriers_make, mbarriers_write,
                                            NULL,       mbarriers_model};

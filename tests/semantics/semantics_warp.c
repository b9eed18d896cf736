// SPDX-License-Identifier: Apache-2.0
// Instructions that the lanes of a warp execute together, and the barriers of a block.
#include <stdio.h>
#include <string.h>

#include "semantics.h"
#include "test.h"

// ---- warps

// The lanes that take part: all lanes with one mask; each half of them with its own mask, in one instruction; or only
// the lower half, while the upper half branches around it.
typedef enum members { ALL, ODD_AND_EVEN, LOWER, MEMBERS_COUNT } members;

static void open_members(cj_experiment *e, members taking) {
    if (taking == ALL) cj__experiment_line(e, "mov.u32 %%r8, -1;");
    if (taking == ODD_AND_EVEN) {
        cj__experiment_line(e, "and.b32 %%r8, %%lane, 1;");
        cj__experiment_line(e, "shl.b32 %%r8, 0x55555555, %%r8;");
    }
    if (taking == LOWER) {
        for (unsigned k = 0; k < e->output_count; k++)
            if (cj__register_bits(e->output[k].type) == 1)
                cj__experiment_line(e, "setp.ne.u32 %%o%u, 0, 0;", k);
            else
                cj__experiment_line(e, "mov.b%u %%o%u, 77;", cj__register_bits(e->output[k].type), k);
        cj__experiment_line(e, "mov.u32 %%r8, 0xffff;");
        cj__experiment_line(e, "setp.ge.u32 %%p9, %%lane, 16;");
        cj__experiment_line(e, "@%%p9 bra around;");
    }
}

static void close_members(cj_experiment *e, members taking) {
    if (taking == LOWER) cj__experiment_line(e, "around:");
}

// A result is used with its predicate, or only one of the two.
static const char *destination(bool with_predicate, const char *else_only) {
    return with_predicate ? "%o0|%o1" : else_only;
}

static cj_experiment *start(cj_experiments *list, cj_word first, cj_word second) {
    cj_experiment *e = cj__experiment_add(list);
    cj__experiment_output(e, first);
    if (second) cj__experiment_output(e, second);
    return e;
}

// Clears the outputs that a form does not write.
static void clear_outputs(cj_experiment *e) {
    cj__experiment_line(e, "mov.b32 %%o0, 0;");
    cj__experiment_line(e, "setp.ne.u32 %%o1, 0, 0;");
}

// The source of a lane that takes part takes part, too: for the lower half, segments are halves or parts of them.
void cj__make_shuffle(const cj_form *form, cj_experiments *list) {
    static const members taking_part[] = {ALL, LOWER};
    for (unsigned i = 0; i < 2 * CJ_TEST_COUNT(taking_part); i++) {
        const members  taking = taking_part[i / 2];
        cj_experiment *e = start(list, CJ_W_B32, CJ_W_PRED);
        cj__experiment_input(e, CJ_W_B32, CJ_FILL_EDGES);
        cj__experiment_input(e, CJ_W_B32, CJ_FILL_LANE);
        cj__experiment_input(e, CJ_W_B32, CJ_FILL_SEGMENT);
        clear_outputs(e);
        if (taking == LOWER) cj__experiment_line(e, "or.b32 %%i2, %%i2, 0x1000;");
        open_members(e, taking);
        cj__experiment_try(e, "%s %s, %%i0, %%i1, %%i2, %%r8;", form->text, destination(i & 1, "%o0"));
        close_members(e, taking);
    }
}

// Predicates that are true in all lanes, in none, or in some: as the upper bits of one lane's input say.
static void predicate(cj_experiment *e, unsigned input) {
    cj__experiment_line(e, "shfl.sync.idx.b32 %%r9, %%i%u, 0, 31, -1;", input);
    cj__experiment_line(e, "and.b32 %%r9, %%r9, 3;");
    cj__experiment_line(e, "setp.ne.u32 %%p8, %%r9, 0;");
    cj__experiment_line(e, "setp.eq.u32 %%p9, %%r9, 1;");
    cj__experiment_line(e, "and.b32 %%r9, %%i%u, 1;", input);
    cj__experiment_line(e, "setp.ne.or.u32 %%p7, %%r9, 0, %%p9;");
    cj__experiment_line(e, "and.pred %%p8, %%p8, %%p7;");
}

void cj__make_vote(const cj_form *form, cj_experiments *list) {
    const cj_word type = cj__mnemonic_has(&form->mnemonic, CJ_W_BALLOT) ? CJ_W_B32 : CJ_W_PRED;
    for (unsigned i = 0; i < 2 * MEMBERS_COUNT; i++) {
        const members  taking = (members)(i / 2);
        cj_experiment *e = start(list, type, CJ_WORD_NONE);
        predicate(e, cj__experiment_input(e, CJ_W_B32, CJ_FILL_LANE));
        open_members(e, taking);
        cj__experiment_try(e, "%s %%o0, %s%%p8, %%r8;", form->text, i & 1 ? "!" : "");
        close_members(e, taking);
    }
}

// Few values, so that some lanes agree, or one value for all.
static void add_value(cj_experiment *e, const cj_form *form, bool same) {
    const cj_word  type = form->mnemonic.type_last;
    const unsigned value = cj__experiment_input(e, type, CJ_FILL_WHOLE);
    if (same) cj__experiment_line(e, "mov.b%u %%i%u, 3;", cj__words[type].bits, value);
}

void cj__make_warp(const cj_form *form, cj_experiments *list) {
    const char *opcode = cj__row_opcode(form->row);
    const bool  elects = !strcmp(opcode, "elect"), reduces = !strcmp(opcode, "redux");
    const bool  active = !strcmp(opcode, "activemask"), all = cj__mnemonic_has(&form->mnemonic, CJ_W_ALL);
    for (unsigned i = 0; i < 4 * MEMBERS_COUNT; i++) {
        const members  taking = (members)(i / 4);
        cj_experiment *e = start(list, CJ_W_B32, elects || all ? CJ_W_PRED : CJ_WORD_NONE);
        const char    *to = elects || all ? destination(i & 1, elects ? "_|%o1" : "%o0") : "%o0";
        if (reduces)
            cj__experiment_input(e, form->mnemonic.type_last, CJ_FILL_EDGES);
        else if (!elects && !active)
            add_value(e, form, all && i & 2);
        if (elects || all) clear_outputs(e);
        if (active) cj__experiment_line(e, "bar.warp.sync -1;");
        open_members(e, active && taking == ODD_AND_EVEN ? ALL : taking);
        cj__experiment_try(e, "%s %s%s%s;", form->text, to, elects || active ? "" : ", %i0", active ? "" : ", %r8");
        close_members(e, taking);
    }
}

// A lane reads what its neighbour has written.
void cj__make_warp_barrier(const cj_form *form, cj_experiments *list) {
    for (unsigned i = 0; i < MEMBERS_COUNT; i++) {
        cj_experiment *e = start(list, CJ_W_B32, CJ_WORD_NONE);
        cj__experiment_input(e, CJ_W_B32, CJ_FILL_EDGES);
        cj__experiment_line(e, "mov.u32 %%r0, tile;");
        cj__experiment_line(e, "mad.lo.u32 %%r1, %%thread, 4, %%r0;");
        cj__experiment_line(e, "xor.b32 %%r2, %%thread, 2;");
        cj__experiment_line(e, "mad.lo.u32 %%r2, %%r2, 4, %%r0;");
        open_members(e, (members)i);
        cj__experiment_line(e, "st.shared.b32 [%%r1], %%i0;");
        cj__experiment_try(e, "%s %%r8;", form->text);
        cj__experiment_line(e, "ld.shared.b32 %%o0, [%%r2];");
        close_members(e, (members)i);
    }
}

// ---- blocks

// How an instruction names its barrier, and how many threads use it: all 96 or, if the row has a count, the first 64.
typedef struct meeting {
    unsigned number, threads;
    bool     in_register, counts;
} meeting;

static meeting meeting_of(const cj_form *form, unsigned variant) {
    const bool may_count = strstr(form->row->operands, "w s:u32");  // after the barrier's number, 0..15w
    const bool must_count = !strstr(form->row->operands, "s:u32?");
    meeting    m = {.number = (form->index * 5 + variant) % 16, .threads = 96, .in_register = variant & 2};
    m.counts = may_count && (must_count || variant & 1);
    if (m.counts && variant & 4 && !cj__mnemonic_has(&form->mnemonic, CJ_W_ARRIVE)) m.threads = 64;
    return m;
}

static void barrier_line(cj_experiment *e, const cj_form *form, const meeting *m, const char *before,
                         const char *after) {
    char count[16] = "", number[16] = "%r9";
    if (m->counts) snprintf(count, sizeof count, ", %u", m->threads);
    if (m->in_register)
        cj__experiment_line(e, "mov.u32 %%r9, %u;", m->number);
    else
        snprintf(number, sizeof number, "%u", m->number);
    cj__experiment_try(e, "%s %s%s%s%s;", form->text, before, number, count, after);
}

// Shared memory to which each thread at the barrier has written its input: %r1 its own word, %r2 that of a thread of
// another warp.
// Other threads branch around it.
static void open_exchange(cj_experiment *e, const meeting *m) {
    const unsigned input = cj__experiment_input(e, CJ_W_B32, CJ_FILL_EDGES);
    cj__experiment_line(e, "mov.b32 %%o0, 0;");
    cj__experiment_line(e, "setp.ge.u32 %%p9, %%thread, %u;", m->threads);
    cj__experiment_line(e, "@%%p9 bra around;");
    cj__experiment_line(e, "mov.u32 %%r0, tile;");
    cj__experiment_line(e, "mad.lo.u32 %%r1, %%thread, 4, %%r0;");
    cj__experiment_line(e, "add.u32 %%r2, %%thread, 37;");
    cj__experiment_line(e, "rem.u32 %%r2, %%r2, %u;", m->threads);
    cj__experiment_line(e, "mad.lo.u32 %%r2, %%r2, 4, %%r0;");
    cj__experiment_line(e, "st.shared.b32 [%%r1], %%i%u;", input);
}

static void close_exchange(cj_experiment *e) {
    cj__experiment_line(e, "ld.shared.b32 %%o0, [%%r2];");
    cj__experiment_line(e, "around:");
}

// Warp 0 arrives after it has written; the others wait for it and read that.
static void add_arrive(cj_experiment *e, const cj_form *form, const meeting *m) {
    cj__experiment_line(e, "setp.ge.u32 %%p9, %%thread, 32;");
    cj__experiment_line(e, "@%%p9 bra others;");
    barrier_line(e, form, m, "", "");
    cj__experiment_line(e, "bra.uni around;");
    cj__experiment_line(e, "others:");
    cj__experiment_line(e, "bar.sync %u, %u;", m->number, m->threads);
    cj__experiment_line(e, "mad.lo.u32 %%r2, %%lane, 4, %%r0;");
}

static void add_reduction(cj_experiment *e, const cj_form *form, const meeting *m, bool negated) {
    const bool counts = cj__mnemonic_has(&form->mnemonic, CJ_W_POPC);
    barrier_line(e, form, m, counts ? "%o1, " : "%p6, ", negated ? ", !%p8" : ", %p8");
    if (!counts) cj__experiment_line(e, "selp.b32 %%o1, 1, 0, %%p6;");
}

// Every form of the operands.
void cj__make_barrier(const cj_form *form, cj_experiments *list) {
    for (unsigned variant = 0; variant < 8; variant++) {
        const bool     reduces = cj__mnemonic_has(&form->mnemonic, CJ_W_RED);
        const meeting  m = meeting_of(form, variant);
        cj_experiment *e = start(list, CJ_W_B32, reduces ? CJ_W_B32 : CJ_WORD_NONE);
        if (reduces) predicate(e, cj__experiment_input(e, CJ_W_B32, CJ_FILL_LANE));
        if (reduces) cj__experiment_line(e, "mov.b32 %%o1, 0;");
        open_exchange(e, &m);
        if (cj__mnemonic_has(&form->mnemonic, CJ_W_ARRIVE))
            add_arrive(e, form, &m);
        else if (reduces)
            add_reduction(e, form, &m, variant & 1);
        else
            barrier_line(e, form, &m, "", "");
        close_exchange(e);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions: each thread on a cell of its own, which shows the old value and the new one; and all threads
// of a block on one cell, if the order does not change its final value.
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "semantics.h"
#include "semantics_place.h"
#include "test.h"

// One operand: a register, a vector of registers, or two values that form one of 128 bits.
typedef struct shape {
    cj_word  type;
    unsigned count;
    bool     wide;
} shape;

static shape shape_of(const cj_form *form) {
    const bool wide = cj__words[form->mnemonic.type_last].bits == 128;
    return (shape){wide ? CJ_W_B64 : (cj_word)form->mnemonic.type_last, wide ? 2 : form->mnemonic.vector, wide};
}

static unsigned add_inputs(cj_experiment *e, shape s, cj_fill fill) {
    const unsigned first = e->input_count;
    for (unsigned i = 0; i < s.count; i++)
        cj__experiment_input(e, s.type, fill == CJ_FILL_AS_0 && i ? CJ_FILL_AS_1 : fill);
    return first;
}

// The text of an operand whose inputs begin with `first`.
static void source(cj_experiment *e, shape s, unsigned first, char text[96]) {
    cj__register_list(text, 'i', first, s.count);
    if (!s.wide) return;
    cj__experiment_line(e, "mov.b128 %%q%u, %s;", first, text);
    snprintf(text, 96, "%%q%u", first);
}

// If threads share a cell, their order determines the old values: these are not compared.
static void destination(cj_experiment *e, shape s, char text[96], char after[96]) {
    const unsigned first = e->output_count;
    for (unsigned i = 0; i < s.count; i++) cj__experiment_output(e, s.type);
    cj__register_list(text, 'o', first, s.count);
    snprintf(after, 96, "%s", text);
    if (s.wide) snprintf(text, 96, "%%q9");
}

static void add_atomic(const cj_form *form, cj_place place, bool common, cj_fill fill, cj_experiments *list) {
    cj_experiment *e = cj__experiment_add(list);
    const shape    s = shape_of(form);
    const bool     returns = form->text[0] == 'a', swaps = cj__mnemonic_has(&form->mnemonic, CJ_W_CAS);
    const bool     hinted = cj__mnemonic_has(&form->mnemonic, CJ_W_L2_CACHE_HINT);
    const unsigned old = add_inputs(e, s, fill == CJ_FILL_FORTY ? CJ_FILL_EDGES : fill);
    const unsigned b = add_inputs(e, s, swaps ? CJ_FILL_AS_0 : fill), c = swaps ? add_inputs(e, s, fill) : 0;
    char           address[24], text[4][96] = {"", "", "", ""};
    cj__place_open(e, place, common, s.type, old, s.count, form->index, address);
    if (hinted) cj__experiment_line(e, "createpolicy.fractional.L2::evict_first.b64 %%l9, 1.0;");
    if (returns) destination(e, s, text[0], text[3]);
    source(e, s, b, text[1]);
    if (swaps) source(e, s, c, text[2]);
    cj__experiment_try(e, "%s %s%s%s, %s%s%s%s;", form->text, text[0], returns ? ", " : "", address, text[1],
                       swaps ? ", " : "", text[2], hinted ? ", %l9" : "");
    if (returns && s.wide) cj__experiment_line(e, "mov.b128 %s, %%q9;", text[3]);
    for (unsigned i = 0; returns && common && i < s.count; i++)
        cj__experiment_line(e, "mov.b%u %%o%u, 0;", cj__words[s.type].bits, i);
    cj__place_close(e, place, common);
}

// Not swaps, whose order matters; nor sums of floats, unless they are exact.
static bool is_order_free(const cj_mnemonic *m) {
    return !cj__mnemonic_has(m, CJ_W_EXCH) && !cj__mnemonic_has(m, CJ_W_CAS);
}

static cj_fill common_fill(const cj_mnemonic *m) {
    if (cj__mnemonic_has(m, CJ_W_INC) || cj__mnemonic_has(m, CJ_W_DEC)) return CJ_FILL_FORTY;
    const cj_type_class class = cj__words[m->type_last].class;
    return class == CJ_CLASS_FLOAT || class == CJ_CLASS_PACKED ? CJ_FILL_WHOLE : CJ_FILL_EDGES;
}

// ptxas 13.0 compiles some of them on a peer's shared memory to a load and a store, and a sum of pairs to one of
// integers (check.h): the former are compared only if no other thread interferes, pairs not at all.
static bool is_compared(const cj_mnemonic *m, cj_place place, bool common) {
    if (!cj__place_is_peer(place) || !cj__atom_is_split(m)) return true;
    return !common && cj__words[m->type_last].class != CJ_CLASS_PACKED;
}

void cj__make_atomic(const cj_form *form, cj_experiments *list) {
    const cj_mnemonic *m = &form->mnemonic;
    const unsigned     reached = cj__places_of(m, true);
    for (unsigned place = 0; place < CJ_PLACE_COUNT; place++) {
        if (!(reached >> place & 1)) continue;
        if (is_compared(m, (cj_place)place, false)) add_atomic(form, (cj_place)place, false, CJ_FILL_EDGES, list);
        if (is_order_free(m) && is_compared(m, (cj_place)place, true))
            add_atomic(form, (cj_place)place, true, common_fill(m), list);
    }
}

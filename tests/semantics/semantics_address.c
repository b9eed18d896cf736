// SPDX-License-Identifier: Apache-2.0
// Addresses differ between devices; the values at them, and their distances, do not. And special registers whose value
// the launch determines.
#include <stdio.h>
#include <string.h>

#include "semantics.h"
#include "semantics_place.h"
#include "test.h"

// ---- special registers

static bool is_decided_by_launch(cj_special special) {
    switch (special) {
    case CJ_S_SMID:
    case CJ_S_NSMID:
    case CJ_S_GRIDID:
    case CJ_S_WARPID:
    case CJ_S_NWARPID:  // depends on the chip
    case CJ_S_CLOCK:
    case CJ_S_CLOCK_HI:
    case CJ_S_CLOCK64:  // depends on time
    case CJ_S_GLOBALTIMER:
    case CJ_S_GLOBALTIMER_LO:
    case CJ_S_GLOBALTIMER_HI:
    case CJ_S_RESERVED_SMEM_OFFSET_BEGIN:
    case CJ_S_RESERVED_SMEM_OFFSET_END:  // depends on the driver
    case CJ_S_RESERVED_SMEM_OFFSET_CAP:
    case CJ_S_RESERVED_SMEM_OFFSET_0:
    case CJ_S_RESERVED_SMEM_OFFSET_1:
    case CJ_S_CURRENT_GRAPH_EXEC:
    case CJ_S_AGGR_SMEM_SIZE:
    case CJ_S_TOTAL_SMEM_SIZE: return false;
    default: return special < CJ_S_PM0;
    }
}

// All special registers of the type that the form moves or converts: eight in each kernel.
void cj__make_special(const cj_form *form, cj_experiments *list) {
    const bool    converts = !strcmp(cj__row_opcode(form->row), "cvt");
    const cj_word from = converts ? form->mnemonic.type[1] : form->mnemonic.type_last;
    const cj_word to = converts ? form->mnemonic.type[0] : form->mnemonic.type_last;
    for (unsigned s = 1; s < CJ_SPECIAL_COUNT; s++) {
        static const char *const components[] = {".x", ".y", ".z", ".w"};
        const cj_special_info   *info = &cj__specials[s];
        const bool               predicate = info->type == CJ_W_PRED;
        if (!is_decided_by_launch((cj_special)s) || predicate != (from == CJ_W_PRED)) continue;
        if (!predicate && cj__words[info->type].bits != cj__words[from].bits) continue;
        cj_experiment *e = cj__experiment_add(list);
        for (unsigned c = 0; c < (info->components > 1 ? 4 : 1); c++)
            cj__experiment_try(e, "%s %%o%u, %%%s%s;", form->text, cj__experiment_output(e, to), info->text,
                               info->components > 1 ? components[c] : "");
    }
}

// ---- variables

// A variable's address leads to the variable's value.
void cj__make_address(const cj_form *form, cj_experiments *list) {
    static const struct {
        const char *variable, *space;
        unsigned    bits;
    } variables[] = {{"tile", "shared", 32}, {"tile", "shared", 64}, {"table", "const", 64}, {"stack", "local", 64}};
    const unsigned bits = cj__words[form->mnemonic.type_last].bits;
    for (size_t i = 0; i < CJ_TEST_COUNT(variables); i++) {
        if (bits != variables[i].bits) continue;
        const char    *space = variables[i].space, kind = bits == 64 ? 'l' : 'r';
        cj_experiment *e = cj__experiment_add(list);
        cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
        cj__experiment_try(e, "%s %%%c0, %s%s;", form->text, kind, variables[i].variable, i & 1 ? "+8" : "");
        if (strcmp(space, "const") != 0) {
            cj__experiment_line(e, "mad.%s.u32 %%%c0, %%thread, %u, %%%c0;", bits == 64 ? "wide" : "lo", kind,
                                strcmp(space, "local") ? 8 : 0, kind);
            cj__experiment_line(e, "st.%s.b64 [%%%c0], %%i0;", space, kind);
        }
        cj__experiment_line(e, "ld.%s.b64 %%o%u, [%%%c0];", space, cj__experiment_output(e, CJ_W_B64), kind);
    }
}

// ---- generic addresses

// How to write the address of a cell in the space of a mnemonic to %l0, as an address in that space's window; and the
// plain space in which the cell can be read. Input 0 fills shared memory and the stack, which only the thread itself
// reads.
typedef struct window {
    cj_word     word;
    const char *space, *setup;
    bool        is_filled;
} window;

#define OWN_TILE "mov.u32 %r0, tile;\n    mad.lo.u32 %r0, %thread, 48, %r0;\n    cvt.u64.u32 %l0, %r0;"
static const window windows[] = {
    {CJ_W_GLOBAL, "global", "mov.u64 %l0, %space;", true}, {CJ_W_SHARED, "shared", OWN_TILE, true},
    {CJ_W_SHARED_CTA, "shared::cta", OWN_TILE, true},      {CJ_W_SHARED_CLUSTER, "shared::cluster", OWN_TILE, true},
    {CJ_W_LOCAL, "local", "mov.u64 %l0, stack;", true},    {CJ_W_CONST, "const", "mov.u64 %l0, table;", false},
    {CJ_W_PARAM, "param", "mov.b64 %l0, x;", false},       {CJ_W_PARAM_ENTRY, "param", "mov.b64 %l0, x;", false},
};

static const window *window_of(const cj_mnemonic *m) {
    for (size_t i = 0; i < CJ_TEST_COUNT(windows); i++)
        if (cj__mnemonic_has(m, windows[i].word)) return &windows[i];
    fail_msg("%s: a space without a window", m->text);
    return NULL;
}

static void fill_window(cj_experiment *e, const window *w) {
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    cj__experiment_line(e, "%s", w->setup);
    if (w->is_filled) cj__experiment_line(e, "st.%s.b64 [%%l0+16], %%i0;", w->space);
}

// Converts to a generic address, which a plain load uses, or back from one.
void cj__make_generic(const cj_form *form, cj_experiments *list) {
    const window  *w = window_of(&form->mnemonic);
    cj_experiment *e = cj__experiment_add(list);
    fill_window(e, w);
    if (cj__mnemonic_has(&form->mnemonic, CJ_W_TO)) {
        const bool entry = cj__mnemonic_has(&form->mnemonic, CJ_W_PARAM_ENTRY);
        cj__experiment_line(e, "cvta.%s.u64 %%l1, %%l0;", entry ? "param::entry" : w->space);
        cj__experiment_try(e, "%s %%l2, %%l1;", form->text);
        cj__experiment_line(e, "sub.u64 %%o%u, %%l2, %%l0;", cj__experiment_output(e, CJ_W_B64));
        cj__experiment_line(e, "ld.%s.b64 %%o%u, [%%l2+16];", w->space, cj__experiment_output(e, CJ_W_B64));
    } else {
        cj__experiment_try(e, "%s %%l1, %%l0;", form->text);
        cj__experiment_line(e, "ld.b64 %%o%u, [%%l1+16];", cj__experiment_output(e, CJ_W_B64));
    }
}

// For an address in each window, and for one of another block.
void cj__make_isspacep(const cj_form *form, cj_experiments *list) {
    cj_experiment *e = cj__experiment_add(list);
    for (size_t i = 0; i < CJ_TEST_COUNT(windows); i++) {
        cj__experiment_line(e, "%s", windows[i].setup);
        cj__experiment_line(e, "cvta.%s.u64 %%l1, %%l0;", windows[i].space);
        cj__experiment_try(e, "%s %%o%u, %%l1;", form->text, cj__experiment_output(e, CJ_W_PRED));
        if (windows[i].word != CJ_W_SHARED_CLUSTER) continue;
        cj__experiment_line(e, "mov.u32 %%r1, %%cluster_ctarank;\n    xor.b32 %%r1, %%r1, 1;");
        cj__experiment_line(e, "mapa.u64 %%l1, %%l1, %%r1;");
        cj__experiment_line(e, "%s %%o%u, %%l1;", form->text, cj__experiment_output(e, CJ_W_PRED));
    }
}

// ---- addresses in a cluster

// For each rank: the value at the mapped address, which is that block's, and the rank of the address.
void cj__make_mapa(const cj_form *form, cj_experiments *list) {
    const bool     ranks = !strcmp(cj__row_opcode(form->row), "getctarank");
    const bool     shared = cj__mnemonic_has(&form->mnemonic, CJ_W_SHARED_CLUSTER);
    const unsigned bits = cj__words[form->mnemonic.type_last].bits;
    const char     kind = bits == 64 ? 'l' : 'r', *space = shared ? ".shared::cluster" : "";
    if (!shared && bits == 32) return;  // generic addresses have 64 bits
    cj_experiment *e = cj__experiment_add(list);
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    cj__experiment_line(e, "%s", OWN_TILE);
    cj__experiment_line(e, "st.shared.b64 [%%r0+16], %%i0;");
    if (!shared) cj__experiment_line(e, "cvta.shared.u64 %%l0, %%l0;");
    cj__cluster_sync(e);
    for (unsigned rank = 0; rank < 4; rank++) {
        const unsigned whose = cj__experiment_output(e, CJ_W_U32);
        cj__experiment_line(e, "add.u32 %%r1, %%thread, %u;\n    and.b32 %%r1, %%r1, 3;", rank);
        if (ranks) {
            cj__experiment_line(e, "mapa%s.u%u %%%c2, %%%c0, %%r1;", space, bits, kind, kind);
            cj__experiment_try(e, "%s %%o%u, %%%c2;", form->text, whose, kind);
        } else {
            cj__experiment_try(e, "%s %%%c2, %%%c0, %%r1;", form->text, kind, kind);
            cj__experiment_line(e, "getctarank%s.u%u %%o%u, %%%c2;", space, bits, whose, kind);
        }
        cj__experiment_line(e, "ld%s.b64 %%o%u, [%%%c2+16];", space, cj__experiment_output(e, CJ_W_B64), kind);
    }
    cj__cluster_sync(e);
}

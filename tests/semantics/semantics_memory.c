// SPDX-License-Identifier: Apache-2.0
// Loads and stores in every space, and hints for caches.
#include <stdio.h>
#include <string.h>

#include "semantics.h"
#include "semantics_place.h"
#include "test.h"

static bool is_load(const cj_form *form) { return form->text[0] == 'l'; }

// Eight elements of 8 or 16 bits are left out (vector-narrow): ptxas 13.0 and the compiler of driver 580.159 may crash
// on loads of them, and compile a store so that it stores only the first one.
static bool is_narrow(const cj_form *form) {
    return form->mnemonic.vector == 8 && cj__words[form->mnemonic.type_last].bits <= 16;
}

// ---- elements

// The registers of a load or a store: as wide as the type in memory or, unless it is a float, wider.
typedef struct elements {
    cj_word  type;
    unsigned count;
    char     text[96];  // "%o0" or "{%o0, %o1}"
} elements;

static cj_word register_type(const cj_form *form) {
    static const cj_word integers[] = {CJ_W_B16, CJ_W_B32, CJ_W_B64};
    const cj_word_info  *type = &cj__words[form->mnemonic.type_last];
    const unsigned       least = type->bits == 32 ? 1 : type->bits <= 16 ? 0 : 2;
    if (type->class == CJ_CLASS_FLOAT) return integers[least];
    return integers[least + form->index % (3 - least)];
}

// 128 bits are two values, and the register that holds both.
static void add_elements(cj_experiment *e, const cj_form *form, elements *v) {
    const bool     wide = cj__words[form->mnemonic.type_last].bits == 128, load = is_load(form);
    const cj_word  type = wide ? CJ_W_B64 : register_type(form);
    const unsigned first = load ? e->output_count : e->input_count;
    *v = (elements){.type = form->mnemonic.type_last, .count = wide ? 2 : form->mnemonic.vector};
    for (unsigned i = 0; i < v->count; i++) {
        if (load)
            cj__experiment_output(e, type);
        else
            cj__experiment_input(e, type, CJ_FILL_EDGES);
    }
    cj__register_list(v->text, load ? 'o' : 'i', first, v->count);
}

// Adds the instruction, and the lines that a cache policy and 128 bits need.
static void add_access(cj_experiment *e, const cj_form *form, const elements *v, const char *address) {
    const bool  wide = cj__words[v->type].bits == 128, hinted = cj__mnemonic_has(&form->mnemonic, CJ_W_L2_CACHE_HINT);
    const char *registers = wide ? "%q0" : v->text, *policy = hinted ? ", %l9" : "";
    if (hinted) cj__experiment_line(e, "createpolicy.fractional.L2::evict_first.b64 %%l9, 1.0;");
    if (wide && !is_load(form)) cj__experiment_line(e, "mov.b128 %%q0, %s;", v->text);
    if (is_load(form))
        cj__experiment_try(e, "%s %s, %s%s;", form->text, registers, address, policy);
    else
        cj__experiment_try(e, "%s %s, %s%s;", form->text, address, registers, policy);
    if (wide && is_load(form)) cj__experiment_line(e, "mov.b128 %s, %%q0;", v->text);
}

// ---- in a cell

enum { CELL_WORDS = CJ_CELL / 8 };  // the outputs after a load's elements, and all outputs of a store

static uint64_t extended(cj_word type, const unsigned char *memory, unsigned bits) {
    uint64_t value = 0;
    memcpy(&value, memory, bits / 8);  // both devices' hosts are little-endian
    const bool negative = cj__words[type].class == CJ_CLASS_SIGNED && value >> (bits - 1) & 1;
    return negative && bits < 64 ? value | UINT64_MAX << bits : value;
}

// Inputs 0 and 1 are in memory before; a load's elements are the peer's values there, a store's values become the
// peer's.
static void model_access(const cj_experiment *e, const uint64_t *own, const uint64_t *peers, uint64_t *outputs) {
    const unsigned bits = cj__words[e->element].bits, loaded = e->output_count - CELL_WORDS;
    unsigned char  mine[16], reached[16];
    memcpy(mine, own, sizeof mine);
    memcpy(reached, peers, sizeof reached);
    for (unsigned k = 0; k < loaded; k++) outputs[k] = extended(e->element, reached + k * bits / 8, bits);
    for (unsigned k = 0; k + 2 < e->input_count; k++) memcpy(mine + k * bits / 8, &peers[k + 2], bits / 8);
    cj__place_expected(mine, outputs + loaded);
}

static void access_place(const cj_form *form, cj_place place, cj_experiments *list) {
    cj_experiment *e = cj__experiment_add(list);
    const unsigned low = cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    char           address[24];
    elements       v;
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    add_elements(e, form, &v);
    cj__place_open(e, place, false, CJ_W_B64, low, 2, form->index, address);
    add_access(e, form, &v, address);
    cj__place_close(e, place, false);
    e->model = model_access;
    e->element = v.type == CJ_W_B128 ? CJ_W_B64 : v.type;
    e->reaches_peer = cj__place_is_peer(place);
}

// ---- in memory that no thread writes: constant memory, parameters of the kernel, and the inputs

static void load_from(const cj_form *form, cj_experiments *list, const char *setup, const char *address) {
    cj_experiment *e = cj__experiment_add(list);
    elements       v;
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    add_elements(e, form, &v);
    if (setup) cj__experiment_line(e, "%s", setup);
    add_access(e, form, &v, address);
}

void cj__make_read_only(const cj_form *form, cj_experiments *list) {
    if (is_narrow(form)) return;
    load_from(form, list, "and.b64 %l0, %in, -16;", "[%l0]");
}

// ---- in parameters of functions

// The parts of a parameter: `count` pieces of `bits`, 8 bytes apart.
typedef struct pieces {
    unsigned count, bits;
} pieces;

// ld.param or st.param of all pieces, between `name` and registers PREFIX0, PREFIX1, …
static void pass(cj_text *text, const char *opcode, const char *name, char prefix, pieces p) {
    for (unsigned i = 0; i < p.count; i++) {
        if (*opcode == 'l')
            cj__text_printf(text, "    ld.param.b%u %%%c%u, [%s+%u];\n", p.bits, prefix, i, name, 8 * i);
        else
            cj__text_printf(text, "    st.param.b%u [%s+%u], %%%c%u;\n", p.bits, name, 8 * i, prefix, i);
    }
}

// The form's line, on registers PREFIX0, …
static void add_form(cj_text *text, const cj_form *form, char prefix, const char *address, cj_experiment *e) {
    char        registers[96];
    const char *first = is_load(form) ? registers : address, *second = is_load(form) ? address : registers;
    cj__register_list(registers, prefix, 0, form->mnemonic.vector);
    snprintf(e->text, sizeof e->text, "%s %s, %s;", form->text, first, second);
    cj__text_printf(text, "    %s\n", e->text);
}

// A function that returns its argument, once as bytes in memory, once in registers. The form is in the function or at
// the caller.
typedef struct passing {
    bool     load, inside;
    pieces   memory, registers;
    unsigned argument, result;  // bytes
} passing;

static passing passing_of(const cj_form *form) {
    const unsigned count = form->mnemonic.vector, bytes = cj__words[form->mnemonic.type_last].bits / 8 * count;
    const bool     load = is_load(form), inside = form->index & 1;
    return (passing){.load = load,
                     .inside = inside,
                     .memory = {bytes > 8 ? bytes / 8 : 1, bytes > 8 ? 64 : bytes * 8},
                     .registers = {count, cj__register_bits(register_type(form))},
                     .argument = !load && inside ? 8 * count : bytes,
                     .result = load && inside ? 8 * count : bytes};
}

static void add_function(cj_experiment *e, const cj_form *form, const passing *p) {
    cj_text     *text = &e->outside;
    const char   prefix = p->inside ? 'e' : 'c';
    const pieces through = p->inside ? p->registers : p->memory;
    cj__text_printf(text, ".func (.param .align 16 .b8 r[%u]) f%u(.param .align 16 .b8 a[%u])\n{\n", p->result,
                    e->number, p->argument);
    cj__text_printf(text, "    .reg .b64 %%c<2>;\n    .reg .b%u %%e<8>;\n", p->registers.bits);
    if (p->inside && p->load)
        add_form(text, form, prefix, "[a]", e);
    else
        pass(text, "ld", "a", prefix, through);
    if (p->inside && !p->load)
        add_form(text, form, prefix, "[r]", e);
    else
        pass(text, "st", "r", prefix, through);
    cj__text_puts(text, "    ret;\n}\n");
}

static void add_call(cj_experiment *e, const cj_form *form, const passing *p) {
    cj_text *text = &e->body;
    cj__text_printf(text, "    {\n    .param .align 16 .b8 a[%u];\n    .param .align 16 .b8 r[%u];\n", p->argument,
                    p->result);
    if (!p->inside && !p->load)
        add_form(text, form, 'i', "[a]", e);
    else
        pass(text, "st", "a", 'i', p->load ? p->memory : p->registers);
    cj__text_printf(text, "    call (r), f%u, (a);\n", e->number);
    if (!p->inside && p->load)
        add_form(text, form, 'o', "[r]", e);
    else
        pass(text, "ld", "r", 'o', p->load ? p->registers : p->memory);
    cj__text_puts(text, "    }\n");
}

static void access_function(const cj_form *form, cj_experiments *list) {
    const passing p = passing_of(form);
    const cj_word bytes = CJ_W_B64, registers = register_type(form);
    if (p.memory.count > 2 || cj__words[form->mnemonic.type_last].bits == 128) return;
    cj_experiment *e = cj__experiment_add(list);
    for (unsigned i = 0; i < (p.load ? p.memory : p.registers).count; i++)
        cj__experiment_input(e, p.load ? bytes : registers, CJ_FILL_EDGES);
    for (unsigned i = 0; i < (p.load ? p.registers : p.memory).count; i++)
        cj__experiment_output(e, p.load ? registers : bytes);
    add_function(e, form, &p);
    add_call(e, form, &p);
}

void cj__make_access(const cj_form *form, cj_experiments *list) {
    const cj_mnemonic *m = &form->mnemonic;
    if (is_narrow(form)) return;
    if (cj__mnemonic_has(m, CJ_W_CONST)) {
        load_from(form, list, "mov.u64 %l0, table;", "[%l0+16]");
    } else if (cj__mnemonic_has(m, CJ_W_PARAM_ENTRY)) {
        load_from(form, list, NULL, "[x+16]");
    } else if (cj__mnemonic_has(m, CJ_W_PARAM_FUNC)) {
        access_function(form, list);
    } else if (cj__mnemonic_has(m, CJ_W_PARAM)) {
        if (is_load(form)) load_from(form, list, "mov.b64 %l0, x;", form->index & 1 ? "[%l0+16]" : "[x+32]");
        access_function(form, list);
    } else {
        const unsigned reached = cj__places_of(m, false);
        for (unsigned place = 0; place < CJ_PLACE_COUNT; place++)
            if (reached >> place & 1) access_place(form, (cj_place)place, list);
    }
}

// ---- hints for caches

// The places that a hint may name; for applypriority and discard 128 bytes of global memory, which each thread has
// there.
static unsigned hinted_places(const cj_form *form, bool sized) {
    const unsigned global = 1u << CJ_PLACE_GLOBAL | 1u << CJ_PLACE_ANY_GLOBAL;
    return cj__places_of(&form->mnemonic, false) & (sized ? global : ~(1u << CJ_PLACE_ANY_PEER));
}

// The hint comes between stores and loads of the stored values. Discarded bytes are undefined until they are stored
// again.
void cj__make_hint(const cj_form *form, cj_experiments *list) {
    const bool sized = cj__row_pattern(form->row)->count > 1;
    for (unsigned place = 0; place < CJ_PLACE_COUNT; place++) {
        if (!(hinted_places(form, sized) >> place & 1)) continue;
        cj_experiment *e = cj__experiment_add(list);
        char           address[24];
        cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
        cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
        cj__place_open(e, (cj_place)place, false, CJ_W_B64, 0, 2, CJ_VARIANT_START, address);
        cj__experiment_try(e, sized ? "%s %s, 128;" : "%s %s;", form->text, address);
        if (!strcmp(cj__row_opcode(form->row), "discard"))
            cj__place_open(e, (cj_place)place, false, CJ_W_B64, 0, 2, CJ_VARIANT_START, address);
        cj__place_close(e, (cj_place)place, false);
    }
}

// A policy is never visible: a load with it gives the value in memory. A converted policy is not used: the valid inputs
// of the conversion are not documented.
void cj__make_policy(const cj_form *form, cj_experiments *list) {
    cj_experiment *e = cj__experiment_add(list);
    const bool     ranges = cj__mnemonic_has(&form->mnemonic, CJ_W_RANGE);
    const bool     converts = cj__mnemonic_has(&form->mnemonic, CJ_W_CVT);
    const char    *how = ranges ? ", [%l0], 64, 128" : converts ? ", %space" : form->index & 1 ? ", 0.5" : "";
    char           address[24];
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    cj__experiment_input(e, CJ_W_B64, CJ_FILL_EDGES);
    cj__place_open(e, CJ_PLACE_GLOBAL, false, CJ_W_B64, 0, 2, 1, address);
    cj__experiment_try(e, "%s %%l7%s;", form->text, how);
    const unsigned loaded = cj__experiment_output(e, CJ_W_B64);
    if (converts)
        cj__experiment_line(e, "ld.global.b64 %%o%u, %s;", loaded, address);
    else
        cj__experiment_line(e, "ld.global.L2::cache_hint.b64 %%o%u, %s, %%l7;", loaded, address);
    cj__place_close(e, CJ_PLACE_GLOBAL, false);
}

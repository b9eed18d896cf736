// SPDX-License-Identifier: Apache-2.0
// Where a thread continues: one kernel for each row, in which the lanes of a warp take different ways, or the same way
// if the form has .uni. And instructions that only take time.
#include <string.h>

#include "semantics.h"
#include "test.h"

// The kernel for a row, found by its opcode and operands. $ is the form, # the experiment's number; the number %r0 and
// its lowest bit %p0 choose the way; the result is %o0.
static const struct {
    const char *opcode, *operands, *body;
} bodies[] = {
    {"bra", "l", "mov.b32 %o0, %i0;\n    @%p0 $ skip;\n    xor.b32 %o0, %i0, 0x1234;\nskip:"},
    {"brx", "s:u32 l",
     "targets: .branchtargets first, second, third;\n    rem.u32 %r0, %r0, 3;\n"
     "    $ %r0, targets;\nfirst:\n    add.u32 %o0, %i0, 1;\n    bra done;\nsecond:\n    not.b32 %o0, %i0;\n"
     "    bra done;\nthird:\n    mul.lo.u32 %o0, %i0, 3;\ndone:"},
    {"ret", "", "mov.b32 %o0, %i0;\n    @%p0 $;"},
    {"exit", "", "mov.b32 %o0, %i0;\n    @%p0 $;"},
    {"call", "L f L?",
     "{\n    .param .b32 r, a;\n    st.param.b32 [a], %i0;\n    $ (r), twice#, (a);\n    ld.param.b32 %o0, [r];\n    "
     "}"},
    {"call", "f L?", "mov.b32 %o0, %i0;\n    $ nothing#;"},
    {"call", "L s:A=reg L l",
     "{\n    .param .b32 r, a;\n    .reg .b64 %f, %g;\n    mov.u64 %f, twice#;\n    mov.u64 %g, thrice#;\n"
     "    selp.b64 %f, %f, %g, %p0;\n    proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
     "    st.param.b32 [a], %i0;\n    $ (r), %f, (a), proto;\n    ld.param.b32 %o0, [r];\n    }"},
    {"call", "L s:A=reg l",
     "{\n    .param .b32 r;\n    .reg .b64 %f, %g;\n    mov.u64 %f, seven#;\n    mov.u64 %g, eight#;\n"
     "    selp.b64 %f, %f, %g, %p0;\n    proto: .callprototype (.param .b32 _) _ ();\n"
     "    $ (r), %f, proto;\n    ld.param.b32 %o0, [r];\n    }"},
    {"call", "s:A=reg L l",
     "{\n    .param .b32 a;\n    .reg .b64 %f;\n    mov.u64 %f, taker#;\n    mov.b32 %o0, %i0;\n"
     "    proto: .callprototype _ (.param .b32 _);\n    st.param.b32 [a], %i0;\n    $ %f, (a), proto;\n    }"},
    {"call", "s:A=reg l",
     "{\n    .reg .b64 %f;\n    mov.u64 %f, nothing#;\n    mov.b32 %o0, %i0;\n"
     "    proto: .callprototype _ ();\n    $ %f, proto;\n    }"},
};

static const char functions[] =
    ".func nothing# { ret; }\n.func taker#(.param .b32 a) { ret; }\n"
    ".func (.param .b32 r) twice#(.param .b32 a)\n{\n    .reg .b32 %v;\n    ld.param.b32 %v, [a];\n"
    "    add.u32 %v, %v, %v;\n    st.param.b32 [r], %v;\n    ret;\n}\n"
    ".func (.param .b32 r) thrice#(.param .b32 a)\n{\n    .reg .b32 %v;\n    ld.param.b32 %v, [a];\n"
    "    mul.lo.u32 %v, %v, 3;\n    st.param.b32 [r], %v;\n    ret;\n}\n"
    ".func (.param .b32 r) seven#\n{\n    .reg .b32 %v;\n    mov.u32 %v, 7;\n    st.param.b32 [r], %v;\n    ret;\n}\n"
    ".func (.param .b32 r) eight#\n{\n    .reg .b32 %v;\n    mov.u32 %v, 8;\n    st.param.b32 [r], %v;\n    ret;\n}\n";

static void substitute(cj_text *text, const char *from, const cj_form *form, unsigned number) {
    for (const char *at = from; *at; at++) {
        if (*at == '$')
            cj__text_puts(text, form->text);
        else if (*at == '#')
            cj__text_printf(text, "%u", number);
        else
            cj__text_add(text, at, 1);
    }
}

void cj__make_control(const cj_form *form, cj_experiments *list) {
    const char *opcode = cj__row_opcode(form->row);
    for (size_t i = 0; i < CJ_TEST_COUNT(bodies); i++) {
        if (strcmp(opcode, bodies[i].opcode) != 0 || strcmp(form->row->operands, bodies[i].operands) != 0) continue;
        cj_experiment *e = cj__experiment_add(list);
        const bool     uniform = cj__mnemonic_has(&form->mnemonic, CJ_W_UNI);
        memcpy(e->text, form->text, strlen(form->text) + 1);
        cj__experiment_input(e, CJ_W_B32, CJ_FILL_LANE);
        cj__experiment_output(e, CJ_W_B32);
        cj__experiment_line(e, "mov.b32 %%r0, %s;\n    and.b32 %%r1, %%r0, 1;", uniform ? "%block" : "%i0");
        cj__experiment_line(e, "setp.ne.u32 %%p0, %%r1, 0;");
        substitute(&e->body, bodies[i].body, form, e->number);
        cj__text_puts(&e->body, "\n");
        if (!strcmp(opcode, "call")) substitute(&e->outside, functions, form, e->number);
    }
}

// Instructions without a visible effect.
void cj__make_idle(const cj_form *form, cj_experiments *list) {
    cj_experiment *e = cj__experiment_add(list);
    const char    *operand = form->row->operands;
    cj__experiment_input(e, CJ_W_B32, CJ_FILL_EDGES);
    cj__experiment_output(e, CJ_W_B32);
    cj__experiment_line(e, "mov.b32 %%o0, %%i0;");
    cj__experiment_try(e, "%s%s;", form->text, *operand ? " 3" : "");
}

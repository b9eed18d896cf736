// SPDX-License-Identifier: Apache-2.0
#include "semantics_oob.h"

#include <clusterjit/kernel.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

const char *const cj_oob_form[CJ_OOB_FORMS] = {"fma.rn.oob.f16",       "fma.rn.oob.relu.f16",   "fma.rn.oob.bf16",
                                               "fma.rn.oob.relu.bf16", "fma.rn.oob.f16x2",      "fma.rn.oob.relu.f16x2",
                                               "fma.rn.oob.bf16x2",    "fma.rn.oob.relu.bf16x2"};

enum { RESULT_BYTES = CJ_OOB_CODES * CJ_OOB_PLACES * 2, OTHERS = 2 };

// The other two operands, chosen so that no number gives 0 with both pairs: 1 and 1, or 1 and 1.5; for f16, for bf16.
static const char *const others[2][OTHERS] = {{"0x3c00", "0x3e00"}, {"0x3f80", "0x3fc0"}};

static const char head[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{\n"
    "    .reg .b32 %%r<8>, %%thread, %%xx, %%ones, %%others, %%dd;\n    .reg .b64 %%at;\n    .reg .pred %%p;\n"
    "    .reg .b16 %%x, %%one, %%other, %%d, %%e, %%bits;\n    ld.param.u64 %%at, [out];\n"
    "    mov.u32 %%thread, %%ctaid.x;\n    mov.u32 %%r0, %%ntid.x;\n    mov.u32 %%r1, %%tid.x;\n"
    "    mad.lo.u32 %%thread, %%thread, %%r0, %%r1;\n    mad.wide.u32 %%at, %%thread, 2, %%at;\n"
    "    cvt.u16.u32 %%x, %%thread;\n    mov.b16 %%one, %s;\n    mov.b32 %%xx, {%%x, %%x};\n"
    "    mov.b32 %%ones, {%%one, %%one};\n";

// Thread i of the grid uses code i in each place. Bit k of a result: the result with pair k was 0.
void cj_oob_ptx(char *ptx, unsigned form) {
    const char              *name = cj_oob_form[form];
    const bool               brain = strstr(name, "bf16"), pair = strstr(name, "x2");
    size_t                   length = (size_t)snprintf(ptx, CJ_OOB_PTX, head, others[brain][0]);
    static const char *const places[2][CJ_OOB_PLACES] = {
        {"%x, %one, %other", "%one, %x, %other", "%one, %other, %x"},
        {"%xx, %ones, %others", "%ones, %xx, %others", "%ones, %others, %xx"}};
    for (unsigned place = 0; place < CJ_OOB_PLACES; place++) {
        length += (size_t)snprintf(ptx + length, CJ_OOB_PTX - length, "    mov.u32 %%r2, 0;\n");
        for (unsigned k = 0; k < OTHERS; k++)
            length += (size_t)snprintf(ptx + length, CJ_OOB_PTX - length,
                                       "    mov.b16 %%other, %s;\n    mov.b32 %%others, {%%other, %%other};\n"
                                       "    %s %s, %s;\n%s    cvt.u32.u16 %%r3, %%d;\n    setp.eq.u32 %%p, %%r3, 0;\n"
                                       "    @%%p or.b32 %%r2, %%r2, %u;\n",
                                       others[brain][k], name, pair ? "%dd" : "%d", places[pair][place],
                                       pair ? "    mov.b32 {%d, %e}, %dd;\n" : "", 1u << k);
        length += (size_t)snprintf(ptx + length, CJ_OOB_PTX - length,
                                   "    cvt.u16.u32 %%bits, %%r2;\n    st.global.u16 [%%at + %u], %%bits;\n",
                                   place * CJ_OOB_CODES * 2);
    }
    snprintf(ptx + length, CJ_OOB_PTX - length, "    ret;\n}\n");
}

static void run_form(cj_device *device, unsigned form, cj_ptr out, uint16_t *results) {
    char         ptx[CJ_OOB_PTX];
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    cj_oob_ptx(ptx, form);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    const cj_launch_config config = {
        CJ_INIT(config),      .function = function,          .grid = {CJ_OOB_CODES / 256, 1, 1},
        .block = {256, 1, 1}, .arguments = (void *[]){&out}, .argument_count = 1};
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_mem_read(device, results, out, RESULT_BYTES, NULL, &error), &error);
    cj_module_unload(module);
}

void cj_oob_run(cj_device *device, cj_oob_sweep *sweep) {
    static uint16_t results[RESULT_BYTES / 2];
    cj_ptr          out = 0;
    cj_error        error = {0};
    cj_test_ok(cj_mem_alloc(device, RESULT_BYTES, &out, &error), &error);
    for (unsigned form = 0; form < CJ_OOB_FORMS; form++) {
        run_form(device, form, out, results);
        for (unsigned i = 0; i < CJ_OOB_PLACES * CJ_OOB_CODES; i++)
            sweep->is_zero[form][i / CJ_OOB_CODES][i % CJ_OOB_CODES] = results[i] == (1 << OTHERS) - 1;
    }
    cj_mem_free(device, out);
}

static bool is_nan(unsigned form, unsigned code) {
    return (code & 0x7fff) > (strstr(cj_oob_form[form], "bf16") ? 0x7f80u : 0x7c00u);
}

static void print_place(unsigned form, unsigned place, const uint8_t *is_zero) {
    unsigned numbers = 0;
    print_message("  %s, %c:", cj_oob_form[form], 'a' + (int)place);
    for (unsigned code = 0, end; code < CJ_OOB_CODES; code = end + 1) {
        end = code;
        if (is_zero[code] && !is_nan(form, code)) numbers++;
        if (!is_zero[code] || !is_nan(form, code)) continue;
        while (end + 1 < CJ_OOB_CODES && is_zero[end + 1] && is_nan(form, end + 1)) end++;
        print_message(end > code ? " 0x%04x to 0x%04x" : " 0x%04x", code, end);
    }
    print_message("; %u numbers\n", numbers);
}

void cj_oob_print(const char *device, const cj_oob_sweep *sweep) {
    print_message("%s, NaNs that give 0:\n", device);
    for (unsigned form = 0; form < CJ_OOB_FORMS; form++)
        for (unsigned place = 0; place < CJ_OOB_PLACES; place++) print_place(form, place, sweep->is_zero[form][place]);
}

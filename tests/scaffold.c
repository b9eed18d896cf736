// SPDX-License-Identifier: Apache-2.0
#include "scaffold.h"

#include <string.h>

#include "check.h"
#include "parse.h"
#include "test.h"

void cj_test_head(cj_text *text, unsigned version, const char *target) {
    cj__text_printf(text, ".version %u.%u\n.target %s\n.address_size 64\n", version / 10, version % 10, target);
}

void cj_test_entry(cj_text *text, const char *name, const char *lines) {
    cj__text_printf(text, "\n.visible .entry %s(\n    .param .u64 x\n)\n{\n", name);
    cj__text_puts(text, "    .shared .align 128 .b8 tile[1024];\n\n"
                        "    .reg .u32 %r<100>;\n    .reg .b64 %l<100>;\n    .reg .b16 %h<100>;\n"
                        "    .reg .f32 %f<100>;\n    .reg .f64 %d<100>;\n    .reg .pred %p<100>;\n\n");
    cj__text_printf(text, "    %s\ndone:\n    ret;\n}\n", lines);
}

cj_ir_module *cj_test_module(unsigned version, const char *target, const char *lines) {
    cj_text text = {0};
    cj_test_head(&text, version, target);
    cj_test_entry(&text, "k", lines);
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    cj_status     status = cj__ir_parse(text.data, text.length, &module, &error);
    if (status) print_error("%s\n", lines);
    cj_test_ok(status, &error);
    cj__text_free(&text);
    return module;
}

unsigned cj_test_least_target(const cj_ir_module *module) {
    cj_ir_module trial = *module;
    trial.version = 999;
    for (trial.target_sm = 10; trial.target_sm < 1000; trial.target_sm++) {
        cj_error error = {0};
        if (cj__check(&trial, &error) == CJ_OK || strcmp(error.rule, "target-least") != 0) break;
    }
    return trial.target_sm;
}

const cj_ir_inst *cj_test_first_inst(const cj_ir_module *module) {
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_func *func = module->item[i].kind == CJ_ITEM_FUNC ? module->item[i].func : NULL;
        for (size_t s = 0; func && s < func->stmt_count; s++)
            if (func->stmt[s].kind == CJ_STMT_INST) return func->stmt[s].inst;
    }
    fail_msg("there is no instruction");
    return NULL;
}

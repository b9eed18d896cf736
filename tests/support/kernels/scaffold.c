// SPDX-License-Identifier: Apache-2.0
#include "scaffold.h"

#include <string.h>

#include "check.h"
#include "parse.h"
#include "test.h"

void cj_test_head(cj_text *text, unsigned version, const char *target) {
    cj__text_printf(text, ".version %u.%u\n.target %s\n.address_size 64\n", version / 10, version % 10, target);
    cj__text_puts(text, ".global .align 128 .b8 space[1024];\n.const .align 128 .b8 table[1024];\n"
                        ".func nothing() { ret; }\n.func (.param .b32 r) ext(.param .b32 a) { ret; }\n");
}

// Declarations that need a late .version are added for lines that mention them.
static const struct {
    const char *mention, *declaration;
} on_demand[] = {
    {"%q", ".reg .b128 %q<100>;"},
    {"targets", "targets: .branchtargets done;"},
    {"proto", "proto: .callprototype (.param .b32 _) _ (.param .b32 _);"},
    {"protor", "protor: .callprototype (.param .b32 _) _ ();"},
    {"protov", "protov: .callprototype _ ();"},
};

void cj_test_entry(cj_text *text, const char *name, const char *lines) {
    cj__text_printf(text, "\n.visible .entry %s(\n    .param .align 64 .b8 x[256]\n)\n{\n", name);
    cj__text_puts(text, "    .shared .align 128 .b8 tile[1024];\n    .local .align 128 .b8 stack[1024];\n"
                        "    .param .b32 result;\n    .param .b32 argument;\n"
                        "    .reg .b8 %b<100>;\n    .reg .b16 %h<100>;\n    .reg .b32 %r<100>;\n"
                        "    .reg .b64 %l<100>;\n    .reg .f32 %f<100>;\n    .reg .f64 %d<100>;\n"
                        "    .reg .pred %p<100>;\n");
    for (size_t i = 0; i < CJ_TEST_COUNT(on_demand); i++)
        if (strstr(lines, on_demand[i].mention)) cj__text_printf(text, "    %s\n", on_demand[i].declaration);
    cj__text_printf(text, "    %s\ndone:\n    ret;\n}\n", lines);
}

cj_ir_module *cj_test_parsed(const char *text) {
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    cj_status     status = cj__ir_parse(text, strlen(text), &module, &error);
    if (status) print_error("%s\n", text);
    cj_test_ok(status, &error);
    return module;
}

cj_ir_module *cj_test_module(unsigned version, const char *target, const char *lines) {
    cj_text text = {0};
    cj_test_head(&text, version, target);
    cj_test_entry(&text, "k", lines);
    cj_ir_module *module = cj_test_parsed(text.data);
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
        for (size_t s = 0; func && func->is_entry && s < func->stmt_count; s++)
            if (func->stmt[s].kind == CJ_STMT_INST) return func->stmt[s].inst;
    }
    fail_msg("there is no instruction");
    return NULL;
}

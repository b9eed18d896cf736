// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target: any bytes are read, checked and printed, and the places of their source looked up; what is read without an error prints to a text that
// prints to itself. replay.c runs it over the corpus in ordinary builds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "print.h"
#include "source.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void expect_fixed_point(const cj_text *once) {
    cj_ir_module *module;
    cj_error      error;
    if (cj__ir_parse(once->data, once->length, &module, &error)) {
        fprintf(stderr, "printed text, %u:%u: %s\n%s", error.line, error.column, error.message, once->data);
        abort();
    }
    cj_text twice = {0};
    cj__ir_print(module, &twice);
    if (twice.length != once->length || memcmp(twice.data, once->data, once->length)) {
        fprintf(stderr, "printed:\n%s\nprinted again:\n%s", once->data, twice.data);
        abort();
    }
    cj__text_free(&twice);
    cj__ir_free(module);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    cj_report     report = {0};
    cj_ir_module *module;
    char         *text = malloc(size ? size : 1);  // a copy, so that a sanitizer sees the end
    if (!text) return 0;
    memcpy(text, data, size);
    cj_status status = cj__ir_parse_report(text, size, &module, &report);
    free(text);
    if (status) return 0;
    cj__check_forms(module, &report);
    if (!report.errors) cj__check_paths(module, &report);
    cj__report_sort(&report);
    cj_text printed = {0};
    if (!module->broken) {
        cj__ir_print(module, &printed);
        expect_fixed_point(&printed);
    }
    cj__text_free(&printed);
    for (uint32_t line = 0; line < 200; line++) cj__ir_source(module, line, &report.arena);
    cj__ir_free(module);
    cj__arena_free(&report.arena);
    return 0;
}

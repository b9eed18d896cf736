// SPDX-License-Identifier: Apache-2.0
// Prints the fuzzer's dictionary: what the tables know, and the directives.
#include <stdio.h>
#include <string.h>

#include "ir.h"

int main(void) {
    static const char *const others[] = {
        ".version 9.0", ".target sm_90a", ".address_size 64", ".visible", ".extern", ".weak", ".common", ".entry",
        ".func", ".reg", ".param", ".shared", ".local", ".global", ".const", ".align", ".attribute(.managed)", ".ptr",
        ".pragma", ".branchtargets", ".calltargets", ".callprototype", ".alias", ".file", ".loc", ".section",
        "function_name", "inlined_at", "generic(", "WARP_SZ", "0f3F800000", "0d3FF0000000000000", "%r<9>", "@!%p", "0xff00(",
    };
    for (cj_word word = 1; word < CJ_WORD_COUNT; word++) printf("\".%s\"\n", cj__words[word].text);
    for (cj_special special = 1; special < CJ_SPECIAL_COUNT; special++)
        printf("\"%%%s\"\n", cj__specials[special].text);
    for (int which = 0; which < CJ_DIR_COUNT; which++) printf("\"%s\"\n", cj__directive_word((cj_directive)which));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) printf("\"%s\"\n", others[i]);
    const char *last = "";
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const char *opcode = cj__row_opcode(&cj__rows[i]);
        if (strcmp(opcode, last)) printf("\"%s\"\n", opcode);
        last = opcode;
    }
    return 0;
}

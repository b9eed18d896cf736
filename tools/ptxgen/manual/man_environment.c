// SPDX-License-Identifier: Apache-2.0
// What the manual pages of the command and of the library say of the environment.
#include "man.h"
#include "roff.h"

void man_environment(FILE *to) {
    static const struct {
        const char *name, *text;
    } variables[] = {
#define CJ_VARIABLE(name, text) {name, text},
#include "environment.def"
    };
    roff_section(to, "ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        roff_tag(to);
        roff_piece(to, 'B', variables[i].name);
        roff_tag_end(to);
        roff_text(to, variables[i].text);
    }
}

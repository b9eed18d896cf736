// SPDX-License-Identifier: Apache-2.0
// Findings as SARIF 2.1.0, which code hosts and editors read (OASIS, "Static Analysis Results Interchange Format").
#ifndef PTXGEN_SARIF_H
#define PTXGEN_SARIF_H

#include <jansson.h>
#include <stdbool.h>

#include "finding.h"

#define SARIF_OPTION(number)                                                                                   \
    {                                                                                                          \
        .name = "sarif", .key = number, .arg = "FILE",                                                         \
        .doc = "Write what is found as SARIF 2.1.0, for code hosts and editors; '-' is standard output, alone" \
    }

typedef struct sarif {
    const char *path;  // NULL: none is wanted, and the calls below do nothing
    json_t     *results, *rules;
} sarif;

// Before anything is read. `other`: something else that was asked for goes to standard output. Returns an exit code.
int sarif_begin(sarif *s, const char *path, bool other);

// Whether it takes standard output.
bool sarif_is_output(const sarif *s);

void sarif_add(sarif *s, document *d, const finding *f);

// Writes it, with the failures of the command, and frees it. Returns `code`, or that of what failed here where `code` is 0.
int sarif_end(sarif *s, int code);

#endif

// SPDX-License-Identifier: Apache-2.0
// Runs NVIDIA's assembler on a document: ptxas, or nvJitLink if ptxas is missing. Neither needs a GPU.
#ifndef PTXGEN_ASSEMBLER_H
#define PTXGEN_ASSEMBLER_H

#include "finding.h"
#include "toolchain.h"

typedef struct assembler {
    toolchain_item tool;
    void          *library;  // nvJitLink; NULL: the tool is ptxas
} assembler;

// Finds an assembler; CODE_COMPILER after a message that names the missing program.
int assembler_find(assembler *a);

// Its messages about one document become findings of the rule "ptxas".
typedef struct assembly {
    char *log;  // owned; the findings point into it
} assembly;

// Assembles for `arch`, or for the document's own .target if that is NULL, and adds its messages. Returns an exit code:
// CODE_OK also if it refuses the document, CODE_COMPILER after a message if it could not run.
int  assembler_run(const assembler *a, const document *d, const char *arch, assembly *result, findings *to);
void assembly_free(assembly *result);

#endif

// SPDX-License-Identifier: Apache-2.0
// nvJitLink as an assembler of PTX, through a library opened at run time: its headers are not needed.
#ifndef PTXGEN_JITLINK_H
#define PTXGEN_JITLINK_H

#include "document.h"

// What an assembler makes of a document.
typedef enum verdict { ACCEPTED, REFUSED, UNKNOWN_TARGET } verdict;

// Assembles and links the document for `arch`. *log is what it says, owned by the caller whatever the verdict; it may be
// NULL for an unknown target. Returns an exit code: CODE_COMPILER after a message where the library cannot be used.
int jitlink_ask(void *library, const document *d, const char *arch, char **log, verdict *answer);

#endif

// SPDX-License-Identifier: Apache-2.0
// nvJitLink as an assembler of PTX, a library opened at run time: its headers are not needed.
#ifndef PTXGEN_JITLINK_H
#define PTXGEN_JITLINK_H

#include "document.h"

// The verdict of an assembler on a document.
typedef enum verdict { ACCEPTED, REFUSED, UNKNOWN_TARGET } verdict;

// Assembles and links the document for `arch`. *log is the log, owned by the caller for every verdict; it may be NULL
// for an unknown target. Returns an exit code: CODE_COMPILER after a message if the library cannot be used.
int jitlink_ask(void *library, const document *d, const char *arch, char **log, verdict *answer);

#endif

// SPDX-License-Identifier: Apache-2.0
// The compiler's library that a library of this folder stands for, and the lines that it adds to the report of `ptxgen run-program`.
#ifndef CJ_COMPILERS_REAL_H
#define CJ_COMPILERS_REAL_H

#include <clusterjit/base.h>
#include <pthread.h>
#include <stddef.h>

#include "places.h"

typedef struct cj_real {
    const cj_toolkit_library which;
    const char *const        package;  // what to install, for the message
    pthread_once_t           once;
    void                    *library;  // NULL: not looked for, or not found
    void (*open)(void);                // calls cj__real_open on this struct: pthread_once passes nothing
} cj_real;

// Finds and opens the library, never this one. A failure is told once, in the report or on standard error.
void cj__real_open(cj_real *real);

// Writes the address of a function of the real library, which is opened first, to *function, a pointer to a function. False: there
// is no library, or it lacks the function.
bool cj__real_find(cj_real *real, const char *name, void *function);

// Appends {"kind": "refused", "call": …, "message": …, "hint": …} to the file that CLUSTERJIT_REPORT names; without that
// variable prints the same on standard error.
void cj__real_refuse(const char *call, const char *message, const char *hint);

// Appends {"kind": "source", "file": …, "text": …}: the text of a source that is in memory alone, so that findings can
// show its lines. Without CLUSTERJIT_REPORT does nothing. A relative name is one of the working directory, as NVRTC takes it.
void cj__real_source(const char *file, const char *text);

#endif

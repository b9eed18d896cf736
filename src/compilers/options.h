// SPDX-License-Identifier: Apache-2.0
// NVRTC's options, rewritten so that they ask for PTX with the lines of its source.
#ifndef CJ_COMPILERS_OPTIONS_H
#define CJ_COMPILERS_OPTIONS_H

#include <stdbool.h>

typedef struct cj_options {
    char **item;
    int    count;
    bool   machine;  // they asked for machine code: -arch=sm_90
} cj_options;

// Copies the options: sm_90 becomes compute_90; -lineinfo is added, except to what has it or -G. False: out of memory.
bool cj__options_rewrite(cj_options *o, int count, const char *const *given);
void cj__options_free(cj_options *o);

#endif

// SPDX-License-Identifier: Apache-2.0
// The table of all functions, and the functions that are missing here. This file does not see cuda.h's prototypes: it names
// functions, and calls none.
#include "calls.h"

// A function that is missing is exported, so that programs which look it up run; its call is refused by name.
#define CALL(name, since, symbol) extern void symbol(void);
#define SAME(name, since, symbol) extern void symbol(void);
#define MISS(name, since, symbol) \
    int symbol(void);             \
    int symbol(void) { return cj__refuse_missing(#symbol); }
#include "calls.def"
#undef CALL
#undef SAME
#undef MISS

static const cj_call calls[] = {
#define CALL(name, since, symbol) {#name, since, symbol},
#define SAME(name, since, symbol)
#define MISS(name, since, symbol) {#name, since, (cj_call_address)symbol},
#include "calls.def"
#undef CALL
#undef SAME
#undef MISS
};

// The table names cuGetProcAddress, which looks in it: the loader joins the two before a program can call.
__attribute__((constructor)) static void give(void) { cj__calls_set(calls, sizeof calls / sizeof *calls); }

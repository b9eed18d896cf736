// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, over the table of all functions, and the functions that are missing here. This file does not see cuda.h's
// prototypes: it names functions, and calls none.
#include "calls.h"

#include <string.h>

typedef void (*function)(void);

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

static const struct {
    const char *name;
    int         since;
    function    address;
} calls[] = {
#define CALL(name, since, symbol) {#name, since, symbol},
#define SAME(name, since, symbol)
#define MISS(name, since, symbol) {#name, since, (function)symbol},
#include "calls.def"
#undef CALL
#undef SAME
#undef MISS
};

enum { COUNT = sizeof calls / sizeof *calls };

cj_found cj__call_find(const char *name, int version, void **address) {
    int      best = -1;
    bool     known = false;
    function found = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(calls[i].name, name)) continue;
        known = true;
        if (calls[i].since > version || calls[i].since < best) continue;
        best = calls[i].since;
        found = calls[i].address;
    }
    memcpy(address, &found, sizeof found);
    return found ? CJ_FOUND : known ? CJ_FOUND_NEWER : CJ_FOUND_NOTHING;
}

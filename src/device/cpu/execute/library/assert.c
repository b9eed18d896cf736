// SPDX-License-Identifier: Apache-2.0
// A failed assertion: __assertfail(condition, file, line, function, bytes of a character).
#include "library.h"

bool cj__library_assertfail(cj_library_call *call) {
    enum { STRINGS = 3, MOST = 120 };
    static const unsigned at[STRINGS] = {0, 1, 3};
    cj_text               text[STRINGS] = {0};
    bool                  is_read = true;
    for (unsigned i = 0; i < STRINGS && is_read; i++)
        if (call->argument[at[i]]) is_read = cj__library_string(call, call->argument[at[i]], MOST, &text[i]);
    if (is_read) {
        cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_ASSERT, "%s:%u: %s: assertion `%s' failed",
                       text[1].data ? text[1].data : "?", (unsigned)call->argument[2],
                       text[2].data ? text[2].data : "?", text[0].data ? text[0].data : "?");
    }
    for (unsigned i = 0; i < STRINGS; i++) cj__text_free(&text[i]);
    return false;
}

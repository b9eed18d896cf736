// SPDX-License-Identifier: Apache-2.0
// What libcuda.so.1 gives to our own CUDA runtime beyond the driver API: a table of cuGetExportTable, the driver API's way to hand
// out private functions. Another driver has no such table, and the runtime then speaks on standard error.
#ifndef CJ_DRIVER_HOOK_H
#define CJ_DRIVER_HOOK_H

#include <stddef.h>

typedef struct cj_hook {
    size_t bytes;  // of this table

    // Writes a record of the report: `kind` is "refused" or "unsupported", `call` the function of the runtime, `hint` may be NULL.
    // The same record again is not written.
    void (*tell)(const char *kind, const char *call, const char *message, const char *hint);

    // From now on the report names `call`, a string that stays, in place of the driver's functions that this thread calls; NULL:
    // these themselves; "": it does not tell of their failures. Returns what it was before.
    const char *(*speak_for)(const char *call);
} cj_hook;

// The table's id: the bytes of a CUuuid.
#define CJ_HOOK_ID "clusterjit's own"

#endif

// SPDX-License-Identifier: Apache-2.0
// The table of the fake driver's functions.
#include <string.h>

#include "fake_parts.h"

cj_proc cj_fake_resolve(void *user, const char *symbol, int version) {
    (void)user;
    if (cj_fake_driver.missing && !strcmp(symbol, cj_fake_driver.missing)) return NULL;
    if (version > cj_fake_driver.version) return NULL;
#define CJ_X(name, symbol_version, need)                     \
    if (!strcmp(symbol, "cu" #name)) {                       \
        PFN_cu##name##_v##symbol_version proc = fake_##name; \
        return (cj_proc)proc;                                \
    }
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
    return NULL;
}

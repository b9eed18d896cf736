// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "test.h"

bool cj_test_streams(uint32_t ordinal, cj_stream *const *to, unsigned count) {
    enum { NON_BLOCKING = 1 };
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL, *symbol[4];
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*create)(cj_stream *, unsigned);
    static const char *const names[] = {"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate"};
    for (size_t i = 0; i < CJ_TEST_COUNT(names); i++)
        if (!library || !(symbol[i] = dlsym(library, names[i]))) return false;
    memcpy(&init, &symbol[0], sizeof init);
    memcpy(&retain, &symbol[1], sizeof retain);
    memcpy(&set, &symbol[2], sizeof set);
    memcpy(&create, &symbol[3], sizeof create);
    if (init(0) || retain(&context, (int)ordinal) || set(context)) return false;
    for (unsigned s = 0; s < count; s++)
        if (create(to[s], NON_BLOCKING)) return false;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
// The functions of the runtime that are missing here, so that no program ends because one of them cannot be resolved. Their
// parameters are nobody's: CUDA's header, which has other types for them, is not included.
extern int cj__missing(const char *call);

#define X(name)     \
    int name(void); \
    int name(void) { return cj__missing(#name); }
#include "missing.def"

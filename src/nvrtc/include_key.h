// SPDX-License-Identifier: Apache-2.0
// What NVRTC made, kept on disk under all that it was made of.
#ifndef CJ_NVRTC_INCLUDE_KEY_H
#define CJ_NVRTC_INCLUDE_KEY_H

#include "cache.h"
#include "compile.h"
#include "text.h"

// The disk cache, or NULL: the first time a warning says why.
cj_disk *cj__cuda_disk(void);

// Adds to a key what the program's text includes: the user's files by their content, CUDA's by their place and time. False:
// what it includes cannot be told, so nothing may be kept.
bool cj__cuda_key_includes(cj_text *key, const cj_nvrtc *nvrtc, const cj_cuda_program *program);

#endif

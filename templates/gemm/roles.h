// SPDX-License-Identifier: Apache-2.0
// The warp groups' roles: one produces stages, all others consume them.
#ifndef CJ_TEMPLATES_GEMM_ROLES_H
#define CJ_TEMPLATES_GEMM_ROLES_H

#include "split.h"

// The producer goes to `done`; the consumers fall through.
void cj__gemm_produce(gemm_kernel *k, cj_label done);
void cj__gemm_consume(gemm_kernel *k);

#endif

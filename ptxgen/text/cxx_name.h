// SPDX-License-Identifier: Apache-2.0
// Names of C++ as compilers lower them.
#ifndef CJ_PTXGEN_CXX_NAME_H
#define CJ_PTXGEN_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

// The name that a lowered one stands for, without template arguments and parameters: "ns::kernel" of _ZN2ns6kernelIfEEvPf.
// "ns::kernel::tile" of
// _ZZN2ns6kernelIfEEvPfE4tile, a variable in it. False for what is lowered in no way that is known here, or does not fit.
bool cj__cxx_name(const char *lowered, char *name, size_t size);

#endif

// SPDX-License-Identifier: Apache-2.0
// Libraries: code that is loaded in each context that uses it, and kernels that stand for a function in each.
#ifndef CJ_DRIVER_LIBRARY_H
#define CJ_DRIVER_LIBRARY_H

#include "module.h"

// The function of a handle: of a function, or of a kernel in the current context, where it is loaded now.
CUresult cj__fun_of(CUfunction given, cj_fun **fun);

// The arguments of a launch whose `extra` holds them in a buffer. `*argument` is the caller's to free; it points into the buffer.
CUresult cj__arguments_of(const cj_fun *fun, void **extra, void ***argument);

#endif

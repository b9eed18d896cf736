// SPDX-License-Identifier: Apache-2.0
// The containers in which nvcc puts device code into a program.
#ifndef CJ_TESTS_FOREIGN_FATBIN_H
#define CJ_TESTS_FOREIGN_FATBIN_H

#include <stddef.h>

// The first PTX text of a container, as __cudaRegisterFatBinary is given it, and its length; it lives as long as the
// container. NULL, with *why, where there is none that can be read.
const char *cj_fatbin_ptx(const void *container, size_t *length, const char **why);

#endif

// SPDX-License-Identifier: Apache-2.0
// The disk cache that the environment names.
#ifndef CJ_CACHE_CACHE_H
#define CJ_CACHE_CACHE_H

#include <clusterjit/base.h>
#include <stdbool.h>

#include "disk.h"

// Opens the cache, and makes its directory if `make`. Returns OK with NULL if the cache is switched off, or if its
// directory does not exist and is not made.
cj_status cj__cache_open(bool make, const cj_files *files, cj_disk **disk, cj_error *error);

#endif

// SPDX-License-Identifier: Apache-2.0
// The disk cache that the environment names.
#ifndef CJ_CACHE_CACHE_H
#define CJ_CACHE_CACHE_H

#include <clusterjit/base.h>
#include <stdbool.h>

#include "disk.h"

// Opens it, making the directory where `make`. OK with NULL where there is none to be: it is switched off, or not
// there.
cj_status cj__cache_open(bool make, const cj_files *files, cj_disk **disk, cj_error *error);

#endif

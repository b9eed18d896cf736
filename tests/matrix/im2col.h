// SPDX-License-Identifier: Apache-2.0
// Columns of pixels (im2col), loaded, stored and added by a device, against a walk through the bounding box here, pixel
// by pixel.
#ifndef CJ_TESTS_IM2COL_H
#define CJ_TESTS_IM2COL_H

#include <clusterjit/device.h>
#include <stddef.h>

enum { CJ_IM2COL_PTX = 8192 };

// What a kernel does with a column.
typedef enum cj_im2col_way { CJ_IM2COL_LOAD, CJ_IM2COL_STORE, CJ_IM2COL_ADD, CJ_IM2COL_PREFETCH } cj_im2col_way;

void cj_im2col_ptx(char *ptx, unsigned rank, cj_im2col_way way);

// Runs every shape in every way, and random ones; returns how many fail, each of which is named.
unsigned cj_im2col_run(cj_device *device, uint64_t seed);

#endif

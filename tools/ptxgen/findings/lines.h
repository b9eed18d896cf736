// SPDX-License-Identifier: Apache-2.0
// What the CPU device's last launch did, by the lines of its source, or of the PTX where that does not tell its source.
#ifndef PTXGEN_LINES_H
#define PTXGEN_LINES_H

#include <clusterjit/cpu.h>
#include <jansson.h>

#include "document.h"

void lines_print(const cj_device *device, document *ptx);  // on standard error, those with the most instructions first
json_t *lines_json(const cj_device *device, document *ptx);  // all of them, in the same order

#endif

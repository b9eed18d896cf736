// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include <unistd.h>

#include "cpu_device.h"
#include "heap.h"

enum { STACK_BYTES = 16 << 10, HEAP_BYTES = 8 << 20 };

static uint32_t core_count(void) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}

void cj__cpu_complete(cj_cpu_options *options) {
    if (!options->threads) options->threads = options->hazards ? 1 : core_count();
    if (!options->stack_bytes) options->stack_bytes = STACK_BYTES;
    if (!options->heap_bytes) options->heap_bytes = HEAP_BYTES;
    options->stack_bytes = (options->stack_bytes + 15) / 16 * 16;
    options->heap_bytes = (options->heap_bytes + CJ_HEAP_GRANULE - 1) / CJ_HEAP_GRANULE * CJ_HEAP_GRANULE;
}

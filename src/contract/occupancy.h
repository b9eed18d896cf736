// SPDX-License-Identifier: Apache-2.0
// How many blocks and clusters a GPU holds at once, computed from limits that are data; no device is touched. Prefer
// the driver's own count (cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveClusters) if there is a
// driver: GPCs have different numbers of SMs, which differ between chips of one product.
#ifndef CJ_CONTRACT_OCCUPANCY_H
#define CJ_CONTRACT_OCCUPANCY_H

#include <clusterjit/device.h>
#include <stdbool.h>

// What one block of a kernel takes.
typedef struct cj_kernel_use {
    uint64_t threads;    // a block, at least 1
    uint32_t registers;  // a thread, as assembled; 0: unknown, and no limit
    uint64_t shared;     // bytes a block, static and dynamic, without what the system reserves
    uint32_t barriers;   // named barriers (bar.sync 0 is one); 0: unknown, and no limit
    uint64_t cluster;    // blocks; 0 or 1: no cluster
} cj_kernel_use;

// The resources that limit how many blocks an SM holds.
#define CJ_RESOURCE_LIST(X)    \
    X(BLOCKS, "blocks")        \
    X(WARPS, "threads")        \
    X(REGISTERS, "registers")  \
    X(SHARED, "shared memory") \
    X(BARRIERS, "barriers")

typedef enum cj_resource {
#define CJ_X(id, text) CJ_RESOURCE_##id,
    CJ_RESOURCE_LIST(CJ_X)
#undef CJ_X
        CJ_RESOURCE_COUNT
} cj_resource;

const char *cj__resource_name(cj_resource resource);

typedef struct cj_occupancy {
    uint32_t    by[CJ_RESOURCE_COUNT];  // blocks an SM that each resource allows
    uint32_t    blocks_per_sm;          // the least of them
    cj_resource limited_by;             // the resource that allows the fewest; the first of several
    uint32_t    active_clusters;        // that the GPU holds at once; without clusters: blocks
    uint32_t    stranded_sms;           // SMs without a block when no further cluster fits into their GPC
    bool        gpcs_known;             // false: clusters are counted as if all SMs were one GPC, so there may be fewer
} cj_occupancy;

// The registers that the hardware allocates for a block of so many threads with so many registers each; and the most
// threads of a block that can have that many registers each.
uint64_t cj__block_registers(uint64_t threads, uint32_t registers, const cj_limits *limits);
uint64_t cj__threads_for_registers(uint32_t registers, const cj_limits *limits);

void cj__occupancy(const cj_kernel_use *use, const cj_limits *limits, cj_occupancy *occupancy);

#endif

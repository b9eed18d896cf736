// SPDX-License-Identifier: Apache-2.0
// Occupancy: how many blocks and clusters of a kernel a GPU holds at once, what keeps it from holding more, and which cluster
// size to take. On a gpu device the driver counts; elsewhere, for any target, a model does, from limits that are plain data.
// Thread safety: every call may run in any thread. None belongs on a launch path.
#ifndef CLUSTERJIT_OCCUPANCY_H
#define CLUSTERJIT_OCCUPANCY_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// What limits the blocks an SM: enum, words.
#define CJ_OCCUPANCY_LIMIT_LIST(X)  \
    X(BLOCKS, "blocks")             \
    X(THREADS, "threads")           \
    X(REGISTERS, "registers")       \
    X(SHARED, "shared memory")      \
    X(BARRIERS, "barriers")

typedef enum cj_occupancy_limit {
#define CJ_X(name, text) CJ_OCCUPANCY_##name,
    CJ_OCCUPANCY_LIMIT_LIST(CJ_X)
#undef CJ_X
} cj_occupancy_limit;

// "shared memory"; NULL for a value outside the enum.
CJ_API const char *cj_occupancy_limit_name(cj_occupancy_limit limit);

typedef struct cj_cluster_occupancy {
    CJ_STRUCT_SIZE(cj_cluster_occupancy);
    uint32_t           cluster;          // blocks; 0: no cluster
    uint32_t           blocks_per_sm;    // most blocks that an SM holds
    uint32_t           active_clusters;  // most clusters that the GPU holds, without clusters blocks; 0: not even one
    uint32_t           sms_used;         // least SMs on which these run
    uint32_t           sms_stranded;     // the others
    cj_occupancy_limit limited_by;       // what keeps an SM from holding another block
    bool               gpc_limited;      // the SMs together have room for another cluster, but no GPC alone has
    bool               from_driver;      // counted by the driver; else by the model
} cj_cluster_occupancy;

// What one block of a kernel takes, for the model.
typedef struct cj_block_use {
    CJ_STRUCT_SIZE(cj_block_use);
    uint32_t threads;    // at least 1
    uint32_t registers;  // a thread, as assembled; 0: unknown, and no limit
    uint64_t shared;     // bytes, static and dynamic
} cj_block_use;

// The model: needs no device. `cluster` in blocks, 0: none. Where limits->gpc_sms is not known, clusters are counted as if any
// SMs could form one, so that there may be fewer.
CJ_API cj_status cj_occupancy_model(const cj_limits *limits, const cj_block_use *use, uint32_t cluster,
                                    cj_cluster_occupancy *occupancy, cj_error *error);

// A launch to be counted.
typedef struct cj_occupancy_query {
    CJ_STRUCT_SIZE(cj_occupancy_query);
    cj_dim3  block;           // {0, 0, 0}: the one that the kernel declares
    cj_dim3  cluster;         // {0, 0, 0}: the one that the kernel declares, else none
    uint32_t dynamic_shared;  // bytes
    uint32_t registers;       // a thread; 0: unknown, and no limit. A gpu device knows, and does not use it
} cj_occupancy_query;

// Counts for a loaded function on its device. On a gpu device it makes the function's opt-ins, as a launch does.
// CONTRACT names the launch rule that keeps this block or cluster from being launched at all; UNSUPPORTED where the driver
// cannot tell.
CJ_API cj_status cj_function_occupancy(cj_function *function, const cj_occupancy_query *query,
                                       cj_cluster_occupancy *occupancy, cj_error *error);

// The same by the model, for an entry of a PTX text (NUL-terminated; `length` without the NUL; `entry` may be NULL where there
// is but one). INVALID_KERNEL with line and column for text that cannot be read.
CJ_API cj_status cj_ptx_occupancy(const cj_limits *limits, const char *ptx, size_t length, const char *entry,
                                  const cj_occupancy_query *query, cj_cluster_occupancy *occupancy, cj_error *error);

// The largest cluster of such blocks that the device can place, in blocks, non-portable sizes included; of a kernel that
// declares its cluster, whether that one. 0: none, on a device without clusters. query->cluster is not used.
CJ_API cj_status cj_function_max_cluster(cj_function *function, const cj_occupancy_query *query, uint32_t *blocks,
                                         cj_error *error);

// Chooses the smallest cluster that does the job, among candidates in any order.
//   needed  the fewest blocks that can do it: as many as hold its data in their shared memory together, 1 where a block can.
//           The smallest candidate of so many blocks that can run is taken (one without a cluster counts as one block).
//           0: nothing is known of the job. Then it is a cluster of 2 blocks, or of up to CJ_OCCUPANCY_SMALL where that keeps
//           at least `keep` percent of the most blocks that any candidate keeps on the GPU at once (CJ_OCCUPANCY_KEEP: 90),
//           the larger where both do: what larger ones gain must be measured (ptxgen compare), what they cost is here.
// Where there is no such candidate, the one that keeps the most blocks, of those the smallest cluster.
// Returns the index; `count` when no candidate can run. All candidates are of one size, that of the first.
enum { CJ_OCCUPANCY_KEEP = 90, CJ_OCCUPANCY_SMALL = 4 };
CJ_API size_t cj_occupancy_choose(const cj_cluster_occupancy *candidates, size_t count, uint32_t needed, unsigned keep);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
// The launch contract: what a kernel's directives promise, what a launch asks for, what a target allows, and the rules
// between them. Pure functions of data: they touch no device and allocate nothing.
#ifndef CJ_CONTRACT_CONTRACT_H
#define CJ_CONTRACT_CONTRACT_H

#include <clusterjit/contract.h>
#include <stdbool.h>

#include "ir.h"

// What the directives of an entry say (PTX ISA, "Performance-Tuning Directives", "Cluster Dimension Directives"), and
// whatever else of the entry matters to a launch. {0,0,0} and 0: not said, not known.
typedef struct cj_contract {
    char        entry[64];
    cj_dim3     reqntid, maxntid, reqnctapercluster;
    bool        explicitcluster, blocksareclusters;
    bool     empty_cluster;  // .reqnctapercluster has a zero: the driver ignores the directive, and so do the rules
    uint32_t    maxclusterrank, maxnreg, minnctapersm;
    bool        cluster_conflict;  // .reqnctapercluster and .maxclusterrank are both there
    const char *zero;              // a directive that says 0 where it must not, ".maxnreg"; or NULL
    uint32_t    static_shared;     // bytes
    uint32_t    registers;         // a thread, as assembled
    bool        uses_clusters;     // some instruction or special register of the body needs a cluster
    bool        reads_position;    // some instruction reads %clusterid or %cluster_ctaid
    bool        uses_warpgroups;   // some instruction is executed by 128 threads together
    uint16_t    ptx_version;       // 10 * major + minor
    uint16_t    target_sm;         // 90 for sm_90a
    char        target_suffix;     // 'a', 'f' or 0
} cj_contract;

// Reads an entry's directives and shared memory.
void cj__contract_of(const cj_ir_func *entry, cj_contract *contract);

// Refuses limits without the counts that plans and occupancy divide by.
cj_status cj__limits_check(const cj_limits *limits, cj_error *error);

// Reads the contract from a query's text. Errors as cj_contract_check.
cj_status cj__contract_read(const cj_contract_query *query, cj_contract *contract, cj_error *error);

// The cluster dimensions in force: what the launch gives, else what .reqnctapercluster says, else {0,0,0}.
cj_dim3 cj__contract_cluster(const cj_contract *contract, cj_dim3 given);

// The block in force: a launch of 1 x 1 x 1 means the block of .reqntid, which the driver then launches.
cj_dim3 cj__contract_block(const cj_contract *contract, cj_dim3 given);

// Blocks in the grid of a launch that is not refused: with .blocksareclusters the launch counts clusters.
cj_dim3 cj__contract_grid(const cj_contract *contract, cj_dim3 given, cj_dim3 cluster);

// The first broken rule of severity ERROR as an error (CONTRACT; rule id, message with field, value and limit, hint),
// or OK. Rules of the kernel and the limits alone can be checked once for all launches; the others are checked for each
// launch. cj__contract_check checks both.
cj_status cj__contract_check_kernel(const cj_contract *contract, const cj_limits *limits, cj_error *error);
cj_status cj__contract_check_launch(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits,
                                    cj_error *error);
cj_status cj__contract_check(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits,
                             cj_error *error);

// All broken rules, warnings too, as a set (bit i is row i of the table), and the words of one of them.
uint64_t    cj__contract_broken(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits);
cj_severity cj__contract_explain(unsigned rule, const cj_contract *contract, const cj_launch_shape *shape,
                                 const cj_limits *limits, cj_error *error);

// The newest .version that a driver's JIT compiler reads, 90 for 9.0; UINT16_MAX where the driver is unknown, or newer
// than this library.
uint16_t cj__ptx_of_driver(uint32_t driver_version);

#endif

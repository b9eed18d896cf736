// SPDX-License-Identifier: Apache-2.0
// The launch contract: what a kernel's directives promise, what a launch asks, what a target allows, and the rules that
// tie them together. Data in, verdict out; no device is touched.
#ifndef CJ_CONTRACT_CONTRACT_H
#define CJ_CONTRACT_CONTRACT_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <stdbool.h>

#include "ir.h"

// What the directives of an entry say (PTX ISA, "Performance-Tuning Directives", "Cluster Dimension Directives").
// {0,0,0} and 0: not said.
typedef struct cj_contract {
    char     entry[64];
    cj_dim3  reqntid, maxntid, reqnctapercluster;
    bool     explicitcluster, blocksareclusters;
    uint32_t maxclusterrank, maxnreg, minnctapersm;
    uint32_t static_shared;  // bytes
    bool     uses_clusters;  // some instruction or special register of the body needs a cluster
} cj_contract;

typedef struct cj_launch_shape {
    cj_dim3  grid, block, cluster;  // grid counts blocks; cluster {0,0,0}: none given
    uint32_t dynamic_shared;        // bytes
    bool     nonportable;           // cluster sizes above the portable one were opted into
} cj_launch_shape;

// Reads an entry's directives and shared memory.
void cj__contract_of(const cj_ir_func *entry, cj_contract *contract);

// The cluster dimensions in force: what the launch gives, else what .reqnctapercluster says, else {0,0,0}.
cj_dim3 cj__contract_cluster(const cj_contract *contract, cj_dim3 given);

// The first broken rule as an error (CONTRACT; rule id, message with field, value and limit, hint), or OK.
cj_status cj__contract_check(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits,
                             cj_error *error);

#endif

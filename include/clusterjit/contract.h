// SPDX-License-Identifier: Apache-2.0
// The launch contract: would the driver launch this, and if not, why not? Held against limits that are data, so that a
// launch on any GPU can be judged on a machine that has none. cj_launch holds every launch against the same rules.
// Thread safety: every call may run in any thread.
#ifndef CLUSTERJIT_CONTRACT_H
#define CLUSTERJIT_CONTRACT_H

#include <clusterjit/base.h>
#include <clusterjit/check.h>
#include <clusterjit/device.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a launch asks for. {0, 0, 0}: no cluster given, none preferred.
typedef struct cj_launch_shape {
    cj_dim3  grid, block, cluster;  // grid counts blocks, of a kernel with .blocksareclusters clusters
    cj_dim3  preferred;             // preferred cluster dimension, to be used where there is room for it
    uint32_t dynamic_shared;        // bytes
    bool     nonportable;           // cluster sizes above the portable one were opted into
    bool     smem_optin;            // shared memory above the default limit was opted into
    bool     cooperative;           // all blocks must be resident at once
    uint32_t active_clusters;  // how many clusters (blocks, without clusters) of this launch the driver says the GPU
                               // holds at once; 0: counted from the limits
} cj_launch_shape;

// A launch to be judged. `ptx` may be NULL: then the shape alone is held against the limits.
typedef struct cj_contract_query {
    CJ_STRUCT_SIZE(cj_contract_query);
    const cj_limits *limits;  // of a device, or of a name (cj_limits_named)
    const char      *ptx;     // NUL-terminated text that holds the kernel, `length` bytes without the NUL
    size_t           length;
    const char      *entry;      // NULL: the text's only one
    uint32_t         registers;  // a thread, as ptxas or the driver report them; 0: unknown, and not judged
    cj_launch_shape  shape;      // last: it may grow, and struct_size covers it
} cj_contract_query;

// One broken rule. A WARNING does not keep the driver from launching. The strings live as long as the call.
typedef struct cj_violation {
    cj_severity severity;
    const char *rule;     // "cluster-portable", …
    const char *message;  // the field, its value and the limit
    const char *hint;     // what to do
} cj_violation;

// Calls `visit(user, violation)` for every broken rule, those of the kernel before those of the launch; `visit` may be
// NULL. OK when the driver would launch it; CONTRACT, with the first broken rule of severity ERROR, when it would
// refuse. INVALID_KERNEL with rule, line and column for text that ptxas would not assemble, INVALID_ARGUMENT for an
// entry that is not there.
CJ_API cj_status cj_contract_check(const cj_contract_query *query,
                                   void (*visit)(void *user, const cj_violation *violation), void *user,
                                   cj_error *error);

// What runs when that launch is not refused: query->shape with `grid` in blocks, also where .blocksareclusters makes a
// launch count clusters; `block` as .reqntid says, for which a launch's 1 x 1 x 1 stands; and the cluster in force,
// {0, 0, 0} without. `limits` is not read. Errors as cj_contract_check, CONTRACT excepted.
// *shape has the size of the query's.
CJ_API cj_status cj_contract_shape(const cj_contract_query *query, cj_launch_shape *shape, cj_error *error);

// Every rule of the contract, in the order in which they are held against a launch.
typedef struct cj_contract_rule {
    const char *id;
    cj_severity severity;
} cj_contract_rule;

CJ_API size_t                  cj_contract_rule_count(void);
CJ_API const cj_contract_rule *cj_contract_rule_at(size_t index);  // NULL after the last

// Limits by name: a target ("sm_90a", as cj_limits_builtin) or a part: "a100", "h100", "h200", "b200", "rtx5090".
// INVALID_ARGUMENT names the nearest.
CJ_API cj_status cj_limits_named(const char *name, cj_limits *limits, cj_error *error);

// The part names in that list, NULL after the last.
CJ_API const char *cj_limits_part(size_t index);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
// The rules are expanded twice: into a quick pass that only finds which are broken, and into their messages.
#include "contract.h"

#include "error.h"
#include "occupancy.h"

// Of ptxas: the fewest registers a thread that it accepts, and the most that an instruction can name.
enum { REGISTERS_LEAST = 24, REGISTERS_MOST = 255, WARPGROUP = 128 };

// ptxas computes %clusterid.x in f32, as the product of %ctaid.x and the reciprocal of the cluster's blocks along x, rounded down: from
// this block on it may be one too large, in clusters of 15; in clusters of 2 from block 2^24 + 3 on.
enum { POSITION_INEXACT = 10186169 };

static bool is_given(cj_dim3 d) { return d.x || d.y || d.z; }
static bool has_zero(cj_dim3 d) { return !d.x || !d.y || !d.z; }
static bool exceeds(cj_dim3 d, cj_dim3 limit) { return d.x > limit.x || d.y > limit.y || d.z > limit.z; }

// `part` has no zero.
static bool divides(cj_dim3 part, cj_dim3 whole) {
    return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

// The number of elements, at most UINT64_MAX.
static uint64_t volume(cj_dim3 d) {
    const uint64_t plane = (uint64_t)d.x * d.y;
    return plane > UINT32_MAX && d.z && plane > UINT64_MAX / d.z ? UINT64_MAX : plane * d.z;
}

cj_dim3 cj__contract_cluster(const cj_contract *contract, cj_dim3 given) {
    return is_given(given) ? given : contract->reqnctapercluster;
}

cj_dim3 cj__contract_block(const cj_contract *contract, cj_dim3 given) {
    return is_given(contract->reqntid) && volume(given) == 1 ? contract->reqntid : given;
}

cj_dim3 cj__contract_grid(const cj_contract *contract, cj_dim3 given, cj_dim3 cluster) {
    if (!contract->blocksareclusters || !is_given(cluster)) return given;
    return (cj_dim3){given.x * cluster.x, given.y * cluster.y, given.z * cluster.z};
}

// ---- predicates of the rules

// PTX for sm_90 runs on compute capability 9.0 and every later one; for a family (sm_100f) on the capabilities of the
// family; with an a (sm_90a) on that capability alone. The CPU device checks instructions, not the target.
static bool runs_on(const cj_contract *kernel, const cj_limits *target) {
    const uint32_t has = target->compute_capability, wants = kernel->target_sm;
    if (!wants || has == wants || target->every_target) return true;
    return has > wants && (!kernel->target_suffix || (kernel->target_suffix == 'f' && has / 10 == wants / 10));
}

static const char *suffix(const cj_contract *kernel) {
    return !kernel->target_suffix ? "" : kernel->target_suffix == 'f' ? "f" : "a";
}

static uint32_t static_limit(const cj_contract *kernel, const cj_limits *target) {
    return kernel->target_suffix == 'a' ? target->shared_per_block_optin : target->shared_per_block;
}

static bool needs_clusters(const cj_contract *kernel) { return kernel->explicitcluster || kernel->uses_clusters; }

// The largest block that the kernel's directives allow; 0 if they do not say.
static uint64_t block_bound(const cj_contract *kernel) {
    return volume(is_given(kernel->reqntid) ? kernel->reqntid : kernel->maxntid);
}

static uint32_t preferred_limit(const cj_contract *kernel, const cj_launch_shape *launch, const cj_limits *target) {
    const uint32_t most = launch->nonportable ? target->max_cluster : target->max_cluster_portable;
    return kernel->maxclusterrank && kernel->maxclusterrank < most ? kernel->maxclusterrank : most;
}

// Whether a grid of so many clusters has more blocks along an axis than a grid may have.
static bool clusters_exceed(cj_dim3 clusters, cj_dim3 cluster, cj_dim3 limit) {
    return (uint64_t)clusters.x * cluster.x > limit.x || (uint64_t)clusters.y * cluster.y > limit.y ||
           (uint64_t)clusters.z * cluster.z > limit.z;
}

static uint32_t largest_gpc(const cj_limits *target) {
    uint32_t largest = 0;
    for (size_t i = 0; i < sizeof target->gpc_sms / sizeof *target->gpc_sms; i++) {
        if (target->gpc_sms[i] > largest) largest = target->gpc_sms[i];
    }
    return largest;
}

// Whether the occupancy of such blocks can be computed; other rules refuse what is beyond a block's own limits.
static bool sane(const cj_limits *target, uint64_t threads, uint64_t shared) {
    return threads && threads <= target->max_threads_per_block && shared <= target->shared_per_block_optin;
}

static cj_occupancy occupancy(const cj_contract *kernel, const cj_limits *target, uint64_t threads, uint64_t blocks,
                              uint64_t shared) {
    const cj_kernel_use use = {.threads = threads, .registers = kernel->registers, .shared = shared, .cluster = blocks};
    cj_occupancy        room;
    cj__occupancy(&use, target, &room);
    return room;
}

static uint64_t active_clusters(const cj_contract *kernel, const cj_launch_shape *launch, const cj_limits *target,
                                uint64_t threads, uint64_t blocks, uint64_t shared) {
    if (launch->active_clusters) return launch->active_clusters;
    return occupancy(kernel, target, threads, blocks, shared).active_clusters;
}

// ---- which rules are broken

// All rows of the table, or one kind; the rows of the other kind keep their bits and are not evaluated.
#define ASK(id, severity, broken, message, remedy) set |= (uint64_t)((broken) != 0) << at++;
#define PASS(id, severity, broken, message, remedy) at++;
#define SET(id, severity, broken, message, remedy) \
    errors |= (uint64_t)(CJ_SEVERITY_##severity == CJ_SEVERITY_ERROR) << at++;
#define COUNT(id, severity, broken, message, remedy) +1

enum {
    RULE_COUNT = 0
#define KERNEL_RULE COUNT
#define LAUNCH_RULE COUNT
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
};
_Static_assert(RULE_COUNT <= 64, "a set of rules is 64 bits");

static uint64_t broken_by_kernel(const cj_contract *kernel, const cj_limits *target) {
    uint64_t set = 0;
    unsigned at = 0;
#define KERNEL_RULE ASK
#define LAUNCH_RULE PASS
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
    (void)at;
    return set;
}

// Short names that the rules on launches use.
#define LAUNCH_SCOPE                                                                  \
    const cj_dim3  cluster = cj__contract_cluster(kernel, launch->cluster);           \
    const cj_dim3  block = cj__contract_block(kernel, launch->block);                 \
    const uint64_t threads = volume(block), blocks = volume(cluster);                 \
    const uint64_t shared = (uint64_t)kernel->static_shared + launch->dynamic_shared; \
    const uint64_t grid = volume(launch->grid) * (kernel->blocksareclusters ? blocks : 1)

static uint64_t broken_by_launch(const cj_contract *kernel, const cj_launch_shape *launch, const cj_limits *target) {
    LAUNCH_SCOPE;
    uint64_t set = 0;
    unsigned at = 0;
#define KERNEL_RULE PASS
#define LAUNCH_RULE ASK
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
    (void)at;
    return set;
}

uint64_t cj__contract_broken(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits) {
    return broken_by_kernel(contract, limits) | broken_by_launch(contract, shape, limits);
}

// The rules that refuse a launch.
static uint64_t errors_of_table(void) {
    uint64_t errors = 0;
    unsigned at = 0;
#define KERNEL_RULE SET
#define LAUNCH_RULE SET
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
    (void)at;
    return errors;
}

// ---- messages

#define DIM(d) (d).x, (d).y, (d).z
#define ULL(value) ((unsigned long long)(value))
#define ROUND_UP(value, unit) (((unsigned long long)(value) + (unit)-1) / (unit) * (unit))
#define UNWRAP(...) __VA_ARGS__

cj_severity cj__contract_explain(unsigned rule, const cj_contract *kernel, const cj_launch_shape *launch,
                                 const cj_limits *target, cj_error *error) {
    LAUNCH_SCOPE;
    cj_occupancy room = {0};
    if (sane(target, threads, shared)) room = occupancy(kernel, target, threads, blocks, shared);
    unsigned at = 0;
#define KERNEL_RULE(id, severity, broken, message, remedy) \
    if (at++ == rule) {                                    \
        cj__fail(error, CJ_CONTRACT, UNWRAP message);      \
        cj__rule(error, id);                               \
        cj__hint(error, UNWRAP remedy);                    \
        return CJ_SEVERITY_##severity;                     \
    }
#define LAUNCH_RULE KERNEL_RULE
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
    return CJ_SEVERITY_WARNING;
}

static unsigned lowest(uint64_t set) {
    unsigned at = 0;
    while (!(set >> at & 1)) at++;
    return at;
}

static cj_status refuse(uint64_t broken, const cj_contract *contract, const cj_launch_shape *shape,
                        const cj_limits *limits, cj_error *error) {
    broken &= errors_of_table();
    if (!broken) return CJ_OK;
    cj__contract_explain(lowest(broken), contract, shape, limits, error);
    return CJ_CONTRACT;
}

cj_status cj__contract_check_kernel(const cj_contract *contract, const cj_limits *limits, cj_error *error) {
    return refuse(broken_by_kernel(contract, limits), contract, &(cj_launch_shape){0}, limits, error);
}

cj_status cj__contract_check_launch(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits,
                                    cj_error *error) {
    return refuse(broken_by_launch(contract, shape, limits), contract, shape, limits, error);
}

cj_status cj__contract_check(const cj_contract *contract, const cj_launch_shape *shape, const cj_limits *limits,
                             cj_error *error) {
    return refuse(cj__contract_broken(contract, shape, limits), contract, shape, limits, error);
}

// ---- the table

size_t cj_contract_rule_count(void) { return RULE_COUNT; }

const cj_contract_rule *cj_contract_rule_at(size_t index) {
    static const cj_contract_rule rules[] = {
#define KERNEL_RULE(id, severity, broken, message, remedy) {id, CJ_SEVERITY_##severity},
#define LAUNCH_RULE KERNEL_RULE
#include "contract.def"
#undef KERNEL_RULE
#undef LAUNCH_RULE
    };
    return index < RULE_COUNT ? &rules[index] : NULL;
}

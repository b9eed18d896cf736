// SPDX-License-Identifier: Apache-2.0
#include "contract.h"

#include "error.h"

static bool is_given(cj_dim3 d) { return d.x || d.y || d.z; }
static bool has_zero(cj_dim3 d) { return !d.x || !d.y || !d.z; }
static bool same(cj_dim3 a, cj_dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
static bool exceeds(cj_dim3 d, cj_dim3 limit) { return d.x > limit.x || d.y > limit.y || d.z > limit.z; }

// The number of elements; UINT64_MAX where x * y alone is beyond any limit, for the product of three may not fit.
static uint64_t volume(cj_dim3 d) {
    uint64_t plane = (uint64_t)d.x * d.y;
    return plane > UINT32_MAX ? UINT64_MAX : plane * d.z;
}

cj_dim3 cj__contract_cluster(const cj_contract *contract, cj_dim3 given) {
    return is_given(given) ? given : contract->reqnctapercluster;
}

#define DIM(d) (d).x, (d).y, (d).z
#define ULL(value) ((unsigned long long)(value))
#define ROUND_UP(value, unit) (((unsigned long long)(value) + (unit) - 1) / (unit) * (unit))
#define UNWRAP(...) __VA_ARGS__

cj_status cj__contract_check(const cj_contract *kernel, const cj_launch_shape *launch, const cj_limits *target,
                             cj_error *error) {
    const cj_dim3  cluster = cj__contract_cluster(kernel, launch->cluster);
    const uint64_t threads = volume(launch->block), blocks = volume(cluster);
    const uint64_t shared = (uint64_t)kernel->static_shared + launch->dynamic_shared;

#define RULE(id, broken, message, remedy)             \
    if (broken) {                                     \
        cj__fail(error, CJ_CONTRACT, UNWRAP message); \
        cj__rule(error, id);                          \
        cj__hint(error, UNWRAP remedy);               \
        return CJ_CONTRACT;                           \
    }
#include "contract.def"
#undef RULE
    return CJ_OK;
}

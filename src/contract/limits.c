// SPDX-License-Identifier: Apache-2.0
// Limits of targets as plain data: CUDA C++ Programming Guide, "Compute Capabilities", and of each capability's data
// centre part (sm_86: A10, sm_87: Jetson AGX Orin, sm_89: L40S, sm_110: Jetson T5000, sm_120: RTX 5090, sm_121: GB10) what differs
// from part to part; the guide has no sm_88, and CCCL's arch_traits.h gives it the limits of sm_86. A target with a suffix (sm_90a, sm_100f) has the limits of its capability.
#include <clusterjit/kernel.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "contract.h"
#include "error.h"

#define KIB(n) ((n) * 1024u)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

// clang-format off
//     target    cc   SMs  threads blocks  opt-in    shared    reserved cluster  cluster  L2        memory
//                         an SM   an SM   a block   an SM     a block  portable maximum
#define TARGETS(X) \
    X("sm_75",    75,  40, 1024,   16,     KIB(64),  KIB(64),  0,       0,       0,       MIB(4),   GIB(16))  \
    X("sm_80",    80, 108, 2048,   32,     KIB(163), KIB(164), KIB(1),  0,       0,       MIB(40),  GIB(80))  \
    X("sm_86",    86,  72, 1536,   16,     KIB(99),  KIB(100), KIB(1),  0,       0,       MIB(6),   GIB(24))  \
    X("sm_87",    87,  16, 1536,   16,     KIB(163), KIB(164), KIB(1),  0,       0,       MIB(4),   GIB(64))  \
    X("sm_88",    88,  72, 1536,   16,     KIB(99),  KIB(100), KIB(1),  0,       0,       MIB(6),   GIB(24))  \
    X("sm_89",    89, 142, 1536,   24,     KIB(99),  KIB(100), KIB(1),  0,       0,       MIB(96),  GIB(48))  \
    X("sm_90",    90, 132, 2048,   32,     KIB(227), KIB(228), KIB(1),  8,      16,       MIB(60),  GIB(140)) \
    X("sm_100",  100, 148, 2048,   32,     KIB(227), KIB(228), KIB(1),  8,      16,       MIB(126), GIB(180)) \
    X("sm_103",  103, 148, 2048,   32,     KIB(227), KIB(228), KIB(1),  8,      16,       MIB(126), GIB(270)) \
    X("sm_110",  110,  20, 1536,   24,     KIB(227), KIB(228), KIB(1),  8,       8,       MIB(32),  GIB(128)) \
    X("sm_120",  120, 170, 1536,   24,     KIB(99),  KIB(100), KIB(1),  8,       8,       MIB(96),  GIB(32))  \
    X("sm_121",  121,  48, 1536,   24,     KIB(99),  KIB(100), KIB(1),  8,       8,       MIB(24),  GIB(128))
// clang-format on

typedef struct target {
    const char *arch;
    cj_limits   limits;
} target;

static const target targets[] = {
#define CJ_X(arch, cc, sms, threads, blocks, optin, shared, reserved, portable, maximum, l2, memory) \
    {arch,                                                                                           \
     {.name = arch " (built in)",                                                                    \
      .compute_capability = (cc),                                                                    \
      .sm_count = (sms),                                                                             \
      .warp_size = 32,                                                                               \
      .max_threads_per_block = 1024,                                                                 \
      .max_block = {1024, 1024, 64},                                                                 \
      .max_grid = {INT32_MAX, 65535, 65535},                                                         \
      .max_threads_per_sm = (threads),                                                               \
      .max_blocks_per_sm = (blocks),                                                                 \
      .registers_per_block = 65536,                                                                  \
      .registers_per_sm = 65536,                                                                     \
      .shared_per_block = KIB(48),                                                                   \
      .shared_per_block_optin = (optin),                                                             \
      .shared_per_sm = (shared),                                                                     \
      .shared_reserved = (reserved),                                                                 \
      .max_cluster_portable = (portable),                                                            \
      .max_cluster = (maximum),                                                                      \
      .l2_bytes = (l2),                                                                              \
      .global_bytes = (memory)}},
    TARGETS(CJ_X)
#undef CJ_X
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

static const char *target_name(const void *user, size_t i) {
    (void)user;
    return i < TARGET_COUNT ? targets[i].arch : NULL;
}

cj_status cj_limits_builtin(const char *arch, const cj_limits **limits, cj_error *error) {
    if (!arch || !limits) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is NULL", arch ? "limits" : "arch");
    const cj_target_info *info = cj__target_find(arch);
    for (size_t i = 0; info && i < TARGET_COUNT; i++) {
        if (targets[i].limits.compute_capability != info->number) continue;
        *limits = &targets[i].limits;
        return CJ_OK;
    }
    cj__fail(error, CJ_INVALID_ARGUMENT, "arch '%.32s' is not a %s", arch,
             info ? "target with built-in limits" : "known target");
    const char *nearest = cj__nearest(arch, target_name, NULL);
    cj__hint(error, "%s%s%sknown targets run from %s to %s", nearest ? "did you mean " : "", nearest ? nearest : "",
             nearest ? "? " : "", targets[0].arch, targets[TARGET_COUNT - 1].arch);
    return CJ_INVALID_ARGUMENT;
}

// Portable PTX runs on its own capability and every later one, so the last row that is not beyond the device is the
// newest.
const char *cj_limits_arch(const cj_limits *limits) {
    const char *newest = targets[0].arch;
    if (!limits) return NULL;
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        if (targets[i].limits.compute_capability <= limits->compute_capability) newest = targets[i].arch;
    }
    return newest;
}

// Counts that plans and the model of occupancy divide by, or by what follows from them.
cj_status cj__limits_check(const cj_limits *limits, cj_error *error) {
    const struct {
        const char *name;
        uint32_t    count;
    } counts[] = {
#define COUNT(name) {#name, limits->name}
        COUNT(warp_size),           COUNT(sm_count),         COUNT(max_threads_per_block), COUNT(max_threads_per_sm),
        COUNT(max_blocks_per_sm),   COUNT(registers_per_sm), COUNT(registers_per_block),   COUNT(shared_per_sm),
        COUNT(shared_per_block),    COUNT(shared_per_block_optin),
#undef COUNT
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        REFUSE_IF(!counts[i].count, "limits: %s is 0" CJ_HINT "begin with those of cj_device_limits, cj_limits_builtin or cj_limits_named", counts[i].name);
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Limits of parts by name: the target's limits and those that the part changes.
#include <stdio.h>
#include <string.h>

#include "contract.h"
#include "error.h"
#include <clusterjit/kernel.h>

#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

// SMs of each GPC of an H200, from a measurement: 132, 66, 30, 15 and 7 clusters of 1, 2, 4, 8 and 16 blocks, one block
// an SM, ran at once. Which SMs are disabled differs between chips, so an opened device is asked instead.
static const struct part {
    const char *name, *title, *target;
    uint32_t    sm_count;
    uint64_t    l2_bytes, global_bytes;
    uint8_t     gpc_sms[16];
} parts[] = {
    {"a100", "NVIDIA A100", "sm_80", 108, MIB(40), GIB(80), {0}},
    {"h100", "NVIDIA H100", "sm_90", 132, MIB(50), GIB(80), {0}},
    {"h200", "NVIDIA H200", "sm_90", 132, MIB(60), GIB(140), {18, 18, 18, 18, 18, 16, 16, 10}},
    {"b200", "NVIDIA B200", "sm_100", 148, MIB(126), GIB(180), {0}},
    {"rtx5090", "NVIDIA RTX 5090", "sm_120", 170, MIB(96), GIB(32), {0}},
};

enum { PART_COUNT = sizeof parts / sizeof *parts };

const char *cj_limits_part(size_t index) { return index < PART_COUNT ? parts[index].name : NULL; }

static const char *part_at(const void *user, size_t i) {
    (void)user;
    return cj_limits_part(i);
}

static cj_status copy_target(const char *target, cj_limits *limits, cj_error *error) {
    const cj_limits *builtin = NULL;
    cj_status        status = cj_limits_builtin(target, &builtin, error);
    if (!status) *limits = *builtin;
    return status;
}

static cj_status copy_part(const struct part *part, cj_limits *limits, cj_error *error) {
    cj_status status = copy_target(part->target, limits, error);
    if (status) return status;
    snprintf(limits->name, sizeof limits->name, "%s (built in)", part->title);
    limits->sm_count = part->sm_count;
    limits->l2_bytes = part->l2_bytes;
    limits->global_bytes = part->global_bytes;
    memcpy(limits->gpc_sms, part->gpc_sms, sizeof limits->gpc_sms);
    return CJ_OK;
}

cj_status cj_limits_named(const char *name, cj_limits *limits, cj_error *error) {
    if (!name || !limits) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is NULL", name ? "limits" : "name");
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (!strcmp(name, parts[i].name)) return copy_part(&parts[i], limits, error);
    }
    cj_status   status = copy_target(name, limits, error);
    const char *nearest = status ? cj__nearest(name, part_at, NULL) : NULL;
    if (nearest) cj__hint(error, "did you mean %s?", nearest);
    return status;
}

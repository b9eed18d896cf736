// SPDX-License-Identifier: Apache-2.0
// Which launch attributes a device supports (CUDA driver API, CUlaunchAttributeID). The launch contract decides whether
// a preferred cluster or a cooperative grid fits.
#include "device.h"

static bool asks_scheduling(const cj_launch_attributes *a) { return a->cluster_scheduling != 0; }
static bool asks_preferred(const cj_launch_attributes *a) {
    return a->preferred_cluster.x || a->preferred_cluster.y || a->preferred_cluster.z;
}
static bool asks_programmatic(const cj_launch_attributes *a) { return a->programmatic; }
static bool asks_domain(const cj_launch_attributes *a) {
    return a->sync_domain || a->sync_domain_map[0] || a->sync_domain_map[1];
}

// What each attribute needs of the GPU and its driver.
static const struct {
    const char *rule, *what;
    bool (*asked)(const cj_launch_attributes *attributes);
    uint32_t capability, driver;
} needs[] = {
    {"launch-scheduling", "a cluster scheduling policy", asks_scheduling, 90, 11080},
    {"launch-preferred-cluster", "a preferred cluster", asks_preferred, 100, 12080},
    {"launch-programmatic", "programmatic dependent launch", asks_programmatic, 90, 11080},
    {"launch-sync-domain", "memory synchronization domains", asks_domain, 90, 12000},
};

static cj_status check_needs(const cj_limits *limits, const cj_launch_attributes *attributes, cj_error *error) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const uint32_t capability = needs[i].capability, driver = needs[i].driver;
        if (!needs[i].asked(attributes)) continue;
        if (limits->compute_capability < capability) {
            cj__fail(error, CJ_CONTRACT, "%s needs compute capability %u.%u; %s has %u.%u", needs[i].what,
                     capability / 10, capability % 10, limits->name, limits->compute_capability / 10,
                     limits->compute_capability % 10);
            cj__hint(error, "leave the attribute 0 on this device");
        } else if (limits->driver_version < driver) {
            cj__fail(error, CJ_CONTRACT, "%s needs a driver for CUDA %u.%u; this one is for %u.%u", needs[i].what,
                     driver / 1000, driver % 1000 / 10, limits->driver_version / 1000,
                     limits->driver_version % 1000 / 10);
            cj__hint(error, "update the driver, or leave the attribute 0");
        } else {
            continue;
        }
        cj__rule(error, needs[i].rule);
        return CJ_CONTRACT;
    }
    return CJ_OK;
}

static cj_status check_priority(const cj_device *device, int priority, cj_error *error) {
    const int least = device->support.priority_least;
    if (priority >= least && priority <= 0) return CJ_OK;
    cj__fail(error, CJ_CONTRACT, "priority is %d; launches on %s have priorities from %d, the most urgent, to 0", priority,
             device->limits.name, least);
    cj__rule(error, "launch-priority");
    cj__hint(error, "choose one of these; 0 is the stream's own");
    return CJ_CONTRACT;
}

static cj_status check_domains(const cj_device *device, const cj_launch_attributes *attributes, cj_error *error) {
    for (int i = 0; i < 2; i++) {
        if (attributes->sync_domain_map[i] < device->support.sync_domains) continue;
        cj__fail(error, CJ_CONTRACT, "sync_domain_map[%d] is %u; %s has %u memory synchronization domains, from 0", i,
                 attributes->sync_domain_map[i], device->limits.name, device->support.sync_domains);
        cj__rule(error, "launch-sync-domain");
        cj__hint(error, "map to a domain that there is; {0, 0} keeps the stream's map");
        return CJ_CONTRACT;
    }
    return CJ_OK;
}

cj_status cj__attributes_check(const cj_device *device, const cj_launch_attributes *attributes, cj_error *error) {
    if ((uint32_t)attributes->cluster_scheduling > CJ_CLUSTER_SCHEDULING_LOAD_BALANCING) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cluster_scheduling is %u; it must be default, spread or load balancing "
                        "(0 to 2)", (uint32_t)attributes->cluster_scheduling);
    }
    if ((uint32_t)attributes->sync_domain > CJ_SYNC_DOMAIN_REMOTE) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "sync_domain is %u; it must be default or remote (0 or 1)",
                        (uint32_t)attributes->sync_domain);
    }
    cj_status status = device->support.in_order ? CJ_OK : check_needs(&device->limits, attributes, error);
    if (!status) status = check_priority(device, attributes->priority, error);
    return status ? status : check_domains(device, attributes, error);
}

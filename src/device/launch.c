// SPDX-License-Identifier: Apache-2.0
// The public launch: checks arguments, contract and attributes, once for both devices. It checks nothing again if the
// shape is the one in which the function was launched last.
#include <clusterjit/gpus.h>
#include <inttypes.h>

#include "device.h"
#include "dump.h"
#include "sized.h"

CJ_COLD static cj_status refuse_count(const cj_launch_config *config, cj_error *error) {
    const cj_ir_func *entry = config->function->entry;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s takes %zu arguments, but %u are given", entry->name, entry->param_count,
             config->argument_count);
    cj__hint(error, "pass one pointer to a value for each .param of the entry");
    return CJ_INVALID_ARGUMENT;
}

CJ_COLD static cj_status refuse_bytes(const cj_launch_config *config, uint32_t i, cj_error *error) {
    const cj_ir_func *entry = config->function->entry;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s: argument %u (%s) has %zu bytes, but its .param has %zu", entry->name, i,
             entry->param[i]->name, config->argument_bytes[i], (size_t)entry->param[i]->bytes);
    cj__hint(error, "pass a variable of the parameter's own type: a device pointer is a cj_ptr");
    return CJ_INVALID_ARGUMENT;
}

CJ_COLD static cj_status refuse_null(const cj_launch_config *config, uint32_t i, cj_error *error) {
    const cj_ir_func *entry = config->function->entry;
    return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: the pointer to argument %u (%s) is NULL", entry->name, i,
                    entry->param[i]->name);
}

static cj_status check_arguments(const cj_launch_config *config, cj_error *error) {
    const cj_function *function = config->function;
    const uint32_t     count = function->param_count;
    if (config->argument_count != count) return refuse_count(config, error);
    if (count) REQUIRE(config->arguments);
    for (uint32_t i = 0; i < count; i++) {
        if (!config->arguments[i]) return refuse_null(config, i, error);
        if (config->argument_bytes && config->argument_bytes[i] != function->param_bytes[i])
            return refuse_bytes(config, i, error);
    }
    return CJ_OK;
}

// Checks a shape in which the function has not been launched against every rule, and prepares the function for it. The
// driver knows best how many blocks of a cooperative grid are resident, but it can only be asked about a shape that
// breaks no other rule.
CJ_COLD static cj_status admit(cj_device *device, const cj_launch_config *config, cj_error *error) {
    cj_function          *function = config->function;
    const cj_device_ops  *ops = device->ops;
    const cj_launch_shape shape = {
        .grid = config->grid,
        .block = config->block,
        .cluster = config->cluster,
        .preferred = config->attributes.preferred_cluster,
        .dynamic_shared = config->dynamic_shared,
        .nonportable = config->nonportable,
        .smem_optin = true,  // the device opts in by itself
        .cooperative = config->attributes.cooperative,
    };
    cj_launch_shape resident = shape;
    resident.cooperative = shape.cooperative && !ops->admit;
    cj_status status = cj__attributes_check(device, &config->attributes, error);
    if (!status) status = cj__contract_check(&function->contract, &resident, &device->limits, error);
    if (status || !ops->admit) return status;
    resident.cooperative = shape.cooperative;
    status = ops->admit(function, &resident, error);
    if (status || !shape.cooperative) return status;
    return cj__contract_check_launch(&function->contract, &resident, &device->limits, error);
}

// Writes only a change, so that threads that launch the same function do not contend for the cache line.
static inline void note_last(cj_device *device, cj_function *function) {
    if (atomic_load_explicit(&device->last, memory_order_relaxed) != function)
        atomic_store_explicit(&device->last, function, memory_order_release);
}

// Refuses what the function cannot be launched with.
static cj_status check(cj_device *device, const cj_launch_config *config, cj_error *error) {
    cj_function *function = config->function;
    if (function->device != device) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s was loaded on another device", function->entry->name);
    }
    cj_status status = check_arguments(config, error);
    if (status) return status;

    const cj_shape_key key = cj__shape_key(config);
    if (!cj__accepted_is(&function->accepted, &key)) {
        status = admit(device, config, error);
        if (!status) cj__accepted_set(&function->accepted, &key);
    }
    return status;
}

static cj_dim3 cluster_of(const cj_launch_config *config) {
    return config->cluster.x ? config->cluster : config->function->cluster;
}

cj_status cj_launch(cj_device *device, const cj_launch_config *config, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_launch_config, config);
    REQUIRE(config->function);
    cj_status status = check(device, config, error);
    if (!status) {
        status = device->ops->launch(device, config, cluster_of(config), error);
        note_last(device, config->function);
    }
    if (status) cj__dump_launch(config, error);
    return status;
}

cj_status cj_launch_together(const cj_launch_config *const *config, uint32_t count, cj_error *error) {
    cj_launch_config all[CJ_TOGETHER_MAX];
    cj_device       *device[CJ_TOGETHER_MAX];
    REQUIRE(config);
    REFUSE_IF(!count || count > CJ_TOGETHER_MAX, "count: %" PRIu32 " launches beside each other, but 1 to %d can be", count,
              CJ_TOGETHER_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const cj_launch_config *one = config[i];
        SIZED(cj_launch_config, one);
        REQUIRE(one->function);
        REFUSE_IF(i && one->function->device->ops != all[0].function->device->ops,
                  "launch %" PRIu32 " is on a device of kind %s, the first on one of kind %s" CJ_HINT
                  "give functions of devices of one kind", i, one->function->device->ops->kind,
                  all[0].function->device->ops->kind);
        all[i] = *one;
        device[i] = one->function->device;
    }
    return cj__launch_together(all, count, device, count, error);
}

// A GPU begins the second launch of a stream when the first has ended, which may wait for the second.
static cj_status refuse_one_stream(const cj_launch_config *config, uint32_t count, cj_error *error) {
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const cj_device *one = config[k].function->device, *other = config[i].function->device;
            REFUSE_IF(config[i].stream == config[k].stream && one->ops->number(one) == other->ops->number(other),
                      "launches %" PRIu32 " and %" PRIu32 " beside each other are on one stream of one GPU" CJ_HINT
                      "give each a stream of its own, one that is not the default stream", k, i);
        }
    return CJ_OK;
}

cj_status cj__launch_together(const cj_launch_config *config, uint32_t count, cj_device *const *device,
                              uint32_t devices, cj_error *error) {
    cj_status status = CJ_OK;
    for (uint32_t i = 0; i < count && !status; i++) status = check(config[i].function->device, &config[i], error);
    const cj_device_ops *ops = config->function->device->ops;
    if (!status && !ops->launch_together) status = refuse_one_stream(config, count, error);
    if (!status && ops->launch_together) status = ops->launch_together(config, count, device, devices, cluster_of(config), error);
    for (uint32_t i = 0; i < count && !status && !ops->launch_together; i++)
        status = ops->launch(config[i].function->device, &config[i], cluster_of(&config[i]), error);
    for (uint32_t i = 0; i < count && !status; i++) note_last(config[i].function->device, config[i].function);
    if (status) cj__dump_launch(config, error);
    return status;
}

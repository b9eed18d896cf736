// SPDX-License-Identifier: Apache-2.0
// The public launch: arguments and contract are checked here, once for both devices.
#include "device.h"

static cj_status check_arguments(const cj_launch_config *config, cj_error *error) {
    const cj_ir_func *entry = config->function->entry;
    if (config->argument_count != entry->param_count) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "%s takes %zu arguments, but %u are given", entry->name,
                 entry->param_count, config->argument_count);
        cj__hint(error, "pass one pointer to a value for each .param of the entry");
        return CJ_INVALID_ARGUMENT;
    }
    if (config->argument_count) REQUIRE(config->arguments);
    for (uint32_t i = 0; i < config->argument_count; i++) {
        if (config->arguments[i]) continue;
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: the pointer to argument %u (%s) is NULL", entry->name, i,
                        entry->param[i]->name);
    }
    return CJ_OK;
}

cj_status cj_launch(cj_device *device, const cj_launch_config *config, cj_error *error) {
    REQUIRE(device);
    REQUIRE(config);
    REQUIRE(config->function);
    const cj_function *function = config->function;
    if (function->module->device != device) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s was loaded on another device", function->entry->name);
    }
    cj_status status = check_arguments(config, error);
    if (status) return status;

    const cj_launch_shape shape = {
        .grid = config->grid,
        .block = config->block,
        .cluster = config->cluster,
        .dynamic_shared = config->dynamic_shared,
        .nonportable = true,  // the device opts in by itself
    };
    status = cj__contract_check(&function->contract, &shape, &device->limits, error);
    if (status) return status;

    cj_launch_config launch = *config;
    launch.cluster = cj__contract_cluster(&function->contract, config->cluster);
    return device->ops->launch(device, &launch, error);
}

// SPDX-License-Identifier: Apache-2.0
// The public calls on memory, modules and launches: what is the same on every device.
#include "device.h"

#include <string.h>

#include "check.h"
#include "error.h"
#include "parse.h"
#include "text.h"

#define REQUIRE(pointer)                                                                               \
    do {                                                                                               \
        if (!(pointer)) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: " #pointer " is 0", __func__); \
    } while (0)

const char      *cj_device_kind(const cj_device *device) { return device->ops->kind; }
const char      *cj_device_name(const cj_device *device) { return device->limits.name; }
const char      *cj_device_reason(const cj_device *device) { return device->reason; }
const cj_limits *cj_device_limits(const cj_device *device) { return &device->limits; }

void cj_device_close(cj_device *device) {
    if (device) device->ops->close(device);
}

cj_status cj_mem_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(device);
    REQUIRE(bytes);
    REQUIRE(memory);
    return device->ops->alloc(device, bytes, memory, error);
}

void cj_mem_free(cj_device *device, cj_ptr memory) {
    if (device && memory) device->ops->free(device, memory);
}

cj_status cj_mem_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                       cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(from);
    REQUIRE(bytes);
    return device->ops->write(device, to, from, bytes, stream, error);
}

cj_status cj_mem_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(from);
    REQUIRE(bytes);
    return device->ops->read(device, to, from, bytes, stream, error);
}

cj_status cj_mem_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(bytes);
    return device->ops->fill(device, to, byte, bytes, stream, error);
}

cj_status cj_module_load(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error) {
    REQUIRE(device);
    REQUIRE(ptx);
    REQUIRE(length);
    REQUIRE(module);
    if (memchr(ptx, '\0', length + 1) != ptx + length) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX text does not end at its length, %zu bytes", length);
    }
    cj_ir_module *ir = NULL;
    cj_module    *loaded = NULL;
    cj_status     status = cj__ir_parse(ptx, length, &ir, error);
    if (!status) status = cj__check(ir, error);
    if (!status) status = device->ops->load(device, ptx, length, ir, &loaded, error);
    if (status) {
        cj__ir_free(ir);
        return status;
    }
    loaded->device = device;
    loaded->ir = ir;
    pthread_mutex_init(&loaded->lock, NULL);
    *module = loaded;
    return CJ_OK;
}

void cj_module_unload(cj_module *module) {
    if (!module) return;
    cj_ir_module *ir = module->ir;
    pthread_mutex_destroy(&module->lock);
    module->device->ops->unload(module);
    cj__ir_free(ir);
}

// The name of the module's i-th entry.
static const char *entry_name(const void *user, size_t i) {
    const cj_ir_module *ir = user;
    for (size_t at = 0; at < ir->item_count; at++) {
        const cj_ir_item *item = &ir->item[at];
        if (item->kind == CJ_ITEM_FUNC && item->func->is_entry && i-- == 0) return item->func->name;
    }
    return NULL;
}

const char *cj_module_entry(const cj_module *module, size_t index) { return entry_name(module->ir, index); }

static cj_status unknown_entry(const cj_ir_module *ir, const char *entry, cj_error *error) {
    cj_text     names = {0};
    const char *name;
    for (size_t i = 0; (name = entry_name(ir, i)) != NULL; i++) cj__text_printf(&names, "%s%s", i ? ", " : "", name);
    cj__fail(error, CJ_INVALID_ARGUMENT, "the module has no entry '%.64s'; its entries: %s", entry,
             names.data ? names.data : "none");
    const char *nearest = cj__nearest(entry, entry_name, ir);
    if (nearest) cj__hint(error, "did you mean %s?", nearest);
    cj__text_free(&names);
    return CJ_INVALID_ARGUMENT;
}

static cj_function *find_function(const cj_module *module, const cj_ir_func *entry) {
    cj_function *function = module->functions;
    while (function && function->entry != entry) function = function->next;
    return function;
}

static cj_status add_function(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    cj_function *made = NULL;
    cj_status    status = module->device->ops->function(module, entry, &made, error);
    if (status) return status;
    made->module = module;
    made->entry = entry;
    cj__contract_of(entry, &made->contract);
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return CJ_OK;
}

cj_status cj_module_function(cj_module *module, const char *entry, cj_function **function, cj_error *error) {
    REQUIRE(module);
    REQUIRE(entry);
    REQUIRE(function);
    const cj_ir_func *func = cj__ir_func(module->ir, entry);
    if (!func || !func->is_entry) return unknown_entry(module->ir, entry, error);

    pthread_mutex_lock(&module->lock);
    cj_function *found = find_function(module, func);
    cj_status    status = found ? CJ_OK : add_function(module, func, &found, error);
    pthread_mutex_unlock(&module->lock);
    if (!status) *function = found;
    return status;
}

static const cj_ir_var *param_at(const cj_function *function, uint32_t index) {
    return index < function->entry->param_count ? function->entry->param[index] : NULL;
}

uint32_t cj_function_param_count(const cj_function *function) { return (uint32_t)function->entry->param_count; }

const char *cj_function_param_name(const cj_function *function, uint32_t index) {
    const cj_ir_var *param = param_at(function, index);
    return param ? param->name : NULL;
}

size_t cj_function_param_bytes(const cj_function *function, uint32_t index) {
    const cj_ir_var *param = param_at(function, index);
    return param ? (size_t)param->bytes : 0;
}

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

cj_status cj_synchronize(cj_device *device, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    return device->ops->synchronize(device, stream, error);
}

cj_status cj_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                  double *milliseconds, cj_error *error) {
    REQUIRE(device);
    REQUIRE(work);
    REQUIRE(milliseconds);
    return device->ops->time(device, stream, work, user, milliseconds, error);
}

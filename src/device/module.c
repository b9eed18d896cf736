// SPDX-License-Identifier: Apache-2.0
// The public calls on modules and functions: PTX is parsed and checked here, so that both devices refuse the same texts
// with the same messages.
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cxx_name.h"
#include "device.h"
#include "dump.h"
#include "entry_name.h"
#include "parse.h"

// Parses and checks the text; free *ir with cj__ir_free.
static cj_status parse(cj_device *device, const char *ptx, size_t length, cj_ir_module **ir, cj_error *error) {
    if (memchr(ptx, '\0', length + 1) != ptx + length) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX text does not end at its length, %zu bytes", length);
    }
    cj_ir_module *parsed = NULL;
    cj_status     status = cj__ir_parse(ptx, length, &parsed, error);
    if (!status) status = cj__check(parsed, error);
    if (status) {
        cj__dump_load(device, NULL, ptx, length, error);
        cj__ir_free(parsed);
        return status;
    }
    *ir = parsed;
    return CJ_OK;
}

cj_status cj__module_make(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                          cj_error *error) {
    cj_module *made = NULL;
    cj_status  status = device->ops->load(device, image, length, ir, &made, error);
    if (status) return status;
    made->device = device;
    made->ir = ir;
    pthread_mutex_init(&made->lock, NULL);
    atomic_fetch_add(&device->modules, 1);
    *module = made;
    return CJ_OK;
}

cj_status cj__module_load(cj_device *device, const char *ptx, size_t length, cj_module_source *other, void *user,
                          cj_module **module, cj_error *error) {
    cj_ir_module *ir = NULL;
    cj_status     status = parse(device, ptx, length, &ir, error);
    if (status) return status;
    cj_module *made = other ? other(user, ir) : NULL;
    if (!made) status = cj__module_make(device, ptx, length, ir, &made, error);
    if (status) {
        cj__dump_load(device, ir, ptx, length, error);
        cj__ir_free(ir);
        return status;
    }
    cj__dump_remember(made, ptx, length);
    *module = made;
    return CJ_OK;
}

cj_status cj_module_from_ptx(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error) {
    REQUIRE(device);
    REQUIRE(ptx);
    REQUIRE(module);
    return cj__module_load(device, ptx, length, NULL, NULL, module, error);
}

void cj_module_unload(cj_module *module) {
    if (!module) return;
    cj_ir_module *ir = module->ir;
    cj_device    *device = module->device;
    cj__dump_forget(module);
    pthread_mutex_destroy(&module->lock);
    device->ops->unload(module);
    cj__ir_free(ir);
    cj__device_drop(device);
}

const char *cj_module_entry(const cj_module *module, size_t index) {
    const cj_ir_func *entry = module ? cj__ir_entry_at(module->ir, index) : NULL;
    return entry ? entry->name : NULL;
}

static cj_function *find_function(const cj_module *module, const cj_ir_func *entry) {
    cj_function *function = module->functions;
    while (function && function->entry != entry) function = function->next;
    return function;
}

// Parameters have at most 32764 bytes in all, so uint16_t suffices.
static const uint16_t *bytes_of_params(cj_ir_module *ir, const cj_ir_func *entry) {
    uint16_t *bytes = cj__arena_alloc(&ir->arena, (entry->param_count + 1) * sizeof *bytes);
    for (size_t i = 0; bytes && i < entry->param_count; i++) bytes[i] = (uint16_t)entry->param[i]->bytes;
    return bytes;
}

static cj_status add_function(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    cj_function    *made = NULL;
    const uint16_t *bytes = bytes_of_params(module->ir, entry);
    if (!bytes) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for function %s", entry->name);
    cj_status status = module->device->ops->function(module, entry, &made, error);
    if (status) return status;
    made->device = module->device;
    made->module = module;
    made->entry = entry;
    const uint32_t registers = made->contract.registers;  // only the device can know it
    cj__contract_of(entry, &made->contract);
    made->contract.registers = registers;
    made->cluster = made->contract.reqnctapercluster;
    made->param_count = (uint32_t)entry->param_count;
    made->param_bytes = bytes;
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return CJ_OK;
}

cj_status cj_module_function(cj_module *module, const char *entry, cj_function **function, cj_error *error) {
    REQUIRE(module);
    REQUIRE(entry);
    REQUIRE(function);
    const cj_ir_func *func;
    cj_status         status = cj__ir_entry_named(module->ir, entry, &func, error);
    if (status) return status;

    pthread_mutex_lock(&module->lock);
    cj_function *found = find_function(module, func);
    status = found ? CJ_OK : add_function(module, func, &found, error);
    pthread_mutex_unlock(&module->lock);
    if (!status) *function = found;
    return status;
}

cj_status cj_module_global(cj_module *module, const char *name, cj_ptr *address, size_t *bytes, cj_error *error) {
    REQUIRE(module);
    REQUIRE(name);
    const cj_ir_var *var;
    cj_ptr           at;
    cj_status        status = cj__ir_global_named(module->ir, name, &var, error);
    if (!status) status = module->device->ops->global(module, var, &at, error);
    if (status) return status;
    if (address) *address = at;
    if (bytes) *bytes = (size_t)var->bytes;
    return CJ_OK;
}

const char *cj_module_global_name(const cj_module *module, size_t index) {
    const cj_ir_var *var = module ? cj__ir_global_at(module->ir, index) : NULL;
    return var ? var->name : NULL;
}

const char *cj_function_source_name(const cj_function *function, char *name, size_t size) {
    if (!function || !name || !size) return NULL;
    if (!cj__cxx_name(function->entry->name, name, size)) snprintf(name, size, "%s", function->entry->name);
    return name;
}

static const cj_ir_var *param_at(const cj_function *function, uint32_t index) {
    return function && index < function->entry->param_count ? function->entry->param[index] : NULL;
}

uint32_t cj_function_param_count(const cj_function *function) {
    return function ? (uint32_t)function->entry->param_count : 0;
}

const char *cj_function_param_name(const cj_function *function, uint32_t index) {
    const cj_ir_var *param = param_at(function, index);
    return param ? param->name : NULL;
}

size_t cj_function_param_bytes(const cj_function *function, uint32_t index) {
    const cj_ir_var *param = param_at(function, index);
    return param ? (size_t)param->bytes : 0;
}

size_t cj_function_param_align(const cj_function *function, uint32_t index) {
    const cj_ir_var *param = param_at(function, index);
    return param ? param->align : 0;
}

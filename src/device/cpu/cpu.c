// SPDX-License-Identifier: Apache-2.0
// The cpu device: what device.h asks of a device, on the host. A launch runs to its end before it returns.
#define _POSIX_C_SOURCE 200809L

#include <clusterjit/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "error.h"
#include "machine.h"

typedef struct cpu_device {
    cj_device     base;
    cj_cpu_memory memory;
} cpu_device;

typedef struct cpu_module {
    cj_module        base;
    cj_cpu_memory   *memory;
    cj_cpu_variable *variable;
    size_t           variable_count;
} cpu_module;

typedef struct cpu_function {
    cj_function     base;
    cj_cpu_program *program;
} cpu_function;

static cj_cpu_memory *memory_of(cj_device *device) { return &((cpu_device *)device)->memory; }

static void cpu_close(cj_device *device) {
    cj__cpu_memory_free(memory_of(device));
    free(device);
}

// ---- memory

static cj_status cpu_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error) {
    return cj__cpu_alloc(memory_of(device), bytes, NULL, memory, error);
}

static void cpu_free(cj_device *device, cj_ptr memory) { cj__cpu_release(memory_of(device), memory); }

// Refuses copies that leave an allocation, as the driver does.
static cj_status check_range(cj_device *device, cj_ptr at, size_t bytes, cj_error *error) {
    cj_cpu_ranges *ranges = cj__cpu_ranges_hold(memory_of(device));
    const bool     inside = cj__cpu_ranges_find(ranges, at, bytes, NULL) != NULL;
    cj__cpu_ranges_drop(memory_of(device), ranges);
    if (inside) return CJ_OK;
    return cj__fail(error, CJ_INVALID_ARGUMENT, "%zu bytes at 0x%llx are not in one allocation of the CPU device",
                    bytes, (unsigned long long)at);
}

static cj_status cpu_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                           cj_error *error) {
    (void)stream;
    cj_status status = check_range(device, to, bytes, error);
    if (!status) memcpy((void *)(uintptr_t)to, from, bytes);
    return status;
}

static cj_status cpu_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error) {
    (void)stream;
    cj_status status = check_range(device, from, bytes, error);
    if (!status) memcpy(to, (const void *)(uintptr_t)from, bytes);
    return status;
}

static cj_status cpu_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error) {
    (void)stream;
    cj_status status = check_range(device, to, bytes, error);
    if (!status) memset((void *)(uintptr_t)to, byte, bytes);
    return status;
}

// ---- modules

static void cpu_unload(cj_module *base) {
    cpu_module *module = (cpu_module *)base;
    for (cj_function *next, *function = base->functions; function; function = next) {
        next = function->next;
        cj__cpu_program_free(((cpu_function *)function)->program);
        free(function);
    }
    for (size_t i = 0; i < module->variable_count; i++) cj__cpu_release(module->memory, module->variable[i].address);
    free(module->variable);
    free(module);
}

static bool takes_memory(const cj_ir_item *item) {
    return item->kind == CJ_ITEM_VAR && (item->var->space == CJ_SPACE_GLOBAL || item->var->space == CJ_SPACE_CONST);
}

// Gives a module's variable its memory, zeroed as PTX has it.
static cj_status add_variable(cpu_module *module, const cj_ir_var *var, cj_error *error) {
    cj_cpu_variable *variable = &module->variable[module->variable_count];
    if (var->initial || var->unsized || !var->bytes) {
        cj__fail(error, CJ_UNSUPPORTED, "%s: the CPU device does not place %s yet", var->name,
                 var->initial ? "initialized variables" : "variables without a size");
        if (error) error->line = var->line;
        return CJ_UNSUPPORTED;
    }
    cj_status status = cj__cpu_alloc(module->memory, var->bytes, var->name, &variable->address, error);
    if (status) return status;
    variable->var = var;
    module->variable_count++;
    memset((void *)(uintptr_t)variable->address, 0, var->bytes);
    return CJ_OK;
}

static cj_status cpu_load(cj_device *device, const char *ptx, size_t length, cj_ir_module *ir, cj_module **module,
                          cj_error *error) {
    (void)ptx, (void)length;
    cj_status   status = CJ_OK;
    cpu_module *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module");
    made->memory = memory_of(device);
    made->variable = calloc(ir->item_count + 1, sizeof *made->variable);
    if (!made->variable) status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module's variables");
    for (size_t i = 0; i < ir->item_count && !status; i++) {
        if (takes_memory(&ir->item[i])) status = add_variable(made, ir->item[i].var, error);
    }
    if (status)
        cpu_unload(&made->base);
    else
        *module = &made->base;
    return status;
}

static cj_status cpu_find_function(cj_module *base, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    const cpu_module *module = (const cpu_module *)base;
    cpu_function     *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for %s", entry->name);
    cj_status status = cj__cpu_prepare(entry, module->variable, module->variable_count, &made->program, error);
    if (status)
        free(made);
    else
        *function = &made->base;
    return status;
}

// ---- launches

static unsigned char *copy_arguments(const cj_cpu_program *program, const cj_launch_config *config) {
    unsigned char    *buffer = calloc(1, program->param_bytes + 1u);
    const cj_ir_func *entry = program->entry;
    for (size_t i = 0; buffer && i < entry->param_count; i++) {
        const cj_cpu_symbol *symbol = cj__cpu_symbol_of(program, entry->param[i]);
        memcpy(buffer + symbol->offset, config->arguments[i], symbol->bytes);
    }
    return buffer;
}

static cj_status cpu_launch(cj_device *device, const cj_launch_config *config, cj_error *error) {
    const cj_cpu_program *program = ((const cpu_function *)config->function)->program;
    const cj_dim3         grid = config->grid, block = config->block;
    const bool            is_cluster = config->cluster.x != 0;
    const cj_dim3         cluster = is_cluster ? config->cluster : (cj_dim3){1, 1, 1};
    const uint32_t        threads = block.x * block.y * block.z;
    unsigned char        *param = copy_arguments(program, config);
    if (!param) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the arguments of %s", program->entry->name);

    cj_cpu_launch launch = {
        .program = program,
        .ranges = cj__cpu_ranges_hold(memory_of(device)),
        .limits = &device->limits,
        .param = param,
        .grid = grid,
        .block = block,
        .cluster = cluster,
        .clusters = {grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z},
        .is_cluster = is_cluster,
        .dynamic_shared = config->dynamic_shared,
        .shared_bytes = config->dynamic_shared ? program->dynamic_offset + config->dynamic_shared
                                               : program->shared_bytes,
        .threads = threads,
        .warps = (threads + CJ_LANES - 1) / CJ_LANES,
        .ranks = cluster.x * cluster.y * cluster.z,
    };
    cj_status status = cj__cpu_run(&launch, error);
    cj__cpu_ranges_drop(memory_of(device), launch.ranges);
    free(param);
    return status;
}

static cj_status cpu_synchronize(cj_device *device, cj_stream stream, cj_error *error) {
    (void)device, (void)stream, (void)error;
    return CJ_OK;
}

static double milliseconds_now(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static cj_status cpu_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error),
                          void *user, double *milliseconds, cj_error *error) {
    (void)device, (void)stream;
    const double start = milliseconds_now();
    cj_status    status = work(user, error);
    *milliseconds = milliseconds_now() - start;
    return status;
}

static const cj_device_ops operations = {
    .kind = "cpu",
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .write = cpu_write,
    .read = cpu_read,
    .fill = cpu_fill,
    .load = cpu_load,
    .unload = cpu_unload,
    .function = cpu_find_function,
    .launch = cpu_launch,
    .synchronize = cpu_synchronize,
    .time = cpu_time,
};

cj_status cj__cpu_open(const cj_device_options *options, cj_device **device, cj_error *error) {
    (void)options;
    const cj_limits *limits;
    cj_status        status = cj_limits_builtin("sm_90", &limits, error);
    if (status) return status;
    cpu_device *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the CPU device");
    status = cj__cpu_memory_init(&made->memory, error);
    if (status) {
        free(made);
        return status;
    }
    made->base.ops = &operations;
    made->base.limits = *limits;  // so that plans are those of an H200
    snprintf(made->base.limits.name, sizeof made->base.limits.name, "CPU device");
    *device = &made->base;
    return CJ_OK;
}

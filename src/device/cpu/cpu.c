// SPDX-License-Identifier: Apache-2.0
// The CPU device: implements device.h on the host. A launch runs to its end before it returns.
#include "system.h"

#include <clusterjit/cpu.h>
#include <clusterjit/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocate.h"
#include "cpu_device.h"
#include "error.h"
#include "hazard.h"
#include "heap.h"
#include "instructions.h"
#include "load.h"
#include "printout.h"
#include "run.h"
#include "special.h"
#include "stats.h"
#include "team.h"
#include "tensor.h"
#include "watch.h"

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

static cj_cpu_memory *memory_of(cj_device *device) { return &((cj_cpu_device *)device)->memory; }

static void free_findings(cj_cpu_findings *findings) {
    if (!findings) return;
    pthread_mutex_destroy(&findings->lock);
    cj__free(findings);
}

static void cpu_close(cj_device *device) {
    cj_cpu_device *cpu = (cj_cpu_device *)device;
    cj__images_free(&cpu->images);
    cj__heap_free(&cpu->memory, cpu->heap);
    cj__cpu_memory_free(&cpu->memory);
    free_findings(cpu->findings);
    cj__free(cpu->line);
    pthread_mutex_destroy(&cpu->lock);
    cj__free(cpu);
}

// ---- memory

static cj_status cpu_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error) {
    return cj__cpu_alloc(memory_of(device), bytes, NULL, memory, error);
}

static cj_status cpu_wrap(cj_device *device, void *host, size_t bytes, cj_ptr *memory, cj_error *error) {
    cj_status status = cj__cpu_wrap(memory_of(device), host, bytes, error);
    if (!status) *memory = (uintptr_t)host;
    return status;
}

static void cpu_free(cj_device *device, cj_ptr memory) { cj__cpu_release(memory_of(device), memory); }

// Refuses copies that leave an allocation, as the driver does. Bytes that the host writes count as initialized.
static cj_status check_range(cj_cpu_memory *memory, cj_ptr at, size_t bytes, bool writes, cj_error *error) {
    cj_cpu_ranges      *ranges = cj__cpu_ranges_hold(memory);
    const cj_cpu_range *range = cj__cpu_ranges_find(ranges, at, bytes, NULL);
    const bool          is_heap = range && range->heap, is_team = range && range->written->team;
    if (range && writes && !is_heap) cj__cpu_written_mark(range, at - range->begin, bytes);
    cj__cpu_ranges_drop(memory, ranges);
    if (is_heap) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "%zu bytes at 0x%llx are of the heap of kernels, which the host cannot reach", bytes,
                 (unsigned long long)at);
        cj__hint(error, "let a kernel copy them to memory of cj_mem_alloc");
        return CJ_INVALID_ARGUMENT;
    }
    REFUSE_IF(is_team, "%zu bytes at 0x%llx are of a multicast object, which has no bytes" CJ_HINT
              "use the memory of each member", bytes, (unsigned long long)at);
    if (range) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%zu bytes at 0x%llx are not in one allocation of the CPU device", bytes,
             (unsigned long long)at);
    cj__hint(error, "memory of the device is that of cj_mem_alloc, or of the host's after cj_mem_wrap");
    return CJ_INVALID_ARGUMENT;
}

static cj_status cpu_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                           cj_error *error) {
    (void)stream;
    cj_status status = check_range(memory_of(device), to, bytes, true, error);
    if (!status) memcpy((void *)(uintptr_t)to, from, bytes);
    return status;
}

static cj_status cpu_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error) {
    (void)stream;
    cj_status status = check_range(memory_of(device), from, bytes, false, error);
    if (!status) memcpy(to, (const void *)(uintptr_t)from, bytes);
    return status;
}

static cj_status cpu_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error) {
    (void)stream;
    cj_status status = check_range(memory_of(device), to, bytes, true, error);
    if (!status) memset((void *)(uintptr_t)to, byte, bytes);
    return status;
}

// ---- modules

static void cpu_unload(cj_module *base) {
    cpu_module *module = (cpu_module *)base;
    for (cj_function *next, *function = base->functions; function; function = next) {
        next = function->next;
        cj__cpu_program_free(((cpu_function *)function)->program);
        cj__free(function);
    }
    for (size_t i = 0; i < module->variable_count; i++) cj__cpu_release(module->memory, module->variable[i].address);
    cj__free(module->variable);
    cj__free(module);
}

// A variable without a size belongs to another module: a kernel that uses it is refused with that reason.
static bool takes_memory(const cj_ir_var *var) {
    return (var->space == CJ_SPACE_GLOBAL || var->space == CJ_SPACE_CONST) && !var->unsized && var->bytes;
}

// Calls `each` for the variables of an item, those in a function's body included, until it fails.
static cj_status each_variable(cpu_module *module, const cj_ir_item *item, cj_error *error,
                               cj_status (*each)(cpu_module *module, const cj_ir_var *var, cj_error *error)) {
    cj_status status = CJ_OK;
    if (item->kind == CJ_ITEM_VAR) return takes_memory(item->var) ? each(module, item->var, error) : CJ_OK;
    const cj_ir_func *func = item->kind == CJ_ITEM_FUNC ? item->func : NULL;
    for (size_t i = 0; func && i < func->var_count && !status; i++) {
        if (takes_memory(func->var[i])) status = each(module, func->var[i], error);
    }
    return status;
}

static cj_status count_variable(cpu_module *module, const cj_ir_var *var, cj_error *error) {
    (void)var, (void)error;
    module->variable_count++;
    return CJ_OK;
}

// Gives a module's variable its memory, with its initial bytes and zeros after them.
static cj_status add_variable(cpu_module *module, const cj_ir_var *var, cj_error *error) {
    cj_cpu_variable *variable = &module->variable[module->variable_count];
    cj_status        status = cj__cpu_alloc(module->memory, var->bytes, var->name, &variable->address, error);
    if (status) return status;
    variable->var = var;
    module->variable_count++;
    unsigned char *at = (unsigned char *)(uintptr_t)variable->address;
    memset(at, 0, var->bytes);
    if (var->data_bytes) memcpy(at, var->data, var->data_bytes);
    return check_range(module->memory, variable->address, var->bytes, true, error);
}

// The address for a relocation. An offset in shared, local or parameter space is known only within an entry.
static cj_status address_of(const cpu_module *module, const cj_ir_reloc *reloc, uint64_t *address, cj_error *error) {
    if (reloc->func) {
        *address = cj__cpu_function_address(reloc->func);
        return CJ_OK;
    }
    for (size_t i = 0; i < module->variable_count; i++) {
        if (module->variable[i].var != reloc->var) continue;
        *address = module->variable[i].address;
        return CJ_OK;
    }
    return cj__fail(error, CJ_UNSUPPORTED, "the CPU device has no address of %s before a launch", reloc->var->name);
}

// Writes the addresses into a variable's initial bytes.
static cj_status relocate(const cpu_module *module, const cj_cpu_variable *variable, cj_error *error) {
    cj_status status = CJ_OK;
    for (size_t i = 0; i < variable->var->reloc_count && !status; i++) {
        const cj_ir_reloc *reloc = &variable->var->reloc[i];
        uint64_t           address = 0;
        status = address_of(module, reloc, &address, error);
        address = (address + (uint64_t)reloc->addend) >> reloc->shift;
        if (!status) memcpy((unsigned char *)(uintptr_t)(variable->address + reloc->offset), &address, reloc->bytes);
        if (status && error) error->line = variable->var->line;
    }
    return status;
}

static cj_status cpu_load(cj_device *device, const char *ptx, size_t length, cj_ir_module *ir, cj_module **module,
                          cj_error *error) {
    (void)ptx, (void)length;
    cj_status   status = CJ_OK;
    cpu_module *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module");
    made->memory = memory_of(device);
    for (size_t i = 0; i < ir->item_count; i++) each_variable(made, &ir->item[i], NULL, count_variable);
    made->variable = cj__calloc(made->variable_count + 1, sizeof *made->variable);
    made->variable_count = 0;
    if (!made->variable) status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module's variables");
    for (size_t i = 0; i < ir->item_count && !status; i++)
        status = each_variable(made, &ir->item[i], error, add_variable);
    for (size_t i = 0; i < made->variable_count && !status; i++) status = relocate(made, &made->variable[i], error);
    if (status)
        cpu_unload(&made->base);
    else
        *module = &made->base;
    return status;
}

static cj_status cpu_find_function(cj_module *base, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    const cpu_module *module = (const cpu_module *)base;
    cpu_function     *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for %s", entry->name);
    cj_status status = cj__cpu_prepare(entry, module->variable, module->variable_count, &cj__cpu_instructions,
                                       &made->program, error);
    if (status)
        cj__free(made);
    else
        *function = &made->base;
    return status;
}

static cj_status cpu_find_global(cj_module *base, const cj_ir_var *var, cj_ptr *address, cj_error *error) {
    return address_of((const cpu_module *)base, &(cj_ir_reloc){.var = var}, address, error);
}

// ---- launches

static unsigned char *copy_arguments(const cj_cpu_program *program, const cj_launch_config *config) {
    unsigned char    *buffer = cj__calloc(1, program->param_bytes + 1u);
    const cj_ir_func *entry = program->entry;
    for (size_t i = 0; buffer && i < entry->param_count; i++) {
        const cj_cpu_symbol *symbol = cj__cpu_symbol_of(program, entry->param[i]);
        memcpy(buffer + symbol->offset, config->arguments[i], symbol->bytes);
    }
    return buffer;
}

// Makes the state that watches and counts the launch; NULL for what is not asked for. release_launch frees it.
static cj_status equip_launch(cj_cpu_launch *launch, cj_error *error) {
    launch->findings = cj__calloc(1, sizeof *launch->findings);
    if (launch->findings) {
        launch->findings->module = launch->program->entry->module;
        pthread_mutex_init(&launch->findings->lock, NULL);
    }
    if (launch->options.stats) launch->counts = cj__stats_new(launch->program);
    if (!launch->findings || (launch->options.stats && !launch->counts)) {
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to launch %s", launch->program->entry->name);
    }
    if (launch->program->prints) launch->prints = cj__prints_new();
    if (launch->program->prints && !launch->prints)
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for what %s prints", launch->program->entry->name);
    return launch->options.hazards ? cj__watch_open(launch, error) : CJ_OK;
}

// Stores the findings as those of the device's last launch, and adds the counts to those of earlier launches.
static void keep_results(cj_cpu_device *device, cj_cpu_launch *launch, uint64_t instructions, double seconds) {
    pthread_mutex_lock(&device->lock);
    cj_cpu_findings *before = device->findings;
    device->findings = launch->findings;
    device->stats.seconds += seconds;
    if (launch->counts) {
        cj__stats_sum(launch->program, launch->counts, &device->stats);
        cj__free(device->line);
        device->line = cj__stats_lines(launch->program, launch->counts, &device->line_count);
    } else {
        device->stats.thread_instructions += instructions;
    }
    pthread_mutex_unlock(&device->lock);
    free_findings(before);
}

static double milliseconds_now(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// The launch's verdict. If watching ran out of memory, its findings may be wrong, so there is no verdict.
static cj_status judge(const cj_cpu_launch *launch, cj_error *error) {
    if (!launch->watch || !cj__watch_starved) return cj__cpu_findings_error(launch->findings, error);
    cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to watch %s to its end", launch->program->entry->name);
    cj__hint(error, "free host memory, watch a smaller grid, or run without hazards");
    return CJ_OUT_OF_MEMORY;
}

static cj_status run_launch(cj_cpu_device *device, cj_cpu_launch *launch, cj_error *error) {
    const double start = milliseconds_now();
    uint64_t     instructions = 0;
    cj_status    status = equip_launch(launch, error);
    if (!status) status = cj__cpu_run(launch, &instructions, error);
    cj__prints_show(launch->prints, &launch->options);
    if (!status || status == CJ_HAZARD) status = judge(launch, error);
    if (status == CJ_UNSUPPORTED) status = cj__cpu_unsupported_error(launch->findings, error);
    if (!launch->watch) cj__cpu_written_mark_all(launch->ranges);
    cj__watch_close(launch);
    if (launch->findings) keep_results(device, launch, instructions, (milliseconds_now() - start) * 1e-3);
    cj__free(launch->counts);
    return status;
}

// ---- cooperative grids
//
// CUDA C++'s cooperative_groups::this_grid().sync() is code of the kernel, on memory that the driver gives each
// cooperative launch: %envreg1 and %envreg2 are the upper and lower half of its address, 0 in other launches, in which
// the kernel traps. The first word is its size; blocks count their arrivals in the second, whose highest bit flips when
// all have arrived.

enum { WORKSPACE_BYTES = 64 };

static bool asks_for_workspace(const cj_cpu_program *program) {
    for (size_t i = 0; i < program->fixed_count; i++) {
        const cj_special special = program->fixed[i].special;
        if (special == CJ_S_ENVREG1 || special == CJ_S_ENVREG2) return true;
    }
    return false;
}

static cj_status make_workspace(cj_device *device, const cj_launch_config *config, cj_ptr *workspace, cj_error *error) {
    static const uint32_t words[WORKSPACE_BYTES / 4] = {WORKSPACE_BYTES};
    *workspace = 0;
    if (!config->attributes.cooperative || !asks_for_workspace(((const cpu_function *)config->function)->program))
        return CJ_OK;
    cj_status status = cj__cpu_alloc(memory_of(device), sizeof words, "the grid's workspace", workspace, error);
    return status ? status : cpu_write(device, *workspace, words, sizeof words, NULL, error);
}

// Makes the memory that a launch needs besides its own: the heap, at the first launch of a program that allocates or frees, and
// the grid's workspace.
static cj_status make_memory(cj_cpu_device *device, const cj_launch_config *config, cj_ptr *workspace,
                             cj_error *error) {
    cj_status status = CJ_OK;
    if (((const cpu_function *)config->function)->program->allocates) {
        pthread_mutex_lock(&device->lock);
        if (!device->heap) status = cj__heap_new(&device->memory, device->options.heap_bytes, &device->heap, error);
        pthread_mutex_unlock(&device->lock);
    }
    return status ? status : make_workspace(&device->base, config, workspace, error);
}

// The launch of one device, without arguments and memory.
static cj_status shape_launch(cj_cpu_device *cpu, const cj_launch_config *config, cj_dim3 given, cj_cpu_launch *launch,
                              cj_error *error) {
    const cj_cpu_program *program = ((const cpu_function *)config->function)->program;
    const cj_dim3         grid = cj__contract_grid(&config->function->contract, config->grid, given);
    const cj_dim3         block = cj__contract_block(&config->function->contract, config->block);
    const cj_dim3         cluster = given.x ? given : (cj_dim3){1, 1, 1};
    const uint32_t        threads = block.x * block.y * block.z;
    const uint32_t        dynamic = config->dynamic_shared;
    const uint64_t        shared = dynamic ? (uint64_t)program->dynamic_offset + dynamic : program->shared_bytes;
    if (shared > cpu->base.limits.shared_per_block_optin) {
        return cj__fail(error, CJ_CONTRACT, "%s and what it may call declare %llu B of shared memory; a block has %u B",
                        program->entry->name, (unsigned long long)shared, cpu->base.limits.shared_per_block_optin);
    }
    *launch = (cj_cpu_launch){
        .program = program,
        .limits = &cpu->base.limits,
        .gpus = 1,
        .grid = grid,
        .block = block,
        .cluster = cluster,
        .clusters = {grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z},
        .is_cluster = given.x != 0,
        .cooperative = config->attributes.cooperative,
        .dynamic_shared = dynamic,
        .shared_bytes = (uint32_t)shared,
        .local_bytes = program->local_bytes + (program->stack_grows ? cpu->options.stack_bytes : 0),
        .threads = threads,
        .warps = (threads + CJ_LANES - 1) / CJ_LANES,
        .ranks = cluster.x * cluster.y * cluster.z,
        .images = &cpu->images,
        .options = cpu->options,
    };
    cj__cpu_reserve(launch);
    return CJ_OK;
}

static cj_status cpu_launch(cj_device *device, const cj_launch_config *config, cj_dim3 given, cj_error *error) {
    cj_cpu_device *cpu = (cj_cpu_device *)device;
    cj_cpu_launch  launch;
    cj_cpu_hold    hold = {0};
    TRY(shape_launch(cpu, config, given, &launch, error));
    TRY(make_memory(cpu, config, &launch.workspace, error));
    unsigned char *param = copy_arguments(launch.program, config);
    cj_status      status = param ? cj__team_hold((cj_cpu_memory *[]){&cpu->memory}, 1, &hold, error)
                                  : cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the arguments of %s",
                                             launch.program->entry->name);
    launch.param = (const unsigned char *const[]){param};
    launch.heap = cpu->heap;
    launch.ranges = hold.all;
    if (!status) status = run_launch(cpu, &launch, error);
    cj__team_drop(&hold);
    cpu_free(device, launch.workspace);
    cj__free(param);
    return status;
}

// ---- launches of several devices beside each other
//
// They become one launch, whose clusters are those of all devices in turn: so each device's first clusters begin together, and
// one that waits for a peer leaves its host thread to others. Each cluster has its device's arguments, and all memory is reached.

static cj_status cpu_reach(cj_device *device, cj_device *peer, cj_error *error) {
    (void)device, (void)peer, (void)error;
    return CJ_OK;
}

static cj_status cpu_locate(cj_device *device, cj_ptr memory, size_t bytes, cj_ptr *base, cj_error *error) {
    cj_cpu_memory *all = memory_of(device);
    TRY(check_range(all, memory, bytes, false, error));
    cj_cpu_ranges *ranges = cj__cpu_ranges_hold(all);
    *base = cj__cpu_ranges_find(ranges, memory, bytes, NULL)->begin;
    cj__cpu_ranges_drop(all, ranges);
    return CJ_OK;
}

static cj_status cpu_settle(cj_device *device, cj_error *error) {
    (void)device, (void)error;
    return CJ_OK;
}

// What makes two programs the same for such a launch: the ops, at the same lines.
static bool is_same_program(const cj_cpu_program *a, const cj_cpu_program *b) {
    bool is_same = a->op_count == b->op_count && a->param_bytes == b->param_bytes && a->file_bytes == b->file_bytes;
    for (size_t i = 0; i < a->op_count && is_same; i++)
        is_same = a->op[i].run == b->op[i].run && a->op[i].line == b->op[i].line;
    return is_same;
}

static bool is_same_shape(const cj_launch_config *a, const cj_launch_config *b) {
    return !memcmp(&a->grid, &b->grid, sizeof a->grid) && !memcmp(&a->block, &b->block, sizeof a->block) &&
           !memcmp(&a->cluster, &b->cluster, sizeof a->cluster) && a->dynamic_shared == b->dynamic_shared;
}

static cj_status check_together(const cj_launch_config *config, uint32_t count, cj_error *error) {
    const cj_cpu_program *first = ((const cpu_function *)config[0].function)->program;
    const cj_module      *module = config[0].function->module;
    if (((const cpu_module *)module)->variable_count || first->allocates || asks_for_workspace(first))
        return cj__fail(error, CJ_UNSUPPORTED,
                        "%s has global variables, allocates memory, or waits for its grid: CPU devices launch no such "
                        "kernel beside each other" CJ_HINT "pass memory of each device as an argument",
                        first->entry->name);
    for (uint32_t i = 1; i < count; i++) {
        if (!is_same_program(first, ((const cpu_function *)config[i].function)->program))
            return cj__fail(error, CJ_UNSUPPORTED,
                            "device %u launches %s, device 0 %s of another text: CPU devices run one kernel beside each "
                            "other" CJ_HINT "load the same text on each", i, config[i].function->entry->name,
                            first->entry->name);
        if (!is_same_shape(&config[0], &config[i]))
            return cj__fail(error, CJ_UNSUPPORTED,
                            "device %u launches %s with another grid, block, cluster or shared memory than device 0" CJ_HINT
                            "give all devices the same", i, first->entry->name);
    }
    return CJ_OK;
}

static cj_status cpu_launch_together(const cj_launch_config *config, uint32_t count, cj_device *const *device,
                                     uint32_t devices, cj_dim3 given, cj_error *error) {
    cj_cpu_device *cpu = (cj_cpu_device *)config[0].function->device;
    cj_cpu_memory *memory[CJ_TOGETHER_MAX];
    unsigned char *param[CJ_TOGETHER_MAX];
    cj_cpu_launch  launch;
    cj_cpu_hold    hold = {0};
    TRY(check_together(config, count, error));
    TRY(shape_launch(cpu, &config[0], given, &launch, error));
    bool whole = true;
    for (uint32_t i = 0; i < devices; i++) memory[i] = memory_of(device[i]);
    for (uint32_t i = 0; i < count; i++) {
        param[i] = copy_arguments(launch.program, &config[i]);
        whole = whole && param[i];
    }
    cj_status status = whole ? cj__team_hold(memory, devices, &hold, error)
                             : cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the arguments of %s",
                                        launch.program->entry->name);
    launch.gpus = count;
    launch.param = (const unsigned char *const *)param;
    launch.ranges = hold.all;
    if (!status) status = run_launch(cpu, &launch, error);
    cj__team_drop(&hold);
    for (uint32_t i = 0; i < count; i++) cj__free(param[i]);
    return status;
}

static cj_status cpu_synchronize(cj_device *device, cj_stream stream, cj_error *error) {
    (void)device, (void)stream, (void)error;
    return CJ_OK;
}

static cj_status cpu_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error),
                          void *user, double *milliseconds, cj_error *error) {
    (void)device, (void)stream;
    const double start = milliseconds_now();
    cj_status    status = work(user, error);
    *milliseconds = milliseconds_now() - start;
    return status;
}

// There is no graph: the work runs as many times as a graph would be replayed.
static cj_status cpu_time_graph(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                                void *user, uint32_t repeat, double *milliseconds, cj_error *error) {
    (void)device;
    cj_status    status = work(user, NULL, error);
    const double start = milliseconds_now();
    for (uint32_t i = 0; i < repeat && !status; i++) status = work(user, NULL, error);
    if (!status) *milliseconds = (milliseconds_now() - start) / repeat;
    return status;
}

const cj_device_ops cj__cpu_operations = {
    .kind = "cpu",
    .close = cpu_close,
    .alloc = cpu_alloc,
    .wrap = cpu_wrap,
    .free = cpu_free,
    .write = cpu_write,
    .read = cpu_read,
    .fill = cpu_fill,
    .load = cpu_load,
    .unload = cpu_unload,
    .function = cpu_find_function,
    .global = cpu_find_global,
    .launch = cpu_launch,
    .launch_together = cpu_launch_together,
    .reach = cpu_reach,
    .locate = cpu_locate,
    .settle = cpu_settle,
    .synchronize = cpu_synchronize,
    .time = cpu_time,
    .time_graph = cpu_time_graph,
    .encode_tensor = cj__cpu_tensor_encode,
};

static uint64_t host_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : UINT64_MAX;
}

cj_status cj__cpu_open(const cj_device_options *options, cj_device **device, cj_error *error) {
    (void)options;
    const cj_limits *limits;
    cj_status        status = cj_limits_builtin("sm_90", &limits, error);
    if (status) return status;
    cj_cpu_device *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the CPU device");
    status = cj__cpu_memory_init(&made->memory, &made->base.limits, error);
    if (status) {
        cj__free(made);
        return status;
    }
    pthread_mutex_init(&made->lock, NULL);
    cj__images_init(&made->images);
    cj__cpu_complete(&made->options);
    made->base.ops = &cj__cpu_operations;
    made->base.limits = *limits;  // so that plans are those of an H200
    made->base.limits.every_target = true;
    made->base.support = (cj_launch_support){.in_order = true, .priority_least = -5, .sync_domains = 4};
    if (made->base.limits.global_bytes > host_bytes()) made->base.limits.global_bytes = host_bytes();
    snprintf(made->base.limits.name, sizeof made->base.limits.name, "CPU device");
    *device = &made->base;
    return CJ_OK;
}

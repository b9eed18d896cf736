// SPDX-License-Identifier: Apache-2.0
// exec: runs an entry of any PTX file, with arguments from the command line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "argument.h"
#include "command.h"
#include "finding.h"
#include "machine.h"
#include "message.h"
#include "output.h"

enum { ARGUMENTS_MAX = 32, OUTPUTS_MAX = 32 };

// What is to be done with an argument's buffer afterwards.
typedef struct wanted {
    unsigned    index;
    uint64_t    count;  // elements to print
    const char *path;   // file to write; NULL: print
} wanted;

typedef struct exec_options {
    const char     *path, *entry, *device;
    cj_dim3         grid, block, cluster;
    unsigned        shared;
    argument        argument[ARGUMENTS_MAX];
    unsigned        argument_count;
    wanted          wanted[OUTPUTS_MAX];
    unsigned        wanted_count;
    machine_options machine;
} exec_options;

enum {
    KEY_ENTRY = ARGS_LONG_ONLY, KEY_GRID, KEY_BLOCK, KEY_CLUSTER, KEY_SMEM, KEY_ARG, KEY_PRINT, KEY_DUMP, KEY_DEVICE
};

static const struct argp_option options[] = {
    {.name = "entry", .key = KEY_ENTRY, .arg = "NAME", .doc = "The kernel (default: the file's only one)"},
    {.name = "grid", .key = KEY_GRID, .arg = "X[,Y,Z]", .doc = "Blocks in the grid (default 1)"},
    {.name = "block", .key = KEY_BLOCK, .arg = "X[,Y,Z]", .doc = "Threads a block (default 1)"},
    {.name = "cluster", .key = KEY_CLUSTER, .arg = "X[,Y,Z]", .doc = "Blocks a cluster (default: as the kernel says)"},
    {.name = "smem", .key = KEY_SMEM, .arg = "BYTES", .doc = "Dynamic shared memory a block (default 0)"},
    {.name = "arg", .key = KEY_ARG, .arg = "ARGUMENT", .doc = "The next argument: " ARGUMENT_HELP},
    {.name = "print", .key = KEY_PRINT, .arg = "I[:COUNT]", .doc = "Print argument I's buffer afterwards, on one line"},
    {.name = "dump", .key = KEY_DUMP, .arg = "I=FILE", .doc = "Write argument I's buffer to FILE afterwards, raw"},
    {.name = "device", .key = KEY_DEVICE, .arg = "cpu|gpu|gpu:N|auto", .doc = "Where to run (default cpu)"},
    MACHINE_OPTIONS,
    {0},
};

static int read_dim3(const char *option, const char *text, cj_dim3 *to) {
    uint32_t    value[3] = {1, 1, 1};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*at < '0' || *at > '9') break;
        unsigned long long number = strtoull(at, &end, 10);
        if (number > UINT32_MAX) break;
        value[i] = (uint32_t)number;
        at = end;
        if (*at != ',' || i == 2) break;
        at++;
    }
    if (*at || at == text || at[-1] == ',')
        return message_error(CJ_INVALID_ARGUMENT, "%s is '%s'; it is one to three whole numbers, X[,Y,Z]", option, text);
    *to = (cj_dim3){value[0], value[1], value[2]};
    return CODE_OK;
}

static int add_argument(exec_options *o, const char *text) {
    if (o->argument_count == ARGUMENTS_MAX)
        return message_error(CJ_INVALID_ARGUMENT, "more than %d arguments", ARGUMENTS_MAX);
    return argument_parse(text, &o->argument[o->argument_count++]);
}

// I, I:COUNT or I=FILE; what I is can be told only when all arguments are known.
static int add_wanted(exec_options *o, const char *option, const char *text, char separator) {
    char  *end;
    wanted w = {.count = UINT64_MAX};
    if (o->wanted_count == OUTPUTS_MAX)
        return message_error(CJ_INVALID_ARGUMENT, "more than %d of --print and --dump", OUTPUTS_MAX);
    unsigned long index = strtoul(text, &end, 10);
    bool          ok = *text >= '0' && *text <= '9' && index < ARGUMENTS_MAX;
    if (ok && separator == '=') ok = *end == '=' && end[1], w.path = end + 1;
    else if (ok && *end == ':') w.count = strtoull(end + 1, &end, 10), ok = !*end && w.count;
    else ok = ok && !*end;
    if (!ok) return message_error(CJ_INVALID_ARGUMENT, "%s is '%s'; it is %s", option, text,
                                  separator == '=' ? "I=FILE" : "I or I:COUNT");
    w.index = (unsigned)index;
    o->wanted[o->wanted_count++] = w;
    return CODE_OK;
}

static int set(void *user, int key, char *value) {
    exec_options *o = user;
    switch (key) {
    case KEY_ENTRY: o->entry = value; return CODE_OK;
    case KEY_GRID: return read_dim3("--grid", value, &o->grid);
    case KEY_BLOCK: return read_dim3("--block", value, &o->block);
    case KEY_CLUSTER: return read_dim3("--cluster", value, &o->cluster);
    case KEY_SMEM: o->shared = args_number("--smem", value, 0, UINT32_MAX); return CODE_OK;
    case KEY_ARG: return add_argument(o, value);
    case KEY_PRINT: return add_wanted(o, "--print", value, ':');
    case KEY_DUMP: return add_wanted(o, "--dump", value, '=');
    case KEY_DEVICE: o->device = value; return CODE_OK;
    default: machine_set(&o->machine, key, value); return CODE_OK;
    }
}

static int take(void *user, char *word) {
    exec_options *o = user;
    if (o->path) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one file too many", word);
    o->path = word;
    return CODE_OK;
}

static const args_spec spec = {
    .doc = "Runs an entry of a PTX file ('-' is standard input) on the CPU device or on a GPU. Exits 1 when a hazard was found.",
    .options = options,
    .set = set,
    .words = "FILE",
    .take = take,
};

static int check_wanted(const exec_options *o) {
    for (unsigned i = 0; i < o->wanted_count; i++) {
        unsigned index = o->wanted[i].index;
        if (index >= o->argument_count)
            return message_error(CJ_INVALID_ARGUMENT, "there is no argument %u: %u are given, counted from 0", index,
                                 o->argument_count);
        if (!o->argument[index].is_buffer)
            return message_error(CJ_INVALID_ARGUMENT, "argument %u, '%s', is no buffer", index, o->argument[index].text);
    }
    return CODE_OK;
}

static int find_function(const exec_options *o, cj_module *module, cj_function **function) {
    cj_error    error;
    const char *name = o->entry ? o->entry : cj_module_entry(module, 0);
    if (!name) return message_error(CJ_INVALID_KERNEL, "'%s' has no entry", o->path);
    if (!o->entry && cj_module_entry(module, 1))
        return message_error(CJ_INVALID_ARGUMENT, "'%s' has several entries\nname one with --entry: %s, %s, …", o->path, name,
                             cj_module_entry(module, 1));
    return cj_module_function(module, name, function, &error) ? message_failure(&error) : CODE_OK;
}

// The arguments against the entry's parameters: as many, and of the same sizes.
static int check_arguments(const exec_options *o, const cj_function *function) {
    uint32_t count = cj_function_param_count(function);
    if (o->argument_count != count)
        return message_error(CJ_INVALID_ARGUMENT, "the entry takes %u arguments, %u are given\ngive one --arg for each", count,
                             o->argument_count);
    for (uint32_t i = 0; i < count; i++) {
        const argument *a = &o->argument[i];
        size_t          given = a->is_buffer ? sizeof a->memory : argument_bytes(a), wants = cj_function_param_bytes(function, i);
        if (given != wants)
            return message_error(CJ_INVALID_ARGUMENT, "argument %u, '%s', has %zu bytes; the parameter %s has %zu", i, a->text,
                                 given, cj_function_param_name(function, i), wants);
    }
    return CODE_OK;
}

static int upload(exec_options *o, cj_device *device) {
    cj_error error;
    for (unsigned i = 0; i < o->argument_count; i++) {
        argument *a = &o->argument[i];
        if (!a->is_buffer) continue;
        if (cj_mem_alloc(device, argument_bytes(a), &a->memory, &error) ||
            cj_mem_write(device, a->memory, a->bytes, argument_bytes(a), NULL, &error))
            return message_failure(&error);
    }
    return CODE_OK;
}

static int launch(exec_options *o, cj_device *device, document *ptx, cj_function *function) {
    void    *value[ARGUMENTS_MAX];
    cj_error error;
    for (unsigned i = 0; i < o->argument_count; i++) {
        argument *a = &o->argument[i];
        value[i] = a->is_buffer ? (void *)&a->memory : a->bytes;
    }
    cj_launch_config config = {.function = function, .grid = o->grid, .block = o->block, .cluster = o->cluster,
                               .dynamic_shared = o->shared, .arguments = value, .argument_count = o->argument_count};
    cj_status status = cj_launch(device, &config, &error);
    if (!status) status = cj_synchronize(device, NULL, &error);
    int code = machine_report(device, ptx, status, &error);
    machine_stats(&o->machine, device);
    return code;
}

static int show(exec_options *o, cj_device *device) {
    cj_error error;
    for (unsigned i = 0; i < o->wanted_count; i++) {
        const wanted *w = &o->wanted[i];
        argument     *a = &o->argument[w->index];
        if (cj_mem_read(device, a->bytes, a->memory, argument_bytes(a), NULL, &error)) return message_failure(&error);
        if (!w->path) argument_print(a, w->count);
        int code = w->path ? output_save(w->path, (const char *)a->bytes, argument_bytes(a)) : CODE_OK;
        if (code) return code;
    }
    return CODE_OK;
}

// Results of a kernel with hazards are shown all the same: they may tell what went wrong.
static int run(exec_options *o, cj_device *device, document *ptx, cj_module *module) {
    cj_function *function;
    int          code = find_function(o, module, &function);
    if (!code) code = check_arguments(o, function);
    if (!code) code = upload(o, device);
    if (code) return code;
    code = launch(o, device, ptx, function);
    if (code && code != CODE_WRONG) return code;
    int shown = show(o, device);
    return code ? code : shown;
}

static int run_document(exec_options *o, document *ptx) {
    cj_device_options where = {.spec = o->device};
    cj_device        *device = NULL;
    cj_module        *module = NULL;
    cj_error          error;
    if (cj_device_open(&where, &device, &error)) return message_failure(&error);
    int code = machine_apply(&o->machine, device);
    if (!code && cj_module_load(device, ptx->text, ptx->length, &module, &error)) code = finding_refuse(ptx, &error);
    if (!code) code = run(o, device, ptx, module);
    for (unsigned i = 0; i < o->argument_count; i++) cj_mem_free(device, o->argument[i].memory);
    cj_module_unload(module);
    cj_device_close(device);
    return code;
}

int cmd_exec(int argc, char **argv) {
    exec_options o = {.device = "cpu", .grid = {1, 1, 1}, .block = {1, 1, 1}};
    document     ptx;
    args_parse(&spec, argc, argv, &o, NULL);
    if (!o.path) return message_error(CJ_INVALID_ARGUMENT, "which file? '-' is standard input");
    int code = check_wanted(&o);
    if (!code) code = document_read(&ptx, o.path);
    if (!code) {
        code = run_document(&o, &ptx);
        document_free(&ptx);
    }
    for (unsigned i = 0; i < o.argument_count; i++) argument_free(&o.argument[i]);
    return code;
}

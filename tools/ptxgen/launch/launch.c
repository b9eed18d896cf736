// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "launch.h"

#include <clusterjit/cpu.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "message.h"
#include "output.h"
#include "shell.h"

// ---- options

static cj_dim3 read_dim3(const char *option, const char *text) {
    cj_dim3 d = args_dim3(option, text);
    if (!d.x || !d.y || !d.z)
        exit(message_error(CJ_INVALID_ARGUMENT, "%s is '%s'; every dimension is at least 1", option, text));
    return d;
}

static void add_argument(launch_options *l, const char *text) {
    int code = arguments_add(&l->arguments, text);
    if (code) exit(code);
}

bool launch_set(launch_options *l, int key, const char *value) {
    switch (key) {
    case LAUNCH_ENTRY: l->entry = value; return true;
    case LAUNCH_GRID: l->grid = read_dim3("--grid", value); return true;
    case LAUNCH_BLOCK: l->block = read_dim3("--block", value); return true;
    case LAUNCH_CLUSTER: l->cluster = read_dim3("--cluster", value); return true;
    case LAUNCH_SMEM: l->shared = args_number("--smem", value, 0, UINT32_MAX), l->shared_given = true; return true;
    case LAUNCH_COOPERATIVE: l->cooperative = true; return true;
    case LAUNCH_ARG: add_argument(l, value); return true;
    default: return false;
    }
}

// ---- the entry

int launch_find(const char *entry, const char *path, cj_module *module, cj_function **function) {
    cj_error    error;
    const char *name = entry ? entry : cj_module_entry(module, 0);
    if (!name) return message_error(CJ_INVALID_KERNEL, "'%s' has no entry", path);
    if (!entry && cj_module_entry(module, 1))
        return message_error(CJ_INVALID_ARGUMENT, "'%s' has several entries\nname one with --entry: %s, %s, …", path,
                             name, cj_module_entry(module, 1));
    return cj_module_function(module, name, function, &error) ? message_failure(&error) : CODE_OK;
}

// The argument that suits most kernels for a parameter of that kind and size; NULL: there is none.
static const char *usual_argument(cj_param_kind kind, size_t bytes) {
    static const struct {
        cj_param_kind kind;
        size_t        bytes;
        const char   *text;
    } usual[] = {{CJ_PARAM_POINTER, 8, "u64[1048576]=zeros"},
                 {CJ_PARAM_INTEGER, 1, "u8=1"},
                 {CJ_PARAM_INTEGER, 2, "u16=1024"},
                 {CJ_PARAM_INTEGER, 4, "u32=1024"},
                 {CJ_PARAM_INTEGER, 8, "u64=1024"},
                 {CJ_PARAM_FLOAT, 2, "f16=1"},
                 {CJ_PARAM_FLOAT, 4, "f32=1"},
                 {CJ_PARAM_FLOAT, 8, "f64=1"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].kind == kind && usual[i].bytes == bytes) return usual[i].text;
    return NULL;
}

static const char *form_of(cj_param_kind kind) {
    switch (kind) {
    case CJ_PARAM_TENSORMAP: return "tensor:TYPE[DIMS]@I,…";
    case CJ_PARAM_TEXTURE: return "texture:TYPE[DIMS]=FILL,…";
    case CJ_PARAM_SURFACE: return "surface:TYPE[DIMS]=FILL,…";
    default: return "bytes:N=HEX";
    }
}

// Every parameter with an argument that it could have: "out: --arg 'u64[1048576]=zeros', n: --arg 'u32=1024'".
static int refuse_count(const launch_options *l, const cj_function *function) {
    uint32_t count = cj_function_param_count(function);
    char     each[400] = "";
    size_t   used = 0;
    for (uint32_t i = 0; i < count && used < sizeof each; i++) {
        cj_param_kind kind = cj_function_param_kind(function, i);
        const char   *text = usual_argument(kind, cj_function_param_bytes(function, i));
        int           written = snprintf(each + used, sizeof each - used, "%s%s: --arg '%s'", i ? ", " : "",
                                         cj_function_param_name(function, i), text ? text : form_of(kind));
        used += written > 0 ? (size_t)written : sizeof each;
    }
    if (!count)
        return message_error(CJ_INVALID_ARGUMENT, "the entry takes 0 arguments, %u are given\ngive no --arg",
                             l->arguments.count);
    return message_error(CJ_INVALID_ARGUMENT,
                         "the entry takes %u arguments, %u are given\ngive one for each, such as %s%s", count,
                         l->arguments.count, each, used < sizeof each ? "" : " …");
}

int launch_check(const launch_options *l, const cj_function *function) {
    uint32_t count = cj_function_param_count(function);
    if (l->arguments.count != count) return refuse_count(l, function);
    for (uint32_t i = 0; i < count; i++) {
        const argument *a = &l->arguments.item[i];
        size_t          given = argument_size(a), wants = cj_function_param_bytes(function, i);
        if (given != wants)
            return message_error(CJ_INVALID_ARGUMENT, "argument %u, '%s', has %zu bytes; the parameter %s has %zu", i,
                                 a->text, given, cj_function_param_name(function, i), wants);
    }
    return arguments_check(&l->arguments);
}

// ---- defaults

static int untold(const char *path, const char *what, const char *flag) {
    return message_error(CJ_INVALID_ARGUMENT, "'%s' cannot be run as it is: %s\ngive %s", path, what, flag);
}

static int derive_shape(launch_options *l, const char *path, const cj_entry_info *info, bool *made) {
    if (!l->block.x) {
        l->block = info->block.x ? info->block : info->block_max;
        *made = true;
    }
    if (!l->block.x) return untold(path, "the entry has neither .reqntid nor .maxntid", "--block X[,Y,Z]");
    if (!l->cluster.x && !info->cluster.x && info->needs_cluster)
        return untold(path, "the entry needs clusters and has no .reqnctapercluster", "--cluster X[,Y,Z]");
    if (!l->grid.x) {
        cj_dim3 cluster = l->cluster.x ? l->cluster : info->cluster;
        l->grid = cluster.x && !info->grid_counts_clusters ? cluster : (cj_dim3){1, 1, 1};
        *made = true;
    }
    if (info->needs_dynamic_shared && !l->shared_given)
        return untold(path, "the entry uses dynamic shared memory, of which nothing says the size", "--smem BYTES");
    return CODE_OK;
}

static int derive_arguments(launch_options *l, const char *path, const cj_function *function) {
    int code = CODE_OK;
    for (uint32_t i = 0; i < cj_function_param_count(function) && !code; i++) {
        cj_param_kind kind = cj_function_param_kind(function, i);
        const char   *text = usual_argument(kind, cj_function_param_bytes(function, i));
        char          what[160], flag[100];
        snprintf(what, sizeof what, "nothing says what the %zu bytes of the parameter %s are",
                 cj_function_param_bytes(function, i), cj_function_param_name(function, i));
        snprintf(flag, sizeof flag, "all arguments, this one as --arg %s", form_of(kind));
        if (text)
            code = arguments_add(&l->arguments, text);
        else
            code = untold(path, what, flag);
    }
    return code;
}

int launch_derive(launch_options *l, const char *path, const cj_function *function, bool *made) {
    cj_entry_info info = {CJ_INIT(info)};
    cj_function_info(function, &info, NULL);
    *made = false;
    int code = derive_shape(l, path, &info, made);
    if (code || l->arguments.count || !cj_function_param_count(function)) return code;
    *made = true;
    return derive_arguments(l, path, function);
}

// ---- launching

cj_status launch_run(const launch_options *l, cj_device *device, cj_function *function, cj_error *error) {
    void *value[ARGUMENTS_MAX];
    for (unsigned i = 0; i < l->arguments.count; i++)
        value[i] = (void *)(uintptr_t)argument_value(&l->arguments.item[i]);
    cj_launch_config config = {CJ_INIT(config),
                               .function = function,
                               .grid = l->grid,
                               .block = l->block,
                               .cluster = l->cluster,
                               .dynamic_shared = l->shared,
                               .nonportable = true,  // the command line asks for the cluster that it names
                               .attributes.cooperative = l->cooperative,
                               .arguments = value,
                               .argument_count = l->arguments.count};
    cj_cpu_stats_clear(device, NULL);  // fails on a GPU device, which has no counters
    cj_status status = cj_launch(device, &config, error);
    return status ? status : cj_synchronize(device, NULL, error);
}

// ---- showing

static const struct {
    const char *name;
    size_t      offset;
} extents[] = {{"grid", offsetof(launch_options, grid)},
               {"block", offsetof(launch_options, block)},
               {"cluster", offsetof(launch_options, cluster)}};

enum { EXTENT_COUNT = sizeof extents / sizeof *extents };

static const cj_dim3 *extent(const launch_options *l, size_t i) {
    return (const cj_dim3 *)(const void *)((const char *)l + extents[i].offset);
}

static void put_dim3(FILE *to, const char *option, cj_dim3 d) {
    if (!d.x) return;
    fprintf(to, " --%s %" PRIu32, option, d.x);
    if (d.y > 1 || d.z > 1) fprintf(to, ",%" PRIu32, d.y);
    if (d.z > 1) fprintf(to, ",%" PRIu32, d.z);
}

void launch_put_shape(FILE *to, const launch_options *l) {
    for (size_t i = 0; i < EXTENT_COUNT; i++) put_dim3(to, extents[i].name, *extent(l, i));
}

char *launch_text(const launch_options *l) {
    char  *text = NULL;
    size_t size;
    FILE  *to = open_memstream(&text, &size);
    if (!to) return NULL;
    launch_put_shape(to, l);
    if (l->shared) fprintf(to, " --smem %" PRIu32, l->shared);
    if (l->cooperative) fputs(" --cooperative", to);
    for (unsigned i = 0; i < l->arguments.count; i++) {
        fputs(" --arg ", to);
        shell_put_quoted(to, l->arguments.item[i].text);
    }
    if (!fclose(to)) return text;
    free(text);
    return NULL;
}

json_t *launch_json(const launch_options *l, const char *path, const char *entry) {
    json_t *given = json_array(), *object = json_pack("{s:o, s:s}", "file", output_json_text(path), "entry", entry);
    for (size_t i = 0; i < EXTENT_COUNT; i++) {
        const cj_dim3 *d = extent(l, i);
        json_object_set_new(object, extents[i].name, d->x ? output_json_dim3(*d) : json_null());
    }
    for (unsigned i = 0; i < l->arguments.count; i++)
        json_array_append_new(given, output_json_text(l->arguments.item[i].text));
    json_object_set_new(object, "dynamic_shared", output_json_uint(l->shared));
    json_object_set_new(object, "cooperative", json_boolean(l->cooperative));
    json_object_set_new(object, "arguments", given);
    return object;
}

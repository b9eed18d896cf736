// SPDX-License-Identifier: Apache-2.0
// contract: would the driver launch this, and if not, why not?
#include <clusterjit/contract.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "cuda.h"
#include "explain.h"
#include "finding.h"
#include "message.h"
#include "output.h"

typedef struct contract_options {
    const char     *path, *entry, *target;
    cj_launch_shape shape;
    bool            grid_given, block_given, json;
    unsigned        registers;
    cuda_options    cuda;
} contract_options;

enum {
    KEY_ENTRY = ARGS_LONG_ONLY,
    KEY_GRID,
    KEY_BLOCK,
    KEY_CLUSTER,
    KEY_PREFERRED,
    KEY_SMEM,
    KEY_NONPORTABLE,
    KEY_OPTIN,
    KEY_COOPERATIVE,
    KEY_REGISTERS,
    KEY_TARGET,
    KEY_JSON
};

static const args_option options[] = {
    {.name = "entry", .key = KEY_ENTRY, .arg = "NAME", .doc = "The kernel (default: the file's only one)"},
    {.name = "grid",
     .key = KEY_GRID,
     .arg = "X[,Y,Z]",
     .doc = "Blocks in the grid, clusters of a kernel with .blocksareclusters"},
    {.name = "block", .key = KEY_BLOCK, .arg = "X[,Y,Z]", .doc = "Threads a block"},
    {.name = "cluster", .key = KEY_CLUSTER, .arg = "X[,Y,Z]", .doc = "Blocks a cluster (default: none given)"},
    {.name = "preferred", .key = KEY_PREFERRED, .arg = "X[,Y,Z]", .doc = "Preferred cluster (default: none)"},
    {.name = "smem", .key = KEY_SMEM, .arg = "BYTES", .doc = "Dynamic shared memory a block (default 0)"},
    {.name = "nonportable", .key = KEY_NONPORTABLE, .doc = "Cluster sizes above the portable one were opted into"},
    {.name = "smem-opt-in",
     .key = KEY_OPTIN,
     .arg = "yes|no",
     .doc = "Shared memory above 48 KiB was opted into (default no)"},
    {.name = "cooperative", .key = KEY_COOPERATIVE, .doc = "A cooperative launch: all blocks at once"},
    {.name = "registers",
     .key = KEY_REGISTERS,
     .arg = "N",
     .doc = "Registers a thread, as ptxas -v says (default: not judged)"},
    {.name = "target",
     .key = KEY_TARGET,
     .arg = "TARGET|device",
     .doc = "The GPU: a part, a target, or the one here (default device)"},
    {.name = "arch", .key = KEY_TARGET, .arg = "TARGET", .alias = true},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    CUDA_OPTIONS,
    {0},
};

static int set(void *user, int key, char *value) {
    contract_options *o = user;
    cj_launch_shape  *s = &o->shape;
    switch (key) {
    case KEY_ENTRY: o->entry = value; break;
    case KEY_GRID: s->grid = args_dim3("--grid", value), o->grid_given = true; break;
    case KEY_BLOCK: s->block = args_dim3("--block", value), o->block_given = true; break;
    case KEY_CLUSTER: s->cluster = args_dim3("--cluster", value); break;
    case KEY_PREFERRED: s->preferred = args_dim3("--preferred", value); break;
    case KEY_SMEM: s->dynamic_shared = args_number("--smem", value, 0, UINT32_MAX); break;
    case KEY_NONPORTABLE: s->nonportable = true; break;
    case KEY_OPTIN:
        s->smem_optin = !strcmp(value, "yes");
        if (!s->smem_optin && strcmp(value, "no") != 0)
            return message_error(CJ_INVALID_ARGUMENT, "--smem-opt-in is '%s'; it is yes or no", value);
        break;
    case KEY_COOPERATIVE: s->cooperative = true; break;
    case KEY_REGISTERS: o->registers = args_number("--registers", value, 1, 255); break;
    case KEY_TARGET: o->target = value; break;
    case KEY_JSON: o->json = true; break;
    default: cuda_set(&o->cuda, key, value); break;
    }
    return CODE_OK;
}

static int take(void *user, char *word) { return args_take_file(&((contract_options *)user)->path, word); }

const args_spec contract_spec = {
    .doc = "Says whether the driver would launch a kernel of a PTX file, or of CUDA C++ (.cu; '-' is standard input), "
           "in this shape, and names every rule that the launch breaks. Without a file it judges the shape alone. "
           "Exit code 0: it would launch, though there may be warnings; 1: it would refuse.",
    .options = options,
    .set = set,
    .words = "[FILE]",
    .files = "ptx cu",
    .take = take,
    .examples = "ptxgen contract kernel.ptx --grid 16 --block 256 --cluster 4 --target h200",
};

// ---- the findings

typedef struct verdict {
    size_t  errors, warnings;
    json_t *array;  // NULL: violations are printed as text
} verdict;

static void show(void *user, const cj_violation *v) {
    verdict    *to = user;
    const bool  error = v->severity == CJ_SEVERITY_ERROR;
    const char *severity = error ? "error" : "warning", *none = message_colour(stdout, COLOUR_NONE);
    to->errors += error;
    to->warnings += !error;
    if (to->array) {
        json_array_append_new(to->array,
                              json_pack("{s:s, s:s, s:o, s:o}", "severity", severity, "rule", v->rule, "message",
                                        output_json_text(v->message), "hint", output_json_text(v->hint)));
        return;
    }
    printf("%s%s:%s %s [%s]\n", message_colour(stdout, error ? COLOUR_RED : COLOUR_YELLOW), severity, none, v->message,
           v->rule);
    printf("%shint:%s %s\n", message_colour(stdout, COLOUR_CYAN), none, v->hint);
    explain_note(v->rule);
}

static uint64_t volume(cj_dim3 d) { return (uint64_t)d.x * d.y * d.z; }
static bool     given(cj_dim3 d) { return d.x || d.y || d.z; }


// `s` is the shape that the driver launches.
static void print_verdict(const contract_options *o, const cj_launch_shape *s, const cj_limits *l, const verdict *v) {
    const cj_dim3 grid = o->shape.grid, block = o->shape.block;
    printf("%s %s this launch: %zu of %zu rules broken", l->name, v->errors ? "would refuse" : "would make", v->errors,
           cj_contract_rule_count());
    printf(v->warnings ? ", %zu warning%s\n" : "\n", v->warnings, v->warnings == 1 ? "" : "s");
    if (v->errors) return;
    printf("  block    %u x %u x %u = %" PRIu64 " threads%s, at most %u\n", s->block.x, s->block.y, s->block.z,
           volume(s->block), cj_dim3_equal(s->block, block) ? "" : ", as the kernel says", l->max_threads_per_block);
    if (cj_dim3_equal(s->grid, grid))
        printf("  grid     %u x %u x %u", grid.x, grid.y, grid.z);
    else
        printf("  grid     %u x %u x %u clusters = %u x %u x %u blocks", grid.x, grid.y, grid.z, s->grid.x, s->grid.y,
               s->grid.z);
    printf(", at most %u x %u x %u\n", l->max_grid.x, l->max_grid.y, l->max_grid.z);
    if (given(s->cluster))
        printf("  cluster  %u x %u x %u = %" PRIu64 " blocks%s, portable to %u, at most %u\n", s->cluster.x,
               s->cluster.y, s->cluster.z, volume(s->cluster), given(o->shape.cluster) ? "" : ", as the kernel says",
               l->max_cluster_portable, l->max_cluster);
    else
        printf("  cluster  none\n");
    printf("  shared   %u B dynamic, at most %u B a block, %u B with opt-in\n", s->dynamic_shared, l->shared_per_block,
           l->shared_per_block_optin);
}

static int print_json(const contract_options *o, const cj_launch_shape *runs, const cj_limits *l, const verdict *v) {
    const cj_launch_shape *s = &o->shape;
    json_t                *made = v->errors ? json_null()
                                            : json_pack("{s:o, s:o, s:o}", "grid", output_json_dim3(runs->grid), "block",
                                                        output_json_dim3(runs->block), "cluster",
                                         given(runs->cluster) ? output_json_dim3(runs->cluster) : json_null());
    json_t *shape = json_pack("{s:o, s:o, s:o, s:o, s:I, s:b, s:b, s:b}", "grid", output_json_dim3(s->grid), "block",
                              output_json_dim3(s->block), "cluster",
                              given(s->cluster) ? output_json_dim3(s->cluster) : json_null(), "preferred",
                              given(s->preferred) ? output_json_dim3(s->preferred) : json_null(), "dynamic_shared",
                              (json_int_t)s->dynamic_shared, "nonportable", s->nonportable, "smem_optin", s->smem_optin,
                              "cooperative", s->cooperative);
    return output_json(json_pack("{s:b, s:o, s:o, s:o, s:I, s:o}", "launches", v->errors == 0, "target",
                                 output_json_text(l->name), "shape", shape, "runs", made, "rules",
                                 (json_int_t)cj_contract_rule_count(), "violations", v->array));
}

// ---- the question

static int find_limits(const char *target, cj_limits *limits) {
    cj_device *device = NULL;
    cj_error   error;
    if (strcmp(target, "device") != 0)
        return cj_limits_named(target, limits, &error) ? message_failure(&error) : CODE_OK;
    if (cj_device_open(NULL, &device, &error)) return message_failure(&error);
    *limits = *cj_device_limits(device);
    cj_device_close(device);
    return CODE_OK;
}

static int judge(const contract_options *o, document *ptx, const cj_limits *limits) {
    const cj_contract_query query = {CJ_INIT(query),
                                     .limits = limits,
                                     .ptx = ptx ? ptx->text : NULL,
                                     .length = ptx ? ptx->length : 0,
                                     .entry = o->entry,
                                     .registers = o->registers,
                                     .shape = o->shape};
    verdict                 v = {.array = o->json ? json_array() : NULL};
    cj_error                error;
    cj_status               status = cj_contract_check(&query, show, &v, &error);
    if (status && status != CJ_CONTRACT) {
        json_decref(v.array);
        return ptx ? finding_refuse(ptx, &error) : message_failure(&error);
    }
    int             code = CODE_OK;
    cj_launch_shape runs;
    cj_contract_shape(&query, &runs, NULL);  // cannot fail: the text has just been read
    if (o->json)
        code = print_json(o, &runs, limits, &v);
    else
        print_verdict(o, &runs, limits, &v), explain_hint(stdout);
    return code ? code : status ? CODE_WRONG : CODE_OK;
}

static int judge_launch(const contract_options *o) {
    cj_limits limits;
    document  ptx;
    char      target[CUDA_TARGET];
    if (!o->grid_given || !o->block_given)
        return message_error(CJ_INVALID_ARGUMENT, "which launch? --grid and --block say it");
    if (o->entry && !o->path)
        return message_error(CJ_INVALID_ARGUMENT, "--entry names a kernel of a file, and none is given");
    int code = find_limits(o->target, &limits);
    if (code || !o->path) return code ? code : judge(o, NULL, &limits);
    code = cuda_read(&ptx, o->path, &o->cuda, cuda_target(&limits, target));
    if (code) return code;
    code = judge(o, &ptx, &limits);
    document_free(&ptx);
    return code;
}

int cmd_contract(int argc, char **argv) {
    contract_options o = {.target = "device"};
    args_parse(&contract_spec, argc, argv, &o, NULL);
    int code = judge_launch(&o);
    cuda_free(&o.cuda);
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// occupancy: how many blocks and clusters of a kernel a GPU holds at once, for each cluster size.
#include <clusterjit/contract.h>
#include <clusterjit/occupancy.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "finding.h"
#include "message.h"
#include "output.h"
#include "table.h"

static const uint32_t sizes[] = {0, 1, 2, 4, 8, 16};

enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

typedef struct occupancy_options {
    const char        *path, *entry, *target, *spec;
    cj_occupancy_query query;
    unsigned           keep;
    bool               json;
    const args_family *family;  // NULL: the kernel is in a file
    document           ptx;     // that file
    cj_device         *device;  // a GPU whose driver counts; NULL: the model counts
    cj_limits          limits;
    uint32_t           needed;  // blocks, by the family's plan: 1 without clusters; 0: not known
} occupancy_options;

enum { KEY_ENTRY = ARGS_LONG_ONLY, KEY_BLOCK, KEY_SMEM, KEY_REGISTERS, KEY_TARGET, KEY_DEVICE, KEY_KEEP, KEY_JSON };

// Options for a file only: a family has parameters for these.
#define COMMON_OPTIONS                                                                                                 \
    {.name = "registers",                                                                                              \
     .key = KEY_REGISTERS,                                                                                             \
     .arg = "N",                                                                                                       \
     .doc = "Registers a thread, as ptxas -v says (default: as the driver says, else not counted)"},                   \
        {.name = "regs", .key = KEY_REGISTERS, .arg = "N", .alias = true},                                     \
        {.name = "target",                                                                                             \
         .key = KEY_TARGET,                                                                                            \
         .arg = "TARGET",                                                                                      \
         .doc = "Count for this part or target, by the model"},                                                        \
        {.name = "arch", .key = KEY_TARGET, .arg = "TARGET", .alias = true},                                   \
        {.name = "device",                                                                                             \
         .key = KEY_DEVICE,                                                                                            \
         .arg = "auto|gpu|gpu:N|cpu",                                                                                  \
         .doc = "Count for this device; a GPU's driver counts itself (default auto)"},                                 \
        {.name = "keep",                                                                                               \
         .key = KEY_KEEP,                                                                                              \
         .arg = "PERCENT",                                                                                             \
         .doc = "Of a kernel in a file: take 4 blocks rather than 2 where so many of the blocks stay resident (default " \
                "90)"},                  \
        {.name = "json", .key = KEY_JSON, .doc = "Print JSON"}, {                                                      \
        0                                                                                                              \
    }

static const args_option family_options[] = {COMMON_OPTIONS};

static const args_option file_options[] = {
    {.name = "entry", .key = KEY_ENTRY, .arg = "NAME", .doc = "The kernel (default: the file's only one)"},
    {.name = "block", .key = KEY_BLOCK, .arg = "X[,Y,Z]", .doc = "Threads a block (default: as the kernel says)"},
    {.name = "smem", .key = KEY_SMEM, .arg = "BYTES", .doc = "Dynamic shared memory a block (default 0)"},
    COMMON_OPTIONS,
};

static int set(void *user, int key, char *value) {
    occupancy_options *o = user;
    switch (key) {
    case KEY_ENTRY: o->entry = value; break;
    case KEY_BLOCK: o->query.block = args_dim3("--block", value); break;
    case KEY_SMEM: o->query.dynamic_shared = args_number("--smem", value, 0, UINT32_MAX); break;
    case KEY_REGISTERS: o->query.registers = args_number("--registers", value, 1, 255); break;
    case KEY_TARGET: o->target = value; break;
    case KEY_DEVICE: o->spec = value; break;
    case KEY_KEEP: o->keep = args_number("--keep", value, 1, 100); break;
    case KEY_JSON: o->json = true; break;
    }
    return CODE_OK;
}

static int take(void *user, char *word) { return args_take_file(&((occupancy_options *)user)->path, word); }

static const char doc[] = "Shows how many blocks and clusters of a kernel a GPU holds at once, for each cluster size, what "
                          "limits each, and which size to take, and why: of FAMILY the one that its plan takes for the problem, else the "
                          "smallest that does not cost much; 'ptxgen compare' measures what larger ones gain. The kernel is one of FAMILY, or an entry of a PTX file ('-' "
                          "is standard input).";

static const args_spec family_spec = {.doc = doc, .options = family_options, .set = set, .params = true};

const args_spec occupancy_spec = {
    .doc = doc, .options = file_options, .set = set, .words = "FILE|FAMILY [--PARAMETER=VALUE...]", .take = take, .files = "ptx", .params = true,
    .examples = "ptxgen occupancy gemm --target h200\nptxgen occupancy kernel.ptx --target h200 --block 256"};

// ---- counting

// The result for one cluster size.
typedef struct row {
    uint32_t             size;
    cj_cluster_occupancy count;
    char                 refused[32];  // the rule that refuses it; empty: it was counted
} row;

// A kernel as text, and how it is launched.
typedef struct kernel {
    const char        *text, *entry;
    size_t             length;
    cj_occupancy_query query;
} kernel;

static cj_status count_on_gpu(cj_device *device, const kernel *k, cj_cluster_occupancy *count, cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_status    status = cj_module_from_ptx(device, k->text, k->length, &module, error);
    const char  *entry = k->entry ? k->entry : status ? NULL : cj_module_entry(module, 0);
    if (!status) status = cj_module_function(module, entry ? entry : "", &function, error);
    if (!status) status = cj_function_occupancy(function, &k->query, count, error);
    cj_module_unload(module);
    return status;
}

static cj_status count_kernel(const occupancy_options *o, const kernel *k, row *r, cj_error *error) {
    cj_status status = o->device ? count_on_gpu(o->device, k, &r->count, error)
                                 : cj_ptx_occupancy(&o->limits, k->text, k->length, k->entry, &k->query, &r->count, error);
    if (status != CJ_CONTRACT) return status;
    snprintf(r->refused, sizeof r->refused, "%s", error->rule);
    return CJ_OK;
}

// Counts a family's kernel of this cluster size. The plan's note is printed once. INVALID_ARGUMENT for a size that the
// problem cannot have.
static cj_status count_family(const occupancy_options *o, row *r, bool *noted, cj_error *error) {
    cj_params params = o->family->params;
    cj_plan   plan;
    char      size[16];
    snprintf(size, sizeof size, "%u", r->size);
    cj_status status = cj_params_set(&params, "cluster", size, error);
    if (!status) status = cj_plan_make(&params, &o->limits, NULL, &plan, error);
    if (status == CJ_CONTRACT) snprintf(r->refused, sizeof r->refused, "%s", error->rule);
    if (status) return status == CJ_CONTRACT ? CJ_OK : status;
    if (plan.note[0] && !*noted) message_note(plan.note);
    *noted |= plan.note[0] != '\0';
    char  *text = NULL;
    kernel k = {.entry = plan.entry, .query = o->query};
    k.query.block = plan.block;
    k.query.cluster = plan.cluster;
    k.query.dynamic_shared = plan.dynamic_shared;
    status = cj_plan_emit(&plan, &text, &k.length, error);
    k.text = text;
    if (!status) status = count_kernel(o, &k, r, error);
    cj_text_free(text);
    return status;
}

static bool is_listed(uint64_t size) {
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        if (sizes[i] == size) return true;
    }
    return false;
}

// Counts the cluster that the kernel declares with the declared dimensions, in any size.
static cj_status count_file(const occupancy_options *o, row *r, cj_error *error) {
    kernel                  k = {.text = o->ptx.text, .length = o->ptx.length, .entry = o->entry, .query = o->query};
    const cj_contract_query text = {CJ_INIT(text), .ptx = k.text, .length = k.length, .entry = k.entry};
    cj_launch_shape         shape;
    cj_status               status = cj_contract_shape(&text, &shape, error);
    if (status) return status;
    const uint64_t declared = (uint64_t)shape.cluster.x * shape.cluster.y * shape.cluster.z;
    if (!r->size && !is_listed(declared)) r->size = (uint32_t)declared;
    k.query.cluster = r->size == declared ? shape.cluster : (cj_dim3){r->size, r->size != 0, r->size != 0};
    return count_kernel(o, &k, r, error);
}

// A kernel that cannot have a size (it declares another one, or the target has no clusters) gives the count of its own
// size again.
static bool is_another(const row *r) { return !r->refused[0] && r->count.cluster != r->size; }

static int count_all(occupancy_options *o, row rows[SIZE_COUNT], size_t *count) {
    bool     noted = false;
    cj_error error;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        row *r = &rows[*count];
        *r = (row){.size = sizes[i], .count = {CJ_INIT(cj_cluster_occupancy)}};
        cj_status status = o->family ? count_family(o, r, &noted, &error) : count_file(o, r, &error);
        if (status == CJ_INVALID_ARGUMENT && o->family) continue;
        if (status) return o->family ? message_failure(&error) : finding_refuse(&o->ptx, &error);
        if (!strcmp(r->refused, "block-zero"))
            return message_error(CJ_INVALID_ARGUMENT, "how many threads a block? The kernel does not say\n--block says it");
        *count += !is_another(r);
    }
    return CODE_OK;
}

// ---- the table

static const struct {
    const char *name;
    table_side  side;
} columns[] = {{"CLUSTER", TABLE_RIGHT},    {"BLOCKS/SM", TABLE_RIGHT}, {"ACTIVE CLUSTERS", TABLE_RIGHT}, {"BLOCKS", TABLE_RIGHT},
               {"SMS IN USE", TABLE_RIGHT}, {"STRANDED", TABLE_RIGHT},  {"LIMITED BY", TABLE_LEFT}};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static void set_number(table *t, size_t column, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    table_set(t, column, text);
}

static void add_line(table *t, const row *r, bool chosen) {
    const cj_cluster_occupancy *c = &r->count;
    char                        limit[80];
    table_row(t);
    set_number(t, 0, r->size);
    if (!r->size) table_set(t, 0, "none");
    snprintf(limit, sizeof limit, "refused: %s", r->refused);
    if (!r->refused[0]) {
        const uint64_t numbers[] = {c->blocks_per_sm, c->active_clusters,
                                    (uint64_t)c->active_clusters * (c->cluster ? c->cluster : 1), c->sms_used, c->sms_stranded};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) set_number(t, i + 1, numbers[i]);
        snprintf(limit, sizeof limit, "%s%s%s", cj_occupancy_limit_name(c->limited_by), c->gpc_limited ? ", GPC size" : "",
                 chosen ? "  <- chosen" : "");
    }
    table_set(t, COLUMN_COUNT - 1, limit);
    if (chosen) table_bold(t);
}

static void print_head(const occupancy_options *o, const row *rows, size_t count) {
    bool by_driver = false;
    for (size_t i = 0; i < count; i++) by_driver |= rows[i].count.from_driver;
    printf("%s, counted by %s\n", o->limits.name, by_driver ? "its driver" : "the model");
    if (!by_driver && !o->query.registers) puts("registers are not counted: --registers N gives what ptxas -v says");
    if (!by_driver && !o->limits.gpc_sms[0]) puts("the SMs of a GPC are not known: there may be fewer clusters");
}

static int print_table(const occupancy_options *o, const row *rows, size_t count, size_t chosen) {
    table *t = table_new();
    for (size_t i = 0; i < COLUMN_COUNT; i++) table_column(t, columns[i].name, columns[i].side);
    for (size_t i = 0; i < count; i++) add_line(t, &rows[i], i == chosen);
    print_head(o, rows, count);
    return table_print(t);
}

static json_t *json_row(const row *r, bool chosen) {
    const cj_cluster_occupancy *c = &r->count;
    if (r->refused[0]) return json_pack("{s:I, s:s}", "cluster", (json_int_t)r->size, "refused", r->refused);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:b, s:b}", "cluster", (json_int_t)r->size, "blocks_per_sm",
                     (json_int_t)c->blocks_per_sm, "active_clusters", (json_int_t)c->active_clusters, "blocks",
                     (json_int_t)c->active_clusters * (c->cluster ? c->cluster : 1), "sms_used", (json_int_t)c->sms_used,
                     "sms_stranded", (json_int_t)c->sms_stranded, "limited_by", cj_occupancy_limit_name(c->limited_by),
                     "gpc_limited", c->gpc_limited, "chosen", chosen);
}

static int print_json(const occupancy_options *o, const row *rows, size_t count, size_t chosen, const char *why) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(array, json_row(&rows[i], i == chosen));
    return output_json(json_pack("{s:o, s:s, s:o, s:s?, s:o}", "target", output_json_text(o->limits.name), "counted_by",
                                 o->device ? "driver" : "model", "chosen",
                                 chosen < count ? json_integer((json_int_t)rows[chosen].size) : json_null(), "why", why,
                                 "clusters", array));
}

// ---- which to take

// The family's plan knows how many blocks must work together. If the plan breaks a launch rule, the rows show it.
static int ask_plan(occupancy_options *o) {
    cj_plan   plan;
    cj_error  error;
    cj_status status = o->family ? cj_plan_make(&o->family->params, &o->limits, NULL, &plan, &error) : CJ_CONTRACT;
    if (status) return status == CJ_CONTRACT ? CODE_OK : message_failure(&error);
    const uint64_t cluster = plan.cluster.x ? cj_params_get(&plan.params, "cluster") : 1;
    o->needed = (uint32_t)(cluster ? cluster : 1);
    return CODE_OK;
}

enum { WHY = 160 };

static const char *why_chosen(const occupancy_options *o, const cj_cluster_occupancy *c, char text[WHY]) {
    if (o->needed == 1)
        snprintf(text, WHY, "the plan takes no cluster for this problem");
    else if (o->needed && c->cluster >= o->needed)
        snprintf(text, WHY, "the plan takes %" PRIu32 " blocks for this problem", o->needed);
    else if (o->needed)
        snprintf(text, WHY, "the plan's %" PRIu32 " blocks do not fit: this keeps the most blocks", o->needed);
    else if (c->cluster < 2)
        snprintf(text, WHY, "no small cluster fits: this keeps the most blocks");
    else
        snprintf(text, WHY, "nothing is known of what the blocks share, so it is 2 to %d, of which this keeps %" PRIu32
                 " blocks; ptxgen compare measures what more gain", CJ_OCCUPANCY_SMALL, c->active_clusters * c->cluster);
    return text;
}

// A refused row cannot be chosen, since it has no active clusters. If no row can be chosen, the kernel cannot be
// launched.
static int show(const occupancy_options *o, const row *rows, size_t count) {
    cj_cluster_occupancy candidates[SIZE_COUNT];
    for (size_t i = 0; i < count; i++) candidates[i] = rows[i].count;
    size_t chosen = cj_occupancy_choose(candidates, count, o->needed, o->keep);
    char   text[WHY];
    if (chosen < count) why_chosen(o, &candidates[chosen], text);
    const char *why = chosen < count ? text : NULL;
    int         code = o->json ? print_json(o, rows, count, chosen, why) : print_table(o, rows, count, chosen);
    if (!code && !o->json && why) printf("Chosen: %s\n", why);
    return code || chosen < count ? code : CODE_WRONG;
}

// ---- the device

static int open_target(occupancy_options *o) {
    cj_error error;
    if (o->target) return cj_limits_named(o->target, &o->limits, &error) ? message_failure(&error) : CODE_OK;
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = o->spec}, &o->device, &error))
        return message_failure(&error);
    o->limits = *cj_device_limits(o->device);
    if (!strcmp(cj_device_kind(o->device), "gpu")) return CODE_OK;
    cj_device_close(o->device);  // the CPU device has the limits of an H200, and no driver
    o->device = NULL;
    return CODE_OK;
}

static int run(occupancy_options *o) {
    row    rows[SIZE_COUNT];
    size_t count = 0;
    if (o->target && o->spec) return message_error(CJ_INVALID_ARGUMENT, "--target and --device exclude each other");
    int code = open_target(o);
    if (!code) code = ask_plan(o);
    if (!code) code = count_all(o, rows, &count);
    if (!code) code = show(o, rows, count);
    cj_device_close(o->device);
    return code;
}

static bool names_family(int argc, char **argv) {
    const cj_family *family;
    return argc > 1 && argv[1][0] != '-' && !cj_family_find(argv[1], &family, NULL);
}

int cmd_occupancy(int argc, char **argv) {
    occupancy_options o = {.query = {CJ_INIT(cj_occupancy_query)}, .keep = CJ_OCCUPANCY_KEEP};
    args_family       family;
    if (names_family(argc, argv)) {
        args_parse(&family_spec, argc, argv, &o, &family);
        o.family = &family;
        int code = run(&o);
        args_family_free(&family);
        return code;
    }
    args_parse(&occupancy_spec, argc, argv, &o, NULL);
    if (!o.path) return message_error(CJ_INVALID_ARGUMENT, "which kernel? A family ('ptxgen list') or a PTX file comes first");
    int code = document_read(&o.ptx, o.path);
    if (code) return code;
    code = run(&o);
    document_free(&o.ptx);
    return code;
}

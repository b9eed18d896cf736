// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "message.h"
#include "output.h"
#include "toolchain.h"

typedef struct info_options {
    const char *device;
    bool        json;
} info_options;

enum { KEY_DEVICE = ARGS_LONG_ONLY, KEY_JSON };

static const args_option options[] = {
    {.name = "device", .key = KEY_DEVICE, .arg = "auto|gpu|gpu:N|cpu", .doc = "The device to describe (default auto)"},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    info_options *o = user;
    if (key == KEY_DEVICE) o->device = value;
    if (key == KEY_JSON) o->json = true;
    return CODE_OK;
}

const args_spec info_spec = {
    .doc = "Shows the device that kernels would run on and why, its limits, the driver, and the CUDA compilers found.",
    .options = options,
    .set = set,
    .examples = "ptxgen info",
};

// Every limit, named by its field: a uint32_t, a uint64_t or a cj_dim3.
typedef struct limit {
    const char *name;
    size_t      at, size;
} limit;

#define LIMIT(field) \
    { #field, offsetof(cj_limits, field), sizeof(((cj_limits *)0)->field) }

static const limit limits_table[] = {
    LIMIT(compute_capability),    LIMIT(sm_count),          LIMIT(warp_size),
    LIMIT(max_threads_per_block), LIMIT(max_block),         LIMIT(max_grid),
    LIMIT(max_threads_per_sm),    LIMIT(max_blocks_per_sm), LIMIT(registers_per_block),
    LIMIT(registers_per_sm),      LIMIT(shared_per_block),  LIMIT(shared_per_block_optin),
    LIMIT(shared_per_sm),         LIMIT(shared_reserved),   LIMIT(max_cluster_portable),
    LIMIT(max_cluster),           LIMIT(l2_bytes),          LIMIT(global_bytes),
};

enum { LIMIT_COUNT = sizeof limits_table / sizeof limits_table[0] };

// Reads the values of a limit, one or three; returns how many.
static size_t limit_values(const cj_limits *limits, const limit *row, uint64_t values[3]) {
    const char *field = (const char *)limits + row->at;
    if (row->size == sizeof values[0]) {
        memcpy(values, field, sizeof values[0]);
        return 1;
    }
    uint32_t words[3];
    memcpy(words, field, row->size);
    size_t count = row->size / sizeof words[0];
    for (size_t i = 0; i < count; i++) values[i] = words[i];
    return count;
}

static const char *driver_text(const cj_limits *limits, char *buffer, size_t size) {
    unsigned version = limits->driver_version;
    snprintf(buffer, size, "%u.%u", version / 1000, version % 1000 / 10);
    return version ? buffer : "not used";
}

// The commands that work without a GPU, and those that do not.
static const char *const without_gpu[] = {
    "works here: list; emit, for any target; run, on the CPU device: the same PTX, slower, every access checked",
    "needs a GPU: times that mean something",
};

static void print_line(const char *label, const char *text) { printf("%-24s  %s\n", label, text); }

static void print_limits(const cj_limits *limits) {
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        char     label[32], text[80];
        uint64_t v[3];
        snprintf(label, sizeof label, "%s", limits_table[i].name);
        for (char *c = strchr(label, '_'); c; c = strchr(c, '_')) *c = ' ';
        if (limit_values(limits, &limits_table[i], v) == 1)
            snprintf(text, sizeof text, "%" PRIu64, v[0]);
        else
            snprintf(text, sizeof text, "%" PRIu64 " x %" PRIu64 " x %" PRIu64, v[0], v[1], v[2]);
        print_line(label, text);
    }
}

static int print_text(const cj_device *device, const toolchain_item *tools) {
    const cj_limits *limits = cj_device_limits(device);
    char             text[sizeof tools->path + sizeof tools->version + 8];
    print_line("clusterjit", cj_version());
    print_line("device", cj_device_name(device));
    print_line("chosen because", cj_device_reason(device));
    print_line("CUDA driver API", driver_text(limits, text, sizeof text));
    for (size_t i = 0; i < TOOLCHAIN_COUNT; i++) {
        snprintf(text, sizeof text, "%s (%s)", tools[i].version[0] ? tools[i].version : "version unknown",
                 tools[i].path);
        print_line(tools[i].name, tools[i].path[0] ? text : "not found");
    }
    putchar('\n');
    print_limits(limits);
    if (strcmp(cj_device_kind(device), "gpu") == 0) return CODE_OK;
    putchar('\n');
    for (size_t i = 0; i < sizeof without_gpu / sizeof without_gpu[0]; i++) puts(without_gpu[i]);
    return CODE_OK;
}

static json_t *json_limits(const cj_limits *limits) {
    json_t *object = json_object();
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        uint64_t v[3];
        bool     single = limit_values(limits, &limits_table[i], v) == 1;
        json_object_set_new(object, limits_table[i].name,
                            single ? output_json_uint(v[0])
                                   : json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]));
    }
    return object;
}

static json_t *json_or_null(const char *text) { return text[0] ? json_string(text) : json_null(); }

static int print_json(const cj_device *device, const toolchain_item *tools) {
    const cj_limits *limits = cj_device_limits(device);
    char             version[16];
    json_t          *found = json_object();
    for (size_t i = 0; i < TOOLCHAIN_COUNT; i++)
        json_object_set_new(
            found, tools[i].name,
            json_pack("{s:o, s:o}", "path", json_or_null(tools[i].path), "version", json_or_null(tools[i].version)));
    json_t *driver = limits->driver_version ? json_string(driver_text(limits, version, sizeof version)) : json_null();
    return output_json(json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:o}", "version", cj_version(), "device", "kind",
                                 cj_device_kind(device), "name", cj_device_name(device), "reason",
                                 cj_device_reason(device), "driver", driver, "tools", found, "limits",
                                 json_limits(limits)));
}

int cmd_info(int argc, char **argv) {
    info_options o = {.device = "auto"};
    args_parse(&info_spec, argc, argv, &o, NULL);
    cj_device_options chosen = {CJ_INIT(chosen), .spec = o.device};
    cj_device        *device;
    cj_error          error;
    if (cj_device_open(&chosen, &device, &error)) return message_failure(&error);
    toolchain_item tools[TOOLCHAIN_COUNT];
    toolchain_find(tools);
    int code = o.json ? print_json(device, tools) : print_text(device, tools);
    cj_device_close(device);
    return code;
}

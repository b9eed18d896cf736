// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target: any bytes that load as a module are prepared and run on the CPU device, each entry once, mostly with
// hazards watched, within small limits. The first bytes, in most texts a comment, choose the launch; they stay part of it.
// replay.c runs it over the corpus in ordinary builds.
#include <clusterjit/cpu.h>
#include <clusterjit/tensormap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum {
    ENTRIES = 4,
    PARAMS = 16,
    PARAM_MOST = 256,        // bytes
    BUFFER = 1 << 14,        // bytes, the same for every pointer
    GLOBAL_MOST = 1 << 25,   // bytes, of a module's variables and ours, or of a cluster
    INSTRUCTIONS = 1 << 16,  // of threads, a launch
    TENSOR_SIDE = 64         // of the tensor in the buffer, u32
};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

// A tensor map over the buffer, for a parameter of its size.
static void encode(cj_device *device, cj_ptr buffer, unsigned choice, cj_tensormap *map) {
    static const uint64_t dims[] = {TENSOR_SIDE, TENSOR_SIDE}, strides[] = {TENSOR_SIDE * 4};
    static const uint32_t box[] = {32, 4}, steps[] = {1, 1};
    cj_tensormap_encode_tiled(device, map, CJ_TENSORMAP_U32, 1 + choice % 2, buffer, dims, strides, box, steps,
                              CJ_TENSORMAP_INTERLEAVE_NONE, (cj_tensormap_swizzle)(choice / 2 % 4),
                              CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, NULL);
}

// What the kernel declares, within our limits; else what the input chooses.
static cj_launch_config shape_of(const cj_function *function, const unsigned char choice[6]) {
    static const uint32_t blocks[] = {64, 1, 32, 33, 128, 96, 8, 2}, clusters[] = {4, 0, 2, 1};
    static const uint32_t dynamic[] = {0, 64, 1024, 16384};
    const cj_contract    *says = &function->contract;
    cj_launch_config      config = {CJ_INIT(config), .block = {blocks[choice[0] % 8], 1, 1},
                                    .dynamic_shared = dynamic[choice[2] % 4]};
    const uint32_t        cluster = clusters[choice[1] % 4];
    config.cluster = cluster ? (cj_dim3){cluster, 1, 1} : (cj_dim3){0, 0, 0};
    if (says->reqntid.x) config.block = says->reqntid;
    if (says->reqnctapercluster.x) config.cluster = says->reqnctapercluster;
    config.grid = config.cluster.x ? config.cluster : (cj_dim3){1, 1, 1};
    config.grid.x *= 1 + choice[3] % 2;
    return config;
}

static void launch(cj_device *device, cj_function *function, cj_ptr buffer, const unsigned char choice[6]) {
    static const uint32_t      numbers[] = {16, 0, 1, 255};
    _Alignas(64) unsigned char value[PARAMS][PARAM_MOST];
    void                      *argument[PARAMS];
    cj_launch_config           config = shape_of(function, choice);
    config.function = function;
    config.arguments = argument;
    config.argument_count = cj_function_param_count(function);
    if (config.argument_count > PARAMS || config.block.x > 256 || config.cluster.x > 8) return;
    for (uint32_t i = 0; i < config.argument_count; i++) {
        const size_t bytes = cj_function_param_bytes(function, i);
        if (bytes > PARAM_MOST) return;
        memset(value[i], 0, PARAM_MOST);
        if (bytes == sizeof buffer) memcpy(value[i], &buffer, sizeof buffer);
        if (bytes < sizeof buffer) memcpy(value[i], &numbers[choice[4] % 4], sizeof numbers[0]);
        if (bytes >= sizeof(cj_tensormap)) encode(device, buffer, choice[5], (cj_tensormap *)(void *)value[i]);
        argument[i] = value[i];
    }
    cj_error error;
    cj_launch(device, &config, &error);
    cj_cpu_stats stats = {CJ_INIT(stats)};
    cj_cpu_stats_read(device, &stats, NULL);
}

static void run(cj_device *device, const char *text, size_t size) {
    static const unsigned char zeros[BUFFER];
    unsigned char              choice[6] = {0};
    cj_module                 *module;
    cj_error                   error;
    cj_ptr                     buffer;
    if (size >= 2 + sizeof choice) memcpy(choice, text + 2, sizeof choice);
    const cj_cpu_options options = {CJ_INIT(options),
                                    .random_schedule = choice[5] & 1,
                                    .seed = choice[5],
                                    .hazards = !(choice[5] & 16),
                                    .threads = 1,
                                    .stats = choice[5] & 2,
                                    .instruction_limit = INSTRUCTIONS};
    cj_cpu_configure(device, &options, NULL);
    if (cj_module_from_ptx(device, text, size, &module, &error)) return;
    if (!cj_mem_alloc(device, BUFFER, &buffer, NULL)) {
        cj_mem_write(device, buffer, zeros, BUFFER / 2, NULL, NULL);  // the other half is not initialized
        const char  *name;
        cj_function *function;
        for (size_t i = 0; i < ENTRIES && (name = cj_module_entry(module, i)) != NULL; i++) {
            if (!cj_module_function(module, name, &function, &error)) launch(device, function, buffer, choice);
        }
        cj_mem_free(device, buffer);
    }
    cj_module_unload(module);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_device              *device;
    char                   *text = malloc(size + 1);
    if (!text || cj_device_open(&options, &device, NULL)) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    device->limits.global_bytes = GLOBAL_MOST;
    run(device, text, size);
    cj_device_close(device);
    free(text);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Running a PTX text on the CPU device in one call.
#ifndef CJ_TESTS_CPU_KERNEL_H
#define CJ_TESTS_CPU_KERNEL_H

#include <clusterjit/cpu.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

// A kernel whose one parameter points to memory: registers %r, %l, %h, %f, %d, %p of 32, 64, 16 bits, f32, f64, pred;
// %at is the address of the thread's own 8 bytes there, %out of the first, %thread the thread in its grid.
#define OPEN                                                                                     \
    "    .reg .b32 %r<16>, %thread;\n    .reg .b64 %l<16>, %at, %out;\n    .reg .b16 %h<8>;\n"   \
    "    .reg .f32 %f<8>;\n    .reg .f64 %d<8>;\n    .reg .pred %p<8>;\n"                        \
    "    ld.param.u64 %out, [out];\n    mov.u32 %thread, %ctaid.x;\n    mov.u32 %r0, %ntid.x;\n" \
    "    mul.lo.u32 %thread, %thread, %r0;\n    mov.u32 %r0, %tid.x;\n"                          \
    "    add.u32 %thread, %thread, %r0;\n    mul.wide.u32 %at, %thread, 8;\n    add.u64 %at, %out, %at;\n"
#define ENTRY ".visible .entry kernel(.param .u64 out)\n{\n"
#define CLOSE "\n    ret;\n}\n"
#define KERNEL(variables, body) HEAD ENTRY variables OPEN body CLOSE

typedef struct launch_shape {
    unsigned grid, block, cluster, dynamic_shared;
} launch_shape;

enum { RESULTS = 4096 };

static cj_cpu_options cpu_options = {CJ_INIT(cpu_options)};  // for devices that are opened from now on
static cj_hazard      found[64];    // by the last run_kernel
static size_t         found_count;

static inline void keep_found(const cj_device *device) {
    found_count = cj_cpu_hazard_count(device);
    for (size_t i = 0; i < found_count; i++) found[i] = *cj_cpu_hazard_at(device, i);
}

static inline cj_device *open_cpu(void) {
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_device              *device = NULL;
    cj_error                error = {0};
    cj_test_ok(cj_device_open(&options, &device, &error), &error);
    cj_test_ok(cj_cpu_configure(device, &cpu_options, &error), &error);
    return device;
}

// Runs entry `kernel` with one parameter, a pointer to RESULTS * 8 bytes that start as `results` and are copied back
// there.
static inline cj_status run_kernel(const char *ptx, launch_shape shape, uint64_t *results, cj_error *error) {
    cj_device   *device = open_cpu();
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       memory = 0;
    cj_test_ok(cj_mem_alloc(device, RESULTS * 8, &memory, error), error);
    cj_test_ok(cj_mem_write(device, memory, results, RESULTS * 8, NULL, error), error);
    cj_status status = cj_module_from_ptx(device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, "kernel", &function, error);
    if (!status) {
        const cj_launch_config config = {
            CJ_INIT(config),
            .function = function,
            .grid = {shape.grid, 1, 1},
            .block = {shape.block, 1, 1},
            .cluster = shape.cluster ? (cj_dim3){shape.cluster, 1, 1} : (cj_dim3){0, 0, 0},
            .dynamic_shared = shape.dynamic_shared,
            .nonportable = true,
            .arguments = (void *[]){&memory},
            .argument_count = 1,
        };
        status = cj_launch(device, &config, error);
        keep_found(device);
        cj_test_ok(cj_mem_read(device, results, memory, RESULTS * 8, NULL, NULL), NULL);
    }
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
    return status;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// The gpu device on the fake driver, with two entries loaded.
#ifndef CJ_TESTS_UNIT_CUDA_RIG_H
#define CJ_TESTS_UNIT_CUDA_RIG_H

#include <clusterjit/device.h>
#include <stdio.h>
#include <string.h>

#include "fake_driver.h"
#include "test.h"

static const char kernel[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .global .u32 counter;\n"
    ".visible .entry k(.param .u64 out)\n{\n    ret;\n}\n"
    ".visible .entry fixed(.param .u64 out)\n.explicitcluster\n.reqnctapercluster 2, 2, 1\n{\n    ret;\n}\n";

static inline cj_status open_fake(const char *spec, void *context, cj_device **device, cj_error *error) {
    const cj_device_options options = {CJ_INIT(options), .spec = spec, .context = context, .resolver = cj_fake_resolve};
    return cj_device_open(&options, device, error);
}

static inline int alive(void) {
    const cj_fake *fake = &cj_fake_driver;
    return fake->alive_contexts + fake->alive_modules + fake->alive_memory + fake->alive_events + fake->alive_links +
           fake->alive_streams + fake->alive_graphs + fake->alive_opened;
}

static inline int reset(void **state) {
    (void)state;
    cj_fake_reset();
    return 0;
}

// A device with the two entries loaded.
typedef struct rig {
    cj_device   *device;
    cj_module   *module;
    cj_function *k, *fixed;
} rig;

static inline rig rig_open(void) {
    rig      r = {0};
    cj_error error = {0};
    cj_test_ok(open_fake("gpu", NULL, &r.device, &error), &error);
    cj_test_ok(cj_module_from_ptx(r.device, kernel, sizeof kernel - 1, &r.module, &error), &error);
    cj_test_ok(cj_module_function(r.module, "k", &r.k, &error), &error);
    cj_test_ok(cj_module_function(r.module, "fixed", &r.fixed, &error), &error);
    return r;
}

static inline void rig_close(rig *r) {
    cj_module_unload(r->module);
    cj_device_close(r->device);
    assert_int_equal(alive(), 0);
}

static inline cj_status launch(const rig *r, cj_function *function, cj_dim3 cluster, uint32_t shared, cj_error *error) {
    uint64_t               out = 0x1234567890abcdefu;
    void                  *arguments[] = {&out};
    const cj_launch_config config = {CJ_INIT(config),     .function = function,   .grid = {16, 2, 1},
                                     .block = {64, 1, 1}, .cluster = cluster,     .dynamic_shared = shared,
                                     .stream = (void *)8, .arguments = arguments, .argument_count = 1,
                                     .nonportable = true};
    return cj_launch(r->device, &config, error);
}

// A launch of k in clusters of 2 with attributes, on a stream or on the default one.
static inline cj_status launch_on(const rig *r, cj_stream stream, const cj_launch_attributes *attributes,
                                  cj_error *error) {
    uint64_t               out = 0;
    const cj_launch_config config = {CJ_INIT(config),           .function = r->k,     .grid = {16, 1, 1},
                                     .block = {64, 1, 1},       .cluster = {2, 1, 1}, .stream = stream,
                                     .attributes = *attributes, CJ_ARGS(out)};
    return cj_launch(r->device, &config, error);
}

static inline cj_status launch_with(const rig *r, const cj_launch_attributes *attributes, cj_error *error) {
    return launch_on(r, NULL, attributes, error);
}

static inline void assert_dim(cj_dim3 d, uint32_t x, uint32_t y, uint32_t z) {
    assert_int_equal(d.x, x);
    assert_int_equal(d.y, y);
    assert_int_equal(d.z, z);
}

static inline void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
}

static inline cj_status fail_work(void *user, cj_error *error) {
    (void)user;
    snprintf(error->message, sizeof error->message, "the work's own error");
    return error->status = CJ_HAZARD;
}

#endif

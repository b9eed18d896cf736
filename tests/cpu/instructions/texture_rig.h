// SPDX-License-Identifier: Apache-2.0
// Kernels with textures and surfaces on the CPU device, and their texels on the host.
#ifndef CJ_TESTS_CPU_TEXTURE_RIG_H
#define CJ_TESTS_CPU_TEXTURE_RIG_H

#include <clusterjit/texture.h>
#include <stdlib.h>

#include "kernel.h"

enum { TEXELS_MOST = 1 << 14, THREADS = 64 };  // bytes of an image; of a launch

static cj_device    *device;
static cj_ptr        texels, inputs, outputs;
static unsigned char host[TEXELS_MOST];  // the texels, as the test expects them
static uint32_t      in[THREADS][8], out[THREADS][8];

static int set_up(void **state) {
    (void)state;
    cj_error error = {0};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .threads = 2};
    device = open_cpu();
    cj_test_ok(cj_mem_alloc(device, TEXELS_MOST, &texels, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof in, &inputs, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof out, &outputs, &error), &error);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    cj_mem_free(device, texels);
    cj_mem_free(device, inputs);
    cj_mem_free(device, outputs);
    cj_device_close(device);
    return 0;
}

// A kernel of THREADS threads in two blocks: `body` finds the handle in %handle, its thread's 8 words of `in` in %f0 to %f7 and
// %r0 to %r7; the 8 words %o0 to %o7 go to `out`.
static inline cj_status run_with(uint64_t handle, const char *body, cj_error *error) {
    char         ptx[6000];
    cj_module   *module = NULL;
    cj_function *function = NULL;
    size_t       length = (size_t)snprintf(
              ptx, sizeof ptx,
              ".version 8.0\n.target sm_90\n.address_size 64\n"
                    ".visible .entry kernel(.param .u64 h, .param .u64 i, .param .u64 o)\n{\n"
                    "    .reg .b32 %%r<8>, %%o<8>, %%t, %%n;\n    .reg .f32 %%f<8>;\n"
                    "    .reg .b64 %%handle, %%in, %%out, %%l<4>;\n    .reg .b16 %%h<8>;\n    .reg .pred %%p<2>;\n"
                    "    ld.param.u64 %%handle, [h];\n    ld.param.u64 %%in, [i];\n"
                    "    ld.param.u64 %%out, [o];\n    mov.u32 %%t, %%ctaid.x;\n"
                    "    mov.u32 %%n, %%tid.x;\n    mad.lo.u32 %%t, %%t, %d, %%n;\n"
                    "    mad.wide.u32 %%in, %%t, 32, %%in;\n    mad.wide.u32 %%out, %%t, 32, %%out;\n",
              THREADS / 2);
    for (unsigned k = 0; k < 8; k++)
        length += (size_t)snprintf(
            ptx + length, sizeof ptx - length,
            "    ld.global.f32 %%f%u, [%%in+%u];\n    mov.b32 %%r%u, %%f%u;\n    mov.u32 %%o%u, 0;\n", k, 4 * k, k, k,
            k);
    length += (size_t)snprintf(ptx + length, sizeof ptx - length, "    %s\n", body);
    for (unsigned k = 0; k < 8; k++)
        length += (size_t)snprintf(ptx + length, sizeof ptx - length, "    st.global.u32 [%%out+%u], %%o%u;\n", 4 * k,
                                   k);
    length += (size_t)snprintf(ptx + length, sizeof ptx - length, "    ret;\n}\n");
    cj_test_ok(cj_mem_write(device, inputs, in, sizeof in, NULL, error), error);
    cj_test_ok(cj_module_from_ptx(device, ptx, length, &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_status status = cj_launch(device,
                                       &(cj_launch_config){CJ_INIT(cj_launch_config), .function = function,
                                                           .grid = {2, 1, 1}, .block = {THREADS / 2, 1, 1},
                                                           CJ_ARGS(handle, inputs, outputs)},
                                       error);
    cj_module_unload(module);
    if (!status) cj_test_ok(cj_mem_read(device, out, outputs, sizeof out, NULL, error), error);
    return status;
}

static inline void run(uint64_t handle, const char *body) {
    cj_error error = {0};
    if (run_with(handle, body, &error)) fail_msg("%s: %s", body, error.message);
}

// The launch finds this rule, with these words.
static inline void expect_hazard(uint64_t handle, const char *body, const char *rule, const char *words) {
    cj_error        error = {0};
    const cj_status status = run_with(handle, body, &error);
    if (status != CJ_HAZARD || strcmp(error.rule, rule) != 0 || !strstr(error.message, words))
        fail_msg("%s: status %d, rule '%s', '%s' and not '%s', '%s'", body, status, error.rule, error.message, rule,
                 words);
}

static inline uint32_t texel_bytes(const cj_image *image) {
    switch (image->format) {
#define CJ_X(name, value, bytes) \
    case CJ_TEXEL_##name: return bytes * image->channels;
        CJ_TEXEL_LIST(CJ_X)
#undef CJ_X
    default: return 0;
    }
}

static const cj_texel formats[] = {
#define CJ_X(name, value, bytes) CJ_TEXEL_##name,
    CJ_TEXEL_LIST(CJ_X)
#undef CJ_X
};

static inline uint32_t below(uint64_t *random, uint32_t end) { return (uint32_t)(cj_test_random(random) % end); }

// An image of random bytes, also between the rows. Halves and floats are finite.
static inline cj_image draw_image(uint64_t *random, unsigned dims, bool layered) {
    cj_image image = {CJ_INIT(image), .address = texels, .format = formats[below(random, CJ_TEST_COUNT(formats))]};
    image.channels = 1u << below(random, 3);
    const uint32_t texel = texel_bytes(&image);
    image.width = 1 + below(random, 9);
    image.height = dims > 1 ? 1 + below(random, 6) : 0;
    image.depth = dims > 2 ? 1 + below(random, 5) : 0;
    image.layers = layered ? 1 + below(random, 4) : 0;
    image.row_bytes = (image.width + below(random, 3)) * texel;
    image.slice_bytes = image.row_bytes * (dims > 1 ? image.height + below(random, 2) : 1);
    for (size_t i = 0; i < sizeof host; i++) host[i] = (unsigned char)below(random, 256);
    if (image.format == CJ_TEXEL_F16 || image.format == CJ_TEXEL_F32) {
        const unsigned bytes = image.format == CJ_TEXEL_F16 ? 2 : 4;
        for (size_t i = bytes - 1; i < sizeof host; i += bytes) host[i] = (unsigned char)(0x38 | (host[i] & 0x83));
    }
    cj_error error = {0};
    cj_test_ok(cj_mem_write(device, texels, host, sizeof host, NULL, &error), &error);
    return image;
}

static inline size_t size_or_one(size_t size) { return size ? size : 1; }

// The texel's bytes.
static inline unsigned char *texel_at(const cj_image *image, size_t x, size_t y, size_t z) {
    return host + x * texel_bytes(image) + y * image->row_bytes + z * image->slice_bytes;
}

#endif

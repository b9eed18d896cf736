// SPDX-License-Identifier: Apache-2.0
// suld, sust and sured against a model of the surface's bytes: random surfaces, forms, coordinates inside and outside, what is
// done outside.
#include "texture_rig.h"

enum { CASES = 400 };

typedef struct drawn {
    cj_image    image;
    unsigned    dims;
    bool        layered;
    unsigned    element, count;  // bytes of an element, elements
    const char *outside;
    uint64_t    handle;
} drawn;

static const char *const modes[] = {"trap", "clamp", "zero"};

static void draw(uint64_t *random, drawn *d) {
    cj_error error = {0};
    d->dims = 1 + below(random, 3);
    d->layered = d->dims < 3 && below(random, 3) == 0;
    d->image = draw_image(random, d->dims, d->layered);
    d->element = 1u << below(random, 4);
    d->count = d->element == 8 ? 1u << below(random, 2) : 1u << below(random, 3);
    d->outside = modes[below(random, 3)];
    cj_test_ok(cj_cpu_surface_create(device, &d->image, &d->handle, &error), &error);
    const size_t bytes = d->element * d->count, row = d->image.width * texel_bytes(&d->image);
    const int    margin = strcmp(d->outside, "trap") ? 2 : 0;
    const size_t sizes[4] = {row / bytes, size_or_one(d->image.height), size_or_one(d->image.depth),
                             size_or_one(d->image.layers)};
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned k = 0; k < 4; k++)
            in[t][k] = (uint32_t)((int)below(random, (uint32_t)sizes[k] + 2 * (uint32_t)margin + !sizes[k]) - margin);
        in[t][0] *= (uint32_t)bytes;
        for (unsigned k = 4; k < 8; k++) in[t][k] = (uint32_t)cj_test_random(random);
    }
}

static const char *coordinates(const drawn *d) {
    static const char *const texts[2][3] = {{"%r0", "%r0, %r1", "%r0, %r1, %r2, %r2"},
                                            {"%r3, %r0", "%r3, %r0, %r1, %r1", ""}};
    return texts[d->layered][d->dims - 1];
}

// The model's place of a thread's access, in the copy on the host. NULL: outside, where a load gives 0 and a store does nothing.
static unsigned char *place(const drawn *d, unsigned thread, unsigned bytes) {
    const int row = (int)(d->image.width * texel_bytes(&d->image));
    const int last[3] = {row / (int)bytes * (int)bytes - (int)bytes, (int)size_or_one(d->image.height) - 1,
                         (int)(d->layered ? d->image.layers : size_or_one(d->image.depth)) - 1};
    int       at[3] = {(int)in[thread][0], d->dims > 1 ? (int)in[thread][1] : 0, d->dims > 2 ? (int)in[thread][2] : 0};
    if (d->layered) at[2] = (int)in[thread][3];
    for (unsigned k = 0; k < 3; k++) {
        const int inside = at[k] < 0 ? 0 : at[k] > last[k] ? last[k] : at[k];
        if (inside != at[k] && !strcmp(d->outside, "zero")) return NULL;
        at[k] = inside;
    }
    return host + at[0] + (size_t)at[1] * d->image.row_bytes + (size_t)at[2] * d->image.slice_bytes;
}

static bool fits(const drawn *d, unsigned bytes) { return d->image.width * texel_bytes(&d->image) >= bytes; }

// "suld.b.a2d.v2.b16.clamp"; the registers of elements are %h0…, %r4… or %l0….
static void spell(const drawn *d, const char *opcode, char mnemonic[64], char registers[64]) {
    static const char *const vectors[] = {"", "", ".v2", "", ".v4"};
    const char class = d->element < 4 ? 'h' : d->element == 4 ? 'r' : 'l';
    size_t used = 0;
    snprintf(mnemonic, 64, "%s.%s%ud%s.b%u.%s", opcode, d->layered ? "a" : "", d->dims, vectors[d->count],
             8 * d->element, d->outside);
    for (unsigned k = 0; k < d->count; k++)
        used += (size_t)snprintf(registers + used, 64 - used, "%s%%%c%u", k ? ", " : "", class,
                                 k + (class == 'r' ? 4 : 0));
}

// The words %r4 to %r7 as elements; an element of 8 bytes takes two.
static const char *to_elements(const drawn *d) {
    static char text[256];
    size_t      used = 0;
    text[0] = '\0';
    for (unsigned k = 0; k < d->count; k++) {
        if (d->element < 4)
            used += (size_t)snprintf(text + used, sizeof text - used, "cvt.u16.u32 %%h%u, %%r%u; ", k, k + 4);
        if (d->element > 4)
            used += (size_t)snprintf(text + used, sizeof text - used, "mov.b64 %%l%u, {%%r%u, %%r%u}; ", k, 2 * k + 4,
                                     2 * k + 5);
    }
    return text;
}

// The elements as %o0 to %o3.
static const char *from_elements(const drawn *d) {
    static char text[256];
    size_t      used = 0;
    text[0] = '\0';
    for (unsigned k = 0; k < d->count; k++) {
        if (d->element < 4)
            used += (size_t)snprintf(text + used, sizeof text - used, "cvt.u32.u16 %%o%u, %%h%u; ", k, k);
        else if (d->element == 4)
            used += (size_t)snprintf(text + used, sizeof text - used, "mov.b32 %%o%u, %%r%u; ", k, k + 4);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "mov.b64 {%%o%u, %%o%u}, %%l%u; ", 2 * k,
                                     2 * k + 1, k);
    }
    return text;
}

static void loads_are_those_of_the_model(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned n = 0; n < CASES; n++) {
        drawn d;
        char  mnemonic[64], registers[64], body[600];
        draw(&random, &d);
        const unsigned bytes = d.element * d.count;
        if (!fits(&d, bytes)) continue;
        spell(&d, "suld.b", mnemonic, registers);
        snprintf(body, sizeof body, "%s {%s}, [%%handle, {%s}];\n    %s", mnemonic, registers, coordinates(&d),
                 from_elements(&d));
        run(d.handle, body);
        for (unsigned t = 0; t < THREADS; t++) {
            const unsigned char *at = place(&d, t, bytes);
            for (unsigned k = 0; k < d.count; k++) {
                uint32_t wanted[2] = {0};
                if (at) memcpy(wanted, at + k * d.element, d.element);
                const bool is_wide = d.element == 8;
                if (out[t][k << is_wide] != wanted[0] || (is_wide && out[t][2 * k + 1] != wanted[1]))
                    fail_msg("%s: element %u of thread %u is 0x%x, not 0x%x", body, k, t, out[t][k << is_wide],
                             wanted[0]);
            }
        }
        cj_cpu_surface_destroy(device, d.handle);
    }
}

// Only thread 0 executes it, so that no two threads store to one place.
#define ALONE "setp.ne.u32 %%p0, %%t, 0;\n    @%%p0 bra DONE;\n    "
#define DONE "\n    DONE: mov.u32 %%o0, 1;"

static void expect_texels(const char *body) {
    static unsigned char got[TEXELS_MOST];
    cj_error             error = {0};
    cj_test_ok(cj_mem_read(device, got, texels, sizeof got, NULL, &error), &error);
    for (size_t i = 0; i < sizeof got; i++)
        if (got[i] != host[i]) fail_msg("%s: byte %zu is 0x%x, not 0x%x", body, i, got[i], host[i]);
}

static void stores_are_those_of_the_model(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned n = 0; n < CASES; n++) {
        drawn d;
        char  mnemonic[64], registers[64], body[600];
        draw(&random, &d);
        const unsigned bytes = d.element * d.count;
        if (!fits(&d, bytes)) continue;
        spell(&d, "sust.b", mnemonic, registers);
        snprintf(body, sizeof body, ALONE "%s%s [%%handle, {%s}], {%s};" DONE, to_elements(&d), mnemonic,
                 coordinates(&d), registers);
        run(d.handle, body);
        unsigned char *at = place(&d, 0, bytes);
        const unsigned step = d.element < 4 ? 4 : d.element;  // between elements among the words
        for (unsigned k = 0; at && k < d.count; k++)
            memcpy(at + k * d.element, (const unsigned char *)&in[0][4] + k * step, d.element);
        expect_texels(body);
        cj_cpu_surface_destroy(device, d.handle);
    }
}

// x counts texels; a component is a 32-bit value that is brought into the format.
static void formatted_stores_convert(void **state) {
    (void)state;
    static const struct {
        cj_texel      format;
        uint32_t      value;
        unsigned char bytes[4];
    } cases[] = {
        {CJ_TEXEL_U8, 200, {200}},
        {CJ_TEXEL_U8, 300, {255}},
        {CJ_TEXEL_S8, (uint32_t)-5, {0xfb}},
        {CJ_TEXEL_S8, 0x80000000, {0x80}},
        {CJ_TEXEL_U16, 70000, {0xff, 0xff}},
        {CJ_TEXEL_S16, 40000, {0xff, 0x7f}},
        {CJ_TEXEL_U32, 7, {7}},
        {CJ_TEXEL_F16, 0x3f800000, {0, 0x3c}},
        {CJ_TEXEL_F32, 0x3f800000, {0, 0, 0x80, 0x3f}},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_image       image = {CJ_INIT(image), .address = texels, .format = cases[i].format,
                                .channels = 1,  .width = 8,        .height = 2};
        const unsigned bytes = texel_bytes(&image);
        cj_error       error = {0};
        uint64_t       handle;
        char           body[300];
        memset(host, 0x11, sizeof host);
        cj_test_ok(cj_mem_write(device, texels, host, sizeof host, NULL, &error), &error);
        cj_test_ok(cj_cpu_surface_create(device, &image, &handle, &error), &error);
        snprintf(body, sizeof body, ALONE "sust.p.2d.v2.b32.trap [%%handle, {3, 1}], {%u, 9};" DONE, cases[i].value);
        run(handle, body);
        memcpy(host + (8 + 3) * bytes, cases[i].bytes, bytes);
        expect_texels(body);
    }
}

static void reductions_are_atomic(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint32_t    before, after;  // of texel 1
    } cases[] = {
        {"sured.b.1d.add.u32.trap [%handle, {4}], %t;", 5, 5 + THREADS * (THREADS - 1) / 2},
        {"sured.b.1d.max.s32.trap [%handle, {4}], %t;", (uint32_t)-9, THREADS - 1},
        {"sured.b.1d.min.u32.clamp [%handle, {4}], %t;", (uint32_t)-9, 0},
        {"sured.b.1d.or.b32.zero [%handle, {4}], %t;", 256, 256 + THREADS - 1},
        {"sured.p.1d.add.b32.trap [%handle, {1}], %t;", 5, 5 + THREADS * (THREADS - 1) / 2},
        {"sured.p.1d.min.b32.trap [%handle, {1}], %t;", (uint32_t)-9, (uint32_t)-9},
        {"sured.b.1d.add.u32.zero [%handle, {64}], %t;", 5, 5},
    };
    const cj_image image = {CJ_INIT(image), .address = texels, .format = CJ_TEXEL_S32, .channels = 1, .width = 16};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error = {0};
        uint64_t handle;
        uint32_t after = 0;
        cj_test_ok(cj_mem_write(device, texels + 4, &cases[i].before, 4, NULL, &error), &error);
        cj_test_ok(cj_cpu_surface_create(device, &image, &handle, &error), &error);
        run(handle, cases[i].line);
        cj_test_ok(cj_mem_read(device, &after, texels + 4, 4, NULL, &error), &error);
        if (after != cases[i].after) fail_msg("%s: %u and not %u", cases[i].line, after, cases[i].after);
    }
}

static void misuse_is_found(void **state) {
    (void)state;
    const cj_image image = {CJ_INIT(image), .address = texels, .format = CJ_TEXEL_U16,
                            .channels = 2,  .width = 4,        .height = 3};
    cj_error       error = {0};
    uint64_t       handle;
    cj_test_ok(cj_mem_fill(device, texels, 0, TEXELS_MOST, NULL, &error), &error);
    cj_test_ok(cj_cpu_surface_create(device, &image, &handle, &error), &error);
    expect_hazard(handle, "suld.b.2d.b32.trap {%o0}, [%handle, {16, 0}];", "out-of-bounds",
                  "4 bytes at byte 16 of row 0 of slice 0 lie outside of the surface, 4 x 3 x 1 texels of 4 bytes");
    const cj_image narrow = {CJ_INIT(narrow), .address = texels, .format = CJ_TEXEL_U8, .channels = 1, .width = 2};
    uint64_t       two;
    cj_test_ok(cj_cpu_surface_create(device, &narrow, &two, &error), &error);
    expect_hazard(two, "suld.b.1d.b32.clamp {%o0}, [%handle, {0}];", "out-of-bounds", "2 x 1 x 1 texels of 1 bytes");
    run(two, "suld.b.1d.b32.zero {%o0}, [%handle, {0}];");
    assert_int_equal(out[3][0], 0);
    expect_hazard(handle, "sust.b.2d.b32.trap [%handle, {0, -1}], {%r0};", "out-of-bounds", "row -1");
    expect_hazard(handle, "suld.b.2d.b32.zero {%o0}, [%handle, {2, 0}];", "misaligned",
                  "byte 2 of a row is no multiple");
    expect_hazard(handle, "suld.b.1d.b32.zero {%o0}, [%handle, {0}];", "texture-handle",
                  "the surface has 2 dimensions");
    expect_hazard(handle, "sured.p.2d.add.b64.trap [%handle, {0, 0}], 1;", "texture-handle", "the operation 8");
    expect_hazard(0, "suld.b.2d.b32.zero {%o0}, [%handle, {0, 0}];", "texture-handle", "0x0 is no surface");
    expect_hazard(handle, "sust.b.2d.b32.trap [%handle, {0, 0}], {%t};", "race-warp", "nothing says whose value stays");
    expect_hazard(handle,
                  "shl.b32 %r1, %t, 2;\n    and.b32 %r1, %r1, 12;\n    setp.lt.u32 %p0, %t, 4;\n"
                  "    @%p0 sust.b.2d.b32.trap [%handle, {%r1, 0}], {%t};\n"
                  "    @%p0 suld.b.2d.b32.trap {%o0}, [%handle, {%r1, 0}];",
                  "texture-coherence", "do not see what their own launch writes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_are_those_of_the_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stores_are_those_of_the_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(formatted_stores_convert, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reductions_are_atomic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misuse_is_found, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

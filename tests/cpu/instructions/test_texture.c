// SPDX-License-Identifier: Apache-2.0
// tex, tld4 and txq against the formulas of the CUDA C++ Programming Guide ("Texture Fetching"), in f64: random images, formats,
// samplers and coordinates, those on the boundaries and those that are no numbers among them.
#include <math.h>

#include "scaffold.h"
#include "texture_rig.h"

enum { CASES = 400, CHANNELS = 4 };

// ---- the reference

typedef struct reference {
    const cj_image   *image;
    const cj_sampler *sampler;
    bool              integer;  // coordinates
    size_t            size[3];
    size_t            layer;
    bool              layered;
} reference;

static bool is_real(const reference *r) {
    const cj_texel format = r->image->format;
    if (format == CJ_TEXEL_F16 || format == CJ_TEXEL_F32) return true;
    return format != CJ_TEXEL_U32 && format != CJ_TEXEL_S32 && !r->sampler->as_integer;
}

static double half(unsigned code) {
    const int    exponent = (int)(code >> 10 & 31);
    const double fraction = (code & 1023) / 1024.0, sign = code >> 15 ? -1 : 1;
    return sign * (exponent ? ldexp(1 + fraction, exponent - 15) : ldexp(fraction, -14));
}

// A component as a number: a fraction for integers that are read as floats.
static double component(const reference *r, const unsigned char *at) {
    const bool real = is_real(r);
    float      f;
    int16_t    s;
    int32_t    wide;
    switch (r->image->format) {
    case CJ_TEXEL_U8: return real ? *at / 255.0 : *at;
    case CJ_TEXEL_S8: return real ? fmax(-1, (signed char)*at / 127.0) : (signed char)*at;
    case CJ_TEXEL_U16: return (at[0] | at[1] << 8) / (real ? 65535.0 : 1.0);
    case CJ_TEXEL_S16: memcpy(&s, at, 2); return real ? fmax(-1, s / 32767.0) : s;
    case CJ_TEXEL_F16: return half((unsigned)(at[0] | at[1] << 8));
    case CJ_TEXEL_F32: memcpy(&f, at, 4); return (double)f;
    case CJ_TEXEL_U32: memcpy(&wide, at, 4); return (double)(uint32_t)wide;
    default: memcpy(&wide, at, 4); return wide;
    }
}

static cj_address_mode mode_of(const reference *r, unsigned axis) {
    const cj_address_mode mode = r->sampler->address[axis];
    if (mode == CJ_ADDRESS_BORDER || (r->sampler->normalized && !r->integer)) return mode;
    return CJ_ADDRESS_CLAMP;
}

// T[i] of the guide along one axis; false: the border.
static bool wrapped(const reference *r, unsigned axis, double *i) {
    const double n = (double)r->size[axis];
    switch (mode_of(r, axis)) {
    case CJ_ADDRESS_WRAP: *i -= n * floor(*i / n); return true;
    case CJ_ADDRESS_MIRROR:
        *i -= 2 * n * floor(*i / (2 * n));
        if (*i >= n) *i = 2 * n - 1 - *i;
        return true;
    case CJ_ADDRESS_CLAMP: *i = fmin(fmax(*i, 0), n - 1); return true;
    default: return *i >= 0 && *i < n;
    }
}

static double texel(const reference *r, const double at[3], unsigned channel) {
    double i[3] = {at[0], at[1], at[2]};
    if (channel >= r->image->channels) return 0;
    for (unsigned k = 0; k < 3; k++)
        if (!wrapped(r, k, &i[k])) return (double)r->sampler->border[channel];
    const size_t z = r->layered ? (r->layer < r->image->layers ? r->layer : r->image->layers - 1) : (size_t)i[2];
    return component(r, texel_at(r->image, (size_t)i[0], (size_t)i[1], z) +
                            channel * texel_bytes(r->image) / r->image->channels);
}

// Along `axis` and those below: (1 - a) T[i] + a T[i + 1], a with 8 bits of fraction.
static double linear(const reference *r, const double x[3], double at[3], int axis, unsigned channel) {
    if (axis < 0) return texel(r, at, channel);
    const double position = r->size[axis] && x[axis] == x[axis] ? x[axis] - 0.5 : 0;
    const double steps = floor(position * 256 + 0.5), i = floor(steps / 256), a = steps / 256 - i;
    at[axis] = i;
    const double low = a < 1 ? linear(r, x, at, axis - 1, channel) : 0;
    if (a == 0) return low;
    at[axis] = i + 1;
    return (1 - a) * low + a * linear(r, x, at, axis - 1, channel);
}

// The position in texels. Repeating modes repeat after it: of an infinite coordinate they read that of 0.
static double position(const reference *r, unsigned axis, float given) {
    const double n = (double)r->size[axis];
    double       x = given != given ? 0 : (double)given;
    if (r->integer || !r->sampler->normalized) return fmin(fmax(x, -1e12), 1e12);
    if (mode_of(r, axis) == CJ_ADDRESS_WRAP) x = isinf(x) ? 0 : x - floor(x);
    if (mode_of(r, axis) == CJ_ADDRESS_MIRROR) x = isinf(x) ? 0 : x - 2 * floor(x / 2);
    return fmin(fmax(x * n, -1e12), 1e12);
}

static double expected(const reference *r, unsigned dims, const float coordinate[3], unsigned channel) {
    double x[3] = {0}, at[3] = {0};
    for (unsigned k = 0; k < dims; k++) x[k] = position(r, k, coordinate[k]);
    if (r->sampler->filter == CJ_FILTER_LINEAR && !r->integer) return linear(r, x, at, (int)dims - 1, channel);
    for (unsigned k = 0; k < dims; k++) at[k] = floor(x[k]);
    return texel(r, at, channel);
}

// ---- drawing

static cj_sampler draw_sampler(uint64_t *random, const cj_image *image) {
    const bool wide = image->format == CJ_TEXEL_U32 || image->format == CJ_TEXEL_S32;
    const bool real = image->format == CJ_TEXEL_F16 || image->format == CJ_TEXEL_F32;
    cj_sampler sampler = {CJ_INIT(sampler), .normalized = below(random, 2), .as_integer = !real && below(random, 2)};
    for (unsigned k = 0; k < 3; k++) sampler.address[k] = (cj_address_mode)below(random, 4);
    for (unsigned k = 0; k < CHANNELS; k++) sampler.border[k] = (float)(1 + below(random, 9));
    if (!wide && !sampler.as_integer && below(random, 3)) sampler.filter = CJ_FILTER_LINEAR;
    return sampler;
}

// On or around texels and their centres, anywhere, far away, or no number.
static float draw_coordinate(uint64_t *random, size_t size, bool normalized, bool integer) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f, -1e30f, 1e-30f, 3e9f};
    const double       scale = normalized && !integer ? 1.0 / (double)size : 1;
    const int          n = (int)size;
    if (!integer && below(random, 12) == 0) return odd[below(random, CJ_TEST_COUNT(odd))];
    const double whole = (int)below(random, (uint32_t)(4 * n + 4)) - 2 * n - 2;
    if (integer) return (float)whole;
    switch (below(random, 3)) {
    case 0: return (float)(whole * scale);
    case 1: return (float)((whole + 0.5) * scale);
    default: return (float)((whole + below(random, 1 << 16) / 65536.0) * scale);
    }
}

// ---- a launch of one texture, held against the reference

typedef struct drawn {
    cj_image   image;
    cj_sampler sampler;
    unsigned   dims;
    bool       layered, integer;
    uint64_t   handle;
    char       body[300];
} drawn;

static void draw(uint64_t *random, drawn *d) {
    cj_error error = {0};
    d->dims = 1 + below(random, 3);
    d->layered = d->dims < 3 && below(random, 3) == 0;
    d->image = draw_image(random, d->dims, d->layered);
    d->sampler = draw_sampler(random, &d->image);
    d->integer = below(random, 4) == 0;
    cj_test_ok(cj_cpu_texture_create(device, &d->image, &d->sampler, &d->handle, &error), &error);
    const size_t size[3] = {d->image.width, size_or_one(d->image.height), size_or_one(d->image.depth)};
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned k = 0; k < 3; k++) {
            const float   x = draw_coordinate(random, size[k], d->sampler.normalized, d->integer);
            const int32_t whole = (int32_t)(d->integer ? x : 0);
            if (d->integer)
                memcpy(&in[t][k], &whole, 4);
            else
                memcpy(&in[t][k], &x, 4);
        }
        in[t][3] = below(random, 6);
    }
}

static const char *coordinates(const drawn *d) {
    static const char *const real[2][3] = {{"%f0", "%f0, %f1", "%f0, %f1, %f2, %f2"},
                                           {"%r3, %f0", "%r3, %f0, %f1, %f1", ""}};
    static const char *const integer[2][3] = {{"%r0", "%r0, %r1", "%r0, %r1, %r2, %r2"},
                                              {"%r3, %r0", "%r3, %r0, %r1, %r1", ""}};
    return (d->integer ? integer : real)[d->layered][d->dims - 1];
}

static reference reference_of(const drawn *d, unsigned thread) {
    return (reference){.image = &d->image,
                       .sampler = &d->sampler,
                       .integer = d->integer,
                       .size = {d->image.width, size_or_one(d->image.height), size_or_one(d->image.depth)},
                       .layer = in[thread][3],
                       .layered = d->layered};
}

static void given(const drawn *d, unsigned thread, float x[3]) {
    for (unsigned k = 0; k < 3; k++) {
        int32_t whole;
        memcpy(&whole, &in[thread][k], 4);
        memcpy(&x[k], &in[thread][k], 4);
        if (d->integer) x[k] = (float)whole;
    }
}

// Linear fetches are sums of floats: equal to a few units of the largest summand.
static bool is_near(const drawn *d, bool real, uint32_t bits, double wanted) {
    float value;
    memcpy(&value, &bits, 4);
    if (!real) return bits == (uint32_t)(int64_t)wanted;
    if (d->sampler.filter == CJ_FILTER_POINT || d->integer) return value == (float)wanted;
    return fabs((double)value - wanted) <= 1e-6 * (1 + fabs(wanted));
}

static void hold(const drawn *d) {
    for (unsigned t = 0; t < THREADS; t++) {
        const reference r = reference_of(d, t);
        float           x[3];
        given(d, t, x);
        for (unsigned c = 0; c < CHANNELS; c++) {
            const double wanted = expected(&r, d->dims, x, c);
            if (is_near(d, is_real(&r), out[t][c], wanted)) continue;
            fail_msg("%s: (%g, %g, %g), layer %u, component %u: 0x%x and not %.9g; format 0x%x, %zu x %zu x %zu, "
                     "address %d %d %d,"
                     " filter %d, normalized %d",
                     d->body, (double)x[0], (double)x[1], (double)x[2], in[t][3], c, out[t][c], wanted,
                     (unsigned)d->image.format, d->image.width, d->image.height, d->image.depth,
                     (int)d->sampler.address[0], (int)d->sampler.address[1], (int)d->sampler.address[2],
                     (int)d->sampler.filter, d->sampler.normalized);
        }
    }
}

static void fetches_are_those_of_the_guide(void **state) {
    (void)state;
    static const char *const ways[] = {"", ".base", ".level"};
    uint64_t                 random = cj_test_seed();
    for (unsigned n = 0; n < CASES; n++) {
        drawn          d;
        char           mnemonic[64];
        const unsigned way = below(&random, 3);
        draw(&random, &d);
        const reference r = reference_of(&d, 0);
        const char     *type = is_real(&r) ? "f32" : d.image.format < CJ_TEXEL_S8 ? "u32" : "s32";
        const char      dims[] = {(char)('0' + d.dims), 'd', '\0'};
        snprintf(mnemonic, sizeof mnemonic, "tex%s.%s%s.v4.%s.%s", ways[way], d.layered ? "a" : "", dims, type,
                 d.integer ? "s32" : "f32");
        snprintf(d.body, sizeof d.body, "%s {%s, %s, %s, %s}, [%%handle, {%s}]%s;", mnemonic, "%o0", "%o1", "%o2",
                 "%o3", coordinates(&d),
                 way < 2     ? ""
                 : d.integer ? ", 0"
                             : ", 0f00000000");
        run(d.handle, d.body);
        hold(&d);
        cj_cpu_texture_destroy(device, d.handle);
    }
}

static void gradients_choose_no_level(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned n = 0; n < CASES / 4; n++) {
        drawn d;
        do draw(&random, &d);
        while (d.dims != 2 || d.integer || d.layered);
        const reference r = reference_of(&d, 0);
        snprintf(
            d.body, sizeof d.body,
            "tex.grad.2d.v4.%s.f32 {%%o0, %%o1, %%o2, %%o3}, [%%handle, {%%f0, %%f1}], {%%f2, %%f3}, {%%f0, %%f2};",
            is_real(&r) ? "f32" : "s32");
        run(d.handle, d.body);
        hold(&d);
    }
}

// The four texels of a linear fetch, from the lower left one on, against the clock.
static void gathers_take_one_component(void **state) {
    (void)state;
    static const double around[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    uint64_t            random = cj_test_seed();
    for (unsigned n = 0; n < CASES / 3; n++) {
        drawn d;
        do draw(&random, &d);
        while (d.dims != 2 || d.integer);
        const unsigned  c = below(&random, CHANNELS);
        const reference first = reference_of(&d, 0);
        snprintf(d.body, sizeof d.body, "tld4.%c.%s2d.v4.%s.f32 {%%o0, %%o1, %%o2, %%o3}, [%%handle, {%s}];", "rgba"[c],
                 d.layered ? "a" : "", is_real(&first) ? "f32" : "s32", coordinates(&d));
        run(d.handle, d.body);
        d.sampler.filter = CJ_FILTER_POINT;  // of the texels themselves: exact
        for (unsigned t = 0; t < THREADS; t++) {
            const reference r = reference_of(&d, t);
            float           x[3];
            given(&d, t, x);
            for (unsigned k = 0; k < 4; k++) {
                double at[3] = {0};
                for (unsigned a = 0; a < 2; a++)
                    at[a] = floor(floor((position(&r, a, x[a]) - 0.5) * 256 + 0.5) / 256) + around[k][a];
                const double wanted = texel(&r, at, c);
                if (!is_near(&d, is_real(&r), out[t][k], wanted))
                    fail_msg("%s: texel %u of (%g, %g): 0x%x and not %g", d.body, k, (double)x[0], (double)x[1],
                             out[t][k], wanted);
            }
        }
    }
}

static void halves_come_in_pairs(void **state) {
    (void)state;
    static const uint16_t codes[4] = {0x3c00, 0xc000, 0x3555, 0x7bff};  // 1, -2, 1/3, the largest
    const cj_image image = {CJ_INIT(image), .address = texels, .format = CJ_TEXEL_F16, .channels = 4, .width = 1};
    cj_error              error = {0};
    uint64_t              handle;
    cj_test_ok(cj_mem_write(device, texels, codes, sizeof codes, NULL, &error), &error);
    cj_test_ok(cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler)}, &handle, &error), &error);
    run(handle, "tex.1d.v2.f16x2.f32 {%o0, %o1}, [%handle, {%f0}];");
    assert_int_equal(out[5][0], 0xc0003c00);
    assert_int_equal(out[5][1], 0x7bff3555);
}

static void queries_tell_the_extents(void **state) {
    (void)state;
    const cj_image image = {CJ_INIT(image), .address = texels, .format = CJ_TEXEL_U8, .channels = 1, .width = 9,
                            .height = 5,    .layers = 3};
    cj_error error = {0};
    uint64_t handle, surface;
    cj_test_ok(
        cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler), .normalized = true}, &handle, &error),
        &error);
    cj_test_ok(cj_cpu_surface_create(device, &image, &surface, &error), &error);
    run(handle, "txq.width.b32 %o0, [%handle];\n    txq.height.b32 %o1, [%handle];\n    txq.depth.b32 %o2, [%handle];\n"
                "    txq.array_size.b32 %o3, [%handle];\n    txq.normalized_coords.b32 %o4, [%handle];\n"
                "    txq.level.width.b32 %o5, [%handle], 0;\n    txq.num_mipmap_levels.b32 %o6, [%handle];");
    static const uint32_t of_texture[] = {9, 5, 0, 3, 1, 9, 1}, of_surface[] = {9, 5, 3, 0};
    assert_memory_equal(out[63], of_texture, sizeof of_texture);
    run(surface,
        "suq.width.b32 %o0, [%handle];\n    suq.height.b32 %o1, [%handle];\n    suq.array_size.b32 %o2, [%handle];\n"
        "    suq.memory_layout.b32 %o3, [%handle];");
    assert_memory_equal(out[63], of_surface, sizeof of_surface);
    expect_hazard(surface, "txq.width.b32 %o0, [%handle];", "texture-handle", "is no texture of this device");
}

// ---- misuse

#define FETCH "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%handle, {%f0}];"

static void wrong_handles_are_named(void **state) {
    (void)state;
    const cj_image image = {CJ_INIT(image), .address = texels, .format = CJ_TEXEL_F32,
                            .channels = 1,  .width = 4,        .height = 4};
    cj_error       error = {0};
    uint64_t       first, second, third;
    memset(in, 0, sizeof in);
    cj_test_ok(cj_mem_fill(device, texels, 0, TEXELS_MOST, NULL, &error), &error);
    cj_test_ok(cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler)}, &first, &error), &error);
    expect_hazard(first, FETCH, "texture-handle", "the texture has 2 dimensions, the instruction takes 1");
    expect_hazard(first, "tex.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%handle, {%r0, %f0, %f1, %f1}];", "texture-handle",
                  "the instruction takes 2 and a layer");
    expect_hazard(0, FETCH, "texture-handle", "0x0 is no texture");
    expect_hazard(texels, FETCH, "texture-handle", "is no texture");
    cj_cpu_texture_destroy(device, first);
    expect_hazard(first, FETCH, "texture-handle", "or one that was destroyed");
    cj_test_ok(cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler)}, &second, &error), &error);
    assert_true(first != second);  // though its place is the same
    expect_hazard(first, FETCH, "texture-handle", "or one that was destroyed");
    cj_test_ok(cj_cpu_surface_create(device, &image, &third, &error), &error);
    expect_hazard(third, FETCH, "texture-handle", "is no texture");
}

static void texels_that_are_gone_are_out_of_bounds(void **state) {
    (void)state;
    cj_image image = {CJ_INIT(image), .format = CJ_TEXEL_F32, .channels = 1, .width = 4};
    cj_error error = {0};
    uint64_t handle;
    memset(in, 0, sizeof in);
    cj_test_ok(cj_mem_alloc(device, 16, &image.address, &error), &error);
    cj_test_ok(cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler)}, &handle, &error), &error);
    expect_hazard(handle, FETCH, "uninitialized", "which nothing has written");
    cj_mem_free(device, image.address);
    expect_hazard(handle, FETCH, "out-of-bounds", "are in no allocation");
}

// Not even a barrier makes a write visible to a texture of the same launch; the next launch sees it.
static void a_texture_does_not_see_what_its_launch_writes(void **state) {
    (void)state;
    const cj_image image = {CJ_INIT(image), .address = outputs, .format = CJ_TEXEL_U32, .channels = 1,
                            .width = sizeof out / 4};
    cj_error       error = {0};
    uint64_t       handle;
    cj_test_ok(cj_mem_fill(device, outputs, 0, sizeof out, NULL, &error), &error);
    cj_test_ok(cj_cpu_texture_create(device, &image, &(cj_sampler){CJ_INIT(cj_sampler)}, &handle, &error), &error);
    for (unsigned t = 0; t < THREADS; t++) in[t][0] = 8 * t;
    run(handle, "tex.1d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%handle, {%r0}];");
    expect_hazard(handle,
                  "st.global.u32 [%out], 7;\n    bar.sync 0;\n"
                  "    tex.1d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%handle, {%r0}];",
                  "texture-coherence", "textures and surfaces do not see what their own launch writes");
    for (unsigned t = 0; t < THREADS; t++) in[t][0] = 8 * (t ^ 1);  // of the same warp: which block is first does not matter
    expect_hazard(handle, "tex.1d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%handle, {%r0}];", "race-warp",
                  "nothing orders them");
}

static void what_the_device_does_not_have_is_refused_when_it_is_reached(void **state) {
    (void)state;
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%handle, {%f0, %f1, %f2, %f2}];", "no cubemaps"},
        {"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%handle, %handle, {%f0, %f1}];", "a sampler of its own"},
        {"txq.channel_order.b32 %o0, [%handle];", "txq.channel_order.b32"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error = {0};
        assert_int_equal(run_with(0, cases[i].line, &error), CJ_UNSUPPORTED);
        if (!strstr(error.message, cases[i].words)) fail_msg("'%s' does not say '%s'", error.message, cases[i].words);
    }
}

static void wrong_descriptions_name_the_field(void **state) {
    (void)state;
    const cj_image   good = {CJ_INIT(good), .address = texels, .format = CJ_TEXEL_U16,
                             .channels = 2, .width = 4,        .height = 4};
    const cj_sampler point = {CJ_INIT(point)};
    cj_image         image = good;
    cj_sampler       sampler = point;
    uint64_t         handle;
#define REFUSED(change, status, words)                                                                            \
    do {                                                                                                          \
        cj_error error = {0};                                                                                     \
        image = good;                                                                                             \
        sampler = point;                                                                                          \
        change;                                                                                                   \
        assert_int_equal(cj_cpu_texture_create(device, &image, &sampler, &handle, &error), status);               \
        if (!strstr(error.message, words)) fail_msg("%s: '%s' does not say '%s'", #change, error.message, words); \
    } while (0)
    REFUSED(image.format = (cj_texel)4, CJ_INVALID_ARGUMENT, "format is 4");
    REFUSED(image.channels = 3, CJ_INVALID_ARGUMENT, "channels is 3");
    REFUSED(image.address += 2, CJ_INVALID_ARGUMENT, "address is");
    REFUSED(image.address = 0, CJ_INVALID_ARGUMENT, "address is 0");
    REFUSED(image.width = 0, CJ_INVALID_ARGUMENT, "width is 0");
    REFUSED(image.width = 131073, CJ_INVALID_ARGUMENT, "width is 131073");
    REFUSED(image.height = 65537, CJ_INVALID_ARGUMENT, "height is 65537");
    REFUSED((image.depth = 2, image.height = 0), CJ_INVALID_ARGUMENT, "height is 0");
    REFUSED((image.depth = 2, image.layers = 2), CJ_INVALID_ARGUMENT, "layers is 2");
    REFUSED(image.layers = 2049, CJ_INVALID_ARGUMENT, "layers is 2049");
    REFUSED(image.row_bytes = 8, CJ_INVALID_ARGUMENT, "row_bytes is 8");
    REFUSED(image.slice_bytes = 16, CJ_INVALID_ARGUMENT, "slice_bytes is 16");
    REFUSED(image.linear = true, CJ_INVALID_ARGUMENT, "height is 4");
    REFUSED(image.row_bytes = TEXELS_MOST, CJ_INVALID_ARGUMENT, "are not in one allocation");
    REFUSED(sampler.address[1] = (cj_address_mode)4, CJ_INVALID_ARGUMENT, "address[1] is 4");
    REFUSED(sampler.filter = (cj_filter)2, CJ_INVALID_ARGUMENT, "filter is 2");
    REFUSED((sampler.filter = CJ_FILTER_LINEAR, sampler.as_integer = true), CJ_INVALID_ARGUMENT, "filter is linear");
    REFUSED(sampler.srgb = true, CJ_UNSUPPORTED, "srgb");
#undef REFUSED
    cj_error error = {0};
    image = (cj_image){CJ_INIT(cj_image), .address = texels, .format = CJ_TEXEL_F32,
                       .channels = 1,     .width = 4,        .linear = true};
    assert_int_equal(cj_cpu_surface_create(device, &image, &handle, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "linear memory has no surface"));
}

// Each row of the instruction table has an executor: its sample gets as far as the handle.
static void each_row_looks_at_its_handle(void **state) {
    (void)state;
    static const char *const   opcodes[] = {"tex", "tld4", "txq", "suq", "suld", "sust", "sured"};
    static const unsigned char parameter[256];
    unsigned                   count = 0;
    for (const cj_row *row = cj__rows; row < cj__rows + CJ_ROW_COUNT; row++) {
        const char *opcode = cj__row_opcode(row);
        size_t      k = 0;
        while (k < CJ_TEST_COUNT(opcodes) && strcmp(opcode, opcodes[k]) != 0) k++;
        if (k == CJ_TEST_COUNT(opcodes)) continue;
        cj_text      text = {0};
        char         lines[512];
        cj_module   *module = NULL;
        cj_function *function = NULL;
        cj_error     error = {0};
        snprintf(lines, sizeof lines, "mov.b64 %%l0, 5;\n    %s\n", row->sample);
        cj_test_head(&text, 80, "sm_90");
        cj_test_entry(&text, "k", lines);
        cj_test_ok(cj_module_from_ptx(device, text.data, text.length, &module, &error), &error);
        cj_test_ok(cj_module_function(module, "k", &function, &error), &error);
        const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                         CJ_ARGS(parameter)};
        if (cj_launch(device, &config, &error) != CJ_HAZARD || strcmp(error.rule, "texture-handle") != 0)
            fail_msg("%s: '%s', rule '%s'", row->sample, error.message, error.rule);
        cj_module_unload(module);
        cj__text_free(&text);
        count++;
    }
    assert_true(count >= 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fetches_are_those_of_the_guide, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gradients_choose_no_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gathers_take_one_component, set_up, tear_down),
        cmocka_unit_test_setup_teardown(halves_come_in_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queries_tell_the_extents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_row_looks_at_its_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_handles_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texels_that_are_gone_are_out_of_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_texture_does_not_see_what_its_launch_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_device_does_not_have_is_refused_when_it_is_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_descriptions_name_the_field, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

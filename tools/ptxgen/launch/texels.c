// SPDX-License-Identifier: Apache-2.0
#include "texels.h"

#include <string.h>

#include "message.h"

#define HINT "'ptxgen help exec' describes textures"

enum { DIMS_MAX = 3 };

static const char texture_prefix[] = "texture:", surface_prefix[] = "surface:";

bool texels_are(const char *text) {
    return !strncmp(text, texture_prefix, strlen(texture_prefix)) ||
           !strncmp(text, surface_prefix, strlen(surface_prefix));
}

static const struct {
    const char *name;
    cj_texel    format;
} types[] = {{"u8", CJ_TEXEL_U8},   {"u16", CJ_TEXEL_U16}, {"u32", CJ_TEXEL_U32}, {"s8", CJ_TEXEL_S8},
             {"s16", CJ_TEXEL_S16}, {"s32", CJ_TEXEL_S32}, {"f16", CJ_TEXEL_F16}, {"f32", CJ_TEXEL_F32}};

static int read_type(texels *t, const char *text, const char *at, size_t length) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!spec_is(at, length, types[i].name)) continue;
        t->image.format = types[i].format;
        t->element = value_type_named(at, length);
        return CODE_OK;
    }
    return spec_refuse(text, "its type", at, length, "u8, u16, u32, s8, s16, s32, f16 or f32", HINT);
}

// ---- options

enum { FILTER, ADDRESS, COORDINATES, READ, MEMORY, CHOICE_COUNT };

static const struct {
    const char *field, *words;  // a word's index in the list is its value
} choices[CHOICE_COUNT] = {[FILTER] = {"filter", "point|linear"},
                           [ADDRESS] = {"address", "wrap|clamp|mirror|border"},
                           [COORDINATES] = {"coordinates", "texels|normalized"},
                           [READ] = {"read", "float|integer"},
                           [MEMORY] = {"memory", "array|linear"}};

static void choose(texels *t, int field, int value) {
    switch (field) {
    case FILTER: t->sampler.filter = (cj_filter)value; break;
    case ADDRESS:
        for (unsigned k = 0; k < DIMS_MAX; k++) t->sampler.address[k] = (cj_address_mode)value;
        break;
    case COORDINATES: t->sampler.normalized = value; break;
    case READ: t->sampler.as_integer = value; break;
    default: t->image.linear = value; break;
    }
}

// Reads NAME=VALUE in [at, end).
static int read_option(texels *t, const char *text, const char *at, const char *end) {
    const char  *equals = memchr(at, '=', (size_t)(end - at)), *value = equals ? equals + 1 : end;
    const size_t name = (size_t)((equals ? equals : end) - at), length = (size_t)(end - value);
    uint64_t     number = 0;
    int          word;
    const bool   is_layers = spec_is(at, name, "layers");
    if (is_layers || spec_is(at, name, "channels")) {
        if (!spec_number(value, end, &number) || number > UINT32_MAX)
            return spec_refuse(text, is_layers ? "layers" : "channels", value, length, "a whole number", HINT);
        if (is_layers)
            t->image.layers = (size_t)number;
        else
            t->image.channels = (uint32_t)number;
        return CODE_OK;
    }
    for (int i = 0; i < CHOICE_COUNT && !t->is_surface; i++) {
        if (!spec_is(at, name, choices[i].field)) continue;
        if (!spec_choice(choices[i].words, value, length, &word))
            return spec_refuse(text, choices[i].field, value, length, choices[i].words, HINT);
        choose(t, i, word);
        return CODE_OK;
    }
    return spec_refuse(
        text, "an option", at, name,
        t->is_surface ? "channels or layers" : "channels, layers, filter, address, coordinates, read or memory", HINT);
}

// ---- textures and surfaces

int texels_parse(texels *t, const char *text, const char **fill, size_t *length) {
    const char *at = text + strlen(texture_prefix), *open = strchr(at, '['), *close = open ? strchr(open, ']') : NULL;
    uint64_t    dims[DIMS_MAX] = {0};
    *t = (texels){
        .is_surface = *text == 's', .image = {CJ_INIT(cj_image), .channels = 1}, .sampler = {CJ_INIT(cj_sampler)}};
    if (!close || (close[1] != '@' && close[1] != '='))
        return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': it is %.7s:TYPE[DIMS]@I or %.7s:TYPE[DIMS]=FILL\n" HINT,
                             text, text, text);
    int code = read_type(t, text, at, (size_t)(open - at));
    if (code) return code;
    if (!spec_list(open + 1, close, dims, DIMS_MAX))
        return spec_refuse(text, "its shape", open + 1, (size_t)(close - open) - 1, "1 to 3 whole numbers, AxBxC",
                           HINT);
    t->image.width = (size_t)dims[0];
    t->image.height = (size_t)dims[1];
    t->image.depth = (size_t)dims[2];
    at = close + 1 + strcspn(close + 1, ",");
    code = spec_source(text, close + 1, at, &t->buffer, fill, length, HINT);
    while (!code && *at) {
        const char *next = at + 1 + strcspn(at + 1, ",");
        code = read_option(t, text, at + 1, next);
        at = next;
    }
    return code;
}

uint64_t texels_count(const texels *t) {
    const uint64_t factors[] = {t->image.width, t->image.height ? t->image.height : 1,
                                t->image.depth ? t->image.depth : 1, t->image.layers ? t->image.layers : 1,
                                t->image.channels};
    uint64_t       count = 1;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (factors[i] && count > (UINT64_C(1) << 48) / factors[i]) return UINT64_MAX;
        count *= factors[i];
    }
    return count;
}

int texels_create(texels *t, const char *text, cj_device *device, cj_ptr buffer, uint64_t *handle) {
    cj_error error;
    t->image.address = buffer;
    if (!(t->is_surface ? cj_cpu_surface_create(device, &t->image, handle, &error)
                        : cj_cpu_texture_create(device, &t->image, &t->sampler, handle, &error)))
        return CODE_OK;
    return message_error(error.status, "--arg '%s': %s%s%s", text, error.message, *error.hint ? "\n" : "", error.hint);
}

void texels_destroy(const texels *t, cj_device *device, uint64_t handle) {
    if (t->is_surface)
        cj_cpu_surface_destroy(device, handle);
    else
        cj_cpu_texture_destroy(device, handle);
}

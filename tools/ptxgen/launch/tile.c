// SPDX-License-Identifier: Apache-2.0
#include "tile.h"

#include <inttypes.h>
#include <string.h>

#include "message.h"

#define TILE_HINT "'ptxgen help exec' describes tensor maps"

static int refuse(const char *text, const char *field, const char *value, size_t length, const char *allowed) {
    return spec_refuse(text, field, value, length, allowed, TILE_HINT);
}

// Converts a list to 32 bits; larger values become one that no field allows.
static void narrow(const uint64_t *from, uint32_t *to) {
    for (unsigned i = 0; i < TILE_RANK_MAX; i++) to[i] = from[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)from[i];
}

static const struct {
    const char *field, *words;  // a word's index in the list is its value
} choices[] = {
    {"swizzle", "none|32|64|128"}, {"interleave", "none|16|32"}, {"l2", "none|64|128|256"}, {"fill", "zeros|nan"}};

enum { SWIZZLE, INTERLEAVE, L2, FILL, CHOICE_COUNT };

// ---- options

// The options' values; a list of length 0 was not given.
typedef struct options {
    uint64_t box[TILE_RANK_MAX], strides[TILE_RANK_MAX], element_strides[TILE_RANK_MAX], offset;
    uint32_t box_count, stride_count, element_stride_count;
    int      choice[CHOICE_COUNT];
} options;

// Reads NAME=VALUE in [at, end).
static int read_option(const char *text, const char *at, const char *end, options *o) {
    struct {
        const char *field;
        uint64_t   *value;
        uint32_t   *count;
    } lists[] = {{"box", o->box, &o->box_count},
                 {"stride", o->strides, &o->stride_count},
                 {"estride", o->element_strides, &o->element_stride_count}};
    const char *equals = memchr(at, '=', (size_t)(end - at)), *value = equals ? equals + 1 : end;
    size_t      name = (size_t)((equals ? equals : end) - at), length = (size_t)(end - value);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!spec_is(at, name, lists[i].field)) continue;
        *lists[i].count = spec_list(value, end, lists[i].value, TILE_RANK_MAX);
        return *lists[i].count ? CODE_OK : refuse(text, lists[i].field, value, length, "1 to 5 whole numbers, AxBxC");
    }
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        if (!spec_is(at, name, choices[i].field)) continue;
        if (spec_choice(choices[i].words, value, length, &o->choice[i])) return CODE_OK;
        return refuse(text, choices[i].field, value, length, choices[i].words);
    }
    if (!spec_is(at, name, "offset"))
        return refuse(text, "an option", at, name, "box, stride, estride, swizzle, interleave, l2, fill or offset");
    return spec_number(value, end, &o->offset) ? CODE_OK
                                               : refuse(text, "offset", value, length, "a whole number of bytes");
}

static int check_length(const char *text, const char *field, uint32_t count, uint32_t wanted) {
    if (count == wanted) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT,
                         "--arg '%s': %s has %u of the %u numbers that the tensor's rank asks for\n%s", text, field,
                         count, wanted, TILE_HINT);
}

// Fills in the options that were not given.
static int apply(tile *t, const char *text, options *o) {
    if (!o->box_count)
        return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': there is no box\nadd box=LIST, the elements of one copy",
                             text);
    if (!o->element_stride_count) {
        o->element_stride_count = t->rank;
        for (unsigned i = 0; i < t->rank; i++) o->element_strides[i] = 1;
    }
    if (!o->stride_count && t->rank > 1) {
        uint64_t bytes = t->element->bytes;
        o->stride_count = t->rank - 1;
        for (unsigned i = 0; i < o->stride_count; i++) o->strides[i] = bytes *= t->dims[i];
    }
    int code = check_length(text, "box", o->box_count, t->rank);
    if (!code) code = check_length(text, "stride", o->stride_count, t->rank - 1);
    if (!code) code = check_length(text, "estride", o->element_stride_count, t->rank);
    memcpy(t->strides, o->strides, sizeof t->strides);
    narrow(o->box, t->box);
    narrow(o->element_strides, t->element_strides);
    t->offset = o->offset;
    t->swizzle = (cj_tensormap_swizzle)o->choice[SWIZZLE];
    t->interleave = (cj_tensormap_interleave)o->choice[INTERLEAVE];
    t->l2 = (cj_tensormap_l2)o->choice[L2];
    t->fill = (cj_tensormap_fill)o->choice[FILL];
    return code;
}

// ---- tiles

static int read_type(tile *t, const char *text, const char *at, size_t length) {
    static const char *const names[] = {
#define CJ_X(name, value, word, bytes) [value] = word,
        CJ_TENSORMAP_TYPE_LIST(CJ_X)
#undef CJ_X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!spec_is(at, length, names[i])) continue;
        bool stored_alike = i < CJ_TENSORMAP_F32_FTZ;  // other types are stored as f32
        t->type = (cj_tensormap_type)i;
        t->element = stored_alike ? value_type_named(at, length) : value_type_named("f32", 3);
        return CODE_OK;
    }
    return refuse(text, "its type", at, length,
                  "u8, u16, u32, s32, u64, s64, f16, bf16, f32, f64, tf32, f32.ftz or tf32.ftz");
}

int tile_parse(tile *t, const char *text, const char **spec, size_t *length) {
    const char *at = text + strlen("tensor:"), *open = strchr(at, '['), *close = open ? strchr(open, ']') : NULL;
    options     o = {0};
    *t = (tile){0};
    if (!close || (close[1] != '@' && close[1] != '='))
        return message_error(CJ_INVALID_ARGUMENT,
                             "--arg '%s': a tensor map is tensor:TYPE[DIMS]@I or tensor:TYPE[DIMS]=FILL\n" TILE_HINT,
                             text);
    int code = read_type(t, text, at, (size_t)(open - at));
    if (code) return code;
    t->rank = spec_list(open + 1, close, t->dims, TILE_RANK_MAX);
    if (!t->rank) return refuse(text, "its shape", open + 1, (size_t)(close - open) - 1, "1 to 5 whole numbers, AxBxC");
    at = close + 1 + strcspn(close + 1, ",");
    code = spec_source(text, close + 1, at, &t->buffer, spec, length, TILE_HINT);
    while (!code && *at) {
        const char *next = at + 1 + strcspn(at + 1, ",");
        code = read_option(text, at + 1, next, &o);
        at = next;
    }
    return code ? code : apply(t, text, &o);
}

uint64_t tile_reach(const tile *t) {
    uint64_t last = t->offset + t->element->bytes, most = UINT64_C(1) << 48;
    for (unsigned i = 0; i < t->rank; i++) {
        uint64_t step = i ? t->strides[i - 1] : t->element->bytes, steps = t->dims[i] ? t->dims[i] - 1 : 0;
        if (last > most || (step && steps > most / step)) return UINT64_MAX;
        last += step * steps;
    }
    return last;
}

int tile_encode(const tile *t, const char *text, cj_device *device, cj_ptr buffer, cj_tensormap *map) {
    cj_error error;
    if (!cj_tensormap_encode_tiled(device, map, t->type, t->rank, buffer + t->offset, t->dims, t->strides, t->box,
                                   t->element_strides, t->interleave, t->swizzle, t->l2, t->fill, &error))
        return CODE_OK;
    return message_error(error.status, "--arg '%s': %s%s%s", text, error.message, *error.hint ? "\n" : "", error.hint);
}

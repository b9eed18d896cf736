// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "argument.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "message.h"

enum { BATCH = 256 };

// ---- reading

static int bad_argument(const char *text, const char *why) {
    return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': %s\n'ptxgen help exec' lists the forms of an argument", text,
                         why);
}

static int no_memory(const argument *a) {
    return message_error(CJ_OUT_OF_MEMORY, "--arg '%s': no host memory for %" PRIu64 " elements", a->text, a->count);
}

static int allocate(argument *a) {
    if (a->count > SIZE_MAX / 16) return no_memory(a);
    a->bytes = malloc(argument_bytes(a));
    return a->bytes ? CODE_OK : no_memory(a);
}

static int read_file(argument *a, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return message_error(CJ_FILE, "cannot read '%s': %s", path, strerror(errno));
    size_t bytes = argument_bytes(a), got = fread(a->bytes, 1, bytes, file);
    bool   more = got == bytes && fgetc(file) != EOF, failed = ferror(file) != 0;
    fclose(file);
    if (failed) return message_error(CJ_FILE, "cannot read '%s': %s", path, strerror(errno));
    if (got == bytes && !more) return CODE_OK;
    return message_error(CJ_FILE, "'%s' has %s than the %zu bytes of %s[%" PRIu64 "]", path, more ? "more" : "fewer",
                         bytes, a->type->name, a->count);
}

static int unfit(const argument *a, uint64_t index, element value) {
    char text[ELEMENT_TEXT];
    return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': element %" PRIu64 ", %s, does not fit %s\n%s holds %s",
                         a->text, index, element_text(a->type->wide, value, text), a->type->name, a->type->name,
                         a->type->range);
}

// A value from the command line must fit the type. A fill's integers wrap around, as in C.
static int make(argument *a, const char *spec) {
    fill        f;
    element     batch[BATCH];
    bool        exact = a->type->fraction || !strncmp(spec, "const:", strlen("const:"));
    const char *wrong = fill_parse(spec, a->type->wide, &f);
    if (wrong)
        return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': %s\none of: %s, @FILE; %s holds %s", a->text, wrong, FILL_HELP,
                             a->type->name, a->type->range);
    for (uint64_t done = 0; done < a->count;) {
        size_t step = a->count - done < BATCH ? (size_t)(a->count - done) : BATCH;
        f.write(&f, done, step, batch);
        for (size_t i = 0; i < step; i++) {
            if (exact && !value_fits(a->type, batch[i])) return unfit(a, done + i, batch[i]);
            value_store(a->type, batch[i], a->bytes + (done + i) * a->type->bytes);
        }
        done += step;
    }
    return CODE_OK;
}

static int fill_buffer(argument *a, const char *spec) {
    int code = allocate(a);
    if (code) return code;
    return *spec == '@' ? read_file(a, spec + 1) : make(a, spec);
}

// Reads [COUNT], up to the =.
static bool read_count(const char *text, const char *end, uint64_t *count) {
    const char *stop = *text == '[' ? cj_number_read(text + 1, count) : NULL;
    return stop && *count && *stop == ']' && stop + 1 == end;
}

static int parse_elements(argument *a, const char *equals) {
    const char *bracket = strchr(a->text, '[');
    bool        is_buffer = bracket && bracket < equals;
    char        spec[80];
    a->kind = is_buffer ? ARGUMENT_BUFFER : ARGUMENT_SCALAR;
    a->count = 1;
    a->type = value_type_named(a->text, (size_t)((is_buffer ? bracket : equals) - a->text));
    if (!a->type) return bad_argument(a->text, "that is no type");
    if (is_buffer && !read_count(bracket, equals, &a->count))
        return bad_argument(a->text, "the count is no number of elements, at least 1");
    if (is_buffer) return fill_buffer(a, equals + 1);
    if ((size_t)snprintf(spec, sizeof spec, "const:%s", equals + 1) >= sizeof spec)
        return bad_argument(a->text, "the value is too long");
    return fill_buffer(a, spec);
}

static int hex_digit(char c) { return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10; }

// Reads bytes:N=HEX, the first byte first, or bytes:N=@FILE.
static int parse_bytes(argument *a, const char *equals) {
    a->kind = ARGUMENT_BYTES;
    a->type = value_type_named("u8", 2);
    const char *stop = cj_number_read(a->text + strlen("bytes:"), &a->count);
    if (stop != equals || !a->count) return bad_argument(a->text, "the number of bytes makes no sense");
    if (equals[1] == '@') return fill_buffer(a, equals + 1);
    size_t digits = strspn(equals + 1, "0123456789abcdefABCDEF");
    if (equals[1 + digits] || digits / 2 != a->count || digits % 2)
        return message_error(
            CJ_INVALID_ARGUMENT, "--arg '%s': the value has %zu hexadecimal digits%s; %" PRIu64 " bytes have %" PRIu64,
            a->text, digits, equals[1 + digits] ? ", then something else" : "", a->count, 2 * a->count);
    int code = allocate(a);
    for (uint64_t i = 0; !code && i < a->count; i++)
        a->bytes[i] = (unsigned char)(hex_digit(equals[1 + 2 * i]) << 4 | hex_digit(equals[2 + 2 * i]));
    return code;
}

// Which argument's buffer it views; SPEC_OWN: a buffer of its own, if it has one.
static int viewed_by(const argument *a) {
    return a->kind == ARGUMENT_TENSOR ? a->tile.buffer : a->kind == ARGUMENT_TEXELS ? a->texels.buffer : SPEC_OWN;
}

// Bytes of the buffer that it views, from the buffer's start.
static uint64_t reach_of(const argument *a) {
    if (a->kind == ARGUMENT_TENSOR) return tile_reach(&a->tile);
    const uint64_t count = texels_count(&a->texels);
    return count == UINT64_MAX ? count : count * a->texels.element->bytes;
}

// Reads a tensor map, a texture or a surface.
static int parse_view(argument *a) {
    const char *spec;
    size_t      length;
    a->kind = texels_are(a->text) ? ARGUMENT_TEXELS : ARGUMENT_TENSOR;
    int code = a->kind == ARGUMENT_TEXELS ? texels_parse(&a->texels, a->text, &spec, &length)
                                          : tile_parse(&a->tile, a->text, &spec, &length);
    if (code || viewed_by(a) != SPEC_OWN) return code;
    const uint64_t reach = reach_of(a);
    a->type = a->kind == ARGUMENT_TEXELS ? a->texels.element : a->tile.element;
    a->count = reach == UINT64_MAX ? reach : (reach + a->type->bytes - 1) / a->type->bytes;
    char *copy = strndup(spec, length);
    if (!copy) return no_memory(a);
    code = fill_buffer(a, copy);
    free(copy);
    return code;
}

int arguments_add(arguments *all, const char *text) {
    if (all->count == ARGUMENTS_MAX) return message_error(CJ_INVALID_ARGUMENT, "more than %d arguments", ARGUMENTS_MAX);
    argument   *a = &all->item[all->count++];
    const char *equals = strchr(text, '=');
    *a = (argument){.text = text};
    if (!strncmp(text, "tensor:", strlen("tensor:")) || texels_are(text)) return parse_view(a);
    if (!equals) return bad_argument(text, "there is no '='");
    return strncmp(text, "bytes:", strlen("bytes:")) ? parse_elements(a, equals) : parse_bytes(a, equals);
}

void arguments_free(arguments *all) {
    for (unsigned i = 0; i < all->count; i++) free(all->item[i].bytes);
}

int arguments_check(const arguments *all) {
    for (unsigned i = 0; i < all->count; i++) {
        const argument *a = &all->item[i];
        if (viewed_by(a) == SPEC_OWN) continue;
        unsigned index = (unsigned)viewed_by(a);
        if (index >= all->count || !argument_has_buffer(&all->item[index]))
            return message_error(CJ_INVALID_ARGUMENT,
                                 "--arg '%s': argument %u is %s\n@I names the buffer to view, counted "
                                 "from 0",
                                 a->text, index, index < all->count ? "no buffer" : "not given");
        size_t   bytes = argument_bytes(&all->item[index]);
        uint64_t reach = reach_of(a);
        if (reach > bytes)
            return message_error(CJ_INVALID_ARGUMENT,
                                 "--arg '%s': it reaches to byte %" PRIu64 " of argument %u, "
                                 "which has %zu\nmake the buffer larger, or the dimensions or strides smaller",
                                 a->text, reach, index, bytes);
    }
    return CODE_OK;
}

// ---- launching

int arguments_upload(arguments *all, cj_device *device) {
    cj_error error;
    int      code = CODE_OK;
    for (unsigned i = 0; i < all->count; i++) {
        argument *a = &all->item[i];
        if (!argument_has_buffer(a)) continue;
        if ((!a->memory && cj_mem_alloc(device, argument_bytes(a), &a->memory, &error)) ||
            cj_mem_write(device, a->memory, a->bytes, argument_bytes(a), NULL, &error))
            return message_failure(&error);
    }
    for (unsigned i = 0; i < all->count && !code; i++) {
        argument *a = &all->item[i];
        const argument *viewed = viewed_by(a) == SPEC_OWN ? a : &all->item[viewed_by(a)];
        if (a->kind == ARGUMENT_TENSOR) code = tile_encode(&a->tile, a->text, device, viewed->memory, &a->map);
        if (a->kind == ARGUMENT_TEXELS && !a->handle)
            code = texels_create(&a->texels, a->text, device, viewed->memory, &a->handle);
    }
    return code;
}

void arguments_release(arguments *all, cj_device *device) {
    for (unsigned i = 0; i < all->count; i++) {
        if (all->item[i].kind == ARGUMENT_TEXELS) texels_destroy(&all->item[i].texels, device, all->item[i].handle);
        all->item[i].handle = 0;
        cj_mem_free(device, all->item[i].memory);
        all->item[i].memory = 0;
    }
}

// ---- one argument

bool argument_has_buffer(const argument *a) {
    const bool is_view = a->kind == ARGUMENT_TENSOR || a->kind == ARGUMENT_TEXELS;
    return a->kind == ARGUMENT_BUFFER || (is_view && viewed_by(a) == SPEC_OWN);
}

size_t argument_bytes(const argument *a) { return a->type ? (size_t)a->count * a->type->bytes : 0; }

size_t argument_size(const argument *a) {
    if (a->kind == ARGUMENT_TENSOR) return sizeof a->map;
    if (a->kind == ARGUMENT_TEXELS) return sizeof a->handle;
    return a->kind == ARGUMENT_BUFFER ? sizeof a->memory : argument_bytes(a);
}

const void *argument_value(const argument *a) {
    if (a->kind == ARGUMENT_TENSOR) return &a->map;
    if (a->kind == ARGUMENT_TEXELS) return &a->handle;
    return a->kind == ARGUMENT_BUFFER ? (const void *)&a->memory : a->bytes;
}

void argument_print(const argument *a, uint64_t count) {
    char text[ELEMENT_TEXT];
    for (uint64_t i = 0; i < count && i < a->count; i++)
        printf("%s%s", i ? " " : "", value_text(a->type, value_load(a->type, a->bytes + i * a->type->bytes), text));
    putchar('\n');
}

json_t *argument_json(const argument *a, uint64_t count) {
    json_t *values = json_array();
    for (uint64_t i = 0; i < count && i < a->count; i++)
        json_array_append_new(values, element_json(a->type->wide, value_load(a->type, a->bytes + i * a->type->bytes)));
    return values;
}

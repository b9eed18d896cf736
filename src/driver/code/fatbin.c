// SPDX-License-Identifier: Apache-2.0
#include "fatbin.h"

#include <lz4.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "merge.h"

// What a program registers: the address of a container. With -rdc=true nvlink writes version 2, whose container holds what
// nvlink made, and `linked` the containers of the translation units, up to a NULL.
typedef struct wrapper {
    uint32_t           magic, version;
    const void        *container;
    const void *const *linked;  // version 1: a file's name
} wrapper;

// A container: this header, then entries, each with its data after its header.
typedef struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;  // of the entries
} header;

typedef struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;  // 64, or more with the source's name and the compiler's options
    uint64_t bytes;         // of the data, with padding
    uint32_t compressed;    // bytes of the data without padding; 0 where it is not compressed
    uint32_t options_at;
    uint16_t minor, major;  // of the PTX or the machine code's format
    uint32_t capability;
    uint32_t name_at, name_bytes;
    uint64_t flags;
    uint64_t reserved;
    uint64_t plain;  // bytes that compressed data becomes
} entry;

_Static_assert(sizeof(header) == 16 && sizeof(entry) == 64, "the layout of nvcc's containers");

enum { WRAPPER_VERSION_LINKED = 2, KIND_PTX = 1, KIND_MACHINE_CODE = 2, KIND_NVVM = 8 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_ARCH = 0x100000, FLAG_FAMILY = 0x200000 };
#define WRAPPER_MAGIC 0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
#define MOST_BYTES (1u << 30)  // of one PTX text: more is taken for damage

// A container that was found whole, and where to look in it.
typedef struct span {
    const unsigned char *at, *end;
} span;

static cj_status fail(cj_error *error, cj_status status, const char *rule, const char *hint, const char *format, ...)
    CJ_PRINTF(5, 6);

static cj_status fail(cj_error *error, cj_status status, const char *rule, const char *hint, const char *format, ...) {
    if (!error) return status;
    va_list arguments;
    *error = (cj_error){.status = status};
    snprintf(error->rule, sizeof error->rule, "%s", rule);
    snprintf(error->hint, sizeof error->hint, "%s", hint);
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

bool cj__fatbin_is(const void *image, size_t size) {
    uint32_t magic = 0;
    if (!image || (size && size < sizeof magic)) return false;
    memcpy(&magic, image, sizeof magic);
    return magic == WRAPPER_MAGIC || magic == CONTAINER_MAGIC;
}

// ---- containers and their entries

static cj_status open_container(const void *image, size_t size, span *entries, cj_error *error) {
    static const char *const hint = "give the whole file that fatbinary or nvcc -fatbin wrote";
    header                   head;
    if (size && size < sizeof head)
        return fail(error, CJ_FILE, "fatbin-cut", hint, "a fat binary of %zu bytes has no whole header (16 bytes)",
                    size);
    memcpy(&head, image, sizeof head);
    if (head.magic != CONTAINER_MAGIC)
        return fail(error, CJ_FILE, "fatbin-form", hint, "a fat binary begins with 0x%08x, not with 0x%08x", head.magic,
                    CONTAINER_MAGIC);
    if (head.header_bytes < sizeof head)
        return fail(error, CJ_FILE, "fatbin-form", hint, "a fat binary's header says that it has %u bytes, not 16",
                    head.header_bytes);
    const uint64_t room = size ? size : UINT64_MAX / 2;
    if (head.header_bytes > room || head.bytes > room - head.header_bytes)
        return fail(error, CJ_FILE, "fatbin-cut", hint,
                    "a fat binary says that it has %u + %llu bytes, but %zu are there", head.header_bytes,
                    (unsigned long long)head.bytes, size);
    entries->at = (const unsigned char *)image + head.header_bytes;
    entries->end = entries->at + head.bytes;
    return CJ_OK;
}

// The entry at entries->at, which then is the next one.
static cj_status next_entry(span *entries, entry *read, const unsigned char **data, cj_error *error) {
    const size_t left = (size_t)(entries->end - entries->at);
    if (left >= sizeof *read) memcpy(read, entries->at, sizeof *read);
    if (left < sizeof *read || read->header_bytes < sizeof *read || read->header_bytes > left ||
        read->bytes > left - read->header_bytes || read->compressed > read->bytes)
        return fail(error, CJ_FILE, "fatbin-cut", "the fat binary is damaged: build it again",
                    "an entry of a fat binary does not fit the %zu bytes that are left of its container", left);
    *data = entries->at + read->header_bytes;
    entries->at = *data + read->bytes;
    return CJ_OK;
}

// ---- the choice

static char variant_of(const entry *e) { return e->flags & FLAG_ARCH ? 'a' : e->flags & FLAG_FAMILY ? 'f' : 0; }

// Whether a GPU of that capability runs the PTX: `a` there alone, `f` in the same family, otherwise also later ones.
static bool runs_natively(const entry *e, uint32_t capability) {
    const char variant = variant_of(e);
    if (variant == 'a') return e->capability == capability;
    return e->capability <= capability && (variant != 'f' || e->capability / 10 == capability / 10);
}

// How well an entry suits: more is better, 0 is not at all.
static uint32_t suits(const entry *e, const cj_limits *limits) {
    enum { NATIVE = 1 << 20, HIGHEST = 1 << 16 };
    const char     variant = variant_of(e);
    const uint32_t special = variant == 'a' ? 2 : variant == 'f' ? 1 : 0;
    if (e->kind != KIND_PTX || e->capability >= HIGHEST / 4) return 0;
    if (runs_natively(e, limits->compute_capability)) return NATIVE + 4 * e->capability + special;
    return limits->every_target ? HIGHEST - 4 * e->capability - special : 0;
}

// What was seen in a container, for the message that no PTX of it suits.
typedef struct inventory {
    char   text[512];
    size_t length;
} inventory;

static void note(inventory *seen, const entry *e) {
    static const char *const kinds[] = {[KIND_PTX] = "PTX for compute_",
                                        [KIND_MACHINE_CODE] = "machine code for sm_",
                                        [KIND_NVVM] = "NVVM IR for lto_"};
    const bool               known = e->kind < sizeof kinds / sizeof *kinds && kinds[e->kind];
    const char               variant[] = {variant_of(e), 0};
    const int                wrote = snprintf(seen->text + seen->length, sizeof seen->text - seen->length, "%s%s%u%s",
                               seen->length ? ", " : "", known ? kinds[e->kind] : "code of another kind for sm_",
                                              e->capability, variant);
    seen->length += (size_t)wrote;
    if (seen->length >= sizeof seen->text) seen->length = sizeof seen->text - 1;
}

// The best entry of a container, if it is better than *best.
static cj_status choose(const void *container, size_t size, const cj_limits *limits, entry *best,
                        const unsigned char **data, inventory *seen, cj_error *error) {
    span      entries = {0};
    uint32_t  score = 0;
    cj_status status = open_container(container, size, &entries, error);
    while (!status && entries.at < entries.end) {
        entry                e = {0};
        const unsigned char *at = NULL;
        status = next_entry(&entries, &e, &at, error);
        if (status) break;
        note(seen, &e);
        if (suits(&e, limits) <= score) continue;
        score = suits(&e, limits);
        *best = e;
        *data = at;
    }
    return status;
}

// ---- the text

static cj_status expand(const entry *e, const unsigned char *data, char *text, cj_error *error) {
    const char *const how = e->flags & FLAG_LZ4 ? "LZ4" : e->flags & FLAG_ZSTD ? "zstd" : NULL;
    size_t            made = 0;
    if (!how)
        return fail(error, CJ_FILE, "fatbin-compressed", "compile with nvcc --compress-mode=none",
                    "PTX in a fat binary is compressed in a way that is not known (flags 0x%llx)",
                    (unsigned long long)e->flags);
    if (e->flags & FLAG_LZ4) {
        const int bytes = LZ4_decompress_safe((const char *)data, text, (int)e->compressed, (int)e->plain);
        made = bytes < 0 ? 0 : (size_t)bytes;
    } else {
        const size_t bytes = ZSTD_decompress(text, e->plain, data, e->compressed);
        made = ZSTD_isError(bytes) ? 0 : bytes;
    }
    if (made == e->plain) return CJ_OK;
    return fail(error, CJ_FILE, "fatbin-compressed", "the fat binary is damaged: build it again",
                "the %s data of PTX in a fat binary is damaged: %u bytes should become %llu", how, e->compressed,
                (unsigned long long)e->plain);
}

static cj_status take(const entry *e, const unsigned char *data, cj__fatbin_text *found, cj_error *error) {
    const uint64_t bytes = e->compressed ? e->plain : e->bytes;
    if (bytes > MOST_BYTES || e->compressed > MOST_BYTES)
        return fail(error, CJ_FILE, "fatbin-compressed", "the fat binary is damaged: build it again",
                    "PTX in a fat binary says that it has %llu bytes, more than 2^30", (unsigned long long)bytes);
    char *const text = malloc(bytes + 1);
    if (!text)
        return fail(error, CJ_OUT_OF_MEMORY, "", "", "no host memory for PTX of %llu bytes", (unsigned long long)bytes);
    if (!e->compressed) memcpy(text, data, bytes);
    const cj_status status = e->compressed ? expand(e, data, text, error) : CJ_OK;
    if (status) {
        free(text);
        return status;
    }
    text[bytes] = '\0';
    *found = (cj__fatbin_text){
        .ptx = text, .length = strlen(text), .capability = e->capability, .variant = variant_of(e)};
    return CJ_OK;
}

static cj_status refuse_without(const inventory *seen, const cj_limits *limits, cj_error *error) {
    return fail(error, CJ_UNSUPPORTED, "fatbin-no-ptx",
                "the CPU device executes PTX: compile with nvcc -gencode arch=compute_90,code=compute_90",
                "a fat binary has no PTX that compute capability %u.%u can run; it holds %s",
                limits->compute_capability / 10, limits->compute_capability % 10,
                seen->length ? seen->text : "nothing");
}

// ---- -rdc=true: what nvlink made is machine code, and the PTX is that of the translation units, which are merged

typedef struct linked {
    char **ptx;
    char (*name)[40];  // "translation unit 2", for messages
    const char **names;
    size_t       count;
    uint32_t     capability;
    char         variant;
} linked;

static void free_linked(linked *l) {
    for (size_t i = 0; i < l->count; i++) free(l->ptx[i]);
    free(l->ptx);
    free(l->name);
    free(l->names);
}

// The texts of those units that have PTX for the device. A unit that has none is a library's (libcudadevrt.a): what it
// defines stays undefined.
static cj_status read_units(const void *const *units, size_t count, const cj_limits *limits, linked *l, inventory *seen,
                            cj_error *error) {
    cj_status status = CJ_OK;
    for (size_t i = 0; !status && i < count; i++) {
        entry                e = {0};
        const unsigned char *at = NULL;
        cj__fatbin_text      text;
        status = choose(units[i], 0, limits, &e, &at, seen, error);
        if (status || !at) continue;
        status = take(&e, at, &text, error);
        if (status) break;
        snprintf(l->name[l->count], sizeof *l->name, "translation unit %zu", i + 1);
        l->names[l->count] = l->name[l->count];
        l->ptx[l->count++] = text.ptx;
        l->capability = text.capability;
        l->variant = text.variant;
    }
    return status;
}

cj_status cj__fatbin_link(const char *const *texts, const char *const *names, size_t count, char **ptx,
                          cj_error *error) {
    cj_text   why = {0};
    cj_status status = CJ_OK;
    *ptx = cj__merge_ptx(texts, names, count, &why);
    if (!*ptx && (why.failed || !why.data))
        status = fail(error, CJ_OUT_OF_MEMORY, "", "", "no host memory to link %zu PTX texts", count);
    else if (!*ptx)
        status = fail(error, CJ_UNSUPPORTED, "fatbin-link",
                      "compile the device code as one source file, without -rdc=true",
                      "%zu PTX texts cannot be linked: %s", count, why.data);
    cj__text_free(&why);
    return status;
}

static cj_status merge_units(const linked *l, cj__fatbin_text *found, cj_error *error) {
    char           *ptx = NULL;
    const cj_status status = cj__fatbin_link((const char *const *)l->ptx, l->names, l->count, &ptx, error);
    if (!status)
        *found = (cj__fatbin_text){
            .ptx = ptx, .length = strlen(ptx), .capability = l->capability, .variant = l->variant};
    return status;
}

// Units are first asked for PTX that a GPU would run: a library's for a later GPU alone is none of the program's then.
static cj_status take_linked(const void *const *units, const cj_limits *limits, cj__fatbin_text *found, inventory *seen,
                             cj_error *error) {
    size_t    count = 0;
    cj_limits native = *limits;
    native.every_target = false;
    while (units && units[count]) count++;
    linked    l = {.ptx = calloc(count + 1, sizeof *l.ptx),
                   .name = calloc(count + 1, sizeof *l.name),
                   .names = calloc(count + 1, sizeof *l.names)};
    cj_status status = CJ_OK;
    if (!l.ptx || !l.name || !l.names)
        status = fail(error, CJ_OUT_OF_MEMORY, "", "", "no host memory for %zu translation units", count);
    if (!status) status = read_units(units, count, &native, &l, seen, error);
    if (!status && !l.count && limits->every_target) {
        *seen = (inventory){0};
        status = read_units(units, count, limits, &l, seen, error);
    }
    if (!status && l.count) status = merge_units(&l, found, error);
    free_linked(&l);
    return status;
}

// ---- CLUSTERJIT_PTX

// The file's text in place of a program's PTX: of a changed copy of it, say.
static cj_status take_file(const char *path, const cj_limits *limits, cj__fatbin_text *found, cj_error *error) {
    FILE      *file = fopen(path, "rb");
    const long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    char      *text = bytes < 0 ? NULL : calloc(1, (size_t)bytes + 1);
    bool       whole = text != NULL;
    if (text) rewind(file);
    if (text) whole = fread(text, 1, (size_t)bytes, file) == (size_t)bytes;
    if (file) fclose(file);
    if (!whole) {
        free(text);
        return fail(error, CJ_FILE, "fatbin-replacement", "give the path of a PTX file, or unset CLUSTERJIT_PTX",
                    "the file of CLUSTERJIT_PTX, %s, cannot be read", path);
    }
    *found = (cj__fatbin_text){.ptx = text, .length = strlen(text), .capability = limits->compute_capability};
    return CJ_OK;
}

cj_status cj__fatbin_ptx(const void *image, size_t size, const cj_limits *limits, cj__fatbin_text *found,
                         cj_error *error) {
    wrapper              outer = {0};
    entry                best = {0};
    const unsigned char *data = NULL;
    inventory            seen = {0};
    const bool           known = cj__fatbin_is(image, size);
    if (known) memcpy(&outer.magic, image, sizeof outer.magic);
    if (outer.magic == WRAPPER_MAGIC && (!size || size >= sizeof outer)) {
        memcpy(&outer, image, sizeof outer);
        image = outer.container;
        size = 0;
    }
    if (!known || !image)
        return fail(error, CJ_FILE, "fatbin-form", "give what nvcc -fatbin or fatbinary wrote",
                    "this is no fat binary");
    const char *const replacement = getenv("CLUSTERJIT_PTX");
    if (replacement && *replacement) return take_file(replacement, limits, found, error);
    cj_status status = choose(image, size, limits, &best, &data, &seen, error);
    if (!status && data) return take(&best, data, found, error);
    cj__fatbin_text text = {0};
    if (!status && outer.version == WRAPPER_VERSION_LINKED)
        status = take_linked(outer.linked, limits, &text, &seen, error);
    if (!status && !text.ptx) status = refuse_without(&seen, limits, error);
    if (!status) *found = text;
    return status;
}

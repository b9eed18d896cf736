// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "linker.h"

#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "text.h"

static char *copy_of(const void *bytes, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    if (size) memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

cj_linker *cj__linker_create(cj_jitlink handle, uint32_t count, const char *const *options) {
    cj_linker *l = calloc(1, sizeof *l);
    if (l) *l = (cj_linker){.handle = handle, .options = calloc(count + 1, sizeof *l->options)};
    bool ok = l && l->options;
    for (uint32_t i = 0; ok && i < count; i++) {
        l->options[l->option_count++] = strdup(options[i]);
        ok = l->options[i];
    }
    if (ok) return l;
    cj__linker_free(l);
    return NULL;
}

void cj__linker_free(cj_linker *l) {
    if (!l) return;
    for (uint32_t i = 0; i < l->option_count; i++) free(l->options[i]);
    for (size_t i = 0; i < l->input_count; i++) {
        free(l->input[i].bytes);
        free(l->input[i].name);
    }
    free(l->options);
    free(l->input);
    free(l->linked);
    free(l->failure);
    free(l);
}

bool cj__linker_has(const cj_linker *l, const char *option) {
    for (uint32_t i = 0; i < l->option_count; i++)
        if (!strcmp(l->options[i], option)) return true;
    return false;
}

// ---- inputs

static bool begins(const void *bytes, size_t size, const char *magic, size_t length) {
    return size >= length && !memcmp(bytes, magic, length);
}

// PTX begins with comments and ".version".
static bool is_ptx(const char *text, size_t size) {
    static const char directive[] = ".version";
    const size_t      length = strnlen(text, size), most = length < 65536 ? length : 65536;
    for (size_t i = 0; i + sizeof directive <= most; i++)
        if (!memcmp(text + i, directive, sizeof directive - 1)) return true;
    return false;
}

int cj__linker_type(int type, const void *bytes, size_t size) {
    if (begins(bytes, size, "\177ELF", 4)) return type == CJ_LINK_OBJECT ? type : CJ_LINK_CUBIN;
    if (begins(bytes, size, "!<arch>", 7)) return CJ_LINK_LIBRARY;
    if (begins(bytes, size, "\x50\xed\x55\xba", 4)) return CJ_LINK_FATBIN;
    if ((type == CJ_LINK_CUBIN || type == CJ_LINK_PTX || type == CJ_LINK_ANY) && is_ptx(bytes, size))
        return CJ_LINK_PTX;
    return type == CJ_LINK_ANY ? CJ_LINK_LTOIR : type;
}

bool cj__linker_add(cj_linker *l, int type, const void *bytes, size_t size, const char *name) {
    cj_link_input *grown = realloc(l->input, (l->input_count + 1) * sizeof *grown);
    if (!grown) return false;
    l->input = grown;
    cj_link_input one = {.type = type, .bytes = copy_of(bytes, size), .name = strdup(name ? name : ""), .size = size};
    if (!one.bytes || !one.name) {
        free(one.bytes);
        free(one.name);
        return false;
    }
    l->input[l->input_count++] = one;
    return true;
}

// ---- the result

static bool fail(cj_linker *l, cj_text *text) {
    l->failure = text->failed ? NULL : text->data;
    if (!l->failure) l->failure = strdup("out of memory");
    return false;
}

// Machine code cannot become PTX. The device runtime's library has nothing that a kernel without dynamic parallelism needs.
static bool refuse_machine(cj_linker *l) {
    static const char *const kinds[] = {[CJ_LINK_CUBIN] = "a cubin",
                                        [CJ_LINK_FATBIN] = "a fat binary",
                                        [CJ_LINK_OBJECT] = "an object file",
                                        [CJ_LINK_LIBRARY] = "a library"};
    for (size_t i = 0; i < l->input_count; i++) {
        const cj_link_input *in = &l->input[i];
        if (in->type == CJ_LINK_PTX || in->type == CJ_LINK_LTOIR || strstr(in->name, "cudadevrt")) continue;
        const char *kind = in->type > 0 && in->type <= CJ_LINK_LIBRARY ? kinds[in->type] : "of an unknown type";
        cj_text     text = {0};
        cj__text_printf(&text, "the input '%s' is %s, of machine code, which the CPU device does not execute", in->name,
                        kind);
        return fail(l, &text);
    }
    return true;
}

// The error log of the second link, or the number of its result.
static bool fail_link(cj_linker *l, const cj_link_calls *calls, cj_jitlink handle, int result) {
    size_t  size = 0;
    cj_text text = {0};
    char   *log = handle && !calls->log_size(handle, &size) ? calloc(1, size + 1) : NULL;
    if (log && calls->log(handle, log)) *log = '\0';
    cj__text_printf(&text, "nvJitLink makes no PTX of the LTO IR: %s (result %d)", log ? log : "", result);
    free(log);
    return fail(l, &text);
}

static bool take_ptx(cj_linker *l, const cj_link_calls *calls, cj_jitlink handle, char **ptx) {
    size_t size = 0;
    int    result = calls->ptx_size(handle, &size);
    *ptx = result ? NULL : calloc(1, size + 1);
    if (*ptx) result = calls->ptx(handle, *ptx);
    if (*ptx && !result) return true;
    free(*ptx);
    *ptx = NULL;
    return fail_link(l, calls, handle, result);
}

// The inputs of LTO IR, linked by nvJitLink to PTX; NULL: there are none.
static bool link_lto(cj_linker *l, const cj_link_calls *calls, char **ptx) {
    const char **options = calloc(l->option_count + 2, sizeof *options);
    cj_jitlink   handle = NULL;
    uint32_t     count = 0;
    size_t       some = 0;
    cj_text      none = {.failed = true};
    *ptx = NULL;
    if (!options) return fail(l, &none);
    for (; count < l->option_count; count++) options[count] = l->options[count];
    options[count++] = "-ptx";
    options[count++] = "-lineinfo";
    for (size_t i = 0; i < l->input_count; i++) some += l->input[i].type == CJ_LINK_LTOIR;
    int result = some ? calls->create(&handle, count, options) : CJ_LINK_SUCCESS;
    for (size_t i = 0; some && i < l->input_count && !result; i++)
        if (l->input[i].type == CJ_LINK_LTOIR)
            result = calls->add(handle, CJ_LINK_LTOIR, l->input[i].bytes, l->input[i].size, l->input[i].name);
    if (some && !result) result = calls->complete(handle);
    bool ok = result ? fail_link(l, calls, handle, result) : !some || take_ptx(l, calls, handle, ptx);
    if (handle) calls->destroy(&handle);
    free(options);
    return ok;
}

bool cj__linker_make(cj_linker *l, const cj_link_calls *calls) {
    char        *lto = NULL;
    const char **texts = calloc(l->input_count + 1, sizeof *texts);
    const char **names = calloc(l->input_count + 1, sizeof *names);
    cj_text      why = {.failed = !texts || !names};
    size_t       count = 0;
    bool         ok = why.failed ? fail(l, &why) : refuse_machine(l) && link_lto(l, calls, &lto);
    if (lto) names[count] = "LTO IR", texts[count++] = lto;
    for (size_t i = 0; ok && i < l->input_count; i++)
        if (l->input[i].type == CJ_LINK_PTX) names[count] = l->input[i].name, texts[count++] = l->input[i].bytes;
    if (ok && !(l->linked = cj__merge_ptx(texts, names, count, &why))) ok = fail(l, &why);
    free(texts);
    free(names);
    free(lto);
    return ok;
}

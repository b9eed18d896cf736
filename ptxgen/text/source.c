// SPDX-License-Identifier: Apache-2.0
// The parser keeps one entry for each .loc in a table of the module, sorted by the line of the text: instructions carry nothing,
// and a line is looked up by a binary search, when something is to be said about it.
#include "source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cxx_name.h"
#include "error.h"
#include "parser.h"

// ---- what the parser adds

bool cj__add_loc(cj_parser *p, cj_ir_loc loc) {
    cj_ir_module *module = p->module;
    cj_ir_loc    *grown = cj__arena_grow(&module->arena, module->loc, module->loc_count, &module->loc_capacity,
                                         sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    module->loc = grown;
    grown[module->loc_count++] = loc;
    return true;
}

bool cj__add_file(cj_parser *p, uint64_t number, const char *quoted) {
    cj_ir_module *module = p->module;
    const char   *name = quoted + 1, *end = memchr(name, '"', (size_t)(p->end - name));
    const char   *text = cj__arena_text(&module->arena, name, end ? (size_t)(end - name) : 0);
    cj_ir_file   *grown = cj__arena_grow(&module->arena, module->file, module->file_count, &module->file_capacity,
                                         sizeof *grown);
    if (!text || !grown) return cj__parse_memory(p);
    module->file = grown;
    grown[module->file_count++] = (cj_ir_file){.number = number < CJ_NO_FILE ? (uint32_t)number : 0, .name = text};
    return true;
}

// ---- looking up

const char *cj__ir_file(const cj_ir_module *module, uint32_t number) {
    for (size_t i = 0; i < module->file_count; i++)
        if (module->file[i].number == number) return module->file[i].name;
    return NULL;
}

// The .loc that holds at a line of the text, or NULL. One that names no line (LLVM's line 0) leaves the one before it.
static const cj_ir_loc *loc_at(const cj_ir_module *module, uint32_t line) {
    size_t low = 0, high = module->loc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (module->loc[middle].line <= line)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low; low--) {
        const cj_ir_loc *loc = &module->loc[low - 1];
        if (loc->place.file == CJ_NO_FILE) return NULL;
        if (loc->place.line) return loc;
    }
    return NULL;
}

// The bytes that a label of a section stands for: ".b8 95,90,0" in one line or several.
static void read_bytes(const char *text, int64_t skip, char *name, size_t size) {
    size_t length = 0;
    while (length + 1 < size) {
        text += strspn(text, " \t\r\n,");
        if (!strncmp(text, ".b8", 3)) {
            text += 3;
            continue;
        }
        char *end;
        long  byte = strtol(text, &end, 0);
        if (end == text || byte < 0 || byte > 255) break;
        text = end;
        if (skip-- > 0) continue;
        if (!byte) break;
        name[length++] = (char)byte;
    }
    name[length] = '\0';
}

static bool is_name(char c) { return c && (strchr("_$%.", c) || isalnum((unsigned char)c)); }

// The labels of the debug sections, by name.
static void read_labels(cj_ir_module *module) {
    module->labels_known = true;
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_item *item = &module->item[i];
        if (item->kind != CJ_ITEM_DIRECTIVE || strncmp(item->text, ".section", 8)) continue;
        for (const char *at = item->text; (at = strchr(at, ':')) != NULL; at++) {
            const char *name = at;
            while (name > item->text && is_name(name[-1])) name--;
            if (name < at) cj__map_put(&module->labels, name, (size_t)(at - name), (void *)(uintptr_t)(at + 1));
        }
    }
}

// The function that was inlined: its name as the source has it; "" where no section says it.
static const char *function_name(cj_ir_module *module, const cj_ir_inlined *inlined, cj_arena *arena) {
    char lowered[512], name[512];
    if (!module->labels_known) read_labels(module);
    const char *bytes = cj__map_get(&module->labels, inlined->label, strlen(inlined->label));
    if (!bytes) return "";
    read_bytes(bytes, inlined->offset, lowered, sizeof lowered);
    const char *shown = cj__cxx_name(lowered, name, sizeof name) ? name : lowered;
    const char *copy = cj__arena_text(arena, shown, strlen(shown));
    return copy ? copy : "";
}

static bool is_same(cj_ir_place a, cj_ir_place b) {
    return a.file == b.file && a.line == b.line && a.column == b.column;
}

// A compiler names a place before it names what was inlined there: if that place was itself inlined, an earlier .loc says so.
static const cj_ir_loc *loc_of(const cj_ir_module *module, const cj_ir_loc *from, cj_ir_place place) {
    while (from-- > module->loc && from->place.file != CJ_NO_FILE)
        if (is_same(from->place, place)) return from;
    return NULL;
}

// Whether a file is a header of the CUDA toolkit, wherever that is installed: its functions only wrap instructions.
static bool is_toolkit(const char *file) {
    static const char *const headers[] = {"cccl/", "cuda/", "cub/", "thrust/", "cooperative_groups", "crt/", "cuda_pipeline",
                                          "cuda_awbarrier", "cuda_fp", "cuda_bf16", "cuComplex.h", "device_atomic_functions.h",
                                          "sm_20_", "sm_30_", "sm_32_", "sm_60_", "sm_61_", "surface_indirect_functions.h",
                                          "texture_indirect_functions.h", "vector_functions.h"};
    const char              *last = NULL;
    for (const char *at = file; (at = strstr(at, "include/")) != NULL; at++) last = at;
    for (size_t i = 0; last && i < sizeof headers / sizeof *headers; i++)
        if (!strncmp(last + strlen("include/"), headers[i], strlen(headers[i]))) return true;
    return false;
}

// A place, and the .loc that names it, if one does.
typedef struct position {
    cj_ir_place      place;  // line 0: none
    const cj_ir_loc *loc;
} position;

static position inlined_at(const cj_ir_module *module, position it) {
    const cj_ir_inlined *inlined = it.loc ? it.loc->inlined : NULL;
    if (!inlined) return (position){0};
    return (position){inlined->at, loc_of(module, it.loc, inlined->at)};
}

// What the toolkit's headers inlined counts as the place that called them, if one did.
static position position_of(const cj_ir_module *module, uint32_t line) {
    const cj_ir_loc *loc = loc_at(module, line);
    const position   first = loc ? (position){loc->place, loc} : (position){0};
    for (position it = first; it.place.line; it = inlined_at(module, it)) {
        const char *file = cj__ir_file(module, it.place.file);
        if (!file || !is_toolkit(file)) return it;
    }
    return first;
}

cj_ir_place cj__ir_place_at(const cj_ir_module *module, uint32_t line) { return position_of(module, line).place; }

const cj_source *cj__ir_source(cj_ir_module *module, uint32_t line, cj_arena *arena) {
    cj_source *first = NULL, *last = NULL;
    for (position it = position_of(module, line); it.place.line; it = inlined_at(module, it)) {
        const char *file = cj__ir_file(module, it.place.file);
        cj_source  *source = file ? cj__arena_alloc(arena, sizeof *source) : NULL;
        if (!source) break;
        *source = (cj_source){.file = file, .line = it.place.line, .column = it.place.column, .function = ""};
        if (it.loc && it.loc->inlined) source->function = function_name(module, it.loc->inlined, arena);
        if (last)
            last->inlined_at = source;
        else
            first = source;
        last = source;
    }
    return first;
}

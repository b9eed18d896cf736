// SPDX-License-Identifier: Apache-2.0
// The public calls over parser, checker, printer and table (clusterjit/check.h). The rules' are in report.c.
#include <clusterjit/check.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "allocate.h"
#include "check.h"
#include "error.h"
#include "parse.h"
#include "print.h"
#include "report.h"
#include "sized.h"
#include "source.h"

// ---- checking

// Holds the file against another target. A later one runs what its own target allows, but for what one architecture alone
// has; an earlier one is as if the file named it.
static void retarget(cj_ir_module *module, const cj_target_info *target) {
    bool later = target->number > module->target_sm;
    bool same = target->number == module->target_sm && target->suffix == module->target_suffix;
    if (same || (later && !module->target_suffix)) return;
    module->retargeted = true;
    module->target = target->text;
    module->target_suffix = target->suffix;
    if (later) module->target_suffix = 0;
    else module->target_sm = target->number;
}

typedef struct checking {
    const cj_target_info *target;  // to hold the file against, or NULL
    cj_arena              arena;
    cj_report            *report;
} checking;

static void check_func(void *user, cj_ir_module *module, const cj_ir_func *func) {
    checking *c = user;
    if (c->target) retarget(module, c->target);
    cj__check_func_forms(module, func, c->report);
    cj__check_func_paths(func, &c->arena, c->report);
}

// Checks each function as soon as its body is read: statements stay in the processor's cache, and no text is too long for
// memory.
static cj_status check_text(const char *ptx, size_t length, const cj_target_info *target, cj_report *report) {
    checking      c = {.target = target, .report = report};
    cj_ir_module *module = NULL;
    cj_status     status = cj__ir_parse_each(ptx, length, &module, report, check_func, &c);
    if (module) {
        if (target) retarget(module, target);
        cj__check_head(module, report);
        for (size_t i = 0; i < module->item_count; i++)
            if (module->item[i].kind == CJ_ITEM_FUNC && !module->item[i].func->has_body)
                cj__check_func_forms(module, module->item[i].func, report);
        if (module->has_sections) cj__report_drop(report, "label-unused");  // debug sections name labels
        cj__ir_free(module);
    }
    cj__arena_free(&c.arena);
    return status;
}

static cj_status unknown_target(const char *arch, cj_error *error) {
    cj__fail(error, CJ_INVALID_ARGUMENT, "arch '%s' is not a target", arch);
    cj__hint(error, "sm_90, sm_90a, sm_100a and sm_120 are some");
    return CJ_INVALID_ARGUMENT;
}

cj_status cj_check_ptx(const char *ptx, size_t length, const cj_check_options *options, cj_report **report,
                       cj_error *error) {
    if (!report) return cj__fail(error, CJ_INVALID_ARGUMENT, "report is NULL");
    *report = NULL;
    if (!ptx) return cj__fail(error, CJ_INVALID_ARGUMENT, "ptx is NULL");
    SIZED_OR_NULL(cj_check_options, options);
    const char *arch = options ? options->arch : NULL;
    const cj_target_info *target = arch ? cj__target_find(arch) : NULL;
    if (arch && !target) return unknown_target(arch, error);

    cj_report *found = cj__calloc(1, sizeof *found);
    if (!found) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while checking PTX");
    cj_status status = check_text(ptx, length, target, found);
    if (status) cj__fail(error, status, "out of memory while reading PTX");
    cj__report_sort(found);
    if (!status && found->arena.failed) status = cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while checking PTX");
    if (status) {
        cj_report_destroy(found);
        return status;
    }
    *report = found;
    return CJ_OK;
}

void cj_report_destroy(cj_report *report) {
    if (!report) return;
    cj__arena_free(&report->arena);
    cj__free(report);
}

size_t cj_report_count(const cj_report *report) { return report ? report->count : 0; }
size_t cj_report_errors(const cj_report *report) { return report ? report->errors : 0; }

const cj_diagnostic *cj_report_at(const cj_report *report, size_t index) {
    return report && index < report->count ? &report->item[index] : NULL;
}

// ---- printing

cj_status cj_format_ptx(const char *ptx, size_t length, char **text, size_t *text_length, cj_error *error) {
    if (!text) return cj__fail(error, CJ_INVALID_ARGUMENT, "text is NULL");
    *text = NULL;
    if (!ptx) return cj__fail(error, CJ_INVALID_ARGUMENT, "ptx is NULL");
    cj_ir_module *module = NULL;
    cj_status status = cj__ir_parse(ptx, length, &module, error);
    if (status) return status;
    cj_text printed = {0};
    cj__ir_print(module, &printed);
    cj__ir_free(module);
    if (printed.failed) {
        cj__text_free(&printed);
        return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while printing PTX");
    }
    *text = printed.data;
    if (text_length) *text_length = printed.length;
    return CJ_OK;
}

// ---- the source

struct cj_source_map {
    cj_ir_module *module;  // without its bodies
    cj_arena      arena;
};

static void see_nothing(void *user, cj_ir_module *module, const cj_ir_func *func) {
    (void)user, (void)module, (void)func;
}

cj_status cj_source_map_create(const char *ptx, size_t length, cj_source_map **map, cj_error *error) {
    if (!map) return cj__fail(error, CJ_INVALID_ARGUMENT, "map is NULL");
    *map = NULL;
    if (!ptx) return cj__fail(error, CJ_INVALID_ARGUMENT, "ptx is NULL");
    cj_report      report = {0};
    cj_source_map *made = cj__calloc(1, sizeof *made);
    cj_status      status = made ? cj__ir_parse_each(ptx, length, &made->module, &report, see_nothing, NULL)
                                 : CJ_OUT_OF_MEMORY;
    cj__arena_free(&report.arena);
    if (status) {
        cj__free(made);
        return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while reading PTX");
    }
    *map = made;
    return CJ_OK;
}

const cj_source *cj_source_map_find(cj_source_map *map, unsigned line) {
    return map ? cj__ir_source(map->module, line, &map->arena) : NULL;
}

void cj_source_map_destroy(cj_source_map *map) {
    if (!map) return;
    cj__arena_free(&map->arena);
    cj__ir_free(map->module);
    cj__free(map);
}

// ---- the instruction table

static const struct {
    uint32_t    bit;
    const char *word;
} effects[] = {
    {CJ_READS, "reads"}, {CJ_WRITES, "writes"}, {CJ_ASYNC, "async"}, {CJ_BARRIER, "barrier"},
    {CJ_CONVERGENT, "convergent"}, {CJ_CLUSTER, "cluster"}, {CJ_BRANCH, "branch"}, {CJ_END, "end"}, {CJ_ARCH, "arch"},
};

enum { EFFECT_COUNT = sizeof effects / sizeof *effects, EFFECT_TEXT = 80 };

// The words of every combination, of which rows share few, and the rows; made once, since callers keep the pointers.
static char           effect_words[1 << EFFECT_COUNT][EFFECT_TEXT];
static cj_isa_row     isa[CJ_ROW_COUNT];
static pthread_once_t isa_built = PTHREAD_ONCE_INIT;

static void build_effects(void) {
    for (uint32_t bits = 0; bits < 1u << EFFECT_COUNT; bits++) {
        char *words = effect_words[bits];
        for (size_t i = 0; i < EFFECT_COUNT; i++) {
            if (!(bits & effects[i].bit)) continue;
            if (*words) strcat(words, " ");
            strcat(words, effects[i].word);
        }
    }
}

static void build_isa(void) {
    build_effects();
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const cj_row *from = &cj__rows[i];
        isa[i] = (cj_isa_row){.syntax = from->syntax,
                              .operands = from->operands,
                              .sample = from->sample,
                              .ptx_version = from->ptx,
                              .target = from->target,
                              .suffix = from->effects & CJ_ARCH ? 'a' : 0,
                              .effects = effect_words[from->effects % (1u << EFFECT_COUNT)]};
    }
}

size_t cj_isa_count(void) { return CJ_ROW_COUNT; }

const cj_isa_row *cj_isa_at(size_t index) {
    pthread_once(&isa_built, build_isa);
    return index < CJ_ROW_COUNT ? &isa[index] : NULL;
}

static const cj_isa_set sets[] = {
#define CJ_SET(name, words) {#name, words},
#include "sets.def"
#undef CJ_SET
};

const cj_isa_set *cj_isa_set_at(size_t index) { return index < sizeof sets / sizeof *sets ? &sets[index] : NULL; }

// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include <clusterjit/cpu.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "origin.h"
#include "output.h"

enum { SHOWN = 24, PLACE = 28, TEXT = 48 };  // lines; columns

// A line and what was done on it, by all lines of the PTX that come from it.
typedef struct row {
    const char       *file;  // NULL: the PTX itself
    cj_cpu_line_stats sums;  // with the line's number
} row;

static const struct {
    const char *label, *key;
    size_t      offset;
} figures[] = {
#define FIGURE(text, member) \
    { .label = text, .key = #member, .offset = offsetof(cj_cpu_line_stats, member) }
    FIGURE("instructions", thread_instructions),
    FIGURE("of warps", warp_instructions),
    FIGURE("global B", global_bytes),
    FIGURE("sectors", global_sectors),
    FIGURE("shared B", shared_bytes),
    FIGURE("conflicts", bank_conflicts),
    FIGURE("peers B", dsmem_bytes),
    FIGURE("local B", local_bytes),
    FIGURE("async B", async_bytes),
    FIGURE("waits", barrier_waits),
};

enum { FIGURE_COUNT = sizeof figures / sizeof *figures };

static uint64_t *figure(const cj_cpu_line_stats *s, size_t i) {
    return (uint64_t *)(void *)((char *)(uintptr_t)s + figures[i].offset);
}

// ---- rows

static int by_place(const void *a, const void *b) {
    const row *left = a, *right = b;
    const int  order = strcmp(left->file ? left->file : "", right->file ? right->file : "");
    return order ? order : left->sums.line < right->sums.line ? -1 : left->sums.line > right->sums.line;
}

static int by_work(const void *a, const void *b) {
    const row     *left = a, *right = b;
    const uint64_t l = left->sums.thread_instructions, r = right->sums.thread_instructions;
    return l != r ? (l < r ? 1 : -1) : by_place(a, b);
}

// One row a place, the most instructions first; malloc'ed.
static row *collect(const cj_device *device, document *ptx, size_t *count) {
    const size_t all = cj_cpu_line_count(device);
    row         *rows = calloc(all + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && i < all; i++) {
        const cj_cpu_line_stats *line = cj_cpu_line_at(device, i);
        const cj_source         *source = origin_of(ptx, line->line);
        rows[i] = (row){.file = source ? source->file : NULL, .sums = *line};
        if (source) rows[i].sums.line = source->line;
    }
    if (rows) qsort(rows, all, sizeof *rows, by_place);
    for (size_t i = 0; rows && i < all; i++) {
        const bool same = *count && !by_place(&rows[*count - 1], &rows[i]);
        for (size_t k = 0; same && k < FIGURE_COUNT; k++)
            *figure(&rows[*count - 1].sums, k) += *figure(&rows[i].sums, k);
        if (!same) rows[(*count)++] = rows[i];
    }
    if (rows) qsort(rows, *count, sizeof *rows, by_work);
    return rows;
}

// ---- showing

static void print_place(const row *r) {
    char        text[PLACE + 1];
    const char *name = r->file ? origin_name(r->file) : "PTX line", *cut = name;
    const int   digits = snprintf(text, sizeof text, ":%u", r->sums.line);
    if (strlen(name) > (size_t)(PLACE - digits)) cut = name + strlen(name) - (size_t)(PLACE - digits);
    snprintf(text, sizeof text, "%s%s%u", cut, r->file ? ":" : " ", r->sums.line);
    fprintf(stderr, "%-*s", PLACE, text);
}

static void print_text(document *ptx, const row *r) {
    size_t      length;
    document   *file = r->file ? origin_file(ptx, r->file) : ptx;
    const char *line = file ? document_line(file, r->sums.line, &length) : NULL;
    while (line && length && (*line == ' ' || *line == '\t')) line++, length--;
    fputs("  ", stderr);
    for (size_t i = 0; line && i < length && i < TEXT; i++)
        putc(line[i] == '\t' ? ' ' : line[i] >= ' ' && line[i] <= '~' ? line[i] : '?', stderr);
    putc('\n', stderr);
}

// Figures that are 0 on every line are left out.
static void find_columns(const row *rows, size_t count, bool shown[FIGURE_COUNT]) {
    for (size_t k = 0; k < FIGURE_COUNT; k++) {
        shown[k] = false;
        for (size_t i = 0; i < count && !shown[k]; i++) shown[k] = *figure(&rows[i].sums, k) != 0;
    }
}

void lines_print(const cj_device *device, document *ptx) {
    size_t count;
    bool   shown[FIGURE_COUNT];
    row   *rows = collect(device, ptx, &count);
    if (!rows || !count) {
        free(rows);
        return;
    }
    find_columns(rows, count, shown);
    fprintf(stderr, "%-*s", PLACE, "line");
    for (size_t k = 0; k < FIGURE_COUNT; k++)
        if (shown[k]) fprintf(stderr, " %12s", figures[k].label);
    putc('\n', stderr);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        print_place(&rows[i]);
        for (size_t k = 0; k < FIGURE_COUNT; k++)
            if (shown[k]) fprintf(stderr, " %12" PRIu64, *figure(&rows[i].sums, k));
        print_text(ptx, &rows[i]);
    }
    if (count > SHOWN) fprintf(stderr, "and %zu lines with fewer instructions: --json has all\n", count - SHOWN);
    free(rows);
}

json_t *lines_json(const cj_device *device, document *ptx) {
    size_t  count;
    row    *rows = collect(device, ptx, &count);
    json_t *array = json_array();
    for (size_t i = 0; rows && i < count; i++) {
        json_t *line = json_pack("{s:o, s:i, s:b}", "file", output_json_text(rows[i].file ? rows[i].file : ptx->name),
                                 "line", (int)rows[i].sums.line, "ptx", !rows[i].file);
        for (size_t k = 0; k < FIGURE_COUNT; k++)
            json_object_set_new(line, figures[k].key, output_json_uint(*figure(&rows[i].sums, k)));
        json_array_append_new(array, line);
    }
    free(rows);
    return array;
}

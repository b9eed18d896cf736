// SPDX-License-Identifier: Apache-2.0
// compare: whether a cluster pays, for this problem on this device.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "compare.h"
#include "message.h"
#include "output.h"
#include "table.h"
#include "plot.h"

static const args_option options[] = {
    STUDY_OPTIONS,
    STUDY_PLOT_OPTION("Draw the times"),
    MACHINE_OPTIONS,
    {0},
};

const args_spec compare_spec = {
    .doc = "Answers one question: is the best kernel with clusters faster than the best without? Measures the plan's own "
           "choice, and without clusters and with clusters of 1, 2, 4, 8 and 16 blocks the best form of each, which a short "
           "tuning finds (up to 20 s; nothing of it is kept), in turns, as bench does. Where the blocks of a cluster are the "
           "problem (collective, exchange), each number of blocks has a line with a cluster and one without. The CPU device "
           "shows what the kernels do instead of how long they take.",
    .options = options,
    .set = study_set,
    .params = true,
    .examples = "ptxgen compare reduce --n 2^28 --plot times.svg",
};

// ---- the table

enum { CELL = 320 };

typedef struct column {
    const char *name;
    void (*text)(const comparison *c, const form *f, char cell[CELL]);
} column;

static void time_cell(const comparison *c, const form *f, char cell[CELL]) {
    (void)c;
    figure_time(f->time.median, cell);
}

static void spread_cell(const comparison *c, const form *f, char cell[CELL]) {
    (void)c;
    snprintf(cell, CELL, "%.1f %%", 100 * (f->time.high - f->time.low) / f->time.median);
}

static void rate_cell(const comparison *c, const form *f, char cell[CELL]) {
    (void)c;
    figure_rate(study_rate(f->v), "B", cell);
}

static void share_cell(const comparison *c, const form *f, char cell[CELL]) {
    snprintf(cell, CELL, "%.1f %%", 100 * study_share(&c->s, f->v));
}

static void waves_cell(const comparison *c, const form *f, char cell[CELL]) {
    (void)c;
    snprintf(cell, CELL, "%.2f", study_waves(f->v));
}

static void form_cell(const comparison *c, const form *f, char cell[CELL]) {
    char text[COMPARE_TEXT];
    snprintf(cell, CELL, "%s%s", compare_choice(c, f, text), f == c->plan ? "  <- the plan's choice" : "");
}

#define CJ_COUNT_CELL(name, expression)                                              \
    static void name##_cell(const comparison *c, const form *f, char cell[CELL]) {   \
        const variant *v = f->v;                                                     \
        (void)c;                                                                     \
        snprintf(cell, CELL, "%" PRIu64, (uint64_t)(expression));                    \
    }
CJ_COUNT_CELL(global, v->stats.global_read + v->stats.global_written)
CJ_COUNT_CELL(dsmem, v->stats.dsmem_read + v->stats.dsmem_written)
CJ_COUNT_CELL(async, v->stats.async_bytes)
CJ_COUNT_CELL(block_barriers, v->stats.block_barriers)
CJ_COUNT_CELL(cluster_barriers, v->stats.cluster_barriers)
CJ_COUNT_CELL(mbarrier_waits, v->stats.mbarrier_waits)
CJ_COUNT_CELL(active, v->active)
CJ_COUNT_CELL(sms, v->sms)

#define PLACEMENT {"ACTIVE CLUSTERS", active_cell}, {"WAVES", waves_cell}, {"SMS IN USE", sms_cell}, {"FORM", form_cell}

static const column gpu_columns[] = {{"TIME", time_cell},   {"SPREAD", spread_cell},  {"RATE", rate_cell},
                                     {"SHARE", share_cell}, PLACEMENT,                {0}};

static const column cpu_columns[] = {{"HOST TIME", time_cell},
                                     {"GLOBAL BYTES", global_cell},
                                     {"DSMEM BYTES", dsmem_cell},
                                     {"ASYNC BYTES", async_cell},
                                     {"BLOCK BARRIERS", block_barriers_cell},
                                     {"CLUSTER BARRIERS", cluster_barriers_cell},
                                     {"MBARRIER WAITS", mbarrier_waits_cell},
                                     PLACEMENT,
                                     {0}};

static const char *size_text(const line *l, char cell[CELL]) {
    if (l->cluster)
        snprintf(cell, CELL, "%u", l->cluster);
    else
        strcpy(cell, "none");
    return cell;
}

// If each number of blocks is a problem of its own, a column shows it.
static void fill_line(table *to, const comparison *c, const column *columns, const line *l) {
    const size_t at = c->s.own != NULL;
    char         cell[CELL];
    snprintf(cell, CELL, "%u", l->blocks);
    table_row(to);
    if (at) table_set(to, 0, cell);
    table_set(to, at, size_text(l, cell));
    for (size_t i = 0; columns[i].name; i++) {
        strcpy(cell, columns[i].text == form_cell ? "" : "-");
        if (l->best) columns[i].text(c, l->best, cell);
        table_set(to, at + i + 1, cell);
    }
}

static int print_lines(const comparison *c) {
    const column *columns = c->s.gpu || c->timed ? gpu_columns : cpu_columns;
    table        *t = table_new();
    if (c->s.own) table_column(t, "BLOCKS", TABLE_RIGHT);
    table_column(t, "CLUSTER", TABLE_RIGHT);
    for (size_t i = 0; columns[i].name; i++)
        table_column(t, columns[i].name, columns[i].text == form_cell ? TABLE_LEFT : TABLE_RIGHT);
    for (size_t i = 0; i < c->line_count; i++) fill_line(t, c, columns, &c->lines[i]);
    return table_print(t);
}

static const char cpu_verdict[] = "No verdict: this is the CPU device, whose times say nothing about a GPU; the counts are the "
                                  "same there.";

// Says how much faster than the plan's choice the best form is.
static void print_plan(const comparison *c, const group *g) {
    const form *best = NULL;
    char        own[FIGURE_TEXT], text[COMPARE_TEXT];
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const form *f = c->lines[i].best;
        if (f && (!best || f->time.median < best->time.median)) best = f;
    }
    if (!c->plan || !best || !measure_faster(&best->time, &c->plan->time)) return;
    printf("The plan's choice takes %s, %.2f times as long as the fastest here (cluster %u %s): ptxgen tune keeps what is faster.\n",
           figure_time(c->plan->time.median, own), c->plan->time.median / best->time.median, best->cluster,
           compare_choice(c, best, text));
}

static void print_verdicts(const comparison *c) {
    if (!c->timed) puts(cpu_verdict);
    if (c->left_out) printf("%zu values were left out, since the time for tuning was over.\n", c->left_out);
    for (const group *g = c->groups; g < c->groups + c->group_count; g++) {
        if (g->blocks) printf("%u blocks: ", g->blocks);
        puts(g->verdict.text);
        print_plan(c, g);
    }
}

static int print_table(const comparison *c) {
    const study *s = &c->s;
    char         read[FIGURE_TEXT], copy[FIGURE_TEXT], cell[CELL];
    printf("%s on %s (%s)\n", cj_family_name(s->w.params.family), cj_device_name(s->w.device), cj_device_reason(s->w.device));
    study_print_gpus(s);
    if (s->gpu)
        printf("The ceiling: read %s, copy %s\n", figure_rate(s->read_ceiling, "B", read),
               figure_rate(s->copy_ceiling, "B", copy));
    int code = print_lines(c);
    for (const line *l = c->lines; l < c->lines + c->line_count; l++) {
        if (l->best) continue;
        if (c->s.own) printf("%u blocks, ", l->blocks);
        printf("%s: not launched: %s\n", size_text(l, cell), l->refused);
    }
    print_verdicts(c);
    return code;
}

// ---- JSON

static json_t *line_json(const comparison *c, const line *l) {
    char    text[COMPARE_TEXT];
    json_t *object = l->best ? study_json_variant(&c->s, l->best->v)
                             : json_pack("{s:I, s:o}", "cluster", (json_int_t)l->cluster, "refused",
                                         output_json_text(l->refused));
    if (object && l->blocks) json_object_set_new(object, "blocks", json_integer(l->blocks));
    if (!object || !l->best) return object;
    json_object_set_new(object, "form", json_string(compare_choice(c, l->best, text)));
    json_object_set_new(object, "plans_choice", json_boolean(l->is_plan));
    return object;
}

static json_t *verdict_json(const comparison *c, const group *g) {
    const verdict *v = &g->verdict;
    json_t        *object = json_pack("{s:s}", "text", v->text);
    if (g->blocks) json_object_set_new(object, "blocks", json_integer(g->blocks));
    if (v->with == g->count || v->without == g->count) return object;
    const line *with = &c->lines[g->first + v->with], *without = &c->lines[g->first + v->without];
    json_object_set_new(object, "pays", json_string(v->pays > 0 ? "yes" : v->pays < 0 ? "no" : "no difference"));
    json_object_set_new(object, "cluster", json_integer((json_int_t)with->cluster));
    json_object_set_new(object, "speedup", json_real(without->best->time.median / with->best->time.median));
    return object;
}

static int print_json(const comparison *c) {
    json_t *object = study_json(&c->s), *rows = json_array(), *verdicts = json_array();
    for (size_t i = 0; i < c->line_count; i++) json_array_append_new(rows, line_json(c, &c->lines[i]));
    for (size_t i = 0; i < c->group_count; i++) json_array_append_new(verdicts, verdict_json(c, &c->groups[i]));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "left_out", json_integer((json_int_t)c->left_out));
    if (!c->timed)
        json_object_set_new(object, "verdict", json_pack("{s:s}", "text", cpu_verdict));
    else if (c->s.own)
        json_object_set(object, "verdicts", verdicts);
    else
        json_object_set(object, "verdict", json_array_get(verdicts, 0));
    json_decref(verdicts);
    return output_json(object);
}

// ---- the plot

// "4", "8 of 8 blocks", "none*" for the plan's choice if a better form is shown, too.
static void label_text(const comparison *c, const line *l, char label[CELL]) {
    char size[CELL];
    size_text(l, size);
    if (c->s.own)
        snprintf(label, CELL, "%u: %.16s", l->blocks, size);
    else
        snprintf(label, CELL, "%.16s%s", size, l->is_plan ? " (plan)" : "");
}

static int draw(const comparison *c, plot *p) {
    char title[256], label[CELL];
    study_title(&c->s, title, sizeof title);
    fputs("set title ", p->script);
    plot_string(p, title);
    fprintf(p->script, "\nset xlabel '%sblocks a cluster'\nset ylabel 'time of a launch (us, %s)'\nset yrange [0:*]\nset key off\n"
                       "set boxwidth 0.6\nset style fill solid 0.8\n$times << END\n", c->s.own ? "blocks that work together: " : "",
            measure_clock(c->s.w.device));
    for (const line *l = c->lines; l < c->lines + c->line_count; l++) {
        if (!l->best) continue;
        const measurement *t = &l->best->time;
        label_text(c, l, label);
        fprintf(p->script, "\"%s\" %.9g %.9g %.9g\n", label, t->median * 1e3, t->low * 1e3, t->high * 1e3);
    }
    fputs("END\nplot $times using 0:2:xtic(1) with boxes lt 1, '' using 0:2:3:4 with yerrorbars lc rgb '#000000' pt 0\n", p->script);
    return plot_finish(p);
}

// ---- the command

static int compare(comparison *c, plot *p) {
    int code = compare_search(c);
    if (!code) code = c->s.options.json ? print_json(c) : print_table(c);
    return code || !c->s.options.plot ? code : draw(c, p);
}

static int refuse_cluster(const args_family *family) {
    for (size_t i = 0; i < cj_family_param_count(family->params.family); i++)
        if (family->given[i] && !strcmp(cj_family_param(family->params.family, i)->name, "cluster"))
            return message_error(CJ_INVALID_ARGUMENT, "--cluster is what compare goes through\n"
                                                      "ptxgen bench measures one cluster size");
    return CODE_OK;
}

static bool has_param(const args_family *family, const char *name) {
    for (size_t i = 0; i < cj_family_param_count(family->params.family); i++)
        if (!strcmp(cj_family_param(family->params.family, i)->name, name)) return true;
    return false;
}

static int refuse_without_clusters(const args_family *family) {
    if (has_param(family, "cluster") || !has_param(family, "gpus")) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "%s of several GPUs has no clusters to compare\nof several GPUs compare takes reduce, histogram and "
                                              "allreducenorm; bench times the other families", cj_family_name(family->params.family));
}

int cmd_compare(int argc, char **argv) {
    study_options o = {.device = "auto", .forms = true, .kernels = COMPARE_SIZES};
    args_family   family;
    comparison    c = {0};
    plot          p = {0};
    args_parse(&compare_spec, argc, argv, &o, &family);
    int code = refuse_without_clusters(&family);
    if (!code) code = refuse_cluster(&family);
    if (!code && o.plot) code = plot_open(&p, o.plot);
    if (!code) code = compare_open(&c, &o, &family);
    if (!code) code = compare(&c, &p);
    compare_close(&c);
    plot_close(&p);
    args_family_free(&family);
    return code;
}

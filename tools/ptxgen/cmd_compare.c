// SPDX-License-Identifier: Apache-2.0
// compare: whether a cluster pays, for this problem on this device.
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "plot.h"
#include "study.h"

static const struct argp_option options[] = {
    STUDY_OPTIONS,
    {.name = "plot", .key = STUDY_PLOT, .arg = "FILE.svg", .doc = "Draw the times with gnuplot"},
    MACHINE_OPTIONS,
    {0},
};

static const args_spec spec = {
    .doc = "Measures the same problem without clusters and with clusters of 1, 2, 4, 8 and 16 blocks, in turns, as bench does, "
           "and says whether a cluster pays. Where the blocks of a cluster are the problem (collective, exchange), each size has one "
           "of its own. The CPU device shows what the kernels do instead of how long they take.",
    .options = options,
    .set = study_set,
};

static const uint32_t sizes[] = {0, 1, 2, 4, 8, 16};

enum { SIZES = sizeof sizes / sizeof *sizes };

// ---- the verdict

typedef struct judgement {
    const variant *without, *best;  // the version without clusters; the fastest cluster of two or more blocks. NULL: none ran
    int            pays;            // 1: beyond the spread; 0: no difference beyond it; -1: clusters are slower
    char           text[STUDY_REASON + 256];
} judgement;

static const variant *fastest_cluster(const study *s) {
    const variant *best = NULL;
    for (const variant *v = s->variants; v < s->variants + s->count; v++)
        if (v->kernel && v->cluster > 1 && (!best || v->race->time.median < best->race->time.median)) best = v;
    return best;
}

static double spread(const measurement *t) { return 100 * (t->high - t->low) / t->median; }

static void judge_times(judgement *j) {
    const measurement *with = &j->best->race->time, *without = &j->without->race->time;
    double             wider = spread(with) > spread(without) ? spread(with) : spread(without);
    char               a[STUDY_TEXT], b[STUDY_TEXT];
    j->pays = measure_faster(with, without) - measure_faster(without, with);
    study_time_text(with->median, a);
    study_time_text(without->median, b);
    if (j->pays > 0)
        snprintf(j->text, sizeof j->text,
                 "A cluster pays: with %u blocks it takes %s, %.2f times faster than without clusters (%s); the spread is %.1f %%.",
                 j->best->cluster, a, without->median / with->median, b, wider);
    else if (j->pays < 0)
        snprintf(j->text, sizeof j->text,
                 "A cluster does not pay: without clusters it takes %s, %.2f times faster than with the best, of %u blocks (%s); "
                 "the spread is %.1f %%.",
                 b, with->median / without->median, j->best->cluster, a, wider);
    else
        snprintf(j->text, sizeof j->text,
                 "A cluster makes no difference (of more than %d %%, and beyond the spread of %.1f %%): %s with %u blocks, %s without "
                 "clusters.",
                 MEASURE_PERCENT, wider, a, j->best->cluster, b);
}

static void judge(const study *s, judgement *j) {
    *j = (judgement){.best = fastest_cluster(s)};
    if (s->variants[0].kernel) j->without = &s->variants[0];
    if (!s->gpu)
        snprintf(j->text, sizeof j->text, "No verdict: this is the CPU device, whose times say nothing about a GPU; the counts are "
                                          "the same there.");
    else if (!j->best)
        snprintf(j->text, sizeof j->text, "No verdict: clusters of two and more blocks cannot be launched here.");
    else if (!j->without)
        snprintf(j->text, sizeof j->text, "No verdict: there is no version without clusters here: %s.", s->variants[0].refused);
    else
        judge_times(j);
}

// ---- the table

enum { CELL = 64 };

typedef struct column {
    const char *name;
    void (*text)(const study *s, const variant *v, char cell[CELL]);
} column;

static void time_cell(const study *s, const variant *v, char cell[CELL]) {
    (void)s;
    study_time_text(v->race->time.median, cell);
}

static void spread_cell(const study *s, const variant *v, char cell[CELL]) {
    (void)s;
    snprintf(cell, CELL, "%.1f %%", spread(&v->race->time));
}

static void rate_cell(const study *s, const variant *v, char cell[CELL]) {
    (void)s;
    study_rate_text(study_rate(v), "B", cell);
}

static void share_cell(const study *s, const variant *v, char cell[CELL]) {
    snprintf(cell, CELL, "%.1f %%", 100 * study_share(s, v));
}

static void sms_cell(const study *s, const variant *v, char cell[CELL]) {
    (void)s;
    snprintf(cell, CELL, "%" PRIu32, v->sms);
}

#define CJ_COUNT_CELL(name, expression)                                                \
    static void name##_cell(const study *s, const variant *v, char cell[CELL]) {       \
        (void)s;                                                                       \
        snprintf(cell, CELL, "%" PRIu64, (uint64_t)(expression));                      \
    }
CJ_COUNT_CELL(global, v->stats.global_read + v->stats.global_written)
CJ_COUNT_CELL(dsmem, v->stats.dsmem_read + v->stats.dsmem_written)
CJ_COUNT_CELL(async, v->stats.async_bytes)
CJ_COUNT_CELL(block_barriers, v->stats.block_barriers)
CJ_COUNT_CELL(cluster_barriers, v->stats.cluster_barriers)
CJ_COUNT_CELL(mbarrier_waits, v->stats.mbarrier_waits)

static const column gpu_columns[] = {{"TIME", time_cell},   {"SPREAD", spread_cell},  {"RATE", rate_cell},
                                     {"SHARE", share_cell}, {"SMS IN USE", sms_cell}, {0}};

static const column cpu_columns[] = {{"HOST TIME", time_cell},
                                     {"GLOBAL BYTES", global_cell},
                                     {"DSMEM BYTES", dsmem_cell},
                                     {"ASYNC BYTES", async_cell},
                                     {"BLOCK BARRIERS", block_barriers_cell},
                                     {"CLUSTER BARRIERS", cluster_barriers_cell},
                                     {"MBARRIER WAITS", mbarrier_waits_cell},
                                     {"SMS IN USE", sms_cell},
                                     {0}};

static const char *size_text(const variant *v, char cell[CELL]) {
    if (v->cluster)
        snprintf(cell, CELL, "%u", v->cluster);
    else
        strcpy(cell, "none");
    return cell;
}

static void fill_line(struct libscols_line *line, const study *s, const column *columns, const variant *v) {
    char cell[CELL];
    scols_line_set_data(line, 0, size_text(v, cell));
    for (size_t i = 0; columns[i].name; i++) {
        if (v->kernel)
            columns[i].text(s, v, cell);
        else
            strcpy(cell, "-");
        scols_line_set_data(line, i + 1, cell);
    }
}

static int print_table(const study *s, const judgement *j) {
    const column          *columns = s->gpu ? gpu_columns : cpu_columns;
    struct libscols_table *table = scols_new_table();
    char                   read[STUDY_TEXT], copy[STUDY_TEXT], cell[CELL];
    if (!table) return message_error(CJ_OUT_OF_MEMORY, "no memory for the table");
    scols_table_new_column(table, "CLUSTER", 1, SCOLS_FL_RIGHT);
    for (size_t i = 0; columns[i].name; i++) scols_table_new_column(table, columns[i].name, 1, SCOLS_FL_RIGHT);
    for (size_t i = 0; i < s->count; i++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        if (line) fill_line(line, s, columns, &s->variants[i]);
    }
    printf("%s on %s (%s)\n", cj_family_name(s->w.params.family), cj_device_name(s->w.device), cj_device_reason(s->w.device));
    if (s->gpu)
        printf("The ceiling: read %s, copy %s\n", study_rate_text(s->read_ceiling, "B", read),
               study_rate_text(s->copy_ceiling, "B", copy));
    fflush(stdout);
    int failed = scols_print_table(table);
    scols_unref_table(table);
    for (const variant *v = s->variants; v < s->variants + s->count; v++)
        if (!v->kernel) printf("%s: not launched: %s\n", size_text(v, cell), v->refused);
    puts(j->text);
    return failed ? message_error(CJ_OUT_OF_MEMORY, "no memory for the table") : CODE_OK;
}

static int print_json(const study *s, const judgement *j) {
    json_t *object = study_json(s), *rows = json_array(), *verdict = json_pack("{s:s}", "text", j->text);
    for (size_t i = 0; i < s->count; i++) json_array_append_new(rows, study_json_variant(s, &s->variants[i]));
    if (s->gpu && j->best && j->without) {
        json_object_set_new(verdict, "pays", json_string(j->pays > 0 ? "yes" : j->pays < 0 ? "no" : "no difference"));
        json_object_set_new(verdict, "cluster", json_integer((json_int_t)j->best->cluster));
        json_object_set_new(verdict, "speedup", json_real(j->without->race->time.median / j->best->race->time.median));
    }
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "verdict", verdict);
    return output_json(object);
}

// ---- the plot

static int draw(const study *s, plot *p) {
    char title[256], cell[CELL];
    snprintf(title, sizeof title, "%s on %s", cj_family_name(s->w.params.family), cj_device_name(s->w.device));
    fputs("set title ", p->script);
    plot_string(p, title);
    fprintf(p->script, "\nset xlabel 'blocks a cluster'\nset ylabel 'time of a launch (us, %s)'\nset yrange [0:*]\nset key off\n"
                       "set boxwidth 0.6\nset style fill solid 0.8\n$times << END\n", measure_clock(s->w.device));
    for (const variant *v = s->variants; v < s->variants + s->count; v++) {
        if (!v->kernel) continue;
        fprintf(p->script, "%s %.9g %.9g %.9g\n", size_text(v, cell), v->race->time.median * 1e3, v->race->time.low * 1e3,
                v->race->time.high * 1e3);
    }
    fputs("END\nplot $times using 0:2:xtic(1) with boxes lt 1, '' using 0:2:3:4 with yerrorbars lc rgb '#000000' pt 0\n", p->script);
    return plot_finish(p);
}

// ---- the command

// The largest cluster that the family knows.
static uint64_t most_blocks(const cj_family *family) {
    for (size_t i = 0; i < cj_family_param_count(family); i++)
        if (!strcmp(cj_family_param(family, i)->name, "cluster")) return cj_family_param(family, i)->maximum;
    return UINT64_MAX;
}

static int add_sizes(study *s) {
    const uint64_t most = most_blocks(s->w.params.family);
    for (size_t i = 0; i < SIZES && sizes[i] <= most; i++) {
        cj_params params = s->w.params;
        char      text[12];
        cj_error  error;
        snprintf(text, sizeof text, "%u", sizes[i]);
        if (cj_params_set(&params, "cluster", text, &error)) return message_failure(&error);
        int code = study_add(s, &params, sizes[i]);
        if (code) return code;
    }
    if (s->race_count) return CODE_OK;
    return message_error(CJ_CONTRACT, "no cluster size can be launched: %s", s->variants[s->count - 1].refused);
}

static int compare(study *s, plot *p) {
    judgement j;
    int       code = add_sizes(s);
    if (!code) code = study_run(s);
    if (code) return code;
    judge(s, &j);
    code = s->options.json ? print_json(s, &j) : print_table(s, &j);
    return code || !s->options.plot ? code : draw(s, p);
}

static int refuse_cluster(const args_family *family) {
    for (size_t i = 0; i < cj_family_param_count(family->params.family); i++)
        if (family->given[i] && !strcmp(cj_family_param(family->params.family, i)->name, "cluster"))
            return message_error(CJ_INVALID_ARGUMENT, "--cluster is what compare goes through\n"
                                                      "ptxgen bench measures one cluster size");
    return CODE_OK;
}

int cmd_compare(int argc, char **argv) {
    study_options o = {.device = "auto", .sizes = true};
    args_family   family;
    study         s = {0};
    plot          p = {0};
    args_parse(&spec, argc, argv, &o, &family);
    int code = refuse_cluster(&family);
    if (!code && o.plot) code = plot_open(&p, o.plot);
    if (!code) code = study_open(&s, &o, &family, SIZES);
    if (!code) code = compare(&s, &p);
    study_close(&s);
    plot_close(&p);
    args_family_free(&family);
    return code;
}

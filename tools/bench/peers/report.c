// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "table.h"

// Half a percent is what two runs differ by.
int report_reached(const line *l) {
    return !l->reason[0] && l->ratio >= l->row->goal * 0.995 && l->share >= l->row->share * 0.995;
}

// ---- the table

static const struct {
    const char *name;
    table_side  side;
} columns[] = {{"WORK", TABLE_LEFT},     {"SIZE", TABLE_LEFT},   {"PEER", TABLE_LEFT},  {"OURS us", TABLE_RIGHT},
               {"PEER us", TABLE_RIGHT}, {"RATIO", TABLE_RIGHT}, {"GOAL", TABLE_RIGHT}, {"SHARE", TABLE_RIGHT},
               {"GOAL", TABLE_RIGHT},    {"", TABLE_LEFT}};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns, CELL = 32 };

static void set_figure(table *to, size_t column, double value, int digits) {
    char text[CELL];
    snprintf(text, sizeof text, "%.*f", digits, value);
    table_set(to, column, value > 0 ? text : "");
}

static void add_line(table *to, const line *l) {
    const double figures[] = {l->ours.median * 1e3, l->peer.median * 1e3, l->ratio, l->row->goal, l->share,
                              l->row->share};
    table_row(to);
    table_set(to, 0, l->row->work);
    table_set(to, 1, l->row->size);
    table_set(to, 2, l->row->peer);
    for (size_t i = 0; i < sizeof figures / sizeof *figures && !l->reason[0]; i++) set_figure(to, 3 + i, figures[i], 2);
    bool has_goal = l->row->goal > 0 || l->row->share > 0;
    table_set(to, COLUMN_COUNT - 1,
              l->reason[0]        ? l->reason
              : !has_goal         ? ""
              : report_reached(l) ? "reached"
                                  : "short");
}

int report_print(const report *r) {
    table *t = table_new();
    for (size_t i = 0; i < COLUMN_COUNT; i++) table_column(t, columns[i].name, columns[i].side);
    for (unsigned i = 0; i < r->count; i++) add_line(t, &r->lines[i]);
    printf("%s, driver API %u; the ceiling: read %.3f TB/s, copy %.3f TB/s\n", cj_device_name(r->device),
           cj_device_limits(r->device)->driver_version, r->read_ceiling * 1e-12, r->copy_ceiling * 1e-12);
    return table_print(t);
}

// ---- JSON

static json_t *json_measurement(const measurement *m) {
    return json_pack("{s:f, s:f, s:f, s:I, s:I}", "median_us", m->median * 1e3, "low_us", m->low * 1e3, "high_us",
                     m->high * 1e3, "rounds", (json_int_t)m->rounds, "launches", (json_int_t)m->launches);
}

static json_t *json_line(const line *l) {
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "work", l->row->work, "size", l->row->size,
                               "peer", l->row->peer, "family", l->row->family, "parameters", l->row->params,
                               "goal_ratio", l->row->goal, "goal_share", l->row->share);
    if (object && l->reason[0]) json_object_set_new(object, "reason", output_json_text(l->reason));
    if (!object || l->reason[0]) return object;
    json_object_set_new(object, "ours", json_measurement(&l->ours));
    json_object_set_new(object, "theirs", json_measurement(&l->peer));
    json_object_set_new(object, "ratio", json_real(l->ratio));
    json_object_set_new(object, "share", json_real(l->share));
    json_object_set_new(object, "reached", json_boolean(report_reached(l)));
    return object;
}

int report_json(const report *r, const char *path) {
    json_t *array = json_array();
    for (unsigned i = 0; i < r->count; i++) json_array_append_new(array, json_line(&r->lines[i]));
    json_t *all = json_pack("{s:s, s:I, s:f, s:f, s:o}", "device", cj_device_name(r->device), "driver",
                            (json_int_t)cj_device_limits(r->device)->driver_version, "read_ceiling", r->read_ceiling,
                            "copy_ceiling", r->copy_ceiling, "rows", array);
    char   *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    int     code = text ? output_save(path, text, strlen(text))
                        : message_error(CJ_OUT_OF_MEMORY, "no memory for the JSON output");
    free(text);
    json_decref(all);
    return code;
}

// ---- the plot: how many times faster ours is, and the goals, a bar from 1 for each line

static unsigned write_ratios(const report *r, plot *p) {
    unsigned count = 0;
    fputs("$ratios << END\n", p->script);
    for (const line *l = r->lines; l < r->lines + r->count; l++) {
        if (l->reason[0]) continue;
        fprintf(p->script, "\"%s, %s: %s\" %.6g ", l->row->work, l->row->size, l->row->peer, l->ratio);
        fprintf(p->script, l->row->goal > 0 ? "%.6g\n" : "NaN\n", l->row->goal);
        count++;
    }
    fputs("END\n", p->script);
    return count;
}

int report_plot(const report *r, plot *p) {
    unsigned count = write_ratios(r, p);
    plot_size(p, 1100, 140 + 18 * count);
    fputs("set title ", p->script);
    plot_string(p, cj_device_name(r->device));
    fprintf(p->script,
            "\nset xlabel 'times faster than the peer (logarithmic)'\nset logscale x 2\nset yrange [%u:-1]\n", count);
    fputs("unset grid\nset grid xtics lc rgb '#dddddd'\nset style fill solid 0.8 noborder\nset key outside top\n"
          "plot $ratios using 2:0:(1):2:($0-0.35):($0+0.35):ytic(1) with boxxyerror lt 1 title 'measured', "
          "'' using 3:0:(0.45) with yerrorbars lt 2 lw 3 pt 0 title 'goal'\n",
          p->script);
    return plot_finish(p);
}

// SPDX-License-Identifier: Apache-2.0
// The probe's report for programs, and its plot.
#include <stdbool.h>

#include "output.h"
#include "probe_show.h"

// The units of a result's value, and of its `beside`.
static const char *const units[] = {[PROBE_TIMES] = "cycles", [PROBE_BYTES] = "TB/s", [PROBE_COUNT] = "G/s"};
static const char *const besides[] = {
    [PROBE_TIMES] = "ns", [PROBE_BYTES] = "bytes_per_clock_per_sm", [PROBE_COUNT] = "per_clock_per_sm"};

static json_t *json_result(const probe_result *r) {
    const probe_figure *figure = r->figure;
    json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:s, s:f}", "topic", figure->topic, "figure", figure->name,
                          "cluster", (json_int_t)r->cluster, "blocks", (json_int_t)r->blocks, "threads",
                          (json_int_t)figure->shape.threads, "value", r->value, "unit", units[figure->unit],
                          besides[figure->unit], r->beside);
    if (figure->unit == PROBE_TIMES) {
        json_object_set_new(o, "least", json_real(r->least));
        json_object_set_new(o, "most", json_real(r->most));
    }
    if (r->before > 0) json_object_set_new(o, "before", json_real(r->before));
    if (figure->source) json_object_set_new(o, "source", json_string(figure->source));
    if (!figure->each_step) return o;
    json_t *steps = json_array();
    for (uint32_t step = 1; step < r->cluster; step++) json_array_append_new(steps, json_real(r->by_step[step]));
    json_object_set_new(o, "by_distance", steps);
    return o;
}

static json_t *json_occupancy(const probe_report *report) {
    json_t *array = json_array();
    for (unsigned i = 0; i < PROBE_SIZES; i++) {
        const cj_cluster_occupancy *o = &report->occupancy[i];
        if (!o->active_clusters) continue;
        json_array_append_new(array, json_pack("{s:I, s:I, s:I, s:I}", "cluster", (json_int_t)o->cluster,
                                               "active_clusters", (json_int_t)o->active_clusters, "sms_used",
                                               (json_int_t)o->sms_used, "sms_stranded", (json_int_t)o->sms_stranded));
    }
    return array;
}

int probe_json(const probe_report *report) {
    char    sentence[512];
    json_t *figures = json_array(), *ratios = json_array();
    probe_sentence(report, sentence, sizeof sentence);
    for (size_t i = 0; i < report->count; i++) json_array_append_new(figures, json_result(&report->result[i]));
    for (size_t i = 0; i < PROBE_EXCHANGES; i++)
        json_array_append_new(ratios,
                              json_pack("{s:I, s:f}", "bytes",
                                        (json_int_t)(probe_exchange_bytes[i] ? probe_exchange_bytes[i] : 4),
                                        "global_over_dsmem", probe_exchange_ratio(report, probe_exchange_bytes[i])));
    return output_json(json_pack("{s:o, s:I, s:o, s:o, s:o, s:s}", "device",
                                 output_json_text(cj_device_limits(report->device)->name), "largest_cluster",
                                 (json_int_t)report->largest, "clusters", json_occupancy(report), "figures", figures,
                                 "exchange", ratios, "verdict", sentence));
}

// ---- the plot: latency by distance on the left, throughput by cluster size on the right

static void draw_latency(const probe_report *report, plot *p) {
    fputs("set title 'latency of a DSMEM load'\nset xlabel 'distance in ranks'\nset ylabel 'cycles'\nset yrange "
          "[0:*]\nplot",
          p->script);
    const char *separator = " ";
    for (size_t i = 0; i < report->count; i++) {
        if (!report->result[i].figure->each_step) continue;
        fprintf(p->script, "%s'-' using 1:2 with linespoints title 'cluster %u'", separator, report->result[i].cluster);
        separator = ", ";
    }
    fputc('\n', p->script);
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (!r->figure->each_step) continue;
        for (uint32_t step = 1; step < r->cluster; step++) fprintf(p->script, "%u %g\n", step, r->by_step[step]);
        fputs("e\n", p->script);
    }
}

static bool is_drawn(const probe_result *r) {
    return r->figure->unit == PROBE_BYTES && r->cluster > 1 && r->figure->shape.pattern == PROBE_NEIGHBOUR;
}

static void draw_throughput(const probe_report *report, plot *p) {
    fputs("set title 'to and from the neighbour'\nset xlabel 'blocks in the cluster'\nset ylabel 'TB/s'\nset logscale "
          "x 2\n"
          "set xrange [1.8:18]\nplot",
          p->script);
    const probe_figure *last = NULL;
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (!is_drawn(r) || r->figure == last) continue;
        fprintf(p->script, "%s'-' using 1:2 with linespoints title ", last ? ", " : " ");
        plot_string(p, r->figure->name);
        last = r->figure;
    }
    last = NULL;
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (!is_drawn(r)) continue;
        if (r->figure != last) fputs(last ? "e\n" : "\n", p->script);
        fprintf(p->script, "%u %g\n", r->cluster, r->value);
        last = r->figure;
    }
    fputs("e\n", p->script);
}

int probe_draw(const probe_report *report, plot *p) {
    fputs("set multiplot layout 1,2\nset key bottom\n", p->script);
    draw_latency(report, p);
    draw_throughput(report, p);
    fputs("unset multiplot\n", p->script);
    return plot_finish(p);
}

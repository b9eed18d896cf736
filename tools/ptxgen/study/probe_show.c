// SPDX-License-Identifier: Apache-2.0
#include "probe_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "message.h"
#include "table.h"

enum { TEXT = 96 };

static const struct {
    const char *name;
    table_side  side;
} columns[] = {{"FIGURE", TABLE_LEFT}, {"CLUSTER", TABLE_RIGHT}, {"VALUE", TABLE_RIGHT}, {"OF BLOCKS", TABLE_RIGHT},
               {"", TABLE_RIGHT},      {"BEFORE", TABLE_RIGHT},  {"SOURCE", TABLE_LEFT}};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static const char *const units[] = {[PROBE_TIMES] = "cycles", [PROBE_BYTES] = "TB/s", [PROBE_COUNT] = "G/s"};

// "212 cycles", "2.93 TB/s": three digits.
static void value_text(char text[TEXT], double value, const char *unit) {
    int places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, TEXT, "%.*f %s", places, value, unit);
}

static void add_line(table *t, const probe_result *r, bool first) {
    char                     text[TEXT];
    probe_unit               unit = r->figure->unit;
    static const char *const besides[] = {
        [PROBE_TIMES] = "ns", [PROBE_BYTES] = "B/clk an SM", [PROBE_COUNT] = "a clk an SM"};
    table_row(t);
    table_set(t, 0, first ? r->figure->name : "");
    snprintf(text, sizeof text, "%u", r->cluster);
    table_set(t, 1, r->cluster ? text : "none");
    value_text(text, r->value, units[unit]);
    table_set(t, 2, text);
    snprintf(text, sizeof text, "%.0f to %.0f", r->least, r->most);
    if (unit == PROBE_TIMES) table_set(t, 3, text);
    value_text(text, r->beside, r->figure->shape.pattern == PROBE_TO_ONE ? "B/clk of the one" : besides[unit]);
    table_set(t, 4, text);
    int wrote = r->before > 0 ? snprintf(text, sizeof text, "%g", r->before) : 0;
    if (wrote) snprintf(text + wrote, sizeof text - (size_t)wrote, " (%+.0f %%)", 100 * (r->value / r->before - 1));
    if (wrote) table_set(t, 5, text);
    if (first && r->figure->source) table_set(t, 6, r->figure->source);
}

static int print_topic(const probe_report *report, size_t *at) {
    const char         *topic = report->result[*at].figure->topic;
    const probe_figure *last = NULL;
    table              *t = table_new();
    for (size_t i = 0; i < COLUMN_COUNT; i++) table_column(t, columns[i].name, columns[i].side);
    printf("\n%s\n", topic);
    for (; *at < report->count && !strcmp(report->result[*at].figure->topic, topic); ++*at) {
        const probe_result *r = &report->result[*at];
        add_line(t, r, r->figure != last);
        last = r->figure;
    }
    return table_print(t);
}

// ---- lines below the tables

static void print_distances(const probe_report *report) {
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (!r->figure->each_step || r->cluster < 4) continue;
        printf("by distance in ranks, cluster %u:", r->cluster);
        for (uint32_t step = 1; step < r->cluster; step++) printf(" %.0f", r->by_step[step]);
        putchar('\n');
    }
}

const uint64_t probe_exchange_bytes[PROBE_EXCHANGES] = {0, 4 << 10, 64 << 10};

double probe_exchange_ratio(const probe_report *report, uint64_t bytes) {
    double local = INFINITY, global = 0;
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (strcmp(r->figure->topic, "exchange between two blocks") || r->figure->shape.bytes != bytes) continue;
        if (r->figure->shape.op == PROBE_GLOBAL)
            global = r->value;
        else
            local = fmin(local, r->value);
    }
    return isinf(local) ? 0 : global / local;
}

static void print_ratios(const probe_report *report) {
    fputs("DSMEM is faster than global memory", stdout);
    for (size_t i = 0; i < PROBE_EXCHANGES; i++) {
        char     what[32] = "4 B";
        uint64_t bytes = probe_exchange_bytes[i];
        if (bytes) snprintf(what, sizeof what, "%" PRIu64 " KiB", bytes >> 10);
        printf("%s %.1f times at %s", i ? "," : "", probe_exchange_ratio(report, bytes), what);
    }
    puts(" (published: \"about 7x faster exchange\"; independent work: up to 2.3)");
}

static int print_occupancy(const probe_report *report) {
    static const char *const names[] = {"CLUSTER", "ACTIVE CLUSTERS", "SMS IN USE", "STRANDED"};
    table                   *t = table_new();
    printf("\nclusters of one block an SM; the largest has %u blocks\n", report->largest);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) table_column(t, names[i], TABLE_RIGHT);
    for (unsigned i = 0; i < PROBE_SIZES; i++) {
        const cj_cluster_occupancy *o = &report->occupancy[i];
        if (!o->active_clusters) continue;
        table_row(t);
        const uint32_t              numbers[] = {o->cluster, o->active_clusters, o->sms_used, o->sms_stranded};
        for (size_t c = 0; c < sizeof numbers / sizeof *numbers; c++) {
            char text[TEXT];
            snprintf(text, sizeof text, "%u", numbers[c]);
            table_set(t, c, text);
        }
    }
    return table_print(t);
}

// ---- the conclusion

// The highest throughput of a pattern's pushes in clusters of that size, in TB/s, and the push's name.
static double best_push(const probe_report *report, uint32_t cluster, const char **name) {
    const probe_result      *pushes[] = {probe_find(report, &probe_stream, PROBE_STORE, PROBE_NEIGHBOUR, cluster),
                                         probe_find(report, &probe_pipeline, PROBE_ST_ASYNC, PROBE_NEIGHBOUR, cluster),
                                         probe_find(report, &probe_pipeline, PROBE_BULK, PROBE_NEIGHBOUR, cluster)};
    static const char *const names[] = {"plain stores", "st.async", "bulk copies"};
    double                   best = 0;
    for (size_t i = 0; i < 3; i++) {
        if (!pushes[i] || pushes[i]->value <= best) continue;
        best = pushes[i]->value;
        *name = names[i];
    }
    return best;
}

static uint32_t most_stranded(const probe_report *report) {
    uint32_t most = 0;
    for (unsigned i = 0; i < PROBE_SIZES; i++)
        if (report->occupancy[i].sms_stranded > most) most = report->occupancy[i].sms_stranded;
    return most;
}

void probe_sentence(const probe_report *report, char *buffer, size_t size) {
    const char         *name = "";
    const uint32_t      large = report->largest;
    const probe_result *pull = probe_find(report, &probe_stream, PROBE_LOAD, PROBE_NEIGHBOUR, large);
    const probe_result *pull_2 = probe_find(report, &probe_stream, PROBE_LOAD, PROBE_NEIGHBOUR, 2);
    const probe_result *by_barrier = probe_find(report, &probe_allreduce, PROBE_LOAD, PROBE_SELF, large);
    const probe_result *by_push = probe_find(report, &probe_allreduce, PROBE_ST_ASYNC, PROBE_SELF, large);
    double              push = best_push(report, large, &name);
    buffer[0] = '\0';
    if (!pull || !pull_2 || !by_barrier || !by_push) return;
    bool pushes = push > pull->value, small = pull_2->value > 1.1 * pull->value;
    snprintf(
        buffer, size,
        "%s: clusters of %u move %.1f TB/s with %s and %.1f with loads; a value reaches all of them in %.0f cycles "
        "pushed, %.0f pulled after a barrier; take the smallest cluster that does the job: one of 2 reads %.1f "
        "TB/s%s, "
        "and larger ones leave up to %u SMs idle.",
        pushes ? "Push, do not pull" : "Pull, do not push", large, push, name, pull->value, by_push->value,
        by_barrier->value, pull_2->value, small ? "" : ", hardly more", most_stranded(report));
}

int probe_print(const probe_report *report) {
    char sentence[512];
    int  code = CODE_OK;
    printf("%s\n", cj_device_limits(report->device)->name);
    for (size_t at = 0; !code && at < report->count;) {
        const char *topic = report->result[at].figure->topic;
        code = print_topic(report, &at);
        if (!strcmp(topic, "latency of a load")) print_distances(report);
        if (!strcmp(topic, "exchange between two blocks")) print_ratios(report);
    }
    if (!code) code = print_occupancy(report);
    probe_sentence(report, sentence, sizeof sentence);
    if (!code && *sentence) printf("\n%s\n", sentence);
    return code;
}

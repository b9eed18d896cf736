// SPDX-License-Identifier: Apache-2.0
// The CPU device's counters as a table and as JSON.
#include "stats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "output.h"

// A heading, or a figure: its name in the table, and its key in JSON, the member's name (NULL for figures of a class).
static const struct {
    const char *label, *key;
    size_t      offset;
    bool        is_heading;
} rows[] = {
#define HEADING(text) \
    { .label = text, .is_heading = true }
#define FIGURE(text, member) \
    { .label = text, .key = #member, .offset = offsetof(cj_cpu_stats, member) }
#define CJ_INDEXED(text, name, member, i) \
    {.label = text, .key = name, .offset = offsetof(cj_cpu_stats, member) + (i) * sizeof(uint64_t)},
#define CJ_CLASS(name, text) CJ_INDEXED(text, NULL, by_class, CJ_CPU_##name)
#define CJ_COUNT(name, text) CJ_INDEXED(text, text "_instructions", matrix_instructions, CJ_CPU_MATRIX_##name)
#define CJ_WORK(name, text) \
    CJ_INDEXED(text ", multiply-adds", text "_multiply_adds", multiply_adds, CJ_CPU_MATRIX_##name)
    HEADING("thread instructions"),
    CJ_CPU_CLASSES(CJ_CLASS) FIGURE("in all", thread_instructions),
    FIGURE("of warps", warp_instructions),
    HEADING("matrix instructions"),
    CJ_CPU_MATRICES(CJ_COUNT) CJ_CPU_MATRICES(CJ_WORK) HEADING("bytes"),
    FIGURE("global, read", global_read),
    FIGURE("global, written", global_written),
    FIGURE("shared, own block, read", shared_read),
    FIGURE("shared, own block, written", shared_written),
    FIGURE("shared, read by wgmma", wgmma_shared_read),
    FIGURE("distributed shared, read", dsmem_read),
    FIGURE("distributed shared, written", dsmem_written),
    FIGURE("local", local_bytes),
    FIGURE("moved asynchronously", async_bytes),
    FIGURE("  by cp.async", copy_bytes),
    FIGURE("  by bulk copies", bulk_bytes),
    FIGURE("  by tensor copies", tensor_bytes),
    FIGURE("  of these, multicast", multicast_bytes),
    HEADING("events"),
    FIGURE("atomics", atomics),
    FIGURE("block barriers", block_barriers),
    FIGURE("cluster barriers", cluster_barriers),
    FIGURE("mbarrier waits", mbarrier_waits),
    FIGURE("bank conflicts", bank_conflicts),
    FIGURE("sectors of global memory", global_sectors),
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static uint64_t figure(const cj_cpu_stats *s, size_t row) {
    return *(const uint64_t *)(const void *)((const char *)s + rows[row].offset);
}

// Leaves out figures of 0, and headings without figures.
void stats_print(const cj_cpu_stats *s) {
    const char *heading = NULL;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].is_heading) {
            heading = rows[i].label;
        } else if (figure(s, i)) {
            if (heading) fprintf(stderr, "%s\n", heading);
            heading = NULL;
            fprintf(stderr, "  %-34s %16" PRIu64 "\n", rows[i].label, figure(s, i));
        }
    }
    fprintf(stderr, "%.6f s on the host, %.0f million thread instructions a second\n", s->seconds,
            s->seconds > 0 ? (double)s->thread_instructions / s->seconds * 1e-6 : 0);
}

json_t *stats_json(const cj_cpu_stats *s) {
    json_t *object = json_object(), *by_class = json_object();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].is_heading) continue;
        json_object_set_new(rows[i].key ? object : by_class, rows[i].key ? rows[i].key : rows[i].label,
                            output_json_uint(figure(s, i)));
    }
    json_object_set_new(object, "by_class", by_class);
    json_object_set_new(object, "seconds", output_json_real(s->seconds));
    return object;
}

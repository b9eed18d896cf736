// SPDX-License-Identifier: Apache-2.0
// Every figure of the report. `before` was measured on an H200, too (driver 580, CUDA 13.0), or published; a published
// figure is quoted as it was published.
#include "probe.h"

enum { KIB = 1024, MIB = 1024 * 1024, ALONE = 0, ONE = 1, TWO = 2, MANY = 4 | 8 | 16, CLUSTERS = TWO | MANY };

#define LATENCY(label, what, in_bytes, in_pattern, in_sizes, ...)                                               \
    {.topic = "latency of a load", .name = label, .kernel = &probe_##what,                                      \
     .shape = {.threads = 1, .bytes = in_bytes, .pattern = PROBE_##in_pattern}, .sizes = in_sizes, .rounds = 1024,\
     .unit = PROBE_TIMES, __VA_ARGS__}

#define STREAM(label, in_op, in_pattern, in_sizes, in_rounds, in_unit, ...)                                     \
    {.topic = "throughput", .name = label, .kernel = &probe_stream,                                             \
     .shape = {.threads = 512, .bytes = 128 * KIB, .op = PROBE_##in_op, .pattern = PROBE_##in_pattern},         \
     .sizes = in_sizes, .rounds = in_rounds, .unit = PROBE_##in_unit, __VA_ARGS__}

#define PIPELINE(label, in_op, in_pattern, in_threads, in_sizes, ...)                                           \
    {.topic = "throughput", .name = label, .kernel = &probe_pipeline,                                           \
     .shape = {.threads = in_threads, .bytes = 32 * KIB, .op = PROBE_##in_op, .pattern = PROBE_##in_pattern},   \
     .sizes = in_sizes, .rounds = 512, .unit = PROBE_BYTES, __VA_ARGS__}

#define MEETING(label, in_topic, what, in_op, in_threads, in_bytes, in_sizes, in_rounds, ...)                   \
    {.topic = in_topic, .name = label, .kernel = &probe_##what,                                                 \
     .shape = {.threads = in_threads, .bytes = in_bytes, .op = PROBE_##in_op}, .sizes = in_sizes,               \
     .rounds = in_rounds, .unit = PROBE_TIMES, __VA_ARGS__}

static const char barriers[] = "barriers and hand-over", exchange[] = "exchange between two blocks";
#define MEASURED "measured before"
#define NEW .source = NULL  // no published figure

const probe_figure probe_figures[] = {
    LATENCY("own shared memory", chase_shared, 0, SELF, ONE, .before = {28}, .source = MEASURED),
    LATENCY("DSMEM, every distance", chase_shared, 0, NEIGHBOUR, CLUSTERS, .each_step = true,
            .before = {0, 195, 212, 212, 212}, .source = MEASURED "; published: \"5 to 10 cycles\""),
    LATENCY("global, in the L2 cache", chase_global, 4 * MIB, SELF, ALONE, .before = {297}, .source = MEASURED),
    LATENCY("global, beyond it (DRAM)", chase_global, 1024 * MIB, SELF, ALONE, NEW),

    STREAM("loads, own", LOAD, SELF, ONE, 2048, BYTES, .before = {33}, .source = MEASURED),
    STREAM("loads, neighbour's", LOAD, NEIGHBOUR, CLUSTERS, 512, BYTES, .before = {0, 4.1, 2.9, 2.7, 2.4},
           .source = MEASURED "; published for one pair: 4.8 B/clk"),
    STREAM("loads, all of one block's", LOAD, TO_ONE, CLUSTERS, 128, BYTES, NEW),
    STREAM("loads, each of all others'", LOAD, TO_ALL, MANY, 512, BYTES, NEW),
    STREAM("stores, own", STORE, SELF, ONE, 4096, BYTES, NEW),
    STREAM("stores, neighbour's", STORE, NEIGHBOUR, CLUSTERS, 2048, BYTES, .before = {0, 4.8, 3.4, 3.35, 3.5},
           .source = MEASURED "; published for one pair: 21.4 B/clk"),
    STREAM("stores, all to one block's", STORE, TO_ONE, CLUSTERS, 512, BYTES, NEW),
    STREAM("stores, each to all others'", STORE, TO_ALL, MANY, 2048, BYTES, NEW),
    PIPELINE("st.async, to the neighbour", ST_ASYNC, NEIGHBOUR, 544, CLUSTERS, NEW),
    PIPELINE("st.async, all to one", ST_ASYNC, TO_ONE, 544, CLUSTERS, NEW),
    PIPELINE("st.async, each to all others", ST_ASYNC, TO_ALL, 544, MANY, NEW),
    PIPELINE("bulk copies, to the neighbour", BULK, NEIGHBOUR, 64, CLUSTERS, NEW),
    PIPELINE("bulk copies, all to one", BULK, TO_ONE, 64, CLUSTERS, NEW),
    PIPELINE("bulk copies, each to all others", BULK, TO_ALL, 64, MANY, NEW),
    STREAM("red, random words, own", RED, SELF, ONE, 1024, COUNT, NEW),
    STREAM("red, random words, neighbour's", RED, NEIGHBOUR, CLUSTERS, 256, COUNT, NEW),
    STREAM("red, random words, any block's", RED, TO_ALL, CLUSTERS, 256, COUNT, .before = {0, 80, 80, 80, 80},
           .source = MEASURED),
    PIPELINE("bulk from L2, each block all of it", MULTICAST, SELF, 64, ONE | CLUSTERS,
             .source = "published: 38 B/clk an SM without multicast"),
    PIPELINE("bulk from L2, multicast to all", MULTICAST, TO_ALL, 64, CLUSTERS,
             .source = "published: 70 B/clk an SM with 4-way, no gain at 8-way"),
    {.topic = "throughput", .name = "loads, global (DRAM)", .kernel = &probe_read_global,
     .shape = {.threads = 1024, .bytes = 4096ull * MIB}, .unit = PROBE_BYTES, .before = {4.53}, .source = MEASURED},

    MEETING("bar.sync, 128 threads", barriers, barrier, ARRIVE, 128, 0, ALONE, 1024, .before = {32},
            .source = MEASURED),
    MEETING("bar.sync, 1024 threads", barriers, barrier, ARRIVE, 1024, 0, ALONE, 1024, .before = {88},
            .source = MEASURED),
    MEETING("barrier.cluster, 128 threads", barriers, barrier, ARRIVE, 128, 0, CLUSTERS, 512,
            .before = {0, 395, 395, 395, 395}, .source = MEASURED),
    MEETING("barrier.cluster, 1024 threads", barriers, barrier, ARRIVE, 1024, 0, CLUSTERS, 512,
            .before = {0, 650, 650, 650, 650}, .source = MEASURED),
    MEETING("mbarrier, there and back", barriers, ping_pong, ARRIVE, 1, 0, CLUSTERS, 1024, NEW),
    MEETING("mbarrier by release.cluster, there and back", barriers, ping_pong, RELEASE, 1, 0, CLUSTERS, 1024, NEW),
    MEETING("st.async of 4 B, there and back", barriers, ping_pong, ST_ASYNC, 1, 0, CLUSTERS, 1024, NEW),
    MEETING("flag in DSMEM, there and back", barriers, ping_pong, FLAG, 1, 0, CLUSTERS, 1024, NEW),
    MEETING("allreduce of an f32, barrier and pull", barriers, allreduce, LOAD, 32, 0, CLUSTERS, 512,
            .before = {0, 895, 922, 938, 1010}, .source = MEASURED),
    MEETING("allreduce of an f32, st.async push", barriers, allreduce, ST_ASYNC, 32, 0, CLUSTERS, 512,
            .before = {0, 524, 607, 645, 756}, .source = MEASURED),

    MEETING("4 B there and back, DSMEM (st.async)", exchange, ping_pong, ST_ASYNC, 1, 0, TWO, 1024, NEW),
    MEETING("4 B there and back, global (flag)", exchange, ping_pong, GLOBAL, 1, 0, TWO, 1024, NEW),
    MEETING("4 KiB each, DSMEM (barrier.cluster)", exchange, exchange, STORE, 256, 4 * KIB, TWO, 512, NEW),
    MEETING("4 KiB each, DSMEM (st.async)", exchange, exchange, ST_ASYNC, 256, 4 * KIB, TWO, 512, NEW),
    MEETING("4 KiB each, global (flag)", exchange, exchange, GLOBAL, 256, 4 * KIB, TWO, 512, NEW),
    MEETING("64 KiB each, DSMEM (barrier.cluster)", exchange, exchange, STORE, 256, 64 * KIB, TWO, 128, NEW),
    MEETING("64 KiB each, DSMEM (st.async)", exchange, exchange, ST_ASYNC, 256, 64 * KIB, TWO, 128, NEW),
    MEETING("64 KiB each, global (flag)", exchange, exchange, GLOBAL, 256, 64 * KIB, TWO, 128, NEW),
};

const size_t probe_figure_count = sizeof probe_figures / sizeof *probe_figures;

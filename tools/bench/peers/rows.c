// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

// ---- sums

#define SUM(text, size_, type_, n_, goal_, share_)                                                                       \
    {.work = #text " sum", .size = size_, .peer = "CUB Sum", .family = "reduce", .params = "n=" size_ " dtype=" #text,     \
     .problem = {.work = PEER_SUM, .type = type_, .n = UINT64_C(1) << (n_)}, .goal = goal_, .share = share_, .rotate = true}

#define REFERENCE(n_, cluster_, name)                                                                                    \
    {.work = "f32 sum", .size = "2^" #n_, .peer = name, .family = "reduce", .params = "n=2^" #n_ " dtype=f32",             \
     .reference = cluster_, .problem = {.work = PEER_SUM, .type = PEER_F32, .n = UINT64_C(1) << (n_)}, .rotate = true}

#define MOMENTS(text, op_, peer_, work_, share_)                                                                         \
    {.work = text, .size = "2^28", .peer = peer_, .family = "reduce", .params = "n=2^28 dtype=f32 op=" op_,                \
     .problem = {.work = work_, .type = PEER_F32, .n = UINT64_C(1) << 28}, .share = share_, .rotate = true}

// ---- histograms: how samples are spread, bins

#define HISTOGRAM(text, fill_, power, goal_, share_)                                                                     \
    {.work = "histogram, " text, .size = "2^" #power " bins", .peer = "CUB HistogramEven", .family = "histogram",          \
     .params = "n=2^28 dtype=u32 bins=2^" #power,                                                                        \
     .problem = {.work = PEER_HISTOGRAM, .type = PEER_U32, .fill = fill_, .n = UINT64_C(1) << 28, .bins = 1u << (power)}, \
     .goal = goal_, .share = share_, .rotate = true}

#define HISTOGRAMS(text, fill)                                                                                           \
    HISTOGRAM(text, fill, 8, 2.2, 1 / 1.3), HISTOGRAM(text, fill, 11, 10, 1 / 1.3), HISTOGRAM(text, fill, 14, 10, 1 / 1.3), \
    HISTOGRAM(text, fill, 15, 10, 1 / 1.3), HISTOGRAM(text, fill, 16, 10, 1 / 1.6), HISTOGRAM(text, fill, 17, 10, 1 / 2.5), \
    HISTOGRAM(text, fill, 18, 10, 0), HISTOGRAM(text, fill, 19, 4, 0)

// Blocks that count their own bins against blocks that add to each other's counters: the same clusters.
#define REMOTE(power, cluster_)                                                                                          \
    {.work = "histogram of a cluster", .size = "2^" #power " bins, cluster " #cluster_, .peer = "remote counters",         \
     .family = "histogram", .params = "n=2^28 dtype=u32 bins=2^" #power " cluster=" #cluster_,                           \
     .peer_params = "n=2^28 dtype=u32 bins=2^" #power " cluster=" #cluster_ " strategy=remote",                          \
     .problem = {.work = PEER_HISTOGRAM, .type = PEER_U32, .fill = PEER_UNIFORM, .n = UINT64_C(1) << 28,                 \
                 .bins = 1u << (power)},                                                                                 \
     .rotate = true}

// ---- stencils

#define STENCIL(size_, edge, problems_, steps_, ideal_)                                                                  \
    {.work = "stencil, 2-D 5-point", .size = size_, .peer = "a kernel a step", .family = "stencil",                        \
     .params = "dim=2 nx=" #edge " ny=" #edge " batch=" #problems_ " steps=" #steps_,                                    \
     .problem = {.work = PEER_STENCIL, .type = PEER_F32, .n = UINT64_C(1) * (edge) * (edge) * (problems_),               \
                 .height = edge, .width = edge, .problems = problems_, .steps = steps_},                                 \
     .goal = 3, .ideal = ideal_}

// ---- blocks that trade: 128 KiB each, as many groups as an H200 holds

#define ALL_TO_ALL(cluster_, clusters, rounds_)                                                                          \
    {.work = "all-to-all, 128 KiB a block", .size = "cluster " #cluster_ ", " #rounds_ " times",                           \
     .peer = "flags in global memory", .family = "exchange",                                                             \
     .params = "pattern=all-to-all strategy=push n=32768 cluster=" #cluster_ " clusters=" #clusters " repeat=" #rounds_,   \
     .problem = {.work = PEER_ALL_TO_ALL, .type = PEER_F32, .n = 32768 * (cluster_) * (clusters),                        \
                 .blocks = (cluster_) * (clusters), .cluster = cluster_, .bytes = 131072, .rounds = rounds_},            \
     .goal = 2}

#define ALLREDUCE(cluster_)                                                                                              \
    {.work = "allreduce of one value", .size = "cluster " #cluster_ ", 1000 times", .peer = "barrier.cluster + pull",      \
     .family = "collective", .params = "op=allreduce combine=max rounds=1000 cluster=" #cluster_ " strategy=push",       \
     .peer_params = "op=allreduce combine=max rounds=1000 cluster=" #cluster_ " strategy=pull",                          \
     .problem = {.work = PEER_OURS, .type = PEER_F32, .n = cluster_}, .goal = 1.5}

// ---- scans: of 2^28 elements

#define SCAN(text, size_, peer_, params_, work_, columns_, share_)                                                       \
    {.work = text, .size = size_, .peer = peer_, .family = "scan", .params = params_,                                    \
     .problem = {.work = work_, .type = PEER_F32, .n = UINT64_C(1) << 28, .columns = columns_}, .goal = 1,               \
     .share = share_, .rotate = true}

// ---- the largest of each row, with their indices, in any order

#define TOPK(rows_, columns_, k_)                                                                                        \
    {.work = "top-k, k = " #k_, .size = #rows_ " x " #columns_, .peer = "CUB DeviceBatchedTopK", .family = "topk",        \
     .params = "rows=" #rows_ " columns=" #columns_ " k=" #k_ " index=u32 result=any",                                   \
     .problem = {.work = PEER_TOPK, .type = PEER_F32, .n = UINT64_C(rows_) * (columns_), .columns = columns_, .k = k_},  \
     .goal = 1, .rotate = true}

// ---- rows in order, with their indices: against the sort of segments, and the radix sort of segments

#define SORT(rows_, columns_, peer_, work_, goal_, waits_)                                                               \
    {.work = "sort", .size = #rows_ " x " #columns_, .peer = peer_, .family = "sort",                                     \
     .params = "rows=" #rows_ " columns=" #columns_ " index=u32",                                                        \
     .problem = {.work = work_, .type = PEER_F32, .n = UINT64_C(rows_) * (columns_), .columns = columns_},               \
     .goal = goal_, .rotate = true, .waits = waits_}

#define SORTS(rows, columns)                                                                                             \
    SORT(rows, columns, "CUB DeviceSegmentedSort", PEER_SORT_ROWS, 2, true),                                             \
    SORT(rows, columns, "CUB DeviceSegmentedRadixSort", PEER_SORT_RADIX, 2, false)

const contest contests[] = {
    SUM(f32, "2^12", PEER_F32, 12, 1, 0),
    SUM(f32, "2^13", PEER_F32, 13, 1, 0),
    SUM(f32, "2^14", PEER_F32, 14, 1.5, 0),
    SUM(f32, "2^15", PEER_F32, 15, 1.5, 0),
    SUM(f32, "2^16", PEER_F32, 16, 1.5, 0),
    SUM(f32, "2^17", PEER_F32, 17, 1.5, 0),
    SUM(f32, "2^18", PEER_F32, 18, 1.5, 0),
    SUM(f32, "2^19", PEER_F32, 19, 1.5, 0),
    SUM(f32, "2^20", PEER_F32, 20, 1.5, 0),
    SUM(f32, "2^28", PEER_F32, 28, 1, 0.98),
    SUM(f32, "2^30", PEER_F32, 30, 1, 0.98),
    SUM(bf16, "2^28", PEER_BF16, 28, 1, 0.98),
    SUM(bf16, "2^30", PEER_BF16, 30, 1, 0.98),
    SUM(i32, "2^28", PEER_I32, 28, 1, 0.98),
    SUM(i32, "2^30", PEER_I32, 30, 1, 0.98),
    SUM(f64, "2^28", PEER_F64, 28, 1, 0.98),
    SUM(f64, "2^30", PEER_F64, 30, 1, 0.98),
    MOMENTS("argmax", "argmax", "CUB ArgMax", PEER_ARGMAX, 0.97),
    MOMENTS("mean and variance", "meanvar", "two CUB passes", PEER_MEAN_VARIANCE, 0.97),
    HISTOGRAMS("uniform", PEER_UNIFORM),
    HISTOGRAMS("skewed", PEER_SKEWED),
    HISTOGRAMS("all equal", PEER_EQUAL),
    HISTOGRAMS("sorted", PEER_SORTED),
    REMOTE(11, 2),
    REMOTE(14, 2),
    REMOTE(14, 4),
    REMOTE(16, 8),
    REMOTE(17, 4),
    STENCIL("256^2, 1024 steps", 256, 1, 1024, false),
    STENCIL("15 x 512^2, 1024 steps", 512, 15, 1024, false),
    STENCIL("8192^2, 256 steps", 8192, 1, 256, true),
    ALL_TO_ALL(8, 15, 257),
    ALL_TO_ALL(16, 7, 257),
    ALLREDUCE(2),
    ALLREDUCE(4),
    ALLREDUCE(8),
    ALLREDUCE(16),
    SCAN("scan", "2^28", "CUB InclusiveSum", "columns=2^28", PEER_SCAN, 0, 0.93),
    SCAN("scan along rows", "4096 x 65536", "CUB InclusiveSumByKey", "rows=4096 columns=65536", PEER_SCAN_ROWS,
         65536, 0.93),
    SCAN("scan along rows", "65536 x 4096", "CUB InclusiveSumByKey", "rows=65536 columns=4096", PEER_SCAN_ROWS,
         4096, 0.93),
    SCAN("segmented scan, flags", "2^28 in segments of 64", "CUB InclusiveScan of pairs", "columns=2^28 heads=flags",
         PEER_SCAN_FLAGS, 64, 0.9),
    SCAN("segmented scan, flags", "2^28 in segments of 2^20", "CUB InclusiveScan of pairs", "columns=2^28 heads=flags",
         PEER_SCAN_FLAGS, 1 << 20, 0.9),
    TOPK(4096, 65536, 64),
    TOPK(32, 131072, 50),
    SORTS(65536, 1024),
    SORTS(16384, 4096),
    SORTS(4096, 16384),
    SORTS(4096, 65536),
    SORTS(1024, 262144),
    SORT(1, 1048576, "CUB DeviceRadixSort", PEER_SORT, 1, false),
    SORT(1, 67108864, "CUB DeviceRadixSort", PEER_SORT, 1, false),
    REFERENCE(10, "4", "cooperative groups"),
    REFERENCE(20, "4", "cooperative groups"),
    REFERENCE(20, "0", "CUDA without clusters"),
    REFERENCE(28, "4", "cooperative groups"),
    REFERENCE(28, "0", "CUDA without clusters"),
};

const unsigned contest_count = sizeof contests / sizeof *contests;

// SPDX-License-Identifier: Apache-2.0
// Step 10: a multicast pipeline. The two blocks of a cluster need the same twelve tiles. Each reads one half of every tile
// from global memory and multicasts it to both; three stages in shared memory keep copies in flight meanwhile.
//
//     out[r][i] = (r + 1) * (x[0][i] + x[1][i] + ... + x[11][i])
#include "step.h"

enum { COLUMNS = 256, THREADS = COLUMNS + 32, CLUSTER = 2, STAGES = 3, TILES = 12, TILE_BYTES = 4 * COLUMNS };
enum { HALF = TILE_BYTES / CLUSTER, ALL = (1 << CLUSTER) - 1, WARPS = COLUMNS / 32 };

typedef struct kernel {
    cj_pipeline pipeline;
    cj_var      stages;
    cj_reg      thread, rank;
} kernel;

static void write_producer(cj_func *f, const kernel *k, cj_var x) {
    cj_reg offset = cj_mul(f, "offset", k->rank, HALF), left = cj_mov(f, "u32", "tiles_left", TILES);
    cj_reg global = cj_let(f, "u64", "global", "ld.param.u64 $1, [$2];", x);
    cj_reg from = cj_mad_wide(f, "from", k->rank, HALF, global),
           base = cj_add(f, "half", cj_shared_address(f, k->stages), offset);
    cj_pipeline_at at = cj_pipeline_begin(f, &k->pipeline, CJ_PRODUCER);
    CJ_COUNT_DOWN(f, "next_tile", left, 1) {
        cj_reg full = cj_pipeline_acquire(f, &k->pipeline, &at, CJ_ARG(TILE_BYTES));
        cj_reg into = cj_mad(f, "into", at.stage, TILE_BYTES, base);
        cj_bulk_load_multicast(f, cj_always(), into, from, CJ_ARG(HALF), full, CJ_ARG(ALL));
        cj_update(f, from, "add", TILE_BYTES);
        cj_pipeline_next(f, &k->pipeline, &at);
    }
}

static void write_consumer(cj_func *f, const kernel *k, cj_var out, bool mistake) {
    cj_reg         sum = cj_mov(f, "u32", "sum", 0), left = cj_mov(f, "u32", "sums_left", TILES);
    cj_reg         lane = cj_and(f, "lane", k->thread, 31), base = shared_element(f, k->stages, k->thread);
    cj_reg         releases = cj_lt(f, "releases", lane, CLUSTER);  // lane r tells block r
    cj_reg         peer = cj_pipeline_peer(f, &k->pipeline, cj_and(f, "target", lane, CLUSTER - 1));
    cj_pipeline_at at = cj_pipeline_begin(f, &k->pipeline, CJ_CONSUMER);
    CJ_COUNT_DOWN(f, "next_sum", left, 1) {
        cj_pipeline_wait(f, &k->pipeline, &at);
        cj_reg word = cj_mad(f, "word", at.stage, TILE_BYTES, base);
        if (mistake) cj_pipeline_release(f, releases, peer, at.stage, "too early");
        cj_reg value = cj_let(f, "u32", "value", "ld.shared.u32 $1, [$2];", word);
        cj_update(f, sum, "add", value);
        cj_ptx(f, "bar.warp.sync 0xffffffff; // all lanes have read their word");
        if (!mistake) cj_pipeline_release(f, releases, peer, at.stage, "this warp has read the stage");
        cj_pipeline_next(f, &k->pipeline, &at);
    }
    cj_update(f, sum, "mul", cj_add(f, "factor", k->rank, 1));
    cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, cj_mad(f, "index", k->rank, COLUMNS, k->thread)), sum);
}

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[12][256]"), out = cj_param(f, "u64", "out", "u32 out[2][256]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    kernel k = {.thread = cj_mov(f, "u32", "thread", "%tid.x"), .rank = cj_cluster_rank(f)};
    k.stages = cj_shared(f, "u32", "stages", STAGES * COLUMNS, 128);
    k.pipeline = cj_pipeline_declare(f, "pipeline", STAGES);
    cj_pipeline_init(f, cj_eq(f, "first", k.thread, 0), &k.pipeline, CJ_ARG(CLUSTER * WARPS));
    cj_cluster_sync(f, "both blocks have started, and their mbarriers are ready");

    CJ_IF(f, cj_lt(f, "computes", k.thread, COLUMNS), "summed") { write_consumer(f, &k, out, mistake); }
    CJ_IF(f, cj_eq(f, "copies", k.thread, COLUMNS), "copied") { write_producer(f, &k, x); }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // the copying lane is back");
    cj_cluster_sync(f, "neither block leaves while the other still sends to it, or releases its stages");
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    static uint32_t from[TILES * COLUMNS], to[CLUSTER][COLUMNS];
    bool            right = true;
    step            s = step_begin(argc, argv, "sm_90a");
    for (unsigned i = 0; i < TILES * COLUMNS; i++) from[i] = i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof to);
    step_launch(&s, .grid = {CLUSTER, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(x, out));
    step_read(&s, to, out, sizeof to);
    for (unsigned r = 0; r < CLUSTER; r++) {
        printf("rank %u: %u %u ... %u\n", r, to[r][0], to[r][1], to[r][COLUMNS - 1]);
        for (unsigned i = 0; i < COLUMNS; i++) right &= to[r][i] == (r + 1) * (12 * i + 66 * COLUMNS);
    }
    return step_end(&s, right);
}

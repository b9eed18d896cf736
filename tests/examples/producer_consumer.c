// SPDX-License-Identifier: Apache-2.0
// Two blocks of a cluster with a role each: one decodes a matrix of bytes, row by row, and pushes what it decoded into
// the other's shared memory; the other adds the rows up. sums[i] = scale * (x[0][i] + x[1][i] + ...), and each cluster
// has 256 columns of its own. The pipeline between the two blocks is clusterjit/pipeline.h's.
//
//     block 0, the producer                             block 1, the consumer
//     rows[3][256]     -- one bulk copy a row -->       rows[3][256]      full[3]
//     empty[3]         <-- one arrival a row ----       sum, in registers
#include <string.h>

#include "example.h"

enum { ROWS = 50, THREADS = 256, CLUSTERS = 3, COLUMNS = THREADS * CLUSTERS, STAGES = 3, ROW_BYTES = THREADS * 4 };

// Registers that both roles have.
typedef struct thread {
    cj_reg index, column;  // in the block, and in the matrix
    cj_reg leader;         // true in one thread of the block
    cj_reg stages;         // where this block's three rows are
    cj_reg rows;           // that are still to come
} thread;

// The address of this thread's word of a stage.
static cj_reg word_of_stage(cj_func *f, const thread *t, const cj_pipeline_at *at) {
    cj_reg word = cj_u32(f, "word");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", word, at->stage, ROW_BYTES, t->stages);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", word, t->index);
    return word;
}

static void next_row(cj_func *f, const thread *t, const cj_pipeline *pipeline, const cj_pipeline_at *at, cj_label again) {
    cj_reg more = cj_pred(f, "more");
    cj_pipeline_next(f, pipeline, at);
    cj_ptx(f, "sub.u32 $1, $1, 1;", t->rows);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, t->rows);
    cj_ptx(f, "@$1 bra $2;", more, again);
}

static void write_producer(cj_func *f, const thread *t, const cj_pipeline *pipeline, cj_var x, cj_reg consumer) {
    cj_step(f, "block 0: decodes a row and pushes it into block 1's stage");
    cj_reg source = cj_u64(f, "source"), code = cj_u32(f, "code"), value = cj_f32(f, "value"),
           offset = cj_u64(f, "offset");
    cj_reg there = cj_cluster_map_address(f, t->stages, consumer), to = cj_pipeline_consumer(f, pipeline, consumer);
    cj_reg from = cj_u32(f, "from"), into = cj_u32(f, "into");
    cj_ptx(f, "ld.param.u64 $1, [$2];", source, x);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", offset, t->column);
    cj_ptx(f, "add.u64 $1, $1, $2;", source, offset);

    cj_pipeline_at at = cj_pipeline_begin(f, pipeline, CJ_PRODUCER);
    cj_label       again = cj_label_new(f, "next_row");
    cj_label_here(f, again);
    cj_reg full = cj_pipeline_acquire_peer(f, t->leader, pipeline, &at, to, CJ_ARG(ROW_BYTES));
    cj_ptx(f, "ld.global.u8 $1, [$2];", code, source);
    cj_ptx(f, "cvt.rn.f32.u32 $1, $2;", value, code);
    cj_ptx(f, "mul.f32 $1, $1, 0.25; // the scale", value);
    cj_ptx(f, "st.shared.f32 [$1], $2;", word_of_stage(f, t, &at), value);
    cj_async_fence(f, "the copy may read what this thread has written");
    cj_ptx(f, "bar.sync 0; // all of the row is written");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", from, at.stage, ROW_BYTES, t->stages);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", into, at.stage, ROW_BYTES, there);
    cj_bulk_push(f, t->leader, into, from, CJ_ARG(ROW_BYTES), full);
    cj_ptx(f, "add.u64 $1, $1, $2;", source, COLUMNS);
    next_row(f, t, pipeline, &at, again);
}

static void write_consumer(cj_func *f, const thread *t, const cj_pipeline *pipeline, cj_var sums, cj_reg producer) {
    cj_step(f, "block 1: adds up the rows");
    cj_reg from = cj_pipeline_peer(f, pipeline, producer), value = cj_f32(f, "value"), sum = cj_f32(f, "sum"),
           target = cj_u64(f, "target");
    cj_ptx(f, "mov.f32 $1, 0.0;", sum);
    cj_pipeline_at at = cj_pipeline_begin(f, pipeline, CJ_CONSUMER);
    cj_label       again = cj_label_new(f, "next_row");
    cj_label_here(f, again);
    cj_pipeline_wait_peer(f, pipeline, &at);
    cj_ptx(f, "ld.shared.f32 $1, [$2];", value, word_of_stage(f, t, &at));
    cj_ptx(f, "add.f32 $1, $1, $2;", sum, value);
    cj_pipeline_release(f, cj_always(), from, at.stage, "this thread has read its word");
    next_row(f, t, pipeline, &at, again);
    cj_ptx(f, "ld.param.u64 $1, [$2];", target, sums);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $1;", target, t->column);
    cj_ptx(f, "st.global.f32 [$1], $2;", target, sum);
}

static thread write_thread(cj_func *f) {
    thread t = {.index = cj_u32(f, "index"), .column = cj_u32(f, "column"), .rows = cj_u32(f, "rows_left")};
    t.leader = cj_elect_block(f);
    t.stages = cj_shared_address(f, cj_shared(f, "f32", "rows", STAGES * THREADS, 128));
    cj_ptx(f, "mov.u32 $1, %tid.x;", t.index);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", t.column, cj_cluster_index(f), THREADS, t.index);
    cj_ptx(f, "mov.u32 $1, $2;", t.rows, ROWS);
    return t;
}

static cj_status write_kernel(char **text, size_t *length, cj_error *error) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_head(b, "sums[i] = 0.25 * (x[0][i] + x[1][i] + ... + x[%d][i])", ROWS - 1);
    cj_func *f = cj_entry(b, "column_sums");
    cj_var   x = cj_param(f, "u64", "x", "u8 x[50][768]"), sums = cj_param(f, "u64", "sums", "f32 sums[768]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, 2, 1, 1);

    const thread t = write_thread(f);
    cj_pipeline  pipeline = cj_pipeline_declare(f, "stages", STAGES);
    cj_pipeline_init(f, t.leader, &pipeline, CJ_ARG(THREADS));
    cj_cluster_sync(f, "both blocks have started, and their mbarriers are ready");

    cj_reg   producer = cj_u32(f, "producer"), consumer = cj_u32(f, "consumer"), adds = cj_pred(f, "adds");
    cj_label add = cj_label_new(f, "consumer"), end = cj_label_new(f, "end");
    cj_ptx(f, "mov.u32 $1, 0;", producer);
    cj_ptx(f, "mov.u32 $1, 1;", consumer);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", adds, cj_cluster_rank(f), consumer);
    cj_ptx(f, "@$1 bra $2;", adds, add);
    write_producer(f, &t, &pipeline, x, consumer);
    cj_ptx(f, "bra $1;", end);
    cj_label_here(f, add);
    write_consumer(f, &t, &pipeline, sums, producer);
    cj_label_here(f, end);
    cj_cluster_sync(f, "neither block leaves while the other still writes to it");
    cj_ptx(f, "ret;");

    cj_status status = cj_builder_finish(b, text, length, error);
    cj_builder_destroy(b);
    return status;
}

static int is_right(const unsigned char *x, const float *sums) {
    int wrong = 0;
    for (int i = 0; i < COLUMNS; i++) {
        int sum = 0;
        for (int r = 0; r < ROWS; r++) sum += x[r * COLUMNS + i];
        wrong += sums[i] != 0.25F * (float)sum;  // exact: sums of small integers, and a power of two
    }
    printf("wrong sums: %d of %d\n", wrong, COLUMNS);
    return !wrong;
}

int main(int argc, char **argv) {
    static unsigned char codes[ROWS * COLUMNS];
    static float         found[COLUMNS];
    char                *text = NULL;
    size_t               length;
    cj_error             error;
    cj_ptr               x, sums;
    cj_module           *module;
    cj_function         *function;
    cj_device           *device = open_device(argc, argv);
    for (int i = 0; i < ROWS * COLUMNS; i++) codes[i] = (unsigned char)(i * 7919 % 251);

    must(write_kernel(&text, &length, &error), &error);
    if (argc > 2 && strcmp(argv[2], "--ptx") == 0) puts(text);
    must(cj_module_from_ptx(device, text, length, &module, &error), &error);
    must(cj_module_function(module, "column_sums", &function, &error), &error);
    must(cj_mem_alloc(device, sizeof codes, &x, &error), &error);
    must(cj_mem_alloc(device, sizeof found, &sums, &error), &error);
    must(cj_mem_write(device, x, codes, sizeof codes, NULL, &error), &error);
    const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {2 * CLUSTERS, 1, 1},
                                     .block = {THREADS, 1, 1}, CJ_ARGS(x, sums)};
    must(cj_launch(device, &config, &error), &error);
    must(cj_mem_read(device, found, sums, sizeof found, NULL, &error), &error);

    cj_mem_free(device, sums);
    cj_mem_free(device, x);
    cj_module_unload(module);
    cj_text_free(text);
    cj_device_close(device);
    return verdict(is_right(codes, found));
}

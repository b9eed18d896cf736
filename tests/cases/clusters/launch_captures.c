// SPDX-License-Identifier: Apache-2.0
#include "launch_captures.h"

#include <clusterjit/clusterjit.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static cj_device *device;

// A small problem of a family, and the function that launches its kernel from `in` to `out`, 64 KiB each.
typedef struct family_run {
    const char *family, *parameters;  // "n=1024 dtype=u32"
    cj_status (*launch)(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error);
} family_run;

enum { RUN_WORDS = 1 << 14, RUN_BYTES = RUN_WORDS * sizeof(uint32_t), MEMORY = 8 * RUN_BYTES };

static cj_status launch_with_n(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    uint64_t n = cj_params_get(&cj_kernel_plan(kernel)->params, "n");
    void    *arguments[] = {&in, &out, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

// It adds to the counts that are there.
static cj_status launch_histogram(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_status status = cj_mem_fill(device, out, 0, RUN_BYTES, stream, error);
    return status ? status : launch_with_n(kernel, in, out, stream, error);
}

static cj_status launch_pair(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    void *arguments[] = {&in, &out};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

static cj_status launch_collective(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr cycles = in + RUN_BYTES;
    void  *arguments[] = {&in, &out, &cycles};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

// Values in the first half of `out`, indices in the second.
static cj_status launch_pairs(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr indices = out + RUN_BYTES / 2;
    void  *arguments[] = {&in, &out, &indices};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

enum { OFFSETS_AT = 2 * RUN_BYTES };  // from the input

static const int32_t offsets[] = {0, 100, 350, 350, 900};

static cj_status launch_segments(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr indices = out + RUN_BYTES / 2, at = in + OFFSETS_AT;
    void  *arguments[] = {&in, &out, &indices, &at};
    return cj_kernel_launch(kernel, stream, arguments, 4, error);
}

static cj_status launch_payload(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr payload = in + RUN_BYTES / 2, indices = out + RUN_BYTES / 2, sorted = out + RUN_BYTES / 4;
    void  *arguments[] = {&in, &out, &indices, &payload, &sorted};
    return cj_kernel_launch(kernel, stream, arguments, 5, error);
}

// By temperature 1 alone.
static cj_status launch_sample(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    uint64_t none = 0, one = 0x3f800000;
    void    *arguments[22] = {&in, &out};
    for (unsigned i = 2; i < 22; i++) arguments[i] = i == 5 ? &one : &none;
    return cj_kernel_launch(kernel, stream, arguments, 22, error);
}

// No row counts: all labels are the ignored one.
static cj_status launch_crossentropy(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr labels = in + RUN_BYTES, logarithms = out + RUN_BYTES / 2;
    void  *arguments[] = {&in, &labels, &out, &logarithms};
    return cj_kernel_launch(kernel, stream, arguments, 4, error);
}

// dx in the first half of `out`, db in the second.
static cj_status launch_gradients(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr db = out + RUN_BYTES / 2;
    void  *arguments[] = {&in, &in, &out, &in, &db};
    return cj_kernel_launch(kernel, stream, arguments, 5, error);
}

static cj_status launch_gemm(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    const cj_gemm_desc     desc = {CJ_INIT(desc), .m = 64, .n = 64, .k = 64, .dtype = CJ_BF16};
    const cj_gemm_operands operands = {CJ_INIT(operands), .a = in, .b = in + 8192, .d = out, .alpha = 1};
    return cj_gemm_kernel_launch(device, kernel, &desc, &operands, stream, error);
}

enum { BOX_BYTES = 8192 };

// Rank 0 of two, alone: it gives up at once, and takes zeros from the box that both have.
static cj_status launch_rank(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr          box = in + RUN_BYTES / 2;
    uint64_t        rank = 0, limit = 0;
    void           *arguments[] = {&in, &out, &box, &box, &rank, &limit};
    const cj_status status = cj_mem_fill(device, box, 0, BOX_BYTES, stream, error);
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 6, error);
}

static cj_status launch_barrier(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    uint64_t        rank = 0, limit = 0;
    void           *arguments[] = {&out, &out, &rank, &limit};
    const cj_status status = cj_mem_fill(device, out, 0, BOX_BYTES, stream, error);
    (void)in;
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 4, error);
}

// The same with all five arrays.
static cj_status launch_norm(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr          box = in + RUN_BYTES / 2, sum = out + RUN_BYTES / 2;
    uint64_t        rank = 0, limit = 0;
    void           *arguments[] = {&in, &in, &sum, &out, &in, &box, &box, &rank, &limit};
    const cj_status status = cj_mem_fill(device, box, 0, BOX_BYTES, stream, error);
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 9, error);
}

static cj_status launch_sharded_loss(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr          box = in + RUN_BYTES / 2, lse = out + RUN_BYTES / 2;
    uint64_t        rank = 0, limit = 0;
    void           *arguments[] = {&in, &in, &out, &lse, &box, &box, &rank, &limit};
    const cj_status status = cj_mem_fill(device, box, 0, BOX_BYTES, stream, error);
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 8, error);
}

static cj_status launch_lists(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    cj_ptr          box = in + RUN_BYTES / 2, indices = out + RUN_BYTES / 2;
    uint64_t        rank = 0, limit = 0;
    void           *arguments[] = {&in, &in, &out, &indices, &box, &box, &rank, &limit};
    const cj_status status = cj_mem_fill(device, box, 0, BOX_BYTES, stream, error);
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 8, error);
}

static const family_run runs[] = {
    {"reduce", "n=1024 dtype=u32", launch_with_n},
    {"histogram", "n=4096 bins=1024", launch_histogram},
    {"stencil", "nx=64 ny=48 steps=9", launch_pair},
    {"exchange", "pattern=ring n=512 cluster=4", launch_pair},
    {"collective", "op=allgather count=32 cluster=4", launch_collective},
    {"softmax", "rows=8 columns=512", launch_pair},
    {"logsoftmax", "rows=8 columns=512 cluster=2", launch_pair},
    {"rmsnorm", "rows=16 columns=512 weight=no pass=backward bias-gradient=yes", launch_gradients},
    {"layernorm", "rows=8 columns=512 weight=no form=spread blocks=4", launch_pair},
    {"crossentropy", "rows=8 columns=512 ignore=-1", launch_crossentropy},
    {"gemm", "m=64 n=64 k=64", launch_gemm},
    {"gemm", "m=64 n=64 k=64 form=mma parts=2", launch_gemm},
    {"scan", "columns=12000 block=128 dtype=u32", launch_pair},
    {"topk", "rows=4 columns=3000 k=100 dtype=i32", launch_pairs},
    {"topk", "rows=2 columns=9001 k=10 dtype=i32 stride=9004 parts=3", launch_pairs},
    {"sort", "rows=3 columns=300 dtype=i32", launch_pairs},
    {"sort", "rows=3 columns=700 dtype=i32 form=grid block=256 items=1", launch_pairs},  // it has a workspace
    {"sort", "rows=4 columns=550 dtype=i32 segments=i32", launch_segments},
    {"sort", "rows=3 columns=300 dtype=i32 payload=b32", launch_payload},
    {"argmax", "rows=4 columns=3000 cluster=2", launch_pair},
    {"sample", "rows=4 columns=3000 cluster=2", launch_sample},
    {"sample", "rows=4 columns=3000 cluster=0", launch_sample},
    {"allreduce", "gpus=2 count=16 mail=1024 shots=1", launch_rank},
    {"reducescatter", "gpus=2 count=16 mail=1024", launch_rank},
    {"allgather", "gpus=2 count=16 mail=1024", launch_rank},
    {"alltoall", "gpus=2 count=16 mail=1024", launch_rank},
    {"broadcast", "gpus=2 count=16 mail=1024", launch_rank},
    {"barrier", "gpus=2 mail=1024", launch_barrier},
    {"allreducenorm", "gpus=2 rows=2 columns=32 mail=1024 shots=1 dtype=f32", launch_norm},
    {"shardedcrossentropy", "gpus=2 rows=3 columns=32 mail=1024 dtype=f32", launch_sharded_loss},
    {"shardedsoftmax", "gpus=2 rows=3 columns=32 mail=1024 dtype=f32", launch_rank},
    {"shardedtopk", "gpus=2 rows=3 columns=32 k=8 mail=1024 dtype=f32", launch_lists},
};

typedef struct captured {
    const family_run *run;
    cj_kernel        *kernel;
    cj_ptr            memory;  // RUN_WORDS of results, then of input, then of what a family takes besides
} captured;

static cj_status run_captured(void *user, cj_stream stream, cj_error *error) {
    const captured *c = user;
    return c->run->launch(c->kernel, c->memory + RUN_BYTES, c->memory, stream, error);
}

static void check_that_each_family_has_a_run(void) {
    for (size_t i = 0; i < cj_family_count(); i++) {
        const char *name = cj_family_name(cj_family_at(i));
        size_t      r = 0;
        while (r < CJ_TEST_COUNT(runs) && strcmp(runs[r].family, name)) r++;
        if (r == CJ_TEST_COUNT(runs)) fail_msg("there is no run of the family %s here", name);
    }
}

static cj_kernel *make_kernel(const char *family, const char *parameters) {
    cj_params  params;
    cj_kernel *kernel = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_test_params(family, parameters, &params, &error), &error);
    cj_test_ok(cj_kernel_create(device, &params, &kernel, &error), &error);
    return kernel;
}

// The input, after results; all ones before, between and after them.
static void put_input(cj_ptr memory) {
    static uint32_t words[RUN_WORDS];
    cj_error        error = {0};
    cj_test_ok(cj_mem_fill(device, memory, 0xff, MEMORY, NULL, &error), &error);
    for (uint32_t i = 0; i < RUN_WORDS; i++) words[i] = i % 1000;
    cj_test_ok(cj_mem_write(device, memory + RUN_BYTES, words, sizeof words, NULL, &error), &error);
    cj_test_ok(cj_mem_write(device, memory + RUN_BYTES + OFFSETS_AT, offsets, sizeof offsets, NULL, &error), &error);
}

static void read_results(cj_ptr memory, uint32_t results[RUN_WORDS]) {
    cj_error error = {0};
    cj_test_ok(cj_synchronize(device, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, results, memory, RUN_BYTES, NULL, &error), &error);
}

void cj_test_captures(cj_device *on) {
    static uint32_t expected[RUN_WORDS], found[RUN_WORDS];
    cj_error        error = {0};
    cj_ptr          memory = 0;
    device = on;
    cj_test_ok(cj_mem_alloc(device, MEMORY, &memory, &error), &error);
    check_that_each_family_has_a_run();
    for (size_t i = 0; i < CJ_TEST_COUNT(runs); i++) {
        const family_run *run = &runs[i];
        captured          c = {.run = run, .kernel = make_kernel(run->family, run->parameters), .memory = memory};
        double            milliseconds = -1;
        put_input(memory);
        cj_test_ok(run_captured(&c, NULL, &error), &error);
        read_results(memory, expected);
        assert_int_not_equal(expected[0], UINT32_MAX);

        put_input(memory);
        cj_test_ok(cj_time_graph(device, run_captured, &c, 7, &milliseconds, &error), &error);
        assert_true(milliseconds > 0);
        read_results(memory, found);
        assert_memory_equal(found, expected, sizeof expected);
        cj_kernel_destroy(c.kernel);
    }
    cj_mem_free(device, memory);
}

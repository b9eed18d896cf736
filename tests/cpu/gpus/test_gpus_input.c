// SPDX-License-Identifier: Apache-2.0
// What calls of several GPUs refuse before they write anything, played by CPU devices: kernels of other boxes, arrays that overlap, and
// descriptions; and the forms in place, which they allow.
#include <clusterjit/clusterjit.h>
#include <string.h>

#include "emit.h"
#include "gpus_state.h"
#include "test.h"

enum { GPUS = 3, MAIL = 64 << 10, COUNT = 1500, BYTES = GPUS * COUNT * 4 };

static cj_device *device[GPUS];
static cj_gpus   *gpus;
static cj_ptr     x[CJ_GPUS_MAX], y[CJ_GPUS_MAX];

static cj_gpus *make(uint64_t mail, uint64_t limit) {
    cj_error              error = {0};
    cj_gpus              *made = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = mail, .limit = limit};
    cj_test_ok(cj_gpus_create(device, GPUS, &options, &made, &error), &error);
    return made;
}

static int open_all(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_cpu_options          watch = {CJ_INIT(watch), .hazards = true, .threads = 1, .instruction_limit = 1000 * 1000 * 1000};
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_device_open(&options, &device[r], &error), &error);
        cj_test_ok(cj_cpu_configure(device[r], &watch, &error), &error);
    }
    gpus = make(MAIL, 0);
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, x, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, y, &error), &error);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    cj_gpus_free(gpus, x);
    cj_gpus_free(gpus, y);
    cj_gpus_destroy(gpus);
    for (uint32_t r = 0; r < GPUS; r++) cj_device_close(device[r]);
    return 0;
}

static void fill(void) {
    cj_error error = {0};
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_fill(device[r], x[r], (uint8_t)(r + 1), BYTES, NULL, &error), &error);
        cj_test_ok(cj_mem_fill(device[r], y[r], 0xa5, BYTES, NULL, &error), &error);
    }
}

static void refuse(cj_status status, const cj_error *error, const char *says) {
    assert_int_equal(status, CJ_INVALID_ARGUMENT);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

// A kernel of a larger box would store beyond those of the peers.
static void kernels_of_other_boxes_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *family, *words, *says;
    } other[] = {{"allreduce", "gpus=3 count=64", "mail: the kernel of rank 0 is of boxes with 8388608 bytes of mail, and these have 65536"},
                 {"allreduce", "gpus=4 count=64 mail=65536", "gpus: the kernel of rank 0 is of 4 GPUs, and these are 3"},
                 {"shardedtopk", "gpus=3 mail=1024 rows=2 columns=8 k=2", "mail: the kernel of rank 0 is of boxes with 1024"},
                 {"allreducenorm", "gpus=2 mail=65536 rows=2 columns=8", "gpus: the kernel of rank 0 is of 2 GPUs"},
                 {"shardedsoftmax", "gpus=3 rows=2 columns=8", "mail: the kernel of rank 0"},
                 {"reduce", "n=64", "of the family reduce, which is of one GPU"}};
    const cj_ptr *arrays[] = {x, y, x, y};
    for (size_t i = 0; i < CJ_TEST_COUNT(other); i++) {
        cj_error   error = {0};
        cj_kernel *kernel[GPUS];
        cj_params  params;
        cj_test_ok(cj_test_params(other[i].family, other[i].words, &params, &error), &error);
        for (uint32_t r = 0; r < GPUS; r++) cj_test_ok(cj_kernel_create(device[r], &params, &kernel[r], &error), &error);
        refuse(cj_gpus_launch(gpus, kernel, GPUS, x, y, NULL, &error), &error, other[i].says);
        refuse(cj_gpus_launch_arrays(gpus, kernel, GPUS, arrays, 4, NULL, &error), &error, other[i].says);
        for (uint32_t r = 0; r < GPUS; r++) cj_kernel_destroy(kernel[r]);
    }
}

static void a_device_of_the_cpu_gives_up_sooner(void **state) {
    (void)state;
    cj_gpus *given = make(MAIL, 77);
    assert_int_equal(gpus->limit, 1 << 20);
    assert_int_equal(given->limit, 77);
    cj_gpus_destroy(given);
}

// ---- overlaps

static cj_status run(cj_gpus_op op, uint64_t count, const cj_ptr *from, const cj_ptr *to, cj_error *error) {
    const cj_gpus_desc desc = {CJ_INIT(desc), .op = op, .dtype = CJ_U32, .count = count, .root = op == CJ_GPUS_BROADCAST};
    return cj_gpus_run(gpus, &desc, from, to, NULL, error);
}

static void arrays_that_overlap_are_refused(void **state) {
    (void)state;
    cj_error     error = {0};
    const cj_ptr one[] = {y[0], y[0], y[0]}, turned[] = {x[1], x[2], x[0]};
    cj_ptr       shifted[GPUS], last[GPUS];
    fill();
    for (uint32_t r = 0; r < GPUS; r++) shifted[r] = x[r] + 256, last[r] = x[r] + 4 * (COUNT - 1);
    for (int op = 0; op < CJ_GPUS_BARRIER; op++) {
        refuse(run((cj_gpus_op)op, COUNT / GPUS, x, one, &error), &error, "out: ");
        refuse(run((cj_gpus_op)op, COUNT / GPUS, x, turned, &error), &error, "x: ");
        refuse(run((cj_gpus_op)op, COUNT / GPUS, x, shifted, &error), &error, "x: ");
    }
    refuse(run(CJ_GPUS_ALLREDUCE, COUNT, x, last, &error), &error, "x: 6000 bytes of rank 0");
    refuse(run(CJ_GPUS_REDUCE_SCATTER, COUNT, x, x, &error), &error, "out of rank 1");
    refuse(run(CJ_GPUS_ALL_GATHER, COUNT, x, x, &error), &error, "out of rank 1");
    for (uint32_t r = 0; r < GPUS; r++) last[r] += 4;
    cj_test_ok(run(CJ_GPUS_ALLREDUCE, COUNT, x, last, &error), &error);  // side by side
}

// Word i of the part p of what rank r has.
static uint32_t word_of(uint32_t r, uint32_t p, uint32_t i) { return r * 1000003 + p * 10007 + i; }

static uint32_t expected(cj_gpus_op op, uint32_t r, uint32_t p, uint32_t i) {
    switch (op) {
    case CJ_GPUS_ALLREDUCE: return word_of(0, p, i) + word_of(1, p, i) + word_of(2, p, i);
    case CJ_GPUS_REDUCE_SCATTER: return word_of(0, r, i) + word_of(1, r, i) + word_of(2, r, i);
    case CJ_GPUS_ALL_GATHER: return word_of(p, p, i);
    case CJ_GPUS_ALL_TO_ALL: return word_of(p, r, i);
    default: return word_of(1, p, i);
    }
}

// x lies in out, or out in x, as for NCCL's calls: x[r] are `from` bytes and out[r] `to` bytes for each rank before r into one array.
static void try_in_place(cj_gpus *on, cj_gpus_op op, cj_gpus_memory memory) {
    static uint32_t    words[GPUS * COUNT];
    cj_error           error = {0};
    const bool         gathers = op == CJ_GPUS_ALL_GATHER, scatters = op == CJ_GPUS_REDUCE_SCATTER;
    const cj_gpus_desc desc = {CJ_INIT(desc), .op = op, .dtype = CJ_U32, .count = COUNT, .root = op == CJ_GPUS_BROADCAST, .memory = memory};
    cj_ptr             from[GPUS], to[GPUS];
    for (uint32_t r = 0; r < GPUS; r++) {
        for (uint32_t i = 0; i < GPUS * COUNT; i++) words[i] = word_of(r, i / COUNT, i % COUNT);
        cj_test_ok(cj_mem_write(device[r], x[r], words, sizeof words, NULL, &error), &error);
        from[r] = x[r] + (gathers ? 4 * r * COUNT : 0);
        to[r] = x[r] + (scatters ? 4 * r * COUNT : 0);
    }
    cj_test_ok(cj_gpus_run(on, &desc, from, to, NULL, &error), &error);
    cj_test_ok(cj_gpus_check(on, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_read(device[r], words, to[r], (gathers || op == CJ_GPUS_ALL_TO_ALL ? GPUS : 1) * COUNT * 4, NULL, &error), &error);
        for (uint32_t i = 0; i < (gathers || op == CJ_GPUS_ALL_TO_ALL ? GPUS : 1) * COUNT; i++)
            if (words[i] != expected(op, r, i / COUNT, i % COUNT)) fail_msg("op %d, memory %d: word %u of rank %u", op, memory, i, r);
    }
}

// By one launch, in pieces, and straight.
static void forms_in_place_are_right(void **state) {
    (void)state;
    cj_error error = {0};
    cj_gpus *few = make(1024, 0), *many = make(1 << 20, 0);
    for (int op = 0; op < CJ_GPUS_BARRIER; op++) {
        try_in_place(many, (cj_gpus_op)op, CJ_GPUS_MEMORY_MAIL);
        try_in_place(few, (cj_gpus_op)op, CJ_GPUS_MEMORY_MAIL);
    }
    cj_test_ok(cj_gpus_register(few, x, BYTES, &error), &error);
    for (int op = 0; op < CJ_GPUS_BARRIER; op++)
        if (op != CJ_GPUS_ALL_TO_ALL) try_in_place(few, (cj_gpus_op)op, CJ_GPUS_MEMORY_REGISTERED);
    cj_test_ok(cj_gpus_unregister(few, x, &error), &error);
    cj_gpus_destroy(few);
    cj_gpus_destroy(many);
}

// ---- descriptions

static void descriptions_are_refused_by_the_field(void **state) {
    (void)state;
    static const struct {
        cj_gpus_desc desc;
        const char  *says;
    } bad[] = {{{CJ_INIT(cj_gpus_desc), .dtype = (cj_dtype)999, .count = 8}, "dtype: 999 is not a cj_dtype"},
               {{CJ_INIT(cj_gpus_desc), .dtype = CJ_I64, .count = 8}, "dtype: i64 is none of f32, f16, bf16, i32, u32, which GPUs combine"},
               {{CJ_INIT(cj_gpus_desc), .op = CJ_GPUS_ALL_GATHER, .dtype = CJ_I64, .count = (1 << 27) + 1}, "count: 134217729 is above 2^27"},
               {{CJ_INIT(cj_gpus_desc), .count = 8, .shots = 1, .memory = CJ_GPUS_MEMORY_REGISTERED}, "shots: 1 goes through mail alone"},
               {{CJ_INIT(cj_gpus_desc), .count = 8, .shots = 3}, "shots: 3 is outside 1 to 2"},
               {{CJ_INIT(cj_gpus_desc), .count = 8, .block = 33}, "block: 33 is not a multiple of 32"},
               {{CJ_INIT(cj_gpus_desc), .op = CJ_GPUS_ALL_GATHER, .count = 8, .shots = 2}, "allgather has no parameter 'shots'"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(bad); i++) {
        cj_error     error = {0};
        cj_gpus_info info = {CJ_INIT(info)};
        refuse(cj_gpus_run(gpus, &bad[i].desc, x, y, NULL, &error), &error, bad[i].says);
        refuse(cj_gpus_about(gpus, &bad[i].desc, &info, &error), &error, bad[i].says);
    }
    cj_error     error = {0};
    cj_gpus_desc sum = {CJ_INIT(sum), .count = 8};
    cj_device   *none[] = {device[0], NULL};
    cj_gpus     *made;
    refuse(cj_gpus_run(gpus, &sum, NULL, y, NULL, &error), &error, "x is NULL");
    refuse(cj_gpus_run(gpus, &sum, x, NULL, NULL, &error), &error, "out is NULL");
    refuse(cj_gpus_create(none, 2, NULL, &made, &error), &error, "device: that of rank 1 of 2 is NULL");
}

// ---- what is refused has written nothing

static void expect_untouched(void) {
    cj_error       error = {0};
    static uint8_t found[BYTES];
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_read(device[r], found, y[r], BYTES, NULL, &error), &error);
        for (size_t i = 0; i < BYTES; i++) assert_int_equal(found[i], 0xa5);
    }
}

static void a_call_that_is_refused_has_written_nothing(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_reduce_desc    reduce = {CJ_INIT(reduce), .n = 64};
    const cj_reduce_desc    unknown = {CJ_INIT(unknown), .n = 64, .dtype = (cj_dtype)999};
    const cj_histogram_desc histogram = {CJ_INIT(histogram), .n = 64, .bins = 8, .dtype = CJ_U32};
    const cj_topk_desc      topk = {CJ_INIT(topk), .rows = 1, .columns = 64, .k = 60};
    const cj_ptr            one[] = {y[0], y[0], y[0]}, odd[] = {y[0], y[1], y[2] + 2}, x_odd[] = {x[0], x[1], x[2] + 2};
    fill();
    refuse(cj_gpus_reduce(gpus, &reduce, x, one, NULL, &error), &error, "out: 4 bytes of rank 0");
    refuse(cj_gpus_reduce(gpus, &reduce, x, odd, NULL, &error), &error, "out: ");
    refuse(cj_gpus_reduce(gpus, &reduce, x_odd, y, NULL, &error), &error, "x: ");
    refuse(cj_gpus_reduce(gpus, &unknown, x, y, NULL, &error), &error, "dtype: 999 is not a cj_dtype");
    refuse(cj_gpus_histogram(gpus, &histogram, x, one, NULL, &error), &error, "out: 32 bytes of rank 0");
    cj_gpus     *few = make(1024, 0);
    const cj_ptr indices[] = {y[0] + 4096, y[1] + 4096, y[2] + 4096};
    refuse(cj_gpus_topk(few, &topk, x, y, indices, NULL, &error), &error, "k: 60 of a row take");
    cj_gpus_destroy(few);
    expect_untouched();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_other_boxes_are_refused),
        cmocka_unit_test(a_device_of_the_cpu_gives_up_sooner),
        cmocka_unit_test(arrays_that_overlap_are_refused),
        cmocka_unit_test(forms_in_place_are_right),
        cmocka_unit_test(descriptions_are_refused_by_the_field),
        cmocka_unit_test(a_call_that_is_refused_has_written_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

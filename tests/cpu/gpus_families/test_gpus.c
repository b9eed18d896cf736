// SPDX-License-Identifier: Apache-2.0
// Several GPUs, played by CPU devices that watch every access: the collectives, what is refused, a rank that does not come, and
// hazards between GPUs.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "gpus_cases.h"
#include "gpus_devices.h"
#include "gpus_state.h"
#include "test.h"

enum { GPUS = 4, BYTES = 4096 };

static cj_gpus *make(uint32_t count, uint64_t mail, uint64_t limit) {
    cj_error              error = {0};
    cj_gpus              *gpus = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = mail, .limit = limit};
    cj_test_ok(cj_gpus_create(cj_test_gpus_device, count, &options, &gpus, &error), &error);
    return gpus;
}

static cj_kernel *load(cj_gpus *gpus, uint32_t rank, const char *family, const char *words) {
    cj_error   error = {0};
    cj_params  params;
    cj_kernel *kernel;
    cj_test_ok(cj_test_params(family, words, &params, &error), &error);
    cj_test_ok(cj_kernel_create(cj_gpus_device(gpus, rank), &params, &kernel, &error), &error);
    return kernel;
}

static void expect(cj_status status, cj_status wanted, const cj_error *error, const char *says) {
    assert_int_equal(status, wanted);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

// All launches are of one box each, one after the other: messages of every size lie where others lay before.
static void every_collective_is_right_for_any_type_size_and_schedule(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t count = 2; count <= CJ_GPUS_MAX; count = count == GPUS ? CJ_GPUS_MAX : count + 1) {
        cj_gpus *gpus = make(count, 128 << 10, 0);
        for (uint64_t seed = 0; seed < (cj_test_few() ? 1 : 3); seed++) {
            cj_test_gpus_watch(seed);
            cj_test_gpus_all(gpus, NULL, &random, 25);
        }
        cj_gpus_destroy(gpus);
    }
    cj_test_gpus_watch(0);
}

static void a_barrier_and_launches_of_all_grids_keep_one_epoch(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = make(3, 64 << 10, 0);
    cj_gpus_desc barrier = {CJ_INIT(barrier), .op = CJ_GPUS_BARRIER};
    for (uint32_t grid = 1; grid < 8; grid++) {
        cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_F32, .count = 700, .block = 32, .grid = grid};
        cj_test_gpus(gpus, &sum, NULL, 0);
        cj_test_ok(cj_gpus_run(gpus, &barrier, NULL, NULL, NULL, &error), &error);
    }
    cj_gpus_destroy(gpus);
}

// The mail of a rank has room for 1 to 8 messages of each peer.
static void arrays_larger_than_the_mail_go_in_pieces(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t i = 0; i < (cj_test_few() ? 4 : 24); i++) {
        static const cj_dtype dtypes[] = {CJ_F32, CJ_BF16, CJ_I32};
        const uint32_t        count = 2 + (uint32_t)(cj_test_random(&random) % 5);
        cj_gpus              *gpus = make(count, 1024, 0);
        cj_gpus_desc          desc = {CJ_INIT(desc), .op = (cj_gpus_op)(i % CJ_GPUS_BARRIER), .block = 32};
        cj_gpus_info          info = {CJ_INIT(info)};
        desc.dtype = dtypes[cj_test_random(&random) % CJ_TEST_COUNT(dtypes)];
        desc.count = 256 + cj_test_random(&random) % 400;
        if (i % 4 == 1) desc.count = desc.count / 8 * 8;
        cj_test_gpus(gpus, &desc, NULL, i % 3);
        cj_test_ok(cj_gpus_about(gpus, &desc, &info, NULL), NULL);
        assert_int_equal(info.way, CJ_GPUS_IN_PIECES);
        assert_true(info.launches > 1 && strstr(info.why, "more than a launch's") && strstr(info.why, "no NCCL"));
        cj_gpus_destroy(gpus);
    }
}

static void info_says_which_gpu_reaches_which_and_how(void **state) {
    (void)state;
    cj_error           error = {0};
    cj_gpus           *gpus = make(3, 1024, 0);
    cj_gpus_info       info = {CJ_INIT(info)};
    const cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_F32, .count = 8};
    cj_gpus_desc       none = {CJ_INIT(none), .dtype = CJ_F64, .count = 8};
    cj_test_ok(cj_gpus_about(gpus, &sum, &info, &error), &error);
    assert_true(!info.rank && info.count == 3 && info.local == 3 && !info.nccl && info.mail_bytes == 1024);
    assert_true(info.reach[0] == CJ_GPUS_REACH_OWN && info.reach[2] == CJ_GPUS_REACH_PEER && info.reach[3] == CJ_GPUS_REACH_NONE);
    assert_true(info.way == CJ_GPUS_BY_MAIL && info.launches == 1 && !*info.unreached);
    assert_non_null(strstr(info.why, "has room"));
    cj_test_ok(cj_gpus_about(gpus, NULL, &info, &error), &error);
    expect(cj_gpus_about(gpus, &none, &info, &error), CJ_INVALID_ARGUMENT, &error, "dtype: f64");
    cj_gpus_destroy(gpus);
}

static void ranks_may_be_one_device(void **state) {
    (void)state;
    cj_error   error = {0};
    cj_gpus   *gpus;
    cj_device *same[GPUS] = {cj_test_gpus_device[0], cj_test_gpus_device[0], cj_test_gpus_device[0], cj_test_gpus_device[0]};
    cj_test_ok(cj_gpus_create(same, GPUS, NULL, &gpus, &error), &error);
    cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_BF16, .count = 301};
    cj_test_gpus(gpus, &sum, NULL, 1);
    cj_gpus_destroy(gpus);
}

// ---- multicast

static cj_gpus *make_multicast(uint32_t count) {
    cj_error              error = {0};
    cj_gpus              *gpus = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = 1024, .multicast = true};
    cj_test_ok(cj_gpus_create(cj_test_gpus_device, count, &options, &gpus, &error), &error);
    return gpus;
}

static void reductions_over_multicast_are_right_for_any_type_size_and_schedule(void **state) {
    (void)state;
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    static const uint64_t counts[] = {2, 4, 6, 8, 16, 30, 64, 128, 130, 258, 600, 2050};
    uint64_t              random = cj_test_seed();
    for (uint32_t count = 2; count <= CJ_GPUS_MAX; count = count == GPUS ? CJ_GPUS_MAX : count + 1) {
        cj_gpus *gpus = make_multicast(count);
        for (unsigned i = 0; i < (cj_test_few() ? 10 : 40); i++) {
            cj_gpus_desc desc = {CJ_INIT(desc), .op = (cj_gpus_op)(i % 2), .block = 64, .memory = CJ_GPUS_MEMORY_MULTICAST};
            desc.dtype = dtypes[cj_test_random(&random) % CJ_TEST_COUNT(dtypes)];
            desc.count = counts[cj_test_random(&random) % CJ_TEST_COUNT(counts)];
            desc.grid = (uint32_t)(cj_test_random(&random) % 4);
            if (desc.dtype != CJ_F32) desc.combine = (cj_combine_op)(cj_test_random(&random) % 3);
            cj_test_gpus_watch(i % 3);
            cj_test_gpus(gpus, &desc, NULL, 2 * (unsigned)(cj_test_random(&random) % 3));
        }
        cj_gpus_destroy(gpus);
    }
    cj_test_gpus_watch(0);
}

// Registered memory, that of cj_mem_alloc, has an address, too; a kernel of a program's own uses it.
static void multicast_addresses_are_for_kernels_of_a_program(void **state) {
    (void)state;
    static const char ptx[] = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 all)\n{\n"
                              "    .reg .b64 %l1;\n    ld.param.u64 %l1, [all];\n    multimem.red.relaxed.sys.global.add.u32 [%l1], 5;\n    ret;\n}\n";
    cj_error          error = {0};
    cj_gpus          *gpus = make_multicast(2);
    cj_ptr            memory[CJ_GPUS_MAX], inside[CJ_GPUS_MAX], address = 0;
    cj_module        *module;
    cj_function      *kernel;
    uint32_t          word = 0;
    cj_test_ok(cj_module_from_ptx(cj_test_gpus_device[0], ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &kernel, &error), &error);
    for (unsigned registered = 0; registered < 2; registered++) {
        cj_test_ok(cj_gpus_alloc(gpus, 100, memory, &error), &error);
        if (registered) cj_test_ok(cj_gpus_register(gpus, memory, 100, &error), &error);
        for (uint32_t r = 0; r < 2; r++) {
            inside[r] = memory[r] + 32;
            cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], 0, 100, NULL, &error), &error);
        }
        cj_test_ok(cj_gpus_multicast(gpus, inside, &address, &error), &error);
        const cj_launch_config config = {CJ_INIT(config), .function = kernel, .grid = {1, 1, 1}, .block = {3, 1, 1},
                                         .arguments = (void *[]){&address}, .argument_count = 1};
        cj_test_ok(cj_launch(cj_test_gpus_device[0], &config, &error), &error);
        for (uint32_t r = 0; r < 2; r++) {
            cj_test_ok(cj_mem_read(cj_test_gpus_device[r], &word, inside[r], 4, NULL, &error), &error);
            assert_int_equal(word, 15);
        }
        inside[1] += 4;
        expect(cj_gpus_multicast(gpus, inside, &address, &error), CJ_INVALID_ARGUMENT, &error, "that of rank 1 is at another place");
        if (registered) cj_test_ok(cj_gpus_unregister(gpus, memory, &error), &error);
        cj_gpus_free(gpus, memory);
        expect(cj_gpus_multicast(gpus, memory, &address, &error), CJ_INVALID_ARGUMENT, &error, "have no multicast address");
    }
    cj_module_unload(module);
    cj_gpus_destroy(gpus);
}

static void multicast_that_cannot_be_is_refused(void **state) {
    (void)state;
    cj_error              error = {0};
    cj_device            *same[2] = {cj_test_gpus_device[0], cj_test_gpus_device[0]};
    const cj_gpus_options options = {CJ_INIT(options), .multicast = true};
    cj_gpus              *gpus = NULL, *plain = make(2, 1024, 0);
    cj_gpus_desc          sum = {CJ_INIT(sum), .count = 64, .memory = CJ_GPUS_MEMORY_MULTICAST};
    cj_ptr                memory[CJ_GPUS_MAX], strange[CJ_GPUS_MAX], address;
    cj_gpus_info          info = {CJ_INIT(info)};
    expect(cj_gpus_create(same, 2, &options, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "multicast: ranks 0 and 1 are one device");
    cj_test_ok(cj_gpus_alloc(plain, 256, memory, &error), &error);
    expect(cj_gpus_run(plain, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "these GPUs have no multicast addresses");
    expect(cj_gpus_multicast(plain, memory, &address, &error), CJ_INVALID_ARGUMENT, &error, "memory: these GPUs have no multicast addresses");
    cj_gpus_free(plain, memory);
    gpus = make_multicast(2);
    cj_test_ok(cj_gpus_about(gpus, &sum, &info, &error), &error);
    assert_true(info.way == CJ_GPUS_BY_MULTICAST && info.launches == 1);
    sum.combine = CJ_COMBINE_MAX;
    expect(cj_gpus_about(gpus, &sum, &info, &error), CJ_INVALID_ARGUMENT, &error, "has sums of f32, and no max");
    sum.combine = CJ_COMBINE_SUM, sum.dtype = CJ_F16, sum.count = 33;
    expect(cj_gpus_about(gpus, &sum, &info, &error), CJ_INVALID_ARGUMENT, &error, "33 elements of 2 bytes");
    sum.count = 64, sum.shots = 1;
    expect(cj_gpus_about(gpus, &sum, &info, &error), CJ_INVALID_ARGUMENT, &error, "shots: 1 goes through mail alone");
    sum.shots = 0, sum.op = CJ_GPUS_ALL_GATHER;
    expect(cj_gpus_about(gpus, &sum, &info, &error), CJ_INVALID_ARGUMENT, &error, "multicast is for all-reduce and reduce-scatter");
    sum.op = CJ_GPUS_ALLREDUCE;
    cj_test_ok(cj_gpus_alloc(gpus, 256, memory, &error), &error);
    for (uint32_t r = 0; r < 2; r++) cj_test_ok(cj_mem_alloc(cj_test_gpus_device[r], 256, &strange[r], &error), &error);
    expect(cj_gpus_run(gpus, &sum, strange, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "x: 128 bytes at");
    sum.memory = CJ_GPUS_MEMORY_ANY;  // never chosen
    cj_test_ok(cj_gpus_about(gpus, &sum, &info, &error), &error);
    assert_int_equal(info.way, CJ_GPUS_BY_MAIL);
    for (uint32_t r = 0; r < 2; r++) cj_mem_free(cj_test_gpus_device[r], strange[r]);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
    cj_gpus_destroy(plain);
}

// ---- registered memory

static void expect_way(cj_gpus *gpus, const cj_gpus_desc *desc, cj_gpus_way way, const char *why) {
    cj_error     error = {0};
    cj_gpus_info info = {CJ_INIT(info)};
    cj_test_ok(cj_gpus_about(gpus, desc, &info, &error), &error);
    assert_int_equal(info.way, way);
    assert_int_equal(info.launches, 1);
    if (!strstr(info.why, why)) fail_msg("'%s' does not say '%s'", info.why, why);
}

// Far more than the mail has room for, in one launch; x may be out. Elements are small whole numbers, whose sums are exact.
static void registered_arrays_need_no_room_in_the_mail(void **state) {
    (void)state;
    enum { COUNT = 3001 };
    static float       x[COUNT], found[COUNT];
    cj_error           error = {0};
    cj_gpus           *gpus = make(3, 1024, 0);
    cj_ptr             memory[CJ_GPUS_MAX], inside[CJ_GPUS_MAX];
    const cj_gpus_desc sum = {CJ_INIT(sum), .count = COUNT, .memory = CJ_GPUS_MEMORY_REGISTERED};
    cj_test_ok(cj_gpus_alloc(gpus, 16384, memory, &error), &error);
    cj_test_ok(cj_gpus_register(gpus, memory, 16384, &error), &error);
    for (uint32_t r = 0; r < 3; r++) {
        inside[r] = memory[r] + 64;
        for (uint32_t i = 0; i < COUNT; i++) x[i] = (float)(i % 50 + r);
        cj_test_ok(cj_mem_write(cj_test_gpus_device[r], inside[r], x, sizeof x, NULL, &error), &error);
    }
    expect_way(gpus, &sum, CJ_GPUS_BY_MEMORY, "the arrays are registered: predicted");
    cj_test_ok(cj_gpus_run(gpus, &sum, inside, inside, NULL, &error), &error);
    cj_test_ok(cj_gpus_check(gpus, &error), &error);
    for (uint32_t r = 0; r < 3; r++) {
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], found, inside[r], sizeof found, NULL, &error), &error);
        for (uint32_t i = 0; i < COUNT; i++) assert_true(found[i] == (float)(3 * (i % 50) + 3));
    }
    cj_test_ok(cj_gpus_unregister(gpus, memory, &error), &error);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// Nobody asks for it: registered arrays go straight where that is predicted faster, through mail where it is not.
static void the_faster_way_of_registered_arrays_is_chosen(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = make(GPUS, 8 << 20, 0);
    cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_BF16, .count = 512, .memory = CJ_GPUS_MEMORY_REGISTERED};
    cj_ptr       memory[CJ_GPUS_MAX];
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    expect_way(gpus, &sum, CJ_GPUS_BY_MEMORY, "the arrays are registered");
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "x: 1024 bytes at");
    sum.memory = CJ_GPUS_MEMORY_ANY;
    cj_test_ok(cj_gpus_register(gpus, memory, BYTES, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], 0, BYTES, NULL, &error), &error);
    cj_test_ok(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), &error);  // through mail
    expect_way(gpus, &sum, CJ_GPUS_BY_MAIL, "has room");
    sum.shots = 1, sum.memory = CJ_GPUS_MEMORY_REGISTERED;
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "shots: 1 goes through mail alone");
    cj_gpus_destroy(gpus);  // also of what is still registered
    for (uint32_t r = 0; r < GPUS; r++) cj_mem_free(cj_test_gpus_device[r], memory[r]);
}

static void memory_that_cannot_be_registered_is_refused_by_name(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = make(2, 1024, 0);
    cj_ptr       memory[CJ_GPUS_MAX], x[CJ_GPUS_MAX];
    cj_gpus_desc gather = {CJ_INIT(gather), .op = CJ_GPUS_ALL_GATHER, .count = 64, .memory = CJ_GPUS_MEMORY_REGISTERED};
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, x, &error), &error);
    const cj_ptr turned[] = {memory[1], memory[0]}, odd[] = {memory[0] + 4, memory[1] + 4}, apart[] = {memory[0], memory[1] + 16};
    expect(cj_gpus_register(gpus, memory, 0, &error), CJ_INVALID_ARGUMENT, &error, "bytes: 0");
    expect(cj_gpus_register(gpus, memory, BYTES + 1, &error), CJ_INVALID_ARGUMENT, &error, "memory of rank 0: 4097 bytes at");
    expect(cj_gpus_register(gpus, turned, BYTES, &error), CJ_INVALID_ARGUMENT, &error, "memory of rank 0");
    expect(cj_gpus_register(gpus, odd, 64, &error), CJ_INVALID_ARGUMENT, &error, "no multiple of 16 bytes");
    expect(cj_gpus_unregister(gpus, memory, &error), CJ_INVALID_ARGUMENT, &error, "is not where registered memory begins");
    cj_test_ok(cj_gpus_register(gpus, memory, BYTES, &error), &error);
    expect(cj_gpus_register(gpus, memory, 64, &error), CJ_INVALID_ARGUMENT, &error, "is registered already");
    expect(cj_gpus_unregister(gpus, apart, &error), CJ_INVALID_ARGUMENT, &error, "memory of rank 1");
    expect(cj_gpus_run(gpus, &gather, x, apart, NULL, &error), CJ_INVALID_ARGUMENT, &error, "out: it lies at different places");
    gather.count = BYTES / 8 + 1;
    expect(cj_gpus_run(gpus, &gather, x, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "out: 4104 bytes at");
    gather = (cj_gpus_desc){CJ_INIT(gather), .op = CJ_GPUS_ALL_TO_ALL, .count = 8, .memory = CJ_GPUS_MEMORY_REGISTERED};
    expect(cj_gpus_run(gpus, &gather, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "cannot write to x");
    gather.memory = (cj_gpus_memory)7;
    expect(cj_gpus_run(gpus, &gather, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "memory: 7 is none");
    cj_test_ok(cj_gpus_unregister(gpus, memory, &error), &error);
    cj_gpus_free(gpus, memory);
    cj_gpus_free(gpus, x);
    cj_gpus_destroy(gpus);
}

// Two parts of one allocation on each rank, registered apart: on rank 0 the second begins where the first ends, on the others it lies
// before it, as allocations do that a driver puts side by side on one rank alone. Each array is that of its own registration.
static void memory_that_begins_where_another_ends_is_its_own(void **state) {
    (void)state;
    enum { PART = 1024, COUNT = PART / 4 };
    cj_error           error = {0};
    cj_gpus           *gpus = make(GPUS, 1024, 0);
    cj_ptr             memory[CJ_GPUS_MAX], first[CJ_GPUS_MAX], second[CJ_GPUS_MAX];
    uint32_t           found[COUNT];
    const cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_U32, .count = COUNT, .memory = CJ_GPUS_MEMORY_REGISTERED};
    cj_test_ok(cj_gpus_alloc(gpus, 2 * PART, memory, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        first[r] = memory[r] + (r ? PART : 0);
        second[r] = memory[r] + (r ? 0 : PART);
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], first[r], (uint8_t)(r + 1), PART, NULL, &error), &error);
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], second[r], 0xff, PART, NULL, &error), &error);
    }
    cj_test_ok(cj_gpus_register(gpus, first, PART, &error), &error);
    cj_test_ok(cj_gpus_register(gpus, second, PART, &error), &error);
    cj_test_ok(cj_gpus_run(gpus, &sum, first, second, NULL, &error), &error);
    cj_test_ok(cj_gpus_check(gpus, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], found, second[r], PART, NULL, &error), &error);
        for (size_t i = 0; i < COUNT; i++) assert_int_equal(found[i], 0x0a0a0a0a);
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], found, first[r], PART, NULL, &error), &error);
        for (size_t i = 0; i < COUNT; i++) assert_int_equal(found[i], (r + 1) * 0x01010101u);
    }
    cj_test_ok(cj_gpus_unregister(gpus, second, &error), &error);  // which is not the end of the first
    cj_test_ok(cj_gpus_unregister(gpus, first, &error), &error);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// ---- ranks that do not come, and ranks that come with something else

static void a_rank_that_does_not_come_is_named_and_nothing_hangs(void **state) {
    (void)state;
    cj_error   error = {0};
    cj_gpus   *gpus = make(GPUS, 1024, 200);
    cj_ptr     memory[CJ_GPUS_MAX];
    cj_kernel *kernel[GPUS];
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], 0, BYTES, NULL, &error), &error);
        kernel[r] = load(gpus, r, "allreduce", "gpus=4 count=8 mail=1024 block=32");
    }
    cj_test_ok(cj_gpus_launch(gpus, kernel, GPUS - 1, memory, memory, NULL, &error), &error);
    expect(cj_gpus_check(gpus, &error), CJ_DRIVER, &error, "rank 3 did not come");
    expect(cj_gpus_launch(gpus, kernel, GPUS, memory, memory, NULL, &error), CJ_DRIVER, &error, "an earlier launch");
    for (uint32_t r = 0; r < GPUS; r++) cj_kernel_destroy(kernel[r]);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// Whatever stands in the box of a rank: never a rank that there is not.
static void a_mailbox_that_was_overwritten_is_told_from_a_report(void **state) {
    (void)state;
    static const struct {
        uint32_t    at, word;
        const char *says;
    } written[] = {{0, 187, "rank 3 was overwritten: at byte 0 of it is 0x000000bb"},
                   {0, 0x3fbb, "rank 3 was overwritten: at byte 0 of it is 0x00003fbb"},
                   {0, 0x104, "rank 3 was overwritten: at byte 0 of it is 0x00000104"},
                   {0, 0x300, "rank 3 was overwritten: at byte 0 of it is 0x00000300"},
                   {60, 1, "rank 3 was overwritten: at byte 60 of it is 0x00000001"},
                   {0, 0x102, "rank 2 did not come: rank 3"},
                   {0, 0x200, "rank 0 came with another description than rank 3"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(written); i++) {
        cj_error error = {0};
        cj_gpus *gpus = make(GPUS, 1024, 200);
        cj_test_ok(cj_gpus_check(gpus, &error), &error);
        cj_test_ok(cj_mem_write(cj_test_gpus_device[3], gpus->box[3] + written[i].at, &written[i].word, sizeof written[i].word, NULL, &error), &error);
        expect(cj_gpus_check(gpus, &error), i + 1 < CJ_TEST_COUNT(written) ? CJ_DRIVER : CJ_INVALID_ARGUMENT, &error, written[i].says);
        assert_true(gpus->failed);
        cj_gpus_destroy(gpus);
    }
}

// Ranks 0 to 2 copy nothing: their arrays are as they were.
static void nothing_is_copied_to_a_rank_that_does_not_come(void **state) {
    (void)state;
    cj_error   error = {0};
    cj_gpus   *gpus = make(GPUS, 1024, 200);
    cj_ptr     memory[CJ_GPUS_MAX];
    cj_kernel *kernel[GPUS];
    uint32_t   found[16];
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    cj_test_ok(cj_gpus_register(gpus, memory, BYTES, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], (uint8_t)(r + 1), BYTES, NULL, &error), &error);
        kernel[r] = load(gpus, r, "allgather", "gpus=4 count=8 mail=1024 block=32 memory=registered");
    }
    cj_test_ok(cj_gpus_launch(gpus, kernel, GPUS - 1, memory, memory, NULL, &error), &error);
    expect(cj_gpus_check(gpus, &error), CJ_DRIVER, &error, "rank 3 did not come");
    for (uint32_t r = 0; r < GPUS; r++) {
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], found, memory[r], sizeof found, NULL, &error), &error);
        for (size_t i = 0; i < CJ_TEST_COUNT(found); i++) assert_int_equal(found[i], (r + 1) * 0x01010101u);
        cj_kernel_destroy(kernel[r]);
    }
    cj_test_ok(cj_gpus_unregister(gpus, memory, &error), &error);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// Rank 0 first comes alone with 5 elements. What it sent is what rank 1 then finds in its first launch, of 8.
static void a_rank_with_another_description_is_named(void **state) {
    (void)state;
    cj_error error = {0};
    cj_gpus *gpus = make(2, 1024, 200);
    cj_ptr   memory[CJ_GPUS_MAX];
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    for (uint32_t r = 0; r < 2; r++) cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], 0, BYTES, NULL, &error), &error);
    cj_kernel *other = load(gpus, 0, "allreduce", "gpus=2 count=5 mail=1024 block=32");
    cj_kernel *both[2];
    for (uint32_t r = 0; r < 2; r++) both[r] = load(gpus, r, "allreduce", "gpus=2 count=8 mail=1024 block=32");
    cj_kernel *mixed[] = {other, both[1]};
    expect(cj_gpus_launch(gpus, mixed, 2, memory, memory, NULL, &error), CJ_UNSUPPORTED, &error, "one kernel beside each");
    cj_test_ok(cj_gpus_launch(gpus, &other, 1, memory, memory, NULL, &error), &error);
    cj_test_ok(cj_gpus_launch(gpus, both, 2, memory, memory, NULL, &error), &error);
    expect(cj_gpus_check(gpus, &error), CJ_INVALID_ARGUMENT, &error, "rank 0 came with another description than rank 1");
    for (uint32_t r = 0; r < 2; r++) cj_kernel_destroy(both[r]);
    cj_kernel_destroy(other);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// Of two ranks on one device each comes alone: rank 0 with arrays at one place, then rank 1 with those at another one, which finds rank 0's
// flag. It says so in its box, and copies nothing.
static void a_rank_with_arrays_at_another_place_is_named(void **state) {
    (void)state;
    enum { BOX = 512 + 1024 + 3 * 1024 + 32768, X = 64, DIFFERS = 2 << 8 };
    cj_error   error = {0};
    cj_ptr     x[2], box[2];
    uint32_t   found = 0;
    uint64_t   limit = 50;
    cj_params  params;
    cj_kernel *kernel;
    cj_test_ok(cj_test_params("allreduce", "gpus=2 count=8 mail=1024 block=32 dtype=i32 memory=registered", &params, &error), &error);
    cj_test_ok(cj_kernel_create(cj_test_gpus_device[0], &params, &kernel, &error), &error);
    for (uint32_t r = 0; r < 2; r++) {
        cj_test_ok(cj_mem_alloc(cj_test_gpus_device[0], X, &x[r], &error), &error);
        cj_test_ok(cj_mem_alloc(cj_test_gpus_device[0], BOX, &box[r], &error), &error);
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[0], x[r], 7, X, NULL, &error), &error);
        cj_test_ok(cj_mem_fill(cj_test_gpus_device[0], box[r], 0, BOX, NULL, &error), &error);
    }
    for (uint64_t rank = 0; rank < 2; rank++) {
        uint64_t place = 5 + rank;
        void    *arguments[] = {&x[0], &x[1], &x[0], &x[1], &place, &box[0], &box[1], &rank, &limit};
        cj_test_ok(cj_kernel_launch(kernel, NULL, arguments, CJ_TEST_COUNT(arguments), &error), &error);
    }
    cj_test_ok(cj_mem_read(cj_test_gpus_device[0], &found, box[1], sizeof found, NULL, &error), &error);
    assert_int_equal(found, DIFFERS);  // and rank 0
    for (uint32_t r = 0; r < 2; r++) {
        cj_test_ok(cj_mem_read(cj_test_gpus_device[0], &found, x[r] + 16, sizeof found, NULL, &error), &error);
        assert_int_equal(found, 0x07070707);
        cj_mem_free(cj_test_gpus_device[0], x[r]);
        cj_mem_free(cj_test_gpus_device[0], box[r]);
    }
    cj_kernel_destroy(kernel);
}

static void bad_input_is_refused_by_name(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = NULL;
    cj_ptr       memory[CJ_GPUS_MAX];
    cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_F32, .count = 8};
    expect(cj_gpus_create(cj_test_gpus_device, 1, NULL, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "2 to 8");
    cj_gpus_options options = {CJ_INIT(options), .mail_bytes = 1000};
    expect(cj_gpus_create(cj_test_gpus_device, 2, &options, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "mail_bytes: 1000");
    options = (cj_gpus_options){CJ_INIT(options), .limit = UINT64_C(1) << 32};
    expect(cj_gpus_create(cj_test_gpus_device, 2, &options, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "limit");
    gpus = make(2, 1024, 0);
    cj_test_ok(cj_gpus_alloc(gpus, BYTES, memory, &error), &error);
    cj_ptr odd[] = {memory[0] + 2, memory[1]};
    expect(cj_gpus_run(gpus, &sum, odd, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "x");
    sum.shots = 3;
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "shots");
    sum.shots = 0;
    sum.count = (1 << 28) + 1;
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "count: 268435457 is above 2^28");
    sum.count = 0;
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "count: 0");
    sum = (cj_gpus_desc){CJ_INIT(sum), .op = CJ_GPUS_BROADCAST, .dtype = CJ_F32, .count = 8, .root = 2};
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "root: 2");
    sum = (cj_gpus_desc){CJ_INIT(sum), .op = CJ_GPUS_REDUCE_SCATTER, .dtype = CJ_F64, .count = 8};
    expect(cj_gpus_run(gpus, &sum, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dtype: f64 is none of");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// ---- hazards between GPUs: GPU 0 writes a word and a flag, GPU 1 waits for the flag and reads the word

#define FLAG(store, load)                                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry flag(.param .u64 word, .param .u64 flag, "          \
    ".param .u32 rank)\n.reqntid 32, 1, 1\n{\n.reg .u64 %word, %flag;\n.reg .u32 %rank, %found, %thread;\n.reg .pred %p;\n"   \
    "ld.param.u64 %word, [word];\nld.param.u64 %flag, [flag];\nld.param.u32 %rank, [rank];\n"                           \
    "mov.u32 %thread, %tid.x;\nsetp.ne.u32 %p, %thread, 0;\n@%p bra done;\nsetp.ne.u32 %p, %rank, 0;\n@%p bra reads;\n"  \
    "st.global.u32 [%word], 7;\n" store " [%flag], 1;\nbra done;\nreads:\n" load " %found, [%flag];\n"                  \
    "setp.eq.u32 %p, %found, 0;\n@%p bra reads;\nld.global.u32 %found, [%word];\nst.global.u32 [%word + 4], %found;\n"  \
    "done:\nret;\n}\n"

static cj_status run_flag(const char *text, cj_error *error) {
    cj_ptr                  word, flag;
    cj_module              *module[2];
    cj_launch_config        config[2];
    const cj_launch_config *both[] = {&config[0], &config[1]};
    uint32_t                rank[] = {0, 1};
    cj_test_ok(cj_mem_alloc(cj_test_gpus_device[1], 64, &word, error), error);
    cj_test_ok(cj_mem_alloc(cj_test_gpus_device[0], 64, &flag, error), error);
    cj_test_ok(cj_mem_fill(cj_test_gpus_device[0], flag, 0, 64, NULL, error), error);
    cj_test_ok(cj_mem_fill(cj_test_gpus_device[1], word, 0, 64, NULL, error), error);
    void *arguments[2][3] = {{&word, &flag, &rank[0]}, {&word, &flag, &rank[1]}};
    for (uint32_t r = 0; r < 2; r++) {
        cj_function *function;
        cj_test_ok(cj_module_from_ptx(cj_test_gpus_device[r], text, strlen(text), &module[r], error), error);
        cj_test_ok(cj_module_function(module[r], "flag", &function, error), error);
        config[r] = (cj_launch_config){CJ_INIT(config[r]), .function = function, .grid = {1, 1, 1}, .block = {32, 1, 1},
                                       .arguments = arguments[r], .argument_count = 3};
    }
    const cj_status status = cj_launch_together(both, 2, error);
    uint32_t        found = 0;
    if (!status) {
        cj_test_ok(cj_mem_read(cj_test_gpus_device[1], &found, word + 4, 4, NULL, error), error);
        assert_int_equal(found, 7);
    }
    for (uint32_t r = 0; r < 2; r++) cj_module_unload(module[r]);
    cj_mem_free(cj_test_gpus_device[1], word);
    cj_mem_free(cj_test_gpus_device[0], flag);
    return status;
}

static void hazards_between_gpus_are_found_and_named(void **state) {
    (void)state;
    cj_error error = {0};
    cj_test_ok(run_flag(FLAG("st.release.sys.global.u32", "ld.acquire.sys.global.u32"), &error), &error);
    static const char *const wrong[] = {
        FLAG("st.release.gpu.global.u32", "ld.acquire.sys.global.u32"),
        FLAG("st.release.sys.global.u32", "ld.acquire.gpu.global.u32"),
        FLAG("st.relaxed.sys.global.u32", "ld.acquire.sys.global.u32"),
        FLAG("st.release.sys.global.u32", "ld.relaxed.sys.global.u32"),
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        assert_int_equal(run_flag(wrong[i], &error), CJ_HAZARD);
        assert_string_equal(error.rule, "race-system");
        assert_non_null(strstr(error.message, "of GPU 1"));
    }
}

static void a_launch_on_several_devices_refuses_what_it_cannot_run(void **state) {
    (void)state;
    cj_error error = {0};
    expect(cj_launch_together(NULL, 1, &error), CJ_INVALID_ARGUMENT, &error, "config");
    const cj_launch_config *none[1] = {NULL};
    expect(cj_launch_together(none, 0, &error), CJ_INVALID_ARGUMENT, &error, "count: 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_is_right_for_any_type_size_and_schedule),
        cmocka_unit_test(a_barrier_and_launches_of_all_grids_keep_one_epoch),
        cmocka_unit_test(arrays_larger_than_the_mail_go_in_pieces),
        cmocka_unit_test(info_says_which_gpu_reaches_which_and_how),
        cmocka_unit_test(ranks_may_be_one_device),
        cmocka_unit_test(reductions_over_multicast_are_right_for_any_type_size_and_schedule),
        cmocka_unit_test(multicast_addresses_are_for_kernels_of_a_program),
        cmocka_unit_test(multicast_that_cannot_be_is_refused),
        cmocka_unit_test(registered_arrays_need_no_room_in_the_mail),
        cmocka_unit_test(the_faster_way_of_registered_arrays_is_chosen),
        cmocka_unit_test(memory_that_cannot_be_registered_is_refused_by_name),
        cmocka_unit_test(memory_that_begins_where_another_ends_is_its_own),
        cmocka_unit_test(a_rank_that_does_not_come_is_named_and_nothing_hangs),
        cmocka_unit_test(a_mailbox_that_was_overwritten_is_told_from_a_report),
        cmocka_unit_test(nothing_is_copied_to_a_rank_that_does_not_come),
        cmocka_unit_test(a_rank_with_another_description_is_named),
        cmocka_unit_test(a_rank_with_arrays_at_another_place_is_named),
        cmocka_unit_test(bad_input_is_refused_by_name),
        cmocka_unit_test(hazards_between_gpus_are_found_and_named),
        cmocka_unit_test(a_launch_on_several_devices_refuses_what_it_cannot_run),
    };
    return cmocka_run_group_tests(tests, cj_test_gpus_open, cj_test_gpus_close);
}

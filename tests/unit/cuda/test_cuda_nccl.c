// SPDX-License-Identifier: Apache-2.0
// One process a GPU by NCCL: ranks are threads, each with a GPU of the fake driver and a communicator of the fake NCCL.
#define _POSIX_C_SOURCE 200809L  // setenv
#include <clusterjit/gpus.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "fake_nccl.h"
#include "models/collective_model.h"
#include "gpus_state.h"
#include "nccl.h"

enum { RANKS = 4, TYPES = 5 };

static fake_nccl            *fake;
static fake_nccl_comm_type  *make_comm;
static fake_nccl_calls_type *calls_of;

static void *find(const char *name) {
    void *library = dlopen(CJ_FAKE_NCCL, RTLD_NOW);
    assert_non_null(library);
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

static void say(cj_status status, cj_status wanted, const cj_error *error, const char *says) {
    if (status != wanted || !strstr(error->message, says))
        fail_msg("%s, not %s with '%s': %s", cj_status_name(status), cj_status_name(wanted), says, error->message);
}

static int start(void **state) {
    fake_nccl_reset_type *reset_nccl;
    (void)state;
    void *symbol = find("fake_nccl_reset");
    memcpy(&reset_nccl, &symbol, sizeof symbol);
    symbol = find("fake_nccl_comm");
    memcpy(&make_comm, &symbol, sizeof symbol);
    symbol = find("fake_nccl_calls");
    memcpy(&calls_of, &symbol, sizeof symbol);
    cj_fake_reset();
    cj_fake_driver.gpu_count = RANKS;
    fake = reset_nccl();
    fake->ranks = RANKS;
    return setenv("CLUSTERJIT_NCCL", CJ_FAKE_NCCL, 1);
}

// ---- ranks as threads

typedef struct member {
    uint32_t        rank;
    cj_gpus_options options;
    cj_gpus_desc    desc;
    cj_status       status;
    cj_error        error;
    cj_device      *device;
    cj_gpus        *gpus;
    cj_gpus_info    info;
    bool            ok;  // the result
    void (*work)(struct member *m);
    pthread_t thread;
} member;

static void open_rank(member *m) {
    char spec[16];
    snprintf(spec, sizeof spec, "gpu:%u", m->rank);
    m->status = open_fake(spec, NULL, &m->device, &m->error);
    if (!m->status)
        m->status = cj_gpus_create_nccl(m->device, make_comm((int)m->rank, (int)m->rank), &m->options, &m->gpus,
                                        &m->error);
}

static void close_rank(member *m) {
    cj_gpus_destroy(m->gpus);
    cj_device_close(m->device);
}

static void *live(void *user) {
    member *m = user;
    open_rank(m);
    if (!m->status && m->work) m->work(m);
    close_rank(m);
    return NULL;
}

static void run_all(member *members, uint32_t count) {
    for (uint32_t r = 0; r < count; r++) {
        members[r].rank = r;
        members[r].options.struct_size = sizeof members[r].options;
        assert_int_equal(pthread_create(&members[r].thread, NULL, live, &members[r]), 0);
    }
    for (uint32_t r = 0; r < count; r++) pthread_join(members[r].thread, NULL);
}

// ---- the library

static void libraries_that_do_not_do_are_refused_by_name(void **state) {
    (void)state;
    cj_error   error = {0};
    cj_device *device;
    cj_gpus   *gpus;
    cj_test_ok(open_fake("gpu:0", NULL, &device, &error), &error);
    void *comm = make_comm(0, 0);
    setenv("CLUSTERJIT_NCCL", "/nowhere/libnccl.so.2", 1);
    say(cj_gpus_create_nccl(device, comm, NULL, &gpus, &error), CJ_UNSUPPORTED, &error,
        "CLUSTERJIT_NCCL=/nowhere/libnccl.so.2");
    assert_contains(error.hint, "2.27");
    assert_contains(error.hint, "nvidia/nccl/lib/libnccl.so.2 in site-packages, where no loader looks");
    setenv("CLUSTERJIT_NCCL", "libm.so.6", 1);
    say(cj_gpus_create_nccl(device, comm, NULL, &gpus, &error), CJ_UNSUPPORTED, &error, "ncclGetVersion is missing");
    setenv("CLUSTERJIT_NCCL", CJ_FAKE_NCCL, 1);
    fake->version = 22605;
    say(cj_gpus_create_nccl(device, comm, NULL, &gpus, &error), CJ_UNSUPPORTED, &error, "NCCL 2.26.5, and 2.27");
    fake->version = 22809;
    fake->failing = "ncclGetVersion", fake->from = 1, fake->code = 3;
    say(cj_gpus_create_nccl(device, comm, NULL, &gpus, &error), CJ_UNSUPPORTED, &error, "ncclGetVersion gives 3");
    cj_device_close(device);
    assert_int_equal(alive(), 0);
}

static void a_communicator_of_another_device_is_refused(void **state) {
    (void)state;
    cj_error                error = {0};
    cj_device              *device, *cpu;
    cj_gpus                *gpus;
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_test_ok(open_fake("gpu:0", NULL, &device, &error), &error);
    cj_test_ok(cj_device_open(&options, &cpu, &error), &error);
    void *comm = make_comm(1, 1);
    say(cj_gpus_create_nccl(device, comm, NULL, &gpus, &error), CJ_INVALID_ARGUMENT, &error,
        "the communicator is of CUDA device 1, and the device is CUDA device 0");
    say(cj_gpus_create_nccl(cpu, comm, NULL, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "of kind cpu");
    fake->ranks = 1;
    say(cj_gpus_create_nccl(device, make_comm(0, 0), NULL, &gpus, &error), CJ_INVALID_ARGUMENT, &error, "has 1 rank");
    cj_device_close(device);
    cj_device_close(cpu);
}

// ---- each collective by NCCL, where no GPU reaches another one

static const cj_collective_op ops[] = {CJ_COLLECTIVE_ALLREDUCE, CJ_COLLECTIVE_REDUCE_SCATTER, CJ_COLLECTIVE_ALLGATHER,
                                       CJ_COLLECTIVE_ALL_TO_ALL, CJ_COLLECTIVE_BROADCAST};

static void one_collective(member *m) {
    collective_model model = {.op = ops[m->desc.op],
                              .combine = m->desc.combine,
                              .dtype = m->desc.dtype,
                              .cluster = RANKS,
                              .count = (uint32_t)m->desc.count,
                              .root = m->desc.root,
                              .rounds = 1};
    cj_collective_parts(model.op, RANKS, &model.gives, &model.gets);
    const size_t size = cj_dtype_size(model.dtype), in = model.gives * model.count * size,
                 out = model.gets * model.count * size;
    unsigned char *x = malloc(in * RANKS), *want = malloc(out * RANKS), *got = malloc(out);
    cj_ptr         from = 0, to = 0;
    cj_error      *e = &m->error;
    for (size_t i = 0; i < in * RANKS; i += size) collective_model_fill(model.dtype, 0, i / size, x + i);
    collective_model_run(&model, x, want);
    m->status = cj_gpus_alloc(m->gpus, in, &from, e);
    if (!m->status) m->status = cj_gpus_alloc(m->gpus, out, &to, e);
    if (!m->status) m->status = cj_mem_write(m->device, from, x + m->rank * in, in, NULL, e);
    if (!m->status) m->status = cj_gpus_about(m->gpus, &m->desc, &m->info, e);
    for (int twice = 0; twice < 2 && !m->status; twice++)
        m->status = cj_gpus_run(m->gpus, &m->desc, &from, &to, NULL, e);
    if (!m->status) m->status = cj_mem_read(m->device, got, to, out, NULL, e);
    if (!m->status) m->status = cj_gpus_check(m->gpus, e);
    m->ok = true;
    for (size_t i = 0; i < out && !m->status; i += size)
        m->ok = m->ok && collective_model_same(model.dtype, got + i, want + m->rank * out + i);
    cj_gpus_free(m->gpus, &from);
    cj_gpus_free(m->gpus, &to);
    free(x);
    free(want);
    free(got);
}

static void check_all(const member *members) {
    for (uint32_t r = 0; r < RANKS; r++) {
        cj_test_ok(members[r].status, &members[r].error);
        if (!members[r].ok)
            fail_msg("op %d, dtype %d: rank %u is wrong", (int)members[r].desc.op, (int)members[r].desc.dtype, r);
    }
}

static void every_collective_goes_by_nccl_where_nobody_reaches_anybody(void **state) {
    static const cj_dtype dtypes[TYPES] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    (void)state;
    cj_fake_driver.peerless = true;
    for (unsigned i = 0; i < 5 * TYPES; i++) {
        member members[RANKS] = {{0}};
        for (uint32_t r = 0; r < RANKS; r++) {
            members[r].work = one_collective;
            members[r].info.struct_size = sizeof members[r].info;
            members[r].desc = (cj_gpus_desc){CJ_INIT(members[r].desc), .op = (cj_gpus_op)(i % 5),
                                             .dtype = dtypes[i / 5], .count = 37};
            if (members[r].desc.op == CJ_GPUS_BROADCAST) members[r].desc.root = 2;
            if (members[r].desc.op == CJ_GPUS_REDUCE_SCATTER)
                members[r].desc.combine = i / 5 % 2 ? CJ_COMBINE_MAX : CJ_COMBINE_MIN;
        }
        run_all(members, RANKS);
        check_all(members);
        assert_int_equal(members[1].info.way, CJ_GPUS_BY_NCCL);
        assert_int_equal(members[1].info.nccl, 22809);
        assert_contains(members[1].info.why, "does not reach rank");
        assert_string_equal(members[1].info.why, members[3].info.unreached);
    }
    assert_int_equal(alive(), 0);
}

static void barrier(member *m) {
    const cj_gpus_desc what = {CJ_INIT(what), .op = CJ_GPUS_BARRIER};
    for (int i = 0; i < 3 && !m->status; i++) m->status = cj_gpus_run(m->gpus, &what, NULL, NULL, NULL, &m->error);
}

// Peers reach each other, so launches are ours; NCCL takes what the mail has no room for, unless the order matters.
static void large_and_small(member *m) {
    cj_gpus_info info = {CJ_INIT(info)};
    one_collective(m);
    if (m->status) return;
    m->ok = m->ok && m->info.way == CJ_GPUS_BY_NCCL && m->info.launches == 1 &&
            strstr(m->info.why, "more than a launch's 128 of 1024");
    cj_gpus_desc desc = m->desc;
    desc.ordered = true;
    m->status = cj_gpus_about(m->gpus, &desc, &info, &m->error);
    m->ok = m->ok && info.way == CJ_GPUS_IN_PIECES && info.launches == 2 && strstr(info.why, "an order of its own");
    m->ok = m->ok && info.reach[m->rank] == CJ_GPUS_REACH_OWN &&
            info.reach[(m->rank + 1) % RANKS] == CJ_GPUS_REACH_PEER;
    desc.count = 16;
    if (!m->status) m->status = cj_gpus_about(m->gpus, &desc, &info, &m->error);
    m->ok = m->ok && info.way == CJ_GPUS_BY_MAIL && !*info.unreached && info.rank == m->rank && info.count == RANKS &&
            info.local == 1;
}

static void nccl_takes_what_the_mail_has_no_room_for(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        members[r].work = large_and_small;
        members[r].options.mail_bytes = 1024;
        members[r].info.struct_size = sizeof members[r].info;
        members[r].desc = (cj_gpus_desc){CJ_INIT(members[r].desc), .op = CJ_GPUS_ALL_GATHER, .count = 48};
    }
    run_all(members, RANKS);
    check_all(members);
    memset(members, 0, sizeof members);
    cj_fake_driver.peerless = true;
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = barrier, members[r].ok = true;
    run_all(members, RANKS);
    check_all(members);
    assert_int_equal(alive(), 0);
}

// ---- registered memory

enum { REGISTERED = 8192 };

// What all ranks register, and where this one then finds that of the others: as it is, for ranks are threads.
static cj_ptr registered[RANKS];

static void register_some(member *m) {
    cj_ptr memory = 0;
    m->status = cj_gpus_alloc(m->gpus, REGISTERED, &memory, &m->error);
    registered[m->rank] = memory;
    if (!m->status) m->status = cj_gpus_register(m->gpus, &memory, m->desc.count ? m->desc.count : REGISTERED, &m->error);
    for (uint32_t q = 0; q < RANKS && !m->status; q++) m->ok = (!q || m->ok) && m->gpus->region[0].at[q] == registered[q];
    const cj_gpus_desc gather = {CJ_INIT(gather), .op = CJ_GPUS_ALL_GATHER, .count = 128, .memory = CJ_GPUS_MEMORY_REGISTERED};
    const cj_ptr own = memory + m->rank * gather.count * sizeof(float);  // in place
    if (!m->status) m->status = cj_gpus_run(m->gpus, &gather, &own, &memory, NULL, &m->error);
    if (!m->status) m->status = cj_gpus_unregister(m->gpus, &memory, &m->error);
    cj_gpus_free(m->gpus, &memory);
}

static void all_register(member *members) {
    memset(members, 0, RANKS * sizeof *members);
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = register_some;
}

static void memory_is_registered_among_ranks(void **state) {
    member members[RANKS];
    (void)state;
    all_register(members);
    run_all(members, RANKS);
    check_all(members);
    assert_int_equal(calls_of("ncclCommWindowRegister"), 0);
    all_register(members);
    members[2].desc.count = 4096;
    run_all(members, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        say(members[r].status, CJ_INVALID_ARGUMENT, &members[r].error, "rank 2 registers 4096 bytes, rank 0 8192");
    assert_int_equal(alive(), 0);
}

// Each rank's mailbox is shared, memory after that is not: as that of cuMemCreate.
static void windows_of_nccl_carry_memory_that_ipc_does_not(void **state) {
    member members[RANKS];
    all_register(members);
    cj_fake_fail_times("cuIpcGetMemHandle", RANKS + 1, 1000, 1);
    run_all(members, RANKS);
    check_all(members);
    assert_int_equal(calls_of("ncclCommWindowRegister"), RANKS);
    assert_int_equal(fake->windows, 0);
    start(state);
    all_register(members);
    cj_fake_fail_times("cuIpcGetMemHandle", RANKS + 1, 1000, 1);
    fake->far = true;
    run_all(members, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        say(members[r].status, CJ_UNSUPPORTED, &members[r].error, "rank 0 does not reach the memory of rank 1, also by a window");
    assert_int_equal(fake->windows, 0);
    start(state);
    all_register(members);
    cj_fake_fail_times("cuIpcGetMemHandle", RANKS + 1, 1000, 1);
    fake->failing = "ncclCommWindowRegister", fake->from = 1, fake->code = 4;
    run_all(members, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        say(members[r].status, CJ_UNSUPPORTED, &members[r].error, "rank 0: ncclCommWindowRegister: invalid argument");
    assert_int_equal(alive(), 0);
}

// What one rank may not register is told by all; where no peer is reached nothing is registered.
static void memory_of_another_device_is_named_by_all_ranks(void **state) {
    member members[RANKS];
    (void)state;
    all_register(members);
    cj_fake_driver.other_place = 1;
    run_all(members, RANKS);
    say(members[0].status, CJ_INVALID_ARGUMENT, &members[0].error, "is memory of CUDA device 1, and the rank is on CUDA device 0");
    say(members[1].status, CJ_INVALID_ARGUMENT, &members[1].error, "rank 0 failed: memory of rank 0:");
    start(NULL);
    all_register(members);
    cj_fake_driver.range_bytes = 4096;
    run_all(members, RANKS);
    say(members[3].status, CJ_INVALID_ARGUMENT, &members[3].error, "8192 bytes at");
    assert_contains(members[3].error.message, "are more than the 4096 of their allocation");
    start(NULL);
    all_register(members);
    cj_fake_driver.peerless = true;
    run_all(members, RANKS);
    say(members[3].status, CJ_UNSUPPORTED, &members[3].error, "does not reach rank");
    assert_contains(members[3].error.hint, "needs no registration");
    assert_int_equal(alive(), 0);
}

// ---- products

static void multiply(member *m) {
    const cj_gpus_gemm_desc desc = {CJ_INIT(desc), .m = 64, .n = 64, .k = 64, .dtype = CJ_BF16, .chunks = 4};
    cj_ptr                  x = 0;
    m->ok = true;
    m->status = cj_gpus_alloc(m->gpus, 65536, &x, &m->error);
    if (!m->status) m->status = cj_gpus_gemm_reduce_scatter(m->gpus, &desc, &x, &x, &x, NULL, &m->error);
    if (!m->status) m->status = cj_gpus_all_gather_gemm(m->gpus, &desc, &x, &x, &x, NULL, &m->error);
    cj_gpus_free(m->gpus, &x);
}

// Straight where memory is shared; else in one piece: by NCCL where no peer is reached.
static void products_go_by_nccl_where_nobody_reaches_anybody(void **state) {
    member members[RANKS] = {{0}};
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = multiply;
    run_all(members, RANKS);
    check_all(members);
    assert_int_equal(calls_of("ncclReduceScatter"), 0);
    assert_int_equal(alive(), 0);
    start(state);
    cj_fake_driver.peerless = true;
    memset(members, 0, sizeof members);
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = multiply;
    run_all(members, RANKS);
    check_all(members);
    assert_int_equal(calls_of("ncclReduceScatter"), RANKS);
    assert_int_equal(alive(), 0);
}

// ---- ranks that do not want the same

static void other_options_name_the_rank(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    members[2].options.mail_bytes = 2048;
    run_all(members, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        say(members[r].status, CJ_INVALID_ARGUMENT, &members[r].error,
            "rank 2 came with mail_bytes 2048, rank 0 with 8388608");
    memset(members, 0, sizeof members);
    members[1].options.limit = 77;
    run_all(members, RANKS);
    say(members[3].status, CJ_INVALID_ARGUMENT, &members[3].error, "rank 1 came with limit 77");
    assert_int_equal(alive(), 0);
}

static void other_sizes_by_nccl_name_the_rank(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    cj_fake_driver.peerless = true;
    for (uint32_t r = 0; r < RANKS; r++) {
        members[r].work = one_collective;
        members[r].info.struct_size = sizeof members[r].info;
        members[r].desc = (cj_gpus_desc){CJ_INIT(members[r].desc), .op = CJ_GPUS_ALLREDUCE, .count = r == 3 ? 40 : 41};
    }
    run_all(members, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        say(members[r].status, CJ_INVALID_ARGUMENT, &members[r].error,
            "rank 3 came with another description than rank 0: all-reduce of 40");
    assert_int_equal(alive(), 0);
}

// A rank whose memory is exhausted says so to the others.
static void a_rank_that_fails_is_named_by_the_others(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    cj_fake_fail_times("cuMemsetD8Async", 1, 1, 2);
    run_all(members, RANKS);
    unsigned named = 0;
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(members[r].status, CJ_OUT_OF_MEMORY);
        assert_contains(members[r].error.message, "cuMemsetD8Async");
        named += !!strstr(members[r].error.message, "failed: ");
    }
    assert_int_equal(named, RANKS - 1);
}

// ---- failures of NCCL

// One of two ranks: the other one's part is not needed where NCCL fails.
static void use_all(member *m) {
    static const cj_gpus_op order[] = {CJ_GPUS_BROADCAST, CJ_GPUS_ALLREDUCE, CJ_GPUS_REDUCE_SCATTER, CJ_GPUS_ALL_GATHER,
                                       CJ_GPUS_ALL_TO_ALL};
    cj_ptr                  x = 0, out = 0;
    m->status = cj_gpus_alloc(m->gpus, 4096, &x, &m->error);
    if (!m->status) m->status = cj_gpus_alloc(m->gpus, 4096, &out, &m->error);
    for (unsigned i = 0; i < CJ_TEST_COUNT(order) && !m->status; i++) {
        const cj_gpus_desc desc = {CJ_INIT(desc), .op = order[i], .count = 16};
        m->status = cj_gpus_run(m->gpus, &desc, &x, &out, NULL, &m->error);
    }
    if (!m->status) m->status = cj_gpus_check(m->gpus, &m->error);
    cj_gpus_free(m->gpus, &x);
    cj_gpus_free(m->gpus, &out);
}

static void every_call_of_nccl_that_fails_is_named(void **state) {
    (void)state;
    static const char *const names[] = {
#define CJ_X(name, result, parameters) "nccl" #name,
        CJ_NCCL_LIST(CJ_X)
#undef CJ_X
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(names); i++) {
        if (strstr(names[i], "GetVersion") || strstr(names[i], "String") || strstr(names[i], "LastError")) continue;
        member members[RANKS] = {{0}};
        start(NULL);
        cj_fake_driver.peerless = true;
        for (uint32_t r = 0; r < RANKS; r++) members[r].work = use_all;
        // Each rank makes the call as often, and all fail from the same one on: none waits for another one.
        run_all(members, RANKS);
        for (uint32_t r = 0; r < RANKS; r++) cj_test_ok(members[r].status, &members[r].error);
        const int times = calls_of(names[i]) / RANKS;
        if (!times) fail_msg("%s is not called", names[i]);
        start(NULL);
        memset(members, 0, sizeof members);
        cj_fake_driver.peerless = true;
        for (uint32_t r = 0; r < RANKS; r++) members[r].work = use_all;
        fake->failing = names[i], fake->from = 1, fake->code = 4;
        run_all(members, RANKS);
        for (uint32_t r = 0; r < RANKS; r++) {
            say(members[r].status, CJ_DRIVER, &members[r].error, names[i]);
            assert_contains(members[r].error.message, "invalid argument (ncclResult_t 4)");
            assert_contains(members[r].error.message, "the fake's last words");
            assert_int_equal(members[r].error.driver_code, 4);
        }
        assert_int_equal(fake->group, 0);
        assert_int_equal(alive(), 0);
    }
}

static void what_nccl_finds_later_is_told_by_check(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    fake->async = 6;
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = use_all;
    cj_fake_driver.peerless = true;
    run_all(members, RANKS);
    say(members[1].status, CJ_DRIVER, &members[1].error,
        "a call of this communicator: the fake NCCL was told to (ncclResult_t 6)");
}

static void ranks_that_do_not_come_end_the_wait(void **state) {
    member m = {.options = {.timeout_ms = 50}};
    (void)state;
    fake->absent = true;
    cj_fake_driver.never_ready = true;
    run_all(&m, 1);
    say(m.status, CJ_DRIVER, &m.error, "rank 0 of 4 waited 50 ms in ncclAllGather for the other ranks");
    assert_contains(m.error.hint, "timeout_ms");
}

static void in_place(member *m) {
    const cj_gpus_desc desc = {CJ_INIT(desc), .op = CJ_GPUS_ALL_TO_ALL, .count = 4};
    cj_ptr             x = 0;
    m->status = cj_gpus_alloc(m->gpus, 64, &x, &m->error);
    if (!m->status) m->status = cj_gpus_run(m->gpus, &desc, &x, &x, NULL, &m->error);
    cj_gpus_free(m->gpus, &x);
}

static void an_all_to_all_by_nccl_needs_two_arrays(void **state) {
    member members[RANKS] = {{0}};
    (void)state;
    cj_fake_driver.peerless = true;
    for (uint32_t r = 0; r < RANKS; r++) members[r].work = in_place;
    run_all(members, RANKS);
    say(members[0].status, CJ_INVALID_ARGUMENT, &members[0].error, "out: an all-to-all by NCCL cannot write to x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(libraries_that_do_not_do_are_refused_by_name, start),
        cmocka_unit_test_setup(a_communicator_of_another_device_is_refused, start),
        cmocka_unit_test_setup(every_collective_goes_by_nccl_where_nobody_reaches_anybody, start),
        cmocka_unit_test_setup(nccl_takes_what_the_mail_has_no_room_for, start),
        cmocka_unit_test_setup(memory_is_registered_among_ranks, start),
        cmocka_unit_test_setup(windows_of_nccl_carry_memory_that_ipc_does_not, start),
        cmocka_unit_test_setup(memory_of_another_device_is_named_by_all_ranks, start),
        cmocka_unit_test_setup(products_go_by_nccl_where_nobody_reaches_anybody, start),
        cmocka_unit_test_setup(other_options_name_the_rank, start),
        cmocka_unit_test_setup(other_sizes_by_nccl_name_the_rank, start),
        cmocka_unit_test_setup(a_rank_that_fails_is_named_by_the_others, start),
        cmocka_unit_test_setup(every_call_of_nccl_that_fails_is_named, start),
        cmocka_unit_test_setup(what_nccl_finds_later_is_told_by_check, start),
        cmocka_unit_test_setup(ranks_that_do_not_come_end_the_wait, start),
        cmocka_unit_test_setup(an_all_to_all_by_nccl_needs_two_arrays, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

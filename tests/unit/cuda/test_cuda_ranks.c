// SPDX-License-Identifier: Apache-2.0
// One process a GPU without NCCL: real processes that find each other over TCP and open each other's mailboxes, on the fake driver, whose
// memory they share.
#define _POSIX_C_SOURCE 200809L  // setenv, kill
#include <clusterjit/gpus.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "cuda_rig.h"
#include "gpus_state.h"

enum { RANKS = 4, SAID = 1024, TIMEOUT_MS = 4000 };

// ---- processes

typedef struct rank_state {
    int             rank;
    cj_device      *device;
    cj_gpus        *gpus;
    cj_error        error;
    cj_gpus_options options;
} rank_state;

static void set_number(const char *name, unsigned value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

// What the child does: "" if all is well. What it says comes back through a pipe.
typedef const char *rank_work(rank_state *s);

static const char *join(rank_state *s) {
    char spec[16];
    snprintf(spec, sizeof spec, "gpu:%d", s->rank);
    if (open_fake(spec, NULL, &s->device, &s->error)) return s->error.message;
    return cj_gpus_create_env(s->device, &s->options, &s->gpus, &s->error) ? s->error.message : "";
}

static _Noreturn void be_rank(int rank, rank_work *work, int pipe_end) {
    rank_state s = {.rank = rank, .options = {CJ_INIT(s.options), .timeout_ms = TIMEOUT_MS, .mail_bytes = 1024}};
    set_number("RANK", (unsigned)rank);
    set_number("LOCAL_RANK", (unsigned)rank);
    const char *said = work(&s);
    char        text[SAID] = "";
    snprintf(text, sizeof text, "%s", said);
    cj_gpus_destroy(s.gpus);
    cj_device_close(s.device);
    if (!*text && alive()) snprintf(text, sizeof text, "left over: %d", alive());
    if (write(pipe_end, text, sizeof text) != (ssize_t)sizeof text) _exit(3);
    _exit(0);
}

static void start_ranks(unsigned count, rank_work *work, pid_t *child, int *from) {
    for (unsigned r = 0; r < count; r++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        fflush(NULL);
        child[r] = fork();
        assert_true(child[r] >= 0);
        if (!child[r]) {
            close(ends[0]);
            be_rank((int)r, work, ends[1]);
        }
        close(ends[1]);
        from[r] = ends[0];
    }
}

// Nothing: the process has ended without a word.
static void hear(unsigned count, const pid_t *child, const int *from, char said[][SAID]) {
    for (unsigned r = 0; r < count; r++) {
        if (read(from[r], said[r], SAID) != SAID) snprintf(said[r], SAID, "nothing");
        close(from[r]);
        waitpid(child[r], NULL, 0);
    }
}

static void run_ranks(unsigned count, rank_work *work, char said[][SAID]) {
    pid_t child[RANKS];
    int   from[RANKS];
    start_ranks(count, work, child, from);
    hear(count, child, from, said);
}

static int start(void **state) {
    (void)state;
    static const char *const others[] = {"OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE",
                                         "PMI_RANK",
                                         "PMI_SIZE",
                                         "SLURM_PROCID",
                                         "SLURM_NTASKS",
                                         "CLUSTERJIT_PORT",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_RANK",
                                         "LOCAL_WORLD_SIZE",
                                         "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE"};
    for (size_t i = 0; i < CJ_TEST_COUNT(others); i++) unsetenv(others[i]);
    cj_fake_reset();
    cj_fake_driver.gpu_count = RANKS;
    set_number("WORLD_SIZE", RANKS);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    set_number("MASTER_PORT", 21000 + (unsigned)getpid() % 11000);  // below those that systems give away
    return 0;
}

// ---- all is well

// Each writes its rank into its own mailbox, after what kernels use, and finds the others' where it has opened them.
static const char *see_all_boxes(rank_state *s) {
    static char said[SAID];
    const char *failed = join(s);
    if (*failed) return failed;
    const uint32_t mine = 1000 + (uint32_t)s->rank;
    uint32_t       found;
    cj_gpus_info   info = {CJ_INIT(info)};
    memcpy((void *)(uintptr_t)(s->gpus->box[s->rank] + CJ_BOX_MAIL), &mine, sizeof mine);
    char all[RANKS] = "";
    if (cj__bootstrap_all_gather(s->gpus->bootstrap, "", all, 1, &s->error)) return s->error.message;
    for (uint32_t q = 0; q < RANKS; q++) {
        memcpy(&found, (const void *)(uintptr_t)(s->gpus->box[q] + CJ_BOX_MAIL), sizeof found);
        if (found != 1000 + q)
            return snprintf(said, SAID, "rank %d finds %u in the box of rank %u", s->rank, found, q), said;
    }
    if (cj_gpus_about(s->gpus, NULL, &info, &s->error)) return s->error.message;
    for (uint32_t q = 0; q < RANKS; q++)
        if (info.reach[q] != (q == (uint32_t)s->rank ? CJ_GPUS_REACH_OWN : CJ_GPUS_REACH_IPC))
            return "info.reach is wrong";
    if (info.rank != (uint32_t)s->rank || info.count != RANKS || info.local != 1 || info.nccl) return "info is wrong";
    if (cj_gpus_device(s->gpus, info.rank) != s->device || cj_gpus_device(s->gpus, (info.rank + 1) % RANKS))
        return "cj_gpus_device";
    return "";
}

// Launches in one piece and in several, of kernels whose arguments are the boxes; the fake executes nothing.
static const char *launch_some(rank_state *s) {
    const char *failed = see_all_boxes(s);
    cj_ptr      x = 0, out = 0;
    if (*failed) return failed;
    if (cj_gpus_alloc(s->gpus, 65536, &x, &s->error) || cj_gpus_alloc(s->gpus, 65536, &out, &s->error))
        return s->error.message;
    const int before = cj_fake_driver.launches;
    for (unsigned i = 0; i <= CJ_GPUS_BARRIER; i++) {
        const cj_gpus_desc desc = {CJ_INIT(desc), .op = (cj_gpus_op)i, .count = i == CJ_GPUS_ALL_GATHER ? 96 : 16};
        if (cj_gpus_run(s->gpus, &desc, &x, &out, (cj_stream[]){(void *)8}, &s->error)) return s->error.message;
    }
    if (cj_gpus_check(s->gpus, &s->error)) return s->error.message;
    cj_gpus_free(s->gpus, &x);
    cj_gpus_free(s->gpus, &out);
    if (cj_fake_driver.launches - before != 5 + 3) return "not 5 launches and 3 pieces";
    return cj_fake_driver.launch.stream == (void *)8 ? "" : "another stream";
}

// Each registers the second half of what it has allocated, and finds the others' by what they wrote there.
static const char *register_half(rank_state *s) {
    static char said[SAID];
    const char *failed = join(s);
    cj_ptr      memory = 0;
    if (*failed) return failed;
    if (cj_gpus_alloc(s->gpus, 8192, &memory, &s->error)) return s->error.message;
    const cj_ptr half = memory + 4096;
    memcpy((void *)(uintptr_t)half, &s->rank, sizeof s->rank);
    if (cj_gpus_register(s->gpus, &half, 4096, &s->error)) return s->error.message;
    for (int q = 0; q < RANKS; q++) {
        int found;
        memcpy(&found, (const void *)(uintptr_t)s->gpus->region[0].at[q], sizeof found);
        if (found != q) return snprintf(said, SAID, "rank %d finds %d in the memory of rank %d", s->rank, found, q), said;
    }
    const cj_gpus_desc sum = {CJ_INIT(sum), .count = 1024, .memory = CJ_GPUS_MEMORY_REGISTERED};
    const int          before = cj_fake_driver.launches;
    if (cj_gpus_run(s->gpus, &sum, &half, &half, NULL, &s->error)) return s->error.message;
    if (cj_fake_driver.launches - before != 1) return "not one launch";
    if (cj_gpus_unregister(s->gpus, &half, &s->error)) return s->error.message;
    cj_gpus_free(s->gpus, &memory);
    return "";
}

static void all_well(unsigned count, rank_work *work) {
    char said[RANKS][SAID];
    run_ranks(count, work, said);
    for (unsigned r = 0; r < count; r++)
        if (*said[r]) fail_msg("rank %u: %s", r, said[r]);
}

static void processes_open_each_others_mailboxes_and_launch(void **state) {
    (void)state;
    all_well(RANKS, launch_some);
}

static void processes_open_each_others_registered_memory(void **state) {
    (void)state;
    all_well(RANKS, register_half);
}

// The variables of each launcher.
static const char *as_open_mpi(rank_state *s) {
    set_number("OMPI_COMM_WORLD_RANK", (unsigned)s->rank);
    unsetenv("RANK");
    return see_all_boxes(s);
}

static const char *as_slurm(rank_state *s) {
    set_number("SLURM_PROCID", (unsigned)s->rank);
    unsetenv("RANK");
    return see_all_boxes(s);
}

static const char *as_pmi(rank_state *s) {
    set_number("PMI_RANK", (unsigned)s->rank);
    unsetenv("RANK");
    return see_all_boxes(s);
}

static void the_variables_of_each_launcher_are_read(void **state) {
    (void)state;
    uint32_t rank, size, local;
    cj_error error = {0};
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    unsetenv("MASTER_ADDR");
    unsetenv("MASTER_PORT");
    all_well(RANKS, as_open_mpi);
    start(NULL);
    setenv("SLURM_NTASKS", "4", 1);
    all_well(RANKS, as_slurm);
    start(NULL);
    setenv("PMI_SIZE", "4", 1);
    all_well(RANKS, as_pmi);
    start(NULL);
    setenv("RANK", "3", 1);
    setenv("LOCAL_RANK", "1", 1);
    cj_test_ok(cj_gpus_env(&rank, &size, &local, &error), &error);
    assert_true(rank == 3 && size == 4 && local == 1);
}

// timeout, numactl, or a shell on each node: each rank has a parent of its own.
static void ranks_with_a_parent_each_are_of_one_job_by_their_port(void **state) {
    (void)state;
    static const char *const ports[] = {"MASTER_PORT", "CLUSTERJIT_PORT"};
    for (size_t i = 0; i < CJ_TEST_COUNT(ports); i++) {
        cj_launched mine, its;
        cj_error    error = {0};
        int         status;
        setenv("RANK", "0", 1);
        set_number(ports[i], 21000);
        cj_test_ok(cj__launched(&mine, &error), &error);
        const pid_t child = fork();
        if (!child) _exit(cj__launched(&its, &error) || its.job != mine.job);
        assert_true(waitpid(child, &status, 0) == child && !status);
        set_number(ports[i], 21002);
        cj_test_ok(cj__launched(&its, &error), &error);
        assert_true(its.job != mine.job);
    }
}

static void environments_that_cannot_be_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } wrong[] = {{"WORLD_SIZE", NULL, "no launcher has started this process"},
                 {"WORLD_SIZE", "many", "WORLD_SIZE=many is no number"},
                 {"RANK", "4", "RANK=4 is not below WORLD_SIZE=4"},
                 {"LOCAL_RANK", "x", "LOCAL_RANK=x"},
                 {"MASTER_PORT", "65535", "MASTER_PORT=65535 is no number up to 65534"},
                 {"CLUSTERJIT_PORT", "70000", "CLUSTERJIT_PORT=70000"}};
    cj_error error;
    uint32_t rank, size, local;
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        start(NULL);
        setenv("RANK", "0", 1);
        if (wrong[i].value)
            setenv(wrong[i].name, wrong[i].value, 1);
        else
            unsetenv(wrong[i].name);
        assert_int_equal(cj_gpus_env(&rank, &size, &local, &error), CJ_INVALID_ARGUMENT);
        assert_contains(error.message, wrong[i].says);
    }
    start(NULL);
    setenv("RANK", "0", 1);
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    unsetenv("MASTER_ADDR");
    assert_int_equal(cj_gpus_env(&rank, &size, &local, &error), CJ_INVALID_ARGUMENT);
    assert_contains(error.message, "torchrun has started 2 of 4 processes on this node, and MASTER_ADDR is not set");
}

// ---- ranks that do not come, die, or come with something else

static void each_says(unsigned count, rank_work *work, unsigned but, const char *text) {
    char said[RANKS][SAID];
    run_ranks(count, work, said);
    for (unsigned r = 0; r < count; r++)
        if (r != but && !strstr(said[r], text)) fail_msg("rank %u does not say '%s': %s", r, text, said[r]);
}

static const char *impatient(rank_state *s) {
    s->options.timeout_ms = 300;
    return join(s);
}

static void a_rank_that_never_comes_is_named(void **state) {
    (void)state;
    char said[RANKS][SAID];
    run_ranks(3, impatient, said);
    for (unsigned r = 0; r < 3; r++)
        if (!strstr(said[r], "rank 3 did not come to 127.0.0.1 port") ||
            !strstr(said[r], "within 300 ms (1 of 4 ranks are missing)"))
            fail_msg("rank %u: %s", r, said[r]);
    assert_non_null(strstr(said[2], "rank 0 says so"));
}

// Rank 1 has no rank 0.
static const char *alone(rank_state *s) {
    set_number("RANK", 1);
    return impatient(s);
}

static void a_rank_0_that_never_comes_is_named(void **state) {
    (void)state;
    each_says(1, alone, RANKS, "rank 0 did not listen at 127.0.0.1 port");
}

// Rank 2 dies after it has come.
static const char *dies(rank_state *s) {
    uint32_t      rank, size;
    cj_bootstrap *sockets;
    if (s->rank != 2) return join(s);
    if (cj__bootstrap_open(TIMEOUT_MS, &sockets, &rank, &size, &s->error)) return s->error.message;
    kill(getpid(), SIGKILL);
    return "";
}

static void a_rank_that_dies_is_named(void **state) {
    (void)state;
    each_says(RANKS, dies, 2, "rank 2 of 4 has ended");
}

// Rank 1 comes, and then does something else.
static const char *sleeps(rank_state *s) {
    uint32_t      rank, size;
    cj_bootstrap *sockets;
    if (s->rank != 1) return impatient(s);
    if (cj__bootstrap_open(TIMEOUT_MS, &sockets, &rank, &size, &s->error)) return s->error.message;
    sleep(1);
    cj__bootstrap_close(sockets, false);
    return "slept";
}

static void a_rank_that_does_something_else_is_named(void **state) {
    (void)state;
    each_says(RANKS, sleeps, 1, "rank 1 of 4 did not come within 300 ms");
}

// Rank 2 dies when the others register, or registers something else.
static const char *dies_later(rank_state *s) {
    const char *failed = join(s);
    cj_ptr      memory = 0;
    if (*failed) return failed;
    if (cj_gpus_alloc(s->gpus, 4096, &memory, &s->error)) return s->error.message;
    if (s->rank == 2) kill(getpid(), SIGKILL);
    const cj_status status = cj_gpus_register(s->gpus, &memory, 4096, &s->error);
    cj_gpus_free(s->gpus, &memory);
    return status ? s->error.message : "";
}

static void a_rank_that_dies_in_the_middle_is_named(void **state) {
    (void)state;
    each_says(RANKS, dies_later, 2, "rank 2 of 4 has ended");
}

static const char *other_mail(rank_state *s) {
    if (s->rank == 3) s->options.mail_bytes = 2048;
    return join(s);
}

static const char *other_size(rank_state *s) {
    if (s->rank == 1) set_number("WORLD_SIZE", 3);
    if (s->rank > 1) return "rank 1 came with size 3, rank 0 with 4";
    return join(s);
}

static const char *same_rank(rank_state *s) {
    if (s->rank == 2) set_number("RANK", 1);
    return s->rank == 3 ? "rank 1 came twice" : impatient(s);
}

static void ranks_that_differ_are_named(void **state) {
    (void)state;
    each_says(RANKS, other_mail, RANKS, "rank 3 came with mail_bytes 2048, rank 0 with 1024");
    each_says(RANKS, other_size, RANKS, "rank 1 came with size 3, rank 0 with 4");
    each_says(RANKS, same_rank, RANKS, "rank 1 came twice");
}

static const char *unreachable(rank_state *s) {
    cj_fake_driver.peerless = true;
    return join(s);
}

static const char *no_ipc(rank_state *s) {
    cj_fake_driver.missing = "cuIpcGetMemHandle";
    return join(s);
}

static void gpus_that_do_not_reach_each_other_are_named(void **state) {
    (void)state;
    each_says(RANKS, unreachable, RANKS, "rank 0 does not reach rank 1: cuIpcOpenMemHandle");
    each_says(RANKS, no_ipc, RANKS, "it does not share its mailbox: the driver has no CUDA IPC");
}

int main(void) {
    cj_fake_share();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(processes_open_each_others_mailboxes_and_launch, start),
        cmocka_unit_test_setup(processes_open_each_others_registered_memory, start),
        cmocka_unit_test_setup(the_variables_of_each_launcher_are_read, start),
        cmocka_unit_test_setup(ranks_with_a_parent_each_are_of_one_job_by_their_port, start),
        cmocka_unit_test_setup(environments_that_cannot_be_are_refused_by_name, start),
        cmocka_unit_test_setup(a_rank_that_never_comes_is_named, start),
        cmocka_unit_test_setup(a_rank_0_that_never_comes_is_named, start),
        cmocka_unit_test_setup(a_rank_that_dies_is_named, start),
        cmocka_unit_test_setup(a_rank_that_dies_in_the_middle_is_named, start),
        cmocka_unit_test_setup(a_rank_that_does_something_else_is_named, start),
        cmocka_unit_test_setup(ranks_that_differ_are_named, start),
        cmocka_unit_test_setup(gpus_that_do_not_reach_each_other_are_named, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

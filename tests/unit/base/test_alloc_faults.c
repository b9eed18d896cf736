// SPDX-License-Identifier: Apache-2.0
// Every allocation failing in turn, alone and with all that follow, first of the program's allocators (clusterjit/allocator.h),
// then of the C library: nothing crashes, nothing is left over, and the caller gets OUT_OF_MEMORY or, where the library knows
// another way, gets what was asked for.
#define _POSIX_C_SOURCE 200809L
#include <clusterjit/clusterjit.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_shim.h"
#include "test.h"

#ifdef CJ_HAVE_CUDA
#include "fake_driver.h"
#endif

// ---- allocators of the program's: of host memory, and of workspaces

static atomic_uint asked;        // since the start
static atomic_long alive;        // blocks
static unsigned    first, last;  // the allocations that fail; 0: none

static bool fails(void) {
    const unsigned number = atomic_fetch_add(&asked, 1) + 1;
    return first && number >= first && number <= last;
}

// A block's head: what it was asked for with, and where it begins.
typedef struct head {
    void    *begin;
    size_t   bytes;
    uint64_t mark[2];
} head;

static const uint64_t mark = 0x636c75737465726a;

static void *take(void *user, size_t bytes, size_t alignment) {
    assert_true(user == &asked && bytes && alignment >= 16 && !(alignment & (alignment - 1)));
    unsigned char *begin = fails() ? NULL : malloc(bytes + alignment + sizeof(head));
    if (!begin) return NULL;
    unsigned char *block = (unsigned char *)(((uintptr_t)begin + sizeof(head) + alignment - 1) & ~(alignment - 1));
    const head     of = {begin, bytes, {mark, ~mark}};
    memcpy(block - sizeof of, &of, sizeof of);
    memset(block, 0xa5, bytes);
    atomic_fetch_add(&alive, 1);
    return block;
}

static void give(void *user, void *memory) {
    head of;
    assert_true(user == &asked && memory);
    memcpy(&of, (unsigned char *)memory - sizeof of, sizeof of);
    assert_true(of.mark[0] == mark && of.mark[1] == ~mark);  // else it is no block of ours, or was freed before
    memset((unsigned char *)memory - sizeof of, 0, sizeof of);
    atomic_fetch_sub(&alive, 1);
    free(of.begin);
}

static void *move(void *user, void *memory, size_t old_bytes, size_t new_bytes) {
    head of;
    memcpy(&of, (unsigned char *)memory - sizeof of, sizeof of);
    assert_int_equal(of.bytes, old_bytes);
    void *moved = take(user, new_bytes, 16);
    if (moved) memcpy(moved, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    if (moved) give(user, memory);
    return moved;
}

static cj_ptr take_workspace(void *user, size_t bytes, cj_stream stream) {
    cj_ptr memory = 0;
    assert_true(stream == NULL);
    if (fails() || cj_mem_alloc(user, bytes, &memory, NULL)) return 0;
    atomic_fetch_add(&alive, 1);
    return memory;
}

static void give_workspace(void *user, cj_ptr memory, size_t bytes, cj_stream stream) {
    assert_true(bytes && !stream);
    atomic_fetch_sub(&alive, 1);
    cj_mem_free(user, memory);
}

static cj_status use_workspaces(cj_device *device, cj_error *error) {
    const cj_workspaces from = {CJ_INIT(from), .allocate = take_workspace, .free = give_workspace, .user = device};
    return cj_workspaces_set(device, &from, error);
}

// ---- texts

static char *right, *wrong;  // a kernel of ours; a text that breaks many rules, over and over

static cj_status check(const char *text, cj_error *error) {
    cj_report *report = NULL;
    cj_status  status = cj_check_ptx(text, strlen(text), NULL, &report, error);
    cj_report_destroy(report);
    return status;
}

static cj_status check_right(cj_error *error) { return check(right, error); }
static cj_status check_wrong(cj_error *error) { return check(wrong, error); }

static cj_status format_text(cj_error *error) {
    char     *text = NULL;
    size_t    length;
    cj_status status = cj_format_ptx(right, strlen(right), &text, &length, error);
    cj_text_free(text);
    return status;
}

static char *make_wrong(void) {
    enum { FUNCTIONS = 200, ROOM = 256 };
    char  *text = malloc(FUNCTIONS * ROOM);
    size_t at = (size_t)snprintf(text, ROOM, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int i = 0; i < FUNCTIONS; i++) {
        at += (size_t)snprintf(text + at, ROOM,
                               ".entry k%d(.param .u64 p)\n{\n.reg .b32 %%r<3>;\n.reg .f32 %%f<3>;\nfrobnicate;\n"
                               "add.s32 %%r0, %%f0, %%r9;\nld.global.u32 %%r1, [p];\nbra nowhere;\nret;\n}\n",
                               i);
    }
    return text;
}

static cj_status make_text(cj_error *error) {
    const cj_family *family;
    const cj_limits *limits;
    cj_params        params;
    cj_plan          plan;
    char            *text = NULL;
    size_t           length;
    cj_status        status = cj_family_find("reduce", &family, error);
    cj_params_init(&params, family);
    if (!status) status = cj_limits_builtin("sm_90", &limits, error);
    if (!status) status = cj_plan_make(&params, limits, NULL, &plan, error);
    if (!status) status = cj_plan_emit(&plan, &text, &length, error);
    cj_text_free(text);
    return status;
}

static const char square[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                             ".visible .func (.param .b32 r) square(.param .b32 x)\n{\n    .reg .f32 %f<2>;\n"
                             "    ld.param.f32 %f0, [x];\n    mul.f32 %f1, %f0, %f0;\n"
                             "    st.param.f32 [r], %f1;\n    ret;\n}\n";

// ---- devices

static cj_status sum(cj_device *device, const cj_user_function *map, cj_error *error) {
    const float          x[100] = {[3] = 3.0f, [99] = 4.0f};
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 100,  .block = 64,
                                 .cluster = 2,  .grid = 4, .map = map};  // a workspace, too
    cj_ptr               memory = 0;
    float                out = 0;
    cj_status            status = cj_mem_alloc(device, sizeof x + sizeof out, &memory, error);
    const cj_ptr         to = memory + sizeof x;
    if (!status) status = cj_mem_write(device, memory, x, sizeof x, NULL, error);
    if (!status) status = cj_reduce_launch(device, &desc, memory, to, NULL, error);
    if (!status) status = cj_reduce_launch(device, &desc, memory, to, NULL, error);
    if (!status) status = cj_mem_read(device, &out, to, sizeof out, NULL, error);
    if (!status && !strcmp(cj_device_kind(device), "cpu")) assert_true(out == (map ? 25.0f : 7.0f));
    cj_mem_free(device, memory);
    return status;
}

// Two threads: as many as the host has cores would keep as many stacks.
static cj_status open_cpu(bool hazards, cj_device **device, cj_error *error) {
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    const cj_cpu_options    cpu = {CJ_INIT(cpu), .threads = 2, .hazards = hazards, .stats = hazards};
    cj_status               status = cj_device_open(&options, device, error);
    if (!status) status = use_workspaces(*device, error);
    return status ? status : cj_cpu_configure(*device, &cpu, error);
}

static cj_status run(bool hazards, cj_error *error) {
    cj_device *device = NULL;
    cj_status  status = open_cpu(hazards, &device, error);
    if (!status) status = sum(device, NULL, error);
    cj_device_close(device);
    return status;
}

static cj_status run_on_cpu(cj_error *error) { return run(false, error); }
static cj_status run_watched(cj_error *error) { return run(true, error); }

static cj_status run_user_function(cj_error *error) {
    const cj_signature signature = {.result = CJ_F32, .count = 1, .argument = {CJ_F32}};
    cj_user_function  *function = NULL;
    cj_device         *device = NULL;
    cj_status          status = cj_function_from_ptx(square, sizeof square - 1, "square", &signature, &function, error);
    if (!status) status = open_cpu(false, &device, error);
    if (!status) status = sum(device, function, error);
    cj_device_close(device);
    cj_user_function_destroy(function);
    return status;
}

#ifdef CJ_HAVE_CUDA
static cj_status run_on_driver(cj_error *error) {
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu", .resolver = cj_fake_resolve};
    cj_device              *device = NULL;
    cj_fake_reset();
    cj_status status = cj_device_open(&options, &device, error);
    if (!status) status = use_workspaces(device, error);
    if (!status) status = sum(device, NULL, error);
    cj_device_close(device);
    const cj_fake *fake = &cj_fake_driver;
    assert_int_equal(fake->alive_contexts + fake->alive_modules + fake->alive_memory + fake->alive_links, 0);
    assert_int_equal(fake->damaged_images, 0);
    return status;
}

// With an empty cache, where a kernel is compiled and kept.
static cj_status run_on_driver_first(cj_error *error) {
    uint64_t  entries, bytes;
    cj_status status = cj_cache_clear(&entries, &bytes, error);
    return status ? status : run_on_driver(error);
}
#endif

// ---- allocations that fail

static const struct life {
    const char *name;
    cj_status (*live)(cj_error *error);
    const char *other_way;  // by which it may go well all the same; NULL: there is none
} lives[] = {
    {"checking a right text", check_right, NULL},
    {"checking a wrong text", check_wrong, NULL},
    {"formatting a text", format_text, NULL},
    {"planning and emitting a kernel", make_text, NULL},
    {"the CPU device", run_on_cpu, "fewer threads"},
    {"the CPU device, watching", run_watched, "fewer threads"},
    {"a user's function", run_user_function, "fewer threads"},
#ifdef CJ_HAVE_CUDA
    {"the gpu device, cache empty", run_on_driver_first, "the image is not kept, or not by way of the linker"},
    {"the gpu device, cache full", run_on_driver, "the kept image is not read, and the text compiled"},
#endif
};

static void live_well(const struct life *l) {
    cj_error error = {0};
    cj_test_ok(l->live(&error), &error);
}

static void start_own(unsigned number, bool for_good) {
    first = number;
    last = for_good ? UINT32_MAX : number;
    atomic_store(&asked, 0);
}

static unsigned end_own(void) {
    first = last = 0;
    return atomic_load(&asked);
}

static long alive_of_own(void) { return atomic_load(&alive); }

// Two allocators that can be made to fail.
static const struct source {
    const char *name;
    void (*start)(unsigned first, bool for_good);
    unsigned (*end)(void);
    long (*alive)(void);
} sources[] = {{"the program's", start_own, end_own, alive_of_own},
               {"the C library's", cj_shim_start, cj_shim_end, cj_shim_alive}};

// Whether an allocation failed, for it may be that there are not so many.
static bool live_with(const struct life *l, const struct source *from, unsigned number, bool for_good) {
    cj_error   error = {0};
    const long before = from->alive();
    from->start(number, for_good);
    const cj_status status = l->live(&error);
    const unsigned  count = from->end();
    const long      left = from->alive() - before;
    const char     *how = for_good ? "and all that follow" : "alone";
    if (left)
        fail_msg("%s: allocation %u of %s fails %s: %ld blocks are left over", l->name, number, from->name, how, left);
    if (count < number) {
        cj_test_ok(status, &error);
        return false;
    }
    if (status ? status != CJ_OUT_OF_MEMORY || !error.message[0] : !l->other_way)
        fail_msg("%s: allocation %u of %s fails %s: %s: %s", l->name, number, from->name, how, cj_status_name(status),
                 error.message);
    return true;
}

static void every_allocation_fails(const struct source *from) {
    for (size_t i = 0; i < CJ_TEST_COUNT(lives); i++) {
        for (int warm = 0; warm < 3; warm++) live_well(&lives[i]);  // what the C library keeps for good
        for (int for_good = 0; for_good < 2; for_good++) {
            unsigned n = 1;
            while (live_with(&lives[i], from, n, for_good)) n++;
            assert_true(n > 1);
            print_message("%s: %u allocations\n", lives[i].name, n - 1);
        }
        live_well(&lives[i]);
    }
}

static void every_allocation_of_the_program_fails(void **state) {
    (void)state;
    every_allocation_fails(&sources[0]);
    assert_int_equal(atomic_load(&alive), 0);  // whatever was taken since the process began
}

static void every_allocation_of_the_c_library_fails(void **state) {
    (void)state;
    if (!cj_shim_works()) cj_test_skip("another allocator is in place of glibc's");
    every_allocation_fails(&sources[1]);
}

#ifdef CJ_HAVE_CUDA
// The second call and all later ones, from either allocator.
static void launches_allocate_nothing(void **state) {
    (void)state;
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu", .resolver = cj_fake_resolve};
    const cj_reduce_desc    desc = {CJ_INIT(desc), .n = 100, .block = 64, .cluster = 2, .grid = 4};
    cj_device              *device = NULL;
    cj_ptr                  memory = 0;
    cj_error                error = {0};
    cj_fake_reset();
    cj_test_ok(cj_device_open(&options, &device, &error), &error);
    cj_test_ok(use_workspaces(device, &error), &error);
    cj_test_ok(cj_mem_alloc(device, 1024, &memory, &error), &error);
    for (int turn = 0; turn < 3; turn++) {
        start_own(1, turn > 0);
        if (!turn) first = 0;
        if (turn) cj_shim_start(1, true);
        const cj_status status = cj_reduce_launch(device, &desc, memory, memory + 512, NULL, &error);
        if (turn) assert_int_equal(cj_shim_end(), 0);
        const unsigned count = end_own();
        cj_test_ok(status, &error);
        assert_true(turn ? !count : count > 0);
    }
    cj_mem_free(device, memory);
    cj_device_close(device);
}
#endif

// Without reallocate and allocate_zeroed the library does their work; once it has allocated, nothing can be set.
static void an_allocator_is_set_once(void **state) {
    (void)state;
    const cj_allocator other = {CJ_INIT(other), .allocate = take, .free = give, .user = &asked};
    cj_allocator       half = other;
    cj_error           error = {0};
    assert_int_equal(cj_allocator_set(&other, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "has already allocated"));
    assert_non_null(strstr(error.hint, "before any other call"));
    half.free = NULL;
    assert_int_equal(cj_allocator_set(&half, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "free is NULL"));
}

static char directory[] = "/tmp/cj-alloc-XXXXXX";

static void hear_nothing(void *user, cj_log_level level, const char *message) {
    (void)user, (void)level, (void)message;
}

static int start(void **state) {
    (void)state;
    const cj_allocator own = {CJ_INIT(own), .allocate = take, .reallocate = move, .free = give, .user = &asked};
    if (cj_allocator_set(&own, NULL)) return 1;
    cj_log_set(hear_nothing, NULL);
    right = cj_test_read(CJ_TEST_DIR "/golden/default.ptx");
    wrong = make_wrong();
    if (!right || !wrong) return 1;
    return !mkdtemp(directory) || setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int finish(void **state) {
    (void)state;
    char command[64];
    cj_log_set(NULL, NULL);
    free(right);
    free(wrong);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_the_program_fails),
                                       cmocka_unit_test(every_allocation_of_the_c_library_fails),
                                       #ifdef CJ_HAVE_CUDA
                                       cmocka_unit_test(launches_allocate_nothing),
#endif
                                       cmocka_unit_test(an_allocator_is_set_once)};
    return cmocka_run_group_tests(tests, start, finish);
}

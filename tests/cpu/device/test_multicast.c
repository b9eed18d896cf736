// SPDX-License-Identifier: Apache-2.0
// Multicast objects of several CPU devices: how sums are rounded and in which order, what orders the accesses of several devices,
// what is found wrong, and what the calls refuse. test_multimem.c has every form of the instructions.
#include <clusterjit/gpus.h>
#include <math.h>

#include "kernel.h"
#include "models/half.h"

enum {
    MEMBERS = 3,
    TEAM = 1024,
    RANK = 1025,
    RESULT = 2048,
    BYTES = 2048
};  // words of a member's memory; bytes of the object

static cj_device        *device[MEMBERS];
static cj_ptr            base[MEMBERS], address;
static cj_cpu_multicast *team;
static cj_error          error;

static void expect(cj_status status, cj_status wanted, const char *says) {
    if (status != wanted || !strstr(error.message, says))
        fail_msg("%s: '%s' does not say '%s'", cj_status_name(status), error.message, says);
}

static void write_word(unsigned member, unsigned at, uint64_t value) {
    cj_test_ok(cj_mem_write(device[member], base[member] + at * 8, &value, 8, NULL, &error), &error);
}

static uint64_t read_word(unsigned member, unsigned at) {
    uint64_t value = 0;
    cj_test_ok(cj_mem_read(device[member], &value, base[member] + at * 8, 8, NULL, &error), &error);
    return value;
}

static void open_devices(void) {
    for (unsigned m = 0; m < MEMBERS; m++) {
        device[m] = open_cpu();
        cj_test_ok(cj_mem_alloc(device[m], RESULTS * 8, &base[m], &error), &error);
    }
}

static void make_team(unsigned members) {
    cj_test_ok(cj_cpu_multicast_create(device, members, BYTES, 0, &team, &error), &error);
    for (unsigned m = 0; m < members; m++) {
        cj_test_ok(cj_cpu_multicast_bind(team, m, 0, base[m], BYTES, &error), &error);
        cj_test_ok(cj_cpu_multicast_map(team, m, &address, &error), &error);
        cj_test_ok(cj_mem_fill(device[m], base[m], 0, RESULTS * 8, NULL, &error), &error);
        write_word(m, TEAM, address);
        write_word(m, RANK, m);
    }
}

static void open_team(unsigned members, bool hazards) {
    cpu_options.hazards = hazards;
    open_devices();
    make_team(members);
}

static void close_team(void) {
    cj_cpu_multicast_destroy(team);
    team = NULL;
    for (unsigned m = 0; m < MEMBERS; m++) {
        cj_mem_free(device[m], base[m]);
        cj_device_close(device[m]);
    }
    cpu_options.hazards = false;
}

// Runs the kernel on `count` devices from the first on, beside each other; of one on it alone, by cj_launch.
static cj_status launch(const char *ptx, unsigned first, unsigned count, unsigned threads) {
    cj_module              *module[MEMBERS];
    cj_launch_config        config[MEMBERS];
    const cj_launch_config *configs[MEMBERS];
    void                   *argument[MEMBERS][1];
    for (unsigned i = 0; i < count; i++) {
        cj_function *function = NULL;
        argument[i][0] = &base[first + i];
        cj_test_ok(cj_module_from_ptx(device[first + i], ptx, strlen(ptx), &module[i], &error), &error);
        cj_test_ok(cj_module_function(module[i], "kernel", &function, &error), &error);
        config[i] = (cj_launch_config){CJ_INIT(config[i]),       .function = function,     .grid = {1, 1, 1},
                                       .block = {threads, 1, 1}, .arguments = argument[i], .argument_count = 1};
        configs[i] = &config[i];
    }
    const cj_status status = count == 1 ? cj_launch(device[first], &config[0], &error)
                                        : cj_launch_together(configs, count, &error);
    for (unsigned i = 0; i < count; i++) cj_module_unload(module[i]);
    return status;
}

#define TEAM_KERNEL(body)                                               \
    ".version 8.6\n.target sm_100a\n.address_size 64\n" ENTRY OPEN      \
    "    .reg .b64 %team;\n    .reg .b32 %rank;\n    .reg .b8 %e<8>;\n" \
    "    ld.global.u64 %team, [%out + 8192];\n    ld.global.u32 %rank, [%out + 8200];\n" body CLOSE

// ---- rounding and order

typedef struct format {
    const char *name;
    unsigned    bits;
    half_format form;
    double      most;  // what larger sums become; 0: infinity
} format;

static const format f16 = {"f16", 16, {10, 5, false}, 0}, bf16 = {"bf16", 16, {7, 8, false}, 0},
                    e4m3 = {"e4m3", 8, {3, 4, true}, 448}, e5m2 = {"e5m2", 8, {2, 5, false}, 57344};

static double number_of(const format *f, uint32_t code) { return half_to(f->form, (uint16_t)code); }

static double nearest(const format *f, double x) {
    const double number = number_of(f, half_from(f->form, x));
    return f->most > 0 && isinf(number) ? copysign(f->most, x) : number;
}

static double total_of(const format *f, const char *acc, const double *value, unsigned members) {
    double total = value[0];
    for (unsigned m = 1; m < members; m++) {
        const double sum = total + value[m];
        total = !strcmp(acc, ".acc::f32") ? (double)(float)sum : nearest(*acc ? &f16 : f, sum);
    }
    return nearest(f, total);
}

// Sums of random numbers of one magnitude or so, which are exact in double.
static void sums_of(const format *f, const char *acc, uint64_t *random) {
    char           ptx[4096], registers[64] = "";
    const unsigned vector = 32 / f->bits, threads = 16, bytes = f->bits / 8;
    for (unsigned i = 0; i < vector; i++)
        snprintf(registers + strlen(registers), sizeof registers - strlen(registers), "%s%%%s%u", i ? ", " : "",
                 bytes == 1 ? "e" : "h", i);
    snprintf(ptx, sizeof ptx,
             "%s    mad.wide.u32 %%l1, %%thread, 4, %%team;\n    multimem.ld_reduce.add%s.v%u.%s {%s}, [%%l1];\n"
             "    mad.wide.u32 %%l2, %%thread, 4, %%out;\n    st.global.v%u.b%u [%%l2 + 16384], {%s};\n%s",
             ".version 8.6\n.target sm_100a\n.address_size 64\n" ENTRY OPEN
             "    .reg .b64 %team;\n    .reg .b8 %e<8>;\n"
             "    ld.global.u64 %team, [%out + 8192];\n",
             acc, vector, f->name, registers, vector, f->bits, registers, CLOSE);
    uint8_t code[MEMBERS][64] = {{0}}, result[64];
    for (unsigned m = 0; m < MEMBERS; m++) {
        for (unsigned i = 0; i < threads * 4; i += bytes) {
            const uint32_t one = 1u << (f->bits - 3), drawn = (uint32_t)cj_test_random(random);  // about 1
            uint32_t       c = (one + (drawn >> 8) % (6u << f->form.fraction)) | (drawn & 1) << (f->bits - 1);
            memcpy(&code[m][i], &c, bytes);
        }
        cj_test_ok(cj_mem_write(device[m], base[m], code[m], sizeof code[m], NULL, &error), &error);
    }
    cj_test_ok(launch(ptx, 1, 1, threads), &error);
    cj_test_ok(cj_mem_read(device[1], result, base[1] + RESULT * 8, sizeof result, NULL, &error), &error);
    for (unsigned i = 0; i < threads * 4; i += bytes) {
        double   value[MEMBERS];
        uint32_t c = 0;
        for (unsigned m = 0; m < MEMBERS; m++) {
            memcpy(&c, &code[m][i], bytes);
            value[m] = number_of(f, c);
        }
        memcpy(&c, &result[i], bytes);
        if (number_of(f, c) != total_of(f, acc, value, MEMBERS))
            fail_msg("%s%s: %a + %a + %a = %a, not %a", f->name, acc, value[0], value[1], value[2], number_of(f, c),
                     total_of(f, acc, value, MEMBERS));
    }
}

static void sums_are_rounded_in_the_order_of_the_members(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    open_team(MEMBERS, false);
    for (unsigned i = 0; i < 8; i++) {
        sums_of(&f16, "", &random);
        sums_of(&f16, ".acc::f32", &random);
        sums_of(&bf16, "", &random);
        sums_of(&bf16, ".acc::f32", &random);
        sums_of(&e4m3, "", &random);
        sums_of(&e4m3, ".acc::f16", &random);
        sums_of(&e5m2, "", &random);
        sums_of(&e5m2, ".acc::f16", &random);
    }
    close_team();
}

// f32 and f64: the members' order, by sums of which another order gives another result; and a result in the address's register.
static void a_sum_of_floats_has_one_order(void **state) {
    (void)state;
    const float  floats[MEMBERS] = {0x1p24f, -0x1p24f, 0x1p-3f};
    const double doubles[MEMBERS] = {0x1p60, 1, -0x1p60};
    open_team(MEMBERS, true);
    for (unsigned m = 0; m < MEMBERS; m++) {
        cj_test_ok(cj_mem_write(device[m], base[m], &floats[m], 4, NULL, &error), &error);
        cj_test_ok(cj_mem_write(device[m], base[m] + 8, &doubles[m], 8, NULL, &error), &error);
        write_word(m, 2, m + 5);
    }
    cj_test_ok(
        launch(
            TEAM_KERNEL("    multimem.ld_reduce.global.add.f32 %f1, [%team];\n    st.global.f32 [%out + 16384], %f1;\n"
                        "    multimem.ld_reduce.global.add.f64 %d1, [%team + 8];\n"
                        "    st.global.f64 [%out + 16392], %d1;\n"
                        "    multimem.ld_reduce.global.max.u64 %team, [%team + 16];\n"
                        "    st.global.u64 [%out + 16400], %team;\n"),
            2, 1, 1),
        &error);
    float  sum = 0;
    double large = 1;
    cj_test_ok(cj_mem_read(device[2], &sum, base[2] + 16384, 4, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device[2], &large, base[2] + 16392, 8, NULL, &error), &error);
    assert_true(sum == 0x1p-3f && large == 0);
    assert_int_equal(read_word(2, RESULT + 2), 7);
    close_team();
}

static void numbers_win_over_nan_and_sums_of_8_bits_saturate(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t    member[2], wanted;
    } cases[] = {
        {"min.f16x2", {0x7e003c00, 0x00008000}, 0x00008000},           // NaN and 0; 1 and -0
        {"max.f16x2", {0x7e00ff00, 0xfc007d00}, 0xfc007fff},           // NaN and -infinity; two NaN
        {"max.bf16x2", {0x00008000, 0x80000000}, 0x00000000},          // +0 and -0 either way
        {"add.f16x2", {0x7c007bff, 0xfc007bff}, 0x7fff7c00},           // infinity - infinity; beyond the largest
        {"add.acc::f32.f16x2", {0x7bff0001, 0x7bff0001}, 0x7c000002},  // subnormals are kept
        {"add.e4m3x4", {0x7e7e7f38, 0x7efe3838}, 0x7e007f40},          // 448 + 448; 448 - 448; NaN + 1; 1 + 1
        {"min.e4m3x4", {0x7f7f8000, 0x7f380080}, 0x7f388080},          // two NaN; NaN and 1; +0 and -0 either way
        {"add.e5m2x4", {0x7b7c7cfc, 0x7bfc3cfc}, 0x7b7f7bfb},  // saturated; infinity - infinity; infinities saturate
    };
    open_team(2, false);
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char ptx[2048];
        snprintf(
            ptx, sizeof ptx, "%s    multimem.ld_reduce.%s %%r1, [%%l1];\n    st.global.u32 [%%out + 16384], %%r1;\n%s",
            ".version 8.6\n.target sm_100a\n.address_size 64\n" ENTRY OPEN "    ld.global.u64 %l1, [%out + 8192];\n",
            cases[i].text, CLOSE);
        for (unsigned m = 0; m < 2; m++) write_word(m, 0, cases[i].member[m]);
        cj_test_ok(launch(ptx, 0, 1, 1), &error);
        if ((uint32_t)read_word(0, RESULT) != cases[i].wanted)
            fail_msg("%s: 0x%x, not 0x%x", cases[i].text, (uint32_t)read_word(0, RESULT), cases[i].wanted);
    }
    close_team();
}

// ---- lanes, parts, statistics

// Lanes of one instruction may have addresses in several objects, and of memory that is in none.
static void lanes_have_teams_of_their_own(void **state) {
    (void)state;
    cj_cpu_multicast *small = NULL;
    cj_ptr            place = 0;
    open_team(MEMBERS, true);
    cj_test_ok(cj_cpu_multicast_create(device, 2, 256, 0, &small, &error), &error);
    for (unsigned m = 0; m < 2; m++) {
        cj_test_ok(cj_cpu_multicast_bind(small, m, 0, base[m] + 4096, 256, &error), &error);
        cj_test_ok(cj_cpu_multicast_map(small, m, &place, &error), &error);
    }
    for (unsigned m = 0; m < MEMBERS; m++) {
        write_word(m, TEAM + 2, place);
        write_word(m, 0, 1);
        write_word(m, 512, 10);
        write_word(m, 600, 100);
    }
    // Thread 0: the large object; 1: the small one; 2: the device's own memory.
    const char *const ptx = TEAM_KERNEL(
        "    ld.global.u64 %l1, [%out + 8208];\n    setp.eq.u32 %p1, %thread, 0;\n    setp.eq.u32 %p2, %thread, 1;\n"
        "    add.u64 %l2, %out, 4800;\n    selp.u64 %l2, %l1, %l2, %p2;\n    selp.u64 %l2, %team, %l2, %p1;\n"
        "    multimem.ld_reduce.add.u64 %l3, [%l2];\n    st.global.u64 [%at + 16384], %l3;\n"
        "    multimem.red.add.u64 [%l2], 5;\n");
    cj_test_ok(launch(ptx, 0, 1, 3), &error);
    assert_true(read_word(0, RESULT) == 3 && read_word(0, RESULT + 1) == 20 && read_word(0, RESULT + 2) == 100);
    for (unsigned m = 0; m < MEMBERS; m++) {
        assert_int_equal(read_word(m, 0), 6);
        assert_int_equal(read_word(m, 512), m < 2 ? 15 : 10);
        assert_int_equal(read_word(m, 600), m ? 100 : 105);
    }
    cj_cpu_multicast_destroy(small);
    close_team();
}

static void every_members_access_is_counted(void **state) {
    (void)state;
    cj_cpu_stats stats = {CJ_INIT(stats)};
    cpu_options.stats = true;
    open_team(MEMBERS, false);
    cj_test_ok(
        launch(TEAM_KERNEL("    shl.b32 %r1, %thread, 2;\n    cvt.u64.u32 %l1, %r1;\n    add.u64 %l1, %team, %l1;\n"
                           "    multimem.st.u32 [%l1], 5;\n    multimem.red.add.u32 [%l1], 2;\n"),
               0, 1, 8),
        &error);
    cj_test_ok(cj_cpu_stats_read(device[0], &stats, &error), &error);
    const uint64_t plain = 8 * (8 + 4);  // what the kernel's head reads
    assert_int_equal(stats.global_written, 2 * MEMBERS * 8 * 4);
    assert_int_equal(stats.global_read, plain + MEMBERS * 8 * 4);
    assert_int_equal(stats.atomics, 8);
    close_team();
    cpu_options.stats = false;
}

// ---- hazards

static void finds(const char *ptx, unsigned first, unsigned count, const char *rule, const char *says) {
    const cj_status status = launch(ptx, first, count, 1);
    if (status != CJ_HAZARD || strcmp(error.rule, rule) || !strstr(error.message, says))
        fail_msg("%s, %s: '%s' does not say '%s'", cj_status_name(status), error.rule, error.message, says);
}

static void wrong_addresses_are_found(void **state) {
    (void)state;
    for (unsigned hazards = 0; hazards < 2; hazards++) {
        open_team(2, hazards);
        finds(TEAM_KERNEL("    ld.global.u32 %r1, [%team];\n"), 0, 1, "multicast-address",
              "of 2 devices: what ld.global.u32");
        finds(TEAM_KERNEL("    st.u32 [%team], 1;\n"), 1, 1, "multicast-address", "undefined");
        finds(TEAM_KERNEL("    red.global.add.u32 [%team], 1;\n"), 0, 1, "multicast-address", "multicast address");
        finds(TEAM_KERNEL("    multimem.st.u32 [%team + 2048], 1;\n"), 0, 1, "out-of-bounds",
              "0 bytes past the end of an allocation of 2048 bytes, a multicast object");
        finds(TEAM_KERNEL("    multimem.st.u32 [%team + 2], 1;\n"), 0, 1, "misaligned", "no multiple");
        cj_test_ok(cj_cpu_multicast_unbind(team, 1, 0, BYTES, &error), &error);
        cj_test_ok(cj_cpu_multicast_bind(team, 1, 64, base[1], 32, &error), &error);
        finds(TEAM_KERNEL("    multimem.ld_reduce.add.u32 %r1, [%team + 96];\n"), 0, 1, "out-of-bounds",
              "member 1 of 2 has bound no memory to byte 96");
        cj_test_ok(launch(TEAM_KERNEL("    multimem.st.u32 [%team + 64], 9;\n"), 0, 1, 1), &error);
        assert_int_equal((uint32_t)read_word(1, 0), 9);
        assert_int_equal((uint32_t)read_word(0, 8), 9);
        cj_mem_free(device[0], address);  // this device's kernels no longer reach it
        finds(TEAM_KERNEL("    multimem.st.u32 [%team], 1;\n"), 0, 1, "out-of-bounds", "in no allocation");
        cj_test_ok(launch(TEAM_KERNEL("    multimem.st.u32 [%team + 64], 8;\n"), 1, 1, 1), &error);
        close_team();
    }
}

static void what_a_member_never_wrote_is_found(void **state) {
    (void)state;
    cj_ptr fresh = 0;
    open_team(2, true);
    cj_test_ok(cj_cpu_multicast_unbind(team, 1, 0, BYTES, &error), &error);
    cj_test_ok(cj_mem_alloc(device[1], BYTES, &fresh, &error), &error);
    cj_test_ok(cj_cpu_multicast_bind(team, 1, 0, fresh, BYTES, &error), &error);
    finds(TEAM_KERNEL("    multimem.ld_reduce.add.u32 %r1, [%team];\n    st.global.u32 [%out], %r1;\n"), 0, 1,
          "uninitialized", "");
    cj_test_ok(launch(TEAM_KERNEL("    multimem.st.u64 [%team], 3;\n    multimem.ld_reduce.add.u32 %r1, [%team];\n"
                                  "    st.global.u32 [%out + 16384], %r1;\n"),
                      0, 1, 1),
               &error);
    assert_int_equal((uint32_t)read_word(0, RESULT), 6);
    cj_test_ok(launch(TEAM_KERNEL("    multimem.ld_reduce.add.u32 %r1, [%team + 4];\n"), 1, 1, 1), &error);
    cj_cpu_multicast_unbind(team, 1, 0, BYTES, &error);
    cj_mem_free(device[1], fresh);
    close_team();
}

// Device 0 writes a word on both, then counts a flag on both; device 1 waits for its own flag, then reads its own word.
#define HAND_OVER(red, ld)                                                                                       \
    TEAM_KERNEL("    setp.ne.u32 %p1, %rank, 0;\n    @%p1 bra reader;\n    multimem.st.global.u64 [%team], 5;\n" \
                "    " red ".global.add.u32 [%team + 8], 1;\n    ret;\n"                                         \
                "reader:\n    " ld " %r1, [%l1];\n    setp.eq.u32 %p2, %r1, 0;\n    @%p2 bra reader;\n"          \
                "    ld.global.u64 %l2, [%out];\n    st.global.u64 [%out + 16384], %l2;\n")

static void only_sys_orders_the_members_accesses(void **state) {
    (void)state;
#define AT_OWN(red, ld) HAND_OVER(red, "add.u64 %l1, %out, 8;\n    " ld ".global.u32")
#define AT_ALL(red, ld) HAND_OVER(red, "add.u64 %l1, %team, 8;\n    " ld ".global.add.u32")
    static const char *const right[] = {AT_OWN("multimem.red.release.sys", "ld.acquire.sys"),
                                        AT_ALL("multimem.red.release.sys", "multimem.ld_reduce.acquire.sys")};
    static const char *const wrong[] = {
        AT_OWN("multimem.red.release.gpu", "ld.acquire.sys"),
        AT_OWN("multimem.red.release.sys", "ld.acquire.gpu"),
        AT_OWN("multimem.red.relaxed.sys", "ld.acquire.sys"),
        AT_ALL("multimem.red.release.gpu", "multimem.ld_reduce.acquire.sys"),
        AT_ALL("multimem.red.release.sys", "multimem.ld_reduce.relaxed.sys"),
        AT_ALL("multimem.red.release.sys", "multimem.ld_reduce.acquire.gpu"),
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(right) + CJ_TEST_COUNT(wrong); i++) {
        const bool is_right = i < CJ_TEST_COUNT(right);
        cpu_options.threads = (uint32_t)(i % 3);
        open_team(2, true);
        if (is_right)
            cj_test_ok(launch(right[i], 0, 2, 1), &error);
        else
            finds(wrong[i - CJ_TEST_COUNT(right)], 0, 2, "race-system", "of GPU 1");
        assert_int_equal(read_word(1, RESULT), 5);
        close_team();
    }
    cpu_options.threads = 0;
}

static void races_in_any_members_memory_are_found(void **state) {
    (void)state;
    open_team(MEMBERS, true);
    finds(TEAM_KERNEL("    multimem.st.u32 [%team], %rank;\n"), 0, MEMBERS, "race-system", "multimem.st");
    // Only device 2 writes its own word, while device 0 reads all.
    finds(TEAM_KERNEL("    setp.ne.u32 %p1, %rank, 0;\n    setp.ne.u32 %p2, %rank, 2;\n"
                      "    @!%p1 multimem.ld_reduce.add.u32 %r1, [%team];\n    @!%p2 st.global.u32 [%out], 1;\n"),
          0, MEMBERS, "race-system", "multimem.ld_reduce");
    for (unsigned m = 0; m < MEMBERS; m++) cj_test_ok(cj_mem_fill(device[m], base[m], 0, 8, NULL, &error), &error);
    cj_test_ok(launch(TEAM_KERNEL("    multimem.red.relaxed.sys.global.add.u32 [%team], 1;\n"), 0, MEMBERS, 8), &error);
    for (unsigned m = 0; m < MEMBERS; m++) assert_int_equal((uint32_t)read_word(m, 0), MEMBERS * 8);
    close_team();
}

// ---- what the calls refuse

static void objects_that_cannot_be_are_refused(void **state) {
    (void)state;
    cj_cpu_multicast *made = NULL;
    open_devices();
    cj_device *twice[] = {device[0], device[1], device[0]}, *none[] = {device[0], NULL};
    expect(cj_cpu_multicast_create(device, 0, BYTES, 0, &made, &error), CJ_INVALID_ARGUMENT,
           "count: a multicast object of 0");
    expect(cj_cpu_multicast_create(device, 17, BYTES, 0, &made, &error), CJ_INVALID_ARGUMENT, "1 to 16");
    expect(cj_cpu_multicast_create(twice, 3, BYTES, 0, &made, &error), CJ_INVALID_ARGUMENT,
           "members 0 and 2 are one device");
    expect(cj_cpu_multicast_create(none, 2, BYTES, 0, &made, &error), CJ_INVALID_ARGUMENT, "device[i] is 0");
    expect(cj_cpu_multicast_create(device, 2, 0, 0, &made, &error), CJ_INVALID_ARGUMENT, "bytes is 0");
    expect(cj_cpu_multicast_create(device, 2, 24, 0, &made, &error), CJ_INVALID_ARGUMENT,
           "bytes: 0x18 is no multiple of 16");
    expect(cj_cpu_multicast_create(device, 2, 32, 8, &made, &error), CJ_INVALID_ARGUMENT, "address: 0x8");
    expect(cj_cpu_multicast_create(device, 2, (uint64_t)1 << 63, 0, &made, &error), CJ_OUT_OF_MEMORY, "addresses");
    cj_cpu_multicast_destroy(NULL);
    close_team();
}

static void binds_that_cannot_be_are_refused(void **state) {
    (void)state;
    cj_ptr second = 0;
    open_team(2, false);
    expect(cj_cpu_multicast_bind(team, 0, 16, base[0], 32, &error), CJ_INVALID_ARGUMENT,
           "bytes 0 to 2048 of member 0 are bound already");
    expect(cj_cpu_multicast_bind(team, 2, 0, base[2], 32, &error), CJ_INVALID_ARGUMENT,
           "member: 2, but the multicast object has 2");
    cj_test_ok(cj_cpu_multicast_unbind(team, 1, 0, BYTES, &error), &error);
    expect(cj_cpu_multicast_bind(team, 1, 0, base[0], 32, &error), CJ_INVALID_ARGUMENT,
           "in one allocation of the member's device");
    expect(cj_cpu_multicast_bind(team, 1, 0, address, 32, &error), CJ_INVALID_ARGUMENT,
           "in one allocation of the member's device");
    expect(cj_cpu_multicast_bind(team, 1, 0, base[1], BYTES + 16, &error), CJ_INVALID_ARGUMENT,
           "leave the multicast object's 2048");
    expect(cj_cpu_multicast_bind(team, 1, 8, base[1], 32, &error), CJ_INVALID_ARGUMENT, "offset: 0x8");
    expect(cj_cpu_multicast_bind(team, 1, 0, base[1] + 8, 32, &error), CJ_INVALID_ARGUMENT, "memory: 0x");
    expect(cj_cpu_multicast_unbind(team, 1, 0, BYTES, &error), CJ_INVALID_ARGUMENT,
           "no bind of member 1 has bytes 0 to 2048");
    expect(cj_cpu_multicast_unbind(team, 0, 0, 32, &error), CJ_INVALID_ARGUMENT, "no bind of member 0");
    expect(cj_cpu_multicast_map(team, 0, &second, &error), CJ_INVALID_ARGUMENT, "the CPU device's already");
    expect(cj_cpu_multicast_map(team, 5, &second, &error), CJ_INVALID_ARGUMENT, "member: 5");
    expect(cj_mem_fill(device[0], address, 0, 32, NULL, &error), CJ_INVALID_ARGUMENT,
           "a multicast object, which has no bytes");
    close_team();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_rounded_in_the_order_of_the_members),
        cmocka_unit_test(a_sum_of_floats_has_one_order),
        cmocka_unit_test(numbers_win_over_nan_and_sums_of_8_bits_saturate),
        cmocka_unit_test(lanes_have_teams_of_their_own),
        cmocka_unit_test(every_members_access_is_counted),
        cmocka_unit_test(wrong_addresses_are_found),
        cmocka_unit_test(what_a_member_never_wrote_is_found),
        cmocka_unit_test(only_sys_orders_the_members_accesses),
        cmocka_unit_test(races_in_any_members_memory_are_found),
        cmocka_unit_test(objects_that_cannot_be_are_refused),
        cmocka_unit_test(binds_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

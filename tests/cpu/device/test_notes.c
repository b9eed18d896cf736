// SPDX-License-Identifier: Apache-2.0
// What looks like a race and gives the same result in any order is noted, and no hazard; its twin, in which the order
// makes a difference, is a hazard.
#include "kernel.h"

#define TILE "    .shared .align 16 .b8 tile[1024];\n"
#define THREAD \
    "    mov.u32 %r0, %tid.x;\n    shr.u32 %r1, %r0, 5;\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, tile;\n"
// The lanes of a warp fill 16 bytes each of the tile: alike, and after that with the lane's number.
#define FILL(value)                                                                                    \
    "    shl.b32 %r4, %r0, 4;\n    add.u32 %r4, %r3, %r4;\n    st.shared.v4.u32 [%r4], {" value "};\n" \
    "    fence.proxy.async.shared::cta;\n    bar.warp.sync -1;\n"
#define BULK(from)                                                                                               \
    "    cp.async.bulk.global.shared::cta.bulk_group [%out], [" from "], 16;\n    cp.async.bulk.commit_group;\n" \
    "    cp.async.bulk.wait_group 0;\n"
#define ALIKE FILL("5, 6, 7, 8")
#define DIFFERENT FILL("%r0, %r0, %r0, %r0")
#define LOAD_BULK(from)                                                                                            \
    "    setp.eq.u32 %p1, %r0, 0;\n    @!%p1 bra ready;\n    mbarrier.init.shared.b64 [tile + 512], 1;\n"          \
    "    mbarrier.arrive.expect_tx.shared.b64 _, [tile + 512], 512;\n    fence.proxy.async.shared::cta;\n"         \
    "ready:\n    bar.warp.sync -1;\n    mul.wide.u32 %l3, %r0, 16;\n    add.u64 %l3, %out, %l3;\n"                 \
    "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [" from "], 16, [tile + 512];\n" \
    "    mov.b64 %l1, 0;\nspin:\n    mbarrier.try_wait.parity.shared.b64 %p1, [tile + 512], 0;\n    @!%p1 bra spin;\n"
// *out = max(*out, thread) by compare-and-swap, from a guess.
#define SWAP(compare)                                                                                              \
    "again:\n    mov.b32 %r7, %r6;\n    max.u32 %r8, %r7, %thread;\n"                                              \
    "    atom.relaxed.gpu.global.cas.b32 %r6, [%out], " compare ", %r8;\n    setp.ne.u32 %p1, %r6, " compare ";\n" \
    "    @%p1 bra again;\n"

typedef struct pair {
    const char  *note, *hazard;
    launch_shape shape;
    const char  *harmless, *twin;
} pair;

// clang-format off
static const pair pairs[] = {
    // Warps, blocks, and two instructions that store the same value.
    {"same-value", "race-block", {1, 64, 0, 0},
     "    st.global.u32 [%out], 7;\n", "    st.global.u32 [%out], %r1;\n"},
    {"same-value", "race-grid", {3, 1, 0, 0},
     "    st.global.v4.u32 [%out], {1, 2, 3, 4};\n", "    st.global.v4.u32 [%out], {1, 2, 3, %r2};\n"},
    {"same-value", "race-block", {1, 64, 0, 0},
     "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 st.shared.u64 [%r3], 258;\n    @!%p1 st.shared.u8 [%r3 + 1], 1;\n",
     "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 st.shared.u64 [%r3], 258;\n    @!%p1 st.shared.u8 [%r3 + 1], 2;\n"},
    // One of them changes what is there, so that it makes a difference to the thread that reads.
    {"same-value", "race-block", {1, 64, 0, 0},
     "    st.global.u32 [%out], 7;\n",
     "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 ld.global.u32 %r5, [%out];\n    @!%p1 st.global.u32 [%out], 0;\n"},
    {"same-value", "race-block", {1, 96, 0, 0},
     "    st.global.u32 [%out], 7;\n",
     "    setp.eq.u32 %p1, %r1, 1;\n    @%p1 ld.global.u32 %r5, [%out];\n    @!%p1 st.global.u32 [%out], 7;\n"},
    // All lanes issue the same bulk store, or the same bulk load.
    {"same-value", "race-warp", {1, 32, 0, 0}, ALIKE BULK("tile"), DIFFERENT BULK("%r4")},
    {"same-value", "race-warp", {1, 32, 0, 0}, DIFFERENT BULK("tile"), DIFFERENT BULK("%r4")},
    {"same-value", "race-warp", {1, 32, 0, 0}, LOAD_BULK("%out"), LOAD_BULK("%l3")},
    // The first load of a compare-and-swap loop; the same of another place, of a load that is used as it is, and with a store
    // that is not atomic.
    {"cas-guess", "race-block", {1, 64, 0, 0},
     "    ld.global.u32 %r6, [%out];\n" SWAP("%r7"),
     "    ld.global.u32 %r5, [%out];\n    mov.u32 %r6, 0;\n" SWAP("%r7") "    st.global.u32 [%at + 1024], %r5;\n"},
    {"cas-guess", "race-grid", {2, 1, 0, 0},
     "    ld.global.u32 %r6, [%out];\n" SWAP("%r7"),
     "    ld.global.u32 %r6, [%out];\n" SWAP("%r7") "    st.global.u32 [%out], %r2;\n"},
    {"cas-guess", "race-block", {1, 64, 0, 0},
     "    ld.global.u32 %r6, [%out];\n" SWAP("%r7"),
     "    red.relaxed.gpu.global.add.u32 [%out + 64], 1;\n    ld.global.u32 %r6, [%out + 64];\n" SWAP("%r7")},
};
// clang-format on

enum { SEEDS = 6 };

static const cj_hazard *find_note(const cj_device *device, const char *rule) {
    for (size_t i = 0; i < cj_cpu_note_count(device); i++) {
        const cj_hazard *note = cj_cpu_note_at(device, i);
        if (!strcmp(note->rule, rule) && note->first.line && note->second.line && note->hint[0]) return note;
    }
    return NULL;
}

// Runs a body under a schedule; what was found is the device's, which the caller closes.
static cj_status run(const pair *p, const char *body, uint64_t seed, cj_device **device, cj_error *error) {
    char         text[8192];
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       memory = 0;
    uint64_t     numbers[256];
    for (unsigned i = 0; i < 256; i++) numbers[i] = i * 0x100000003u;
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", HEAD, ENTRY, TILE, OPEN, THREAD, body, CLOSE);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed != 0, .seed = seed,
                                   .threads = seed % 2 ? 4 : 1};
    *device = open_cpu();
    cj_test_ok(cj_mem_alloc(*device, 4096, &memory, error), error);
    cj_test_ok(cj_mem_fill(*device, memory, 0, 4096, NULL, error), error);
    cj_test_ok(cj_mem_write(*device, memory + 256, numbers, sizeof numbers, NULL, error), error);
    cj_test_ok(cj_module_from_ptx(*device, text, strlen(text), &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {p->shape.grid, 1, 1},
                                     .block = {p->shape.block, 1, 1},
                                     .arguments = (void *[]){&memory},
                                     .argument_count = 1};
    const cj_status        status = cj_launch(*device, &config, error);
    cj_module_unload(module);
    cj_mem_free(*device, memory);
    return status;
}

static void what_makes_no_difference_is_noted(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(pairs); k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error   error = {0};
            cj_device *device = NULL;
            if (run(&pairs[k], pairs[k].harmless, seed, &device, &error) || cj_cpu_hazard_count(device))
                fail_msg("pair %zu, seed %u: %s", k, (unsigned)seed, error.message);
            // Where the schedule has let the threads go one after the other, a guess may have seen the last value.
            if (!find_note(device, pairs[k].note)) fail_msg("pair %zu, seed %u: no note", k, (unsigned)seed);
            assert_null(cj_cpu_note_at(device, cj_cpu_note_count(device)));
            cj_device_close(device);
        }
    }
}

static void what_makes_a_difference_is_a_hazard(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(pairs); k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error        error = {0};
            cj_device      *device = NULL;
            bool            found_it = false;
            const cj_status status = run(&pairs[k], pairs[k].twin, seed, &device, &error);
            for (size_t i = 0; i < cj_cpu_hazard_count(device); i++)
                found_it |= !strcmp(cj_cpu_hazard_at(device, i)->rule, pairs[k].hazard);
            if (status != CJ_HAZARD || !found_it)
                fail_msg("twin %zu, seed %u: %s %s", k, (unsigned)seed, cj_status_name(status), error.message);
            cj_device_close(device);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_makes_no_difference_is_noted),
        cmocka_unit_test(what_makes_a_difference_is_a_hazard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

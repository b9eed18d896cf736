// SPDX-License-Identifier: Apache-2.0
// The occupancy model: what limits the blocks an SM, and how many clusters the GPCs hold.
#include <clusterjit/contract.h>
#include <string.h>

#include "occupancy.h"
#include "test.h"

static cj_occupancy count(const char *on, cj_kernel_use use) {
    cj_limits    limits;
    cj_occupancy room;
    cj_test_ok(cj_limits_named(on, &limits, NULL), NULL);
    cj__occupancy(&use, &limits, &room);
    return room;
}

static void each_resource_limits_blocks(void **state) {
    (void)state;
    static const struct {
        const char   *on;
        cj_kernel_use use;
        uint32_t      blocks;
        cj_resource   limited_by;
    } rows[] = {
        {"h200", {.threads = 32}, 32, CJ_RESOURCE_BLOCKS},
        {"h200", {.threads = 1}, 32, CJ_RESOURCE_BLOCKS},
        {"sm_120", {.threads = 32}, 24, CJ_RESOURCE_BLOCKS},
        {"h200", {.threads = 65}, 21, CJ_RESOURCE_WARPS},
        {"h200", {.threads = 1024}, 2, CJ_RESOURCE_WARPS},
        {"sm_120", {.threads = 1024}, 1, CJ_RESOURCE_WARPS},
        {"h200", {.threads = 256, .registers = 32}, 8, CJ_RESOURCE_WARPS},
        {"h200", {.threads = 256, .registers = 33}, 6, CJ_RESOURCE_REGISTERS},  // 40 a thread: 12 warps a partition
        {"h200", {.threads = 256, .registers = 255}, 1, CJ_RESOURCE_REGISTERS},
        {"h200", {.threads = 512, .registers = 129}, 0, CJ_RESOURCE_REGISTERS},
        {"h200", {.threads = 1024, .registers = 64}, 1, CJ_RESOURCE_REGISTERS},
        {"h200", {.threads = 32, .shared = 232448}, 1, CJ_RESOURCE_SHARED},
        {"h200", {.threads = 32, .shared = 232449}, 0, CJ_RESOURCE_SHARED},
        {"h200", {.threads = 32, .shared = 115712}, 2, CJ_RESOURCE_SHARED},  // and 1024 B reserved: half of 228 KiB
        {"h200", {.threads = 32, .shared = 115713}, 1, CJ_RESOURCE_SHARED},
        {"a100", {.threads = 32, .shared = 166912}, 1, CJ_RESOURCE_SHARED},
        {"h200", {.threads = 32, .barriers = 16}, 4, CJ_RESOURCE_BARRIERS},
        {"h200", {.threads = 32, .barriers = 1}, 32, CJ_RESOURCE_BLOCKS},
        {"sm_120", {.threads = 32, .barriers = 16}, 1, CJ_RESOURCE_BARRIERS},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_occupancy room = count(rows[i].on, rows[i].use);
        if (room.blocks_per_sm != rows[i].blocks || room.limited_by != rows[i].limited_by)
            fail_msg("row %zu: %u blocks, limited by %s", i, room.blocks_per_sm, cj__resource_name(room.limited_by));
    }
}

static void clusters_fit_as_measured_on_an_h200(void **state) {
    (void)state;
    static const struct {
        uint32_t cluster, active, stranded;
    } rows[] = {{1, 132, 0}, {2, 66, 0}, {4, 30, 12}, {8, 15, 12}, {16, 7, 20}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_occupancy room = count("h200",
                                  (cj_kernel_use){.threads = 128, .shared = 204800, .cluster = rows[i].cluster});
        assert_int_equal(room.blocks_per_sm, 1);
        assert_int_equal(room.active_clusters, rows[i].active);
        assert_int_equal(room.stranded_sms, rows[i].stranded);
        assert_true(room.gpcs_known);
    }
    assert_int_equal(count("h200", (cj_kernel_use){.threads = 128, .shared = 204800, .cluster = 32}).active_clusters,
                     0);
    assert_int_equal(count("h200", (cj_kernel_use){.threads = 1024, .registers = 255, .cluster = 2}).active_clusters,
                     0);
}

static void unknown_gpcs_are_said_to_be_unknown(void **state) {
    (void)state;
    cj_occupancy room = count("h100", (cj_kernel_use){.threads = 1024, .cluster = 16});
    assert_false(room.gpcs_known);
    assert_int_equal(room.active_clusters, 132 * 2 / 16);
}

// More of anything never makes room for more.
static void more_never_fits_better(void **state) {
    (void)state;
    static const char *const on[] = {"h200", "sm_120", "a100"};
    uint64_t                 random = cj_test_seed();
    for (int i = 0; i < 20000; i++) {
        cj_kernel_use use = {.threads = 1 + cj_test_random(&random) % 1024,
                             .registers = (uint32_t)(1 + cj_test_random(&random) % 255),
                             .shared = cj_test_random(&random) % 233000,
                             .barriers = (uint32_t)(1 + cj_test_random(&random) % 16),
                             .cluster = 1 + cj_test_random(&random) % 16};
        cj_kernel_use more = use;
        switch (cj_test_random(&random) % 5) {
        case 0: more.threads += cj_test_random(&random) % 64; break;
        case 1: more.registers += (uint32_t)(cj_test_random(&random) % 16); break;
        case 2: more.shared += cj_test_random(&random) % 4096; break;
        case 3: more.barriers++; break;
        default: more.cluster++; break;
        }
        const cj_occupancy a = count(on[i % 3], use), b = count(on[i % 3], more);
        assert_true(a.blocks_per_sm >= b.blocks_per_sm);
        assert_true(a.active_clusters >= b.active_clusters);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_limits_blocks),
        cmocka_unit_test(clusters_fit_as_measured_on_an_h200),
        cmocka_unit_test(unknown_gpcs_are_said_to_be_unknown),
        cmocka_unit_test(more_never_fits_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

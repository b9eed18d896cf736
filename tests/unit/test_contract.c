// SPDX-License-Identifier: Apache-2.0
// src/contract: launches against rules, entries to contracts, built-in limits.
#include "test.h"

#include <clusterjit/kernel.h>
#include <string.h>

#include "contract.h"
#include "parse.h"

// --- the rules ---

// One launch that breaks a rule. Left out: the kernel `k` without directives, grid and block 1 x 1 x 1, sm_90.
typedef struct broken_launch {
    const char     *rule;
    const char     *arch;
    cj_contract     kernel;
    cj_launch_shape launch;
    const char     *message;  // in the message
    const char     *hint;     // in the hint
} broken_launch;

#define GRID(...) .launch.grid = {__VA_ARGS__}
#define BLOCK(...) .launch.block = {__VA_ARGS__}
#define CLUSTER(...) .launch.cluster = {__VA_ARGS__}

static const broken_launch broken[] = {
    {"grid-zero", .launch = {.grid = {4, 0, 1}, .block = {1, 1, 1}}, .message = "grid 4 x 0 x 1", .hint = "at least 1"},
    {"block-zero", .launch = {.grid = {1, 1, 1}, .block = {32, 1, 0}}, .message = "block 32 x 1 x 0"},
    {"cluster-zero", CLUSTER(2, 0, 1), .message = "cluster 2 x 0 x 1", .hint = "0 x 0 x 0 launches without clusters"},
    {"directive-block", .kernel.reqntid = {2048, 1, 1}, BLOCK(2048, 1, 1),
     .message = ".reqntid 2048, 1, 1 asks for 2048"},
    {"directive-block", .kernel.reqntid = {1, 1, 65}, BLOCK(1, 1, 65), .message = "at most 1024 x 1024 x 64"},
    {"directive-cluster", .kernel.reqnctapercluster = {0, 1, 1}, .message = ".reqnctapercluster 0, 1, 1"},
    {"directive-cluster", .kernel.reqnctapercluster = {32, 1, 1}, CLUSTER(32, 1, 1), .message = "asks for 32 blocks",
     .hint = "1 to 16 blocks"},
    {"cluster-target", "sm_80", CLUSTER(2, 1, 1), GRID(2, 1, 1), .message = "need compute capability 9.0; sm_80",
     .hint = "without clusters"},
    {"cluster-target", "sm_86", .kernel.uses_clusters = true, .message = "has 8.6"},
    {"cluster-target", "sm_89", .kernel.explicitcluster = true, .message = "has 8.9"},
    {"block-axis", BLOCK(1, 1, 65), .message = "limit of 1024 x 1024 x 64"},
    {"block-axis", BLOCK(1025, 1, 1), .message = "block 1025 x 1 x 1"},
    {"block-threads", BLOCK(1024, 2, 1), .message = "= 2048 threads exceeds the limit of 1024", .hint = "at most 1024"},
    {"block-threads", BLOCK(1024, 1024, 64), .message = "= 67108864 threads"},
    {"block-required", .kernel.reqntid = {256, 1, 1}, BLOCK(128, 1, 1), .message = "differs from the 256 x 1 x 1",
     .hint = "block 256 x 1 x 1"},
    {"block-required", .kernel.reqntid = {16, 16, 1}, BLOCK(256, 1, 1), .message = "(.reqntid)"},
    {"block-maximum", .kernel.maxntid = {128, 1, 1}, BLOCK(16, 16, 1), .message = "= 256 threads exceeds the 128"},
    {"grid-axis", GRID(1, 65536, 1), .message = "limit of 2147483647 x 65535 x 65535", .hint = "on x"},
    {"grid-axis", GRID(UINT32_MAX, 1, 1), .message = "grid 4294967295 x 1 x 1"},
    {"cluster-missing", .kernel.explicitcluster = true, .message = ".explicitcluster"},
    {"cluster-required", .kernel.reqnctapercluster = {4, 1, 1}, CLUSTER(2, 1, 1), GRID(4, 1, 1),
     .message = "cluster 2 x 1 x 1 differs from the 4 x 1 x 1", .hint = "cluster 4 x 1 x 1"},
    {"cluster-required", .kernel.reqnctapercluster = {4, 1, 1}, CLUSTER(1, 4, 1), GRID(4, 4, 1),
     .message = "1 x 4 x 1"},
    {"cluster-max-rank", .kernel.maxclusterrank = 4, CLUSTER(8, 1, 1), GRID(8, 1, 1),
     .message = "the 4 that k declares"},
    {"cluster-size", CLUSTER(17, 1, 1), GRID(17, 1, 1), .message = "= 17 blocks exceeds the limit of 16 of sm_90"},
    {"cluster-size", "sm_120", CLUSTER(3, 3, 1), GRID(3, 3, 1), .message = "= 9 blocks exceeds the limit of 8"},
    {"cluster-size", CLUSTER(UINT32_MAX, UINT32_MAX, UINT32_MAX), .message = "exceeds the limit of 16"},
    {"cluster-portable", CLUSTER(16, 1, 1), GRID(16, 1, 1), .message = "portable limit of 8", .hint = "opt into"},
    {"cluster-grid-multiple", CLUSTER(3, 1, 1), GRID(4, 1, 1), .message = "grid 4 x 1 x 1 is not a multiple",
     .hint = "6 x 1 x 1"},
    {"cluster-grid-multiple", CLUSTER(1, 2, 1), GRID(2, 1, 1), .hint = "2 x 2 x 1"},
    {"cluster-grid-multiple", .kernel.reqnctapercluster = {4, 1, 1}, GRID(6, 1, 1), .message = "cluster 4 x 1 x 1"},
    {"shared-limit", .launch.dynamic_shared = 232449,
     .message = "= 232449 B of shared memory exceeds the limit of 232448"},
    {"shared-limit", .launch.dynamic_shared = 232448, .kernel.static_shared = 16, .message = "16 B static + 232448 B"},
    {"shared-limit", .launch.dynamic_shared = UINT32_MAX, .kernel.static_shared = UINT32_MAX,
     .message = "8589934590 B"},
    {"shared-limit", "sm_120", .launch.dynamic_shared = 102400, .message = "101376"},
};

static cj_dim3 one_unless_set(cj_dim3 d) { return d.x || d.y || d.z ? d : (cj_dim3){1, 1, 1}; }

static cj_status check(const broken_launch *row, cj_error *error) {
    const cj_limits *limits = NULL;
    cj_contract      kernel = row->kernel;
    cj_launch_shape  launch = row->launch;
    strcpy(kernel.entry, "k");
    launch.grid = one_unless_set(launch.grid);
    launch.block = one_unless_set(launch.block);
    cj_test_ok(cj_limits_builtin(row->arch ? row->arch : "sm_90", &limits, error), error);
    return cj__contract_check(&kernel, &launch, limits, error);
}

static void each_rule_explains_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(broken); i++) {
        const broken_launch *row = &broken[i];
        cj_error             error = {0};
        assert_int_equal(check(row, &error), CJ_CONTRACT);
        assert_int_equal(error.status, CJ_CONTRACT);
        assert_string_equal(error.rule, row->rule);
        if (row->message && !strstr(error.message, row->message)) fail_msg("row %zu: %s", i, error.message);
        if (row->hint && !strstr(error.hint, row->hint)) fail_msg("row %zu: %s", i, error.hint);
        assert_true(strlen(error.hint) > 0);
        assert_int_equal(check(row, NULL), CJ_CONTRACT);
    }
}

static void no_rule_is_untested(void **state) {
    (void)state;
    static const char *const ids[] = {
#define RULE(id, broken, message, remedy) id,
#include "contract.def"
#undef RULE
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(ids); i++) {
        bool tested = false;
        for (size_t j = 0; j < CJ_TEST_COUNT(broken); j++) tested |= !strcmp(ids[i], broken[j].rule);
        if (!tested) fail_msg("no launch here breaks rule %s", ids[i]);
        assert_true(strlen(ids[i]) < sizeof((cj_error *)NULL)->rule);
    }
}

static void good_launches_pass(void **state) {
    (void)state;
    static const broken_launch good[] = {
        {.launch = {.grid = {INT32_MAX, 65535, 65535}, .block = {1024, 1, 1}}},
        {.launch = {.block = {4, 4, 64}, .dynamic_shared = 232448}},
        {CLUSTER(4, 2, 1), GRID(8, 2, 3)},
        {CLUSTER(16, 1, 1), GRID(16, 1, 1), .launch.nonportable = true},
        {.kernel = {.explicitcluster = true, .reqnctapercluster = {4, 1, 1}}, GRID(8, 1, 1)},
        {.kernel = {.explicitcluster = true, .reqnctapercluster = {4, 1, 1}}, GRID(8, 1, 1), CLUSTER(4, 1, 1)},
        {.kernel.maxclusterrank = 8, CLUSTER(8, 1, 1), GRID(8, 1, 1)},
        {.kernel.uses_clusters = true},  // a launch without clusters runs each block as a cluster of one
        {.kernel = {.reqntid = {32, 1, 1}, .reqnctapercluster = {4, 1, 1}, .blocksareclusters = true},
         GRID(3, 1, 1), BLOCK(32, 1, 1), CLUSTER(4, 1, 1)},  // the grid counts clusters
        {.kernel.maxntid = {256, 1, 1}, BLOCK(16, 16, 1)},
        {.arch = "sm_80", BLOCK(256, 1, 1), .launch.dynamic_shared = 166912},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(good); i++) {
        cj_error error = {0};
        cj_test_ok(check(&good[i], &error), &error);
        assert_int_equal(error.status, CJ_OK);
    }
}

// --- entries to contracts ---

static const char kernels[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".shared .align 4 .u32 mine[3];\n"
    ".shared .align 16 .f32 others[100];\n"
    ".visible .entry cluster_kernel(.param .u64 out)\n"
    ".reqntid 256, 2\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n"
    "{\n"
    "    .shared .align 16 .f32 tile[4];\n"
    "    .shared .align 8 .u64 bar;\n"
    "    .reg .u32 %r;\n"
    "    mov.u32 %r, %cluster_ctarank;\n"
    "    st.shared.u32 [mine], %r;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry plain()\n.maxntid 128\n.minnctapersm 2\n.maxnreg 64\n{\n    ret;\n}\n";

static cj_ir_module *parse(const char *text) {
    cj_error      error = {0};
    cj_ir_module *module = NULL;
    cj_test_ok(cj__ir_parse(text, strlen(text), &module, &error), &error);
    return module;
}

static void assert_dim(cj_dim3 d, uint32_t x, uint32_t y, uint32_t z) {
    assert_int_equal(d.x, x);
    assert_int_equal(d.y, y);
    assert_int_equal(d.z, z);
}

static void a_contract_is_read_from_directives(void **state) {
    (void)state;
    cj_ir_module *module = parse(kernels);
    cj_contract   contract;
    cj__contract_of(cj__ir_func(module, "cluster_kernel"), &contract);
    assert_string_equal(contract.entry, "cluster_kernel");
    assert_dim(contract.reqntid, 256, 2, 1);
    assert_dim(contract.maxntid, 0, 0, 0);
    assert_dim(contract.reqnctapercluster, 4, 1, 1);
    assert_true(contract.explicitcluster);
    assert_false(contract.blocksareclusters);
    assert_true(contract.uses_clusters);
    assert_int_equal(contract.static_shared, 16 + 8 + 12);  // tile, bar, and of the module's only `mine`

    cj__contract_of(cj__ir_func(module, "plain"), &contract);
    assert_dim(contract.reqntid, 0, 0, 0);
    assert_dim(contract.maxntid, 128, 1, 1);
    assert_int_equal(contract.minnctapersm, 2);
    assert_int_equal(contract.maxnreg, 64);
    assert_int_equal(contract.static_shared, 0);
    assert_false(contract.uses_clusters);
    cj__ir_free(module);
}

static void the_cluster_in_force_is_the_launchs_or_the_directives(void **state) {
    (void)state;
    const cj_contract contract = {.reqnctapercluster = {4, 1, 1}};
    assert_dim(cj__contract_cluster(&contract, (cj_dim3){0, 0, 0}), 4, 1, 1);
    assert_dim(cj__contract_cluster(&contract, (cj_dim3){2, 2, 1}), 2, 2, 1);
    assert_dim(cj__contract_cluster(&(cj_contract){0}, (cj_dim3){0, 0, 0}), 0, 0, 0);
}

// --- limits ---

static void targets_have_limits(void **state) {
    (void)state;
    const cj_limits *limits = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90a", &limits, &error), &error);
    assert_string_equal(limits->name, "sm_90a (built in)");
    assert_int_equal(limits->compute_capability, 90);
    assert_int_equal(limits->sm_count, 132);
    assert_int_equal(limits->shared_per_block_optin, 232448);
    assert_int_equal(limits->shared_per_sm, 233472);
    assert_int_equal(limits->l2_bytes, 62914560);
    assert_int_equal(limits->max_cluster_portable, 8);
    assert_int_equal(limits->max_cluster, 16);
    assert_int_equal(limits->driver_version, 0);
    cj_test_ok(cj_limits_builtin("sm_80", &limits, &error), &error);
    assert_int_equal(limits->max_cluster, 0);
}

static void a_slip_in_a_target_is_named(void **state) {
    (void)state;
    const cj_limits *limits = NULL;
    cj_error         error = {0};
    assert_int_equal(cj_limits_builtin("sm90", &limits, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "sm90"));
    assert_non_null(strstr(error.hint, "did you mean sm_90?"));
    assert_int_equal(cj_limits_builtin(NULL, &limits, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_limits_builtin("turing-or-so", &limits, NULL), CJ_INVALID_ARGUMENT);
    assert_null(limits);
}

static void a_device_gets_the_newest_target_that_it_runs(void **state) {
    (void)state;
    static const struct {
        uint32_t    capability;
        const char *arch;
    } rows[] = {{75, "sm_75"},   {80, "sm_80"},   {87, "sm_86"},  {90, "sm_90"},
                {103, "sm_103"}, {110, "sm_103"}, {121, "sm_120"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        assert_string_equal(cj_limits_arch(&(cj_limits){.compute_capability = rows[i].capability}), rows[i].arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_explains_itself),
        cmocka_unit_test(no_rule_is_untested),
        cmocka_unit_test(good_launches_pass),
        cmocka_unit_test(a_contract_is_read_from_directives),
        cmocka_unit_test(the_cluster_in_force_is_the_launchs_or_the_directives),
        cmocka_unit_test(targets_have_limits),
        cmocka_unit_test(a_slip_in_a_target_is_named),
        cmocka_unit_test(a_device_gets_the_newest_target_that_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// src/contract: entries to contracts, built-in limits, versions of drivers.
#include "test.h"

#include <clusterjit/kernel.h>
#include <string.h>

#include "contract.h"
#include "scaffold.h"

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

static void assert_dim(cj_dim3 d, uint32_t x, uint32_t y, uint32_t z) {
    assert_int_equal(d.x, x);
    assert_int_equal(d.y, y);
    assert_int_equal(d.z, z);
}

static void a_contract_is_read_from_directives(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(kernels);
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

static cj_contract contract_of(const char *text) {
    cj_contract   contract;
    cj_ir_module *module = cj_test_parsed(text);
    cj__contract_of(cj__ir_func(module, "k"), &contract);
    cj__ir_free(module);
    return contract;
}

static void what_a_launch_depends_on_is_read_too(void **state) {
    (void)state;
    cj_contract k = contract_of(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
                                "    wgmma.fence.sync.aligned;\n    ret;\n}\n");
    assert_true(k.uses_warpgroups);
    assert_false(k.uses_clusters);
    assert_int_equal(k.ptx_version, 80);
    assert_int_equal(k.target_sm, 90);
    assert_int_equal(k.target_suffix, 'a');
    assert_null(k.zero);
#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n"
    assert_string_equal(contract_of(HEAD ".maxnreg 0\n{\n    ret;\n}\n").zero, ".maxnreg");
    assert_string_equal(contract_of(HEAD ".reqntid 1, 0, 1\n{\n    ret;\n}\n").zero, ".reqntid");
    assert_null(contract_of(HEAD ".reqnctapercluster 0\n{\n    ret;\n}\n").zero);
    assert_true(contract_of(HEAD ".reqnctapercluster 2\n.maxclusterrank 0\n{\n    ret;\n}\n").cluster_conflict);
    assert_false(contract_of(HEAD ".reqnctapercluster 2\n{\n    ret;\n}\n").cluster_conflict);
#undef HEAD
}

// --- limits ---

static void drivers_read_ptx_up_to_a_version(void **state) {
    (void)state;
    assert_int_equal(cj__ptx_of_driver(13000), 90);
    assert_int_equal(cj__ptx_of_driver(12080), 87);
    assert_int_equal(cj__ptx_of_driver(12085), 87);
    assert_int_equal(cj__ptx_of_driver(12060), 85);
    assert_int_equal(cj__ptx_of_driver(11080), 78);
    assert_int_equal(cj__ptx_of_driver(9000), 70);
    assert_int_equal(cj__ptx_of_driver(0), UINT16_MAX);      // no driver
    assert_int_equal(cj__ptx_of_driver(99000), UINT16_MAX);  // one of the future
}

static void parts_have_limits_of_their_own(void **state) {
    (void)state;
    cj_limits limits;
    cj_error  error = {0};
    cj_test_ok(cj_limits_named("h200", &limits, &error), &error);
    assert_string_equal(limits.name, "NVIDIA H200 (built in)");
    assert_int_equal(limits.compute_capability, 90);
    unsigned sms = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(limits.gpc_sms); i++) sms += limits.gpc_sms[i];
    assert_int_equal(sms, limits.sm_count);
    cj_test_ok(cj_limits_named("h100", &limits, &error), &error);
    assert_int_equal(limits.l2_bytes, 50 << 20);
    cj_test_ok(cj_limits_named("sm_120a", &limits, &error), &error);
    assert_int_equal(limits.max_cluster, 8);
    for (size_t i = 0; cj_limits_part(i); i++) cj_test_ok(cj_limits_named(cj_limits_part(i), &limits, &error), &error);
    assert_int_equal(cj_limits_named("hh200", &limits, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "did you mean h200?"));
    assert_int_equal(cj_limits_named("h20", &limits, &error), CJ_INVALID_ARGUMENT);  // a part of its own, not a slip
    assert_int_equal(cj_limits_named("sm_9", &limits, NULL), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_limits_named(NULL, &limits, &error), CJ_INVALID_ARGUMENT);
}

static void targets_have_limits(void **state) {
    (void)state;
    const cj_limits *limits = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90a", &limits, &error), &error);
    assert_string_equal(limits->name, "sm_90 (built in)");  // of the capability, whatever the suffix
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
    static const struct {
        const char *arch;
        uint32_t    capability, threads, shared;
    } others[] = {{"sm_100f", 100, 2048, 228}, {"sm_103f", 103, 2048, 228}, {"sm_110", 110, 1536, 228},
                  {"sm_87", 87, 1536, 164},    {"sm_88", 88, 1536, 100},
                  {"sm_110a", 110, 1536, 228}, {"sm_121", 121, 1536, 100},  {"sm_121f", 121, 1536, 100}};
    for (size_t i = 0; i < CJ_TEST_COUNT(others); i++) {
        cj_test_ok(cj_limits_builtin(others[i].arch, &limits, &error), &error);
        assert_int_equal(limits->compute_capability, others[i].capability);
        assert_int_equal(limits->max_threads_per_sm, others[i].threads);
        assert_int_equal(limits->shared_per_sm, others[i].shared * 1024);
        assert_int_equal(limits->max_cluster_portable, others[i].capability < 90 ? 0 : 8);
        assert_non_null(strstr(limits->name, "(built in)"));
    }
}

static void a_target_without_limits_is_refused(void **state) {
    (void)state;
    const cj_limits *limits = NULL;
    cj_error         error = {0};
    assert_int_equal(cj_limits_builtin("sm_70", &limits, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "'sm_70' is not a target with built-in limits"));
    assert_null(limits);
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
    } rows[] = {{75, "sm_75"},   {80, "sm_80"},   {87, "sm_87"},  {88, "sm_88"},  {90, "sm_90"},
                {103, "sm_103"}, {110, "sm_110"}, {121, "sm_121"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        assert_string_equal(cj_limits_arch(&(cj_limits){.compute_capability = rows[i].capability}), rows[i].arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_contract_is_read_from_directives),
        cmocka_unit_test(the_cluster_in_force_is_the_launchs_or_the_directives),
        cmocka_unit_test(what_a_launch_depends_on_is_read_too),
        cmocka_unit_test(drivers_read_ptx_up_to_a_version),
        cmocka_unit_test(parts_have_limits_of_their_own),
        cmocka_unit_test(targets_have_limits),
        cmocka_unit_test(a_target_without_limits_is_refused),
        cmocka_unit_test(a_slip_in_a_target_is_named),
        cmocka_unit_test(a_device_gets_the_newest_target_that_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

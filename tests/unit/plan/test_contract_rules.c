// SPDX-License-Identifier: Apache-2.0
// The launch rules: for each a launch that breaks it, and one that nearly does.
#include <clusterjit/contract.h>
#include <stdio.h>
#include <string.h>

#include "contract.h"
#include "test.h"

// A kernel, its launch and what it is launched on.
typedef struct launch {
    const char     *on;  // NULL: sm_90
    cj_contract     kernel;
    cj_launch_shape shape;
    uint32_t        driver;
    uint8_t         gpc;  // SMs of its GPCs; 0: as the target has them
} launch;

// `breaks` breaks the rule, `nearly` none. Left out: the kernel `k` without directives, grid and block 1 x 1 x 1.
typedef struct rule_case {
    const char *rule;
    launch      breaks;
    const char *message, *hint;  // in the words about it
    launch      nearly;
} rule_case;

#define GRID(...) .shape.grid = {__VA_ARGS__}
#define BLOCK(...) .shape.block = {__VA_ARGS__}
#define CLUSTER(...) .shape.cluster = {__VA_ARGS__}
#define PREFERRED(...) .shape.preferred = {__VA_ARGS__}
#define SHARED(bytes) .shape.dynamic_shared = (bytes), .shape.smem_optin = true
#define NONPORTABLE .shape.nonportable = true
#define COOPERATIVE .shape.cooperative = true

// clang-format off
static const rule_case cases[] = {
    // of the kernel
    {"ptx-version", {.driver = 12080, .kernel.ptx_version = 88}, ".version 8.8 is newer than the driver for CUDA 12.8",
     "lower .version", {.driver = 12080, .kernel.ptx_version = 87}},
    {"ptx-version", {.driver = 13000, .kernel.ptx_version = 91}, "reads PTX up to 9.0", "newer driver",
     {.kernel.ptx_version = 91}},
    {"kernel-target", {.kernel.target_sm = 100}, ".target sm_100 does not run on sm_90", "earlier target",
     {.kernel.target_sm = 80}},
    {"kernel-target", {"sm_100", .kernel = {.target_sm = 90, .target_suffix = 'a'}}, "sm_90a does not run on sm_100",
     "runs on its own architecture alone", {"sm_90", .kernel = {.target_sm = 90, .target_suffix = 'a'}}},
    {"kernel-target", {"sm_120", .kernel = {.target_sm = 100, .target_suffix = 'f'}}, "compute capability 12.0",
     "an f on its family",
     {"sm_103", .kernel = {.target_sm = 100, .target_suffix = 'f'}}},
    {"kernel-target", {"sm_100", .kernel = {.target_sm = 103, .target_suffix = 'f'}}, "sm_103f does not run",
     "an f on its family",
     {"sm_121", .kernel = {.target_sm = 120, .target_suffix = 'f'}}},
    {"directive-value", {.kernel.zero = ".maxnreg"}, ".maxnreg says 0, and ptxas takes 1", "leave the directive out",
     {.kernel.maxnreg = 24}},
    {"directive-conflict", {.kernel = {.maxntid = {64, 1, 1}, .reqntid = {32, 1, 1}}, BLOCK(32, 1, 1)},
     ".maxntid 64, 1, 1 and .reqntid 32, 1, 1", "keep .reqntid", {.kernel.maxntid = {32, 1, 1}, BLOCK(32, 1, 1)}},
    {"directive-conflict",
     {.kernel = {.reqnctapercluster = {2, 1, 1}, .maxclusterrank = 4, .cluster_conflict = true}, GRID(2, 1, 1)},
     ".maxclusterrank 4 cannot stand together", "keep .reqnctapercluster",
     {.kernel = {.explicitcluster = true, .maxclusterrank = 4}, GRID(2, 1, 1), CLUSTER(2, 1, 1)}},
    {"directive-missing", {.kernel = {.blocksareclusters = true, .reqntid = {1, 1, 1}}},
     ".blocksareclusters needs .reqnctapercluster", "with .reqntid",
     {.kernel = {.blocksareclusters = true, .reqntid = {1, 1, 1}, .reqnctapercluster = {4, 1, 1}}}},
    {"directive-missing", {.kernel = {.blocksareclusters = true, .reqnctapercluster = {1, 1, 1}}}, "needs .reqntid",
     "state the block", {.kernel = {.blocksareclusters = true, .reqntid = {1, 1, 1}, .reqnctapercluster = {1, 1, 1}}}},
    {"static-shared-ptxas", {.kernel = {.target_sm = 90, .static_shared = 49153}},
     "ptxas refuses 49153 B of static shared memory: it allows 49152 B",
     "allows 232448 B", {.kernel = {.target_sm = 90, .static_shared = 49152}}},
    {"static-shared", {.kernel = {.target_sm = 90, .target_suffix = 'a', .static_shared = 232449}},
     "232449 B of static shared memory exceed the limit of 232448 B",
     ".extern .shared", {.kernel = {.target_sm = 90, .target_suffix = 'a', .static_shared = 232448}}},
    {"directive-block", {.kernel.reqntid = {2048, 1, 1}, BLOCK(2048, 1, 1)}, ".reqntid 2048, 1, 1 asks for 2048",
     "at most 1024", {.kernel.reqntid = {1024, 1, 1}, BLOCK(1024, 1, 1)}},
    {"directive-block", {.kernel.reqntid = {1, 1, 65}, BLOCK(1, 1, 65)}, "at most 1024 x 1024 x 64", "at most 1024",
     {.kernel.reqntid = {1, 1, 64}, BLOCK(1, 1, 64)}},
    {"directive-block", {.kernel.reqntid = {65536, 65536, 65536}}, "asks for 281474976710656 threads", "at most 1024",
     {.kernel.reqntid = {1, 1, 1}}},
    {"cluster-target", {"sm_86", .kernel.uses_clusters = true}, "sm_86 (built in) has 8.6", "without clusters",
     {.on = "sm_86"}},
    {"cluster-target", {"sm_89", .kernel.explicitcluster = true}, "has 8.9", "9.0 or later", {.on = "sm_89"}},
    {"directive-ignored", {.kernel.empty_cluster = true}, ".reqnctapercluster with a zero", "1 to 16",
     {.kernel.reqnctapercluster = {1, 1, 1}}},
    {"directive-cluster", {.kernel.reqnctapercluster = {17, 1, 1}, GRID(17, 1, 1)}, "asks for 17 blocks", "1 to 16",
     {.kernel.reqnctapercluster = {16, 1, 1}, GRID(16, 1, 1), NONPORTABLE}},
    {"directive-cluster", {"sm_120", .kernel.reqnctapercluster = {9, 1, 1}, GRID(9, 1, 1)}, "has 1 to 8", "1 to 8",
     {"sm_120", .kernel.reqnctapercluster = {8, 1, 1}, GRID(8, 1, 1)}},
    {"directive-ignored", {.kernel.minnctapersm = 2}, ".minnctapersm 2 has no effect without", "state the block",
     {.kernel = {.minnctapersm = 2, .maxntid = {1024, 1, 1}}}},
    {"directive-ignored", {.kernel = {.minnctapersm = 3, .maxntid = {1024, 1, 1}}},
     "an SM of sm_90 (built in) holds 2048 threads",
     "at most 2 blocks", {.kernel = {.minnctapersm = 2, .maxntid = {1024, 1, 1}}}},
    {"directive-ignored", {.kernel = {.minnctapersm = 33, .maxntid = {32, 1, 1}}}, "and 32 blocks", "at most 32 blocks",
     {.kernel = {.minnctapersm = 32, .maxntid = {64, 1, 1}}}},
    {"directive-ignored", {.kernel.maxnreg = 256}, ".maxnreg 256 has no effect", "at most 255",
     {.kernel.maxnreg = 255}},
    {"directive-ignored", {.kernel.maxnreg = 23}, ".maxnreg 23 is raised to 24", "at least 24", {.kernel.maxnreg = 24}},
    {"warpgroup-unstated", {.kernel.uses_warpgroups = true, BLOCK(128, 1, 1)}, "warp groups of 128 threads",
     "add .reqntid",
     {.kernel = {.uses_warpgroups = true, .reqntid = {128, 1, 1}}, BLOCK(128, 1, 1)}},
    // of the block and the grid
    {"grid-zero", {GRID(4, 0, 1)}, "grid 4 x 0 x 1", "at least 1", {GRID(4, 1, 1)}},
    {"block-zero", {BLOCK(32, 1, 0)}, "block 32 x 1 x 0", "at least 1", {BLOCK(32, 1, 1)}},
    {"block-axis", {BLOCK(1, 1, 65)}, "limit of 1024 x 1024 x 64", "another axis", {BLOCK(1, 1, 64)}},
    {"block-threads", {BLOCK(32, 33, 1)}, "= 1056 threads exceeds the limit of 1024", "at most 1024", {BLOCK(32, 32,
     1)}},
    {"block-threads", {BLOCK(1024, 1024, 64)}, "= 67108864 threads", "at most 1024", {BLOCK(4, 4, 64)}},
    {"block-required", {.kernel.reqntid = {256, 1, 1}, BLOCK(128, 1, 1)},
     "differs from the 256 x 1 x 1 that k declares",
     "block 256 x 1 x 1", {.kernel.reqntid = {256, 1, 1}, BLOCK(256, 1, 1)}},
    {"block-required", {.kernel.reqntid = {256, 1, 1}, BLOCK(2, 1, 1)}, "differs from", "block 256 x 1 x 1",
     {.kernel.reqntid = {256, 1, 1}, BLOCK(1, 1, 1)}},
    {"block-required", {.kernel.reqntid = {16, 16, 1}, BLOCK(256, 1, 1)}, "(.reqntid)", "block 16 x 16 x 1",
     {.kernel.reqntid = {16, 16, 1}, BLOCK(16, 16, 1)}},
    {"block-maximum", {.kernel.maxntid = {128, 1, 1}, BLOCK(16, 16, 1)}, "= 256 threads exceeds the 128", "at most 128",
     {.kernel.maxntid = {128, 1, 1}, BLOCK(8, 16, 1)}},
    {"block-registers", {.kernel = {.reqntid = {512, 1, 1}, .registers = 254}, BLOCK(1, 1, 1)},
     "block 512 x 1 x 1 = 512 threads of 254 registers take 131072", "at most 256 threads",
     {.kernel = {.reqntid = {256, 1, 1}, .registers = 254}, BLOCK(1, 1, 1)}},
    {"block-registers", {.kernel.registers = 129, BLOCK(481, 1, 1)}, "481 threads of 129 registers take 69632",
     "at most 384",
     {.kernel.registers = 128, BLOCK(512, 1, 1)}},
    {"block-registers", {.kernel.registers = 65, BLOCK(1024, 1, 1)}, "exceed the limit of 65536", "at most 896",
     {.kernel.registers = 64, BLOCK(1024, 1, 1)}},
    {"warpgroup-block", {.kernel = {.uses_warpgroups = true, .maxntid = {256, 1, 1}}, BLOCK(64, 3, 1)},
     "= 192 threads is not a multiple",
     "multiple of 128", {.kernel = {.uses_warpgroups = true, .maxntid = {256, 1, 1}}, BLOCK(64, 4, 1)}},
    {"grid-axis", {GRID(1, 65536, 1)}, "limit of 2147483647 x 65535 x 65535", "on x", {GRID(INT32_MAX, 65535, 65535)}},
    {"grid-axis", {GRID(UINT32_MAX, 1, 1)}, "grid 4294967295 x 1 x 1", "on x", {GRID(65536, 1, 65535)}},
    // of the cluster
    {"cluster-zero", {CLUSTER(2, 0, 1)}, "cluster 2 x 0 x 1", "0 x 0 x 0 launches without", {CLUSTER(1, 1, 1)}},
    {"cluster-target", {"sm_80", CLUSTER(2, 1, 1), GRID(2, 1, 1)}, "cluster 2 x 1 x 1: thread block clusters need",
     "without clusters",
     {"sm_80", GRID(2, 1, 1)}},
    {"cluster-missing", {.kernel.explicitcluster = true}, ".explicitcluster", "launch with the cluster",
     {.kernel.explicitcluster = true, CLUSTER(1, 1, 1)}},
    {"cluster-required", {.kernel.reqnctapercluster = {4, 1, 1}, CLUSTER(2, 1, 1), GRID(4, 1, 1)},
     "cluster 2 x 1 x 1 differs from the 4 x 1 x 1", "cluster 4 x 1 x 1",
     {.kernel.reqnctapercluster = {4, 1, 1}, CLUSTER(4, 1, 1), GRID(4, 1, 1)}},
    {"cluster-required", {.kernel.reqnctapercluster = {4, 1, 1}, CLUSTER(1, 4, 1), GRID(4, 4, 1)}, "1 x 4 x 1",
     "4 x 1 x 1",
     {.kernel = {.explicitcluster = true, .reqnctapercluster = {4, 1, 1}}, GRID(4, 4, 1)}},
    {"cluster-max-rank", {.kernel.maxclusterrank = 4, CLUSTER(5, 1, 1), GRID(5, 1, 1)},
     "= 5 blocks exceeds the 4 that k declares",
     "at most 4 blocks", {.kernel.maxclusterrank = 4, CLUSTER(4, 1, 1), GRID(4, 1, 1)}},
    {"cluster-size", {CLUSTER(17, 1, 1), GRID(17, 1, 1), NONPORTABLE}, "= 17 blocks exceeds the limit of 16 of sm_90",
     "at most 16", {CLUSTER(16, 1, 1), GRID(16, 1, 1), NONPORTABLE}},
    {"cluster-size", {"sm_120", CLUSTER(3, 3, 1), GRID(3, 3, 1), NONPORTABLE}, "= 9 blocks exceeds the limit of 8",
     "at most 8", {"sm_120", CLUSTER(2, 4, 1), GRID(2, 4, 1)}},
    {"cluster-size", {CLUSTER(65536, 65536, 65536), GRID(65536, 65536, 65536)}, "= 281474976710656 blocks",
     "at most 16",
     {CLUSTER(1, 1, 1)}},
    {"cluster-size", {CLUSTER(UINT32_MAX, UINT32_MAX, UINT32_MAX)}, "= 18446744073709551615 blocks", "at most 16",
     {GRID(1, 1, 1)}},
    {"cluster-portable", {CLUSTER(9, 1, 1), GRID(9, 1, 1)}, "= 9 blocks exceeds the portable limit of 8", "opt into",
     {CLUSTER(8, 1, 1), GRID(8, 1, 1)}},
    {"cluster-portable", {CLUSTER(16, 1, 1), GRID(16, 1, 1)}, "portable limit of 8", "opt into",
     {CLUSTER(16, 1, 1), GRID(16, 1, 1), NONPORTABLE}},
    {"cluster-grid-multiple", {CLUSTER(3, 1, 1), GRID(4, 1, 1)}, "grid 4 x 1 x 1 is not a multiple", "6 x 1 x 1",
     {CLUSTER(3, 1, 1), GRID(6, 1, 1)}},
    {"cluster-grid-multiple", {CLUSTER(1, 2, 1), GRID(2, 1, 1)}, "cluster 1 x 2 x 1", "2 x 2 x 1", {CLUSTER(2, 1, 1),
     GRID(2, 1, 1)}},
    {"cluster-grid-multiple", {.kernel.reqnctapercluster = {4, 1, 1}, GRID(6, 1, 1)}, "cluster 4 x 1 x 1", "8 x 1 x 1",
     {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {4, 1, 1}, .blocksareclusters = true}, GRID(6, 1, 1)}},
    {"grid-axis", {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {1, 2, 1}, .blocksareclusters = true}, GRID(1, 32768, 1)},
     "grid 1 x 32768 x 1 counts clusters (.blocksareclusters): with 1 x 2 x 1 blocks each", "fewer clusters",
     {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {1, 2, 1}, .blocksareclusters = true}, GRID(1, 32767, 1)}},
    {"grid-axis", {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {1, 1, 4}, .blocksareclusters = true}, GRID(1, 1, 65535)},
     "exceeds the limit of 2147483647 x 65535 x 65535", "long axis on x",
     {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {1, 4, 1}, .blocksareclusters = true}, GRID(1, 1, 65535)}},
    {"cluster-resident", {.gpc = 14, BLOCK(1024, 1, 1), .kernel.registers = 64, CLUSTER(16, 1, 1), GRID(16, 1, 1),
     NONPORTABLE},
     "64 registers a thread and 0 B of shared memory, cannot be resident on sm_90 (built in): an SM holds 1 such "
     "blocks (limited by registers), and the largest GPC has 14 SMs", "at most 14 blocks",
     {.gpc = 14, BLOCK(512, 1, 1), .kernel.registers = 64, CLUSTER(16, 1, 1), GRID(16, 1, 1), NONPORTABLE}},
    {"cluster-absent", {.kernel.uses_clusters = true}, "rank 1 would fault", ".explicitcluster",
     {.kernel.uses_clusters = true, CLUSTER(1, 1, 1)}},
    {"cluster-index", {.kernel.reads_position = true, CLUSTER(3, 1, 1), GRID(10186170, 1, 1)}, "of 10186170 blocks along x, those from number 10186169",
     "divide %ctaid.x", {.kernel.reads_position = true, CLUSTER(1, 1, 1), GRID(10186169, 1, 1)}},
    {"cluster-index", {.kernel = {.reqntid = {1, 1, 1}, .reqnctapercluster = {2, 1, 1}, .blocksareclusters = true, .reads_position = true},
     GRID(5093085, 1, 1)}, "of 10186170 blocks along x", "%cluster_ctarank", {CLUSTER(2, 1, 1), GRID(10186170, 1, 1)}},
    // of the preferred cluster
    {"preferred-ignored", {"sm_100", PREFERRED(4, 1, 1)}, "preferred cluster 4 x 1 x 1 has no effect", "fall back to",
     {"sm_100", PREFERRED(4, 1, 1), CLUSTER(2, 1, 1), GRID(4, 1, 1)}},
    {"preferred-multiple", {"sm_100", PREFERRED(3, 1, 1), CLUSTER(2, 1, 1), GRID(6, 1, 1)},
     "not a multiple of cluster 2 x 1 x 1",
     "times the cluster's", {"sm_100", PREFERRED(6, 1, 1), CLUSTER(2, 1, 1), GRID(6, 1, 1)}},
    {"preferred-multiple", {"sm_100", PREFERRED(2, 0, 1), CLUSTER(2, 1, 1), GRID(6, 1, 1)}, "2 x 0 x 1",
     "times the cluster's",
     {"sm_100", PREFERRED(2, 1, 1), CLUSTER(2, 1, 1), GRID(6, 1, 1)}},
    {"preferred-grid-multiple", {"sm_100", PREFERRED(4, 1, 1), CLUSTER(2, 1, 1), GRID(6, 1, 1)},
     "grid 6 x 1 x 1 is not a multiple of the preferred", "8 x 1 x 1",
     {"sm_100", PREFERRED(4, 1, 1), CLUSTER(2, 1, 1), GRID(8, 1, 1)}},
    {"preferred-size", {"sm_100", PREFERRED(16, 1, 1), CLUSTER(2, 1, 1), GRID(16, 1, 1)},
     "exceeds the limit of 8 blocks a portable",
     "at most 8", {"sm_100", PREFERRED(16, 1, 1), CLUSTER(2, 1, 1), GRID(16, 1, 1), NONPORTABLE}},
    {"preferred-size", {"sm_100", .kernel.maxclusterrank = 4, PREFERRED(8, 1, 1), CLUSTER(2, 1, 1), GRID(8, 1, 1)},
     "4 that the kernel declares", "at most 4",
     {"sm_100", .kernel.maxclusterrank = 8, PREFERRED(8, 1, 1), CLUSTER(2, 1, 1), GRID(8, 1, 1)}},
    // of shared memory
    {"shared-limit", {SHARED(232449)}, "= 232449 B of shared memory exceeds the limit of 232448",
     "smaller tiles", {SHARED(232448)}},
    {"shared-limit", {.kernel.static_shared = 16, SHARED(232448)},
     "16 B static + 232448 B dynamic", "larger cluster",
     {.kernel.static_shared = 16, SHARED(232432)}},
    {"shared-limit", {.shape.dynamic_shared = UINT32_MAX}, "4294967295 B", "smaller tiles", {GRID(1, 1, 1)}},
    {"shared-limit", {"sm_120", SHARED(101377)}, "limit of 101376", "smaller tiles",
     {"sm_120", SHARED(101376)}},
    {"shared-optin", {.shape.dynamic_shared = 49153},
     "= 49153 B of shared memory exceeds the limit of 49152 B a block without",
     "allows 232448 B", {.shape.dynamic_shared = 49152}},
    {"shared-optin", {.kernel.static_shared = 1024, .shape.dynamic_shared = 48129}, "1024 B static + 48129 B", "opt in",
     {.kernel.static_shared = 1024, .shape.dynamic_shared = 48128}},
    // of cooperative launches
    {"cooperative-size", {BLOCK(1024, 1, 1), GRID(265, 1, 1), COOPERATIVE},
     "265 blocks exceeds the 264 that sm_90 (built in) holds at once, 2 an SM (limited by threads)", "fewer blocks",
     {BLOCK(1024, 1, 1), GRID(264, 1, 1), COOPERATIVE}},
    {"cooperative-size", {.kernel.registers = 128, BLOCK(512, 1, 1), GRID(133, 1, 1), COOPERATIVE},
     "holds at once, 1 an SM (limited by registers)", "fewer blocks",
     {.kernel.registers = 128, BLOCK(512, 1, 1), GRID(132, 1, 1), COOPERATIVE}},
    {"cooperative-size", {"h200", BLOCK(32, 1, 1), CLUSTER(8, 1, 1), GRID(128, 1, 1),
                          COOPERATIVE, SHARED(204800)},
     "128 blocks exceeds the 120", "fewer blocks",
     {"h200", BLOCK(32, 1, 1), CLUSTER(8, 1, 1), GRID(120, 1, 1),
      COOPERATIVE, SHARED(204800)}},
    {"cooperative-size", {CLUSTER(4, 1, 1), GRID(44, 1, 1), COOPERATIVE, .shape.active_clusters = 10},
     "exceeds the 40", "fewer blocks", {CLUSTER(4, 1, 1), GRID(40, 1, 1), COOPERATIVE, .shape.active_clusters = 10}},
};
// clang-format on

static cj_dim3 one_unless_set(cj_dim3 d) { return d.x || d.y || d.z ? d : (cj_dim3){1, 1, 1}; }

// The launch with its defaults in place.
static cj_limits complete(launch *l) {
    cj_limits limits;
    cj_test_ok(cj_limits_named(l->on ? l->on : "sm_90", &limits, NULL), NULL);
    limits.driver_version = l->driver;
    if (l->gpc) memset(limits.gpc_sms, l->gpc, sizeof limits.gpc_sms);
    strcpy(l->kernel.entry, "k");
    l->shape.grid = one_unless_set(l->shape.grid);
    l->shape.block = one_unless_set(l->shape.block);
    return limits;
}

// Whether row `at` of the table of rules is one of the rule.
static bool is_rule(unsigned at, const char *id) { return !strcmp(cj_contract_rule_at(at)->id, id); }

static void each_rule_explains_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        const rule_case *c = &cases[i];
        launch           l = c->breaks;
        const cj_limits  limits = complete(&l);
        const uint64_t   broken = cj__contract_broken(&l.kernel, &l.shape, &limits);
        bool             found = false;
        for (unsigned at = 0; at < cj_contract_rule_count(); at++) {
            if (!(broken >> at & 1) || !is_rule(at, c->rule)) continue;
            cj_error words;
            assert_int_equal(cj__contract_explain(at, &l.kernel, &l.shape, &limits, &words),
                             cj_contract_rule_at(at)->severity);
            assert_string_equal(words.rule, c->rule);
            assert_true(strlen(words.hint) > 0);
            found |= strstr(words.message, c->message) && strstr(words.hint, c->hint);
            if (!found) print_message("%s\n  %s\n", words.message, words.hint);
        }
        if (!found) fail_msg("case %zu does not break %s with '%s' and '%s'", i, c->rule, c->message, c->hint);
    }
}

static void what_nearly_breaks_a_rule_breaks_none(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        launch          l = cases[i].nearly;
        const cj_limits limits = complete(&l);
        const uint64_t  broken = cj__contract_broken(&l.kernel, &l.shape, &limits);
        for (unsigned at = 0; at < cj_contract_rule_count(); at++) {
            if (broken >> at & 1)
                fail_msg("case %zu, nearly %s: breaks %s", i, cases[i].rule, cj_contract_rule_at(at)->id);
        }
        assert_int_equal(cj__contract_check(&l.kernel, &l.shape, &limits, NULL), CJ_OK);
    }
}

static void only_errors_refuse(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        launch          l = cases[i].breaks;
        const cj_limits limits = complete(&l);
        const uint64_t  broken = cj__contract_broken(&l.kernel, &l.shape, &limits);
        bool            errors = false;
        for (unsigned at = 0; at < cj_contract_rule_count(); at++) {
            errors |= (broken >> at & 1) && cj_contract_rule_at(at)->severity == CJ_SEVERITY_ERROR;
        }
        assert_int_equal(cj__contract_check(&l.kernel, &l.shape, &limits, NULL), errors ? CJ_CONTRACT : CJ_OK);
    }
}

static void no_rule_is_untested(void **state) {
    (void)state;
    for (size_t i = 0; i < cj_contract_rule_count(); i++) {
        const char *id = cj_contract_rule_at(i)->id;
        bool        tested = false;
        for (size_t j = 0; j < CJ_TEST_COUNT(cases); j++) tested |= !strcmp(id, cases[j].rule);
        if (!tested) fail_msg("no launch here breaks rule %s", id);
        assert_true(strlen(id) < sizeof((cj_error *)NULL)->rule);
    }
    assert_null(cj_contract_rule_at(cj_contract_rule_count()));
}

// --- random launches ---

static uint32_t near_limit(uint64_t *random) {
    static const uint32_t values[] = {0,    1,    1,    1,     2,     3,          4,           8,         9,
                                      16,   17,   32,   63,    64,    65,         128,         255,       256,
                                      1023, 1024, 1025, 65535, 65536, 0x7fffffff, 0x80000000u, UINT32_MAX};
    return values[cj_test_random(random) % CJ_TEST_COUNT(values)];
}

static cj_dim3 random_dim(uint64_t *random) {
    if (cj_test_random(random) % 3 == 0) return (cj_dim3){0, 0, 0};
    cj_dim3 d = {near_limit(random), 1, 1};
    if (cj_test_random(random) % 2) d.y = near_limit(random);
    if (cj_test_random(random) % 4 == 0) d.z = near_limit(random);
    return d;
}

static launch random_launch(uint64_t *random) {
    uint64_t bits = cj_test_random(random);
    launch   l = {.kernel = {.entry = "k",
                             .reqntid = random_dim(random),
                             .maxntid = random_dim(random),
                             .reqnctapercluster = random_dim(random),
                             .explicitcluster = bits & 1,
                             .blocksareclusters = bits & 2,
                             .maxclusterrank = near_limit(random),
                             .maxnreg = near_limit(random),
                             .minnctapersm = near_limit(random),
                             .static_shared = near_limit(random),
                             .registers = near_limit(random) % 256,
                             .uses_clusters = bits & 4,
                             .uses_warpgroups = bits & 8},
                  .shape = {.grid = random_dim(random),
                            .block = random_dim(random),
                            .cluster = random_dim(random),
                            .preferred = random_dim(random),
                            .dynamic_shared = near_limit(random),
                            .nonportable = bits & 16,
                            .smem_optin = bits & 32,
                            .cooperative = bits & 64}};
    return l;
}

static void the_first_error_is_the_first_of_all(void **state) {
    (void)state;
    static const char *const on[] = {"sm_80", "h200", "sm_120", "sm_90"};
    uint64_t                 random = cj_test_seed();
    for (int i = 0; i < 20000; i++) {
        const launch l = random_launch(&random);
        cj_limits    limits;
        cj_error     first = {0}, words;
        cj_limits_named(on[i % 4], &limits, NULL);
        const uint64_t broken = cj__contract_broken(&l.kernel, &l.shape, &limits);
        cj_status      status = cj__contract_check(&l.kernel, &l.shape, &limits, &first);
        unsigned       at = 0;
        while (at < cj_contract_rule_count() &&
               !((broken >> at & 1) && cj_contract_rule_at(at)->severity == CJ_SEVERITY_ERROR))
            at++;
        assert_int_equal(status, at < cj_contract_rule_count() ? CJ_CONTRACT : CJ_OK);
        if (!status) continue;
        cj__contract_explain(at, &l.kernel, &l.shape, &limits, &words);
        assert_string_equal(first.message, words.message);
        cj_status parts = cj__contract_check_kernel(&l.kernel, &limits, NULL);
        if (!parts) parts = cj__contract_check_launch(&l.kernel, &l.shape, &limits, NULL);
        assert_int_equal(parts, status);
    }
}

// What a launch may do, it may do with less.
static void less_of_anything_still_launches(void **state) {
    (void)state;
    cj_limits limits;
    uint64_t  random = cj_test_seed();
    unsigned  launched = 0;
    cj_limits_named("h200", &limits, NULL);
    for (int i = 0; i < 200000; i++) {
        launch l = random_launch(&random);
        l.kernel = (cj_contract){.static_shared = l.kernel.static_shared, .registers = l.kernel.registers};
        l.shape.preferred = (cj_dim3){0, 0, 0};
        if (cj__contract_check(&l.kernel, &l.shape, &limits, NULL)) continue;
        launched++;
        l.shape.dynamic_shared /= 2;
        l.kernel.registers /= 2;
        l.shape.block.x = (l.shape.block.x + 1) / 2;
        l.shape.nonportable = l.shape.smem_optin = true;
        if (!l.shape.cluster.x)
            l.shape.grid.y = (l.shape.grid.y + 1) / 2;
        else
            l.shape.cluster = (cj_dim3){1, 1, 1};
        cj_error error = {0};
        cj_test_ok(cj__contract_check(&l.kernel, &l.shape, &limits, &error), &error);
    }
    print_message("%u launches\n", launched);
    assert_true(launched > 100);
}

// --- the public question ---

static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry one()\n.reqntid 64\n.explicitcluster\n{\n    ret;\n}\n"
                          ".visible .entry two()\n{\n    ret;\n}\n";

static void count_rule(void *user, const cj_violation *violation) {
    char *seen = user;
    snprintf(seen + strlen(seen), 512 - strlen(seen), "%s%c ", violation->rule,
             violation->severity == CJ_SEVERITY_ERROR ? '!' : '?');
    assert_true(violation->message[0] && violation->hint[0]);
}

static void a_query_names_every_broken_rule(void **state) {
    (void)state;
    cj_limits limits;
    cj_error  error = {0};
    char      seen[512] = "";
    cj_limits_named("h200", &limits, NULL);
    cj_contract_query query = {
        CJ_INIT(query), .limits = &limits,
        .ptx = ptx,     .length = sizeof ptx - 1,
        .entry = "one", .shape = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .dynamic_shared = 50000}};
    assert_int_equal(cj_contract_check(&query, count_rule, seen, &error), CJ_CONTRACT);
    assert_string_equal(seen, "block-required! cluster-missing! shared-optin! ");
    assert_string_equal(error.rule, "block-required");
    query.shape = (cj_launch_shape){.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}};
    cj_test_ok(cj_contract_check(&query, count_rule, seen, &error), &error);
    assert_int_equal(cj_contract_check(&query, NULL, NULL, NULL), CJ_OK);
    query.ptx = NULL;  // the shape alone
    query.shape.cluster.x = 3;
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-grid-multiple");
}

static void a_query_that_cannot_be_read_says_why(void **state) {
    (void)state;
    cj_limits limits;
    cj_error  error = {0};
    cj_limits_named("h200", &limits, NULL);
    cj_contract_query query = {CJ_INIT(query), .limits = &limits, .ptx = ptx, .length = sizeof ptx - 1,
                               .shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "name one: one, two"));
    query.entry = "three";
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "no entry 'three'"));
    query.ptx = ".version 9.0\n.target sm_90\n.entry k( {";
    query.length = strlen(query.ptx);
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 3);
    query.ptx =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n    wgmma.fence.sync.aligned;\n    ret;\n}\n";
    query.length = strlen(query.ptx);
    query.entry = NULL;
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_KERNEL);
    assert_string_equal(error.rule, "target-arch");
    assert_int_equal(error.line, 6);
    query.ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() .reqnctapercluster 32\n{\n    ret;\n}\n";
    query.length = strlen(query.ptx);
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_CONTRACT);  // ptxas takes it, no launch can
    assert_string_equal(error.rule, "directive-cluster");
    query.limits = NULL;
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_explains_itself),
        cmocka_unit_test(what_nearly_breaks_a_rule_breaks_none),
        cmocka_unit_test(only_errors_refuse),
        cmocka_unit_test(no_rule_is_untested),
        cmocka_unit_test(the_first_error_is_the_first_of_all),
        cmocka_unit_test(less_of_anything_still_launches),
        cmocka_unit_test(a_query_names_every_broken_rule),
        cmocka_unit_test(a_query_that_cannot_be_read_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

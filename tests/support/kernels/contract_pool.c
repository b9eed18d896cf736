// SPDX-License-Identifier: Apache-2.0
#include "contract_pool.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "parse.h"

bool cj_test_chance(uint64_t *random, unsigned percent) { return cj_test_random(random) % 100 < percent; }

typedef struct directive {
    unsigned    percent;  // of the kernels that get it
    const char *word;
    const char *values[16];  // ended by NULL
} directive;

// Zeros that ptxas refuses are rare, so that most kernels load.
// clang-format off
static const directive directives[] = {
    {20, ".maxntid", {"1", "32", "127", "128", "256", "512", "1023", "1024", "1025", "16, 16", "8, 4, 4", "1, 1, 65",
                      "2048", "32, 32, 2", "65536", "0"}},
    {20, ".reqntid", {"1", "32", "64", "128", "255", "256", "512", "1024", "1025", "16, 16", "8, 8, 4", "1, 1, 64",
                      "1, 1, 65", "2048", "65536, 65536", "0"}},
    {15, ".minnctapersm", {"1", "2", "4", "16", "32", "33", "4294967295", "1", "2", "4", "8", "3", "5", "6", "7", "0"}},
    {15, ".maxnreg", {"1", "16", "24", "32", "40", "64", "96", "128", "168", "200", "254", "255", "256", "65536", "72",
                      "0"}},
    {20, ".explicitcluster", {""}},
    {25, ".reqnctapercluster", {"1", "2", "4", "8", "16", "17", "32", "2, 2", "2, 2, 2", "1, 2", "1, 1, 4", "4, 4", "3",
                                "0", "0, 0, 0", "65536, 65536, 65536"}},
    {15, ".maxclusterrank", {"1", "2", "3", "4", "7", "8", "9", "15", "16", "17", "32", "4294967295", "8", "4",
                             "16", "0"}},
    {2, ".blocksareclusters", {""}},
};
// clang-format on

static const char *value_of(uint64_t *random, const directive *d) {
    size_t count = 0;
    while (count < CJ_TEST_COUNT(d->values) && d->values[count]) count++;
    size_t at = cj_test_random(random) % count;
    if (count > 1 && !strcmp(d->values[at], "0") && cj_test_chance(random, 75)) at = 0;
    return d->values[at];
}

// The probability of a directive in percent. Pairs that exclude each other are mostly avoided, and directives that
// others need are added with them.
static unsigned percent_of(const directive *d, const cj_text *head) {
    static const char *const pairs[][2] = {{".maxntid", ".reqntid"}, {".reqnctapercluster", ".maxclusterrank"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(pairs); i++) {
        if (!strcmp(d->word, pairs[i][1]) && strstr(head->data, pairs[i][0])) return d->percent / 5;
    }
    const bool needs_both = !strcmp(d->word, ".blocksareclusters");
    return needs_both && strstr(head->data, ".reqntid") && strstr(head->data, ".reqnctapercluster") ? 40 : d->percent;
}

static void add_directives(uint64_t *random, cj_text *text) {
    for (size_t i = 0; i < CJ_TEST_COUNT(directives); i++) {
        const directive *d = &directives[i];
        if (cj_test_chance(random, percent_of(d, text))) cj__text_printf(text, "%s %s\n", d->word, value_of(random, d));
    }
}

// Live registers, in code that is never executed.
static void add_registers(cj_text *text, unsigned count) {
    cj__text_printf(text, "    .reg .u32 %%r<%u>;\n", count);
    for (unsigned i = 0; i < count; i++)
        cj__text_printf(text, "    ld.volatile.global.u32 %%r%u, [%%p + %u];\n", i, 4 * i);
    for (unsigned i = 0; i < count; i++) {
        cj__text_printf(text, "    st.volatile.global.u32 [%%p + %u], %%r%u;\n", 4 * i, count - 1 - i);
    }
}

static void add_body(uint64_t *random, cj_text *text, const char *arch, bool clusters) {
    static const unsigned    registers[] = {40, 64, 100, 128, 168, 200, 248};
    static const unsigned    shared[] = {1, 128, 1024, 8192, 16384, 49136, 49151, 49152, 49152, 49153};
    static const unsigned    large[] = {49153, 65536, 200000, 232447, 232448, 232449};  // for a target with an a
    static const char *const specials[] = {"%cluster_ctarank", "%cluster_nctarank", "%clusterid.x", "%nclusterid.x"};
    cj__text_puts(text, "{\n    .reg .u64 %p;\n    .reg .pred %none;\n");
    unsigned bytes = cj_test_chance(random, 30) ? CJ_PICK(random, shared) : 0;
    if (strchr(arch, 'a') && cj_test_chance(random, 40)) bytes = CJ_PICK(random, large);
    if (bytes) cj__text_printf(text, "    .shared .align 16 .b8 tile[%u];\n", bytes);
    cj__text_puts(text, "    ld.param.u64 %p, [p];\n    setp.eq.u64 %none, %p, 0;\n    @%none bra done;\n");
    if (bytes) cj__text_puts(text, "    st.volatile.shared.u8 [tile], 1;\n");
    if (cj_test_chance(random, 25)) add_registers(text, CJ_PICK(random, registers));
    if (clusters && cj_test_chance(random, 20)) {
        cj__text_printf(text, "    .reg .u32 %%c;\n    mov.u32 %%c, %s;\n    st.volatile.global.u32 [%%p], %%c;\n",
                        CJ_PICK(random, specials));
    }
    cj__text_puts(text, "done:\n    ret;\n}\n");
}

static void judge(const cj_limits *limits, cj_pool_kernel *kernel) {
    static const char *const launch_only[] = {"directive-block", "directive-cluster", "cluster-target"};
    cj_ir_module            *module = NULL;
    kernel->loads = !cj__ir_parse(kernel->ptx.data, kernel->ptx.length, &module, &kernel->why);
    if (!kernel->loads) return;
    cj__contract_of(cj__ir_func(module, "k"), &kernel->contract);
    cj__ir_free(module);
    kernel->loads = !cj__contract_check_kernel(&kernel->contract, limits, &kernel->why);
    for (size_t i = 0; i < CJ_TEST_COUNT(launch_only); i++) kernel->loads |= !strcmp(kernel->why.rule, launch_only[i]);
}

void cj_test_pool_kernel(uint64_t *random, const cj_limits *limits, cj_pool_kernel *kernel) {
    static const char *const others[] = {"sm_80", "sm_90a", "sm_90a", "sm_100", "sm_100a", "sm_120"};
    *kernel = (cj_pool_kernel){.loads = false};
    snprintf(kernel->arch, sizeof kernel->arch, "%s", cj_test_chance(random, 85) ? "sm_90" : CJ_PICK(random, others));
    const bool clusters = strcmp(kernel->arch, "sm_80") != 0;
    cj__text_printf(&kernel->ptx, ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 p)\n",
                    kernel->arch);
    if (clusters) add_directives(random, &kernel->ptx);
    add_body(random, &kernel->ptx, kernel->arch, clusters);
    judge(limits, kernel);
}

void cj_test_pool_free(cj_pool_kernel *kernel) { cj__text_free(&kernel->ptx); }

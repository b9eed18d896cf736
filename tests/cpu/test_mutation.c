// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of every shipped kernel is needed, and the CPU device sees that it is missing: a kernel
// without it, or with it weakened to relaxed, is refused by the checker, found to have a hazard or a deadlock, or gives a
// wrong result, under some schedule. The kernels themselves run under a hundred schedules without a report.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

#include <clusterjit/clusterjit.h>

enum { SEEDS = 100, MUTANT_SEEDS = 8, N = 3000, OUT = 560 };  // N: elements; OUT: u64 of the result

// The shipped kernels: a family, and its parameters as "name=value" words. Grids of several clusters, so that all steps run.
static const char *const kernels[] = {
    "reduce op=sum dtype=f32 n=3000 block=64 cluster=2 grid=6",
    "reduce op=max dtype=i32 n=3000 block=64 cluster=4 grid=8",
    "reduce op=min dtype=f64 n=3000 block=32 cluster=2 grid=4",
    "reduce op=sum dtype=u32 n=3000 block=64 cluster=0 grid=4",
    "reduce op=sum dtype=f32 n=3000 block=64 cluster=2 grid=4 result=block weight=block",
    "reduce op=argmax dtype=f32 n=3000 block=64 cluster=2 grid=4",
    "reduce op=meanvar dtype=f32 n=3000 block=64 cluster=0 grid=3",
    "reduce op=mean dtype=i8 n=3000 block=64 cluster=4 grid=4",
    "reduce op=product dtype=bf16 n=3000 block=64 cluster=0 grid=1",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 cluster=0 grid=3",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 cluster=2 grid=4 width=4",
    "histogram bins=16 dtype=f32 lower=2.5 upper=2.50001 n=3000 block=64 cluster=4 grid=4 width=16",
    "collective op=allreduce cluster=3 rounds=4",
    "collective op=allreduce cluster=2 rounds=4 strategy=pull",
    "collective op=all-to-all cluster=2 count=3 rounds=3 block=64",
    "collective op=scan cluster=2 count=6 rounds=3 block=64",
    "collective op=scan cluster=2 count=12 rounds=3 block=64 dtype=f16",
    "collective op=reduce-scatter cluster=2 count=4 rounds=3 strategy=pull block=64",
    "collective op=reduce-scatter cluster=2 count=4 rounds=3 block=64",
    "stencil dim=2 nx=16 ny=40 steps=5 strategy=resident form=registers cluster=2 block=64 depth=1",
    "stencil dim=2 nx=8 ny=48 steps=7 strategy=resident form=registers cluster=3 block=64 depth=2 boundary=periodic",
    "stencil dim=2 nx=12 ny=20 steps=4 strategy=resident form=shared cluster=3 block=64",
    "stencil dim=1 nx=300 steps=3 strategy=blocked cluster=2 tile=32 block=64 boundary=clamp depth=3",
    "stencil dim=1 nx=100 steps=3 strategy=resident cluster=0 block=64 boundary=periodic",
    "exchange pattern=pair n=64 align=4 block=64 cluster=2 clusters=2 repeat=5",
    "exchange pattern=ring n=64 align=4 block=64 cluster=3 repeat=5 dtype=u32",
    "exchange pattern=all-to-all n=300 dtype=u16 align=2 block=64 cluster=2 clusters=2 grid=2",
    "exchange pattern=all-to-all n=64 align=4 block=64 cluster=2 repeat=5 strategy=pull",
    "exchange pattern=halo n=64 halo=64 align=4 block=64 cluster=0 size=3 repeat=5",
    "softmax rows=2 columns=64 form=direct cluster=0 warps=2",
    "softmax rows=2 columns=64 form=direct cluster=2 warps=2",
    "softmax rows=5 columns=32 form=stream cluster=2 warps=2 grid=4 stages=1",
    "softmax rows=3 columns=64 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3",
    "scan rows=2 columns=100 block=64",
    "scan rows=2 columns=500 block=64 loads=1 op=max dtype=i32",
    "scan columns=500 block=64 loads=1 dtype=f64 reverse=yes",
    "scan columns=2200 block=32 loads=1 dtype=bf16 align=2 exclusive=yes",
    "scan columns=1000 block=64 loads=1 cluster=4",
    "topk rows=2 columns=1000 k=60 result=kth block=64",
    "topk rows=1 columns=900 k=60 result=kth block=64 cluster=2",
};

// What makes a line worth mutating, and what it is weakened to: NULL removes the whole line.
static const struct {
    const char *holds, *from, *to;
} mutations[] = {
    {"bar.sync", NULL, NULL},
    {"bar.warp.sync", NULL, NULL},
    {"barrier.cluster.arrive", NULL, NULL},
    {"barrier.cluster.wait", NULL, NULL},
    {"barrier.cluster.arrive.release", ".release", ".relaxed"},
    {"atom.acq_rel", ".acq_rel", ".relaxed"},
    {"atom.acq_rel", ".acq_rel", ".acquire"},
    {"atom.acq_rel", ".acq_rel", ".release"},
    {"fence", NULL, NULL},
    {"st.async", NULL, NULL},
    {"st.relaxed.gpu", ".relaxed.gpu", ""},
    {"ld.relaxed.gpu", ".relaxed.gpu", ""},
    {"st.release.gpu", ".release", ".relaxed"},
    {"ld.acquire.gpu", ".acquire", ".relaxed"},
    {"mbarrier.init", NULL, NULL},
    {"mbarrier.arrive.release", NULL, NULL},
    {"mbarrier.try_wait", NULL, NULL},
    {"mbarrier.arrive.expect_tx", NULL, NULL},
    {"mbarrier.expect_tx", NULL, NULL},
};

typedef struct kernel {
    cj_params params;
    cj_plan   plan;
    char     *ptx;
    uint64_t  want[OUT];  // the result's bytes, of the unmutated kernel
} kernel;

static void make_kernel(const char *words, kernel *k) {
    cj_error error = {0};
    char     family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &k->params, &error), &error);
    cj_test_ok(cj_plan_make(&k->params, cj_device_limits(cj_test_device), NULL, &k->plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k->plan, &k->ptx, NULL, &error), &error);
}

static void configure(uint64_t seed) {
    cj_error       error = {0};
    cj_cpu_options options = {.hazards = true, .random_schedule = seed > 0, .seed = seed, .threads = 1,
                              .instruction_limit = 20 * 1000 * 1000};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}

// Runs the text twice on one workspace, as users do; the second result's bytes go to `out`.
static cj_status run(const kernel *k, const char *ptx, uint64_t out[OUT], cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       x = 0, result = 0, workspace = 0;
    uint64_t     n = N, derived[CJ_TEST_COUNT(k->plan.derived)], input[N];
    size_t       bytes = sizeof input, room = k->plan.workspace_bytes ? k->plan.workspace_bytes : 64;
    for (uint64_t i = 0; i < N; i++) input[i] = UINT64_C(0x3ff8000040200000) + i % 7;  // small floats of either width
    cj_status status = cj_module_from_ptx(cj_test_device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, k->plan.entry, &function, error);
    if (!status) status = cj_mem_alloc(cj_test_device, bytes, &x, error);
    if (!status) status = cj_mem_alloc(cj_test_device, OUT * 8, &result, error);
    if (!status) status = cj_mem_alloc(cj_test_device, room, &workspace, error);
    if (!status) status = cj_mem_write(cj_test_device, x, input, bytes, NULL, error);
    if (!status) status = cj_mem_fill(cj_test_device, workspace, 0, room, NULL, error);
    for (int time = 0; time < 2 && !status; time++) {
        const char *family = cj_family_name(k->params.family);
        bool     has_third = !strcmp(family, "collective") || !strcmp(family, "topk");  // a third array, for small results
        void    *arguments[5 + CJ_TEST_COUNT(derived)] = {&x, &result, has_third ? (void *)&workspace : &n};
        uint32_t count = cj_function_param_count(function) - k->plan.derived_count - (k->plan.launches > 0) - 1;  // the family's own
        for (uint32_t i = 0; i < k->plan.derived_count; i++) arguments[count++] = memcpy(&derived[i], &k->plan.derived[i], 8);
        uint64_t turn = 0;
        if (k->plan.launches) arguments[count++] = &turn;
        arguments[count++] = &workspace;
        cj_launch_config config = {.function = function, .grid = k->plan.grid, .block = k->plan.block,
                                   .cluster = k->plan.cluster, .dynamic_shared = k->plan.dynamic_shared, .nonportable = true,
                                   .arguments = arguments, .argument_count = count};
        status = cj_mem_fill(cj_test_device, result, 0xa5, OUT * 8, NULL, error);
        if (!status) status = cj_launch(cj_test_device, &config, error);
    }
    if (!status) status = cj_mem_read(cj_test_device, out, result, OUT * 8, NULL, error);
    cj_mem_free(cj_test_device, x);
    cj_mem_free(cj_test_device, result);
    cj_mem_free(cj_test_device, workspace);
    cj_module_unload(module);
    return status;
}

// The text with the line at `line` removed or weakened; to be freed.
static char *mutate(const char *ptx, const char *line, const char *from, const char *to) {
    const char *end = strchr(line, '\n');
    size_t      before = (size_t)(line - ptx);
    char       *text = malloc(strlen(ptx) + 32);
    assert_non_null(text);
    memcpy(text, ptx, before);
    if (!from) {
        strcpy(text + before, end);
        return text;
    }
    const char *at = strstr(line, from);
    size_t      kept = (size_t)(at - line);
    memcpy(text + before, line, kept);
    strcpy(text + before + kept, to);
    strcat(text, at + strlen(from));
    return text;
}

static bool survives(const kernel *k, const char *mutant, char *why, size_t size) {
    for (uint64_t seed = 0; seed < MUTANT_SEEDS; seed++) {
        uint64_t out[OUT] = {0};
        cj_error error = {0};
        configure(seed);
        cj_status status = run(k, mutant, out, &error);
        snprintf(why, size, "%s [%s]", cj_status_name(status), error.rule);
        if (status == CJ_OUT_OF_MEMORY) fail_msg("%s", error.message);
        if (status) return false;
        snprintf(why, size, "wrong result");
        if (memcmp(out, k->want, sizeof out)) return false;
    }
    return true;
}

static unsigned try_line(const kernel *k, const char *words, const char *line) {
    unsigned survivors = 0;
    size_t   length = strcspn(line, "\n");
    size_t   code = strcspn(line, "/") < length ? strcspn(line, "/") : length;
    for (size_t m = 0; m < CJ_TEST_COUNT(mutations); m++) {
        const char *found = strstr(line, mutations[m].holds);
        if (!found || found >= line + code) continue;
        char *mutant = mutate(k->ptx, line, mutations[m].from, mutations[m].to), why[96];
        bool  alive = survives(k, mutant, why, sizeof why);
        int   blanks = (int)strspn(line, " ");
        print_message("%s: %s%s%s: %.*s\n", alive ? "SURVIVES" : why, mutations[m].from ? mutations[m].from : "without",
                      mutations[m].to ? " -> " : "", mutations[m].to ? mutations[m].to : "", (int)code - blanks, line + blanks);
        if (alive) print_error("unnoticed in: %s\n", words);
        survivors += alive;
        free(mutant);
    }
    return survivors;
}

// Under a sanitizer every fifth kernel, beginning with a random one.
static size_t stride(void) { return cj_test_few() ? 5 : 1; }
static size_t first(void) { return cj_test_few() ? cj_test_seed() % 5 : 0; }

static void every_synchronization_is_needed_and_its_absence_is_seen(void **state) {
    (void)state;
    unsigned survivors = 0;
    for (size_t i = first(); i < CJ_TEST_COUNT(kernels); i += stride()) {
        kernel   k = {0};
        cj_error error = {0};
        make_kernel(kernels[i], &k);
        configure(0);
        cj_test_ok(run(&k, k.ptx, k.want, &error), &error);
        for (const char *line = k.ptx; *line; line += strcspn(line, "\n") + 1) survivors += try_line(&k, kernels[i], line);
        cj_text_free(k.ptx);
    }
    assert_int_equal(survivors, 0);
}

static void no_schedule_finds_fault_with_the_kernels_themselves(void **state) {
    (void)state;
    for (size_t i = first(); i < CJ_TEST_COUNT(kernels); i += stride()) {
        kernel k = {0};
        make_kernel(kernels[i], &k);
        for (uint64_t seed = 0; seed <= SEEDS / stride(); seed++) {
            uint64_t out[OUT] = {0};
            cj_error error = {0};
            configure(seed);
            cj_test_ok(run(&k, k.ptx, out, &error), &error);
            if (!seed) memcpy(k.want, out, sizeof out);
            assert_memory_equal(out, k.want, sizeof out);
        }
        cj_text_free(k.ptx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synchronization_is_needed_and_its_absence_is_seen),
        cmocka_unit_test(no_schedule_finds_fault_with_the_kernels_themselves),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}

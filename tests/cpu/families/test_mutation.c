// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of every shipped kernel is needed, and the CPU device sees that it is missing
// (mutation.h). The kernels themselves run under a hundred schedules without a report.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "mutation.h"

enum { SEEDS = 100, N = 3000, OFFSETS = 32, OUT = 2400 };  // N: elements; OUT: u64 of the results

// The shipped kernels: a family, and its parameters as "name=value" words. Grids of several clusters, so that all steps run.
static const char *const kernels[] = {
    "reduce op=sum dtype=f32 n=3000 block=64 cluster=2 grid=6",
    "reduce op=max dtype=i32 n=3000 block=64 cluster=4 grid=8",
    "reduce op=min dtype=f64 n=3000 block=32 cluster=2 grid=4",
    "reduce op=sum dtype=u32 n=3000 block=64 cluster=0 grid=4",
    "reduce op=sum dtype=f32 n=3000 block=64 cluster=2 grid=4 result=block weight=block",
    "reduce op=sum dtype=u32 n=3000 block=64 cluster=2 grid=6 result=both weight=block",
    "reduce op=min dtype=f64 n=3000 block=64 cluster=0 grid=4 result=both",
    "reduce op=argmax dtype=f32 n=3000 block=64 cluster=2 grid=4",
    "reduce op=meanvar dtype=f32 n=3000 block=64 cluster=0 grid=3",
    "reduce op=mean dtype=i8 n=3000 block=64 cluster=4 grid=4",
    "reduce op=meanvar dtype=f64 n=3000 block=64 cluster=0 grid=40",
    "reduce op=product dtype=bf16 n=3000 block=64 cluster=0 grid=1",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 cluster=0 grid=3",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 cluster=2 grid=4 width=4",
    "histogram bins=16 dtype=f32 lower=2.5 upper=2.50001 n=3000 block=64 cluster=4 grid=4 width=16",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 cluster=2 grid=4 strategy=remote",
    "histogram bins=16 lower=1075838976 upper=1075838992 n=3000 block=64 result=set",
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
    "exchange pattern=all-to-all n=768 align=16 block=64 cluster=3 repeat=8",
    "exchange pattern=pair n=600 align=16 block=64 cluster=2 clusters=2 grid=2 repeat=8",
    "exchange pattern=halo n=64 halo=64 align=4 block=64 cluster=0 size=3 repeat=5",
    "softmax rows=2 columns=64 form=direct cluster=0 warps=2",
    "softmax rows=2 columns=64 form=direct cluster=2 warps=2",
    "softmax rows=5 columns=77 form=direct cluster=0 warps=2 peel=4",
    "rmsnorm rows=5 columns=79 form=direct cluster=2 warps=1 peel=4",
    "softmax rows=5 columns=77 form=spread blocks=3 warps=2 grid=6 peel=4",
    "softmax rows=70 columns=5 transpose=yes",
    "softmax rows=40 columns=3 out-stride=4 out=bf16 transpose=yes",
    "softmax rows=5 columns=32 form=stream cluster=1 warps=2 grid=2 stages=1",
    "softmax rows=5 columns=32 form=stream cluster=0 warps=2 grid=2 stages=1",
    "softmax rows=5 columns=32 form=stream cluster=2 warps=2 grid=4 stages=1",
    "softmax rows=3 columns=64 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3",
    "softmax rows=9 columns=64 form=stream cluster=2 warps=2 grid=4 stages=3 pieces=2",
    "softmax rows=5 columns=64 form=spread blocks=3 warps=2 grid=6",
    "rmsnorm rows=1 columns=1200 form=spread blocks=34 warps=3",
    "rmsnorm rows=3 columns=64 form=stream cluster=2 warps=1 grid=4 stages=1 resident=yes",
    "rmsnorm rows=6 columns=64 pass=backward weight=no weight-gradient=yes warps=2 grid=2",
    "rmsnorm rows=20 columns=8 pass=backward weight=no weight-gradient=yes bias-gradient=yes grid=1",
    "rmsnorm rows=70 columns=12 pass=backward weight=no weight-gradient=yes lanes=4 unroll=2 grid=1",
    "rmsnorm rows=8 columns=136 pass=backward weight=no weight-gradient=yes bias-gradient=yes form=direct warps=2 grid=8",
    "rmsnorm rows=7 columns=64 pass=backward weight=no weight-gradient=yes form=stream cluster=2 warps=2 grid=4 stages=1",
    "rmsnorm rows=9 columns=64 pass=backward weight=no weight-gradient=yes form=stream cluster=2 warps=2 grid=4 stages=2",
    "rmsnorm rows=5 columns=64 pass=backward weight=no bias-gradient=yes form=direct pieces=3 warps=2 grid=2",
    "scan rows=2 columns=100 block=64",
    "scan rows=2 columns=500 block=64 loads=1 op=max dtype=i32",
    "scan columns=500 block=64 loads=1 dtype=f64 reverse=yes",
    "scan columns=4400 block=32 loads=1 dtype=bf16 align=2 exclusive=yes",
    "scan columns=1000 block=64 loads=1 cluster=4",
    "scan rows=2 columns=500 block=64 loads=1 heads=flags dtype=u32",
    "scan columns=1000 block=64 loads=1 heads=i64 segments=30 dtype=f64",
    "scan columns=200 block=64 heads=i64 segments=7 reverse=yes",
    "scan columns=1000 block=64 loads=1 cluster=4 heads=flags",
    "scan columns=4700 form=stream counter=tile block=32 loads=1 stages=2 grid=8",
    "scan rows=2 columns=1000 form=stream counter=tile block=64 loads=1 stages=3 grid=3 dtype=f64 reverse=yes",
    "scan columns=4703 form=stream counter=tile block=32 loads=1 stages=2 grid=8 align=8",
    "scan rows=3 columns=700 form=stream counter=row block=64 loads=1 stages=2 grid=2 dtype=i32 op=max",
    "scan rows=2 columns=1000 form=stream counter=tile block=64 loads=1 stages=2 grid=3 heads=flags dtype=u32 reverse=yes",
    "topk rows=1 columns=2900 k=300 result=kth block=64 form=sift",
    "topk rows=1 columns=11000 k=60 block=128 dtype=bf16",
    "topk rows=1 columns=2900 k=100 block=64 cluster=2",
    "topk rows=1 columns=2900 k=60 result=any block=64 cluster=2",
    "topk rows=1 columns=2900 k=60 result=any block=64",
    "topk rows=1 columns=2900 k=60 block=64 parts=2",
    "topk rows=1 columns=3075 k=256 block=192 form=sift",
    "topk rows=9 columns=60 k=20 form=warp block=64",
    "topk rows=1 columns=2900 k=1100 result=any block=96 form=radix",
    "topk rows=1 columns=2900 k=300 block=64 form=radix",
    "topk rows=1 columns=2900 k=32 dtype=bf16 block=64 cluster=3 form=radix",
    "sort rows=1 columns=250 block=64 items=4 form=block",
    "sort rows=2 columns=60 form=warp block=64 match=ballots",
    "sort rows=1 columns=250 cluster=2 block=64 items=2 result=indices dtype=i32",
    "sort rows=1 columns=250 block=64 items=4 form=block prefix=1",
    "sort rows=1 columns=200 form=warp block=64 prefix=1 dtype=i32",
    "sort rows=1 columns=250 cluster=2 block=64 items=2 prefix=1",
    "sort rows=1 columns=300 form=grid block=256 items=1 dtype=u16 result=values",
    "sort rows=9 columns=31 segments=i64 form=warp block=64",
    "sort rows=5 columns=31 segments=i64 form=block block=64 dtype=u64 order=descending",
    "sort rows=1 columns=250 block=64 items=4 form=block payload=b32",
    "sort rows=1 columns=250 cluster=2 block=64 items=2 result=neither payload=b64",
    "sort rows=9 columns=31 segments=i64 form=warp block=64 result=values dtype=u16 payload=b8",
    "sort rows=6 columns=550 segments=i64 form=grid block=256 items=2 dtype=u64 result=values elements=1800",
    "sort rows=6 columns=550 segments=i64 form=grid block=256 items=2 dtype=f64 result=neither payload=b16 elements=1800",
    "argmax rows=2 columns=300 block=64",
    "argmax rows=2 columns=1300 block=64 cluster=2",
    "argmax rows=2 columns=1301 block=64 cluster=0 parts=3",
    "argmax rows=2 columns=1301 block=64 cluster=2 parts=2",
    "argmax rows=9 columns=77 lanes=8",
    "argmax rows=2 columns=1301 dtype=bf16 align=2 block=64 cluster=2 parts=2",
    "sample rows=2 columns=300 top-k=20 top-p=0.9 block=64",
    "sample rows=2 columns=600 top-k=20 top-p=0.9 block=64 cluster=2",
    "sample rows=1 columns=600 top-p=0.9 block=64 cluster=2",
    "sample rows=1 columns=600 top-p=0.9 dtype=bf16 block=512 cluster=2 search=counts",
    "sample rows=1 columns=600 top-p=0.9 dtype=bf16 block=512 cluster=2 search=counts parts=2",
    "sample rows=1 columns=600 dtype=bf16 block=512 cluster=2 search=counts parts=2",
    "sample rows=2 columns=300 block=64",
    "sample rows=1 columns=300 block=64 cluster=2 top=3",
    "sample rows=2 columns=300 top-k=20 block=64 top=3",
    "sample rows=1 columns=300 block=64 cluster=2 distribution=yes draft=yes",
};

typedef struct kernel {
    cj_params params;
    cj_plan   plan;
    char     *ptx;
} kernel;

static void make_kernel(const char *words, kernel *k) {
    cj_error error = {0};
    char     family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &k->params, &error), &error);
    cj_test_ok(cj_plan_make(&k->params, cj_device_limits(cj_test_device), NULL, &k->plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k->plan, &k->ptx, NULL, &error), &error);
}

static bool has_word(const kernel *k, const char *name, const char *word) {
    char buffer[16];
    return !strcmp(cj_params_word(&k->params, name, buffer, sizeof buffer), word);
}

// The family's own arguments: (i)nput, (o)utput and two places after it, p and q, the (n)umber of elements, (w)orkspace,
// a(s)cending offsets; (z)ero, 1 as f32 (t), 0.9 as f32 (u); 20 and 200 of two rows (k).
static const char *order_of(const kernel *k) {
    const char *family = cj_family_name(k->params.family);
    if (!strcmp(family, "collective")) return "iow";  // a third array, for small results
    if (!strcmp(family, "sort") && !has_word(k, "payload", "none")) return has_word(k, "segments", "none") ? "iopiq" : "iopsiq";
    if (!strcmp(family, "topk") || !strcmp(family, "sort")) return "iops";  // offsets of sort alone
    if (!strcmp(family, "sample"))
        return cj_params_get(&k->params, "top") ? "iozzztzuzzztzzzzkzzzzzpq"
               : has_word(k, "draft", "yes")    ? "iozzztzuzzztzzzzkzzzzzpkiq"
                                                : "iozzztzuzzztzzzzkzzzzz";
    if (!strcmp(family, "scan")) return has_word(k, "heads", "flags") ? "ioi" : "ios";
    if (!strcmp(family, "rmsnorm")) return has_word(k, "pass", "forward") ? "ioi" : "iioipq";
    return "ion";
}

static int compare_words(const void *a, const void *b) { return memcmp(a, b, 4); }

// Runs it twice on one workspace, as users do; the second result's bytes go to `out`.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    const kernel *k = specimen->user;
    cj_ptr        x = 0, result = 0, workspace = 0;
    uint64_t      n = N, derived[CJ_TEST_COUNT(k->plan.derived)], input[N + OFFSETS + 1];
    size_t        bytes = sizeof input, room = k->plan.workspace_bytes ? k->plan.workspace_bytes : 64;
    const char   *family = cj_family_name(k->params.family);
    const bool    mixed = !strcmp(family, "topk") || !strcmp(family, "sort");  // all differ, in no order
    for (uint64_t i = 0; i < N; i++)                                          // small floats of either width
        input[i] = UINT64_C(0x3ff8000040200000) + (mixed ? i * 40503 % 65536 : i % 7);
    const bool grows = mixed && has_word(k, "form", "grid");  // segments of a sort by lists: 50 elements, 150, 250 …
    for (uint64_t i = 0; i < OFFSETS; i++) input[N + i] = grows ? 50 * i * i : 31 * i;
    input[N + OFFSETS] = UINT64_C(200) << 32 | 20;
    cj_status status = cj_mem_alloc(cj_test_device, bytes, &x, error);
    if (!status) status = cj_mem_alloc(cj_test_device, OUT * 8, &result, error);
    if (!status) status = cj_mem_alloc(cj_test_device, room, &workspace, error);
    if (!status) status = cj_mem_write(cj_test_device, x, input, bytes, NULL, error);
    if (!status) status = cj_mem_fill(cj_test_device, workspace, 0, room, NULL, error);
    for (int time = 0; time < 2 && !status; time++) {
        cj_ptr   half = result + OUT * 4, last = result + OUT * 6, offsets = x + N * 8, pair = offsets + OFFSETS * 8;
        uint64_t turn = 0, zero = 0, one = 0x3f800000, most = 0x3f666666;
        void    *given[] = {['i' - 'i'] = &x, ['o' - 'i'] = &result,    ['p' - 'i'] = &half,   ['q' - 'i'] = &last,
                            ['n' - 'i'] = &n, ['w' - 'i'] = &workspace, ['s' - 'i'] = &offsets,
                            ['z' - 'i'] = &zero, ['t' - 'i'] = &one, ['u' - 'i'] = &most, ['k' - 'i'] = &pair};
        void    *arguments[28 + CJ_TEST_COUNT(derived)];
        uint32_t count = cj_function_param_count(function) - k->plan.derived_count - (k->plan.launches > 0) -
                         1;  // the family's own
        for (uint32_t i = 0; i < count; i++) arguments[i] = given[order_of(k)[i] - 'i'];
        for (uint32_t i = 0; i < k->plan.derived_count; i++)
            arguments[count++] = memcpy(&derived[i], &k->plan.derived[i], 8);
        if (k->plan.launches) arguments[count++] = &turn;
        arguments[count++] = &workspace;
        cj_launch_config config = {
            CJ_INIT(config),        .function = function,       .grid = k->plan.grid,
            .block = k->plan.block, .cluster = k->plan.cluster, .dynamic_shared = k->plan.dynamic_shared,
            .nonportable = true,    .arguments = arguments,     .argument_count = count};
        status = cj_mem_fill(cj_test_device, result, 0xa5, OUT * 8, NULL, error);
        do status = status ? status : cj_launch(cj_test_device, &config, error);
        while (!status && ++turn < k->plan.launches);
    }
    if (!status) status = cj_mem_read(cj_test_device, out, result, OUT * 8, NULL, error);
    if (!strcmp(cj_family_name(k->params.family), "topk") && has_word(k, "result", "any"))
        qsort(out, OUT * 2, 4, compare_words);  // in any order: what matters is which there are
    cj_mem_free(cj_test_device, x);
    cj_mem_free(cj_test_device, result);
    cj_mem_free(cj_test_device, workspace);
    return status;
}

// Whether `text` stands in the first `length` bytes of the line.
static bool has(const char *line, size_t length, const char *text) {
    const char *found = strstr(line, text);
    return found && found < line + length;
}

// Of sample with counts of keys: the digits, and with parts the draw from all, to which this input does not come. Other kernels have them.
static bool is_not_run(const kernel *k, const char *ptx, const char *line) {
    const char *digits = strstr(ptx, "where the counts do not say it"), *part = strstr(ptx, "the part of the row that has the goal");
    const char *draw = strstr(ptx, "the draw: every warp's kept mass");
    if (strcmp(cj_family_name(k->params.family), "sample")) return false;
    return (digits && line > digits && line < (part ? part : draw)) || (part && line > draw);
}

// Without a cluster's relaxed barrier the CPU device lets a block's own copies see mbarriers without their fence. Its lanes are
// together wherever the text has them so; ptxas' are not at B2 of topk, without B11, nor at sample's
// shuffles, without W1. A tile's total saves a later tile of sort from waiting; one host thread runs a tile to its end before the
// next one looks, which then finds the number up to it (test_sort.c has several host threads). N4 and N5 of sort matter where a row is
// sorted again, as many keys have a short prefix. S2 of sample publishes the mbarrier, too.
static bool can_miss(const cj_specimen *specimen, const char *line, size_t length) {
    const kernel *k = specimen->user;
    if (is_not_run(k, specimen->ptx, line)) return false;
    if (has(line, strcspn(line, "\n"), "// B11") || has(line, strcspn(line, "\n"), "// W1")) return false;
    if (has(line, strcspn(line, "\n"), "// the tile's total")) return false;
    if (has(line, strcspn(line, "\n"), "// N4") || has(line, strcspn(line, "\n"), "// N5")) return cj_params_get(&k->params, "prefix") == 1;
    const bool sample = !strcmp(cj_family_name(k->params.family), "sample");
    return !has(line, length, "fence.mbarrier_init") || (k->plan.cluster.x > 0 && !sample);
}

static cj_specimen open_specimen(const char *words) {
    static kernel one;  // one specimen is open at a time
    kernel       *k = &one;
    *k = (kernel){0};
    make_kernel(words, k);
    return (cj_specimen){.words = words,
                         .ptx = k->ptx,
                         .entry = k->plan.entry,
                         .bytes = OUT * 8,
                         .run = run,
                         .can_miss = can_miss,
                         .user = k};
}

static void close_specimen(const cj_specimen *specimen) { cj_text_free(((kernel *)specimen->user)->ptx); }

enum { SHARE = 5 };  // under a sanitizer one kernel in so many, and one schedule

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

int main(void) { return cj_mutation_main(&specimens, cj_test_few() ? SEEDS / SHARE : SEEDS); }

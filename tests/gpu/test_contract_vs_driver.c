// SPDX-License-Identifier: Apache-2.0
// The launch contract against the driver: random kernels with directives around every limit, loaded and launched in
// random shapes by the driver itself, with nothing of ours in between. Launch or refuse: our verdict is the driver's.
// The kernels end at once, so that nothing is left broken. CJ_FEW=1 tries a few, for compute-sanitizer.
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract_pool.h"
#include "occupancy.h"

enum { BLOCKS_MOST = 1 << 18, LAUNCHES_A_SYNC = 256, NAME_SIZE = 64, TALLY_MAX = 128 };

// ---- the driver

#define DRIVER(X)                                      \
    X(DeviceGet, 2000)                                 \
    X(DevicePrimaryCtxRetain, 7000)                    \
    X(DevicePrimaryCtxRelease, 11000)                  \
    X(CtxSetCurrent, 4000)                             \
    X(CtxSynchronize, 2000)                            \
    X(ModuleLoadDataEx, 2010)                          \
    X(ModuleUnload, 2000)                              \
    X(ModuleGetFunction, 2000)                         \
    X(FuncGetAttribute, 2020)                          \
    X(FuncSetAttribute, 9000)                          \
    X(LaunchKernelEx, 11060)                           \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
    X(OccupancyMaxActiveClusters, 11070)

static struct {
#define X(name, version) PFN_cu##name##_v##version name;
    DRIVER(X)
#undef X
} cu;

static cj_device *gpu;
static cj_limits  limits;
static CUdevice   device;

static void resolve(PFN_cuGetProcAddress_v12000 get, const char *name, int version, void *to) {
    void *found = NULL;
    if (get(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL) || !found) fail_msg("the driver lacks %s", name);
    memcpy(to, &found, sizeof found);
}

static int open_driver(void **state) {
    (void)state;
    PFN_cuGetProcAddress_v12000 get;
    CUcontext                   context;
    gpu = cj_test_gpu();
    limits = *cj_device_limits(gpu);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!symbol) return 1;
    memcpy(&get, &symbol, sizeof get);
#define X(name, version) resolve(get, "cu" #name, version, &cu.name);
    DRIVER(X)
#undef X
    return cu.DeviceGet(&device, 0) || cu.DevicePrimaryCtxRetain(&context, device) || cu.CtxSetCurrent(context);
}

static int close_driver(void **state) {
    (void)state;
    cu.DevicePrimaryCtxRelease(device);
    cj_device_close(gpu);
    return 0;
}

// ---- what was counted

// Outcomes by our word and the driver's code, with the first of each.
typedef struct tally {
    char     ours[NAME_SIZE];
    CUresult result;
    unsigned count;
    char     first[512];
} tally;

static tally  tallies[TALLY_MAX];
static size_t tally_count;

static tally *tally_of(const char *ours, CUresult result) {
    for (size_t i = 0; i < tally_count; i++) {
        if (tallies[i].result == result && !strcmp(tallies[i].ours, ours)) return &tallies[i];
    }
    if (tally_count == TALLY_MAX) fail_msg("more than %d kinds of outcome", TALLY_MAX);
    tally *made = &tallies[tally_count++];
    *made = (tally){.result = result};
    snprintf(made->ours, sizeof made->ours, "%s", ours);
    return made;
}

// Prints all, and how many disagree: one of the two launches (or loads), the other does not.
static unsigned print_tallies(const char *what, const char *fine) {
    unsigned bad = 0;
    print_message("%s\n  %-26s %6s %6s\n", what, "ours", "driver", "times");
    for (size_t i = 0; i < tally_count; i++) {
        const tally *t = &tallies[i];
        const bool   differs = !strcmp(t->ours, fine) != (t->result == CUDA_SUCCESS);
        print_message("  %-26s %6d %6u%s%s\n", t->ours, (int)t->result, t->count, differs ? "  DIFFERS: " : "",
                      differs ? t->first : "");
        bad += differs ? t->count : 0;
    }
    tally_count = 0;
    return bad;
}

// ---- kernels

typedef struct kernel {
    cj_pool_kernel made;
    CUmodule       module;
    CUfunction     function;
    int            dynamic_default;  // bytes of dynamic shared memory that it may have without opt-in
} kernel;

// The directives, on one line.
static void head_of(const cj_pool_kernel *made, char *text, size_t size) {
    const char *head = strstr(made->ptx.data, "p)\n") + 3, *end = strchr(head, '{');
    snprintf(text, size, "%s %.*s, %u B static, %u registers", made->arch, (int)(end - head), head,
             made->contract.static_shared, made->contract.registers);
    for (char *at = text; *at; at++) {
        if (*at == '\n') *at = ' ';
    }
}

static CUresult load(kernel *k) {
    int      registers = 0;
    CUresult result = cu.ModuleLoadDataEx(&k->module, k->made.ptx.data, 0, NULL, NULL);
    if (!result) result = cu.ModuleGetFunction(&k->function, k->module, "k");
    if (!result) result = cu.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, k->function);
    if (!result)
        result = cu.FuncGetAttribute(&k->dynamic_default, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k->function);
    k->made.contract.registers = (uint32_t)registers;
    return result;
}

// Makes `count` kernels and keeps those that load. Returns how many that are.
static size_t make_kernels(uint64_t *random, kernel *kernels, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kernel *k = &kernels[kept];
        cj_test_pool_kernel(random, &limits, &k->made);
        CUresult result = load(k);
        tally   *t = tally_of(k->made.loads ? "loads" : k->made.why.rule[0] ? k->made.why.rule : "not PTX", result);
        if (!t->count++) head_of(&k->made, t->first, sizeof t->first);
        if (!result && k->made.loads)
            kept++;
        else
            cj_test_pool_free(&k->made);
    }
    return kept;
}

// ---- launches

static cj_dim3 near_block(uint64_t *random, const cj_contract *c) {
    static const cj_dim3 blocks[] = {{1, 1, 1},   {32, 1, 1},   {128, 1, 1},  {256, 1, 1}, {16, 16, 1}, {512, 1, 1},
                                     {257, 1, 1}, {1023, 1, 1}, {1024, 1, 1}, {8, 4, 4},   {1, 1, 64},  {128, 1, 1},
                                     {64, 1, 1},  {320, 1, 1},  {640, 1, 1},  {1024, 1, 1}};
    static const cj_dim3 wrong[] = {{1025, 1, 1},          {0, 1, 1},          {1, 0, 1},   {1, 1, 65},
                                    {1, 1024, 1},          {2, 1024, 1},       {32, 32, 2}, {1, 1, 0},
                                    {65536, 65536, 65536}, {UINT32_MAX, 1, 1}, {1, 2048, 1}};
    if (cj_test_chance(random, 10)) return CJ_PICK(random, wrong);
    if (c->reqntid.x && cj_test_chance(random, 85)) return c->reqntid;
    return CJ_PICK(random, blocks);
}

static cj_dim3 near_cluster(uint64_t *random, const cj_contract *c) {
    static const cj_dim3 clusters[] = {{1, 1, 1}, {2, 1, 1},  {4, 1, 1}, {8, 1, 1}, {16, 1, 1}, {2, 2, 1},
                                       {2, 2, 2}, {3, 1, 1},  {1, 4, 1}, {1, 1, 4}, {4, 4, 1},  {9, 1, 1},
                                       {5, 3, 1}, {12, 1, 1}, {7, 1, 1}, {1, 1, 8}};
    static const cj_dim3 wrong[] = {
        {17, 1, 1}, {32, 1, 1}, {0, 1, 1}, {2, 0, 1}, {1, 1, 0}, {4, 4, 2}, {65536, 65536, 65536}, {UINT32_MAX, 1, 1}};
    if (cj_test_chance(random, 5)) return CJ_PICK(random, wrong);
    if (c->reqnctapercluster.x && cj_test_chance(random, 40)) return c->reqnctapercluster;
    if (cj_test_chance(random, c->reqnctapercluster.x ? 80 : 40)) return (cj_dim3){0, 0, 0};
    return CJ_PICK(random, clusters);
}

static uint64_t volume(cj_dim3 d) { return (uint64_t)d.x * d.y * d.z; }
static bool     over(cj_dim3 d, cj_dim3 most) { return d.x > most.x || d.y > most.y || d.z > most.z; }

static cj_dim3 near_grid(uint64_t *random, cj_dim3 cluster) {
    static const uint32_t counts[] = {1, 1, 2, 3, 4, 7, 16};
    static const cj_dim3  wrong[] = {{0, 1, 1},     {1, 0, 1},          {1, 1, 0},           {1, 65536, 1},
                                     {1, 1, 65536}, {1, UINT32_MAX, 1}, {0x80000000u, 1, 1}, {UINT32_MAX, 1, 1}};
    static const cj_dim3  large[] = {{1, 65535, 1}, {1, 1, 65535}, {65536, 1, 1}, {132, 1, 1},
                                     {133, 1, 1},   {1056, 1, 1},  {264, 1, 1},   {4224, 1, 1},
                                     {4225, 1, 1},  {2112, 1, 1},  {120, 1, 1},   {112, 1, 1}};
    if (cj_test_chance(random, 6)) return CJ_PICK(random, wrong);
    if (cj_test_chance(random, 15)) return CJ_PICK(random, large);
    cj_dim3 grid = {CJ_PICK(random, counts), CJ_PICK(random, counts), CJ_PICK(random, counts)};
    if (!volume(cluster) || volume(cluster) > 64 || cj_test_chance(random, 15)) return grid;
    return (cj_dim3){grid.x * cluster.x, grid.y * cluster.y, grid.z * cluster.z};
}

static uint32_t near_shared(uint64_t *random, const cj_contract *c) {
    const uint32_t        edges[] = {limits.shared_per_block, limits.shared_per_block_optin,
                                     limits.shared_per_block_optin / 2};
    static const uint32_t sizes[] = {16, 1000, 8192, 20000, 40000, 65536, 100000, 204800, 1u << 20, UINT32_MAX};
    if (cj_test_chance(random, 55)) return 0;
    if (cj_test_chance(random, 50)) return CJ_PICK(random, sizes);
    const uint32_t edge = CJ_PICK(random, edges), off = (uint32_t)(cj_test_random(random) % 3);
    return edge + off > c->static_shared + 1 ? edge + off - 1 - c->static_shared : 0;
}

static cj_launch_shape near_shape(uint64_t *random, const cj_contract *c) {
    cj_launch_shape shape = {.cluster = near_cluster(random, c),
                             .nonportable = cj_test_chance(random, 60),
                             .smem_optin = cj_test_chance(random, 70),
                             .cooperative = cj_test_chance(random, 15)};
    shape.block = near_block(random, c);
    shape.dynamic_shared = near_shared(random, c);
    do {  // a grid that the driver may launch must end soon
        shape.grid = near_grid(random, cj__contract_cluster(c, shape.cluster));
    } while (!over(shape.grid, limits.max_grid) && volume(shape.grid) > BLOCKS_MOST);
    return shape;
}

typedef struct launch {
    CUlaunchAttribute attribute[3];
    CUlaunchConfig    config;
} launch;

static void prepare(const cj_launch_shape *shape, launch *l) {
    unsigned count = 0;
    *l = (launch){.config = {.gridDimX = shape->grid.x,
                             .gridDimY = shape->grid.y,
                             .gridDimZ = shape->grid.z,
                             .blockDimX = shape->block.x,
                             .blockDimY = shape->block.y,
                             .blockDimZ = shape->block.z,
                             .sharedMemBytes = shape->dynamic_shared,
                             .attrs = l->attribute}};
    if (shape->cluster.x || shape->cluster.y || shape->cluster.z) {
        l->attribute[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        l->attribute[count].value.clusterDim.x = shape->cluster.x;
        l->attribute[count].value.clusterDim.y = shape->cluster.y;
        l->attribute[count++].value.clusterDim.z = shape->cluster.z;
    }
    if (shape->cooperative) {
        l->attribute[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        l->attribute[count++].value.cooperative = 1;
    }
#if CUDA_VERSION >= 12080
    if (volume(shape->preferred)) {
        l->attribute[count].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
        l->attribute[count].value.preferredClusterDim.x = shape->preferred.x;
        l->attribute[count].value.preferredClusterDim.y = shape->preferred.y;
        l->attribute[count++].value.preferredClusterDim.z = shape->preferred.z;
    }
#endif
    l->config.numAttrs = count;
}

static CUresult opt_in(const kernel *k, const cj_launch_shape *shape) {
    const int most = (int)(limits.shared_per_block_optin - k->made.contract.static_shared);
    CUresult  result = cu.FuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                           shape->nonportable);
    if (result) return result;
    return cu.FuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               shape->smem_optin ? most : k->dynamic_default);
}

// How many clusters of the block in force the driver says it holds: GPCs differ from chip to chip.
static uint32_t active(const kernel *k, const cj_launch_shape *shape) {
    cj_launch_shape in_force = *shape;
    launch          l;
    int             clusters = 0;
    in_force.block = cj__contract_block(&k->made.contract, shape->block);
    prepare(&in_force, &l);
    return cu.OccupancyMaxActiveClusters(&clusters, k->function, &l.config) ? 0 : (uint32_t)clusters;
}

static void describe(const kernel *k, const cj_launch_shape *s, char *text, size_t size) {
    char head[256], preferred[48] = "";
    head_of(&k->made, head, sizeof head);
    if (volume(s->preferred))
        snprintf(preferred, sizeof preferred, " preferred %u,%u,%u", s->preferred.x, s->preferred.y, s->preferred.z);
    snprintf(text, size, "grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u%s smem %u%s%s%s active %u: %s", s->grid.x,
             s->grid.y, s->grid.z, s->block.x, s->block.y, s->block.z, s->cluster.x, s->cluster.y, s->cluster.z,
             preferred, s->dynamic_shared, s->nonportable ? " nonportable" : "", s->smem_optin ? " optin" : "",
             s->cooperative ? " cooperative" : "", s->active_clusters, head);
}

static void try_launch(uint64_t *random, const kernel *k) {
    launch          l;
    cj_error        error;
    uint64_t        nothing = 0;
    void           *arguments[] = {&nothing};
    cj_launch_shape shape = near_shape(random, &k->made.contract);
    prepare(&shape, &l);
    CUresult      result = opt_in(k, &shape);
    const cj_dim3 cluster = cj__contract_cluster(&k->made.contract, shape.cluster);
    if (volume(cluster)) shape.active_clusters = active(k, &shape);
    cj_status   status = cj__contract_check(&k->made.contract, &shape, &limits, &error);
    const char *ours = result ? "(no opt-in)" : status ? error.rule : "launches";
    if (!result) result = cu.LaunchKernelEx(&l.config, k->function, arguments, NULL);
    tally *t = tally_of(ours, result);
    if (!t->count++) describe(k, &shape, t->first, sizeof t->first);
}

static size_t   kernel_count;
static kernel  *kernels;
static uint64_t sequence;

static void loads_agree(void **state) {
    (void)state;
    const size_t count = cj_test_few() ? 20 : 250;
    kernels = calloc(count, sizeof *kernels);
    sequence = cj_test_seed();
    kernel_count = make_kernels(&sequence, kernels, count);
    unsigned bad = print_tallies("loading", "loads");
    assert_int_equal(bad, 0);
}

static void launches_agree(void **state) {
    (void)state;
    const unsigned count = cj_test_few() ? 100 : 10000;
    assert_true(kernel_count > 0);
    for (unsigned i = 0; i < count; i++) {
        try_launch(&sequence, &kernels[cj_test_random(&sequence) % kernel_count]);
        if (i % LAUNCHES_A_SYNC == 0) assert_int_equal(cu.CtxSynchronize(), CUDA_SUCCESS);
    }
    assert_int_equal(cu.CtxSynchronize(), CUDA_SUCCESS);
    unsigned bad = print_tallies("launching", "launches");
    assert_int_equal(bad, 0);
}

// ---- the occupancy model

static cj_occupancy model(const kernel *k, unsigned threads, unsigned dynamic, unsigned cluster) {
    const cj_contract  *c = &k->made.contract;
    const cj_kernel_use use = {.threads = threads,
                               .registers = c->registers,
                               .shared = (uint64_t)c->static_shared + dynamic,
                               .cluster = cluster};
    cj_limits           known = limits, part;
    cj_occupancy        room;
    if (strstr(limits.name, "H200") && !cj_limits_named("h200", &part, NULL))
        memcpy(known.gpc_sms, part.gpc_sms, sizeof known.gpc_sms);
    cj__occupancy(&use, &known, &room);
    return room;
}

// A kernel, a block that it takes and shared memory within the limits.
static const kernel *pick_use(unsigned *threads, unsigned *dynamic) {
    const kernel *k = &kernels[cj_test_random(&sequence) % kernel_count];
    *threads = 1 + (unsigned)(cj_test_random(&sequence) % limits.max_threads_per_block);
    *dynamic = cj_test_chance(&sequence, 40) ? 0 : (unsigned)(cj_test_random(&sequence) % 100000);
    opt_in(k, &(cj_launch_shape){.nonportable = true, .smem_optin = true});
    return k;
}

static void blocks_per_sm_agree(void **state) {
    (void)state;
    unsigned bad = 0;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned      threads, dynamic;
        const kernel *k = pick_use(&threads, &dynamic);
        int           blocks = -1;
        if (k->made.contract.reqntid.x || k->made.contract.maxntid.x) continue;
        CUresult     result = cu.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function, (int)threads, dynamic);
        cj_occupancy room = model(k, threads, dynamic, 0);
        if (!result && (uint32_t)blocks == room.blocks_per_sm) continue;
        if (bad++ < 20)
            print_message("%u threads, %u registers, %u + %u B: %d blocks an SM (%d), by our count %u (%s)\n", threads,
                          k->made.contract.registers, k->made.contract.static_shared, dynamic, blocks, (int)result,
                          room.blocks_per_sm, cj__resource_name(room.limited_by));
    }
    assert_int_equal(bad, 0);
}

// Clusters of a kernel that the driver and we say are active at once: the same?
static bool same_clusters(const kernel *k, unsigned cluster, unsigned threads, unsigned dynamic) {
    const cj_launch_shape shape = {.grid = {cluster, 1, 1},
                                   .block = {threads, 1, 1},
                                   .cluster = {cluster, 1, 1},
                                   .dynamic_shared = dynamic,
                                   .nonportable = true,
                                   .smem_optin = true};
    const cj_occupancy    room = model(k, threads, dynamic, cluster);
    int                   clusters = -1;
    launch                l;
    prepare(&shape, &l);
    if (opt_in(k, &shape)) fail_msg("no opt-in");
    CUresult result = cu.OccupancyMaxActiveClusters(&clusters, k->function, &l.config);
    if (!result && (uint32_t)clusters == room.active_clusters) return true;
    print_message("  cluster %2u, %4u threads, %3u registers, %6u B: %u an SM, %d active (%d), by our count %u\n",
                  cluster, threads, k->made.contract.registers, dynamic, room.blocks_per_sm, clusters, (int)result,
                  room.active_clusters);
    return false;
}

// A kernel that says nothing about its launches.
static const kernel *plain_kernel(void) {
    for (size_t i = 0; i < kernel_count; i++) {
        const cj_contract *c = &kernels[i].made.contract;
        const bool         says = c->reqntid.x || c->maxntid.x || c->reqnctapercluster.x || c->maxclusterrank;
        if (!says && !c->static_shared && !c->maxnreg && c->registers < 64) return &kernels[i];
    }
    return NULL;
}

// Not asserted: which SMs a GPC has is a chip's own.
static void clusters_are_compared(void **state) {
    (void)state;
    static const unsigned shared[] = {204800, 100000, 48000, 0}, threads[] = {128, 1024};
    const kernel         *k = plain_kernel();
    unsigned              tried = 0, same = 0;
    if (!k) fail_msg("no kernel without directives among %zu", kernel_count);
    for (size_t i = 0; i < CJ_TEST_COUNT(shared); i++) {
        for (size_t j = 0; j < CJ_TEST_COUNT(threads); j++) {
            for (unsigned cluster = 1; cluster <= limits.max_cluster; cluster++, tried++) {
                same += same_clusters(k, cluster, threads[j], shared[i]);
            }
        }
    }
    print_message("active clusters: %u of %u as counted\n", same, tried);
}

// Not asserted: which GPUs take a preferred cluster, and what they hold it to, is learnt here.
static void preferred_clusters_are_compared(void **state) {
    (void)state;
    static const cj_dim3 preferred[] = {{2, 1, 1}, {4, 1, 1}, {3, 1, 1}, {2, 2, 1}, {8, 1, 1}, {16, 1, 1}, {1, 1, 1}};
    static const cj_dim3 grids[] = {{16, 2, 1}, {6, 1, 1}, {48, 2, 1}};
    const kernel        *k = plain_kernel();
    uint64_t             nothing = 0;
    void                *arguments[] = {&nothing};
    for (size_t i = 0; k && i < CJ_TEST_COUNT(preferred) * CJ_TEST_COUNT(grids); i++) {
        const cj_launch_shape shape = {.grid = grids[i / CJ_TEST_COUNT(preferred)],
                                       .block = {32, 1, 1},
                                       .cluster = {2, 1, 1},
                                       .preferred = preferred[i % CJ_TEST_COUNT(preferred)]};
        launch                l;
        cj_error              error;
        prepare(&shape, &l);
        opt_in(k, &shape);
        cj_status status = cj__contract_check(&k->made.contract, &shape, &limits, &error);
        CUresult  result = cu.LaunchKernelEx(&l.config, k->function, arguments, NULL);
        tally    *t = tally_of(status ? error.rule : "launches", result);
        if (!t->count++) describe(k, &shape, t->first, sizeof t->first);
    }
    print_tallies("preferred clusters", "launches");
    assert_int_equal(cu.CtxSynchronize(), CUDA_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_agree),
        cmocka_unit_test(launches_agree),
        cmocka_unit_test(blocks_per_sm_agree),
        cmocka_unit_test(clusters_are_compared),
        cmocka_unit_test(preferred_clusters_are_compared),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}

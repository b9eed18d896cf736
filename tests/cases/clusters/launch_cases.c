// SPDX-License-Identifier: Apache-2.0
#include "launch_cases.h"

#include <clusterjit/clusterjit.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "launch_captures.h"
#include "test.h"

// Kernels that are written by hand. Each thread of `store` writes a value; `rank` writes the size of each block's
// cluster; `far` keeps its values at the end of its dynamic shared memory; `join` is a barrier of the grid; `early`
// lets `late` start long before it has written what `late` reads; `copy` returns the argument that it gets by value.
static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .shared .align 16 .b8 tile[];\n"
    ".visible .entry store(.param .u64 out, .param .u32 value)\n{\n"
    "    .reg .b64 %at;\n    .reg .b32 %value, %i;\n"
    "    ld.param.u64 %at, [out];\n    ld.param.u32 %value, [value];\n    cvta.to.global.u64 %at, %at;\n"
    "    mov.u32 %i, %tid.x;\n    mad.wide.u32 %at, %i, 4, %at;\n    st.global.u32 [%at], %value;\n    ret;\n}\n"
    ".visible .entry rank(.param .u64 out)\n{\n"
    "    .reg .b64 %at;\n    .reg .b32 %size, %block;\n"
    "    ld.param.u64 %at, [out];\n    cvta.to.global.u64 %at, %at;\n    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %size, %cluster_nctarank;\n    mad.wide.u32 %at, %block, 4, %at;\n    st.global.u32 [%at], %size;\n"
    "    ret;\n}\n"
    ".visible .entry far(.param .u64 out, .param .u32 bytes)\n{\n"
    "    .reg .b64 %at;\n    .reg .b32 %i, %mine, %other, %v, %end;\n"
    "    ld.param.u64 %at, [out];\n    cvta.to.global.u64 %at, %at;\n    ld.param.u32 %end, [bytes];\n"
    "    mov.u32 %i, %tid.x;\n    mov.u32 %mine, tile;\n    add.u32 %mine, %mine, %end;\n"
    "    mad.lo.u32 %mine, %i, -4, %mine;\n    st.shared.u32 [%mine + -4], %i;\n    bar.sync 0;\n"
    "    xor.b32 %other, %i, 1;\n    mov.u32 %mine, tile;\n    add.u32 %mine, %mine, %end;\n"
    "    mad.lo.u32 %mine, %other, -4, %mine;\n    ld.shared.u32 %v, [%mine + -4];\n"
    "    mad.wide.u32 %at, %i, 4, %at;\n    st.global.u32 [%at], %v;\n    ret;\n}\n"
    ".visible .entry join(.param .u64 out, .param .u64 counter)\n{\n"
    "    .reg .b64 %out, %at, %counter;\n    .reg .b32 %block, %next, %n, %v;\n    .reg .pred %p;\n"
    "    mov.u32 %v, %tid.x;\n    setp.ne.u32 %p, %v, 0;\n    @%p ret;\n"
    "    ld.param.u64 %out, [out];\n    ld.param.u64 %counter, [counter];\n    cvta.to.global.u64 %out, %out;\n"
    "    cvta.to.global.u64 %counter, %counter;\n    mov.u32 %block, %ctaid.x;\n    mov.u32 %n, %nctaid.x;\n"
    "    mad.wide.u32 %at, %block, 4, %out;\n    st.global.u32 [%at], %block;\n"
    "    atom.add.acq_rel.gpu.global.u32 %v, [%counter], 1;\n"
    "again:\n    ld.acquire.gpu.global.u32 %v, [%counter];\n    setp.lt.u32 %p, %v, %n;\n    @%p bra again;\n"
    "    add.u32 %next, %block, 1;\n    rem.u32 %next, %next, %n;\n    mad.wide.u32 %at, %next, 4, %out;\n"
    "    ld.global.u32 %v, [%at];\n    add.u32 %next, %n, %block;\n    mad.wide.u32 %at, %next, 4, %out;\n"
    "    st.global.u32 [%at], %v;\n    ret;\n}\n"
    ".visible .entry early(.param .u64 x)\n{\n"
    "    .reg .b64 %at;\n    .reg .b32 %i, %block, %threads;\n"
    "    griddepcontrol.launch_dependents;\n    nanosleep.u32 20000;\n"
    "    ld.param.u64 %at, [x];\n    cvta.to.global.u64 %at, %at;\n    mov.u32 %i, %tid.x;\n    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %threads, %ntid.x;\n    mad.lo.u32 %i, %block, %threads, %i;\n    mad.wide.u32 %at, %i, 4, %at;\n"
    "    mul.lo.u32 %i, %i, 3;\n    st.global.u32 [%at], %i;\n    ret;\n}\n"
    ".visible .entry late(.param .u64 x, .param .u64 y)\n{\n"
    "    .reg .b64 %x, %y;\n    .reg .b32 %i, %block, %threads, %v;\n"
    "    ld.param.u64 %x, [x];\n    ld.param.u64 %y, [y];\n    cvta.to.global.u64 %x, %x;\n    cvta.to.global.u64 %y, %y;\n"
    "    mov.u32 %i, %tid.x;\n    mov.u32 %block, %ctaid.x;\n    mov.u32 %threads, %ntid.x;\n"
    "    mad.lo.u32 %i, %block, %threads, %i;\n    mad.wide.u32 %x, %i, 4, %x;\n    mad.wide.u32 %y, %i, 4, %y;\n"
    "    griddepcontrol.wait;\n    ld.global.u32 %v, [%x];\n    add.u32 %v, %v, 1;\n    st.global.u32 [%y], %v;\n    ret;\n}\n"
    ".visible .entry copy(.param .u64 out, .param .align 8 .b8 given[24], .param .align 64 .b8 map[128])\n{\n"
    "    .reg .b64 %at, %v;\n    ld.param.u64 %at, [out];\n    cvta.to.global.u64 %at, %at;\n"
#define COPY(from, to) "    ld.param.u64 %v, [" from "];\n    st.global.u64 [%at + " to "], %v;\n"
    COPY("given", "0") COPY("given + 8", "8") COPY("given + 16", "16") COPY("map", "24") COPY("map + 64", "32")
    COPY("map + 120", "40") "    ret;\n}\n";

enum { THREADS = 8, WORDS = 1 << 17 };

static cj_device *device;
static unsigned   launches;
static cj_module *module;
static cj_ptr     memory;  // WORDS of 32 bits, all ones before each test
static uint32_t   words[WORDS];

static int open_module(void **state) {
    (void)state;
    cj_error error = {0};
    cj_test_ok(cj_module_from_ptx(device, kernels, sizeof kernels - 1, &module, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof words, &memory, &error), &error);
    return 0;
}

static int close_module(void **state) {
    (void)state;
    cj_mem_free(device, memory);
    cj_module_unload(module);
    cj_device_close(device);
    return 0;
}

static int poison(void **state) {
    (void)state;
    cj_error error = {0};
    cj_test_ok(cj_mem_fill(device, memory, 0xff, sizeof words, NULL, &error), &error);
    return 0;
}

static void read_back(size_t count) {
    cj_error error = {0};
    cj_test_ok(cj_synchronize(device, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, words, memory, count * sizeof *words, NULL, &error), &error);
}

static cj_function *find(const char *entry) {
    cj_function *function = NULL;
    cj_error     error = {0};
    cj_test_ok(cj_module_function(module, entry, &function, &error), &error);
    return function;
}

static bool is_gpu(void) { return !strcmp(cj_device_kind(device), "gpu"); }

// ---- attributes

static void every_attribute_launches_or_is_refused_by_name(void **state) {
    (void)state;
    const cj_limits *limits = cj_device_limits(device);
    const bool       prefers = !is_gpu() || (limits->compute_capability >= 100 && limits->driver_version >= 12080);
    const struct {
        cj_launch_attributes attributes;
        const char          *refused;  // by this rule; NULL: the launch must work
    } rows[] = {
        {{0}, NULL},
        {{.cluster_scheduling = CJ_CLUSTER_SCHEDULING_SPREAD}, NULL},
        {{.cluster_scheduling = CJ_CLUSTER_SCHEDULING_LOAD_BALANCING}, NULL},
        {{.preferred_cluster = {4, 1, 1}}, prefers ? NULL : "launch-preferred-cluster"},
        {{.programmatic = true}, NULL},
        {{.cooperative = true}, NULL},
        {{.priority = -1}, NULL},
        {{.priority = -100}, "launch-priority"},
        {{.priority = 1}, "launch-priority"},
        {{.sync_domain = CJ_SYNC_DOMAIN_REMOTE}, NULL},
        {{.sync_domain_map = {0, 1}}, NULL},
        {{.sync_domain_map = {0, 200}}, "launch-sync-domain"},
        {{.programmatic = true, .priority = -1, .sync_domain = CJ_SYNC_DOMAIN_REMOTE, .sync_domain_map = {1, 0}}, NULL},
    };
    cj_launch_config config = {CJ_INIT(config),     .function = find("rank"), .grid = {8, 1, 1},
                               .block = {32, 1, 1}, .cluster = {2, 1, 1},     CJ_ARGS(memory)};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_error error = {0};
        poison(NULL);
        config.attributes = rows[i].attributes;
        cj_status status = cj_launch(device, &config, &error);
        if (!rows[i].refused) cj_test_ok(status, &error);
        if (rows[i].refused) assert_int_equal(status, CJ_CONTRACT);
        assert_string_equal(error.rule, rows[i].refused ? rows[i].refused : "");
        read_back(8);
        for (int k = 0; k < 8 && !rows[i].refused; k++) assert_true(words[k] == 2 || (words[k] == 4 && prefers));
    }
}

static void a_cluster_of_16_launches_when_asked_for(void **state) {
    (void)state;
    cj_error         error = {0};
    cj_launch_config config = {CJ_INIT(config),     .function = find("rank"), .grid = {32, 1, 1},
                               .block = {64, 1, 1}, .cluster = {16, 1, 1},    CJ_ARGS(memory)};
    assert_int_equal(cj_launch(device, &config, &error), CJ_CONTRACT);
    if (cj_device_limits(device)->max_cluster < 16) return;
    assert_string_equal(error.rule, "cluster-portable");
    config.nonportable = true;
    cj_test_ok(cj_launch(device, &config, &error), &error);
    read_back(32);
    for (int i = 0; i < 32; i++) assert_int_equal(words[i], 16);
}

static void all_shared_memory_of_a_block_can_be_used(void **state) {
    (void)state;
    uint32_t         bytes = cj_device_limits(device)->shared_per_block_optin;
    cj_error         error = {0};
    cj_launch_config config = {CJ_INIT(config),      .function = find("far"), .grid = {1, 1, 1},
                               .block = {128, 1, 1}, .dynamic_shared = bytes, CJ_ARGS(memory, bytes)};
    cj_test_ok(cj_launch(device, &config, &error), &error);
    read_back(128);
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(words[i], i ^ 1);
    config.dynamic_shared = bytes + 1;
    assert_int_equal(cj_launch(device, &config, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "shared-limit");
}

// ---- grids

// As many blocks as are resident at once, each of which waits for all others; with one block more the launch is
// refused.
static void a_barrier_of_the_grid_holds_all_blocks(void **state) {
    (void)state;
    const cj_dim3        block = {256, 1, 1};
    cj_cluster_occupancy occupancy = {CJ_INIT(occupancy)};
    cj_error             error = {0};
    cj_ptr               counter = memory + sizeof words - 4;
    cj_launch_config     config = {CJ_INIT(config), .function = find("join"), .block = block, CJ_ARGS(memory, counter)};
    cj_test_ok(cj_function_occupancy(config.function,
                                     &(cj_occupancy_query){CJ_INIT(cj_occupancy_query), .block = block}, &occupancy,
                                     &error),
               &error);
    const uint32_t most = occupancy.active_clusters;
    assert_true(most >= 256);
    config.grid = (cj_dim3){most, 1, 1};
    config.attributes.cooperative = true;
    cj_test_ok(cj_mem_fill(device, counter, 0, 4, NULL, &error), &error);
    cj_test_ok(cj_launch(device, &config, &error), &error);
    read_back(2 * most);
    for (uint32_t i = 0; i < most; i++) {
        assert_int_equal(words[i], i);
        assert_int_equal(words[most + i], (i + 1) % most);
    }
    config.grid.x++;
    assert_int_equal(cj_launch(device, &config, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cooperative-size");
}

// The barrier of the grid that nvcc generates for this_grid().sync(), twice: on the memory whose address is in %envreg1
// and %envreg2. The highest bit of its second word flips once all blocks have counted themselves. The counter is 1 if
// there was no such memory.
#define GRID_SYNC(label)                                                                                        \
    "    bar.sync 0;\n    @%rest bra " label "_met;\n    atom.add.release.gpu.u32 %old, [%memory + 4], %add;\n" \
    label ":\n    ld.acquire.gpu.u32 %now, [%memory + 4];\n    xor.b32 %now, %now, %old;\n"                  \
    "    setp.ge.s32 %p, %now, 0;\n    @%p bra " label ";\n" label "_met:\n    bar.sync 0;\n"
static const char grid_sync[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry grid_sync(.param .u64 out)\n{\n"
    "    .reg .b64 %out, %at, %memory;\n    .reg .b32 %i, %n, %v, %add, %old, %now, %low, %high, %t;\n"
    "    .reg .pred %p, %rest;\n"
    "    ld.param.u64 %out, [out];\n    cvta.to.global.u64 %out, %out;\n    mov.u32 %high, %envreg1;\n"
    "    mov.u32 %low, %envreg2;\n    mov.b64 %memory, {%low, %high};\n    mov.u32 %t, %tid.x;\n"
    "    mov.u32 %i, %ctaid.x;\n    mov.u32 %n, %nctaid.x;\n    setp.ne.u32 %rest, %t, 0;\n"
    "    setp.ne.u64 %p, %memory, 0;\n    @%p bra cooperative;\n"
    "    mad.wide.u32 %at, %i, 4, %out;\n    st.global.u32 [%at], 1;\n    ret;\n"
    "cooperative:\n    setp.eq.u32 %p, %i, 0;\n    sub.u32 %add, 0x80000001, %n;\n    selp.b32 %add, %add, 1, %p;\n"
    "    mov.u32 %v, %ntid.x;\n    mad.lo.u32 %i, %i, %v, %t;\n    mul.lo.u32 %n, %n, %v;\n"
    "    mad.wide.u32 %at, %i, 4, %out;\n    st.global.u32 [%at], %i;\n" GRID_SYNC("first")
    "    add.u32 %t, %i, 37;\n    rem.u32 %t, %t, %n;\n    mad.wide.u32 %at, %t, 4, %out;\n    ld.global.u32 %v, [%at];\n"
    GRID_SYNC("second")
    "    mad.wide.u32 %at, %i, 4, %out;\n    st.global.u32 [%at], %v;\n    ret;\n}\n";

static void a_barrier_of_the_grid_works_as_nvcc_writes_it(void **state) {
    (void)state;
    enum { BLOCKS = 100, THREADS_A_BLOCK = 64, N = BLOCKS * THREADS_A_BLOCK };
    cj_module       *own = NULL;
    cj_error         error = {0};
    cj_launch_config config = {CJ_INIT(config), .grid = {BLOCKS, 1, 1}, .block = {THREADS_A_BLOCK, 1, 1},
                               CJ_ARGS(memory)};
    cj_test_ok(cj_module_from_ptx(device, grid_sync, sizeof grid_sync - 1, &own, &error), &error);
    cj_test_ok(cj_module_function(own, "grid_sync", &config.function, &error), &error);
    config.attributes.cooperative = true;
    for (int time = 0; time < 3; time++) {
        poison(NULL);
        cj_test_ok(cj_launch(device, &config, &error), &error);
        read_back(N);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(words[i], (i + 37) % N);
    }
    config.attributes.cooperative = false;
    if (!strcmp(cj_device_kind(device), "cpu")) {  // driver 580 gives such memory to every launch on an H200
        cj_test_ok(cj_launch(device, &config, &error), &error);
        read_back(BLOCKS);
        for (uint32_t i = 0; i < BLOCKS; i++) assert_int_equal(words[i], 1);
    }
    cj_module_unload(own);
}

// With .blocksareclusters the launch counts clusters; a block of one thread means the required one. Each thread of the
// grid writes its position.
static const char counted[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry counted(.param .u64 out)\n.reqntid 64, 1, 1\n.blocksareclusters\n.reqnctapercluster 2, 1, 1\n{\n"
    "    .reg .b64 %at;\n    .reg .b32 %i, %n, %v, %row;\n"
    "    ld.param.u64 %at, [out];\n    cvta.to.global.u64 %at, %at;\n"
    "    mov.u32 %i, %ctaid.x;\n    mov.u32 %row, %ctaid.y;\n    mov.u32 %n, %nctaid.x;\n"
    "    mad.lo.u32 %i, %row, %n, %i;\n    mov.u32 %v, %tid.x;\n    mad.lo.u32 %i, %i, 64, %v;\n"
    "    mad.wide.u32 %at, %i, 4, %at;\n    mov.u32 %v, %nclusterid.x;\n    mad.lo.u32 %n, %v, 256, %n;\n"
    "    mov.u32 %v, %clusterid.x;\n    mad.lo.u32 %n, %v, 65536, %n;\n    mov.u32 %v, %cluster_ctarank;\n"
    "    mad.lo.u32 %n, %v, 16777216, %n;\n    st.global.u32 [%at], %n;\n    ret;\n}\n";

static void a_grid_of_clusters_has_all_its_blocks(void **state) {
    (void)state;
    enum { CLUSTERS = 3, ROWS = 2, BLOCKS = 2 * CLUSTERS, THREADS_A_BLOCK = 64 };
    cj_module       *own = NULL;
    cj_error         error = {0};
    cj_launch_config config = {CJ_INIT(config), .grid = {CLUSTERS, ROWS, 1}, .block = {1, 1, 1}, CJ_ARGS(memory)};
    cj_test_ok(cj_module_from_ptx(device, counted, sizeof counted - 1, &own, &error), &error);
    cj_test_ok(cj_module_function(own, "counted", &config.function, &error), &error);
    for (config.block.x = 1; config.block.x <= THREADS_A_BLOCK; config.block.x += THREADS_A_BLOCK - 1) {
        poison(NULL);
        cj_test_ok(cj_launch(device, &config, &error), &error);
        read_back(ROWS * BLOCKS * THREADS_A_BLOCK + 1);
        for (uint32_t i = 0; i < ROWS * BLOCKS * THREADS_A_BLOCK; i++) {
            const uint32_t block = i / THREADS_A_BLOCK % BLOCKS;
            assert_int_equal(words[i], BLOCKS | CLUSTERS << 8 | block / 2 << 16 | block % 2 << 24);
        }
        assert_int_equal(words[ROWS * BLOCKS * THREADS_A_BLOCK], UINT32_MAX);
    }
    config.block.x = THREADS_A_BLOCK;
    config.grid.y = 65536;
    assert_int_equal(cj_launch(device, &config, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "grid-axis");
    cj_module_unload(own);
}

static void a_dependent_kernel_reads_what_the_one_before_it_wrote(void **state) {
    (void)state;
    enum { N = 64 * 128 };
    cj_ptr           y = memory + N * sizeof *words;
    cj_error         error = {0};
    cj_launch_config early = {CJ_INIT(early), .function = find("early"), .grid = {64, 1, 1}, .block = {128, 1, 1},
                              CJ_ARGS(memory)};
    cj_launch_config late = {CJ_INIT(late), .function = find("late"), .grid = {64, 1, 1}, .block = {128, 1, 1},
                             CJ_ARGS(memory, y)};
    late.attributes.programmatic = true;
    for (int time = 0; time < 20; time++) {
        poison(NULL);
        cj_test_ok(cj_launch(device, &early, &error), &error);
        cj_test_ok(cj_launch(device, &late, &error), &error);
        read_back(2 * N);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(words[N + i], 3 * i + 1);
    }
}

// The second reduction reads what the first one has written; each has its own workspace; repeated many times.
static void dependent_reductions_follow_each_other(void **state) {
    (void)state;
    const cj_family *family = NULL;
    cj_params        params;
    cj_kernel       *first = NULL, *second = NULL;
    cj_error         error = {0};
    uint64_t         n = 1024;
    cj_ptr           x = memory + 4096, sum = memory + 12288, y = sum - 1023 * sizeof *words, out = memory;
    cj_test_ok(cj_family_find("reduce", &family, &error), &error);
    cj_params_init(&params, family);
    cj_test_ok(cj_params_set(&params, "dtype", "u32", &error), &error);
    cj_test_ok(cj_params_set(&params, "dependent", "yes", &error), &error);
    cj_test_ok(cj_kernel_create(device, &params, &first, &error), &error);
    cj_test_ok(cj_kernel_create(device, &params, &second, &error), &error);
    assert_true(cj_kernel_plan(first)->programmatic || cj_device_limits(device)->compute_capability < 90);
    for (uint32_t time = 0; time < 50; time++) {
        for (uint32_t i = 0; i < 2048; i++) words[i] = i < 1024 ? i + time : 1;
        cj_test_ok(cj_mem_write(device, x, words, 8192, NULL, &error), &error);
        cj_test_ok(cj_kernel_launch(first, NULL, (void *[]){&x, &sum, &n}, 3, &error), &error);
        cj_test_ok(cj_kernel_launch(second, NULL, (void *[]){&y, &out, &n}, 3, &error), &error);
        read_back(1);
        assert_int_equal(words[0], 523776 + 1024 * time + 1023);  // y: 1023 ones, then the first sum
    }
    cj_kernel_destroy(first);
    cj_kernel_destroy(second);
}

// ---- arguments

static void structures_and_tensor_maps_are_passed_by_value(void **state) {
    (void)state;
    struct {
        uint64_t a;
        double   b;
        uint32_t c, d;
    } given = {0x1122334455667788u, -0.5, 7, 9};
    const uint64_t   dims[] = {64, 64}, strides[] = {256};
    const uint32_t   box[] = {16, 16}, steps[] = {1, 1};
    cj_tensormap     map;
    cj_error         error = {0};
    unsigned char    want[48], got[48];
    cj_launch_config config = {CJ_INIT(config), .function = find("copy"), .grid = {1, 1, 1}, .block = {1, 1, 1},
                               CJ_ARGS(memory, given, map)};
    cj_test_ok(cj_tensormap_encode_tiled(device, &map, CJ_TENSORMAP_U32, 2, memory, dims, strides, box, steps,
                                         CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                         CJ_TENSORMAP_FILL_ZEROS, &error), &error);
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_mem_read(device, got, memory, sizeof got, NULL, &error), &error);
    memcpy(want, &given, 24);
    memcpy(want + 24, &map, 8);
    memcpy(want + 32, (const unsigned char *)&map + 64, 8);
    memcpy(want + 40, (const unsigned char *)&map + 120, 8);
    assert_memory_equal(got, want, sizeof got);

    uint32_t short_of_it = 0;
    config = (cj_launch_config){CJ_INIT(cj_launch_config), .function = config.function, .grid = {1, 1, 1},
                                .block = {1, 1, 1}, CJ_ARGS(memory, short_of_it, map)};
    assert_int_equal(cj_launch(device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "argument 1 (given) has 4 bytes, but its .param has 24"));
}

static void every_family_can_be_captured_into_a_graph(void **state) {
    (void)state;
    cj_test_captures(device);
}

// ---- threads

typedef struct launcher {
    pthread_t    thread;
    cj_function *function;
    unsigned     index;
    cj_error     error;
} launcher;

// Each launch writes its own word; the shape changes from time to time, so that threads replace the shape that others
// have stored.
static void *launch_often(void *user) {
    launcher *me = user;
    for (uint32_t i = 0; i < launches; i++) {
        cj_ptr           out = memory + (me->index * launches + i) * sizeof *words;
        uint32_t         value = me->index << 24 | i;
        cj_launch_config config = {CJ_INIT(config), .function = me->function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                   CJ_ARGS(out, value)};
        config.dynamic_shared = i % 64 == me->index ? 16 : 0;
        if (cj_launch(device, &config, &me->error)) return me;
    }
    return NULL;
}

static void threads_launch_at_once(void **state) {
    (void)state;
    static launcher all[THREADS];
    assert_true(THREADS * launches <= WORDS);
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (launcher){.function = find("store"), .index = i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, launch_often, &all[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(all[i].thread, &failed);
        if (failed) cj_test_ok(all[i].error.status, &all[i].error);
    }
    read_back(THREADS * launches);
    for (uint32_t i = 0; i < THREADS * launches; i++) assert_int_equal(words[i], (i / launches) << 24 | i % launches);
}

int cj_test_launches(cj_device *on, unsigned count) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_attribute_launches_or_is_refused_by_name, poison),
        cmocka_unit_test_setup(a_cluster_of_16_launches_when_asked_for, poison),
        cmocka_unit_test_setup(all_shared_memory_of_a_block_can_be_used, poison),
        cmocka_unit_test_setup(a_barrier_of_the_grid_holds_all_blocks, poison),
        cmocka_unit_test_setup(a_barrier_of_the_grid_works_as_nvcc_writes_it, poison),
        cmocka_unit_test_setup(a_grid_of_clusters_has_all_its_blocks, poison),
        cmocka_unit_test_setup(a_dependent_kernel_reads_what_the_one_before_it_wrote, poison),
        cmocka_unit_test_setup(dependent_reductions_follow_each_other, poison),
        cmocka_unit_test_setup(structures_and_tensor_maps_are_passed_by_value, poison),
        cmocka_unit_test_setup(every_family_can_be_captured_into_a_graph, poison),
        cmocka_unit_test_setup(threads_launch_at_once, poison),
    };
    device = on;
    launches = count;
    return cmocka_run_group_tests(tests, open_module, close_module);
}

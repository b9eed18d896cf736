// SPDX-License-Identifier: Apache-2.0
// What people see most often, and the words that they get for it: the field, its value, the limit, and what to do.
#define _GNU_SOURCE
#include <clusterjit/clusterjit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda_rig.h"

// ---- what is launched, loaded and said

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"
#define ENTRY(name, directives, body) \
    ".visible .entry " name "(.param .u64 out)\n" directives "{\n" body "    ret;\n}\n"

static const char text[] = HEAD("7.8", "sm_90") ENTRY("plain", "", "") ENTRY("block", ".reqntid 128, 1, 1\n", "")
    ENTRY("pair", ".explicitcluster\n.reqnctapercluster 2, 1, 1\n", "");

// The failing call's error says this rule and this sentence, and its hint these words.
static void says(const cj_error *error, const char *rule, const char *sentence, const char *hint) {
    assert_string_equal(error->rule, rule);
    assert_contains(error->message, sentence);
    assert_contains(error->hint, hint);
}

// Loads the text on the fake H200 and launches an entry of it; both may fail.
static cj_error load_and_launch(const char *ptx, const char *entry, const cj_launch_config *how) {
    cj_device   *device = NULL;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    uint64_t     out = 0;
    void        *arguments[] = {&out};
    cj_error     error = {0};
    cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
    cj_status status = cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error);
    if (!status) status = cj_module_function(module, entry, &function, &error);
    if (!status) {
        cj_launch_config config = *how;
        config.function = function;
        config.arguments = arguments;
        config.argument_count = 1;
        status = cj_launch(device, &config, &error);
    }
    assert_int_not_equal(status, CJ_OK);
    assert_int_equal(error.status, status);
    cj_module_unload(module);
    cj_device_close(device);
    assert_int_equal(alive(), 0);
    return error;
}

#define LAUNCH(entry, ...) load_and_launch(text, entry, &(cj_launch_config){CJ_INIT(cj_launch_config), __VA_ARGS__})

// ---- launches

static void grid_not_a_multiple_of_the_cluster(void **state) {
    (void)state;
    cj_error error = LAUNCH("plain", .grid = {15, 2, 1}, .block = {64, 1, 1}, .cluster = {4, 1, 1});
    says(&error, "cluster-grid-multiple", "grid 15 x 2 x 1 is not a multiple of cluster 4 x 1 x 1 on every axis",
         "round the grid up to 16 x 2 x 1 blocks and let the extra ones do no work");
}

static void cluster_above_8_without_opt_in(void **state) {
    (void)state;
    cj_error error = LAUNCH("plain", .grid = {16, 1, 1}, .block = {64, 1, 1}, .cluster = {16, 1, 1});
    says(&error, "cluster-portable", "cluster 16 x 1 x 1 = 16 blocks exceeds the portable limit of 8 of Fake H200 0",
         "use at most 8 blocks a cluster, or opt into non-portable sizes");
}

static void cluster_that_cannot_be_resident(void **state) {
    (void)state;
    cj_fake_driver.largest_cluster = 12;
    cj_error error = LAUNCH("plain", .grid = {16, 1, 1}, .block = {64, 1, 1}, .cluster = {16, 1, 1},
                            .dynamic_shared = 100000, .nonportable = true);
    says(&error, "cluster-device",
         "plain: cluster of 16 blocks exceeds the 12 that Fake H200 0 can place with 100000 B of dynamic shared memory",
         "use a cluster of at most 12 blocks, less shared memory, or fewer threads a block");
    cj_fake_fail("cuLaunchKernelEx", 912);  // and where only the launch tells
    error = LAUNCH("plain", .grid = {8, 1, 1}, .block = {64, 1, 1}, .cluster = {8, 1, 1});
    says(&error, "", "(entry plain: grid 8 x 1 x 1, block 64 x 1 x 1, cluster 8 x 1 x 1, 0 B of dynamic shared memory)",
         "use a smaller one, less shared memory or fewer threads a block");
}

static void cluster_that_cannot_be_resident_by_the_limits_alone(void **state) {
    (void)state;
    cj_limits limits;
    cj_error  error = {0};
    cj_test_ok(cj_limits_named("h200", &limits, &error), &error);
    limits.gpc_sms[0] = 12;  // a part whose largest GPC is smaller than its largest cluster
    memset(limits.gpc_sms + 1, 0, sizeof limits.gpc_sms - sizeof limits.gpc_sms[0]);
    const cj_contract_query query = {CJ_INIT(query), .limits = &limits,
                                     .shape = {.grid = {16, 1, 1},
                                               .block = {1024, 1, 1},
                                               .cluster = {16, 1, 1},
                                               .dynamic_shared = 200000,
                                               .nonportable = true,
                                               .smem_optin = true}};
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_CONTRACT);
    says(&error, "cluster-resident", "cluster of 16 blocks, each of 1024 threads",
         "use a cluster of at most 12 blocks");
    assert_contains(error.message, "200000 B of shared memory, cannot be resident on ");
    assert_contains(error.message,
                    "an SM holds 1 such blocks (limited by shared memory), and the largest GPC has 12 SMs");
}

static void ptx_and_launch_disagree(void **state) {
    (void)state;
    cj_error error = LAUNCH("block", .grid = {1, 1, 1}, .block = {64, 1, 1});
    says(&error, "block-required", "block 64 x 1 x 1 differs from the 128 x 1 x 1 that block declares (.reqntid)",
         "launch with block 128 x 1 x 1, or generate the kernel for the other block");
    error = LAUNCH("pair", .grid = {8, 1, 1}, .block = {64, 1, 1}, .cluster = {4, 1, 1});
    says(&error, "cluster-required",
         "cluster 4 x 1 x 1 differs from the 2 x 1 x 1 that pair declares (.reqnctapercluster)",
         "launch with cluster 2 x 1 x 1, or generate the kernel for the other cluster");
}

static void shared_memory_over_the_limit(void **state) {
    (void)state;
    cj_error error = LAUNCH("plain", .grid = {1, 1, 1}, .block = {64, 1, 1}, .dynamic_shared = 232449);
    says(&error, "shared-limit",
         "plain: 0 B static + 232449 B dynamic = 232449 B of shared memory exceeds the limit of 232448 B a block of "
         "Fake "
         "H200 0",
         "use smaller tiles or fewer stages, or spread the working set over a larger cluster");
}

static void cooperative_launch_too_large(void **state) {
    (void)state;
    cj_fake_driver.blocks_per_sm = 2;  // on each of 132 SMs
    cj_error error = LAUNCH("plain", .grid = {265, 1, 1}, .block = {64, 1, 1}, .attributes.cooperative = true);
    says(&error, "cooperative-size", "cooperative grid of 265 blocks exceeds the 264 that Fake H200 0 holds at once",
         "use fewer blocks and let each do more, or blocks of which more fit an SM");
}

static void bad_dimension(void **state) {
    (void)state;
    cj_error error = LAUNCH("plain", .grid = {4, 0, 1}, .block = {64, 1, 1});
    says(&error, "grid-zero", "grid 4 x 0 x 1 has a zero dimension", "every dimension of the grid is at least 1 block");
    error = LAUNCH("plain", .grid = {1, 65536, 1}, .block = {64, 1, 1});
    says(&error, "grid-axis",
         "grid 1 x 65536 x 1 exceeds the limit of 2147483647 x 65535 x 65535 blocks of Fake H200 0",
         "put the long axis on x");
    error = LAUNCH("plain", .grid = {1, 1, 1}, .block = {1, 1, 65});
    says(&error, "block-axis", "block 1 x 1 x 65 exceeds the limit of 1024 x 1024 x 64 threads of Fake H200 0",
         "move threads to another axis, or use fewer");
    error = LAUNCH("plain", .grid = {1, 1, 1}, .block = {64, 17, 1});
    says(&error, "block-threads", "block 64 x 17 x 1 = 1088 threads exceeds the limit of 1024 of Fake H200 0",
         "use a block of at most 1024 threads");
}

// ---- texts

static const cj_launch_config one_block = {CJ_INIT(one_block), .grid = {1, 1, 1}, .block = {1, 1, 1}};

static void ptx_newer_than_the_driver(void **state) {
    (void)state;
    static const char newer[] = HEAD("8.8", "sm_90") ENTRY("k", "", "");
    cj_fake_driver.version = 12080;
    cj_error error = load_and_launch(newer, "k", &one_block);
    says(&error, "ptx-version", "k: .version 8.8 is newer than the driver for CUDA 12.8, which reads PTX up to 8.7",
         "lower .version if the instructions allow it, or install a newer driver");
    cj_fake_fail("cuModuleLoadDataEx", 222);  // as a driver says it, when it loads
    error = load_and_launch(newer, "k", &one_block);
    says(&error, "",
         "(PTX .version 8.8, .target sm_90; Fake H200 0, sm_90, driver for CUDA 12.8, which reads PTX up to 8.7)",
         "lower .version if the instructions allow it, or update the driver");
}

static void wrong_architecture(void **state) {
    (void)state;
    static const char other[] = HEAD("9.0", "sm_100a") ENTRY("k", "", "");
    cj_error          error = load_and_launch(other, "k", &one_block);
    says(&error, "kernel-target", "k: its .target sm_100a does not run on Fake H200 0, compute capability 9.0",
         "generate the kernel for an earlier target without a suffix");
    cj_fake_fail("cuModuleLoadDataEx", 218);
    error = load_and_launch(other, "k", &one_block);
    says(&error, "", "(PTX .version 9.0, .target sm_100a; Fake H200 0, sm_90,", "a .target that the GPU cannot run");
    cj_fake_fail("cuModuleLoadDataEx", 209);
    error = load_and_launch(other, "k", &one_block);
    says(&error, "", ".target sm_100a", "load PTX, or build it for this GPU");
}

static void instruction_that_needs_sm_90a(void **state) {
    (void)state;
    cj_error error = load_and_launch(HEAD("8.0", "sm_90") ENTRY("k", "", "    wgmma.fence.sync.aligned;\n"), "k",
                                     &one_block);
    says(&error, "target-arch",
         "'wgmma.fence.sync.aligned' needs an architecture-specific target that has it, the file says sm_90",
         "these have it: sm_90a");
    assert_int_equal(error.line, 6);
}

// ---- functions of the user's

static const cj_signature unary = {.result = CJ_F32, .count = 1, .argument = {CJ_F32}, .name = {"x"}};

// Whether CUDA C can be compiled here; skips the running test, and says so, where it cannot.
static cj_error compile(const cj_cuda_desc *desc) {
    cj_user_function *function = NULL;
    cj_error          error = {0};
    const cj_status   status = cj_function_from_cuda(desc, &function, &error);
    if (status == CJ_UNSUPPORTED) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    assert_int_equal(status, CJ_COMPILER);
    return error;
}

static void unresolved_user_function(void **state) {
    (void)state;
    cj_error error = compile(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "score",
                                             .source = "__device__ int score(int x) { return x; }",
                                             .signature = unary});
    says(&error, "user-function", "unresolved user function 'score': wanted __device__ float score(float x)",
         "have the source define it with these very types: __device__ float score(float x)");
}

static void unresolved_user_function_of_ptx(void **state) {
    (void)state;
    static const char ptx[] = HEAD("7.8",
                                   "sm_90") ".visible .func (.param .f64 r) score(.param .f64 x)\n{\n    ret;\n}\n";
    cj_user_function *function = NULL;
    cj_error          error = {0};
    assert_int_equal(cj_function_from_ptx(ptx, sizeof ptx - 1, "score", &unary, &function, &error), CJ_COMPILER);
    says(&error, "user-function",
         "unresolved user function 'score': wanted .func (.param .b32) score(.param .b32), found .func (.param .f64) "
         "score(.param .f64)",
         "define it in the source with these very types: .func (.param .b32) score(.param .b32)");
}

static void user_source_error(void **state) {
    (void)state;
    cj_error error = compile(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "score", .name = "score.cu",
                                             .source = "// mine\n__device__ float score(float x) {\n    return y;\n}\n",
                                             .signature = unary});
    says(&error, "", "score.cu(3): error: identifier \"y\" is undefined\n      return y;\n             ^",
         "correct the line above the caret");
}

// ---- the GPU and its driver

static void sticky_fault(void **state) {
    (void)state;
    cj_error error = {0};
    rig      r = rig_open();
    cj_fake_fail("cuStreamSynchronize", 700);
    assert_int_equal(cj_synchronize(r.device, NULL, &error), CJ_DRIVER);
    assert_int_equal(error.driver_code, 700);
    says(&error, "", "cuStreamSynchronize: ", "a kernel touched memory out of bounds, its own or a peer block's");
    assert_contains(error.message, "(700)");
    assert_contains(error.hint, "the context is lost: close the device");
    assert_contains(error.hint, "Run next: ptxgen exec FILE.ptx --hazards on");
    assert_contains(error.hint, "compute-sanitizer on the GPU");
    assert_contains(error.hint, "with CLUSTERJIT_DUMP_DIR set, the file and the command line are kept");
    rig_close(&r);
}

static cj_error open_refused(cj_status wanted) {
    cj_device *device = NULL;
    cj_error   error = {0};
    assert_int_equal(open_fake("gpu", NULL, &device, &error), wanted);
    assert_null(device);
    assert_int_equal(alive(), 0);
    return error;
}

static void no_driver(void **state) {
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) {
        dlclose(driver);
        print_message("skipped: this machine has libcuda.so.1\n");
        skip();
    }
    cj_device *device = NULL;
    cj_error   error = {0};
    assert_int_equal(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "gpu"}, &device, &error),
                     CJ_NO_DEVICE);
    says(&error, "", "libcuda.so.1 was not found",
         "install the NVIDIA driver, or use the cpu device (dlopen: libcuda.so.1:");
}

static void driver_that_is_a_stub(void **state) {
    (void)state;
    cj_fake_driver.nameless = true;
    cj_fake_fail("cuInit", 34);
    cj_error error = open_refused(CJ_NO_DEVICE);
    says(&error, "", "cuInit: CUDA_ERROR_STUB_LIBRARY (34)", "remove its directory (lib/stubs) from LD_LIBRARY_PATH");
}

static void driver_forked_after_its_initialization(void **state) {
    (void)state;
    cj_fake_fail("cuInit", 3);
    cj_error error = open_refused(CJ_DRIVER);
    says(&error, "", "cuInit: ", "open the device in the child, before any other use");
    assert_contains(error.message, "(3)");
}

static void driver_too_old(void **state) {
    (void)state;
    cj_fake_driver.version = 11040;
    cj_error error = open_refused(CJ_UNSUPPORTED);
    says(&error, "", "the driver (CUDA 11.4) lacks cuLaunchKernelEx in its version of CUDA 11.6",
         "install a driver for CUDA 12 or later, or use the cpu device");
}

// ---- the cache

static char         directory[] = "/tmp/cj-errors-XXXXXX";
static char         heard[2048];
static cj_log_level heard_level;

static void hear(void *user, cj_log_level level, const char *message) {
    (void)user;
    heard_level = level;
    snprintf(heard, sizeof heard, "%s", message);
}

static int begin_cache(void **state) {
    snprintf(directory, sizeof directory, "/tmp/cj-errors-XXXXXX");
    if (reset(state) || !mkdtemp(directory)) return 1;
    *heard = '\0';
    cj_log_set(hear, NULL);
    return setenv("CLUSTERJIT_LOG", "info", 1) || setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int end_cache(void **state) {
    (void)state;
    char command[64];
    cj_log_set(NULL, NULL);
    unsetenv("CLUSTERJIT_LOG");
    unsetenv("CLUSTERJIT_CACHE_DIR");
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

// As a process of its own would.
static void get_module(void) {
    cj_device *device = NULL;
    cj_module *module = NULL;
    cj_error   error = {0};
    cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
    cj_test_ok(cj_module_get(device, text, sizeof text - 1, &module, &error), &error);
    cj_module_release(module);
    cj_device_close(device);
}

static void cache_that_is_ignored(void **state) {
    (void)state;
    char wanted[160];
    assert_int_equal(chmod(directory, 0755), 0);
    get_module();
    assert_int_equal(heard_level, CJ_LOG_WARNING);
    snprintf(wanted, sizeof wanted, "kernels are compiled anew in every process: the cache directory %s has owner ",
             directory);
    assert_contains(heard, wanted);
    assert_contains(heard, "mode 0755; it must belong to user ");
    assert_contains(heard, "chmod 700 it, or set CLUSTERJIT_CACHE_DIR to another directory");
}

static void cache_entry_that_is_rebuilt(void **state) {
    (void)state;
    char command[128], wanted[96];
    get_module();
    assert_string_equal(heard, "");
    snprintf(command, sizeof command, "for f in '%s'/*; do truncate -s 20 \"$f\"; done", directory);
    assert_int_equal(system(command), 0);
    get_module();
    assert_int_equal(heard_level, CJ_LOG_INFO);
    snprintf(wanted, sizeof wanted, "the cache entry %s/", directory);
    assert_contains(heard, wanted);
    assert_contains(heard, "is not used: ");
    assert_contains(heard, "; it is removed and made anew");
    *heard = '\0';
    get_module();
    assert_string_equal(heard, "");  // it is whole again
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(grid_not_a_multiple_of_the_cluster, reset),
        cmocka_unit_test_setup(cluster_above_8_without_opt_in, reset),
        cmocka_unit_test_setup(cluster_that_cannot_be_resident, reset),
        cmocka_unit_test_setup(cluster_that_cannot_be_resident_by_the_limits_alone, reset),
        cmocka_unit_test_setup(ptx_and_launch_disagree, reset),
        cmocka_unit_test_setup(shared_memory_over_the_limit, reset),
        cmocka_unit_test_setup(cooperative_launch_too_large, reset),
        cmocka_unit_test_setup(bad_dimension, reset),
        cmocka_unit_test_setup(ptx_newer_than_the_driver, reset),
        cmocka_unit_test_setup(wrong_architecture, reset),
        cmocka_unit_test_setup(instruction_that_needs_sm_90a, reset),
        cmocka_unit_test_setup(unresolved_user_function, reset),
        cmocka_unit_test_setup(unresolved_user_function_of_ptx, reset),
        cmocka_unit_test_setup(user_source_error, reset),
        cmocka_unit_test_setup(sticky_fault, reset),
        cmocka_unit_test_setup(no_driver, reset),
        cmocka_unit_test_setup(driver_that_is_a_stub, reset),
        cmocka_unit_test_setup(driver_forked_after_its_initialization, reset),
        cmocka_unit_test_setup(driver_too_old, reset),
        cmocka_unit_test_setup_teardown(cache_that_is_ignored, begin_cache, end_cache),
        cmocka_unit_test_setup_teardown(cache_entry_that_is_rebuilt, begin_cache, end_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// CLUSTERJIT_DUMP_DIR: what failed is kept with a command that repeats it, and nothing else is.
#define _GNU_SOURCE
#include <clusterjit/clusterjit.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_rig.h"

static char directory[64], heard[2048];

static void hear(void *user, cj_log_level level, const char *message) {
    (void)user;
    snprintf(heard, sizeof heard, "%s: %s", cj_log_level_name(level), message);
}

static int start(void **state) {
    snprintf(directory, sizeof directory, "/tmp/cj-dump-XXXXXX");
    if (reset(state) || !mkdtemp(directory)) return 1;
    *heard = '\0';
    cj_log_set(hear, NULL);
    return setenv("CLUSTERJIT_LOG", "info", 1) || setenv("CLUSTERJIT_DUMP_DIR", directory, 1);
}

static int finish(void **state) {
    (void)state;
    char command[160];
    cj_log_set(NULL, NULL);
    unsetenv("CLUSTERJIT_LOG");
    unsetenv("CLUSTERJIT_DUMP_DIR");
    snprintf(command, sizeof command, "chmod 700 '%s' && rm -rf '%s'", directory, directory);
    return system(command);
}

// How many files were kept; of the last that ends so the name and the text.
static unsigned kept(const char *ending, char *name, size_t size, char **text) {
    unsigned       count = 0;
    DIR           *opened = opendir(directory);
    struct dirent *file;
    assert_non_null(opened);
    while ((file = readdir(opened)) != NULL) {
        const size_t length = strlen(file->d_name);
        count += *file->d_name != '.';
        if (length > strlen(ending) && !strcmp(file->d_name + length - strlen(ending), ending)) {
            char path[400];
            snprintf(name, size, "%s", file->d_name);
            snprintf(path, sizeof path, "%s/%s", directory, file->d_name);
            *text = cj_test_read(path);
        }
    }
    closedir(opened);
    return count;
}

// Two files were kept: this text, and a script that says these words. The name begins with the entry's.
static void assert_kept(const char *entry, const char *ptx, const char *const *words) {
    char name[300], *text = NULL, *script = NULL;
    assert_int_equal(kept(".ptx", name, sizeof name, &text), 2);
    assert_non_null(text);
    assert_string_equal(text, ptx);
    kept(".sh", name, sizeof name, &script);
    assert_non_null(script);
    assert_int_equal(strncmp(name, entry, strlen(entry)), 0);
    for (; *words; words++) assert_contains(script, *words);
    assert_contains(heard, "info: the failing kernel is kept in ");
    assert_contains(heard, name);
    free(text);
    free(script);
}

#define ASSERT_KEPT(entry, ptx, ...) assert_kept(entry, ptx, (const char *const[]){__VA_ARGS__, NULL})

static void assert_nothing_kept(void) {
    char name[300], *none = NULL;
    assert_int_equal(kept(".sh", name, sizeof name, &none), 0);
}

static void what_works_leaves_nothing(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_test_ok(launch(&r, r.k, (cj_dim3){2, 1, 1}, 0, &error), &error);
    cj_test_ok(cj_synchronize(r.device, NULL, &error), &error);
    rig_close(&r);
    assert_nothing_kept();
    assert_string_equal(heard, "");
}

static void a_refused_launch_is_kept(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    assert_int_equal(launch(&r, r.k, (cj_dim3){3, 1, 1}, 1000, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-grid-multiple");
    ASSERT_KEPT(
        "k-", kernel, "# CONTRACT\n# grid 16 x 2 x 1 is not a multiple of cluster 3 x 1 x 1 on every axis\n",
        "exec ptxgen exec \"${0%.sh}.ptx\" --device gpu --entry 'k' --grid 16,2,1 --block 64,1,1 --cluster 3,1,1 "
        "--smem 1000 --arg 'u64=1311768467294899695' \"$@\"\n");
    // The same failure is the same two files.
    assert_int_equal(launch(&r, r.k, (cj_dim3){3, 1, 1}, 1000, NULL), CJ_CONTRACT);
    ASSERT_KEPT("k-", kernel, "# CONTRACT\n");
    rig_close(&r);
}

static void arguments_are_kept_by_their_kind(void **state) {
    (void)state;
    static const char ptx[] =
        ".version 7.8\n.target sm_90\n.address_size 64\n"
        ".visible .entry $five(.param .u64 p, .param .f32 f, .param .f64 d, .param .align 8 .b8 s[4], .param .u16 h)\n"
        "{\n    .reg .b64 %a;\n    ld.param.u64 %a, [p];\n    st.global.u32 [%a], 1;\n    ret;\n}\n";
    rig          r = rig_open();
    cj_module   *module = NULL;
    cj_function *five = NULL;
    cj_error     error = {0};
    cj_ptr       p = 1;
    float        f = 0.5f;
    double       d = INFINITY;
    uint32_t     s = 0x04030201;
    uint16_t     h = 7;
    cj_test_ok(cj_module_from_ptx(r.device, ptx, sizeof ptx - 1, &module, &error), &error);
    cj_test_ok(cj_module_function(module, "$five", &five, &error), &error);
    const cj_launch_config config = {CJ_INIT(config),    .function = five,          .grid = {0, 1, 1},
                                     .block = {1, 1, 1}, .attributes.priority = -1, CJ_ARGS(p, f, d, s, h)};
    assert_int_equal(cj_launch(r.device, &config, &error), CJ_CONTRACT);
    ASSERT_KEPT("_five-", ptx, "--entry '$five'",
                " --arg 'u64[1048576]=zeros' --arg 'f32=0.5' --arg 'bytes:8=000000000000f07f' --arg 'bytes:4=01020304' "
                "--arg 'u16=7' \"$@\"",
                "# Argument 0, p, is an address: put its buffer for u64[1048576]=zeros.\n",
                "# The launch had attributes that this command line does not give.\n");
    cj_module_unload(module);
    rig_close(&r);
}

static void a_launch_that_the_driver_fails_is_kept(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_fake_fail("cuLaunchKernelEx", 719);
    assert_int_equal(launch(&r, r.k, (cj_dim3){0, 0, 0}, 0, &error), CJ_DRIVER);
    assert_int_equal(error.driver_code, 719);
    ASSERT_KEPT("k-", kernel, "# DRIVER\n# cuLaunchKernelEx: ", "--grid 16,2,1 --block 64,1,1 --arg ",
                "# With --device cpu --hazards on the CPU device names the faulty line.\n");
    rig_close(&r);
}

static void assert_fixed_is_kept(void) {
    ASSERT_KEPT("fixed-", kernel, "# DRIVER\n# cuStreamSynchronize: ", "an earlier one may have caused it",
                "--entry 'fixed' --grid 16,2,1 --block 64,1,1 --smem 100 --arg 'u64=0'",
                "# Argument 0, out: its value is not known, put it for 0.\n");
}

static void a_fault_keeps_the_last_launch(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_test_ok(launch(&r, r.k, (cj_dim3){0, 0, 0}, 0, &error), &error);
    cj_test_ok(launch(&r, r.fixed, (cj_dim3){0, 0, 0}, 100, &error), &error);
    cj_fake_fail("cuStreamSynchronize", 700);
    assert_int_equal(cj_synchronize(r.device, NULL, &error), CJ_DRIVER);
    assert_fixed_is_kept();
    rig_close(&r);
}

static void a_fault_that_a_read_reports_keeps_the_last_launch(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_ptr   memory = 0;
    char     byte;
    cj_error error = {0};
    cj_test_ok(cj_mem_alloc(r.device, 1, &memory, &error), &error);
    cj_test_ok(launch(&r, r.fixed, (cj_dim3){0, 0, 0}, 100, &error), &error);
    cj_fake_fail("cuStreamSynchronize", 719);
    assert_int_equal(cj_mem_read(r.device, &byte, memory, 1, NULL, &error), CJ_DRIVER);
    assert_fixed_is_kept();
    cj_mem_free(r.device, memory);
    rig_close(&r);
}

static void a_fault_after_the_module_is_gone_keeps_nothing(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_test_ok(launch(&r, r.k, (cj_dim3){0, 0, 0}, 0, &error), &error);
    cj_module_unload(r.module);
    r.module = NULL;
    cj_fake_fail("cuStreamSynchronize", 700);
    assert_int_equal(cj_synchronize(r.device, NULL, &error), CJ_DRIVER);
    assert_nothing_kept();
    rig_close(&r);
}

static void a_text_that_does_not_load_is_kept(void **state) {
    (void)state;
    rig        r = rig_open();
    cj_module *module = NULL;
    cj_error   error = {0};
    cj_fake_fail("cuModuleLoadDataEx", 218);
    assert_int_equal(cj_module_from_ptx(r.device, kernel, sizeof kernel - 1, &module, &error), CJ_COMPILER);
    ASSERT_KEPT(
        "k-", kernel, "# COMPILER\n# cuModuleLoadDataEx: ", "the fake driver's log", "of a launch nothing is known",
        "exec ptxgen exec \"${0%.sh}.ptx\" --device gpu --entry 'k' --grid 1,1,1 --block 1,1,1 --arg 'u64=0' \"$@\"\n");
    rig_close(&r);
}

// What others wrote reaches the script in comments alone.
static void a_text_that_does_not_parse_is_kept(void **state) {
    (void)state;
    static const char bad[] = ".version 7.8\n.target sm_90\n.address_size 64\n; rm -rf /\n";
    rig               r = rig_open();
    cj_module        *module = NULL;
    char              name[300], *script = NULL;
    cj_error          error = {0};
    assert_int_equal(cj_module_from_ptx(r.device, bad, sizeof bad - 1, &module, &error), CJ_INVALID_KERNEL);
    ASSERT_KEPT("module-", bad, "# INVALID_KERNEL\n", "\nexec ptxgen check \"${0%.sh}.ptx\" \"$@\"\n");
    kept(".sh", name, sizeof name, &script);
    for (char *line = strtok(script, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(*line == '#' || !strncmp(line, "exec ptxgen check ", 18));
    free(script);
    rig_close(&r);
}

// The warning says why, and the failure is the one that it was.
static void refused_directory(const char *path, const char *why) {
    rig      r = rig_open();
    cj_error error = {0};
    setenv("CLUSTERJIT_DUMP_DIR", path, 1);
    assert_int_equal(launch(&r, r.k, (cj_dim3){3, 1, 1}, 0, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-grid-multiple");
    assert_contains(error.message, "grid 16 x 2 x 1");
    assert_contains(heard, "warning: CLUSTERJIT_DUMP_DIR is '");
    assert_contains(heard, path);
    assert_contains(heard, why);
    assert_contains(heard, "set it to a directory that exists and that this process may write to");
    rig_close(&r);
}

static void a_directory_that_cannot_be_used_is_a_warning(void **state) {
    (void)state;
    refused_directory("/dev/null", "Not a directory");
    setenv("CLUSTERJIT_DUMP_DIR", directory, 1);
    refused_directory("/tmp/cj-dump-that-is-not-there", "No such file or directory");
    assert_nothing_kept();
}

static void a_directory_that_cannot_be_written_is_a_warning(void **state) {
    (void)state;
    if (!geteuid()) {  // root may write everywhere; a directory of the kernel's takes no files from anyone
        refused_directory("/proc/self", "");
        return;
    }
    chmod(directory, 0500);
    refused_directory(directory, "Permission denied");
    assert_nothing_kept();
}

// Nothing is written through a link that somebody put where the file belongs.
static void a_link_in_the_way_is_not_followed(void **state) {
    (void)state;
    rig         r = rig_open();
    cj_error    error = {0};
    char        name[300], *script = NULL, path[400], target[128];
    struct stat about;
    launch(&r, r.k, (cj_dim3){3, 1, 1}, 0, &error);
    kept(".sh", name, sizeof name, &script);
    free(script);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    snprintf(target, sizeof target, "%s/elsewhere", directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    launch(&r, r.k, (cj_dim3){3, 1, 1}, 0, &error);
    assert_int_not_equal(stat(target, &about), 0);
    rig_close(&r);
}

static void a_hazard_on_the_cpu_device_is_kept(void **state) {
    (void)state;
    static const char ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                              ".visible .entry beyond(.param .u64 out)\n{\n    .reg .b64 %a;\n"
                              "    ld.param.u64 %a, [out];\n    st.global.u32 [%a+4], 1;\n    ret;\n}\n";
    cj_device        *device = NULL;
    cj_module        *module = NULL;
    cj_function      *function = NULL;
    cj_ptr            memory = 0;
    cj_error          error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_test_ok(cj_mem_alloc(device, 4, &memory, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, sizeof ptx - 1, &module, &error), &error);
    cj_test_ok(cj_module_function(module, "beyond", &function, &error), &error);
    const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                     CJ_ARGS(memory)};
    assert_int_equal(cj_launch(device, &config, &error), CJ_HAZARD);
    ASSERT_KEPT(
        "beyond-", ptx, "# HAZARD\n",
        "--device cpu --entry 'beyond' --grid 1,1,1 --block 1,1,1 --arg 'u64[1048576]=zeros' --hazards on \"$@\"\n");
    cj_mem_free(device, memory);
    cj_module_unload(module);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_works_leaves_nothing, start, finish),
        cmocka_unit_test_setup_teardown(a_refused_launch_is_kept, start, finish),
        cmocka_unit_test_setup_teardown(arguments_are_kept_by_their_kind, start, finish),
        cmocka_unit_test_setup_teardown(a_launch_that_the_driver_fails_is_kept, start, finish),
        cmocka_unit_test_setup_teardown(a_fault_keeps_the_last_launch, start, finish),
        cmocka_unit_test_setup_teardown(a_fault_that_a_read_reports_keeps_the_last_launch, start, finish),
        cmocka_unit_test_setup_teardown(a_fault_after_the_module_is_gone_keeps_nothing, start, finish),
        cmocka_unit_test_setup_teardown(a_text_that_does_not_load_is_kept, start, finish),
        cmocka_unit_test_setup_teardown(a_text_that_does_not_parse_is_kept, start, finish),
        cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_used_is_a_warning, start, finish),
        cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_written_is_a_warning, start, finish),
        cmocka_unit_test_setup_teardown(a_link_in_the_way_is_not_followed, start, finish),
        cmocka_unit_test_setup_teardown(a_hazard_on_the_cpu_device_is_kept, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Images of kernels on disk, as the gpu device uses them: the fake driver counts what it compiles, and the images that
// it is handed and has not made. CJ_FEW=1 damages fewer entries.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <clusterjit/cache.h>
#include <clusterjit/log.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_driver.h"

static const char kernel[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                             ".visible .entry k(.param .u64 out)\n{\n    ret;\n}\n";

static char directory[64], entry_path[400];

static struct {
    unsigned count[CJ_LOG_DEBUG + 1];
    char     last[2048];
} heard;

static void hear(void *user, cj_log_level level, const char *message) {
    (void)user;
    heard.count[level]++;
    snprintf(heard.last, sizeof heard.last, "%s", message);
}

static int start(void **state) {
    (void)state;
    cj_fake_reset();
    memset(&heard, 0, sizeof heard);
    cj_log_set(hear, NULL);
    setenv("CLUSTERJIT_LOG", "info", 1);
    snprintf(directory, sizeof directory, "/tmp/cj-cache-XXXXXX");
    if (!mkdtemp(directory)) return 1;
    return setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int finish(void **state) {
    (void)state;
    char command[128];
    cj_log_set(NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static cj_device *open_device(void) {
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu", .resolver = cj_fake_resolve};
    cj_device              *device = NULL;
    cj_error                error = {0};
    cj_test_ok(cj_device_open(&options, &device, &error), &error);
    return device;
}

static void close_device(cj_device *device) {
    const cj_fake *fake = &cj_fake_driver;
    cj_device_close(device);
    assert_int_equal(fake->alive_contexts + fake->alive_modules + fake->alive_memory + fake->alive_links, 0);
    assert_int_equal(fake->damaged_images, 0);
}

// Gets the module of a text with an entry k and lets go of it; how many texts the driver compiled for that.
static int compiles_text(cj_device *device, const char *text) {
    const int    before = cj_fake_driver.compiles;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    cj_test_ok(cj_module_get(device, text, strlen(text), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "k", &function, &error), &error);
    cj_module_release(module);
    return cj_fake_driver.compiles - before;
}

static int compiles(cj_device *device) { return compiles_text(device, kernel); }

// As a process of its own would.
static int compiles_in_new_device(void) {
    cj_device *device = open_device();
    const int  count = compiles(device);
    close_device(device);
    return count;
}

// How many entries there are; the path of one.
static unsigned entries(void) {
    unsigned       count = 0;
    DIR           *opened = opendir(directory);
    struct dirent *file;
    while ((file = readdir(opened)) != NULL) {
        if (file->d_name[0] == '.') continue;
        snprintf(entry_path, sizeof entry_path, "%s/%s", directory, file->d_name);
        count++;
    }
    closedir(opened);
    return count;
}

static void the_second_process_compiles_nothing(void **state) {
    (void)state;
    assert_int_equal(compiles_in_new_device(), 1);
    assert_int_equal(entries(), 1);
    assert_int_equal(compiles_in_new_device(), 0);
    assert_int_equal(heard.count[CJ_LOG_WARNING] + heard.count[CJ_LOG_INFO], 0);
}

static void a_shared_module_is_compiled_once(void **state) {
    (void)state;
    cj_device *device = open_device();
    cj_module *a = NULL, *b = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_module_get(device, kernel, sizeof kernel - 1, &a, &error), &error);
    cj_test_ok(cj_module_get(device, kernel, sizeof kernel - 1, &b, &error), &error);
    assert_ptr_equal(a, b);
    assert_int_equal(cj_fake_driver.alive_modules, 1);
    cj_module_release(a);
    assert_int_equal(cj_fake_driver.alive_modules, 1);
    cj_module_release(b);
    assert_int_equal(cj_fake_driver.alive_modules, 0);
    close_device(device);
}

static void another_driver_target_or_text_is_another_entry(void **state) {
    (void)state;
    assert_int_equal(compiles_in_new_device(), 1);
    cj_fake_driver.version = 13010;
    assert_int_equal(compiles_in_new_device(), 1);
    cj_fake_driver.compute_capability = 100;
    assert_int_equal(compiles_in_new_device(), 1);
    assert_int_equal(entries(), 3);
    assert_int_equal(compiles_in_new_device(), 0);
    cj_fake_driver.version = 13000;
    cj_fake_driver.compute_capability = 90;
    assert_int_equal(compiles_in_new_device(), 0);
}

static void see(void *user, const cj_cache_entry *entry) {
    assert_string_equal(entry->entry, "k");
    assert_string_equal(entry->target, "sm_90");
    assert_non_null(strstr(entry->compiler, "driver 13000"));
    assert_null(entry->damage);
    ++*(int *)user;
}

static void entries_say_what_they_are(void **state) {
    (void)state;
    int      count = 0;
    cj_error error = {0};
    compiles_in_new_device();
    cj_test_ok(cj_cache_each(see, &count, &error), &error);
    assert_int_equal(count, 1);
}

// ---- damage

typedef struct bytes {
    char  *data;
    size_t count;
} bytes;

static bytes read_entry(void) {
    bytes b = {malloc(1 << 16), 0};
    FILE *file = fopen(entry_path, "rb");
    assert_non_null(file);
    b.count = fread(b.data, 1, 1 << 16, file);
    fclose(file);
    return b;
}

static void write_entry(const char *data, size_t count) {
    remove(entry_path);  // a file system may take its time over one that is cut to nothing and written again
    FILE *file = fopen(entry_path, "wb");
    assert_non_null(file);
    assert_int_equal(chmod(entry_path, 0600), 0);
    assert_int_equal(fwrite(data, 1, count, file), count);
    fclose(file);
}

// The driver sees nothing of a damaged entry, which is made anew, and said.
static void hold_rebuilt(cj_device *device, const char *data, size_t count) {
    const unsigned said = heard.count[CJ_LOG_INFO];
    write_entry(data, count);
    assert_int_equal(compiles(device), 1);
    assert_int_equal(cj_fake_driver.damaged_images, 0);
    assert_int_equal(heard.count[CJ_LOG_INFO], said + 1);
    assert_int_equal(compiles(device), 0);
}

static void no_damaged_byte_reaches_the_driver(void **state) {
    (void)state;
    const bool few = getenv("CJ_FEW") && !strcmp(getenv("CJ_FEW"), "1");
    uint64_t   random = cj_test_seed();
    compiles_in_new_device();
    assert_int_equal(entries(), 1);
    bytes      whole = read_entry();
    cj_device *device = open_device();
    for (size_t length = 0; length < whole.count; length += few ? 7 : 1) hold_rebuilt(device, whole.data, length);
    for (int i = 0; i < (few ? 200 : 10000); i++) {
        const uint64_t bit = cj_test_random(&random) % (8 * whole.count);
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
        hold_rebuilt(device, whole.data, whole.count);
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
    }
    close_device(device);
    free(whole.data);
}

static void fail_calls(const char *symbol, unsigned from, unsigned to, int code) {
    const unsigned before = cj_fake_calls(symbol);
    cj_fake_fail_times(symbol, before + from, to == UINT_MAX ? to : before + to, code);
}

static void an_image_that_the_driver_refuses_is_made_anew(void **state) {
    (void)state;
    compiles_in_new_device();
    fail_calls("cuModuleLoadDataEx", 1, 1, 209);
    assert_int_equal(compiles_in_new_device(), 1);
    assert_int_equal(heard.count[CJ_LOG_INFO], 1);
    assert_int_equal(compiles_in_new_device(), 0);
}

static void a_lost_context_costs_no_entry(void **state) {
    (void)state;
    cj_module *module = NULL;
    cj_error   error = {0};
    compiles_in_new_device();
    cj_device *device = open_device();
    fail_calls("cuModuleLoadDataEx", 1, UINT_MAX, 719);
    assert_int_equal(cj_module_get(device, kernel, sizeof kernel - 1, &module, &error), CJ_DRIVER);
    assert_int_equal(error.driver_code, 719);
    cj_fake_driver.failing = NULL;
    assert_int_equal(compiles(device), 0);
    close_device(device);
}

// ---- without images

static const char *const link_symbols[] = {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuLinkDestroy"};

static void a_driver_without_a_linker_compiles_every_time(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(link_symbols); i++) {
        cj_fake_driver.missing = link_symbols[i];
        assert_int_equal(compiles_in_new_device(), 1);
        assert_int_equal(entries(), 0);
    }
}

static void a_linker_that_fails_is_done_without(void **state) {
    (void)state;
    static const int codes[] = {1, 2, 3, 34, 200, 209, 218, 222, 700, 719, 720, 912};
    for (size_t i = 0; i < CJ_TEST_COUNT(link_symbols); i++) {
        for (size_t k = 0; k < CJ_TEST_COUNT(codes); k++) {
            if (!strcmp(link_symbols[i], "cuLinkDestroy")) continue;  // the image is there by then
            fail_calls(link_symbols[i], 1, UINT_MAX, codes[k]);
            assert_int_equal(compiles_in_new_device(), 1);
            assert_int_equal(entries(), 0);
        }
    }
    assert_int_equal(heard.count[CJ_LOG_WARNING], 0);
}

static void a_jit_error_reads_as_without_a_cache(void **state) {
    (void)state;
    cj_device *device = open_device();
    cj_module *module = NULL;
    cj_error   plain = {0}, cached = {0};
    fail_calls("cuModuleLoadDataEx", 1, UINT_MAX, 218);
    assert_int_equal(cj_module_from_ptx(device, kernel, sizeof kernel - 1, &module, &plain), CJ_COMPILER);
    assert_int_equal(cj_module_get(device, kernel, sizeof kernel - 1, &module, &cached), CJ_COMPILER);
    assert_string_equal(cached.message, plain.message);
    assert_string_equal(cached.hint, plain.hint);
    assert_int_equal(cached.line, 7);
    assert_non_null(strstr(cached.message, "the fake driver's log"));
    assert_null(module);
    assert_int_equal(entries(), 0);
    close_device(device);
}

static void without_a_directory_one_warning_is_given(void **state) {
    (void)state;
    assert_int_equal(chmod(directory, 0755), 0);
    cj_device *device = open_device();
    assert_int_equal(compiles(device), 1);
    assert_int_equal(compiles(device), 1);
    assert_int_equal(heard.count[CJ_LOG_WARNING], 1);
    assert_non_null(strstr(heard.last, directory));
    assert_non_null(strstr(heard.last, "mode 0755"));
    close_device(device);
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(cj_fake_calls("cuLinkCreate"), 0);

    setenv("CLUSTERJIT_CACHE_DIR", "", 1);  // asked for: nothing to warn of
    assert_int_equal(compiles_in_new_device(), 1);
    assert_int_equal(heard.count[CJ_LOG_WARNING], 1);
}

// The linker would move the array: unit.cuda_cache cannot see that, but that it is not asked.
static void an_array_that_linking_moves_is_compiled_where_it_is_loaded(void **state) {
    (void)state;
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align %u .b8 tile[];\n"
                               ".visible .entry k()\n{\n    .shared .b64 bar;\n    .reg .u32 %%r<2>;\n"
                               "    mov.u32 %%r0, tile;\n    mov.u32 %%r1, bar;\n    ret;\n}\n";
    for (unsigned align = 8; align <= 1024; align *= 2) {
        const unsigned links = cj_fake_calls("cuLinkCreate");
        char           ptx[sizeof text + 8];
        snprintf(ptx, sizeof ptx, text, align);
        cj_device *device = open_device();
        assert_int_equal(compiles_text(device, ptx), 1);
        assert_int_equal(cj_fake_calls("cuLinkCreate") - links, align <= 16);
        close_device(device);
    }
    assert_int_equal(entries(), 2);
}

static void the_cpu_device_keeps_nothing_on_disk(void **state) {
    (void)state;
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_module *module = NULL;
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_test_ok(cj_module_get(device, kernel, sizeof kernel - 1, &module, &error), &error);
    cj_module_release(module);
    cj_device_close(device);
    assert_int_equal(entries(), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(the_second_process_compiles_nothing),
        TEST(a_shared_module_is_compiled_once),
        TEST(another_driver_target_or_text_is_another_entry),
        TEST(entries_say_what_they_are),
        TEST(no_damaged_byte_reaches_the_driver),
        TEST(an_image_that_the_driver_refuses_is_made_anew),
        TEST(a_lost_context_costs_no_entry),
        TEST(a_driver_without_a_linker_compiles_every_time),
        TEST(a_linker_that_fails_is_done_without),
        TEST(a_jit_error_reads_as_without_a_cache),
        TEST(without_a_directory_one_warning_is_given),
        TEST(an_array_that_linking_moves_is_compiled_where_it_is_loaded),
        TEST(the_cpu_device_keeps_nothing_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

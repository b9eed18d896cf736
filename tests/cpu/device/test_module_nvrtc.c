// SPDX-License-Identifier: Apache-2.0
// Modules of CUDA C++ on the CPU device: by what names their entries are found, what is said about their lines, and what is kept
// of them for the next process. Skipped where there is no NVRTC.
#define _DEFAULT_SOURCE  // mkdtemp
#include <clusterjit/cache.h>
#include <clusterjit/cpu.h>
#include <clusterjit/nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include_key.h"
#include "places.h"
#include "test.h"

static const char kernels[] = "namespace ns {\ntemplate <typename T, int N> __global__ void scale(T *x) {\n"
                              "    x[threadIdx.x] = x[threadIdx.x] * N;\n}\n}\n"
                              "__global__ void same(float *x) { *x = 1; }\n"
                              "__global__ void same(int *x) { *x = 2; }\n"
                              "extern \"C\" __global__ void plain(int *x) { *x = 3; }\n";

static const char *const names[] = {"ns::scale<float, 4>", "ns::scale<float, 2 + 2>"};

static cj_module *load(const cj_cuda_source *source) {
    cj_module *module;
    cj_error   error = {0};
    cj_test_ok(cj_module_from_cuda(cj_test_device, source, &module, &error), &error);
    return module;
}

static void an_entry_is_found_by_the_names_of_the_source(void **state) {
    static const struct {
        const char *name, *entry;  // NULL: it is refused
    } cases[] = {{"ns::scale<float, 4>", "_ZN2ns5scaleIfLi4EEEvPT_"},
                 {"ns::scale<float,4>", "_ZN2ns5scaleIfLi4EEEvPT_"},
                 {"ns::scale<float, 2 + 2>", "_ZN2ns5scaleIfLi4EEEvPT_"},
                 {"ns::scale", "_ZN2ns5scaleIfLi4EEEvPT_"},
                 {"_Z4samePf", "_Z4samePf"},
                 {"plain", "plain"},
                 {"same", NULL},
                 {"scale", NULL},
                 {"", NULL},
                 {"ns::scale<float, 5>", NULL}};
    cj_module *module = load(
        &(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .names = names, .name_count = 2});
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_function *function, *wanted = NULL;
        cj_error     error = {0};
        cj_status    status = cj_module_function(module, cases[i].name, &function, &error);
        if (!cases[i].entry) {
            assert_int_equal(status, CJ_INVALID_ARGUMENT);
            assert_non_null(strstr(error.message, "ns::scale<float, 4> (_ZN2ns5scaleIfLi4EEEvPT_)"));
            continue;
        }
        cj_test_ok(status, &error);
        cj_test_ok(cj_module_function(module, cases[i].entry, &wanted, &error), &error);
        assert_ptr_equal(function, wanted);
    }
    cj_module_unload(module);
}

static void a_hazard_names_the_line_of_the_source(void **state) {
    static const char racing[] = "__global__ void pairs(int *x) {\n    __shared__ int s[64];\n    s[threadIdx.x] = 1;\n"
                                 "    x[threadIdx.x] = s[threadIdx.x ^ 32];\n}\n";
    cj_module        *module = load(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = racing, .name = "dir/pairs.cu"});
    cj_function      *pairs;
    cj_error          error = {0};
    cj_ptr            x;
    (void)state;
    cj_test_ok(cj_module_function(module, "pairs", &pairs, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, 256, &x, &error), &error);
    cj_launch_config config = {CJ_INIT(config), .function = pairs, .grid = {1, 1, 1}, .block = {64, 1, 1}, CJ_ARGS(x)};
    assert_int_equal(cj_launch(cj_test_device, &config, &error), CJ_HAZARD);
    bool found = false;
    for (size_t i = 0; i < cj_cpu_hazard_count(cj_test_device); i++) {
        const cj_hazard *hazard = cj_cpu_hazard_at(cj_test_device, i);
        found |= !strcmp(hazard->rule, "race-block") && strstr(hazard->message, "pairs.cu:3 (PTX line ") &&
                 strstr(hazard->message, "pairs.cu:4 (PTX line ");
    }
    assert_true(found);
    cj_mem_free(cj_test_device, x);
    cj_module_unload(module);
}

static void refused(const cj_cuda_source *source, cj_status status, const char *words) {
    cj_module *module = (cj_module *)(void *)&module;
    cj_error   error = {0};
    assert_int_equal(cj_module_from_cuda(cj_test_device, source, &module, &error), status);
    assert_null(module);
    if (!strstr(error.message, words)) fail_msg("no '%s' in: %s", words, error.message);
}

static void what_does_not_compile_is_refused_in_the_compilers_words(void **state) {
    static const char *const empty[] = {" "}, *const missing[] = {"nothing<3>"},
                             *const unknown[] = {"--no-such-option"};
    (void)state;
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = "\n__global__ void k() { y = 1; }", .name = "k.cu"},
            CJ_COMPILER, "'k.cu' does not compile:\nk.cu(2): error: identifier \"y\" is undefined");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = "?"}, CJ_COMPILER,
            "'<source>' does not compile:\n<source>(1): error: ");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .names = missing, .name_count = 1}, CJ_COMPILER,
            "nothing");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .names = empty, .name_count = 1},
            CJ_INVALID_ARGUMENT, "expression 0 is empty");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .names = NULL, .name_count = 1},
            CJ_INVALID_ARGUMENT, "expression 0 is empty");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = NULL}, CJ_INVALID_ARGUMENT, "text is NULL");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .arch = "sm_12"}, CJ_UNSUPPORTED, "'sm_12'");
    refused(&(cj_cuda_source){CJ_INIT(cj_cuda_source), .text = kernels, .options = unknown, .option_count = 1},
            CJ_COMPILER, "");
}

// ---- keeping

static char directory[64];

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int begin_keeping(void **state) {
    (void)state;
    char path[128];
    snprintf(directory, sizeof directory, "/tmp/cj-module-XXXXXX");
    if (!mkdtemp(directory)) return 1;
    snprintf(path, sizeof path, "%s/cache", directory);
    return mkdir(path, 0700) || setenv("CLUSTERJIT_CACHE_DIR", path, 1);
}

static int end_keeping(void **state) {
    char command[128];
    (void)state;
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static void count(void *user, const cj_cache_entry *entry) {
    assert_null(entry->damage);
    ++*(int *)user;
}

// Compiles, and says how many entries there are then.
static int compile_kept(const cj_cuda_source *source) {
    cj_error error = {0};
    int      entries = 0;
    char    *ptx, *again;
    size_t   length;
    cj_test_ok(cj_ptx_from_cuda(source, &ptx, &length, &error), &error);
    assert_int_equal(strlen(ptx), length);
    cj_test_ok(cj_ptx_from_cuda(source, &again, NULL, &error), &error);  // what is kept, where it is kept
    assert_string_equal(ptx, again);
    cj_text_free(ptx);
    cj_text_free(again);
    cj_test_ok(cj_cache_each(count, &entries, &error), &error);
    return entries;
}

static void a_module_is_kept_under_all_that_decides(void **state) {
    static const char *const options[] = {"-DUSED=1"};
    cj_cuda_source           source = {CJ_INIT(source), .text = kernels};
    (void)state;
    assert_int_equal(compile_kept(&source), 1);
    source.name = "k.cu";
    assert_int_equal(compile_kept(&source), 2);
    source.names = names;
    source.name_count = 1;
    assert_int_equal(compile_kept(&source), 3);
    source.name_count = 2;
    assert_int_equal(compile_kept(&source), 4);
    source.arch = "sm_90";
    assert_int_equal(compile_kept(&source), 5);
    source.options = options;
    source.option_count = 1;
    assert_int_equal(compile_kept(&source), 6);
    assert_int_equal(compile_kept(&source), 6);
}

static void a_header_that_changes_is_compiled_anew(void **state) {
    char              option[80], *ptx;
    const char *const options[] = {option};
    cj_error          error = {0};
    cj_cuda_source source = {CJ_INIT(source), .text = "#include \"one.h\"\n__global__ void k(int *x) { *x = VALUE; }",
                             .options = options, .option_count = 1};
    (void)state;
    snprintf(option, sizeof option, "-I%s", directory);
    write_file("one.h", "#include <two.h>\n");
    write_file("two.h", "#pragma once\n#include \"one.h\"\n#define VALUE 1234567\n");
    assert_int_equal(compile_kept(&source), 1);
    write_file("two.h", "#pragma once\n#define VALUE 7654321\n");
    assert_int_equal(compile_kept(&source), 2);
    cj_test_ok(cj_ptx_from_cuda(&source, &ptx, NULL, &error), &error);
    assert_non_null(strstr(ptx, "7654321"));
    cj_text_free(ptx);
}

// The key of a text with these options, or "" where what it includes cannot be told; to be freed.
static char *key_of(const char *text, const char *option) {
    static cj_nvrtc       nvrtc;
    const char *const     options[] = {option};
    cj_text               key = {0};
    const cj_cuda_program program = {.text = text, .file = "k.cu", .options = options, .option_count = option != NULL};
    assert_int_equal(cj__nvrtc_open(&nvrtc, NULL), CJ_OK);
    if (cj__cuda_key_includes(&key, &nvrtc, &program)) return key.data ? key.data : strdup(" ");
    cj__text_free(&key);
    return strdup("");
}

static void what_cannot_be_told_is_not_kept(void **state) {
    static const struct {
        const char *text, *option;
    } cases[] = {{"#include NAME\n", NULL},        {"#  include/**/<a.h>\n", NULL},
                 {"#\\\ninclude <a.h>\n", NULL},   {"#if __has_include(<a.h>)\n#endif\n", NULL},
                 {"int x;\n", "-include=a.h"},     {"int x;\n", "-I"},
                 {"int x;\n", "--pre-include=a.h"}};
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char *key = key_of(cases[i].text, cases[i].option);
        if (*key)
            fail_msg("'%s' with %s has the key '%s'", cases[i].text, cases[i].option ? cases[i].option : "none", key);
        free(key);
    }
}

// A file that is not there is part of the key, as one that is: it may come.
static void a_file_that_is_missing_is_in_the_key(void **state) {
    char option[80], *before, *after, *other;
    (void)state;
    snprintf(option, sizeof option, "--include-path=%s", directory);
    before = key_of("#include <late.h>\n", option);
    write_file("late.h", "int late;\n");
    after = key_of("#include <late.h>\n", option);
    write_file("late.h", "int later;\n");
    other = key_of("#include <late.h>\n", option);
    assert_non_null(strstr(before, "include late.h\n"));
    assert_string_not_equal(before, after);
    assert_string_not_equal(after, other);
    free(before);
    free(after);
    free(other);
}

// ---- where NVRTC is

static void a_wheel_is_found_beneath_its_prefix(void **state) {
    static const char *const places[] = {"lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                                         "lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                                         "lib64/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"};
    static const cj_toolkit_library nvrtc = {"CLUSTERJIT_NVRTC", "libnvrtc", "cuda_nvrtc"};
    char                            path[256], command[512];
    (void)state;
    assert_false(cj__toolkit_wheel(&nvrtc, directory, path, sizeof path));
    for (size_t i = 0; i < CJ_TEST_COUNT(places); i++) {
        snprintf(command, sizeof command, "cd %s && mkdir -p $(dirname %s) && touch %s", directory, places[i],
                 places[i]);
        assert_int_equal(system(command), 0);
        assert_true(cj__toolkit_wheel(&nvrtc, directory, path, sizeof path));
        assert_non_null(strstr(path, places[i]));
        assert_false(cj__toolkit_wheel(&nvrtc, directory, path, strlen(path)));
        snprintf(command, sizeof command, "rm -r %s/lib*", directory);
        assert_int_equal(system(command), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_found_by_the_names_of_the_source),
        cmocka_unit_test(a_hazard_names_the_line_of_the_source),
        cmocka_unit_test(what_does_not_compile_is_refused_in_the_compilers_words),
        cmocka_unit_test_setup_teardown(a_module_is_kept_under_all_that_decides, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(a_header_that_changes_is_compiled_anew, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(what_cannot_be_told_is_not_kept, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(a_file_that_is_missing_is_in_the_key, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(a_wheel_is_found_beneath_its_prefix, begin_keeping, end_keeping),
    };
    cj_nvrtc nvrtc;
    cj_error error;
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    if (cj__nvrtc_open(&nvrtc, &error)) cj_test_skip("%s", error.message);
    return cmocka_run_group_tests(tests, cj_test_open_watched, cj_test_close);
}

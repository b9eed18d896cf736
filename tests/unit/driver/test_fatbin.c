// SPDX-License-Identifier: Apache-2.0
// PTX out of fat binaries: as nvcc's fatbinary writes them, in each compression and for each target; of cut and damaged copies
// no byte outside is read, and what is wrong is named.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatbin.h"

typedef struct image {
    unsigned char *bytes;
    size_t         size;
} image;

static char directory[] = "/tmp/cj_fatbin_XXXXXX";

static const cj_limits hopper = {.compute_capability = 90};
static const cj_limits every = {.compute_capability = 90, .every_target = true};
static const cj_limits family[] = {
    {.compute_capability = 100}, {.compute_capability = 103}, {.compute_capability = 120}};

static void path_of(char *path, size_t size, const char *name) { snprintf(path, size, "%s/%s", directory, name); }

// The PTX of the tests: long enough to be compressed; its target is its only difference.
static void write_ptx(const char *target) {
    char name[80], path[256];
    snprintf(name, sizeof name, "%s.ptx", target);
    path_of(path, sizeof path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, ".version 9.0\n.target %s\n.address_size 64\n", target);
    for (unsigned i = 0; i < 50; i++) fprintf(file, ".visible .entry kernel_%u()\n{\nret;\n}\n", i);
    assert_int_equal(fclose(file), 0);
}

// A fat binary of fatbinary's, with PTX for these targets (separated by spaces), compressed in that way.
static image make(const char *targets, const char *mode) {
    char  command[2048], path[256], word[16];
    image made = {0};
    path_of(path, sizeof path, "made.fatbin");
    int at = snprintf(command, sizeof command,
                      "PATH=$PATH:/usr/local/cuda/bin; fatbinary -64 --create=%s --compress-mode=%s", path, mode);
    for (int used; sscanf(targets, "%15s%n", word, &used) == 1; targets += used) {
        write_ptx(word);
        at += snprintf(command + at, sizeof command - (size_t)at, " --image3=kind=ptx,sm=%s,file=%s/%s.ptx", word + 3,
                       directory, word);
    }
    assert_int_equal(system(command), 0);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    made.size = (size_t)about.st_size;
    made.bytes = malloc(made.size);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(made.bytes, 1, made.size, file), made.size);
    fclose(file);
    return made;
}

// The first `size` bytes of the image, on the heap alone, so that a sanitizer sees what is read after them.
static cj_status read_copy(const unsigned char *bytes, size_t size, cj__fatbin_text *found, cj_error *error) {
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    const cj_status status = cj__fatbin_ptx(copy, size, &every, found, error);
    free(copy);
    return status;
}

static void expect_target(const image *fat, const cj_limits *limits, const char *target) {
    cj__fatbin_text found = {0};
    cj_error        error = {0};
    char            line[64];
    cj_test_ok(cj__fatbin_ptx(fat->bytes, fat->size, limits, &found, &error), &error);
    snprintf(line, sizeof line, ".target %s\n", target);
    assert_non_null(strstr(found.ptx, line));
    assert_non_null(strstr(found.ptx, "kernel_49()\n{\nret;\n}\n"));
    assert_int_equal(found.length, strlen(found.ptx));
    char name[64];
    snprintf(name, sizeof name, "sm_%u%c", found.capability, found.variant);
    assert_string_equal(name, target);
    free(found.ptx);
}

static void ptx_is_read_in_every_compression(void **state) {
    (void)state;
    static const char *const modes[] = {"none", "speed", "balance", "size", "default"};
    for (size_t i = 0; i < CJ_TEST_COUNT(modes); i++) {
        const image fat = make("sm_90", modes[i]);
        assert_true(cj__fatbin_is(fat.bytes, fat.size));
        expect_target(&fat, &hopper, "sm_90");
        free(fat.bytes);
    }
}

static void the_best_target_is_chosen(void **state) {
    (void)state;
    static const struct {
        const char      *targets;
        const cj_limits *limits;
        const char      *best;
    } rows[] = {
        {"sm_80 sm_90 sm_120", &hopper, "sm_90"},
        {"sm_90 sm_90a", &hopper, "sm_90a"},
        {"sm_90a sm_90", &hopper, "sm_90a"},
        {"sm_80 sm_86", &hopper, "sm_86"},
        {"sm_80 sm_100a", &every, "sm_80"},
        {"sm_120 sm_100a sm_100", &every, "sm_100"},
        {"sm_120 sm_100f sm_103a", &every, "sm_100f"},
        {"sm_100f sm_100", &family[1], "sm_100f"},
        {"sm_100a sm_100f sm_90", &family[2], "sm_90"},
        {"sm_100f sm_100a", &family[0], "sm_100a"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        const image fat = make(rows[i].targets, "default");
        expect_target(&fat, rows[i].limits, rows[i].best);
        free(fat.bytes);
    }
}

static void expect_refusal(cj_status status, const cj_error *error, cj_status wanted, const char *rule,
                           const char *part) {
    assert_int_equal(status, wanted);
    assert_int_equal(error->status, wanted);
    assert_string_equal(error->rule, rule);
    if (!strstr(error->message, part)) fail_msg("'%s' is not in '%s'", part, error->message);
}

static void no_ptx_that_runs_is_refused_with_what_there_is(void **state) {
    (void)state;
    cj_error        error = {0};
    cj__fatbin_text found = {0};
    image           fat = make("sm_90a sm_120", "default");
    const cj_limits ampere = {.compute_capability = 80};
    expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &ampere, &found, &error), &error, CJ_UNSUPPORTED,
                   "fatbin-no-ptx", "it holds PTX for compute_90a, PTX for compute_120");
    fat.bytes[16] = 2;  // the first entry's kind: machine code
    expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error, CJ_UNSUPPORTED,
                   "fatbin-no-ptx",
                   "compute capability 9.0 can run; it holds machine code for sm_90a, PTX for compute_120");
    assert_non_null(strstr(error.hint, "-gencode arch=compute_90,code=compute_90"));
    memset(fat.bytes + 8, 0, 8);  // the bytes of all entries
    expect_refusal(cj__fatbin_ptx(fat.bytes, 16, &hopper, &found, &error), &error, CJ_UNSUPPORTED, "fatbin-no-ptx",
                   "it holds nothing");
    free(fat.bytes);
}

static void what_is_no_fat_binary_is_refused(void **state) {
    (void)state;
    cj_error        error = {0};
    cj__fatbin_text found = {0};
    assert_false(cj__fatbin_is(".version 9.0", 12));
    assert_false(cj__fatbin_is("\x7f"
                               "ELF",
                               0));
    assert_false(cj__fatbin_is("\x50\xed\x55", 3));
    assert_false(cj__fatbin_is(NULL, 0));
    expect_refusal(cj__fatbin_ptx(".version 9.0", 12, &hopper, &found, &error), &error, CJ_FILE, "fatbin-form",
                   "no fat binary");
    const image fat = make("sm_90", "none");
    fat.bytes[6] = 8;  // the header's length
    expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error, CJ_FILE, "fatbin-form",
                   "8 bytes");
    free(fat.bytes);
}

// Every length that is too short, of a container with two texts.
static void cut_copies_are_refused(void **state) {
    (void)state;
    static const char *const modes[] = {"none", "speed", "balance"};
    for (size_t i = 0; i < CJ_TEST_COUNT(modes); i++) {
        const image fat = make("sm_80 sm_90", modes[i]);
        for (size_t size = 4; size < fat.size; size++) {
            cj_error        error = {0};
            cj__fatbin_text found = {0};
            const cj_status status = read_copy(fat.bytes, size, &found, &error);
            if (status != CJ_FILE || strcmp(error.rule, "fatbin-cut") != 0)
                fail_msg("%zu of %zu bytes", size, fat.size);
            assert_null(found.ptx);
        }
        free(fat.bytes);
    }
}

// Random bytes of a container become others: the text or an error comes, and nothing outside is read.
static void damaged_copies_are_read_or_refused(void **state) {
    (void)state;
    static const char *const modes[] = {"none", "speed", "balance"};
    uint64_t                 seed = cj_test_seed();
    for (size_t i = 0; i < CJ_TEST_COUNT(modes); i++) {
        const image    fat = make("sm_80 sm_90", modes[i]);
        unsigned char *damaged = malloc(fat.size);
        unsigned       refused = 0;
        for (unsigned draw = 0; draw < 3000; draw++) {
            memcpy(damaged, fat.bytes, fat.size);
            const size_t among = draw % 2 ? fat.size : 96;  // the headers, or all of it
            for (uint64_t n = 1 + cj_test_random(&seed) % 4; n; n--)
                damaged[cj_test_random(&seed) % among] = (unsigned char)cj_test_random(&seed);
            cj_error        error = {0};
            cj__fatbin_text found = {0};
            const cj_status status = read_copy(damaged, fat.size, &found, &error);
            assert_true(status ? error.message[0] && !found.ptx : found.ptx && found.length == strlen(found.ptx));
            refused += status != CJ_OK;
            free(found.ptx);
        }
        assert_in_range(refused, 300, 3000);
        free(damaged);
        free(fat.bytes);
    }
}

static void damaged_text_is_refused_by_its_compression(void **state) {
    (void)state;
    static const struct { const char *mode, *part; } rows[] = {{"speed", "the LZ4 data"}, {"balance", "the zstd data"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_error        error = {0};
        cj__fatbin_text found = {0};
        const image     fat = make("sm_90", rows[i].mode);
        memset(fat.bytes + 16 + 80, 0xff, 40);
        expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error, CJ_FILE,
                       "fatbin-compressed", rows[i].part);
        fat.bytes[16 + 41] = 0;  // the flags' bits of LZ4 and zstd
        expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error, CJ_FILE,
                       "fatbin-compressed", "compressed in a way that is not known (flags 0x11)");
        free(fat.bytes);
    }
}

typedef struct wrapped {
    uint32_t           magic, version;
    const void        *container;
    const void *const *linked;
} wrapped;

static void a_programs_wrapper_is_followed(void **state) {
    (void)state;
    const image     fat = make("sm_90", "default");
    wrapped         wrapper = {.magic = 0x466243b1, .version = 1, .container = fat.bytes};
    cj_error        error = {0};
    cj__fatbin_text found = {0};
    expect_target(&(image){(unsigned char *)&wrapper, 0}, &hopper, "sm_90");
    expect_target(&(image){(unsigned char *)&wrapper, sizeof wrapper}, &hopper, "sm_90");
    wrapper.container = NULL;
    expect_refusal(cj__fatbin_ptx(&wrapper, 0, &hopper, &found, &error), &error, CJ_FILE, "fatbin-form",
                   "no fat binary");
    free(fat.bytes);
}

// With -rdc=true the container has nvlink's machine code, and the units are listed beside it. A unit of libcudadevrt.a has PTX
// for a later GPU alone.
static void the_units_of_separate_compilation_are_linked(void **state) {
    (void)state;
    const image fat = make("sm_80 sm_90", "default"), other = make("sm_90", "none"), machine = make("sm_90", "none");
    const image later = make("sm_121", "default");
    const void *units[] = {machine.bytes, fat.bytes, later.bytes, NULL, NULL};
    wrapped     wrapper = {.magic = 0x466243b1, .version = 2, .container = machine.bytes, .linked = units};
    const image program = {(unsigned char *)&wrapper, 0};
    cj_error    error = {0};
    cj__fatbin_text found = {0};
    machine.bytes[16] = 2;
    expect_target(&program, &hopper, "sm_90");
    expect_target(&program, &every, "sm_90");
    units[3] = other.bytes;
    expect_refusal(cj__fatbin_ptx(&wrapper, 0, &every, &found, &error), &error, CJ_UNSUPPORTED, "fatbin-link",
                   "2 PTX texts cannot be linked: 'translation unit 4' defines 'kernel_0'");
    for (char *at = (char *)other.bytes; (at = memchr(at, 'k', other.size - (size_t)(at - (char *)other.bytes))); at++)
        if (!strncmp(at, "kernel_", 7)) *at = 'K';
    cj_test_ok(cj__fatbin_ptx(&wrapper, 0, &every, &found, &error), &error);
    assert_non_null(strstr(found.ptx, ".entry kernel_49("));
    assert_non_null(strstr(found.ptx, ".entry Kernel_49("));
    assert_int_equal(found.length, strlen(found.ptx));
    free(found.ptx);
    units[1] = units[3] = NULL;
    expect_refusal(cj__fatbin_ptx(&wrapper, 0, &hopper, &found, &error), &error, CJ_UNSUPPORTED, "fatbin-no-ptx",
                   "machine code for sm_90, machine code for sm_90");
    units[0] = later.bytes;
    expect_target(&program, &every, "sm_121");
    free(fat.bytes);
    free(other.bytes);
    free(machine.bytes);
    free(later.bytes);
}

static void a_file_replaces_the_programs_ptx(void **state) {
    (void)state;
    cj_error        error = {0};
    cj__fatbin_text found = {0};
    const image     fat = make("sm_90", "none");
    char            path[256];
    fat.bytes[16] = 2;  // a program with machine code alone
    path_of(path, sizeof path, "sm_90.ptx");
    setenv("CLUSTERJIT_PTX", path, 1);
    cj_test_ok(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error);
    char *const text = cj_test_read(path);
    assert_string_equal(found.ptx, text);
    assert_int_equal(found.length, strlen(text));
    free(found.ptx);
    free(text);
    found.ptx = NULL;
    setenv("CLUSTERJIT_PTX", "/nowhere/a.ptx", 1);
    expect_refusal(cj__fatbin_ptx(fat.bytes, fat.size, &hopper, &found, &error), &error, CJ_FILE, "fatbin-replacement",
                   "/nowhere/a.ptx, cannot be read");
    assert_null(found.ptx);
    unsetenv("CLUSTERJIT_PTX");
    free(fat.bytes);
}

static int make_directory(void **state) {
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int drop_directory(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

int main(void) {
    if (system("PATH=$PATH:/usr/local/cuda/bin; command -v fatbinary >/dev/null") != 0)
        cj_test_skip("there is no fatbinary (of the CUDA toolkit)");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_read_in_every_compression),
        cmocka_unit_test(the_best_target_is_chosen),
        cmocka_unit_test(no_ptx_that_runs_is_refused_with_what_there_is),
        cmocka_unit_test(what_is_no_fat_binary_is_refused),
        cmocka_unit_test(cut_copies_are_refused),
        cmocka_unit_test(damaged_copies_are_read_or_refused),
        cmocka_unit_test(damaged_text_is_refused_by_its_compression),
        cmocka_unit_test(a_programs_wrapper_is_followed),
        cmocka_unit_test(the_units_of_separate_compilation_are_linked),
        cmocka_unit_test(a_file_replaces_the_programs_ptx),
    };
    return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

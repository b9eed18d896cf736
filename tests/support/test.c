// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t cj_test_seed(void) {
    static uint64_t seed;
    static bool     known;
    if (known) return seed;
    const char     *given = getenv("CJ_SEED");
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    known = true;
    printf("seed %" PRIu64 ": CJ_SEED=%" PRIu64 " repeats this run\n", seed, seed);
    return seed;
}

bool cj_test_few(void) {
    const char *value = getenv("CJ_FEW");
    return value && !strcmp(value, "1");
}

bool cj_test_chosen(size_t number, size_t in) { return !cj_test_few() || number % in == cj_test_seed() % in; }

bool cj_test_mine(size_t number) {
    const char *value = getenv("CJ_PART");
    size_t      part = 0, parts = 1;
    if (value && (sscanf(value, "%zu/%zu", &part, &parts) != 2 || part >= parts))
        fail_msg("CJ_PART=%s is no K/N, with K from 0 to N - 1", value);
    return number % parts == part;
}

uint64_t cj_test_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void cj_test_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("SKIP: ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    exit(77);
}

void cj__test_ok(cj_status status, const cj_error *error, const char *file, int line) {
    if (status == CJ_OK) return;
    print_error("%s: %s\n", cj_status_name(status), cj_status_text(status));
    if (error) print_error("%s %s\n%s\n", error->rule, error->message, error->hint);
    _fail(file, line);
}

static bool runnable(char *path, size_t size, const char *directory, size_t length) {
    int written = snprintf(path, size, "%.*s/ptxas", (int)length, directory);
    return written > 0 && (size_t)written < size && !access(path, X_OK);
}

static bool find_ptxas(char *path, size_t size) {
    const char *given = getenv("CJ_PTXAS");
    if (given && *given) {
        if (access(given, X_OK)) return false;
        snprintf(path, size, "%s", given);
        return true;
    }
    const char *directory = getenv("PATH");
    while (directory && *directory) {
        size_t length = strcspn(directory, ":");
        if (length && runnable(path, size, directory, length)) return true;
        directory += length + (directory[length] == ':');
    }
    const char toolkit[] = "/usr/local/cuda/bin";
    return runnable(path, size, toolkit, sizeof toolkit - 1);
}

const char *cj_test_ptxas(void) {
    static char path[4096];
    if (!*path && !find_ptxas(path, sizeof path)) cj_test_skip("no ptxas in $CJ_PTXAS, PATH or /usr/local/cuda/bin");
    return path;
}

static int run_ptxas_status(const char *options, const char *ptx, const char *arch, char *log, size_t size) {
    char  source[] = "/tmp/cj-XXXXXX";
    char  command[4400];
    int   descriptor = mkstemp(source);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file) fail_msg("cannot write %s", source);
    fputs(ptx, file);
    fclose(file);

    snprintf(command, sizeof command, "'%s' %s -arch=%s -o /dev/null %s 2>&1", cj_test_ptxas(), options, arch, source);
    FILE *words = popen(command, "r");
    if (!words) fail_msg("cannot run %s", command);
    log[fread(log, 1, size - 1, words)] = '\0';
    while (fgetc(words) != EOF) {}
    int status = pclose(words);
    unlink(source);
    return status;
}

static bool run_ptxas(const char *options, const char *ptx, const char *arch, char *log, size_t size) {
    return run_ptxas_status(options, ptx, arch, log, size) == 0;
}

#define STRICT "-Werror -suppress-async-bulk-multicast-advisory-warning"

// The largest number of bytes that a function spills, from `ptxas -v`.
static unsigned long most_spilled(const char *log) {
    unsigned long most = 0;
    for (const char *at = log; (at = strstr(at, " bytes spill stores")); at++) {
        const char *number = at;
        while (number > log && number[-1] >= '0' && number[-1] <= '9') number--;
        const unsigned long bytes = strtoul(number, NULL, 10);
        if (bytes > most) most = bytes;
    }
    return most;
}

bool cj_test_assemble_spills(const char *ptx, const char *arch, unsigned long *bytes, char *log, size_t size) {
    *bytes = 0;
    if (!run_ptxas(STRICT " -v", ptx, arch, log, size)) return false;
    *bytes = most_spilled(log);
    if (*bytes) print_message("%lu bytes are spilled on %s: %.*s\n", *bytes, arch, (int)strcspn(ptx, "\n"), ptx);
    return true;
}

bool cj_test_assemble(const char *ptx, const char *arch, char *log, size_t size) {
    unsigned long spilled;
    return cj_test_assemble_spills(ptx, arch, &spilled, log, size) && !spilled;
}

bool cj_test_accepts(const char *ptx, const char *arch, char *log, size_t size) {
    return run_ptxas(STRICT " -O0", ptx, arch, log, size);
}

bool cj_test_takes(const char *ptx, const char *arch, char *log, size_t size) {
    return run_ptxas("", ptx, arch, log, size);
}

cj_test_verdict cj_test_judge(const char *ptx, const char *arch, char *log, size_t size) {
    const int status = run_ptxas_status("-O0 -w", ptx, arch, log, size);
    if (!status) return CJ_TEST_TAKES;
    return strstr(log, "error") || strstr(log, "fatal") ? CJ_TEST_REFUSES : CJ_TEST_CRASHES;
}

char *cj_test_read(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char  *text = NULL;
    size_t length = 0, got;
    do {
        char *larger = realloc(text, length + 65536);
        if (!larger) abort();
        text = larger;
        got = fread(text + length, 1, 65535, file);
        length += got;
    } while (got);
    text[length] = '\0';
    fclose(file);
    return text;
}

// SPDX-License-Identifier: Apache-2.0
#include "mutation.h"

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 8 };          // schedules under which a mutant is run
#define LATE UINT64_MAX  // in place of a seed: the late schedule; 0 is the fixed one

// Which lines are mutated, and how they are weakened: NULL removes the whole line.
static const struct mutation {
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
    {"st.relaxed.sys", ".relaxed.sys", ""},
    {"ld.relaxed.sys", ".relaxed.sys", ""},
    {"st.relaxed.sys", ".sys", ".gpu"},
    {"ld.relaxed.sys", ".sys", ".gpu"},
    {"st.release.gpu", ".release", ".relaxed"},
    {"ld.acquire.gpu", ".acquire", ".relaxed"},
    {"st.release.sys", ".release", ".relaxed"},
    {"ld.acquire.sys", ".acquire", ".relaxed"},
    {"st.release.sys", ".sys", ".gpu"},
    {"ld.acquire.sys", ".sys", ".gpu"},
    {"mbarrier.init", NULL, NULL},
    {"mbarrier.arrive", NULL, NULL},
    {"mbarrier.try_wait", NULL, NULL},
    {"mbarrier.expect_tx", NULL, NULL},
    {"wgmma.commit_group", NULL, NULL},
    {"wgmma.wait_group", NULL, NULL},
    {"cp.async.commit_group", NULL, NULL},
    {"cp.async.wait_group", NULL, NULL},
    {"cp.async.bulk.commit_group", NULL, NULL},
    {"cp.async.bulk.wait_group", NULL, NULL},
};

static uint32_t threads(void) {
    const char *text = getenv("CJ_MUTANT_THREADS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 1;
}

static void configure(uint64_t seed, bool hazards) {
    cj_error       error = {0};
    cj_cpu_options options = {CJ_INIT(options),
                              .hazards = hazards,
                              .random_schedule = seed > 0 && seed < LATE,
                              .late_schedule = seed == LATE,
                              .seed = seed,
                              .threads = threads(),
                              .instruction_limit = 20 * 1000 * 1000};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}

static void *room_for(const cj_specimen *specimen) {
    void *room = calloc(1, specimen->bytes);
    assert_non_null(room);
    return room;
}

static cj_status load(const cj_specimen *specimen, const char *ptx, cj_module **module, cj_function **function,
                      cj_error *error) {
    cj_status status = cj_module_from_ptx(cj_test_device, ptx, strlen(ptx), module, error);
    return status ? status : cj_module_function(*module, specimen->entry, function, error);
}

// The text with the line at `line` removed or weakened; to be freed.
static char *mutate(const char *ptx, const char *line, const struct mutation *m) {
    const char  *from = m->from ? strstr(line, m->from) : line;
    const char  *rest = m->from ? from + strlen(m->from) : line + strcspn(line, "\n");
    const char  *to = m->to ? m->to : "";
    const size_t before = (size_t)(from - ptx), size = strlen(ptx) + strlen(to) + 1;
    char        *text = malloc(size);
    assert_non_null(text);
    snprintf(text, size, "%.*s%s%s", (int)before, ptx, to, rest);
    return text;
}

// Whether a text gives the right result under every schedule; else *why says what was found.
static bool survives(const cj_specimen *specimen, const char *ptx, const void *want, char *why, size_t size) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    void        *out = room_for(specimen);
    bool         same = true;
    cj_status    status = load(specimen, ptx, &module, &function, &error);
    for (uint64_t seed = 0; seed < SEEDS && !status && same; seed++) {
        configure(seed, true);
        status = specimen->run(specimen, function, out, &error);
        same = status || !memcmp(out, want, specimen->bytes);
    }
    cj_module_unload(module);
    free(out);
    if (status == CJ_OUT_OF_MEMORY) fail_msg("%s", error.message);
    if (status)
        snprintf(why, size, "%s [%s]", cj_status_name(status), error.rule);
    else
        snprintf(why, size, same ? "SURVIVES" : "wrong result");
    return !status && same;
}

// ---- counting: CJ_COUNT_SEEDS=N

static bool is_wrong(const cj_specimen *specimen, cj_function *function, uint64_t seed, const void *want, void *out) {
    cj_error error = {0};
    configure(seed, false);
    return specimen->run(specimen, function, out, &error) || memcmp(out, want, specimen->bytes);
}

// Prints which schedules give a wrong result or an error with hazards off, and the first of `seeds` seeds that does.
static void count_seeds(const cj_specimen *specimen, const char *ptx, const void *want, uint64_t seeds) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    void        *out = room_for(specimen);
    uint64_t     seed = 1;
    if (load(specimen, ptx, &module, &function, &error)) {
        print_message("refused: ");
    } else {
        const bool fixed = is_wrong(specimen, function, 0, want, out);
        const bool late = is_wrong(specimen, function, LATE, want, out);
        while (seed <= seeds && !is_wrong(specimen, function, seed, want, out)) seed++;
        print_message("fixed %d, late %d, seed %d: ", fixed, late, seed <= seeds ? (int)seed : 0);
    }
    cj_module_unload(module);
    free(out);
}

static uint64_t seeds_to_count(void) {
    const char *text = getenv("CJ_COUNT_SEEDS");
    return text ? strtoull(text, NULL, 10) : 0;
}

static unsigned try_line(const cj_specimen *specimen, const char *line, const void *want) {
    const size_t length = strcspn(line, "\n"), comment = strcspn(line, "/"), code = comment < length ? comment : length;
    const int    blanks = (int)strspn(line, " ");
    unsigned     survivors = 0;
    if (specimen->can_miss && !specimen->can_miss(specimen, line, code)) return 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(mutations); i++) {
        const struct mutation *m = &mutations[i];
        const char            *found = strstr(line, m->holds);
        if (!found || found >= line + code) continue;
        char      *mutant = mutate(specimen->ptx, line, m), why[96] = "";
        const bool counts = seeds_to_count() > 0, alive = !counts && survives(specimen, mutant, want, why, sizeof why);
        if (counts) count_seeds(specimen, mutant, want, seeds_to_count());
        print_message("%s: %s%s%s: %.*s\n", why, m->from ? m->from : "without", m->to ? " -> " : "", m->to ? m->to : "",
                      (int)code - blanks, line + blanks);
        if (alive) print_error("unnoticed in: %s\n", specimen->words);
        survivors += alive;
        free(mutant);
    }
    return survivors;
}

// Runs the kernel itself as the CPU device is configured; fails the test where that fails.
static void run_it(const cj_specimen *specimen, cj_function *function, void *out) {
    cj_error error = {0};
    cj_test_ok(specimen->run(specimen, function, out, &error), &error);
}

unsigned cj_mutants_surviving(const cj_specimen *specimen) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    void        *want = room_for(specimen);
    unsigned     survivors = 0;
    cj_test_ok(load(specimen, specimen->ptx, &module, &function, &error), &error);
    configure(0, true);
    run_it(specimen, function, want);
    cj_module_unload(module);
    for (const char *line = specimen->ptx; *line; line += strcspn(line, "\n") + 1)
        survivors += try_line(specimen, line, want);
    free(want);
    return survivors;
}

void cj_schedules_agree(const cj_specimen *specimen, uint64_t seeds) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    void        *want = room_for(specimen), *out = room_for(specimen);
    cj_test_ok(load(specimen, specimen->ptx, &module, &function, &error), &error);
    for (uint64_t i = 0; i <= seeds + 1; i++) {
        const uint64_t seed = i <= seeds ? i : LATE;
        configure(seed, true);
        run_it(specimen, function, seed ? out : want);
        if (seed && memcmp(out, want, specimen->bytes) != 0)
            fail_msg("%s: another result under schedule %d", specimen->words, (int)seed);
    }
    cj_module_unload(module);
    free(want);
    free(out);
}

// ---- a program

static const cj_specimens *program;
static uint64_t            program_seeds;

static void every_synchronization_is_needed_and_its_absence_is_seen(void **state) {
    unsigned survivors = 0;
    (void)state;
    for (size_t i = 0; i < program->count; i++) {
        if (!cj_test_chosen(i, program->share)) continue;
        const cj_specimen specimen = program->open(program->words[i]);
        print_message("%s\n", specimen.words);
        survivors += cj_mutants_surviving(&specimen);
        program->close(&specimen);
    }
    assert_int_equal(survivors, 0);
}

static void no_schedule_finds_fault_with_the_kernels_themselves(void **state) {
    (void)state;
    for (size_t i = 0; i < program->count; i++) {
        if (!cj_test_chosen(i, program->share)) continue;
        const cj_specimen specimen = program->open(program->words[i]);
        cj_schedules_agree(&specimen, program_seeds);
        program->close(&specimen);
    }
}

int cj_mutation_main(const cj_specimens *all, uint64_t seeds) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synchronization_is_needed_and_its_absence_is_seen),
        cmocka_unit_test(no_schedule_finds_fault_with_the_kernels_themselves),
    };
    program = all, program_seeds = seeds;
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}

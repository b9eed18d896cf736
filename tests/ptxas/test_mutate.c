// SPDX-License-Identifier: Apache-2.0
// Random mutations of the instruction table's samples: what ptxas refuses we refuse, what it takes we take.
//
//     CJ_SEED=7 CJ_DRAWS=1000 build/dev/tests/test_ptxas_mutate
//
// Many mutants, each in an entry of its own, go through ptxas at once: an error names its line, and so its mutant. Three
// kinds of answer need more runs: a syntax error ends ptxas, which goes on with the entries after it; what the parser takes
// is compiled, too; and if that fails without a line the batch is halved.
#define _POSIX_C_SOURCE 200809L
#include "line_mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "scaffold.h"
#include "test.h"

enum { DRAWS = 400, DRAWS_FEW = 60, VERSION = 90, LOG = 1 << 20, BATCH = 128 };

// Verdicts still differ on about 10 of 1000 mutants: operands of textures and video instructions, single values where ptxas
// wants a matrix, elements of a vector that are predicates or of other widths. More of them are a step back.
enum { DIFFER_PER_THOUSAND = 20, DIFFER_BY_CHANCE = 3 };

typedef enum verdict { UNKNOWN, TAKES, REFUSES, CRASHES } verdict;

typedef struct mutant {
    char    line[CJ_MUTANT_MAX];
    char    says[256];  // what ours or ptxas's says of it
    bool    ours;
    verdict theirs;
    size_t  first, last;  // lines of its entry in the batch
} mutant;

static bool we_take(const char *line, const char *target, char *says, size_t size) {
    cj_text       text = {0};
    cj_error      error = {0};
    cj_ir_module *module = NULL;
    cj_test_head(&text, VERSION, target);
    cj_test_entry(&text, "k", line);
    const bool takes = !cj__ir_parse(text.data, text.length, &module, &error) && !cj__check(module, &error);
    cj__ir_free(module);
    cj__text_free(&text);
    snprintf(says, size, "%s: %s", error.rule, error.message);
    return takes;
}

// ---- ptxas

// The lines of the text from `from` on.
static size_t lines_of(const cj_text *text, size_t from) {
    size_t lines = 0;
    for (const char *at = text->data + from; (at = strchr(at, '\n')); at++) lines++;
    return lines;
}

// The mutants that ptxas may still take, in one text.
static void write_batch(cj_text *text, mutant *m, size_t count, const char *target) {
    cj_test_head(text, VERSION, target);
    size_t line = lines_of(text, 0) + 1;
    for (size_t i = 0; i < count; i++) {
        if (m[i].theirs != UNKNOWN) continue;
        const size_t start = text->length;
        char         name[24];
        snprintf(name, sizeof name, "k%zu", i);
        m[i].first = line;
        cj_test_entry(text, name, m[i].line);
        line += lines_of(text, start);
        m[i].last = line - 1;
    }
}

// Notes the mutants that ptxas's words name. *fatal: the one behind which ptxas did not read on; `count`: none.
static size_t read_log(mutant *m, size_t count, const char *log, size_t *fatal) {
    size_t refused = 0;
    *fatal = count;
    for (const char *at = log; (at = strstr(at, ", line ")); at++) {
        char               *end;
        const unsigned long line = strtoul(at + sizeof ", line " - 1, &end, 10);
        const bool          is_fatal = !strncmp(end, "; fatal", 7);
        static const char   builtin[] = "<builtin>";  // what ptxas makes of an instruction: the line is none of ours
        const size_t        length = sizeof builtin - 1;
        if ((size_t)(at - log) >= length && !memcmp(at - length, builtin, length)) continue;
        if (!is_fatal && strncmp(end, "; error", 7)) continue;
        for (size_t i = 0; i < count; i++) {
            if (m[i].theirs == TAKES || line < m[i].first || line > m[i].last) continue;
            if (m[i].theirs == UNKNOWN) {
                m[i].theirs = REFUSES;
                refused++;
                if (m[i].ours) snprintf(m[i].says, sizeof m[i].says, "%.*s", (int)strcspn(end, "\n"), end);
            }
            if (is_fatal) *fatal = i;
        }
    }
    return refused;
}

// Runs ptxas over those that are still unknown, with what it says in `log`.
static cj_test_verdict assemble(mutant *m, size_t count, const char *target, bool parse_only, char *log) {
    cj_text text = {0};
    char    arch[32];
    for (size_t i = 0; i < count; i++) m[i].first = m[i].last = 0;
    write_batch(&text, m, count, target);
    snprintf(arch, sizeof arch, "%s_%s", parse_only ? "compute" : "sm", target + 3);
    const cj_test_verdict says = cj_test_judge(text.data, arch, log, LOG);
    cj__text_free(&text);
    return says;
}

static void parse_all(mutant *m, size_t count, const char *target, char *log) {
    for (size_t start = 0, fatal; start < count; start += fatal + 1) {
        if (assemble(m + start, count - start, target, true, log) == CJ_TEST_CRASHES) return;
        read_log(m + start, count - start, log, &fatal);
    }
}

static void compile_all(mutant *m, size_t count, const char *target, char *log) {
    size_t open = 0, fatal;
    for (size_t i = 0; i < count; i++) open += m[i].theirs == UNKNOWN;
    if (!open) return;
    const cj_test_verdict says = assemble(m, count, target, false, log);
    if (says == CJ_TEST_REFUSES && read_log(m, count, log, &fatal)) {
        compile_all(m, count, target, log);
    } else if (says == CJ_TEST_TAKES || open == 1) {
        for (size_t i = 0; i < count; i++) {
            if (m[i].theirs != UNKNOWN) continue;
            m[i].theirs = says == CJ_TEST_TAKES ? TAKES : says == CJ_TEST_REFUSES ? REFUSES : CRASHES;
            if (m[i].ours && says) snprintf(m[i].says, sizeof m[i].says, "%.250s", log);
        }
    } else {
        compile_all(m, count / 2, target, log);
        compile_all(m + count / 2, count - count / 2, target, log);
    }
}

// ---- the samples and their targets

static const char *const targets[] = {"sm_90a", "sm_100a", "sm_120a", "sm_103a"};

// The first target on which the sample is right; CJ_TEST_COUNT(targets): none.
static size_t target_of(const char *sample) {
    char   says[256];
    size_t i = 0;
    while (i < CJ_TEST_COUNT(targets) && !we_take(sample, targets[i], says, sizeof says)) i++;
    return i;
}

// What ptxas says for reasons that lie outside the line.
static const char *const excepted[] = {
    "32-Bit ABI",            // said of a whole module, by its 32-bit addresses: beside a 16-bit one it takes them
    "State space mismatch",  // the checker's rule address-space, of cj__check_paths
};

static bool is_excepted(const mutant *m) {
    for (size_t i = 0; m->ours && i < CJ_TEST_COUNT(excepted); i++)
        if (strstr(m->says, excepted[i])) return true;
    return false;
}

static unsigned differences(mutant *m, size_t count, const char *target) {
    unsigned bad = 0, crashes = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_not_equal(m[i].theirs, UNKNOWN);
        crashes += m[i].theirs == CRASHES;
        if (m[i].theirs == CRASHES || m[i].ours == (m[i].theirs == TAKES) || is_excepted(&m[i])) continue;
        print_error("%s: %s\n    %s: %s\n", target, m[i].line, m[i].ours ? "only ptxas refuses" : "only we refuse",
                    m[i].says);
        bad++;
    }
    if (crashes) print_message("%s: ptxas itself fails on %u mutants\n", target, crashes);
    return bad;
}

static unsigned draws(void) {
    const char *given = getenv("CJ_DRAWS");
    return given ? (unsigned)strtoul(given, NULL, 10) : cj_test_few() ? DRAWS_FEW : DRAWS;
}

static void check_says_of_mutants_what_ptxas_says(void **state) {
    (void)state;
    uint64_t       random = cj_test_seed();
    const unsigned count = draws();
    mutant        *m[CJ_TEST_COUNT(targets)];
    size_t         made[CJ_TEST_COUNT(targets)] = {0};
    char          *log = malloc(LOG);
    assert_non_null(log);
    for (size_t t = 0; t < CJ_TEST_COUNT(targets); t++) assert_non_null(m[t] = calloc(count, sizeof **m));
    for (unsigned draw = 0; draw < count; draw++) {
        const char  *sample = cj__rows[cj_test_random(&random) % CJ_ROW_COUNT].sample;
        const size_t t = target_of(sample);
        if (t == CJ_TEST_COUNT(targets)) continue;
        mutant *one = &m[t][made[t]++];
        cj_test_mutate(sample, &random, one->line, sizeof one->line);
        one->ours = we_take(one->line, targets[t], one->says, sizeof one->says);
    }
    unsigned bad = 0;
    for (size_t t = 0; t < CJ_TEST_COUNT(targets); t++) {
        for (size_t i = 0; i < made[t]; i += BATCH) {
            const size_t some = made[t] - i < BATCH ? made[t] - i : BATCH;
            parse_all(m[t] + i, some, targets[t], log);
            compile_all(m[t] + i, some, targets[t], log);
        }
        bad += differences(m[t], made[t], targets[t]);
        free(m[t]);
    }
    free(log);
    print_message("%u of %u mutants have another verdict\n", bad, count);
    assert_in_range(bad, 0, count * DIFFER_PER_THOUSAND / 1000 + DIFFER_BY_CHANCE);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_says_of_mutants_what_ptxas_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

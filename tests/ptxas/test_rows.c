// SPDX-License-Identifier: Apache-2.0
// The instruction table against ptxas: every row's sample assembles with the least .version and .target that the table
// says. Samples that share both go through ptxas together; only when that fails is each tried alone, to name the row.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "scaffold.h"

// Files and targets older than these do not know what the scaffold is made of; ptxas makes code for sm_75 and later.
enum { OLDEST_VERSION = 40, OLDEST_TARGET = 30, LEAST_CODE = 75 };

typedef struct sample {
    const cj_row *row;
    unsigned      version, target;
    bool          specific;  // needs a target such as sm_90a
} sample;

static int by_needs(const void *a, const void *b) {
    const sample *left = a, *right = b;
    int           target = (int)left->target - (int)right->target;
    int           specific = (int)left->specific - (int)right->specific;
    return target ? target : specific ? specific : (int)left->version - (int)right->version;
}

static sample sample_of(const cj_row *row) {
    cj_ir_module *module = cj_test_module(990, "sm_999", row->sample);
    sample        s = {.row = row, .target = cj_test_least_target(module), .specific = row->effects & CJ_ARCH};
    module->target_sm = (uint16_t)s.target;
    s.version = cj__least_version(module);
    cj__ir_free(module);
    if (s.target < OLDEST_TARGET) s.target = OLDEST_TARGET;
    char target[16];
    snprintf(target, sizeof target, "sm_%u%s", s.target, s.specific ? "a" : "");
    const cj_target_info *known = cj__target_find(target);
    if (known && known->ptx > s.version) s.version = known->ptx;
    if (s.version < OLDEST_VERSION) s.version = OLDEST_VERSION;
    return s;
}

// What ptxas is to make code for: the sample's own target, or the first one that it still has.
static const char *code_target(const sample *s) {
    static char name[16];
    snprintf(name, sizeof name, "sm_%u%s", s->target < LEAST_CODE ? LEAST_CODE : s->target, s->specific ? "a" : "");
    return name;
}

static bool assemble(const sample *samples, size_t count, char *log, size_t size) {
    cj_text text = {0};
    char    name[32];
    snprintf(name, sizeof name, "sm_%u%s", samples->target, samples->specific ? "a" : "");
    cj_test_head(&text, samples->version, name);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "k%zu", i);
        cj_test_entry(&text, name, samples[i].row->sample);
    }
    bool ok = cj_test_assemble(text.data, code_target(samples), log, size);
    cj__text_free(&text);
    return ok;
}

// How many of these ptxas refuses, each named.
static unsigned refused(const sample *samples, size_t count) {
    char     log[4096];
    unsigned bad = 0;
    if (assemble(samples, count, log, sizeof log)) return 0;
    for (size_t i = 0; i < count; i++) {
        if (assemble(&samples[i], 1, log, sizeof log)) continue;
        print_error("%s, .version %u, sm_%u: %s\n%s", samples[i].row->sample, samples[i].version, samples[i].target,
                    samples[i].row->syntax, log);
        bad++;
    }
    return bad ? bad : 1;
}

static void row_samples_assemble(void **state) {
    (void)state;
    sample  *samples = calloc(CJ_ROW_COUNT, sizeof *samples);
    unsigned bad = 0;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) samples[i] = sample_of(&cj__rows[i]);
    qsort(samples, CJ_ROW_COUNT, sizeof *samples, by_needs);
    for (size_t first = 0, next; first < CJ_ROW_COUNT; first = next) {
        for (next = first + 1; next < CJ_ROW_COUNT && !by_needs(&samples[first], &samples[next]);) next++;
        bad += refused(&samples[first], next - first);
    }
    free(samples);
    if (bad) fail_msg("ptxas refuses %u rows", bad);
}

// Results that are given to _: taken by ptxas, or not.
static const char *const discarding[] = {
    "shfl.sync.bfly.b32 %r0|_, %r1, 16, 31, -1;",   "shfl.sync.bfly.b32 _|%p0, %r1, 16, 31, -1;",
    "shfl.sync.idx.b32 _, %r1, 16, 31, -1;",        "shfl.sync.up.b32 _|_, %r1, 16, 0, -1;",
    "match.all.sync.b32 %r0|_, %r1, -1;",           "match.all.sync.b64 _|%p0, %l1, -1;",
    "match.all.sync.b32 _, %r1, -1;",               "match.all.sync.b32 _|_, %r1, -1;",
    "match.any.sync.b32 _, %r1, -1;",               "elect.sync _|%p0, -1;",
    "elect.sync %r0|_, -1;",                        "elect.sync _|_, -1;",
    "setp.eq.u32 _|%p1, %r0, %r1;",                 "setp.eq.and.u32 %p1|_, %r0, %r1, %p0;",
    "setp.eq.u32 _, %r0, %r1;",                     "setp.eq.u32 _|_, %r0, %r1;",
    "lop3.or.b32 _|%p0, %r1, %r2, %r3, 63, %p1;",   "lop3.or.b32 %r0|_, %r1, %r2, %r3, 63, %p1;",
    "vote.sync.any.pred _, %p0, -1;",               "activemask.b32 _;",
    "add.u32 _, %r0, 1;",                           "atom.shared.add.u32 _, [tile], %r0;",
    "redux.sync.add.u32 _, %r0, -1;",               "ld.shared.u32 _, [tile];",
};

static void results_are_discarded_where_ptxas_discards_them(void **state) {
    (void)state;
    unsigned bad = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(discarding); i++) {
        cj_text       text = {0};
        char          log[4096];
        cj_error      error = {0};
        cj_ir_module *module = NULL;
        cj_test_head(&text, 90, "sm_90a");
        cj_test_entry(&text, "k", discarding[i]);
        const bool ours = !cj__ir_parse(text.data, text.length, &module, &error);
        const bool theirs = cj_test_takes(text.data, "sm_90a", log, sizeof log);
        if (ours != theirs) print_error("%s\n%s%s", discarding[i], ours ? log : error.message, ours ? "" : "\n");
        bad += ours != theirs;
        cj__ir_free(module);
        cj__text_free(&text);
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_samples_assemble),
        cmocka_unit_test(results_are_discarded_where_ptxas_discards_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// ptxgen/table: words, sets, special registers, and every row of instructions.def.
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "parser.h"
#include "print.h"
#include "scaffold.h"

enum { ANY_VERSION = 990, ANY_TARGET = 999, LEAST_VERSION = 10, LEAST_TARGET = 10 };

// ---- the lists

static void words_are_found_and_differ(void **state) {
    (void)state;
    for (cj_word word = 1; word < CJ_WORD_COUNT; word++) {
        const char *text = cj__words[word].text;
        if (cj__word_find(text, strlen(text)) != word) fail_msg("the word '%s' is in words.def twice", text);
    }
    assert_int_equal(cj__word_find("u3", 2), CJ_WORD_NONE);
    assert_int_equal(cj__word_find("u320", 4), CJ_WORD_NONE);
    assert_int_equal(cj__word_find("", 0), CJ_WORD_NONE);
    assert_int_equal(cj__word_find("u32.x", 3), CJ_W_U32);
    assert_int_equal(cj__word_find("shared::cluster", 15), CJ_W_SHARED_CLUSTER);
}

static void specials_are_found_and_differ(void **state) {
    (void)state;
    for (cj_special special = 1; special < CJ_SPECIAL_COUNT; special++) {
        const char *text = cj__specials[special].text;
        if (cj__special_find(text, strlen(text)) != special) fail_msg("%%%s is in specials.def twice", text);
        assert_true(cj__specials[special].components == 1 || cj__specials[special].components == 3);
        assert_int_not_equal(cj__words[cj__specials[special].type].class, CJ_CLASS_NONE);
    }
    assert_int_equal(cj__special_find("ti", 2), CJ_SPECIAL_NONE);
    assert_int_equal(cj__special_find("cluster_ctarank", 15), CJ_S_CLUSTER_CTARANK);
}

static const char *const set_names[] = {
#define CJ_SET(name, words) #name,
#include "sets.def"
#undef CJ_SET
};

static const char *const set_words[] = {
#define CJ_SET(name, words) words,
#include "sets.def"
#undef CJ_SET
};

static void sets_differ_and_hold_each_word_once(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(set_names); i++) {
        for (size_t j = 0; j < i; j++)
            if (!strcmp(set_names[i], set_names[j])) fail_msg("the set $%s is in sets.def twice", set_names[i]);
        char seen[CJ_WORD_COUNT] = {0};
        for (const char *at = set_words[i]; *at; at += *at == '|') {
            size_t length = strcspn(at, "|");
            if (*at != '$') {
                cj_word word = cj__word_find(at, length);
                if (!word || seen[word]++) fail_msg("$%s: '%.*s' is no word, or twice", set_names[i], (int)length, at);
            }
            at += length;
        }
    }
}

static void targets_ascend(void **state) {
    (void)state;
    static const cj_target_info targets[] = {
#define CJ_PTX_TARGET(text, number, suffix, ptx) {text, number, suffix, ptx},
#include "targets.def"
#undef CJ_PTX_TARGET
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(targets); i++) {
        const cj_target_info *found = cj__target_find(targets[i].text);
        assert_non_null(found);
        assert_int_equal(found->number, targets[i].number);
        assert_int_equal(found->suffix, targets[i].suffix);
        if (i) assert_true(targets[i - 1].number <= targets[i].number);
    }
    assert_null(cj__target_find("sm_91"));
}

// ---- rows

static void *resolve_all(void *from) {
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const char *sample = cj__rows[(i + (uintptr_t)from) % CJ_ROW_COUNT].sample;
        cj_mnemonic mnemonic;
        unsigned    wrong;
        if (!cj__mnemonic_resolve(sample, strcspn(sample, " ;"), &mnemonic, &wrong)) return (void *)(uintptr_t)sample;
    }
    return NULL;
}

// The first test: later ones find each row compiled.
static void threads_compile_rows_at_once(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, resolve_all, (void *)(7 * i)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *unknown;
        assert_int_equal(pthread_join(thread[i], &unknown), 0);
        if (unknown) fail_msg("no row takes the sample '%s'", (const char *)unknown);
    }
}

static void row_samples_choose_their_row(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const cj_row *row = &cj__rows[i];
        cj_mnemonic   mnemonic;
        unsigned      wrong;
        if (!cj__mnemonic_resolve(row->sample, strcspn(row->sample, " ;"), &mnemonic, &wrong))
            fail_msg("no row takes the sample '%s' of %s", row->sample, row->syntax);
        unsigned c = 0;
        while (c < mnemonic.candidate_count && mnemonic.candidate[c] != i) c++;
        if (c == mnemonic.candidate_count) fail_msg("'%s' is not of its row's form %s", row->sample, row->syntax);

        cj_ir_module *module = cj_test_module(ANY_VERSION, "sm_999", row->sample);
        const cj_row *chosen = cj_test_first_inst(module)->row;
        if (chosen != row) fail_msg("'%s' is meant for %s but chooses %s", row->sample, row->syntax, chosen->syntax);
        cj__ir_free(module);
    }
}

static void row_samples_print_as_they_were_read(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        cj_ir_module *module = cj_test_module(ANY_VERSION, "sm_999", cj__rows[i].sample), *again;
        cj_text       once = {0}, twice = {0};
        cj__ir_print(module, &once);
        cj_error error = {0};
        cj_test_ok(cj__ir_parse(once.data, once.length, &again, &error), &error);
        cj__ir_print(again, &twice);
        assert_string_equal(once.data, twice.data);

        const char *mnemonic = cj__rows[i].sample;
        size_t      length = strcspn(mnemonic, " ;");
        const char *line = strstr(once.data, "\n    ");
        while (line && strncmp(line + 5, mnemonic, length)) line = strstr(line + 5, "\n    ");
        if (!line) fail_msg("'%s' is printed otherwise:\n%s", mnemonic, once.data);
        cj__text_free(&once);
        cj__text_free(&twice);
        cj__ir_free(module);
        cj__ir_free(again);
    }
}

// What cj__check says to a sample in a file of this .version and .target; the rule that it breaks, or "".
static const char *rule_broken(const cj_row *row, unsigned version, unsigned target) {
    static cj_error error;
    char            name[16];
    snprintf(name, sizeof name, "sm_%u%s", target, row->effects & CJ_ARCH ? "a" : "");
    cj_ir_module *module = cj_test_module(version, name, row->sample);
    error = (cj_error){0};
    cj_status status = cj__check(module, &error);
    assert_int_equal(status, *error.rule ? CJ_INVALID_KERNEL : CJ_OK);
    cj__ir_free(module);
    return error.rule;
}

static unsigned version_before(unsigned version) {
    do version--;
    while (!cj__version_exists(version));
    return version;
}

static void row_minimums_hold(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const cj_row *row = &cj__rows[i];
        cj_ir_module *module = cj_test_module(ANY_VERSION, "sm_999", row->sample);
        unsigned      version = cj__least_version(module), target = cj_test_least_target(module);
        cj__ir_free(module);
        assert_true(version >= row->ptx && target >= row->target);

        const char *rule = rule_broken(row, version, ANY_TARGET);
        if (*rule) fail_msg("'%s' with .version %u breaks %s", row->sample, version, rule);
        rule = rule_broken(row, ANY_VERSION, target);
        if (*rule) fail_msg("'%s' on sm_%u breaks %s", row->sample, target, rule);
        if (version > LEAST_VERSION) assert_string_equal(rule_broken(row, version_before(version), ANY_TARGET), "version-least");
        if (target > LEAST_TARGET) assert_string_equal(rule_broken(row, ANY_VERSION, target - 1), "target-least");
    }
}

static void rows_name_their_operands(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const cj_pattern *pattern = cj__row_pattern(&cj__rows[i]);
        for (unsigned k = 0; k < pattern->count; k++)
            if (!strchr("dDsSUPqpmMtiavxlfL_", pattern->item[k].kind) || !strchr("TWAB1234F", pattern->item[k].type))
                fail_msg("%s: '%s' is no operand pattern", cj__rows[i].syntax, cj__rows[i].operands);
    }
}

// ---- mnemonics

static void mnemonics_resolve(void **state) {
    (void)state;
    cj_mnemonic mnemonic;
    unsigned    wrong;
    const char  text[] = "ld.global.nc.v4.f32 and more";
    assert_true(cj__mnemonic_resolve(text, strcspn(text, " "), &mnemonic, &wrong));
    assert_int_equal(mnemonic.length, strlen("ld.global.nc.v4.f32"));
    assert_int_equal(mnemonic.word_count, 4);
    assert_int_equal(mnemonic.word[0], CJ_W_GLOBAL);
    assert_int_equal(mnemonic.vector, 4);
    assert_int_equal(mnemonic.type_last, CJ_W_F32);
    assert_true(cj__mnemonic_has(&mnemonic, CJ_W_NC));
    assert_false(cj__mnemonic_has(&mnemonic, CJ_W_U32));

    assert_true(cj__mnemonic_resolve("cvt.rn.f32.u32", 14, &mnemonic, &wrong));
    assert_int_equal(mnemonic.type[0], CJ_W_F32);
    assert_int_equal(mnemonic.type[1], CJ_W_U32);
    assert_int_equal(mnemonic.type_last, CJ_W_U32);

    assert_true(cj__mnemonic_resolve("st.shared::cluster.f32", 22, &mnemonic, &wrong));
    assert_int_equal(mnemonic.ptx, 78);
    assert_int_equal(mnemonic.target, 90);
}

// What ptxas takes and what it refuses.
static void words_come_in_any_order(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool        taken;
    } cases[] = {
        {"atom.add.acquire.gpu.u32", true},  {"ex2.approx.f32.ftz", true}, {"ld.f32.global", true},
        {"cvt.f64.ftz.f32", true},           {"st.v2.global.f32", true},  {"atom.add.add.u32", false},
        {"mul.u32.lo", false},               {"shf.wrap.l.b32", false},    {"cvta.global.to.u64", false},
        {"barrier.arrive.cluster", false},   {"atom.acquire.gpu.u32", false},
        {"ldmatrix.sync.aligned.x4.m8n8.shared.b16", true},
        {"mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64", true},
        {"mbarrier.relaxed.cluster.complete_tx.shared::cluster.b64", false},
        {"cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes", true},
        {"cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes", false},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_mnemonic mnemonic;
        unsigned    wrong;
        bool        taken = cj__mnemonic_resolve(cases[i].text, strlen(cases[i].text), &mnemonic, &wrong);
        if (taken != cases[i].taken) fail_msg("'%s' is %s", cases[i].text, taken ? "taken" : "refused");
    }
    cj_mnemonic mnemonic;
    unsigned    wrong;
    assert_true(cj__mnemonic_resolve("cvt.f64.ftz.f32", 15, &mnemonic, &wrong));
    assert_int_equal(mnemonic.type[0], CJ_W_F64);
    assert_int_equal(mnemonic.type[1], CJ_W_F32);
}

// Operand lengths that follow from the mnemonic, and operands that are there with a word alone.
static void operands_follow_the_mnemonic(void **state) {
    (void)state;
    static const struct {
        const char *line, *rule;
    } cases[] = {
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r2];", ""},
        {"ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%r0, %r1}, [%r2];", ""},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [%r2];", "vector-length"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %l0, %l1, %p0, 1, 1, 0, 0;", ""},
        {"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %l0, %l1, %p0, 1, 1, 0, 0;",
         "vector-length"},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global [%l0, {%r0, %r1}];", ""},
        {"cp.async.bulk.prefetch.tensor.3d.L2.global [%l0, {%r0, %r1}];", "vector-length"},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global.L2::cache_hint [%l0, {%r0, %r1}], %l1;", ""},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global.L2::cache_hint [%l0, {%r0, %r1}];", "operands"},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global [%l0, {%r0, %r1}], %l1;", "operands"},
        {"cp.async.ca.shared.global [%r0], [%l0], 4, %p0;", ""},
        {"cp.async.ca.shared.global [%r0], [%l0], 4, %r1;", ""},
        {"mbarrier.arrive.shared::cluster.b64 _, [%r0];", ""},
        {"mbarrier.arrive.shared::cluster.b64 %l0, [%r0];", "operands"},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;", "target-arch"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_text       text = {0};
        cj_ir_module *module = NULL;
        cj_error      error = {0};
        cj_test_head(&text, 90, strncmp(cases[i].line, "tcgen05", 7) ? "sm_90a" : "sm_120a");
        cj_test_entry(&text, "k", cases[i].line);
        if (!cj__ir_parse(text.data, text.length, &module, &error)) cj__check(module, &error);
        if (strcmp(error.rule, cases[i].rule)) fail_msg("%s: [%s] %s", cases[i].line, error.rule, error.message);
        cj__text_free(&text);
        cj__ir_free(module);
    }
}

static void mnemonics_name_the_wrong_word(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned    wrong;
    } cases[] = {
        {"addd.u32", 0},        {"", 0},          {"add.u3", 1},           {"add.u32.u32", 2},
        {"ld.global.ga.f32", 2}, {"ld", 1},        {"ld.global", 2},        {"cvt.rn.f32", 3},
        {"add.", 1},            {"add..u32", 1},  {"add.global.u32", 1},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_mnemonic mnemonic;
        unsigned    wrong = 99;
        assert_false(cj__mnemonic_resolve(cases[i].text, strlen(cases[i].text), &mnemonic, &wrong));
        if (wrong != cases[i].wrong) fail_msg("'%s': word %u, not %u", cases[i].text, wrong, cases[i].wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_compile_rows_at_once),
        cmocka_unit_test(words_are_found_and_differ),
        cmocka_unit_test(specials_are_found_and_differ),
        cmocka_unit_test(sets_differ_and_hold_each_word_once),
        cmocka_unit_test(targets_ascend),
        cmocka_unit_test(rows_name_their_operands),
        cmocka_unit_test(row_samples_choose_their_row),
        cmocka_unit_test(row_samples_print_as_they_were_read),
        cmocka_unit_test(row_minimums_hold),
        cmocka_unit_test(mnemonics_resolve),
        cmocka_unit_test(words_come_in_any_order),
        cmocka_unit_test(mnemonics_name_the_wrong_word),
        cmocka_unit_test(operands_follow_the_mnemonic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

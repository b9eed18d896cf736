// SPDX-License-Identifier: Apache-2.0
// The orders in which a mnemonic's words may stand: random ones of the table's samples are taken by us where ptxas takes
// them; and lines that ptxas takes though no page shows them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "scaffold.h"
#include "test.h"

enum { DRAWS = 250, WORDS = 16, VERSION = 90 };

static bool we_take(const cj_text *text, cj_error *error) {
    cj_ir_module *module = NULL;
    bool          takes = !cj__ir_parse(text->data, text->length, &module, error) && !cj__check(module, error);
    cj__ir_free(module);
    return takes;
}

// Whether we and ptxas say the same of a line.
static bool agree(const char *line, const char *target) {
    cj_text  text = {0};
    cj_error error = {0};
    char     log[4096];
    cj_test_head(&text, VERSION, target);
    cj_test_entry(&text, "k", line);
    const bool ours = we_take(&text, &error), theirs = cj_test_takes(text.data, target, log, sizeof log);
    if (ours != theirs) print_error("%s: %s\n%s\n", target, line, ours ? log : error.message);
    cj__text_free(&text);
    return ours == theirs;
}

// The first of these targets on which the sample is right; NULL: none.
static const char *target_of(const char *sample) {
    static const char *const targets[] = {"sm_90a", "sm_100a", "sm_120a", "sm_103a"};
    for (size_t i = 0; i < CJ_TEST_COUNT(targets); i++) {
        cj_text  text = {0};
        cj_error error = {0};
        cj_test_head(&text, VERSION, targets[i]);
        cj_test_entry(&text, "k", sample);
        const bool takes = we_take(&text, &error);
        cj__text_free(&text);
        if (takes) return targets[i];
    }
    return NULL;
}

// The sample with two of its words, or all of them, in another order. False where it has fewer than two.
static bool shuffle(const char *sample, uint64_t *random, char *line, size_t size) {
    char        mnemonic[256], *word[WORDS];
    char       *guard_end = *sample == '@' ? strchr(sample, ' ') : NULL;
    const char *start = guard_end ? guard_end + 1 : sample;
    size_t      length = strcspn(start, " ;"), count = 0;
    snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)length, start);
    for (char *dot = strchr(mnemonic, '.'); dot && count < WORDS; dot = strchr(dot + 1, '.')) {
        *dot = '\0';
        word[count++] = dot + 1;
    }
    if (count < 2) return false;
    const bool   all = cj_test_random(random) % 4 == 0;
    const size_t from = all ? 0 : cj_test_random(random) % (count - 1), to = all ? count - 1 : from + 1;
    for (size_t i = to; i > from; i--) {
        const size_t k = all ? cj_test_random(random) % (i + 1) : from;
        char        *other = word[i];
        word[i] = word[k];
        word[k] = other;
    }
    size_t at = (size_t)snprintf(line, size, "%.*s%s", (int)(start - sample), sample, mnemonic);
    for (size_t i = 0; i < count; i++) at += (size_t)snprintf(line + at, size - at, ".%s", word[i]);
    snprintf(line + at, size - at, "%s", start + length);
    return true;
}

static void words_stand_in_any_order_that_ptxas_takes(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    unsigned bad = 0;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        const char *sample = cj__rows[cj_test_random(&random) % CJ_ROW_COUNT].sample;
        const char *target = target_of(sample);
        char        line[1024];
        if (target && shuffle(sample, &random, line, sizeof line)) bad += !agree(line, target);
    }
    assert_int_equal(bad, 0);
}

static const char *const lines[] = {
    "ld.global.acquire.gpu.u32 %r0, [%l0];",
    "ld.global.sys.relaxed.u32 %r0, [%l0];",
    "ld.global.relaxed.u32 %r0, [%l0];",
    "atom.global.relaxed.add.u32 %r0, [%l0], 1;",
    "div.ftz.rn.f32 %f0, %f1, %f2;",
    "div.f32.full %f0, %f1, %f2;",
    "div.f32.approx %f0, %f1, %f2;",
    "fma.ftz.rn.f32 %f0, %f1, %f2, %f3;",
    "setp.f32.and.lt %p0, %f0, %f1, %p1;",
    "call (result), ext, (argument);",
    "call (result), ext;",
    "call nothing;",
    "st.u64 [space], space + 1;",
    "st.u64 [space], space + 0;",
    "st.u64 [space], space;",
    "st.u16 [space], space + 1;",
    "st.f32 [space], space + 1;",
    "st.u32 [space], tile + 4;",
    "st.u64 [space], nothing;",
    "st.v2.u64 [space], {space + 1, %l0};",
    "add.s64 %l0, %l1, space + 1;",
    "add.f64 %d0, %d1, space + 1;",
    "selp.u64 %l0, space + 1, %l1, %p0;",
    "atom.global.add.u64 %l0, [space], space + 8;",
};

static void lines_of_foreign_text_are_taken_as_ptxas_takes_them(void **state) {
    (void)state;
    unsigned bad = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(lines); i++) bad += !agree(lines[i], "sm_90");
    assert_int_equal(bad, 0);
}

// Least .version and .target, where those of a word are not those of the form.
static void forms_are_as_old_as_ptxas_says(void **state) {
    (void)state;
    static const struct {
        unsigned    version;
        const char *target, *code, *line;
    } ages[] = {
        {30, "sm_20", "sm_75", "membar.sys;"},
        {50, "sm_10", "sm_75", "membar.cta;"},
        {50, "sm_50", "sm_75", "membar.sys;"},
        {50, "sm_13", "sm_75", "membar.sys;"},
        {78, "sm_90", "sm_90", "cvt.rn.f16x2.e4m3x2 %0, %1;"},
        {78, "sm_89", "sm_89", "cvt.rn.f16x2.e4m3x2 %0, %1;"},
        {80, "sm_89", "sm_89", "cvt.rn.f16x2.e5m2x2 %0, %1;"},
        {81, "sm_89", "sm_89", "cvt.rn.f16x2.e5m2x2 %0, %1;"},
    };
    unsigned bad = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(ages); i++) {
        cj_text  text = {0};
        cj_error error = {0};
        char     log[4096];
        cj__text_printf(&text, ".version %u.%u\n.target %s\n.address_size 64\n.visible .entry k()\n{\n",
                        ages[i].version / 10, ages[i].version % 10, ages[i].target);
        cj__text_printf(&text, "    .reg .b32 %%0;\n    .reg .b16 %%1;\n    %s\n    ret;\n}\n", ages[i].line);
        const bool ours = we_take(&text, &error), theirs = cj_test_takes(text.data, ages[i].code, log, sizeof log);
        if (ours != theirs) print_error("%s\n%s\n", text.data, ours ? log : error.message);
        bad += ours != theirs;
        cj__text_free(&text);
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stand_in_any_order_that_ptxas_takes),
        cmocka_unit_test(lines_of_foreign_text_are_taken_as_ptxas_takes_them),
        cmocka_unit_test(forms_are_as_old_as_ptxas_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// The instructions of many kernels, as digests (instructions.h): a line of digests.txt is a digest, a target, a family and
// its parameters. A change that is to rename, comment or move code leaves every digest as it is.
//
//     CJ_UPDATE_GOLDEN=1 build/dev/tests/test_golden_digest          writes the digests of what is emitted now
//     build/dev/tests/test_golden_digest 'sm_90 reduce n=2^20'       shows the instructions behind one digest: of two builds,
//                                                                    to be compared
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "instructions.h"
#include "test.h"

enum { LINE = 400, SHOWN = 10 };
static const char path[] = CJ_TEST_DIR "/golden/digests.txt";

// A kernel: the words of a line behind its digest, "ARCH FAMILY NAME=VALUE…".
static char *emit(const char *words) {
    char arch[16], family[24];
    int  read = 0;
    if (sscanf(words, "%15s %23s%n", arch, family, &read) != 2) fail_msg("'%s': want ARCH FAMILY NAME=VALUE...", words);
    return cj_test_emit(family, words + read + strspn(words + read, " "), arch);
}

static uint64_t digest_of(const char *words) {
    char          *text = emit(words);
    const uint64_t digest = cj_test_instructions_digest(text);
    cj_text_free(text);
    return digest;
}

static void write_anew(const char *recorded) {
    FILE *out = fopen(path, "wb");
    if (!out) fail_msg("cannot write %s", path);
    for (const char *line = recorded; *line; line += strcspn(line, "\n") + 1) {
        char words[LINE];
        snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\n") - 17, line + 17);
        fprintf(out, "%016" PRIx64 " %s\n", digest_of(words), words);
    }
    assert_int_equal(fclose(out), 0);
}

static void the_instructions_are_as_recorded(void **state) {
    (void)state;
    const char *update = getenv("CJ_UPDATE_GOLDEN");
    char       *recorded = cj_test_read(path);
    unsigned    kernels = 0, differ = 0;
    if (!recorded) fail_msg("cannot read %s", path);
    if (update && !strcmp(update, "1")) write_anew(recorded);
    for (const char *line = recorded; *line && !(update && !strcmp(update, "1")); line += strcspn(line, "\n") + 1) {
        char words[LINE];
        snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\n") - 17, line + 17);
        kernels++;
        if (digest_of(words) == strtoull(line, NULL, 16)) continue;
        if (differ++ < SHOWN)
            print_error("other instructions than recorded: test_golden_digest '%s' shows them\n", words);
    }
    print_message("%u kernels, %u differ\n", kernels, differ);
    free(recorded);
    assert_int_equal(differ, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_instructions_are_as_recorded)};
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    char *text = emit(argv[1]);
    cj_test_instructions(text, stdout);
    cj_text_free(text);
    return 0;
}

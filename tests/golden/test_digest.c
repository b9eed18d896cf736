// SPDX-License-Identifier: Apache-2.0
// The instructions of many kernels, as digests (instructions.h): a line of digests.txt is a digest, a target, a family and
// its parameters. A change that is to rename, comment or move code leaves every digest as it is.
//
//     CJ_UPDATE_GOLDEN=1 build/dev/tests/test_golden_digest          writes the digests of what is emitted now
//     build/dev/tests/test_golden_digest 'sm_90 reduce n=2^20'       shows the instructions after one digest: of two builds,
//                                                                    to be compared
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "recorded.h"
#include "test.h"

enum { SHOWN = 10 };

static uint64_t digest_of(const char *request) {
    char          *text = cj_test_emit_request(request);
    const uint64_t digest = cj_test_instructions_digest(text);
    cj_text_free(text);
    return digest;
}

static void write_line(const char *request, uint64_t digest, void *user) {
    (void)digest;
    fprintf(user, "%016" PRIx64 " %s\n", digest_of(request), request);
}

static void write_anew(void) {
    static const char path[] = CJ_TEST_DIR "/golden/digests.txt", made[] = CJ_TEST_DIR "/golden/digests.new";
    FILE             *out = fopen(made, "wb");
    if (!out) fail_msg("cannot write %s", made);
    cj_test_each_recorded(1, write_line, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rename(made, path), 0);
}

static void compare(const char *request, uint64_t digest, void *user) {
    unsigned *differ = user;
    if (digest_of(request) == digest || (*differ)++ >= SHOWN) return;
    print_error("other instructions than recorded: test_golden_digest '%s' shows them\n", request);
}

static void the_instructions_are_as_recorded(void **state) {
    (void)state;
    const char *update = getenv("CJ_UPDATE_GOLDEN");
    unsigned    differ = 0;
    if (update && !strcmp(update, "1")) write_anew();
    const unsigned kernels = cj_test_each_recorded(1, compare, &differ);
    print_message("%u kernels, %u differ\n", kernels, differ);
    assert_int_equal(differ, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_instructions_are_as_recorded)};
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    char *text = cj_test_emit_request(argv[1]);
    cj_test_instructions(text, stdout);
    cj_text_free(text);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// What the checker takes the CPU device prepares: samples of the table with registers of other types put in, at random.
#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "scaffold.h"

enum { DRAWS = 3000 };

// The sample with up to two of its registers replaced by some of another type, and now and then by a constant.
static void mutate(const char *sample, uint64_t *random, char *line, size_t size) {
    static const char kinds[] = "bhrlfdpq";
    snprintf(line, size, "%s", sample);
    for (unsigned times = (unsigned)(cj_test_random(random) % 3); times; times--) {
        unsigned count = 0;
        for (const char *at = line; (at = strchr(at, '%')) != NULL; at++) count++;
        if (!count) return;
        char *at = line;
        for (unsigned skip = (unsigned)(cj_test_random(random) % count);; skip--, at++) {
            at = strchr(at, '%');
            if (!skip) break;
        }
        if (strchr(kinds, at[1]) && at[2] >= '0' && at[2] <= '9')
            at[1] = kinds[cj_test_random(random) % (sizeof kinds - 1)];
    }
}

static void what_is_checked_is_prepared(void **state) {
    (void)state;
    uint64_t   random = cj_test_seed();
    cj_device *device = open_cpu();
    unsigned   bad = 0, taken = 0;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        char         line[1024];
        cj_text      text = {0};
        cj_error     error = {0};
        cj_module   *module = NULL;
        cj_function *function = NULL;
        mutate(cj__rows[cj_test_random(&random) % CJ_ROW_COUNT].sample, &random, line, sizeof line);
        cj_test_head(&text, 90, draw % 2 ? "sm_90a" : "sm_100a");
        cj_test_entry(&text, "k", line);
        if (!cj_module_from_ptx(device, text.data, text.length, &module, &error)) {
            taken++;
            if (cj_module_function(module, "k", &function, &error)) {
                print_error("%s\n    %s\n", line, error.message);
                bad++;
            }
        }
        cj_module_unload(module);
        cj__text_free(&text);
    }
    cj_device_close(device);
    assert_true(taken > DRAWS / 10);
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_checked_is_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

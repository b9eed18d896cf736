// SPDX-License-Identifier: Apache-2.0
// What ptxgen emit writes, byte for byte. CJ_UPDATE_GOLDEN=1 writes the files anew: read the difference before
// committing it.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

static const struct {
    const char *file, *arch, *params;
} golden[] = {
    {"default", "sm_90", ""},
    {"cluster_1", "sm_90", "cluster=1"},
    {"sm_80", "sm_80", ""},
    {"u32_max", "sm_90a", "op=max dtype=u32"},
    {"f64_min_cluster_16", "sm_90", "op=min dtype=f64 cluster=16 block=32"},
    {"block_results_weighted", "sm_90", "result=block weight=block"},
    {"dependent", "sm_90", "dependent=yes"},
};

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file)) fail_msg("cannot write %s", path);
}

static void emitted_text_is_as_recorded(void **state) {
    (void)state;
    const char *update = getenv("CJ_UPDATE_GOLDEN");
    for (size_t i = 0; i < CJ_TEST_COUNT(golden); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/golden/%s.ptx", CJ_TEST_DIR, golden[i].file);
        char *text = cj_test_emit("reduce", golden[i].params, golden[i].arch);
        if (update && !strcmp(update, "1")) write_file(path, text);
        char *recorded = cj_test_read(path);
        if (!recorded) fail_msg("cannot read %s: CJ_UPDATE_GOLDEN=1 writes it", path);
        if (strcmp(text, recorded)) print_error("%s differs; CJ_UPDATE_GOLDEN=1 records what is emitted now\n", path);
        assert_string_equal(text, recorded);
        free(recorded);
        cj_text_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(emitted_text_is_as_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

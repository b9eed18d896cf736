// SPDX-License-Identifier: Apache-2.0
#include "recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

enum { DIGEST = 17, REQUEST = 400 };  // hexadecimal digits and a blank; the longest request

unsigned cj_test_each_recorded(unsigned every, cj_recorded_taker *take, void *user) {
    static const char path[] = CJ_TEST_DIR "/golden/digests.txt";
    char             *recorded = cj_test_read(path);
    unsigned          lines = 0, taken = 0;
    if (!recorded) fail_msg("cannot read %s", path);
    for (const char *line = recorded; *line; line += strcspn(line, "\n") + 1) {
        const int length = (int)strcspn(line, "\n") - DIGEST;
        char      request[REQUEST];
        assert_in_range(length, 1, REQUEST - 1);
        if (lines++ % every) continue;
        snprintf(request, sizeof request, "%.*s", length, line + DIGEST);
        take(request, strtoull(line, NULL, 16), user);
        taken++;
    }
    free(recorded);
    return taken;
}

char *cj_test_emit_request(const char *request) {
    char arch[16], family[24];
    int  read = 0;
    if (sscanf(request, "%15s %23s%n", arch, family, &read) != 2)
        fail_msg("'%s': want ARCH FAMILY NAME=VALUE...", request);
    return cj_test_emit(family, request + read + strspn(request + read, " "), arch);
}

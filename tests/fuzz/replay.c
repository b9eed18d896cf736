// SPDX-License-Identifier: Apache-2.0
// Runs the fuzz target over the files named. "recorded:N" is every Nth kernel of tests/golden/digests.txt.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded.h"
#include "test.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int replay(const char *path) {
    enum { SIZE_MOST = 1 << 20 };
    FILE          *file = fopen(path, "rb");
    unsigned char *data = malloc(SIZE_MOST);
    if (!file || !data) {
        fprintf(stderr, "%s cannot be read\n", path);
        if (file) fclose(file);
        free(data);
        return 1;
    }
    size_t size = fread(data, 1, SIZE_MOST, file);
    fclose(file);
    fprintf(stderr, "%s\n", path);  // the last line names the file that crashed
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static void replay_emitted(const char *request, uint64_t digest, void *user) {
    (void)digest, (void)user;
    char *text = cj_test_emit_request(request);
    fprintf(stderr, "%s\n", request);
    LLVMFuzzerTestOneInput((const unsigned char *)text, strlen(text));
    cj_text_free(text);
}

static int replay_any(const char *argument) {
    const char prefix[] = "recorded:";
    if (strncmp(argument, prefix, strlen(prefix)) != 0) return replay(argument);
    const int every = atoi(argument + strlen(prefix));
    return every < 1 || !cj_test_each_recorded((unsigned)every, replay_emitted, NULL);
}

int main(int count, char **argument) {
    int failed = count < 2;
    for (int i = 1; i < count; i++) failed |= replay_any(argument[i]);
    return failed;
}

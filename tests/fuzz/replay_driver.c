// SPDX-License-Identifier: Apache-2.0
// Runs the driver's fuzz target over the files named, and over random bytes. It links libcuda.so.1 and nothing else of the
// library, whose second copy would not know the first one's devices.
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { BYTES = 2048, DRAWS = 100 };

static unsigned char input[BYTES];

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", path);
        return 1;
    }
    const size_t size = fread(input, 1, sizeof input, file);
    fclose(file);
    fprintf(stderr, "%s\n", path);  // the last line names the file that crashed
    LLVMFuzzerTestOneInput(input, size);
    return 0;
}

// xorshift64
static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void draw(void) {
    const char *given = getenv("CJ_SEED"), *draws = getenv("CJ_DRAWS");
    uint64_t    state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    const long  count = draws ? atol(draws) : DRAWS;
    printf("CJ_SEED=%" PRIu64 "\n", state);
    state = state * 2 + 1;
    for (long i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof input; k++) input[k] = (unsigned char)(next(&state) >> 32);
        LLVMFuzzerTestOneInput(input, sizeof input);
    }
}

int main(int count, char **argument) {
    int failed = 0;
    for (int i = 1; i < count; i++) failed |= replay(argument[i]);
    draw();
    return failed;
}

// SPDX-License-Identifier: Apache-2.0
// Runs the fuzz target over the files named.
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int replay(const char *path) {
    enum { SIZE_MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
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

int main(int count, char **argument) {
    int failed = count < 2;
    for (int i = 1; i < count; i++) failed |= replay(argument[i]);
    return failed;
}

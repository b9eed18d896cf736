// SPDX-License-Identifier: Apache-2.0
// What the examples share: an error ends the program with its words, and the device is the first argument of the command
// line ("auto", "gpu", "gpu:1", "cpu"; auto where there is none).
#ifndef CJ_EXAMPLE_H
#define CJ_EXAMPLE_H

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(cj_status status, const cj_error *error) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n%s\n", cj_status_name(status), error->message, error->hint);
    exit(1);
}

static inline cj_device *open_device(int argc, char **argv) {
    cj_device        *device = NULL;
    cj_error          error;
    cj_device_options options = {CJ_INIT(options), .spec = argc > 1 ? argv[1] : "auto"};
    must(cj_device_open(&options, &device, &error), &error);
    printf("%s: %s\n", cj_device_name(device), cj_device_reason(device));
    return device;
}

// What the program found out about its own result.
static inline int verdict(int right) {
    puts(right ? "right" : "WRONG");
    return !right;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Data out: standard output whose failures are noticed, files that appear whole or not at all.
#ifndef PTXGEN_OUTPUT_H
#define PTXGEN_OUTPUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

// Flushes standard output. Returns `code`, or CODE_FILE after a message where `code` is 0 and the output was lost.
int output_finish(int code);

// Writes `text` to `path` ("-" is standard output). Returns an exit code.
int output_save(const char *path, const char *text, size_t length);

// Prints `value` on standard output and releases it. Returns an exit code.
int output_json(json_t *value);

// JSON has neither NaN nor integers beyond 2^63-1 that its readers keep: NaN and infinities become the strings "NaN",
// "Infinity" and "-Infinity", larger integers their digits in a string.
json_t *output_json_real(double value);
json_t *output_json_uint(uint64_t value);

#endif

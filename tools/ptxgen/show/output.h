// SPDX-License-Identifier: Apache-2.0
// Data out: standard output whose failures are noticed, files that appear whole or not at all.
#ifndef PTXGEN_OUTPUT_H
#define PTXGEN_OUTPUT_H

#include <clusterjit/base.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

// Flushes standard output. Returns `code`, or CODE_FILE after a message where `code` is 0 and the output was lost.
int output_finish(int code);

// Writes `text` to `path` ("-" is standard output). Returns an exit code.
int output_save(const char *path, const char *text, size_t length);

// Whether output_save will be able to write there, as far as can be known before. Returns an exit code.
int output_check(const char *path);

enum { OUTPUT_WIDTH = 100, OUTPUT_WIDTH_LEAST = 40 };

// Columns of text that is read on a terminal: the terminal's, or those that COLUMNS says; OUTPUT_WIDTH for a file or a
// pipe.
size_t output_width(void);

// Prints a text in lines of output_width(); the first begins where the output stands, in `column`, and so do the others.
void output_wrapped(const char *text, size_t column);

enum { OUTPUT_SCHEMA = 1 };  // a member that goes away or means something else makes it 2; new members do not

// Prints `value`, an object, on standard output and releases it, with "schema" before its members and, where a failure
// was printed before, that as "failure" after them. Returns an exit code.
int output_json(json_t *value);

// At the end of a command that prints JSON: the failure alone, where there was one and no document was printed.
void output_json_failure(void);

// JSON has neither NaN nor integers beyond 2^63-1 that its readers keep: what is not finite, or was not measured, is null;
// larger integers are their digits in a string.
json_t *output_json_real(double value);
json_t *output_json_uint(uint64_t value);
json_t *output_json_dim3(cj_dim3 d);  // [x, y, z]

// The words of a blank-separated list.
json_t *output_json_words(const char *words);

// A string of any bytes: those that are no UTF-8 become '?'.
json_t *output_json_text(const char *text);

// How many bytes the first character of `text` takes; 0 where there is none: bytes that are no UTF-8, control characters.
size_t output_character(const char *text, size_t length);

#endif

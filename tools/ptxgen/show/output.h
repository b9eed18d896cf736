// SPDX-License-Identifier: Apache-2.0
// Data output: standard output, whose failures are noticed, and files that appear whole or not at all.
#ifndef PTXGEN_OUTPUT_H
#define PTXGEN_OUTPUT_H

#include <clusterjit/base.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

// Flushes standard output. Returns `code`, or, if `code` is 0 and the output was lost, CODE_FILE after a message.
int output_finish(int code);

// Writes `text` to `path` ("-" is standard output). Returns an exit code.
int output_save(const char *path, const char *text, size_t length);

// Whether output_save will be able to write the file, as far as can be known before. Returns an exit code.
int output_check(const char *path);

enum { OUTPUT_WIDTH = 100, OUTPUT_WIDTH_LEAST = 40 };

// Columns of text for a terminal: the terminal's width, or COLUMNS; OUTPUT_WIDTH for a file or a pipe.
size_t output_width(void);

// Prints a text in lines of output_width(); the first begins at the current column, which is `column`, and so do the
// others.
void output_wrapped(const char *text, size_t column);

// What every --json has in common.
#define OUTPUT_JSON_HELP \
    "--json: null is what was not measured or is no finite number; whole numbers above 2^63-1 are strings."

enum { OUTPUT_SCHEMA = 1 };  // removing a member, or changing its meaning, increments it; new members do not

// Prints `value`, an object, on standard output and releases it: adds "schema" before its members and, if a failure was
// printed before, "failure" after them. Returns an exit code.
int output_json(json_t *value);

// At the end of a command that prints JSON: prints the failure alone, if there was one and no document was printed.
void output_json_failure(void);

// The --json of the command line is not the command's, but a program's that it runs: output_json_failure prints nothing.
void output_json_none(void);

// JSON has no NaN, and its readers lose integers beyond 2^63-1: what is not finite, or was not measured, is null;
// larger integers are strings of digits.
json_t *output_json_real(double value);
json_t *output_json_uint(uint64_t value);
json_t *output_json_dim3(cj_dim3 d);  // [x, y, z]

// The words of a blank-separated list.
json_t *output_json_words(const char *words);

// A string of any bytes: bytes that are not UTF-8 become '?'.
json_t *output_json_text(const char *text);

// How many bytes the first character of `text` has; 0 if it is no character: bytes that are not UTF-8, control
// characters.
size_t output_character(const char *text, size_t length);

#endif

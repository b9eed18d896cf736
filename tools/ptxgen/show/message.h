// SPDX-License-Identifier: Apache-2.0
// Messages on standard error, and exit codes. Standard output carries data only.
#ifndef PTXGEN_MESSAGE_H
#define PTXGEN_MESSAGE_H

#include <clusterjit/base.h>
#include <clusterjit/log.h>
#include <stdbool.h>
#include <stdio.h>

// Exit codes of the command: name, value, meaning.
#define CODE_LIST(X)                                 \
    X(OK, 0, "ok")                                   \
    X(WRONG, 1, "invalid kernel or wrong result")    \
    X(FILE, 2, "file")                               \
    X(COMPILER, 3, "compiler")                       \
    X(DEVICE, 4, "driver or device")                 \
    X(USAGE, 64, "usage")

typedef enum exit_code {
#define CJ_X(name, value, text) CODE_##name = (value),
    CODE_LIST(CJ_X)
#undef CJ_X
} exit_code;

// Prints a failure of a library call; returns its exit code.
int message_failure(const cj_error *error);

// From here on, errors name lines of this file: FILE:LINE:COLUMN. The caller keeps the name. Without a file the lines
// are those of generated PTX.
void message_document(const char *name);

// Prints an error of the command's own; returns the exit code of `status`. A newline in the text begins the hint.
int message_error(cj_status status, const char *format, ...) CJ_PRINTF(2, 3);

// A failure that was printed in another way, with the line of a text that it is about.
void message_told(const cj_error *error);

// The first failure that was printed; NULL if there was none.
const cj_error *message_first(void);

// true: failures are neither printed nor kept as the first; their exit codes are still returned. false: they are
// printed again.
void message_quiet(bool quiet);
bool message_is_quiet(void);

// Prints a note about a command that succeeds.
void message_note(const char *text);

// A cj_log_callback: prints the library's log lines. CLUSTERJIT_LOG sets the level.
void message_log(void *user, cj_log_level level, const char *text);

#define COLOUR_NONE "\033[0m"
#define COLOUR_BOLD "\033[1m"
#define COLOUR_RED "\033[1;31m"
#define COLOUR_GREEN "\033[1;32m"
#define COLOUR_YELLOW "\033[1;33m"
#define COLOUR_CYAN "\033[1;36m"

typedef enum message_colours { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER } message_colours;

// "auto" (terminals, unless NO_COLOR is set), "always" or "never"; false for another word.
bool message_set_colours(const char *when);

// The colour, or "" if `to` does not show colours.
const char *message_colour(FILE *to, const char *colour);

#endif

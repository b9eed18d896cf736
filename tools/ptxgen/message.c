// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    cj_status status;
    exit_code code;
} exit_codes[] = {
    {CJ_OK, CODE_OK},
    {CJ_INVALID_ARGUMENT, CODE_USAGE},
    {CJ_OUT_OF_MEMORY, CODE_DEVICE},
    {CJ_UNSUPPORTED, CODE_DEVICE},
    {CJ_INVALID_KERNEL, CODE_WRONG},
    {CJ_CONTRACT, CODE_WRONG},
    {CJ_HAZARD, CODE_WRONG},
    {CJ_FILE, CODE_FILE},
    {CJ_COMPILER, CODE_COMPILER},
    {CJ_NO_DEVICE, CODE_DEVICE},
    {CJ_DRIVER, CODE_DEVICE},
};

static int code_of(cj_status status) {
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        if (exit_codes[i].status == status) return (int)exit_codes[i].code;
    return CODE_DEVICE;
}

const char *message_colour(FILE *to, const char *colour) {
    const char *no_colour = getenv("NO_COLOR");
    return (no_colour && no_colour[0]) || !isatty(fileno(to)) ? "" : colour;
}

static void print_line(const char *prefix, const char *colour, const char *label, const char *text) {
    fprintf(stderr, "%s%s%s%s %s\n", prefix, message_colour(stderr, colour), label, message_colour(stderr, COLOUR_NONE),
            text);
}

int message_failure(const cj_error *error) {
    char text[sizeof error->message + sizeof error->rule + 64], place[48] = "", rule[sizeof error->rule + 4] = "";
    if (error->line) snprintf(place, sizeof place, "PTX line %u, column %u: ", error->line, error->column);
    if (error->rule[0]) snprintf(rule, sizeof rule, " [%s]", error->rule);
    snprintf(text, sizeof text, "%s%s%s", place, error->message, rule);
    print_line("ptxgen: ", COLOUR_RED, "error:", text);
    if (error->hint[0]) print_line("", COLOUR_CYAN, "hint:", error->hint);
    return code_of(error->status);
}

int message_error(cj_status status, const char *format, ...) {
    cj_error error = {.status = status};
    va_list  args;
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    char *hint = strchr(error.message, '\n');
    if (hint) {
        *hint = '\0';
        snprintf(error.hint, sizeof error.hint, "%s", hint + 1);
    }
    return message_failure(&error);
}

void message_note(const char *text) { print_line("ptxgen: ", COLOUR_CYAN, "note:", text); }

void message_log(void *user, cj_log_level level, const char *text) {
    char label[16];
    (void)user;
    snprintf(label, sizeof label, "%s:", cj_log_level_name(level));
    print_line("ptxgen: ", level == CJ_LOG_ERROR ? COLOUR_RED : COLOUR_YELLOW, label, text);
}

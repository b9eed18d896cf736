// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "message.h"

#include <stdarg.h>
#include <stdint.h>
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

// ---- colours

static message_colours colours;

bool message_set_colours(const char *when) {
    static const char *const words[] = {
        [COLOURS_AUTO] = "auto", [COLOURS_ALWAYS] = "always", [COLOURS_NEVER] = "never"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(when, words[i])) continue;
        colours = (message_colours)i;
        return true;
    }
    return false;
}

const char *message_colour(FILE *to, const char *colour) {
    const char *no_colour = getenv("NO_COLOR");
    const bool  wanted = colours == COLOURS_AUTO ? !(no_colour && no_colour[0]) && isatty(fileno(to))
                                                 : colours == COLOURS_ALWAYS;
    return wanted ? colour : "";
}

// ---- lines

// Writes control characters as C does, so that a name with a newline leaves a message one line.
static void print_word(const char *text, bool keep_lines) {
    static const char letters[] = "abtnvfr";
    for (const char *c = text; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        if ((byte >= ' ' && byte != 0x7f) || (byte == '\n' && keep_lines))
            putc(byte, stderr);
        else if (byte >= '\a' && byte <= '\r')
            fprintf(stderr, "\\%c", letters[byte - '\a']);
        else
            fprintf(stderr, "\\x%02x", byte);
    }
}

// Only a compiler's output keeps its line breaks.
static void print_line(const char *prefix, const char *colour, const char *label, const char *text, bool keep_lines) {
    fprintf(stderr, "%s%s%s%s ", prefix, message_colour(stderr, colour), label, message_colour(stderr, COLOUR_NONE));
    print_word(text, keep_lines);
    putc('\n', stderr);
}

// ---- failures

static cj_error first;  // the first failure of this process; OK: none yet

const cj_error *message_first(void) { return first.status ? &first : NULL; }

void message_told(const cj_error *error) {
    if (!first.status) first = *error;
}

static const char *document;  // the document whose lines errors name

void message_document(const char *name) { document = name; }

static void write_place(const cj_error *error, char *place, size_t size) {
    int length = document ? snprintf(place, size, "%.200s:%u", document, error->line)
                          : snprintf(place, size, "line %u of the generated PTX", error->line);
    if (error->column)
        length += snprintf(place + length, size - (size_t)length, document ? ":%u" : ", column %u", error->column);
    snprintf(place + length, size - (size_t)length, ": ");
}

static bool is_quiet;

void message_quiet(bool quiet) { is_quiet = quiet; }
bool message_is_quiet(void) { return is_quiet; }

int message_failure(const cj_error *error) {
    char text[sizeof error->message + sizeof error->rule + 300], place[256] = "", rule[sizeof error->rule + 4] = "";
    if (is_quiet) return code_of(error->status);
    message_told(error);
    if (error->line) write_place(error, place, sizeof place);
    if (error->rule[0]) snprintf(rule, sizeof rule, " [%s]", error->rule);
    snprintf(text, sizeof text, "%s%s%s", place, error->message, rule);
    print_line("ptxgen: ", COLOUR_RED, "error:", text, error->status == CJ_COMPILER);
    if (error->hint[0]) print_line("", COLOUR_CYAN, "hint:", error->hint, error->status == CJ_COMPILER);
    return code_of(error->status);
}

// The format's own newline begins the hint: names may contain newlines, too.
static size_t message_length(const char *format, va_list args) {
    char         head[512];
    const size_t length = strcspn(format, "\n");
    if (!format[length] || length >= sizeof head) return SIZE_MAX;
    memcpy(head, format, length);
    head[length] = '\0';
    const int wrote = vsnprintf(NULL, 0, head, args);
    return wrote < 0 ? SIZE_MAX : (size_t)wrote;
}

int message_error(cj_status status, const char *format, ...) {
    cj_error error = {.status = status};
    char     whole[sizeof error.message + sizeof error.hint];
    va_list  args, again;
    va_start(args, format);
    va_copy(again, args);
    const size_t length = message_length(format, again);
    vsnprintf(whole, sizeof whole, format, args);
    va_end(again);
    va_end(args);
    const size_t hint = length < strlen(whole) ? length : strlen(whole);
    snprintf(error.message, sizeof error.message, "%.*s", (int)hint, whole);
    if (whole[hint]) snprintf(error.hint, sizeof error.hint, "%s", whole + hint + 1);
    return message_failure(&error);
}

void message_note(const char *text) { print_line("ptxgen: ", COLOUR_CYAN, "note:", text, false); }

void message_log(void *user, cj_log_level level, const char *text) {
    char label[16];
    (void)user;
    snprintf(label, sizeof label, "%s:", cj_log_level_name(level));
    print_line("ptxgen: ", level == CJ_LOG_ERROR ? COLOUR_RED : COLOUR_YELLOW, label, text, true);
}

// SPDX-License-Identifier: Apache-2.0
// clusterjit(3): of each public header what it is for, and its calls with the first sentence that it says of them.
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "man.h"
#include "message.h"
#include "roff.h"

enum { TEXT = 4096, PATH = 4096 };

// Where a header is read. A comment holds for the declarations that follow it without an empty line between.
typedef struct reader {
    FILE       *to;
    const char *at;             // the next line
    char        comment[TEXT];  // the last lines that are comments
    bool        complete;       // a table or an example followed: the comment takes no more lines
    bool        holds;          // a type stands between: an empty line does not end the comment
    bool        tagged;         // a tag stands open, whose text is `comment`
} reader;

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

// The first sentence: up to a full stop and a capital letter.
static size_t sentence(const char *text) {
    for (const char *at = text; *at; at++)
        if (*at == '.' && at[1] == ' ' && !islower((unsigned char)at[2])) return (size_t)(at + 1 - text);
    return strlen(text);
}

static void append(char *text, const char *more, size_t length) {
    const size_t used = strlen(text);
    if (used + length + 2 > TEXT) return;
    snprintf(text + used, TEXT - used, "%s%.*s", used ? " " : "", (int)length, more);
}

static void end_tag(reader *r) {
    if (!r->tagged) return;
    roff_tag_end(r->to);
    if (*r->comment)
        roff_text_of(r->to, r->comment, sentence(r->comment));
    else
        fputs("\\&\n", r->to);
    r->tagged = false;
}

// A declaration in one line, without what the compiler alone needs.
static void put_declaration(reader *r, const char *text, size_t length) {
    char   line[TEXT];
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < sizeof line; i++) {
        const char c = text[i] == '\n' ? ' ' : text[i];
        if (c != ' ' || (used && line[used - 1] != ' ')) line[used++] = c;
    }
    line[used] = '\0';
    if (r->tagged)
        roff_tag_more(r->to);
    else
        roff_tag(r->to);
    r->tagged = true;
    roff_piece(r->to, 'B', line);
}

static void clear_comment(reader *r) {
    *r->comment = '\0';
    r->complete = r->holds = false;
}

static bool own_comment_follows(const char *text) { return !strncmp(skip_blanks(text), "//", 2); }

// A comment on the declaration's own line holds for it alone, after the first sentence of the comment before it.
static void put_own_comment(reader *r, const char *text) {
    if (!own_comment_follows(text)) return;
    const char *own = skip_blanks(skip_blanks(text) + 2);
    r->comment[sentence(r->comment)] = '\0';
    append(r->comment, own, strcspn(own, "\n"));
    roff_tag_end(r->to);
    roff_text(r->to, r->comment);
    r->tagged = false;
    clear_comment(r);
}

// "// ---- arithmetic: …" begins another part; what is indented is a table or an example.
static void take_comment(reader *r, const char *line) {
    const char  *text = skip_blanks(line + 2);
    const size_t length = strcspn(text, "\n");
    if (r->tagged) {
        end_tag(r);
        clear_comment(r);
    }
    r->complete |= !strncmp(line, "//  ", 4);
    if (strncmp(text, "---", 3) && !r->complete) append(r->comment, text, length);
}

// Anything else ends what the comment holds for, except a type or a constant that it is of, too.
static void take_other(reader *r, const char *line, size_t length) {
    end_tag(r);
    if (length && *r->comment && (line[length - 1] == ';' || !strncmp(line, "#define", 7)) && *line != ' ')
        r->holds = true;
    else if (length || !r->holds)
        clear_comment(r);
}

static void end_before_own(reader *r, bool own) {
    if (!own || !r->tagged) return;
    end_tag(r);
    clear_comment(r);
}

// CJ_API …; which may have several lines.
static void take_function(reader *r, const char *line) {
    const char *end = strchr(line, ';');
    if (!end) return;
    end++;
    end_before_own(r, own_comment_follows(end));
    put_declaration(r, skip_blanks(line), (size_t)(end - skip_blanks(line)));
    put_own_comment(r, end);
    r->at = end + strcspn(end, "\n");
    r->at += *r->at == '\n';
}

// #define NAME(…) …, up to the last of its lines; `close` ends its parameters.
static void take_macro(reader *r, const char *line, const char *close) {
    const char *comment = strstr(line, "//"), *end = line + strcspn(line, "\n");
    const bool  own = comment && comment < end;
    end_before_own(r, own);
    put_declaration(r, line + 8, (size_t)(close + 1 - line) - 8);
    if (own) put_own_comment(r, comment);
    while (*end && end[-1] == '\\') end += 1 + strcspn(end + 1, "\n");
    r->at = end + (*end == '\n');
}

static void take_line(reader *r) {
    const char  *line = r->at;
    const size_t length = strcspn(line, "\n");
    const char  *close = memchr(line, ')', length);
    r->at += length + (line[length] == '\n');
    if (!strncmp(line, "CJ_API", 6))
        take_function(r, line + 6);
    else if (!strncmp(line, "#define cj_", 11) && close && strchr(line, '(') < close)
        take_macro(r, line, close);
    else if (!strncmp(line, "//", 2))
        take_comment(r, line);
    else
        take_other(r, line, length);
}

// The first paragraph of a header says what it is for.
static void take_introduction(reader *r) {
    while (!strncmp(r->at, "//", 2)) {
        const size_t length = strcspn(r->at, "\n");
        if (length <= 3 || !strncmp(r->at, "//  ", 4)) break;
        if (strncmp(r->at, "// SPDX", 7)) append(r->comment, r->at + 3, length - 3);
        r->at += length + (r->at[length] == '\n');
    }
    if (*r->comment) roff_text(r->to, r->comment);
    clear_comment(r);
    while (!strncmp(r->at, "//", 2)) r->at += strcspn(r->at, "\n") + 1;
}

static int write_header(FILE *to, const char *directory, const char *name) {
    char     path[PATH], title[300];
    document d;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int code = document_read(&d, path);
    if (code) return code;
    reader *r = calloc(1, sizeof *r);
    if (!r) return message_error(CJ_OUT_OF_MEMORY, "no memory for a manual page");
    r->to = to;
    r->at = d.text;
    snprintf(title, sizeof title, "<clusterjit/%.200s>", name);
    roff_subsection(to, title);
    take_introduction(r);
    while (*r->at) take_line(r);
    end_tag(r);
    free(r);
    document_free(&d);
    return CODE_OK;
}

static int is_header(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return length > 2 && !strcmp(entry->d_name + length - 2, ".h") && strcmp(entry->d_name, "clusterjit.h");
}

static int write_headers(FILE *to, const char *directory) {
    struct dirent **names;
    int             count = scandir(directory, &names, is_header, alphasort), code = CODE_OK;
    if (count < 0) return message_error(CJ_FILE, "cannot read the directory '%s': %s", directory, strerror(errno));
    if (!count) code = message_error(CJ_FILE, "'%s' has no headers", directory);
    for (int i = 0; i < count; i++) {
        if (!code) code = write_header(to, directory, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return code;
}

static void write_errors(FILE *to) {
    char value[24];
    roff_section(to, "ERRORS");
    roff_text(
        to,
        "Calls that can fail return a cj_status, and fill the cj_error that they are given, if it is not NULL: what "
        "failed, which value, which limit, and in 'hint' what to do.");
    for (int i = 0; i < 256; i++) {
        const char *name = cj_status_name((cj_status)i);
        if (!strcmp(name, cj_status_name((cj_status)-1))) continue;
        snprintf(value, sizeof value, " (%d)", i);
        roff_tag(to);
        fputs("\\fBCJ_\\fR", to);
        roff_piece(to, 'B', name);
        fputs(value, to);
        roff_tag_end(to);
        roff_text(to, cj_status_text((cj_status)i));
    }
}

int man_library(FILE *to, const char *headers) {
    roff_begin(to, "clusterjit", 3,
               "PTX kernels for thread block clusters: written, checked, loaded and launched at run time");
    roff_section(to, "SYNOPSIS");
    fputs("\\fB#include <clusterjit/clusterjit.h>\\fR\n", to);
    roff_paragraph(to);
    fputs("Link with \\fB\\-lclusterjit\\fR.\n", to);
    roff_section(to, "DESCRIPTION");
    roff_text(
        to,
        "clusterjit.h includes the headers below. Each header says more of its calls: shapes, units, what the caller owns, "
        "which threads may call, errors. A kernel runs on a GPU or on the CPU device, which executes PTX and finds "
        "missing synchronization.");
    roff_section(to, "CALLS");
    int code = write_headers(to, headers);
    if (code) return code;
    write_errors(to);
    man_environment(to);
    roff_section(to, "FILES");
    roff_tag(to);
    roff_piece(to, 'I', "~/.cache/clusterjit");
    roff_tag_end(to);
    roff_text(to, "Compiled kernels for later processes, and tuning-1.txt; see CLUSTERJIT_CACHE_DIR.");
    roff_section(to, "SEE ALSO");
    roff_text(to, "ptxgen(1)");
    return CODE_OK;
}

// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <ctype.h>
#include <string.h>

#include "message.h"
#include "output.h"

extern const char explain_text[], explain_launch[], explain_run[];

static const char *const texts[] = {explain_text, explain_launch, explain_run};

enum { TEXT_COUNT = sizeof texts / sizeof *texts, NOTED = 6, PARAGRAPH = 2048 };

// ---- finding

// The next line that begins a rule; NULL: there is none.
static const char *next_rule(const char *at) {
    const char *found = strstr(at, "\n## ");
    return found ? found + 1 : NULL;
}

static explanation read_rule(const char *text, const char *at) {
    const char *id = at + strlen("## "), *group = text + strlen("# ");
    const char *begin = id + strcspn(id, "\n") + 1, *next = next_rule(id), *end = next ? next : begin + strlen(begin);
    while (end > begin && end[-1] == '\n') end--;
    return (explanation){.group = group,
                         .group_length = (int)strcspn(group, "\n"),
                         .id = id,
                         .id_length = (int)strcspn(id, "\n"),
                         .text = begin,
                         .length = (int)(end - begin)};
}

bool explain_at(size_t index, explanation *e) {
    for (size_t i = 0; i < TEXT_COUNT; i++)
        for (const char *at = next_rule(texts[i]); at; at = next_rule(at)) {
            if (index--) continue;
            *e = read_rule(texts[i], at);
            return true;
        }
    return false;
}

bool explain_find(const char *rule, explanation *e) {
    for (size_t i = 0; explain_at(i, e); i++)
        if (strlen(rule) == (size_t)e->id_length && !memcmp(rule, e->id, strlen(rule))) return true;
    return false;
}

int explain_sentence(const explanation *e) {
    for (int i = 0; i + 1 < e->length; i++) {
        const char *at = e->text + i;
        if (*at == '.' && isspace((unsigned char)at[1])) return i + 1;
    }
    return e->length;
}

// ---- printing

// A line of an example: what is wrong in red, what cures it in green.
static void print_code(const char *line, int length) {
    const char *colour = *line == '-' ? COLOUR_RED : *line == '+' ? COLOUR_GREEN : "";
    printf("    %s%.*s%s\n", *colour ? message_colour(stdout, colour) : "", length, line,
           *colour ? message_colour(stdout, COLOUR_NONE) : "");
}

static void print_paragraph(char *paragraph) {
    if (*paragraph) output_wrapped(paragraph, 0);
    *paragraph = '\0';
}

static void append_line(char *paragraph, const char *line, int length) {
    const size_t used = strlen(paragraph);
    snprintf(paragraph + used, PARAGRAPH - used, "%s%.*s", used ? " " : "", length, line);
}

void explain_print(const explanation *e) {
    char        paragraph[PARAGRAPH] = "";
    bool        code = false;
    const char *end = e->text + e->length;
    printf("%s%.*s%s\n\n", message_colour(stdout, COLOUR_BOLD), e->id_length, e->id,
           message_colour(stdout, COLOUR_NONE));
    for (const char *line = e->text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const int   length = (int)((stop ? stop : end) - line);
        if (length >= 3 && !memcmp(line, "```", 3))
            code = !code;
        else if (code || (length > 4 && !memcmp(line, "    ", 4)))
            print_code(code ? line : line + 4, code ? length : length - 4);
        else if (length)
            append_line(paragraph, line, length);
        if (!length || line + length == end) print_paragraph(paragraph);
        if (!length) putchar('\n');
        line += length + 1;
    }
}

json_t *explain_json(const explanation *e) {
    return json_pack("{s:s%, s:s%, s:s%}", "id", e->id, (size_t)e->id_length, "of", e->group, (size_t)e->group_length,
                     "text", e->text, (size_t)e->length);
}

static const char introduction[] = "# Rules\n\n"
                                   "<!-- ptxgen explain --markdown writes this file, from tools/ptxgen/explain. -->\n\n"
                                   "What stands after the name in brackets that ends a message: `error: … [race-block]`. "
                                   "`ptxgen explain RULE` shows an entry of this\n"
                                   "page, `ptxgen explain` the names.\n\n"
                                   "Lines marked `-` are the mistake, lines marked `+` its cure. PTX without a head "
                                   "stands after `.version 9.0`, `.target sm_90a` and\n"
                                   "`.address_size 64`. The commands below an example show the finding, FILE being its "
                                   "lines; PTX without a command is held against\n"
                                   "the rules by `ptxgen check FILE`.\n";

// Headings are one level lower than in the texts.
void explain_markdown(FILE *to) {
    fputs(introduction, to);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        putc('\n', to);
        for (const char *line = texts[i]; *line;) {
            const size_t length = strcspn(line, "\n") + 1;
            const bool   heading = !strncmp(line, "# ", 2) || !strncmp(line, "## ", 3);
            fprintf(to, "%s%.*s", heading ? "#" : "", (int)length, line);
            line += length;
        }
    }
}

// ---- the hint

static char noted[NOTED][32];

void explain_note(const char *rule) {
    explanation e;
    for (size_t i = 0; i < NOTED; i++) {
        if (!strcmp(noted[i], rule)) return;
        if (*noted[i] || !explain_find(rule, &e)) continue;
        snprintf(noted[i], sizeof noted[i], "%s", rule);
        return;
    }
}

void explain_hint(FILE *to) {
    if (!*noted[0]) return;
    fflush(stdout);
    fprintf(to, "%shint:%s 'ptxgen explain", message_colour(to, COLOUR_CYAN), message_colour(to, COLOUR_NONE));
    for (size_t i = 0; i < NOTED && *noted[i]; i++) fprintf(to, " %s", noted[i]);
    fputs("' says more\n", to);
    memset(noted, 0, sizeof noted);
}

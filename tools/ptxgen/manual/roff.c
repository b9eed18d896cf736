// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "roff.h"

#include <clusterjit/base.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 64 };  // characters: mandoc complains of more than 80 bytes, and some characters become several

// Writes one character and returns how many bytes it has. Characters beyond ASCII are named by their number: an
// unprocessed page is ASCII.
static size_t put_character(FILE *to, const char *text) {
    static const struct {
        char        byte;
        const char *text;
    } special[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    const unsigned char byte = (unsigned char)*text;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (*text == special[i].byte) return fputs(special[i].text, to), 1;
    if (byte < 0x80) return putc(byte, to), 1;
    size_t   size = 1;
    unsigned code = byte & (byte >= 0xf0 ? 7u : byte >= 0xe0 ? 15u : 31u);
    while (((unsigned char)text[size] & 0xc0) == 0x80) code = code << 6 | ((unsigned char)text[size++] & 0x3f);
    fprintf(to, "\\[u%04X]", code);
    return size;
}

static void put_word(FILE *to, const char *word, size_t length) {
    for (size_t i = 0; i < length;) i += put_character(to, word + i);
}

void roff_text_of(FILE *to, const char *text, size_t length) {
    size_t      column = 0;
    const char *end = text + length;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n') word++;
        if (column && column + 1 + word > LINE) putc('\n', to), column = 0;
        if (word && column) putc(' ', to), column++;
        if (word && !column && (*text == '.' || *text == '\'')) fputs("\\&", to);  // this is no macro
        put_word(to, text, word);
        column += word;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n')) text++;
    }
    putc('\n', to);
}

void roff_text(FILE *to, const char *text) { roff_text_of(to, text, strlen(text)); }

static time_t day(void) {
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    uint64_t    seconds;
    const char *end = epoch ? cj_number_read(epoch, &seconds) : NULL;
    return end && !*end ? (time_t)seconds : time(NULL);
}

void roff_begin(FILE *to, const char *name, int section, const char *summary) {
    const time_t now = day();
    struct tm    parts;
    char         date[16] = "";
    if (gmtime_r(&now, &parts)) strftime(date, sizeof date, "%Y-%m-%d", &parts);
    fputs(".TH ", to);
    for (const char *at = name; *at; at++) putc(*at == '-' ? '-' : toupper((unsigned char)*at), to);
    fprintf(to, " %d \"%s\" \"clusterjit %s\" \"clusterjit\"\n", section, date, cj_version());
    roff_section(to, "NAME");
    put_word(to, name, strlen(name));
    fputs(" \\-\n", to);
    roff_text(to, summary);
}

static void put_macro(FILE *to, const char *macro, const char *title) {
    fprintf(to, ".%s \"", macro);
    put_word(to, title, strlen(title));
    fputs("\"\n", to);
}

void roff_section(FILE *to, const char *title) { put_macro(to, "SH", title); }

void roff_subsection(FILE *to, const char *title) { put_macro(to, "SS", title); }

void roff_paragraph(FILE *to) { fputs(".PP\n", to); }

void roff_tag(FILE *to) { fputs(".TP\n", to); }

void roff_tag_more(FILE *to) { fputs("\n.TQ\n", to); }

void roff_piece(FILE *to, char font, const char *text) {
    fprintf(to, "\\f%c", font);
    put_word(to, text, strlen(text));
    fputs("\\fR", to);
}

void roff_tag_end(FILE *to) { putc('\n', to); }

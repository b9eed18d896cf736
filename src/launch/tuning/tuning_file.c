// SPDX-License-Identifier: Apache-2.0
#include "tuning_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { FAMILY, DEVICE, PROBLEM, CHOICE, TIME, UNTUNED, DAY, CHECKSUM, FIELDS };

static const char bar[] = " | ";

// Cuts the line at its bars; true if it has the right number of fields.
static bool split(char *line, char *field[FIELDS]) {
    size_t count = 0;
    for (char *next = line; next; count++) {
        char *end = strstr(next, bar);
        if (count == FIELDS) return false;
        field[count] = next;
        next = end ? end + strlen(bar) : NULL;
        if (end) *end = '\0';
    }
    return count == FIELDS;
}

static bool read_time(const char *text, double *milliseconds) {
    char *end;
    *milliseconds = strtod(text, &end);
    return end != text && !strcmp(end, " ms");
}

// The checksum covers everything before the last bar.
static bool is_whole(const char *line) {
    const char *last = NULL, *found = line;
    char        checksum[16];
    while ((found = strstr(found, bar))) last = found++;
    if (!last) return false;
    snprintf(checksum, sizeof checksum, "%08x", (unsigned)cj__hash(line, (size_t)(last - line)));
    return !strcmp(last + strlen(bar), checksum);
}

static bool read_line(char *line, cj_tuning *t) {
    char *field[FIELDS];
    if (!is_whole(line) || !split(line, field)) return false;
    *t = (cj_tuning){.family = field[FAMILY],
                     .device = field[DEVICE],
                     .problem = field[PROBLEM],
                     .choice = field[CHOICE],
                     .made = field[DAY]};
    return read_time(field[TIME], &t->time) && read_time(field[UNTUNED], &t->untuned);
}

void cj__tuning_reader_init(cj_tuning_reader *reader, const char *text, size_t bytes) {
    reader->at = text;
    reader->end = text + bytes;
    reader->damaged = 0;
}

bool cj__tuning_next(cj_tuning_reader *r, cj_tuning *tuning) {
    while (r->at < r->end) {
        const char  *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
        const size_t length = (size_t)((newline ? newline : r->end) - r->at);
        const char  *line = r->at;
        r->at = newline ? newline + 1 : r->end;
        if (!length || *line == '#') continue;
        const bool fits = length < sizeof r->line && !memchr(line, '\0', length);
        if (fits) {
            memcpy(r->line, line, length);
            r->line[length] = '\0';
        }
        if (fits && read_line(r->line, tuning)) return true;
        r->damaged++;
    }
    return false;
}

void cj__tuning_write_head(cj_text *text) {
    cj__text_puts(
        text,
        "# what ptxgen tune has measured: family | device | problem | choice | time | untuned | day | checksum\n");
}

void cj__tuning_write(const cj_tuning *t, cj_text *text) {
    const size_t start = text->length;
    cj__text_printf(text, "%s | %s | %s | %s | %.6g ms | %.6g ms | %s", t->family, t->device, t->problem, t->choice,
                    t->time, t->untuned, t->made);
    if (!text->failed) cj__text_printf(text, " | %08x\n", (unsigned)cj__hash(text->data + start, text->length - start));
}

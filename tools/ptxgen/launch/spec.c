// SPDX-License-Identifier: Apache-2.0
#include "spec.h"

#include <clusterjit/base.h>
#include <string.h>

#include "message.h"

int spec_refuse(const char *text, const char *field, const char *value, size_t length, const char *allowed,
                const char *hint) {
    return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': %s is '%.*s'; it is %s\n%s", text, field, (int)length, value,
                         allowed, hint);
}

bool spec_is(const char *text, size_t length, const char *word) {
    return strlen(word) == length && !memcmp(text, word, length);
}

bool spec_number(const char *text, const char *end, uint64_t *value) {
    char         piece[32];
    const size_t length = (size_t)(end - text);
    if (length >= sizeof piece) return false;
    memcpy(piece, text, length);
    piece[length] = '\0';
    const char *stop = cj_number_read(piece, value);
    return stop && !*stop;
}

uint32_t spec_list(const char *text, const char *end, uint64_t *value, uint32_t most) {
    uint32_t count = 0;
    while (count < most) {
        const char *stop = memchr(text, 'x', (size_t)(end - text));
        if (!spec_number(text, stop ? stop : end, &value[count++])) return 0;
        if (!stop) return count;
        text = stop + 1;
    }
    return 0;
}

bool spec_choice(const char *words, const char *text, size_t length, int *value) {
    for (int i = 0; *words; i++) {
        const size_t word = strcspn(words, "|");
        if (word == length && !memcmp(words, text, length)) {
            *value = i;
            return true;
        }
        words += word + (words[word] == '|');
    }
    return false;
}

int spec_source(const char *text, const char *at, const char *end, int *buffer, const char **fill, size_t *length,
                const char *hint) {
    uint64_t index;
    *fill = at + 1;
    *length = (size_t)(end - at) - 1;
    *buffer = SPEC_OWN;
    if (*at == '=') return CODE_OK;
    if (!spec_number(at + 1, end, &index) || index > INT16_MAX)
        return spec_refuse(text, "its buffer", at + 1, *length, "the number of an argument, counted from 0", hint);
    *buffer = (int)index;
    return CODE_OK;
}

// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CJ_STRINGIFY_(x) #x
#define CJ_STRINGIFY(x) CJ_STRINGIFY_(x)

const char *cj_status_name(cj_status status) {
    switch (status) {
#define CJ_X(name, value, text) \
    case CJ_##name: return #name;
        CJ_STATUS_LIST(CJ_X)
#undef CJ_X
    }
    return "UNKNOWN";
}

const char *cj_status_text(cj_status status) {
    switch (status) {
#define CJ_X(name, value, text) \
    case CJ_##name: return text;
        CJ_STATUS_LIST(CJ_X)
#undef CJ_X
    }
    return "a status that this version does not know";
}

const char *cj_version(void) {
    return CJ_STRINGIFY(CJ_VERSION_MAJOR) "." CJ_STRINGIFY(CJ_VERSION_MINOR) "." CJ_STRINGIFY(CJ_VERSION_PATCH);
}

const char *cj_dtype_name(cj_dtype type) {
    switch (type) {
#define CJ_X(name, text, bytes, ctype) \
    case CJ_##name: return text;
        CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    }
    return NULL;
}

size_t cj_dtype_size(cj_dtype type) {
    switch (type) {
#define CJ_X(name, text, bytes, ctype) \
    case CJ_##name: return bytes;
        CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    }
    return 0;
}

cj_dtype cj_dtype_arithmetic(cj_dtype type) {
    switch (type) {
    case CJ_F16:
    case CJ_BF16:
    case CJ_TF32:
    case CJ_E4M3:
    case CJ_E5M2: return CJ_F32;
    case CJ_I8:
    case CJ_I16: return CJ_I32;
    case CJ_U8:
    case CJ_U16: return CJ_U32;
    default: return type;
    }
}

cj_status cj__fail(cj_error *error, cj_status status, const char *format, ...) {
    if (!error) return status;
    char    text[sizeof error->message + sizeof error->hint];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *error = (cj_error){.status = status};
    char *hint = strstr(text, CJ_HINT);
    if (hint) {
        *hint = '\0';
        cj__hint(error, "%s", hint + 1);
    }
    snprintf(error->message, sizeof error->message, "%.*s", (int)sizeof error->message - 1, text);
    return status;
}

void cj__hint(cj_error *error, const char *format, ...) {
    if (!error) return;
    va_list args;
    va_start(args, format);
    vsnprintf(error->hint, sizeof error->hint, format, args);
    va_end(args);
}

void cj__rule(cj_error *error, const char *rule) {
    if (error) snprintf(error->rule, sizeof error->rule, "%s", rule);
}

static unsigned cost(char c) { return c >= '0' && c <= '9' ? 2 : 1; }  // another number is rarely a typing mistake

// Levenshtein distance over at most NAME_MAX_LENGTH characters of each word.
enum { NAME_MAX_LENGTH = 63 };

// Stops at `most`: a distance of `most` or more is `most`.
static unsigned edit_distance(const char *a, size_t m, const char *b, size_t n, unsigned most) {
    if (m > NAME_MAX_LENGTH) m = NAME_MAX_LENGTH;
    if (n > NAME_MAX_LENGTH) n = NAME_MAX_LENGTH;
    if ((m > n ? m - n : n - m) >= most) return most;
    unsigned row[NAME_MAX_LENGTH + 1];
    row[0] = 0;
    for (size_t j = 1; j <= n; j++) row[j] = row[j - 1] + cost(b[j - 1]);
    for (size_t i = 1; i <= m; i++) {
        unsigned diagonal = row[0], least;
        least = row[0] += cost(a[i - 1]);
        for (size_t j = 1; j <= n; j++) {
            const unsigned change = cost(a[i - 1]) > cost(b[j - 1]) ? cost(a[i - 1]) : cost(b[j - 1]);
            unsigned       best = diagonal + (a[i - 1] != b[j - 1] ? change : 0);
            if (row[j] + cost(a[i - 1]) < best) best = row[j] + cost(a[i - 1]);
            if (row[j - 1] + cost(b[j - 1]) < best) best = row[j - 1] + cost(b[j - 1]);
            diagonal = row[j];
            row[j] = best;
            if (best < least) least = best;
        }
        if (least >= most) return most;
    }
    return row[n] < most ? row[n] : most;
}

const char *cj__nearest(const char *word, const char *(*next)(const void *user, size_t i), const void *user) {
    const char  *best = NULL;
    const size_t length = strlen(word);
    unsigned     limit = (unsigned)length / 2 + 1;  // more edits than half the word is another word
    for (size_t i = 0;; i++) {
        const char *candidate = next(user, i);
        if (!candidate) return best;
        unsigned distance = edit_distance(word, length, candidate, strlen(candidate), limit);
        if (distance < limit) {
            limit = distance;
            best = candidate;
        }
    }
}

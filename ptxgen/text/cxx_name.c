// SPDX-License-Identifier: Apache-2.0
// The part of the Itanium C++ ABI's mangling that names of functions are made of. What is not understood is left as it is.
#include "cxx_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_MAX = 4096 };  // of a lowered name: literals in it are read by recursion

// A length and as many characters; returns what follows, or NULL.
static const char *identifier(const char *at, const char **begin, size_t *length) {
    char *end;
    if (!isdigit((unsigned char)*at)) return NULL;
    *length = strtoul(at, &end, 10);
    *begin = end;
    return *length && *length <= strlen(end) ? end + *length : NULL;
}

static const char *skip_arguments(const char *at);

// A literal: its type, its value, E. `at` points after the L.
static const char *skip_literal(const char *at) {
    const char *begin;
    size_t      length;
    if (isdigit((unsigned char)*at))
        at = identifier(at, &begin, &length);
    else if (*at == 'N')
        at = skip_arguments(at + 1);
    else
        at += *at != '\0';
    const char *end = at ? strchr(at, 'E') : NULL;
    return end ? end + 1 : NULL;
}

// Returns the place after the E of what begins here; templates, names and function types stand in each other.
static const char *skip_arguments(const char *at) {
    const char *begin;
    size_t      length;
    for (unsigned depth = 1; depth;) {
        if (!*at) return NULL;
        if (isdigit((unsigned char)*at)) {
            at = identifier(at, &begin, &length);
        } else if (*at == 'S' || *at == 'T') {  // S_, S0_, St, T_
            at += 1 + strspn(at + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
            at += *at != '\0';
        } else if (*at == 'L') {
            at = skip_literal(at + 1);
        } else if (*at == 'A' || (*at == 'D' && at[1] == 'v')) {  // an array or a vector: its length and _
            at += *at == 'A' ? 1 : 2;
            at += strspn(at, "0123456789");
            at += *at == '_';
        } else {
            depth += strchr("INXJF", *at) != NULL;
            depth -= *at == 'E';
            at += *at == 'D' && at[1] ? 2 : 1;
        }
        if (!at) return NULL;
    }
    return at;
}

// The hash that ends Rust's names: h and 16 hexadecimal digits.
static bool is_hash(const char *begin, size_t length) {
    return length == 17 && *begin == 'h' && strspn(begin + 1, "0123456789abcdef") >= 16;
}

static bool is_unnamed(const char *begin, size_t length) {
    return (length >= 10 && !memcmp(begin, "_GLOBAL__N", 10)) || (length >= 9 && !memcmp(begin, "_INTERNAL", 9)) ||
           is_hash(begin, length);
}

// What nvcc -rdc=true puts before the name of a static one: __nv_static_, a length, as many characters, each with a _ after
// it. Returns the name itself.
static const char *skip_static(const char *lowered) {
    static const char prefix[] = "__nv_static_";
    char             *end;
    if (strncmp(lowered, prefix, sizeof prefix - 1) != 0) return lowered;
    const size_t length = strtoul(lowered + sizeof prefix - 1, &end, 10);
    return *end == '_' && length < strlen(end + 1) && end[1 + length] == '_' ? end + length + 2 : lowered;
}

// A name that is being written.
typedef struct writer {
    char  *name;
    size_t size, used;
} writer;

static bool put(writer *to, const char *begin, size_t length) {
    const size_t colons = to->used ? 2 : 0;
    if (to->used + colons + length + 1 > to->size) return false;
    memcpy(to->name + to->used, "::", colons);
    memcpy(to->name + to->used + colons, begin, length);
    to->used += colons + length;
    return true;
}

// Reads a name, nested or not, without its template arguments; returns what follows, or NULL.
static const char *read_name(const char *at, writer *to) {
    const char *begin;
    size_t      length;
    const bool  is_nested = *at == 'N';
    at += is_nested;
    while (is_nested && *at && strchr("KVrRO", *at)) at++;  // qualifiers of a member function
    at += *at == 'L';                                       // of one translation unit
    do {
        if (!(at = identifier(at, &begin, &length))) return NULL;
        if (!is_unnamed(begin, length) && !put(to, begin, length)) return NULL;
        if (*at == 'I' && !(at = skip_arguments(at + 1))) return NULL;
    } while (is_nested && *at != 'E');
    return at + is_nested;
}

// A variable within a function: Z, the function's name and parameters, E, the variable's name.
static const char *read_local(const char *at, writer *to) {
    unsigned depth = 0;
    for (; *at == 'Z'; at++) depth++;
    at = read_name(at, to);
    while (at && depth--) {
        at = skip_arguments(at);
        if (at) at = read_name(at, to);
    }
    return at;
}

bool cj__cxx_name(const char *lowered, char *name, size_t size) {
    const char  *at = skip_static(lowered);
    const size_t length = strlen(at);
    writer       to = {.name = name, .size = size};
    if (length > LENGTH_MAX || !size) return false;
    if (strncmp(at, "_Z", 2) != 0) {
        if (at == lowered || length + 1 > size) return false;
        memcpy(name, at, length + 1);
        return true;
    }
    at = at[2] == 'Z' ? read_local(at + 2, &to) : read_name(at + 2, &to);
    if (!at || !to.used) return false;
    name[to.used] = '\0';
    return true;
}

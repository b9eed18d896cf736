// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

// A stream does not keep why an earlier write failed: one more byte fails for the same reason.
static int lost_output(int number) {
    if (!number && write(STDOUT_FILENO, "\n", 1) < 0) number = errno;
    return message_error(CJ_FILE, "cannot write standard output: %s",
                         number ? strerror(number) : "an earlier write failed");
}

static bool printed;  // a JSON document

int output_finish(int code) {
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code) return code;
    return lost_output(errno);
}

static int cannot_write(const char *path, int number) {
    return message_error(CJ_FILE, "cannot write '%s': %s", path, strerror(number));
}

// Writes and closes; returns 0 or an errno value.
static int write_and_close(FILE *file, const char *text, size_t length) {
    int failure = fwrite(text, 1, length, file) == length ? 0 : errno;
    if (fclose(file) && !failure) failure = errno;
    return failure;
}

// For a device or a pipe, which a rename cannot replace.
static int save_in_place(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "w");
    int   failure = file ? write_and_close(file, text, length) : errno;
    return failure ? cannot_write(path, failure) : CODE_OK;
}

// Opens an unnamed file in the target's directory: it vanishes with its descriptor if the process ends; -1 if the file
// system has no such files.
static int open_unnamed(const char *path) {
    const char *slash = strrchr(path, '/');
    char       *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    const int   descriptor = directory ? open(directory, UNNAMED_FILE, 0600) : -1;
    free(directory);
    return descriptor;
}

// Gives it the temporary name, and renames it at once; this thread takes no signals between the two.
static int name_unnamed(int descriptor, const char *temporary, const char *path) {
    char     link[40];
    sigset_t all, before;
    int      failure = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (linkat(AT_FDCWD, link, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW)) failure = errno;
    if (!failure && rename(temporary, path)) {
        failure = errno;
        unlink(temporary);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static int write_unnamed(int descriptor, const char *temporary, const char *path, mode_t mode, const char *text,
                         size_t length) {
    FILE *file = fdopen(descriptor, "w");
    int   failure = !file || fchmod(descriptor, mode) || fwrite(text, 1, length, file) != length || fflush(file) ? errno
                                                                                                                 : 0;
    if (!failure) failure = name_unnamed(descriptor, temporary, path);
    if (file)
        fclose(file);
    else
        close(descriptor);
    return failure;
}

// Writes a file beside the target and renames it, so that a reader never sees a partial file.
static int save_by_rename(const char *path, mode_t mode, const char *text, size_t length) {
    static const char suffix[] = ".XXXXXX";
    size_t            size = strlen(path) + sizeof suffix;
    char             *temporary = malloc(size);
    if (!temporary) return message_error(CJ_OUT_OF_MEMORY, "no memory for the name of a temporary file");
    const int unnamed = open_unnamed(path);
    if (unnamed >= 0) {
        snprintf(temporary, size, "%s.%06ld", path, (long)getpid() % 1000000);
        const int refused = write_unnamed(unnamed, temporary, path, mode, text, length);
        free(temporary);
        return refused ? cannot_write(path, refused) : CODE_OK;
    }
    snprintf(temporary, size, "%s%s", path, suffix);

    int   failure = 0, descriptor = mkstemp(temporary);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file || fchmod(descriptor, mode)) failure = errno;
    if (file) {
        int written = write_and_close(file, text, length);
        if (!failure) failure = written;
    }
    if (!failure && rename(temporary, path)) failure = errno;
    if (failure && descriptor >= 0) unlink(temporary);
    free(temporary);
    return failure ? cannot_write(path, failure) : CODE_OK;
}

int output_save(const char *path, const char *text, size_t length) {
    if (strcmp(path, "-") == 0) return fwrite(text, 1, length, stdout) == length ? CODE_OK : lost_output(errno);
    struct stat status;
    if (stat(path, &status)) {
        if (errno != ENOENT) return cannot_write(path, errno);
        mode_t mask = umask(0);
        umask(mask);
        return save_by_rename(path, 0666 & ~mask, text, length);
    }
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (access(path, W_OK)) return cannot_write(path, errno);
    if (!S_ISREG(status.st_mode)) return save_in_place(path, text, length);
    char *target = realpath(path, NULL);  // a symbolic link stays one
    if (!target) return cannot_write(path, errno);
    int code = save_by_rename(target, status.st_mode & 07777, text, length);
    free(target);
    return code;
}

int output_check(const char *path) {
    struct stat status;
    char       *parent = strdup(path);
    if (!parent) return message_error(CJ_OUT_OF_MEMORY, "no memory for the name of a file");
    char *slash = strrchr(parent, '/');
    if (slash) slash[slash == parent] = '\0';
    const bool there = stat(path, &status) == 0;
    int        failure = there ? 0 : errno == ENOENT ? 0 : errno;
    if (there && S_ISDIR(status.st_mode))
        failure = EISDIR;
    else if (there && access(path, W_OK))
        failure = errno;
    else if (!there && !failure && access(slash ? parent : ".", W_OK | X_OK))
        failure = errno;
    free(parent);
    return failure ? cannot_write(path, failure) : CODE_OK;
}

size_t output_width(void) {
    struct winsize size;
    const char    *columns = getenv("COLUMNS");
    uint64_t       number;
    const char    *end = columns ? cj_number_read(columns, &number) : NULL;
    if (end && !*end && number) return number < OUTPUT_WIDTH_LEAST ? OUTPUT_WIDTH_LEAST : (size_t)number;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col) return OUTPUT_WIDTH;
    return size.ws_col < OUTPUT_WIDTH_LEAST ? OUTPUT_WIDTH_LEAST : size.ws_col;
}

// How many characters a text of UTF-8 has.
static size_t characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

void output_wrapped(const char *text, size_t column) {
    size_t at = column, width = output_width();
    while (*text) {
        size_t length = strcspn(text, " ");
        size_t wide = characters(text, length);
        if (at > column && at + 1 + wide > width) {
            printf("\n%*s", (int)column, "");
            at = column;
        }
        printf("%s%.*s", at > column ? " " : "", (int)length, text);
        at += wide + (at > column);
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static json_t *text_or_null(const char *text) { return *text ? output_json_text(text) : json_null(); }

static json_t *failure_json(const cj_error *error) {
    json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "status", cj_status_name(error->status), "rule",
                               text_or_null(error->rule), "message", output_json_text(error->message), "hint",
                               text_or_null(error->hint));
    if (error->line) json_object_set_new(object, "line", json_integer(error->line));
    if (error->column) json_object_set_new(object, "column", json_integer(error->column));
    return object;
}

int output_json(json_t *value) {
    json_t         *document = json_pack("{s:i}", "schema", OUTPUT_SCHEMA);
    const cj_error *failure = message_first();
    int             failed = !value || json_object_update(document, value);
    if (failure) failed |= json_object_set_new(document, "failure", failure_json(failure));
    json_decref(value);
    errno = 0;
    if (!failed) failed = json_dumpf(document, stdout, JSON_INDENT(2));
    json_decref(document);
    if (failed && ferror(stdout)) return lost_output(errno);
    if (failed) return message_error(CJ_OUT_OF_MEMORY, "no memory for the JSON output");
    putchar('\n');
    printed = true;
    return CODE_OK;
}

void output_json_failure(void) {
    if (!printed && message_first()) output_json(json_object());
}

void output_json_none(void) { printed = true; }

json_t *output_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *output_json_uint(uint64_t value) {
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_sprintf("%" PRIu64, value);
}

json_t *output_json_dim3(cj_dim3 d) {
    return json_pack("[I, I, I]", (json_int_t)d.x, (json_int_t)d.y, (json_int_t)d.z);
}

json_t *output_json_words(const char *words) {
    json_t *array = json_array();
    for (const char *word = words; *word;) {
        size_t length = strcspn(word, " ");
        json_array_append_new(array, json_stringn(word, length));
        word += length + strspn(word + length, " ");
    }
    return array;
}

// A UTF-8 sequence that begins with the byte `first`: its length in bytes, and the least character that it may encode.
typedef struct lead {
    unsigned char mask, first, size;
    uint32_t      least;
} lead;

static const lead leads[] = {{0xe0, 0xc0, 2, 0xa0}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

size_t output_character(const char *text, size_t length) {
    unsigned char byte = (unsigned char)*text;
    if (byte < 0x80) return byte >= ' ' && byte != 0x7f;
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if ((byte & leads[i].mask) != leads[i].first || leads[i].size > length) continue;
        uint32_t code = byte & (unsigned char)~leads[i].mask;
        for (size_t k = 1; k < leads[i].size; k++) {
            if (((unsigned char)text[k] & 0xc0) != 0x80) return 0;
            code = code << 6 | ((unsigned char)text[k] & 0x3f);
        }
        bool real = code >= leads[i].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        return real ? leads[i].size : 0;
    }
    return 0;
}

json_t *output_json_text(const char *text) {
    json_t *whole = json_string(text);
    if (whole) return whole;
    char *copy = strdup(text);
    if (!copy) return NULL;
    for (size_t i = 0, left = strlen(copy); left > 0;) {
        size_t size = output_character(copy + i, left);
        if (!size && (unsigned char)copy[i] >= 0x80) copy[i] = '?';
        i += size ? size : 1;
        left -= size ? size : 1;
    }
    json_t *string = json_string(copy);
    free(copy);
    return string;
}

// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

static int lost_output(int number) {
    return message_error(CJ_FILE, "cannot write standard output: %s",
                         number ? strerror(number) : "an earlier write failed");
}

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

// A device, a pipe: what cannot be replaced by a rename.
static int save_in_place(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "w");
    int   failure = file ? write_and_close(file, text, length) : errno;
    return failure ? cannot_write(path, failure) : CODE_OK;
}

// Written beside its target and renamed, so that nobody ever sees half of it.
static int save_by_rename(const char *path, mode_t mode, const char *text, size_t length) {
    static const char suffix[] = ".XXXXXX";
    size_t            size = strlen(path) + sizeof suffix;
    char             *temporary = malloc(size);
    if (!temporary) return message_error(CJ_OUT_OF_MEMORY, "no memory for the name of a temporary file");
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
    char *target = realpath(path, NULL);  // a link stays a link
    if (!target) return cannot_write(path, errno);
    int code = save_by_rename(target, status.st_mode & 07777, text, length);
    free(target);
    return code;
}

int output_json(json_t *value) {
    if (!value) return message_error(CJ_OUT_OF_MEMORY, "no memory for the JSON output");
    json_dumpf(value, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(value);
    return CODE_OK;
}

json_t *output_json_real(double value) {
    if (isnan(value)) return json_string("NaN");
    if (isinf(value)) return json_string(value > 0 ? "Infinity" : "-Infinity");
    return json_real(value);
}

json_t *output_json_uint(uint64_t value) {
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_sprintf("%" PRIu64, value);
}

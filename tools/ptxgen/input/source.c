// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian and read as they are");

static int cannot_read(const char *name, int number) {
    return message_error(CJ_FILE, "cannot read '%s': %s", name, strerror(number));
}

// A pipe becomes an unnamed temporary file, so that its length is known before the kernel is planned.
static int spool(source *s) {
    char  buffer[65536];
    FILE *copy = tmpfile();
    if (!copy) return message_error(CJ_FILE, "cannot make a temporary file for '%s': %s", s->name, strerror(errno));
    size_t got, put = 0;
    while ((got = fread(buffer, 1, sizeof buffer, s->file)) > 0 && (put = fwrite(buffer, 1, got, copy)) == got)
        continue;
    int failure = ferror(s->file) || put < got || fflush(copy) ? errno : 0;
    if (s->file != stdin) fclose(s->file);
    s->file = copy;
    rewind(copy);
    return failure ? cannot_read(s->name, failure) : CODE_OK;
}

static int check_type(source *s, cj_dtype found) {
    s->stored = found;
    if (found == s->type || found == npy_type(s->type)) return CODE_OK;
    return message_error(CJ_FILE, "'%s' holds %s, but the kernel reads %s\nuse --dtype %s", s->name,
                         cj_dtype_name(found), cj_dtype_name(npy_type(s->type)), cj_dtype_name(found));
}

static int open_npy(source *s, uint64_t bytes) {
    npy header;
    int code = npy_read_header(s->file, s->name, &header);
    if (!code) code = check_type(s, header.type);
    if (code) return code;
    uint64_t size = cj_dtype_size(header.type), there = (bytes - header.start) / size;
    if (header.count > there)
        return message_error(CJ_FILE,
                             "'%s' is truncated: its header says %" PRIu64 " elements, the file holds %" PRIu64,
                             s->name, header.count, there);
    s->available = header.count;
    s->shape = header;
    return CODE_OK;
}

static int open_raw(source *s, uint64_t bytes) {
    uint64_t size = cj_dtype_size(s->stored);
    if (bytes % size)
        return message_error(CJ_FILE, "'%s' has %" PRIu64 " bytes, which is no multiple of the %" PRIu64 " of a %s",
                             s->name, bytes, size, cj_dtype_name(s->stored));
    s->available = bytes / size;
    return CODE_OK;
}

static bool has_magic(FILE *file) {
    char start[NPY_MAGIC_SIZE];
    bool found = fread(start, 1, sizeof start, file) == sizeof start && memcmp(start, NPY_MAGIC, sizeof start) == 0;
    rewind(file);
    return found;
}

// A file's name says what the file contains; a pipe has no name, so its first bytes decide.
static int open_content(source *s, bool pipe, uint64_t bytes) {
    if (pipe) return has_magic(s->file) ? open_npy(s, bytes) : open_raw(s, bytes);
    const char *dot = strrchr(s->name, '.');
    cj_dtype    named;
    if (dot && strcmp(dot, ".npy") == 0) return open_npy(s, bytes);
    if (!dot || !element_type(dot + 1, &named))
        return message_error(CJ_FILE,
                             "'%s': cannot tell what it holds\nname it .npy, or by its type (.f32, .bf16, .u8, …), "
                             "or give it to standard input with --input -",
                             s->name);
    int code = check_type(s, named);
    return code ? code : open_raw(s, bytes);
}

static int open_file(source *s, const char *path) {
    bool standard = strcmp(path, "-") == 0;
    s->name = standard ? "standard input" : path;
    s->file = standard ? stdin : fopen(path, "rb");
    struct stat status;
    if (!s->file || fstat(fileno(s->file), &status)) return cannot_read(s->name, errno);
    if (S_ISDIR(status.st_mode)) return cannot_read(s->name, EISDIR);
    bool pipe = standard || !S_ISREG(status.st_mode);
    if (pipe) {
        int code = spool(s);
        if (code) return code;
        if (fstat(fileno(s->file), &status)) return cannot_read(s->name, errno);
    }
    int code = open_content(s, pipe, (uint64_t)status.st_size);
    if (!code && !s->available)
        code = message_error(CJ_FILE, "'%s' holds no elements; at least one is needed", s->name);
    return code;
}

int source_open(source *s, cj_dtype type, const char *path, const char *spec) {
    *s = (source){.type = type, .stored = type, .available = UINT64_MAX};
    const char *wrong = path ? NULL : fill_parse(spec, type, &s->fill);
    if (wrong)
        return message_error(CJ_INVALID_ARGUMENT, "--fill '%s' makes no sense for %s: %s\none of: %s", spec,
                             cj_dtype_name(type), wrong, FILL_HELP);
    int code = path ? open_file(s, path) : CODE_OK;
    if (code) source_close(s);
    return code;
}

void source_close(source *s) {
    if (s->file && s->file != stdin) fclose(s->file);
    s->file = NULL;
}

static int read_stored(source *s, void *to, size_t count) {
    if (fread(to, cj_dtype_size(s->stored), count, s->file) == count) return CODE_OK;
    if (ferror(s->file)) return cannot_read(s->name, errno);
    return message_error(CJ_FILE, "'%s' became shorter while it was read", s->name);
}

// Reads elements and rounds them to the type, to nearest.
static int read_rounded(source *s, char *to, size_t count) {
    enum { BATCH = 512 };
    float   stored[BATCH];
    element wide[BATCH];
    int     code = CODE_OK;
    for (size_t done = 0, step; !code && done < count; done += step) {
        step = count - done < BATCH ? count - done : BATCH;
        code = read_stored(s, stored, step);
        element_widen(s->stored, stored, step, wide);
        element_narrow(s->type, wide, step, to + done * cj_dtype_size(s->type));
    }
    return code;
}

int source_read(source *s, void *to, size_t count) {
    int code = CODE_OK;
    if (!s->file)
        fill_write(&s->fill, s->position, count, to);
    else
        code = s->stored == s->type ? read_stored(s, to, count) : read_rounded(s, to, count);
    s->position += count;
    return code;
}

int source_read_rows(source *s, void *to, size_t count) {
    if (count > s->available)
        return message_error(CJ_INVALID_ARGUMENT, "the rows span %zu elements, but '%s' holds only %" PRIu64, count,
                             s->name, s->available);
    return source_read(s, to, count);
}

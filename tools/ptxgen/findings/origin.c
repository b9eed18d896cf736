// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "output.h"

typedef struct source_file {
    struct source_file *next;
    char               *name;
    document            text;  // text NULL: it cannot be read
} source_file;

struct origin {
    cj_source_map *map;  // NULL: the PTX has no .loc
    bool           asked;
    source_file   *files;
    source_file   *given;  // the one that origin_give gave
};

enum { FILE_MAX = 64 << 20 };  // bytes of a source file that is shown

static void free_origin(origin *o) {
    while (o->files) {
        source_file *file = o->files;
        o->files = file->next;
        free(file->text.text);
        free(file->name);
        free(file);
    }
    cj_source_map_destroy(o->map);
    free(o);
}

static origin *of_document(document *d) {
    if (!d->origin) d->origin = calloc(1, sizeof *d->origin);
    d->free_origin = free_origin;
    return d->origin;
}

const cj_source *origin_of(document *d, unsigned line) {
    origin *o = line && d->text ? of_document(d) : NULL;
    if (!o) return NULL;
    if (!o->asked && strstr(d->text, ".loc")) cj_source_map_create(d->text, d->length, &o->map, NULL);
    o->asked = true;
    return cj_source_map_find(o->map, line);
}

// ---- files

// Only an ordinary file is opened: the name stands in a text that anyone may have written.
static char *read_text(const char *path, size_t *length) {
    struct stat about;
    int         fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char       *text = NULL;
    *length = 0;
    if (fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size <= FILE_MAX)
        text = malloc((size_t)about.st_size + 1);
    for (ssize_t got = 1; text && got > 0; *length += (size_t)(got > 0 ? got : 0))
        got = read(fd, text + *length, (size_t)about.st_size - *length);
    if (text) text[*length] = '\0';
    if (fd >= 0) close(fd);
    return text;
}

// As it is named, else beside the PTX.
static char *read_source(const document *d, const char *name, size_t *length) {
    char        path[4096];
    char       *text = read_text(name, length);
    const char *slash = strrchr(d->name, '/');
    if (text || *name == '/' || !slash) return text;
    const int wrote = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - d->name), d->name, name);
    return wrote > 0 && (size_t)wrote < sizeof path ? read_text(path, length) : NULL;
}

const char *origin_name(const char *file) {
    static char  here[4096];
    const size_t length = here[0] || getcwd(here, sizeof here) ? strlen(here) : 0;
    return length > 1 && !strncmp(file, here, length) && file[length] == '/' ? file + length + 1 : file;
}

// Compilers make names absolute, so files are known without the working directory.
static source_file *add_file(origin *o, const char *name) {
    source_file *file = calloc(1, sizeof *file);
    if (!file || !(file->name = strdup(origin_name(name)))) {
        free(file);
        return NULL;
    }
    file->text.name = file->name;
    file->next = o->files;
    o->files = file;
    return file;
}

document *origin_file(document *d, const char *name) {
    origin      *o = of_document(d);
    source_file *file = o ? o->files : NULL;
    while (file && strcmp(file->name, origin_name(name)) != 0) file = file->next;
    if (!file && o && (file = add_file(o, name)) != NULL) file->text.text = read_source(d, name, &file->text.length);
    return file && file->text.text ? &file->text : NULL;
}

int origin_give(document *d, const char *name, const char *text) {
    origin      *o = of_document(d);
    source_file *file = o ? add_file(o, name) : NULL;
    if (o) o->given = file;
    return file ? document_copy(&file->text, text) : message_error(CJ_OUT_OF_MEMORY, "no memory for '%s'", name);
}

const char *origin_main(document *d) { return d->origin && d->origin->given ? d->origin->given->name : d->name; }

// ---- the rest

json_t *origin_json(const cj_source *source) {
    if (!source) return json_null();
    return json_pack("{s:o, s:i, s:i, s:o, s:o}", "file", output_json_text(source->file), "line", (int)source->line,
                     "column", (int)source->column, "function",
                     *source->function ? output_json_text(source->function) : json_null(), "inlined_at",
                     origin_json(source->inlined_at));
}

// SPDX-License-Identifier: Apache-2.0
// What a text includes is looked for as the preprocessor would, but without its conditions: every #include counts, and so does
// every file that one of its names may mean. More may then be in the key than was read, and nothing less.
#define _POSIX_C_SOURCE 200809L
#include "include_key.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "allocate.h"
#include "log.h"

cj_disk *cj__cuda_disk(void) {
    cj_disk           *disk;
    cj_error           why;
    static atomic_bool warned;
    if (cj__cache_open(true, &cj__files, &disk, &why) && !atomic_exchange(&warned, true))
        cj__log(CJ_LOG_WARNING, "CUDA C is compiled anew in every process: %s; %s", why.message, why.hint);
    return disk;
}

enum { FILES_MAX = 512, FILE_MAX = 16 << 20, PATH_SIZE = 4096 };  // files of the user's; bytes of one

typedef struct scan {
    cj_text               *key;
    const cj_cuda_program *program;
    cj_cuda_includes       cuda;
    char                  *seen[FILES_MAX];
    size_t                 seen_count;
} scan;

static bool scan_text(scan *s, const char *text, const char *from);

// ---- files

static char *read_file(const char *path) {
    struct stat about;
    FILE       *file = fopen(path, "rb");
    char       *text = NULL;
    if (file && !fstat(fileno(file), &about) && S_ISREG(about.st_mode) && about.st_size <= FILE_MAX)
        text = cj__calloc(1, (size_t)about.st_size + 1);
    if (text && fread(text, 1, (size_t)about.st_size, file) != (size_t)about.st_size) {
        cj__free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

static bool exists(const char *path) {
    struct stat about;
    return !stat(path, &about) && S_ISREG(about.st_mode);
}

// A file of the user's, and what it includes, once.
static bool add_file(scan *s, const char *path) {
    for (size_t i = 0; i < s->seen_count; i++)
        if (!strcmp(s->seen[i], path)) return true;
    if (s->seen_count == FILES_MAX || !(s->seen[s->seen_count] = cj__strdup(path))) return false;
    s->seen_count++;
    char *text = read_file(path);
    if (!text) return false;
    const XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
    cj__text_printf(s->key, "include %s %016" PRIx64 "%016" PRIx64 "\n", path, (uint64_t)hash.high64,
                    (uint64_t)hash.low64);
    const bool told = scan_text(s, text, path);
    cj__free(text);
    return told;
}

// A name in a directory, which ends where `length` says: true unless what is there cannot be told.
static bool try_directory(scan *s, const char *directory, size_t length, const char *name, size_t name_length,
                          bool *found) {
    char      path[PATH_SIZE];
    const int wrote = snprintf(path, sizeof path, "%.*s%s%.*s", (int)length, directory, length ? "/" : "",
                               (int)name_length, name);
    if (wrote < 0 || (size_t)wrote >= sizeof path) return false;
    if (!exists(path)) return true;
    *found = true;
    return add_file(s, path);
}

static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static const char *include_directory(const char *option) {
    static const char *const flags[] = {"-I", "--include-path="};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const size_t length = strlen(flags[i]);
        if (!strncmp(option, flags[i], length) && option[length]) return option + length;
    }
    return NULL;
}

// `name` as it is included from the file `from`.
static bool add_name(scan *s, const char *from, const char *name, size_t length) {
    bool found = false, told = true;
    if (*name == '/')
        told = try_directory(s, "", 0, name, length, &found);
    else
        told = try_directory(s, from, directory_length(from), name, length, &found) &&
               try_directory(s, s->program->file, directory_length(s->program->file), name, length, &found);
    for (uint32_t i = 0; told && *name != '/' && i < s->program->option_count; i++) {
        const char *directory = include_directory(s->program->options[i]);
        if (directory) told = try_directory(s, directory, strlen(directory), name, length, &found);
    }
    if (told && !found) cj__text_printf(s->key, "include %.*s\n", (int)length, name);  // CUDA's, or not there
    return told;
}

// ---- texts

static bool scan_text(scan *s, const char *text, const char *from) {
    if (strstr(text, "__has_include")) return false;
    for (const char *at = text; (at = strchr(at, '#')) != NULL;) {
        at += 1 + strspn(at + 1, " \t");
        if (*at == '\\' || *at == '/') return false;
        if (strncmp(at, "include", 7) != 0) continue;
        at += 7 + strspn(at + 7, " \t");
        if (*at != '"' && *at != '<') return false;
        const size_t length = strcspn(at + 1, *at == '<' ? ">\n" : "\"\n");
        if (!add_name(s, from, at + 1, length)) return false;
    }
    return !s->key->failed;
}

// An option that includes a file before the text, or whose directory is a word of its own.
static bool options_are_told(const cj_cuda_program *program) {
    for (uint32_t i = 0; i < program->option_count; i++) {
        const char *option = program->options[i];
        if (!include_directory(option) && (strstr(option, "include") || !strncmp(option, "-I", 2))) return false;
    }
    return true;
}

bool cj__cuda_key_includes(cj_text *key, const cj_nvrtc *nvrtc, const cj_cuda_program *program) {
    struct stat about;
    scan       *s = options_are_told(program) ? cj__calloc(1, sizeof *s) : NULL;
    if (!s) return false;
    s->key = key;
    s->program = program;
    cj__cuda_includes(nvrtc, &s->cuda);
    for (uint32_t i = 0; i < s->cuda.count; i++) {
        const char *directory = s->cuda.option[i] + strlen("-I");
        cj__text_printf(key, "headers %s %lld\n", directory, stat(directory, &about) ? 0LL : (long long)about.st_mtime);
    }
    const bool told = scan_text(s, program->text, program->file);
    for (size_t i = 0; i < s->seen_count; i++) cj__free(s->seen[i]);
    cj__free(s);
    return told;
}

// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"

#include <clusterjit/nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "origin.h"

// ---- options

static void add_option(cuda_options *o, const char *prefix, const char *value) {
    const size_t size = strlen(prefix) + strlen(value) + 1;
    char        *text = o->option_count < CUDA_LIST_MAX ? malloc(size) : NULL;
    if (!text)
        exit(message_error(CJ_INVALID_ARGUMENT, "more than %d options for NVRTC, the last is '%s'", CUDA_LIST_MAX,
                           value));
    snprintf(text, size, "%s%s", prefix, value);
    o->option[o->option_count++] = text;
}

static void add_name(cuda_options *o, const char *name) {
    if (o->name_count == CUDA_LIST_MAX)
        exit(message_error(CJ_INVALID_ARGUMENT, "more than %d of --name-expression", CUDA_LIST_MAX));
    o->name[o->name_count++] = name;
}

static void set_language(cuda_options *o, const char *value) {
    if (strcmp(value, "cu") != 0 && strcmp(value, "ptx") != 0)
        exit(message_error(CJ_INVALID_ARGUMENT, "-x is '%s'; it is cu or ptx", value));
    o->language = value;
}

bool cuda_set(cuda_options *o, int key, char *value) {
    switch (key) {
    case 'x': set_language(o, value); return true;
    case 'I': add_option(o, "-I", value); return true;
    case 'D': add_option(o, "-D", value); return true;
    case CUDA_STD: add_option(o, "--std=", value); return true;
    case CUDA_OPTION: add_option(o, "", value); return true;
    case CUDA_NAME: add_name(o, value); return true;
    case CUDA_ARCH: o->arch = value; return true;
    default: return false;
    }
}

void cuda_free(cuda_options *o) {
    for (unsigned i = 0; i < o->option_count; i++) free(o->option[i]);
    o->option_count = 0;
}

// ---- reading

bool cuda_is(const cuda_options *o, const char *path) {
    const char *dot = strrchr(path, '.');
    return o->language ? !strcmp(o->language, "cu") : dot && !strcmp(dot, ".cu");
}

const char *cuda_target(const cj_limits *limits, char target[CUDA_TARGET]) {
    const unsigned number = limits->every_target ? 90 : limits->compute_capability;
    snprintf(target, CUDA_TARGET, number >= 90 ? "sm_%ua" : "sm_%u", number);
    return target;
}

// The document's text becomes the PTX; what it held, the text of its source.
static int become_ptx(document *d, char *ptx, size_t length) {
    static const char form[] = "<PTX of %s>";
    const size_t      size = sizeof form + strlen(d->name);
    char             *source = d->text, *name = malloc(size);
    d->text = ptx;
    d->length = length;
    int code = name ? origin_give(d, d->name, source) : message_error(CJ_OUT_OF_MEMORY, "no memory for a name");
    free(source);
    if (code) {
        free(name);
        return code;
    }
    snprintf(name, size, form, d->name);
    d->name = d->own_name = name;
    message_document(name);
    return CODE_OK;
}

static int compile(document *d, const cuda_options *o, const char *arch) {
    const cj_cuda_source source = {CJ_INIT(source),
                                   .text = d->text,
                                   .name = d->name,
                                   .names = o->name,
                                   .name_count = o->name_count,
                                   .arch = arch,
                                   .options = (const char *const *)o->option,
                                   .option_count = o->option_count};
    cj_error             error;
    char                *ptx;
    size_t               length;
    if (strlen(d->text) != d->length)
        return message_error(CJ_COMPILER, "'%s' does not compile: a NUL byte stands in it: this is no CUDA C++",
                             d->name);
    return cj_ptx_from_cuda(&source, &ptx, &length, &error) ? message_failure(&error) : become_ptx(d, ptx, length);
}

int cuda_read(document *d, const char *path, const cuda_options *o, const char *arch) {
    const bool is_cuda = cuda_is(o, path);
    if (!is_cuda && (o->option_count || o->name_count))
        return message_error(CJ_INVALID_ARGUMENT,
                             "'%s' is PTX, and %s is for CUDA C++\nname the file .cu, or give -x cu", path,
                             o->name_count ? "--name-expression" : o->option[0]);
    int code = document_read(d, path);
    if (code || !is_cuda) return code;
    code = compile(d, o, arch);
    if (code) document_free(d);
    return code;
}

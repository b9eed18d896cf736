// SPDX-License-Identifier: Apache-2.0
// A user's text becomes a program of three parts: the text unchanged; definitions that C has and NVRTC lacks; and one
// function of a known name around the expression or function that is wanted. #line directives make positions those of
// the user's text.
#include <clusterjit/nvrtc.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "include_key.h"
#include "sized.h"
#include "text.h"
#include "user_function.h"

static const char entry[] = "cj__user_function";
static const char wanted_file[] = "<wanted>";  // the file name in messages about a function that does not fit
static const char after_expression[] = "); }";

// Definitions of C's headers that NVRTC lacks.
// clang-format off
static const char definitions[] =
    "#line 1 \"<definitions>\"\n"
#define DEFINE(name, value) "#ifndef " #name "\n#define " #name " " value "\n#endif\n"
    DEFINE(INFINITY, "__int_as_float(0x7f800000)")
    DEFINE(NAN, "__int_as_float(0x7fc00000)")
    DEFINE(INT_MAX, "2147483647")
    DEFINE(INT_MIN, "(-2147483647 - 1)")
    DEFINE(UINT_MAX, "4294967295u")
    DEFINE(LLONG_MAX, "9223372036854775807ll")
    DEFINE(LLONG_MIN, "(-9223372036854775807ll - 1)")
    DEFINE(ULLONG_MAX, "18446744073709551615ull")
    DEFINE(FLT_MAX, "3.402823466e+38f")
    DEFINE(FLT_MIN, "1.175494351e-38f")
    DEFINE(FLT_EPSILON, "1.192092896e-7f")
    DEFINE(DBL_MAX, "1.7976931348623157e+308")
    DEFINE(DBL_MIN, "2.2250738585072014e-308")
    DEFINE(DBL_EPSILON, "2.2204460492503131e-16")
#undef DEFINE
    ;
// clang-format on

static const char *argument_name(const cj_signature *signature, uint32_t i) {
    static const char *const initial[CJ_FUNCTION_ARGUMENTS] = {"a", "b", "c", "d"};
    return signature->name[i] ? signature->name[i] : initial[i];
}

// Writes float name(float a, float b); with "" for a name only the types.
static void put_head(cj_text *text, const cj_signature *signature, const char *name, bool named) {
    cj__text_printf(text, "%s %s(", cj__cuda_type(signature->result), name);
    for (uint32_t i = 0; i < signature->count; i++)
        cj__text_printf(text, "%s%s%s%s", i ? ", " : "", cj__cuda_type(signature->argument[i]), named ? " " : "",
                        named ? argument_name(signature, i) : "");
    cj__text_puts(text, ")");
}

static const char *file_of(const cj_cuda_desc *desc) {
    return desc->name ? desc->name : desc->expression ? "<expression>" : "<source>";
}

// Writes a #line directive; the file's name becomes a C string.
static void put_line(cj_text *text, const char *name) {
    cj__text_puts(text, "#line 1 \"");
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\') cj__text_puts(text, "\\");
        cj__text_add(text, *c == '\n' ? " " : c, 1);
    }
    cj__text_puts(text, "\"\n");
}

// The expression begins its line, so that columns are the user's. The text after it stays on that line, where the
// compiler reports an error at the expression's end, unless the expression's last line has a comment that would hide
// it.
static void put_expression(cj_text *text, const cj_cuda_desc *desc) {
    put_head(text, &desc->signature, entry, true);
    cj__text_puts(text, " { return (\n");
    put_line(text, file_of(desc));
    cj__text_printf(text, "%s%s%s\n", desc->expression, strstr(desc->expression, "//") ? "\n" : "", after_expression);
}

// A pointer of the wanted type selects the function among its overloads, without conversions.
static void put_function(cj_text *text, const cj_cuda_desc *desc) {
    const cj_signature *signature = &desc->signature;
    put_head(text, signature, entry, true);
    cj__text_puts(text, " {\n");
    put_line(text, wanted_file);
    put_head(text, signature, "(*const wanted)", false);
    cj__text_printf(text, " = %s;\nreturn wanted(", desc->function);
    for (uint32_t i = 0; i < signature->count; i++)
        cj__text_printf(text, "%s%s", i ? ", " : "", argument_name(signature, i));
    cj__text_puts(text, "); }\n");
}

static void write_program(cj_text *text, const cj_cuda_desc *desc) {
    if (desc->source) {
        put_line(text, desc->function ? file_of(desc) : "<source>");
        cj__text_printf(text, "%s\n", desc->source);
    }
    cj__text_puts(text, definitions);
    cj__text_puts(text, "extern \"C\" __device__ ");
    if (desc->expression)
        put_expression(text, desc);
    else
        put_function(text, desc);
}

// ---- the cache

// A program that includes files is not cached: its key does not contain them.
static bool may_be_kept(const cj_cuda_desc *desc) {
    if ((desc->source && strstr(desc->source, "include")) || (desc->expression && strstr(desc->expression, "include")))
        return false;
    for (uint32_t i = 0; i < desc->option_count; i++) {
        const char *option = desc->options[i];
        bool        names_directory = !strncmp(option, "-I", 2) || !strncmp(option, "--include-path", 14);
        if (strstr(option, "include") && !names_directory) return false;
    }
    return true;
}

// The key: everything that the PTX depends on. Readable lines like those of cached kernels, an empty line, the text.
static void write_key(cj_text *key, const cj_nvrtc *nvrtc, const cj_cuda_program *program, const char *name) {
    int major = 0, minor = 0;
    nvrtc->Version(&major, &minor);
    cj__text_printf(key, "clusterjit %s\ncompiler NVRTC %d.%d", cj_version(), major, minor);
    for (uint32_t i = 0; i < program->option_count; i++) cj__text_printf(key, " %s", program->options[i]);
    cj__text_printf(key, "\ntarget %s\nentry %.*s\n\n%s", program->arch, (int)strcspn(name, "\n"), name, program->text);
}

// ---- the function

static const char *name_of(const cj_cuda_desc *desc) { return desc->expression ? desc->expression : desc->function; }

static cj_status make(const cj_cuda_desc *desc, const char *ptx, size_t length, cj_user_function **function,
                      cj_error *error) {
    return cj__user_function_make(ptx, length, entry, &desc->signature, name_of(desc), function, error);
}

static bool make_of_kept(const cj_cuda_desc *desc, cj_disk *disk, const cj_text *key, cj_user_function **function) {
    char  *ptx;
    size_t length;
    if (!cj__disk_get(disk, key->data, key->length, &ptx, &length)) return false;
    cj_status status = make(desc, ptx, length, function, NULL);
    cj__free(ptx);
    return !status;
}

// Removes the generated end of the lines that the compiler shows.
static void hide_after(char *message) {
    const size_t length = sizeof after_expression - 1;
    for (char *at = message; (at = strstr(at, after_expression));) {
        if (at[length] == '\n')
            memmove(at, at + length, strlen(at + length) + 1);
        else
            at += length;
    }
}

// Rewrites the compiler's message for the user's text; if the wanted function does not fit, says so first.
static cj_status explain(const cj_cuda_desc *desc, cj_status status, cj_error *error) {
    if (status != CJ_COMPILER || !error) return status;
    if (desc->expression) hide_after(error->message);
    const char *words = strchr(error->message, '\n');
    if (!words || strncmp(words + 1, wanted_file, sizeof wanted_file - 1)) return status;
    cj_text head = {0};
    char    said[sizeof error->message];
    put_head(&head, &desc->signature, desc->function, true);
    memcpy(said, words + 1, strlen(words + 1) + 1);
    cj__fail(error, CJ_COMPILER, "unresolved user function '%s': wanted __device__ %.200s, found another or none:\n%s",
             desc->function, head.failed ? desc->function : head.data, said);
    cj__hint(error, "have the source define it with these very types: __device__ %.200s { … }",
             head.failed ? desc->function : head.data);
    cj__rule(error, "user-function");
    cj__text_free(&head);
    return CJ_COMPILER;
}

static cj_status compile(const cj_cuda_desc *desc, const cj_nvrtc *nvrtc, const cj_cuda_program *program,
                         cj_user_function **function, cj_error *error) {
    cj_text   key = {0};
    char     *ptx = NULL;
    cj_status status = CJ_OK;
    cj_disk  *disk = may_be_kept(desc) ? cj__cuda_disk() : NULL;
    if (disk) write_key(&key, nvrtc, program, name_of(desc));
    bool keeps = disk && !key.failed;
    if (!keeps || !make_of_kept(desc, disk, &key, function)) {
        status = explain(desc, cj__cuda_compile(nvrtc, program, &ptx, error), error);
        if (!status) status = make(desc, ptx, strlen(ptx), function, error);
        if (!status && keeps) cj__disk_put(disk, key.data, key.length, ptx, strlen(ptx));
    }
    cj__disk_close(disk);
    cj__free(ptx);
    cj__text_free(&key);
    return status;
}

static cj_status check_desc(const cj_cuda_desc *desc, cj_error *error) {
    if (!desc->expression == !desc->function)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "cj_function_from_cuda: one of expression and function is to be given, not %s",
                        desc->expression ? "both" : "none");
    if (desc->function && !desc->source)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_function_from_cuda: source is NULL, where should '%s' be?",
                        desc->function);
    if (desc->expression && !desc->expression[strspn(desc->expression, " \t\n")])
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_function_from_cuda: %s is empty",
                        desc->name ? desc->name : "the expression");
    return cj__signature_check(&desc->signature, error);
}

cj_status cj_function_from_cuda(const cj_cuda_desc *desc, cj_user_function **function, cj_error *error) {
    cj_nvrtc nvrtc;
    char     oldest[16], what[160];
    if (!desc || !function) return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_function_from_cuda: an argument is 0");
    SIZED(cj_cuda_desc, desc);
    *function = NULL;
    cj_status status = check_desc(desc, error);
    if (!status) status = cj__nvrtc_open(&nvrtc, error);
    if (!status && !desc->arch) status = cj__cuda_oldest(&nvrtc, oldest, error);
    if (status) return status;
    cj_text text = {0};
    write_program(&text, desc);
    snprintf(what, sizeof what, "%s '%.120s'", desc->expression ? "the expression" : "the source of", name_of(desc));
    const cj_cuda_program program = {.text = text.data,
                                     .what = what,
                                     .arch = desc->arch ? desc->arch : oldest,
                                     .options = desc->options,
                                     .option_count = desc->option_count};
    status = text.failed ? cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while reading CUDA C")
                         : compile(desc, &nvrtc, &program, function, error);
    cj__text_free(&text);
    return status;
}

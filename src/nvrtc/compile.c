// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // secure_getenv
#include "compile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

static cj_status failed(const cj_nvrtc *nvrtc, int result, const char *call, cj_error *error) {
    cj_status status = result == CJ_NVRTC_OUT_OF_MEMORY ? CJ_OUT_OF_MEMORY : CJ_COMPILER;
    cj__fail(error, status, "nvrtc%s: %s (%d)", call, nvrtc->GetErrorString(result), result);
    if (error) error->driver_code = result;
    return status;
}

const char *cj__cuda_type(cj_dtype type) {
    static const char *const names[] = {
        [CJ_F32] = "float",       [CJ_F64] = "double",        [CJ_I8] = "signed char", [CJ_I16] = "short",
        [CJ_I32] = "int",         [CJ_I64] = "long long",     [CJ_U8] = "unsigned char",
        [CJ_U16] = "unsigned short", [CJ_U32] = "unsigned", [CJ_U64] = "unsigned long long"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : NULL;
}

// ---- the targets that NVRTC has

static bool has_headers(const char *root, char *path, size_t size) {
    char header[4096];
    int  length = snprintf(header, sizeof header, "%s/include/cuda_fp16.h", root);
    if (length < 0 || (size_t)length >= sizeof header || access(header, R_OK)) return false;
    length = snprintf(path, size, "%s/include", root);
    return length > 0 && (size_t)length < size;
}

bool cj__cuda_include(char *path, size_t size) {
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *root = secure_getenv(variables[i]);
        if (root && *root && has_headers(root, path, size)) return true;
    }
    return has_headers("/usr/local/cuda", path, size);
}

// The numbers of all targets, the oldest first; to be freed.
static cj_status list_archs(const cj_nvrtc *nvrtc, int **archs, int *count, cj_error *error) {
    int result = nvrtc->GetNumSupportedArchs(count);
    *archs = result ? NULL : calloc((size_t)*count + 1, sizeof **archs);
    if (result) return failed(nvrtc, result, "GetNumSupportedArchs", error);
    if (!*archs) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while asking NVRTC for its targets");
    result = nvrtc->GetSupportedArchs(*archs);
    if (!result) return CJ_OK;
    free(*archs);
    return failed(nvrtc, result, "GetSupportedArchs", error);
}

cj_status cj__cuda_oldest(const cj_nvrtc *nvrtc, char arch[16], cj_error *error) {
    int      *archs, count;
    cj_status status = list_archs(nvrtc, &archs, &count, error);
    if (status) return status;
    snprintf(arch, 16, "sm_%d", archs[0]);
    free(archs);
    return CJ_OK;
}

static cj_status check_arch(const cj_nvrtc *nvrtc, const char *arch, cj_error *error) {
    int      *archs, count, number = !strncmp(arch, "sm_", 3) ? atoi(arch + 3) : 0;
    cj_status status = list_archs(nvrtc, &archs, &count, error);
    if (status) return status;
    int i = 0;
    while (i < count && archs[i] != number) i++;
    if (i == count) {
        status = cj__fail(error, CJ_UNSUPPORTED, "arch: NVRTC does not compile for '%s'; it has sm_%d to sm_%d", arch,
                          archs[0], archs[count - 1]);
        cj__hint(error, "leave arch NULL for the oldest that it has, or use another NVRTC (CLUSTERJIT_NVRTC)");
    }
    free(archs);
    return status;
}

// ---- compiling

// The log from the line of its first error; warnings before it are left out.
static const char *first_error(const char *log) {
    const char *line = log;
    for (const char *at = log; *at; at++) {
        if (!strncmp(at, "error", 5) || !strncmp(at, "catastrophic error", 18)) return line;
        if (*at == '\n') line = at + 1;
    }
    return log;
}

static cj_status refused(const cj_nvrtc *nvrtc, cj_nvrtc_program handle, const cj_cuda_program *program,
                         cj_error *error) {
    size_t bytes = 0;
    char  *log = NULL;
    if (!nvrtc->GetProgramLogSize(handle, &bytes)) log = calloc(1, bytes + 1);
    if (!log || nvrtc->GetProgramLog(handle, log)) {
        free(log);
        return failed(nvrtc, CJ_NVRTC_COMPILATION, "CompileProgram", error);
    }
    const char *first = first_error(log);
    int         length = (int)strlen(first);
    while (length && first[length - 1] <= ' ') length--;
    cj__fail(error, CJ_COMPILER, "%s does not compile:\n%.*s", program->what, length, first);
    cj__hint(error, "correct the line above the caret; line numbers are the source's own");
    if (error) error->driver_code = CJ_NVRTC_COMPILATION;
    free(log);
    return CJ_COMPILER;
}

static cj_status get_ptx(const cj_nvrtc *nvrtc, cj_nvrtc_program handle, char **ptx, cj_error *error) {
    size_t bytes;
    int    result = nvrtc->GetPTXSize(handle, &bytes);
    if (result) return failed(nvrtc, result, "GetPTXSize", error);
    char *text = calloc(1, bytes + 1);
    if (!text) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory for %zu bytes of PTX", bytes);
    result = nvrtc->GetPTX(handle, text);
    if (!result) {
        *ptx = text;
        return CJ_OK;
    }
    free(text);
    return failed(nvrtc, result, "GetPTX", error);
}

cj_status cj__cuda_compile(const cj_nvrtc *nvrtc, const cj_cuda_program *program, char **ptx, cj_error *error) {
    enum { OWN = 4 };
    char        arch[48], include[4096], cccl[sizeof include + 8];
    const char *options[CJ_CUDA_OPTIONS_MAX + OWN] = {arch, "-rdc=true"};  // keeps functions that no kernel calls
    int         count = 2;
    *ptx = NULL;
    if (program->option_count > CJ_CUDA_OPTIONS_MAX)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%" PRIu32 " options are more than %d", program->option_count,
                        CJ_CUDA_OPTIONS_MAX);
    cj_status status = check_arch(nvrtc, program->arch, error);
    if (status) return status;
    snprintf(arch, sizeof arch, "--gpu-architecture=compute_%.20s", program->arch + strlen("sm_"));
    for (uint32_t i = 0; i < program->option_count; i++) options[count++] = program->options[i];
    memcpy(include, "-I", 2);
    if (cj__cuda_include(include + 2, sizeof include - 2)) {
        snprintf(cccl, sizeof cccl, "%s/cccl",
                 include);  // CUDA 13 has the headers that cooperative groups include there
        options[count++] = include;
        options[count++] = cccl;
    }

    cj_nvrtc_program handle;
    int              result = nvrtc->CreateProgram(&handle, program->text, "<clusterjit>", 0, NULL, NULL);
    if (result) return failed(nvrtc, result, "CreateProgram", error);
    result = nvrtc->CompileProgram(handle, count, options);
    if (result == CJ_NVRTC_COMPILATION)
        status = refused(nvrtc, handle, program, error);
    else if (result)
        status = failed(nvrtc, result, "CompileProgram", error);
    else
        status = get_ptx(nvrtc, handle, ptx, error);
    nvrtc->DestroyProgram(&handle);
    return status;
}

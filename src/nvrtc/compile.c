// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "compile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "entry_name.h"
#include "error.h"
#include "text.h"

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
        const char *root = cj__getenv(variables[i]);
        if (root && *root && has_headers(root, path, size)) return true;
    }
    return has_headers("/usr/local/cuda", path, size);
}

static void add_include(cj_cuda_includes *includes, const char *path) {
    char *option = includes->option[includes->count];
    if (includes->count == CJ_CUDA_INCLUDES || access(path, R_OK)) return;
    const int length = snprintf(option, sizeof includes->option[0], "-I%s", path);
    includes->count += length > 0 && (size_t)length < sizeof includes->option[0];
}

static bool is_included(const cj_cuda_includes *includes, const char *header) {
    for (unsigned i = 0; i < includes->count; i++) {
        char path[sizeof includes->option[0] + 32];
        snprintf(path, sizeof path, "%s/%s", includes->option[i] + 2, header);
        if (!access(path, R_OK)) return true;
    }
    return false;
}

// Beside the library, where a toolkit and the wheels of CUDA 13 have headers, or in the wheels beside its own, where those of
// CUDA 12 have them; what is not there, of the toolkit that the environment names. cccl: where CUDA 13 has what cooperative
// groups include, in a wheel of its own.
void cj__cuda_includes(const cj_nvrtc *nvrtc, cj_cuda_includes *includes) {
    static const char *const places[] = {"/../include", "/../include/cccl", "/../../cuda_runtime/include",
                                         "/../../cuda_cccl/include", "/../../cuda_cccl/include/cccl"};
    char                     home[512], path[1024];
    includes->count = 0;
    if (cj__nvrtc_directory(nvrtc, home, sizeof home)) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            snprintf(path, sizeof path, "%s%s", home, places[i]);
            add_include(includes, path);
        }
    }
    if (!cj__cuda_include(path, sizeof path - 8)) return;
    if (!is_included(includes, "cuda_fp16.h")) add_include(includes, path);
    if (!is_included(includes, "nv/target")) add_include(includes, strcat(path, "/cccl"));
}

// Numbers of all targets, the oldest first; to be freed.
static cj_status list_archs(const cj_nvrtc *nvrtc, int **archs, int *count, cj_error *error) {
    int result = nvrtc->GetNumSupportedArchs(count);
    *archs = result ? NULL : cj__calloc((size_t)*count + 1, sizeof **archs);
    if (result) return failed(nvrtc, result, "GetNumSupportedArchs", error);
    if (!*archs) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while asking NVRTC for its targets");
    result = nvrtc->GetSupportedArchs(*archs);
    if (!result) return CJ_OK;
    cj__free(*archs);
    return failed(nvrtc, result, "GetSupportedArchs", error);
}

cj_status cj__cuda_oldest(const cj_nvrtc *nvrtc, char arch[16], cj_error *error) {
    int      *archs, count;
    cj_status status = list_archs(nvrtc, &archs, &count, error);
    if (status) return status;
    snprintf(arch, 16, "sm_%d", archs[0]);
    cj__free(archs);
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
    cj__free(archs);
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

static const char *remedy(const char *log, bool is_text) {
    if (!is_text) return "correct the options: NVRTC's are those of nvcc that concern device code";
    if (strstr(log, "open source file"))
        return "name the header's folder with -I; NVRTC has no headers of the host: a whole program, with its main, is built by "
               "'nvcc -cudart shared -lineinfo' and started by 'ptxgen run-program'";
    return "correct the line above the caret; line numbers are the source's own";
}

static cj_status refused(const cj_nvrtc *nvrtc, cj_nvrtc_program handle, const cj_cuda_program *program, int result,
                         cj_error *error) {
    size_t bytes = 0;
    char  *log = NULL;
    if (!nvrtc->GetProgramLogSize(handle, &bytes)) log = cj__calloc(1, bytes + 1);
    if (!log || nvrtc->GetProgramLog(handle, log)) {
        cj__free(log);
        return failed(nvrtc, result, "CompileProgram", error);
    }
    const char *first = first_error(log);
    int         length = (int)strlen(first);
    while (length && first[length - 1] <= ' ') length--;
    cj__fail(error, CJ_COMPILER, "%s does not compile:\n%.*s", program->what, length, first);
    cj__hint(error, "%s", remedy(first, result == CJ_NVRTC_COMPILATION));
    if (error) error->driver_code = result;
    cj__free(log);
    return CJ_COMPILER;
}

// "// cuda-name: _Z6kernelIfLi4EEvPf = kernel<float, 4>" for each name, a line each.
static cj_status put_names(const cj_nvrtc *nvrtc, cj_nvrtc_program handle, const cj_cuda_program *program, cj_text *ptx,
                           cj_error *error) {
    for (uint32_t i = 0; i < program->name_count; i++) {
        const char *lowered;
        const int   result = nvrtc->GetLoweredName(handle, program->names[i], &lowered);
        if (result) return failed(nvrtc, result, "GetLoweredName", error);
        cj__entry_name_put(ptx, lowered, program->names[i]);
    }
    return CJ_OK;
}

static cj_status get_ptx(const cj_nvrtc *nvrtc, cj_nvrtc_program handle, const cj_cuda_program *program, char **ptx,
                         cj_error *error) {
    size_t    bytes;
    cj_text   text = {0};
    int       result = nvrtc->GetPTXSize(handle, &bytes);
    cj_status status = result ? failed(nvrtc, result, "GetPTXSize", error)
                              : put_names(nvrtc, handle, program, &text, error);
    char     *made = status ? NULL : cj__calloc(1, text.length + bytes + 1);
    if (!status && (!made || text.failed))
        status = cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory for %zu bytes of PTX", bytes);
    if (!status && text.length) memcpy(made, text.data, text.length);
    if (!status && (result = nvrtc->GetPTX(handle, made + text.length)) != CJ_NVRTC_SUCCESS)
        status = failed(nvrtc, result, "GetPTX", error);
    cj__text_free(&text);
    if (status)
        cj__free(made);
    else
        *ptx = made;
    return status;
}

static cj_status run_compiler(const cj_nvrtc *nvrtc, const cj_cuda_program *program, const char *const *options,
                              int count, char **ptx, cj_error *error) {
    cj_nvrtc_program handle;
    cj_status        status;
    int result = nvrtc->CreateProgram(&handle, program->text, program->file ? program->file : "<clusterjit>", 0, NULL,
                                      NULL);
    if (result) return failed(nvrtc, result, "CreateProgram", error);
    for (uint32_t i = 0; !result && i < program->name_count; i++)
        result = nvrtc->AddNameExpression(handle, program->names[i]);
    if (!result) result = nvrtc->CompileProgram(handle, count, options);
    if (result == CJ_NVRTC_COMPILATION || result == CJ_NVRTC_INVALID_OPTION)
        status = refused(nvrtc, handle, program, result, error);
    else if (result)
        status = failed(nvrtc, result, "CompileProgram", error);
    else
        status = get_ptx(nvrtc, handle, program, ptx, error);
    nvrtc->DestroyProgram(&handle);
    return status;
}

cj_status cj__cuda_compile(const cj_nvrtc *nvrtc, const cj_cuda_program *program, char **ptx, cj_error *error) {
    enum { OWN = 2 };
    char             arch[48];
    cj_cuda_includes includes;
    const char      *options[OWN + CJ_CUDA_OPTIONS_MAX + CJ_CUDA_INCLUDES] = {arch, program->is_module ? "-lineinfo"
                                                                                                       : "-rdc=true"};
    int              count = OWN;
    *ptx = NULL;
    if (program->option_count > CJ_CUDA_OPTIONS_MAX)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%" PRIu32 " options are more than %d", program->option_count,
                        CJ_CUDA_OPTIONS_MAX);
    cj_status status = check_arch(nvrtc, program->arch, error);
    if (status) return status;
    snprintf(arch, sizeof arch, "--gpu-architecture=compute_%.20s", program->arch + strlen("sm_"));
    for (uint32_t i = 0; i < program->option_count; i++) options[count++] = program->options[i];
    cj__cuda_includes(nvrtc, &includes);
    for (uint32_t i = 0; i < includes.count; i++) options[count++] = includes.option[i];
    return run_compiler(nvrtc, program, options, count, ptx, error);
}

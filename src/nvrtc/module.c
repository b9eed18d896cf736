// SPDX-License-Identifier: Apache-2.0
// Modules of kernels in CUDA C++: source -> PTX.
#include "system.h"

#include <clusterjit/nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "compile.h"
#include "error.h"
#include "include_key.h"
#include "sized.h"

// All that decides about the PTX, a line each, an empty one, the text. The compiler makes the file's name absolute.
static bool write_key(cj_text *key, const cj_nvrtc *nvrtc, const cj_cuda_program *program) {
    int   major = 0, minor = 0;
    char *here = *program->file == '/' ? NULL : getcwd(NULL, 0);
    nvrtc->Version(&major, &minor);
    cj__text_printf(key, "clusterjit %s\ncompiler NVRTC %d.%d -lineinfo", cj_version(), major, minor);
    for (uint32_t i = 0; i < program->option_count; i++) cj__text_printf(key, "\noption %s", program->options[i]);
    cj__text_printf(key, "\ntarget %s\nentry %s\nfile %s/%s\n", program->arch, program->file, here ? here : "",
                    program->file);
    for (uint32_t i = 0; i < program->name_count; i++) cj__text_printf(key, "name %s\n", program->names[i]);
    free(here);  // the C library's
    if (!cj__cuda_key_includes(key, nvrtc, program)) return false;
    cj__text_printf(key, "\n%s", program->text);
    return !key->failed;
}

static bool get_kept(cj_disk *disk, const cj_text *key, char **ptx) {
    char  *kept;
    size_t length;
    if (!disk || !cj__disk_get(disk, key->data, key->length, &kept, &length)) return false;
    *ptx = cj__realloc(kept, length, length + 1);
    if (*ptx)
        (*ptx)[length] = '\0';
    else
        cj__free(kept);
    return *ptx;
}

static cj_status make(const cj_nvrtc *nvrtc, const cj_cuda_program *program, char **ptx, cj_error *error) {
    cj_text   key = {0};
    cj_disk  *disk = write_key(&key, nvrtc, program) ? cj__cuda_disk() : NULL;
    cj_status status = CJ_OK;
    if (!get_kept(disk, &key, ptx)) {
        status = cj__cuda_compile(nvrtc, program, ptx, error);
        if (!status && disk) cj__disk_put(disk, key.data, key.length, *ptx, strlen(*ptx));
    }
    cj__disk_close(disk);
    cj__text_free(&key);
    return status;
}

cj_status cj_ptx_from_cuda(const cj_cuda_source *source, char **ptx, size_t *length, cj_error *error) {
    cj_nvrtc nvrtc;
    char     oldest[16], what[160];
    if (!source || !ptx) return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_ptx_from_cuda: an argument is 0");
    SIZED(cj_cuda_source, source);
    *ptx = NULL;
    if (!source->text) return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_ptx_from_cuda: text is NULL");
    for (uint32_t i = 0; i < source->name_count; i++)
        if (!source->names || !source->names[i] || !source->names[i][strspn(source->names[i], " \t\n")])
            return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_ptx_from_cuda: name expression %u is empty", i);
    cj_status status = cj__nvrtc_open(&nvrtc, error);
    if (!status && !source->arch) status = cj__cuda_oldest(&nvrtc, oldest, error);
    if (status) return status;
    const char *file = source->name && *source->name ? source->name : "<source>";
    snprintf(what, sizeof what, "'%.150s'", file);
    const cj_cuda_program program = {.text = source->text,
                                     .what = what,
                                     .arch = source->arch ? source->arch : oldest,
                                     .options = source->options,
                                     .option_count = source->option_count,
                                     .file = file,
                                     .is_module = true,
                                     .names = source->names,
                                     .name_count = source->name_count};
    status = make(&nvrtc, &program, ptx, error);
    if (!status && length) *length = strlen(*ptx);
    return status;
}

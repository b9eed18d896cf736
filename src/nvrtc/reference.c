// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compile.h"
#include "error.h"

extern const char cj__reference_reduce[];

static const struct {
    const char *family, *source;
} references[] = {
    {"reduce", cj__reference_reduce},
};

static const char *source_of(const char *family) {
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (!strcmp(references[i].family, family)) return references[i].source;
    return NULL;
}

cj_status cj__reference_compile(const char *family, const char *arch, cj_dtype type, const char *op,
                                const char *identity, uint32_t cluster, char **ptx, cj_error *error) {
    char        what[64], defines[4][160];
    const char *options[] = {defines[0], defines[1], defines[2], defines[3]};
    cj_nvrtc    nvrtc;
    const char *source = source_of(family);
    if (!source) return cj__fail(error, CJ_INVALID_ARGUMENT, "the family '%s' has no reference in CUDA C++", family);
    if (!cj__cuda_type(type))
        return cj__fail(error, CJ_INVALID_ARGUMENT, "the references compute in no type '%s'", cj_dtype_name(type));
    cj_status status = cj__nvrtc_open(&nvrtc, error);
    if (status) return status;
    snprintf(what, sizeof what, "the reference of '%.32s'", family);
    snprintf(defines[0], sizeof *defines, "-DCJ_TYPE=%s", cj__cuda_type(type));
    snprintf(defines[1], sizeof *defines, "-DCJ_OP=%s", op);
    snprintf(defines[2], sizeof *defines, "-DCJ_IDENTITY=%s", identity);
    snprintf(defines[3], sizeof *defines, "-DCJ_CLUSTER=%" PRIu32, cluster);
    const cj_cuda_program program = {.text = source, .what = what, .arch = arch, .options = options, .option_count = 4};
    return cj__cuda_compile(&nvrtc, &program, ptx, error);
}

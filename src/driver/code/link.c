// SPDX-License-Identifier: Apache-2.0
// The linker: it makes one PTX text of several, and hands it out as if it were machine code.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"
#include "module.h"

typedef struct cj_link {
    cj_object base;
    cj_jit    jit;
    char     *ptx;
    size_t    length;
    unsigned  inputs;
} cj_link;

static void release_link(void *object) {
    free(((cj_link *)object)->ptx);
    free(object);
}

CUresult cuLinkCreate_v2(unsigned count, CUjit_option *option, void **value, CUlinkState *result) {
    ENTER(CJ_NEED_CONTEXT);
    cj_jit jit;
    REQUIRE(result);
    TRY(cj__jit_read(&jit, count, option, value));
    cj_link *made = cj__object_new(CJ_LINK, sizeof *made, cj__current(), release_link);
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    made->jit = jit;
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

// The linker's text with another one, which becomes the linker's.
static CUresult join(cj_link *link, char *text, size_t length) {
    char     name[40];
    char    *linked = NULL;
    cj_error error = {0};
    link->inputs++;
    if (!link->ptx) {
        link->ptx = text;
        link->length = length;
        return CUDA_SUCCESS;
    }
    snprintf(name, sizeof name, "input %u", link->inputs);
    const cj_status status = cj__fatbin_link((const char *const[]){link->ptx, text},
                                             (const char *const[]){"the inputs before", name}, 2, &linked, &error);
    free(text);
    if (status) return cj__refuse_error(&error);
    free(link->ptx);
    link->ptx = linked;
    link->length = strlen(linked);
    return CUDA_SUCCESS;
}

static CUresult add(CUlinkState given, CUjitInputType type, const void *data, size_t bytes) {
    static const char *const names[] = {"machine code", "PTX", "a fat binary", "an object file", "a library", "NVVM"};
    cj_link                 *link = cj__object_find(CJ_LINK, given);
    if (!link) return cj__refuse_handle(CJ_LINK, given);
    if (!data || !bytes) return cj__refuse_null("data");
    if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) {
        const bool known = (unsigned)type < sizeof names / sizeof *names;
        return cj__refuse(known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE,
                          "%s cannot be linked here: the CPU device takes PTX",
                          known ? names[type] : "an unknown input");
    }
    char *copy = malloc(bytes + 1);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, bytes);
    copy[bytes] = 0;
    char          *text = NULL;
    size_t         length = 0;
    const CUresult code = cj__image_read(copy, bytes, &text, &length);
    free(copy);
    return code ? code : join(link, text, length);
}

CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t bytes, const char *name,
                          unsigned count, CUjit_option *option, void **value) {
    ENTER(CJ_NEED_CONTEXT);
    cj_jit jit;
    (void)name;
    TRY(cj__jit_read(&jit, count, option, value));
    LEAVE(add(link, type, data, bytes));
}

CUresult cuLinkAddFile_v2(CUlinkState link, CUjitInputType type, const char *path, unsigned count, CUjit_option *option,
                          void **value) {
    ENTER(CJ_NEED_CONTEXT);
    cj_jit jit;
    char  *data = NULL;
    size_t length = 0;
    REQUIRE(path);
    TRY(cj__jit_read(&jit, count, option, value));
    TRY(cj__file_read(path, &data, &length));
    const CUresult code = add(link, type, data, length);
    free(data);
    LEAVE(code);
}

// The text lives as long as the linker.
CUresult cuLinkComplete(CUlinkState given, void **image, size_t *bytes) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(image);
    FIND(cj_link, link, CJ_LINK, given);
    if (!link->ptx) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "nothing was added to the linker"));
    cj__jit_tell(&link->jit, NULL);
    *image = link->ptx;
    if (bytes) *bytes = link->length + 1;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuLinkDestroy(CUlinkState given) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_link, link, CJ_LINK, given);
    cj__object_destroy(link);
    LEAVE(CUDA_SUCCESS);
}

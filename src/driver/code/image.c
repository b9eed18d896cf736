// SPDX-License-Identifier: Apache-2.0
// What programs hand to be loaded: PTX, a file, a fat binary; and the compiler's options.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"
#include "module.h"

CUresult cj__file_read(const char *path, char **data, size_t *length) {
    FILE      *file = fopen(path, "rb");
    const long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    char      *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (text) {
        rewind(file);
        *length = fread(text, 1, (size_t)bytes, file);
        text[*length] = 0;
    }
    const int reason = errno;
    if (file) fclose(file);
    if (!text) return cj__refuse(CUDA_ERROR_FILE_NOT_FOUND, "%s cannot be read: %s", path, strerror(reason));
    *data = text;
    return CUDA_SUCCESS;
}

static CUresult refuse_machine_code(void) {
    cj__refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "the image is machine code (a cubin), and the CPU device executes PTX");
    cj__hint("compile with -gencode arch=compute_90,code=compute_90, or hand over the PTX");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult read_fatbin(const void *image, size_t size, char **text, size_t *length) {
    cj__fatbin_text found = {0};
    cj_error        error = {0};
    const cj_status status = cj__fatbin_ptx(image, size, cj__driver.gpu[0].limits, &found, &error);
    if (status) {
        cj__refuse_error(&error);
        if (status == CJ_UNSUPPORTED) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        return status == CJ_FILE ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *text = found.ptx;
    *length = found.length;
    return CUDA_SUCCESS;
}

CUresult cj__image_read(const void *image, size_t size, char **text, size_t *length) {
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    const unsigned char       *bytes = image;
    if (!image) return cj__refuse_null("image");
    if (!*bytes) return cj__refuse(CUDA_ERROR_INVALID_IMAGE, "the image is empty");
    if (bytes[0] == elf[0] && !memcmp(bytes, elf, sizeof elf)) return refuse_machine_code();
    if (cj__fatbin_is(image, size)) return read_fatbin(image, size, text, length);
    *length = strlen(image);
    *text = malloc(*length + 1);
    if (!*text) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(*text, image, *length + 1);
    return CUDA_SUCCESS;
}

// ---- options
//
// An option's value is the pointer itself: a number cast to it, or an address.

static size_t number_in(void *value) { return (unsigned)(uintptr_t)value; }

CUresult cj__jit_read(cj_jit *jit, unsigned count, const CUjit_option *option, void **value) {
    *jit = (cj_jit){0};
    if (count && (!option || !value)) return cj__refuse_null("options");
    for (unsigned i = 0; i < count; i++) {
        switch (option[i]) {
        case CU_JIT_ERROR_LOG_BUFFER: jit->error_log = value[i]; break;
        case CU_JIT_INFO_LOG_BUFFER: jit->info_log = value[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error_bytes = number_in(value[i]);
            jit->error_used = &value[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info_bytes = number_in(value[i]);
            jit->info_used = &value[i];
            break;
        case CU_JIT_WALL_TIME: jit->wall_time = &value[i]; break;
        default:
            // The others say how to make machine code.
            if ((unsigned)option[i] >= CU_JIT_NUM_OPTIONS)
                return cj__refuse(CUDA_ERROR_INVALID_VALUE, "JIT option %d is not known", (int)option[i]);
        }
    }
    return CUDA_SUCCESS;
}

// SPDX-License-Identifier: Apache-2.0
#include "run_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "message.h"
#include "npy.h"
#include "output.h"

static const char suffix[] = ".npy";

// The length of the name without .npy; 0 if it has another suffix.
static size_t stem_of(const char *path) {
    const size_t length = strlen(path), all = sizeof suffix - 1;
    return length > all && !strcmp(path + length - all, suffix) ? length - all : 0;
}

int run_output_check(const char *path) {
    if (stem_of(path)) return output_check(path);
    return message_error(CJ_INVALID_ARGUMENT, "--output '%s' does not end in %s\nresults are written as .npy files",
                         path, suffix);
}

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the file of the results"); }

static uint64_t count_of(const workload_output *o) {
    uint64_t count = 1;
    for (unsigned i = 0; i < o->dims; i++) count *= o->extent[i];
    return count;
}

// The bytes from the first element to the end of the last one.
static uint64_t span_of(const workload_output *o) {
    uint64_t span = 1;
    for (unsigned i = 0; i < o->dims; i++) span += (o->extent[i] - 1) * o->stride[i];
    return span;
}

// Copies rows of the innermost dimension, one after the other, converted to the file's type.
static void gather(const workload_output *o, const unsigned char *from, unsigned char *to) {
    const cj_dtype told = npy_type(o->type);
    const size_t   size = cj_dtype_size(o->type), told_size = cj_dtype_size(told);
    const uint64_t width = o->dims ? o->extent[o->dims - 1] : 1, step = o->dims ? o->stride[o->dims - 1] : 1;
    const uint64_t rows = width ? count_of(o) / width : 0;
    uint64_t       at[WORKLOAD_DIMS] = {0};
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t begin = 0;
        for (unsigned i = 0; i + 1 < o->dims; i++) begin += at[i] * o->stride[i];
        for (uint64_t k = 0; k < width; k++, to += told_size) {
            const unsigned char *element_at = from + (begin + k * step) * size;
            element              wide;
            if (told == o->type) {
                memcpy(to, element_at, size);
                continue;
            }
            element_widen(o->type, element_at, 1, &wide);
            element_narrow(told, &wide, 1, to);
        }
        for (unsigned i = o->dims ? o->dims - 1 : 0; i-- > 0 && ++at[i] == o->extent[i];) at[i] = 0;
    }
}

static int write_array(const workload *w, const workload_output *o, const char *path) {
    const size_t   bytes = (size_t)span_of(o) * cj_dtype_size(o->type);
    const size_t   told = (size_t)count_of(o) * cj_dtype_size(npy_type(o->type));
    unsigned char *raw = malloc(bytes), *file = malloc(NPY_HEADER + told);
    cj_error       error;
    int            code = raw && file ? CODE_OK : no_memory();
    if (!code && cj_mem_read(w->device, raw, o->at, bytes, NULL, &error)) code = message_failure(&error);
    if (!code) {
        const size_t header = npy_write_header(npy_type(o->type), o->dims, o->extent, (char *)file);
        gather(o, raw, file + header);
        code = output_save(path, (const char *)file, header + told);
    }
    free(raw);
    free(file);
    return code;
}

int run_output_write(const workload *w, const cj_kernel *kernel, const char *path) {
    workload_output list[WORKLOAD_OUTPUTS];
    const unsigned  count = w->type->outputs(w, kernel, list);
    const size_t    size = strlen(path) + 64;
    char           *name = malloc(size);
    int             code = name ? write_array(w, &list[0], path) : no_memory();
    for (unsigned i = 1; !code && i < count; i++) {
        snprintf(name, size, "%.*s.%.40s%s", (int)stem_of(path), path, list[i].name, suffix);
        code = write_array(w, &list[i], name);
    }
    free(name);
    return code;
}

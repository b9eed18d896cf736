// SPDX-License-Identifier: Apache-2.0
// Modules and what is in them: functions and variables. Named as the handles' types are: CUmod_st, CUfunc_st.
#ifndef CJ_DRIVER_MODULE_H
#define CJ_DRIVER_MODULE_H

#include <clusterjit/check.h>

#include "driver.h"

typedef struct cj_mod {
    cj_object      base;
    cj_context    *context;
    cj_module     *module;
    char          *ptx;
    size_t         length;
    const char   **entry;  // names of its kernels, the module's
    size_t         entries;
    cj_source_map *map;      // made by the first finding; NULL: not yet
    bool           library;  // it is a library's, and ends with it
    uint64_t       number;   // of the process's modules, in the report
    bool           told;     // the report has the PTX
} cj_mod;

typedef struct cj_fun {
    cj_object    base;
    cj_mod      *mod;
    cj_function *code;                              // NULL: not prepared yet
    const char  *name;                              // the module's
    int          attribute[CU_FUNC_ATTRIBUTE_MAX];  // those that can be set
} cj_fun;

// What the compiler's options ask for, and where its log goes.
typedef struct cj_jit {
    char  *error_log, *info_log;
    size_t error_bytes, info_bytes;
    void **error_used, **info_used;  // where the bytes that were written are told; NULL: nowhere
    void **wall_time;
} cj_jit;

CUresult cj__jit_read(cj_jit *jit, unsigned count, const CUjit_option *option, void **value);
void     cj__jit_tell(const cj_jit *jit, const cj_error *error);  // writes the logs; NULL: no error

// Finds the PTX in an image: PTX itself, NUL-terminated, or a fat binary. `size` bounds what is read of a fat binary; 0: its
// header is believed. `*text` is the caller's to free.
CUresult cj__image_read(const void *image, size_t size, char **text, size_t *length);
CUresult cj__file_read(const char *path, char **data, size_t *length);

// Loads a text, which becomes the module's.
CUresult cj__mod_new(cj_context *context, char *text, size_t length, const cj_jit *jit, cj_mod **made);
CUresult cj__mod_function(cj_mod *mod, const char *name, cj_fun **fun);
CUresult cj__mod_global(cj_mod *mod, const char *name, CUdeviceptr *address, size_t *bytes);

// Ends the module's handle and those of its functions.
void cj__mod_destroy(cj_mod *mod);

// Makes the function ready to be launched or asked.
CUresult cj__fun_prepare(cj_fun *fun);

// What a function is asked and told.
CUresult cj__fun_param(const cj_fun *fun, size_t index, size_t *offset, size_t *bytes);
CUresult cj__fun_get(const cj_fun *fun, CUfunction_attribute attribute, int *value);
CUresult cj__fun_set(cj_fun *fun, CUfunction_attribute attribute, int value);

// The place in the source of a line of the module's PTX; NULL: the text does not say it.
const cj_source *cj__mod_source(cj_mod *mod, unsigned line);

#endif

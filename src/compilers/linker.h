// SPDX-License-Identifier: Apache-2.0
// What a program gave to a linker of nvJitLink, and the PTX that is handed out as its result.
#ifndef CJ_COMPILERS_LINKER_H
#define CJ_COMPILERS_LINKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// nvJitLinkInputType and nvJitLinkResult, as far as they matter here.
enum {
    CJ_LINK_CUBIN = 1,
    CJ_LINK_PTX,
    CJ_LINK_LTOIR,
    CJ_LINK_FATBIN,
    CJ_LINK_OBJECT,
    CJ_LINK_LIBRARY,
    CJ_LINK_ANY = 10
};
enum { CJ_LINK_SUCCESS = 0, CJ_LINK_INTERNAL = 6 };

typedef struct cj_jitlink *cj_jitlink;  // NVIDIA's handle

// The functions of the real library that a second link takes.
typedef struct cj_link_calls {
    int (*create)(cj_jitlink *, uint32_t, const char **);
    int (*destroy)(cj_jitlink *);
    int (*add)(cj_jitlink, int, const void *, size_t, const char *);
    int (*complete)(cj_jitlink);
    int (*ptx_size)(cj_jitlink, size_t *);
    int (*ptx)(cj_jitlink, char *);
    int (*log_size)(cj_jitlink, size_t *);
    int (*log)(cj_jitlink, char *);
} cj_link_calls;

typedef struct cj_link_input {
    int    type;
    char  *bytes, *name;  // the bytes end with a NUL
    size_t size;
} cj_link_input;

typedef struct cj_linker {
    struct cj_linker *next;
    cj_jitlink        handle;
    char            **options;
    uint32_t          option_count;
    cj_link_input    *input;
    size_t            input_count;
    char             *linked;   // the result as PTX; NULL: there is none
    char             *failure;  // why there is none: the linker's error log; NULL: nothing failed here
} cj_linker;

// Copies the options. NULL: out of memory.
cj_linker *cj__linker_create(cj_jitlink handle, uint32_t count, const char *const *options);
void       cj__linker_free(cj_linker *l);  // NULL is allowed
bool       cj__linker_has(const cj_linker *l, const char *option);

// What the bytes are, whatever type the program gave them: PTX where machine code is wanted is what NVRTC handed out.
int cj__linker_type(int type, const void *bytes, size_t size);

// Copies an input. False: out of memory.
bool cj__linker_add(cj_linker *l, int type, const void *bytes, size_t size, const char *name);

// After the real link has succeeded: makes l->linked, or l->failure; false for the latter.
bool cj__linker_make(cj_linker *l, const cj_link_calls *calls);

#endif

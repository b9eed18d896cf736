// SPDX-License-Identifier: Apache-2.0
// What the typed calls of all families share: from a description to parameters, to a handle, and to the kernel of a
// one-call function. What is left to a family: its description as parameters, its key, its checks and its arguments.
#ifndef CJ_LAUNCH_CALL_H
#define CJ_LAUNCH_CALL_H

#include <clusterjit/kernel.h>
#include <stddef.h>
#include <string.h>

#include "keep.h"

// Writes a family's description as its parameters. INVALID_ARGUMENT names the field.
typedef cj_status (*cj_call_describe)(const void *desc, cj_params *params, cj_error *error);

// All defaults of the family of that name.
cj_status cj__call_family(cj_params *params, const char *family, cj_error *error);

// A parameter by name: a number, where 0 leaves the default; the same of blocks a cluster, where UINT32_MAX says none; a real
// number; a type; one of the words, by its index.
cj_status cj__call_number(cj_params *params, const char *name, uint64_t value, cj_error *error);
cj_status cj__call_cluster(cj_params *params, uint32_t cluster, cj_error *error);
cj_status cj__call_real(cj_params *params, const char *name, double value, cj_error *error);
cj_status cj__call_dtype(cj_params *params, const char *name, cj_dtype type, cj_error *error);
cj_status cj__call_word(cj_params *params, const char *name, const char *const *words, size_t count, unsigned value,
                        cj_error *error);

#define WORDS(array) (array), sizeof(array) / sizeof *(array)  // of cj__call_word

// An array of a launch that is not there or not a multiple of `align` bytes, a power of two, by name: on a device it would
// be a fault that stays. `hint`: what to do about the alignment, or NULL.
cj_status cj__call_refuse_array(const char *name, cj_ptr array, uint32_t align, const char *hint, cj_error *error);

static inline cj_status cj__call_array(const char *name, cj_ptr array, uint32_t align, const char *hint,
                                       cj_error *error) {
    return array && !(array & (align - 1)) ? CJ_OK : cj__call_refuse_array(name, array, align, hint, error);
}

// Bytes that all addresses are multiples of, where a description says `align`; 0: 16. At least an element's.
uint32_t cj__call_align(uint32_t align, cj_dtype type);

// ---- handles

// What every handle begins with. A copy of its description is behind; what that points to may be gone.
typedef struct cj_call {
    cj_kernel *kernel;
    cj_device *device;
} cj_call;

// A handle with a copy of the `bytes` of the description; NULL where it fails. cj__call_destroy takes NULL.
cj_status cj__call_create(cj_device *device, cj_call_describe describe, const void *desc, size_t bytes, void **handle,
                          cj_error *error);
void      cj__call_destroy(void *handle);

// The handle of the typed call `noun`, such as cj_reduce, and the public functions that are alike for all: noun_create,
// noun_destroy and noun_kernel. The file's own `describe` reads a noun_desc.
#define CALL_HANDLE(noun)                                                                                      \
    struct noun {                                                                                              \
        cj_call     call;                                                                                      \
        noun##_desc desc;                                                                                      \
    };                                                                                                         \
    _Static_assert(offsetof(struct noun, desc) == sizeof(cj_call), "the description is where the copy is");    \
    cj_status noun##_create(cj_device *device, const noun##_desc *desc, struct noun **made, cj_error *error) { \
        REQUIRE(device);                                                                                       \
        REQUIRE(desc);                                                                                         \
        REQUIRE(made);                                                                                         \
        void     *handle;                                                                                      \
        cj_status status = cj__call_create(device, describe, desc, sizeof *desc, &handle, error);              \
        *made = handle;                                                                                        \
        return status;                                                                                         \
    }                                                                                                          \
    void             noun##_destroy(struct noun *made) { cj__call_destroy(made); }                             \
    const cj_kernel *noun##_kernel(const struct noun *made) { return made ? made->call.kernel : NULL; }

// ---- one-call functions

// What the kernel of a one-call function depends on: a structure of the family's own, declared `struct CALL_KEY`. All
// its bytes are compared, so it has no padding.
#define CALL_KEY __attribute__((packed))

// Fields of a key that are narrower than the description's: the most that they hold stands for all beyond, of which no
// kernel is ever made.
static inline uint8_t  cj__call_u8(uint64_t value) { return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX; }
static inline uint32_t cj__call_u32(uint64_t value) { return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX; }

// As cj__call_kernel, of the whole key.
cj_status cj__call_find(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                        cj_stream stream, cj_kernel **kernel, cj_error *error);

// What all keys begin with. No two families describe with the same function.
typedef struct cj_call_key {
    cj_call_describe describe;
    cj_stream_id     on;
} cj_call_key;

enum { CALL_KEY_BYTES = CJ_WARM_KEY - sizeof(cj_call_key) };  // that are left for a family

// The kernel of a description with that key: found without a lock or an allocation, or, at the first call, made for
// launches on the stream and kept.
static inline cj_status cj__call_kernel(cj_device *device, cj_call_describe describe, const void *desc, const void *key,
                                        size_t bytes, cj_stream stream, cj_kernel **kernel, cj_error *error) {
    const cj_call_key common = {describe, cj__stream_id(stream)};
    cj_warm_key       whole = {{0}};
    memcpy(whole.bytes, &common, sizeof common);
    memcpy(whole.bytes + sizeof common, key, bytes);
    return cj__call_find(device, &whole, describe, desc, stream, kernel, error);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// What the typed calls of all families share: the way from a description to parameters, to a handle, and to the kernel
// of a one-call function. A family adds its description as parameters, its key, its checks and its arguments.
#ifndef CJ_LAUNCH_CALL_H
#define CJ_LAUNCH_CALL_H

#include <clusterjit/kernel.h>
#include <stddef.h>
#include <string.h>

#include "keep.h"
#include "sized.h"

// Writes a family's description as parameters. INVALID_ARGUMENT names the field.
typedef cj_status (*cj_call_describe)(const void *desc, cj_params *params, cj_error *error);

// Sets all parameters to the defaults of the family with that name.
cj_status cj__call_family(cj_params *params, const char *family, cj_error *error);

// Set a parameter by name: to a number, where 0 keeps the family's default, so only for parameters whose default is that of the
// header; to a number where 0 stands for `none`; to a number that must be given, else there is nothing to `purpose`; to blocks a
// cluster, where 0 keeps the default and UINT32_MAX means no cluster; to a real number; to a type; to one of the words, by its index.
cj_status cj__call_number(cj_params *params, const char *name, uint64_t value, cj_error *error);
cj_status cj__call_number_or(cj_params *params, const char *name, uint64_t value, uint64_t none, cj_error *error);
cj_status cj__call_extent(cj_params *params, const char *name, uint64_t value, const char *purpose, cj_error *error);
cj_status cj__call_cluster(cj_params *params, uint32_t cluster, cj_error *error);
cj_status cj__call_real(cj_params *params, const char *name, double value, cj_error *error);
cj_status cj__call_dtype(cj_params *params, const char *name, cj_dtype type, cj_error *error);
cj_status cj__call_word(cj_params *params, const char *name, const char *const *words, size_t count, unsigned value,
                        cj_error *error);

#define WORDS(array) (array), sizeof(array) / sizeof *(array)  // arguments of cj__call_word

// Refuses, by name, an array of a launch that is 0 or not a multiple of `align` bytes, a power of two: on a device it
// would cause a fault that destroys the context. `hint`: what to do about the alignment, or NULL.
cj_status cj__call_refuse_array(const char *name, cj_ptr array, uint32_t align, const char *hint, cj_error *error);

static inline cj_status cj__call_array(const char *name, cj_ptr array, uint32_t align, const char *hint,
                                       cj_error *error) {
    return array && !(array & (align - 1)) ? CJ_OK : cj__call_refuse_array(name, array, align, hint, error);
}

// The bytes that all addresses are multiples of, by a description's `align`; 0: 16. At least an element's.
uint32_t cj__call_align(uint32_t align, cj_dtype type);

// ---- handles

// The head of every handle. A copy of its description follows; arrays that the description points to may have been
// freed.
typedef struct cj_call {
    cj_kernel *kernel;
    cj_device *device;
} cj_call;

// A handle with a copy of the description's `bytes`; NULL if it fails. cj__call_destroy accepts NULL.
cj_status cj__call_create(cj_device *device, cj_call_describe describe, const void *desc, size_t bytes, void **handle,
                          cj_error *error);
void      cj__call_destroy(void *handle);

// The handle of the typed call `noun`, such as cj_reduce, and the public functions that are the same for all:
// noun_create, noun_destroy and noun_kernel. The file's own `describe` reads a noun_desc.
#define CALL_HANDLE(noun)                                                                                      \
    struct noun {                                                                                              \
        cj_call     call;                                                                                      \
        noun##_desc desc;                                                                                      \
    };                                                                                                         \
    _Static_assert(offsetof(struct noun, desc) == sizeof(cj_call), "the description is where the copy is");    \
    cj_status noun##_create(cj_device *device, const noun##_desc *desc, struct noun **made, cj_error *error) { \
        REQUIRE(device);                                                                                       \
        SIZED(noun##_desc, desc);                                                                              \
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

// Fields of a key are narrower than the description's. Their greatest value stands for all values beyond it, for which
// no kernel exists.
static inline uint8_t  cj__call_u8(uint64_t value) { return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX; }
static inline uint32_t cj__call_u32(uint64_t value) { return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX; }

// Does what cj__call_kernel does, for the whole key.
cj_status cj__call_find(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                        cj_stream stream, cj_kernel **kernel, cj_error *error);

// The head of all keys. The function distinguishes the families: no two share one.
typedef struct cj_call_key {
    cj_call_describe describe;
    cj_stream_id     on;
} cj_call_key;

enum { CALL_KEY_BYTES = CJ_WARM_KEY - sizeof(cj_call_key) };  // that the family may use

// The kernel of a description with that key: found without a lock or an allocation; the first call makes it, for
// launches on the stream, and keeps it.
static inline cj_status cj__call_kernel(cj_device *device, cj_call_describe describe, const void *desc, const void *key,
                                        size_t bytes, cj_stream stream, cj_kernel **kernel, cj_error *error) {
    const cj_call_key common = {describe, cj__stream_id(stream)};
    cj_warm_key       whole = {{0}};
    memcpy(whole.bytes, &common, sizeof common);
    memcpy(whole.bytes + sizeof common, key, bytes);
    return cj__call_find(device, &whole, describe, desc, stream, kernel, error);
}

#endif

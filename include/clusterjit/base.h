// SPDX-License-Identifier: Apache-2.0
// Status codes, errors and small value types shared by every public header.
#ifndef CLUSTERJIT_BASE_H
#define CLUSTERJIT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_VERSION_MAJOR 0
#define CJ_VERSION_MINOR 2
#define CJ_VERSION_PATCH 0

#if defined(CJ_STATIC)
#define CJ_API
#else
#define CJ_API __attribute__((visibility("default")))
#endif

// ---- structures that may grow
//
// A structure that a caller hands to the library, or has it fill, begins with its size, struct_size: that of the headers with
// which the caller was compiled. Later versions append fields. A program that was compiled for an earlier version gets their
// defaults; one that was compiled for a later version and sets a field that the library does not know is refused, with both
// sizes. In C
//     cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000};
// In C++ the field has that value by itself. A size of 0 is INVALID_ARGUMENT: the field was forgotten.
//
// Structures without struct_size keep their size. A cj_error, a cj_limits and a cj_plan, which programs copy, have reserved
// words, which are 0. Small values (cj_dim3, cj_rows, cj_reg, …) get no fields. What the library hands out by a pointer to
// const may grow: a copy of it has the fields that its program knows.
#if defined(__has_attribute) && !defined(__cplusplus) && !defined(CJ__EXPLICIT)
#if __has_attribute(require_explicit_initialization)
#define CJ__EXPLICIT __attribute__((require_explicit_initialization))  // Clang 20 warns where CJ_INIT is missing
#endif
#endif
#ifndef CJ__EXPLICIT
#define CJ__EXPLICIT
#endif
#ifdef __cplusplus
#define CJ_STRUCT_SIZE(type) size_t struct_size = sizeof(type)
#else
#define CJ_STRUCT_SIZE(type) size_t struct_size CJ__EXPLICIT
#endif
#define CJ_INIT(structure) .struct_size = sizeof(structure)

#if defined(__GNUC__)
#define CJ_PRINTF(format_at, first_at) __attribute__((__format__(__printf__, format_at, first_at)))
#else
#define CJ_PRINTF(format_at, first_at)
#endif

// Every status: name, pinned value (gaps leave room, values never change), meaning.
#define CJ_STATUS_LIST(X)                                                        \
    X(OK, 0, "success")                                                          \
    X(INVALID_ARGUMENT, 1, "an argument or parameter is out of range")           \
    X(OUT_OF_MEMORY, 2, "host or device memory is exhausted")                    \
    X(UNSUPPORTED, 3, "the device or target cannot do this")                     \
    X(INVALID_KERNEL, 10, "the PTX text breaks a rule of PTX")                   \
    X(CONTRACT, 11, "the launch breaks a rule of its contract")                  \
    X(HAZARD, 12, "the CPU device found a synchronization or memory error")      \
    X(FILE, 20, "a file cannot be read or written, or holds something else")     \
    X(COMPILER, 30, "the PTX or CUDA C compiler refused its input")              \
    X(NO_DEVICE, 40, "there is no usable device")                                \
    X(DRIVER, 41, "the driver reported an error")

typedef enum cj_status {
#define CJ_X(name, value, text) CJ_##name = (value),
    CJ_STATUS_LIST(CJ_X)
#undef CJ_X
} cj_status;

// NULL for a pointer that a call needs is a mistake that is said, in every public function: those that return a status give
// INVALID_ARGUMENT, those that write a kernel (clusterjit/ptx.h) make it the error of cj_builder_finish, and those that look
// something up give 0 or NULL, unless they say otherwise. What destroys, releases or frees takes NULL and does nothing.

// What went wrong, filled by a failing call; owned by the caller, which may pass NULL instead. A successful call leaves it
// untouched. `message` names the field, its value and the limit; `hint` says what to do and may be empty.
typedef struct cj_error {
    cj_status status;
    int       driver_code;   // CUresult, nvrtcResult, …; 0 where none was involved
    unsigned  line, column;  // position in the PTX text, from 1; 0 where there is none
    char      rule[32];      // id of the broken rule, or empty
    char      message[1024];
    char      hint[512];
    uint64_t  reserved[4];   // 0
} cj_error;

// The status' name ("INVALID_ARGUMENT") and meaning; never NULL, static storage.
CJ_API const char *cj_status_name(cj_status status);
CJ_API const char *cj_status_text(cj_status status);

// "0.2.0", static storage.
CJ_API const char *cj_version(void);

// A whole number as parameters, the command's options and the environment's variables have it: digits or 0x…, 2^k, 1e6, or
// digits and a suffix K, M, G (powers of 1024), and after any of them +c or -c. Returns the first character after it;
// NULL, with *value untouched, where `text` begins with no such number (errno is EINVAL) or it does not fit 64 bits
// (ERANGE).
#define CJ_NUMBER_FORMS "digits, 0x…, 1e6, 2^k, 2^k+c, or a suffix K, M, G"
CJ_API const char *cj_number_read(const char *text, uint64_t *value);

// The same of a real number: as C's strtod reads it, or a whole number of the forms above, with or without a
// minus; errno is strtod's.
CJ_API const char *cj_real_read(const char *text, double *value);

// An extent or a position in up to three dimensions, x fastest.
typedef struct cj_dim3 {
    uint32_t x, y, z;
} cj_dim3;

static inline int cj_dim3_equal(cj_dim3 a, cj_dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Element types: name, text, bytes, C type (for f16 and bf16, which C11 does not have, that of their bits).
#define CJ_DTYPE_LIST(X)          \
    X(F32, "f32", 4, float)       \
    X(F64, "f64", 8, double)      \
    X(I32, "i32", 4, int32_t)     \
    X(U32, "u32", 4, uint32_t)    \
    X(I64, "i64", 8, int64_t)     \
    X(U64, "u64", 8, uint64_t)    \
    X(F16, "f16", 2, uint16_t)    \
    X(BF16, "bf16", 2, uint16_t)  \
    X(I8, "i8", 1, int8_t)        \
    X(U8, "u8", 1, uint8_t)       \
    X(I16, "i16", 2, int16_t)     \
    X(U16, "u16", 2, uint16_t)    \
    X(TF32, "tf32", 4, float)     \
    X(E4M3, "e4m3", 1, uint8_t)   \
    X(E5M2, "e5m2", 1, uint8_t)

typedef enum cj_dtype {
#define CJ_X(name, text, bytes, type) CJ_##name,
    CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
} cj_dtype;

// Name ("f32") and size in bytes; NULL and 0 for a value outside the enum.
CJ_API const char *cj_dtype_name(cj_dtype type);
CJ_API size_t      cj_dtype_size(cj_dtype type);

// The type that its values are computed in, which holds each of them: f32 for f16 and bf16, i32 or u32 for narrower
// integers, itself for the others.
CJ_API cj_dtype cj_dtype_arithmetic(cj_dtype type);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
// Structures of callers that were compiled for another version of the library: clusterjit/base.h has the rule.
#ifndef CJ_BASE_SIZED_H
#define CJ_BASE_SIZED_H

#include "error.h"

// Copies a caller's structure, whose first field is its size, to `copy` of this version's `bytes`: fields that the caller
// does not have become 0. INVALID_ARGUMENT for a size that cannot be, and for a field that this version does not know and
// that is not 0.
cj_status cj__sized_read(const void *given, void *copy, size_t bytes, const char *type, cj_error *error);

// Lets `name`, a parameter of a public function, point to a structure of this version's size, and refuses NULL.
// SIZED_OR_NULL lets NULL be.
#define SIZED(type, name) \
    REQUIRE(name);        \
    SIZED_OR_NULL(type, name)
#define SIZED_OR_NULL(type, name)                                                \
    type name##_complete;                                                        \
    if (name && name->struct_size != sizeof(type)) {                             \
        TRY(cj__sized_read(name, &name##_complete, sizeof(type), #type, error)); \
        name = &name##_complete;                                                 \
    }

// Refuses a structure for the library to fill in that is NULL or whose size cannot be; fills in what the caller's has, and
// sets to 0 what only a later version knows.
cj_status cj__sized_check(const void *result, const char *type, cj_error *error);
void      cj__sized_write(void *result, const void *from, size_t bytes);

// Refuses a structure whose reserved words are not 0: a later version gave them a meaning. `count`: of words.
cj_status cj__reserved_check(const uint64_t *reserved, size_t count, const char *type, cj_error *error);

#define REQUIRE_KNOWN(type, name) \
    REQUIRE(name);                \
    TRY(cj__reserved_check((name)->reserved, sizeof(name)->reserved / sizeof *(name)->reserved, #type, error))

#endif

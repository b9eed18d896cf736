// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/allocator.h>

#include "allocate.h"
#include "sized.h"

cj_status cj_allocator_set(const cj_allocator *allocator, cj_error *error) {
    SIZED(cj_allocator, allocator);
    REFUSE_IF(!allocator->allocate || !allocator->free, "cj_allocator: %s is NULL" CJ_HINT "give both functions",
              allocator->allocate ? "free" : "allocate");
    REFUSE_IF(!cj__allocate_by(allocator),
              "cj_allocator_set: the library has already allocated memory, which another allocator could not free" CJ_HINT
              "call it before any other call of the library");
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// What a user's functions must give: the same functions, applied on the CPU device to one element after the other, with
// no tree, no cluster and no shared memory. It is independent of the kernel, not of the compiler of the functions.
#ifndef PTXGEN_USER_REFERENCE_H
#define PTXGEN_USER_REFERENCE_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

typedef struct user_reference {
    cj_dtype     type;
    cj_device   *device;
    cj_module   *module;
    cj_function *map, *fold;       // NULL: no such function was given
    cj_ptr       elements, parts;  // memory for one chunk, and a part for each result
    size_t       count;            // parts
} user_reference;

// `op` needs `identity`; both may be NULL, and so may `map`. `chunk` elements at most are added at once; every part
// begins as the identity. Returns an exit code.
int  user_reference_open(user_reference *u, cj_dtype type, const cj_user_function *map, const cj_user_function *op,
                         const cj_user_function *identity, size_t chunk, size_t parts);
void user_reference_close(user_reference *u);

// Replaces elements by what `map` makes of them, if it was given.
int user_reference_map(user_reference *u, void *elements, size_t count);

// part = op(part, element) for each of the elements, in their order.
int user_reference_fold(user_reference *u, const void *elements, size_t count, size_t part);

// The parts, as stored.
int user_reference_parts(user_reference *u, void *parts);

#endif

// SPDX-License-Identifier: Apache-2.0
// The expected results of a user's functions: the CPU device applies the same functions to one element after the other,
// without a tree, a cluster or shared memory. This is independent of the kernel, but not of the functions' compiler.
#ifndef PTXGEN_USER_REFERENCE_H
#define PTXGEN_USER_REFERENCE_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

enum { USER_REFERENCE_BLOCK = 128 };  // threads of a block, if each has one element

typedef struct user_reference {
    cj_dtype                type;
    cj_device              *device;
    cj_module              *module;
    const cj_user_function *op, *identity;
    cj_function            *map, *fold, *scan, *apply;  // NULL: no such function was given
    cj_ptr                  elements, parts;            // memory for one chunk, and a part for each result
    cj_ptr                  begins;                     // of a scan: a byte for each element of a chunk
    size_t                  count;                      // parts; one more follows them, for trials
} user_reference;

// `op` needs `identity`; both may be NULL, and so may `map`. At most `chunk` elements are added at once; every part
// begins as the identity. Returns an exit code.
int  user_reference_open(user_reference *u, cj_dtype type, const cj_user_function *map, const cj_user_function *op,
                         const cj_user_function *identity, size_t chunk, size_t parts);
void user_reference_close(user_reference *u);

// Replaces elements by their images under `map`, if it was given.
int user_reference_map(user_reference *u, void *elements, size_t count);

// part = op(part, element) for each of the elements, in their order.
int user_reference_fold(user_reference *u, const void *elements, size_t count, size_t part);

// Checks that the results of a user's operation do not depend on how elements are grouped: tries the operation and its
// identity on some of these elements, and names what is wrong. `commutes`: the order of the two arguments must not
// matter, either. Floats may differ by roundings. Returns an exit code.
int user_reference_try(user_reference *u, const void *elements, size_t count, bool commutes);

// Replaces the elements of the next chunk by running values of op: an element whose byte in `begins` is not 0 starts
// again, others continue from the previous element, also from that of the previous chunk. Uses part 0.
int user_reference_scan(user_reference *u, void *elements, const unsigned char *begins, size_t count);

// *overflows: whether op over these elements, all of them finite floats, gives infinity or NaN in some order: from the
// first to the last, or from the last to the first. Then the result of a kernel, which groups the elements, cannot be
// predicted.
int user_reference_overflows(user_reference *u, const void *elements, size_t count, bool *overflows);

// Reads the parts, as stored.
int user_reference_parts(user_reference *u, void *parts);

#endif

// SPDX-License-Identifier: Apache-2.0
// What a user's functions must give: the same functions, applied on the CPU device to one element after the other, with
// no tree, no cluster and no shared memory. It is independent of the kernel, not of the compiler of the functions.
#ifndef PTXGEN_USER_REFERENCE_H
#define PTXGEN_USER_REFERENCE_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

enum { USER_REFERENCE_BLOCK = 128 };  // threads of a block, of functions that take an element a thread

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

// `op` needs `identity`; both may be NULL, and so may `map`. `chunk` elements at most are added at once; every part
// begins as the identity. Returns an exit code.
int  user_reference_open(user_reference *u, cj_dtype type, const cj_user_function *map, const cj_user_function *op,
                         const cj_user_function *identity, size_t chunk, size_t parts);
void user_reference_close(user_reference *u);

// Replaces elements by what `map` makes of them, if it was given.
int user_reference_map(user_reference *u, void *elements, size_t count);

// part = op(part, element) for each of the elements, in their order.
int user_reference_fold(user_reference *u, const void *elements, size_t count, size_t part);

// What a user's operation must be for its results not to depend on how elements are grouped: tries it, and its identity, on
// some of these elements, and refuses by name what it finds. `commutes`: whether the two arguments may change places, too.
// Floats may differ by roundings. Returns an exit code.
int user_reference_try(user_reference *u, const void *elements, size_t count, bool commutes);

// Replaces the elements, of the next chunk, by running values of op: an element with a byte that is not 0 in `begins` starts
// anew, others go on from the one before, also from that of the chunk before. Of part 0.
int user_reference_scan(user_reference *u, void *elements, const unsigned char *begins, size_t count);

// *overflows: whether op of these elements, all of them finite floats, is infinite or no number in some order: from the
// first to the last, or from the last to the first. Then nothing is known about what a kernel, which groups them, must give.
int user_reference_overflows(user_reference *u, const void *elements, size_t count, bool *overflows);

// The parts, as stored.
int user_reference_parts(user_reference *u, void *parts);

#endif

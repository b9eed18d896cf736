// SPDX-License-Identifier: Apache-2.0
// Checks that the grouping of elements does not matter to a user's operation: tries it on triples of elements, and in
// both directions.
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "message.h"
#include "user_reference.h"

enum { BLOCK = USER_REFERENCE_BLOCK, TRIED = 128 };  // TRIED: triples

// Whether two sides are the same, except for roundings in proportion to `sizes`.
static bool same(cj_dtype type, element left, element right, const double *sizes, unsigned count) {
    const double rounded = sqrt(type == CJ_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
    double       size = 0;
    if (element_kind_of(type) != ELEMENT_FLOAT) return left.u == right.u;
    if (!isfinite(left.f) || !isfinite(right.f)) return true;  // overflow may come earlier on one side
    for (unsigned i = 0; i < count; i++) size += fabs(sizes[i]);
    return !(fabs(left.f - right.f) > rounded * size);
}

static double size_of(cj_dtype type, element x) { return element_kind_of(type) == ELEMENT_FLOAT ? x.f : 0; }

typedef struct trial {
    element a, b, c, ab, bc, ba, ea, ae, left, right;  // left: (a op b) op c; right: a op (b op c)
} trial;

// to[i] = op(left[i], right[i]), for fields of every trial.
static int apply(user_reference *u, trial *tried, size_t count, size_t left, size_t right, size_t to) {
    const size_t  size = cj_dtype_size(u->type);
    unsigned char stored[2 * TRIED * sizeof(double)];
    element       wide[2 * TRIED];
    cj_error      error;
    cj_ptr        memory = 0;
    uint64_t      n = count;
    for (size_t i = 0; i < count; i++) {
        memcpy(&wide[i], (const char *)&tried[i] + left, sizeof *wide);
        memcpy(&wide[count + i], (const char *)&tried[i] + right, sizeof *wide);
    }
    element_narrow(u->type, wide, 2 * count, stored);
    void            *arguments[] = {&memory, &n};
    cj_launch_config config = {
        CJ_INIT(config),        .function = u->apply,   .grid = {(uint32_t)(count + BLOCK - 1) / BLOCK, 1, 1},
        .block = {BLOCK, 1, 1}, .arguments = arguments, .argument_count = 2};
    cj_status        status = cj_mem_alloc(u->device, 2 * count * size, &memory, &error);
    if (!status) status = cj_mem_write(u->device, memory, stored, 2 * count * size, NULL, &error);
    if (!status) status = cj_launch(u->device, &config, &error);
    if (!status) status = cj_mem_read(u->device, stored, memory, count * size, NULL, &error);
    cj_mem_free(u->device, memory);
    if (status) return message_failure(&error);
    element_widen(u->type, stored, count, wide);
    for (size_t i = 0; i < count; i++) memcpy((char *)&tried[i] + to, &wide[i], sizeof *wide);
    return CODE_OK;
}

// One side of an equation that the operation must satisfy: its name and its value.
typedef struct side {
    const char *name;
    element     is;
} side;

static int refuse(const user_reference *u, const trial *t, const char *what, side left, side right, const char *hint) {
    char a[ELEMENT_TEXT], b[ELEMENT_TEXT], c[ELEMENT_TEXT], l[ELEMENT_TEXT], r[ELEMENT_TEXT];
    return message_error(CJ_INVALID_ARGUMENT, "op-expr %s: of a = %s, b = %s and c = %s, %s is %s, but %s is %s\n%s",
                         what, element_text(u->type, t->a, a), element_text(u->type, t->b, b),
                         element_text(u->type, t->c, c), left.name, element_text(u->type, left.is, l), right.name,
                         element_text(u->type, right.is, r), hint);
}

static int judge(const user_reference *u, const trial *t, bool commutes) {
    const cj_dtype type = u->type;
    const double   size[] = {size_of(type, t->a),  size_of(type, t->b),    size_of(type, t->c),    size_of(type, t->ab),
                             size_of(type, t->bc), size_of(type, t->left), size_of(type, t->right)};
    const double   small[] = {size_of(type, t->a), 1};
    if (!same(type, t->left, t->right, size, 7))
        return refuse(u, t, "is not associative", (side){"(a op b) op c", t->left}, (side){"a op (b op c)", t->right},
                      "elements are combined in groups: only an operation that does not depend on them has one result");
    if (commutes && !same(type, t->ab, t->ba, (const double[]){size[0], size[1], size[3]}, 3))
        return refuse(u, t, "is not commutative", (side){"a op b", t->ab}, (side){"b op a", t->ba},
                      "a reduction takes elements in any order; scan takes them in theirs");
    if (!same(type, t->ea, t->a, small, 2) || !same(type, t->ae, t->a, small, 2))
        return refuse(u, t, "has another identity than the one given", (side){"identity op a", t->ea},
                      (side){"a op identity", t->ae}, "identity is the value e for which op-expr of e and any x is x");
    return CODE_OK;
}

#define APPLY(left, right, to) \
    apply(u, tried, TRIED, offsetof(trial, left), offsetof(trial, right), offsetof(trial, to))

int user_reference_try(user_reference *u, const void *elements, size_t count, bool commutes) {
    const size_t size = cj_dtype_size(u->type);
    uint64_t     bits = 0, state = 1;
    element      e;
    trial       *tried = calloc(TRIED, sizeof *tried);
    if (!tried) return message_error(CJ_OUT_OF_MEMORY, "no host memory to try op-expr");
    cj_user_function_constant(u->identity, &bits);
    element_widen(u->type, &bits, 1, &e);
    for (size_t i = 0; i < TRIED; i++) {  // neighbours, then elements from all over
        element *const to[] = {&tried[i].a, &tried[i].b, &tried[i].c};
        for (size_t k = 0; k < 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const size_t at = i < TRIED / 2 ? i + k : (size_t)(state >> 33);
            element_widen(u->type, (const char *)elements + at % count * size, 1, to[k]);
        }
        tried[i].left = e;  // the identity, until `left` is computed
    }
    int code = APPLY(left, a, ea);
    if (!code) code = APPLY(a, left, ae);
    if (!code) code = APPLY(a, b, ab);
    if (!code) code = APPLY(b, c, bc);
    if (!code) code = APPLY(b, a, ba);
    if (!code) code = APPLY(ab, c, left);
    if (!code) code = APPLY(a, bc, right);
    for (size_t i = 0; !code && i < TRIED; i++) code = judge(u, &tried[i], commutes);
    free(tried);
    return code;
}

// Uses the extra part, which begins as the identity.
static int fold_is_finite(user_reference *u, const void *elements, size_t count, bool *finite) {
    const size_t size = cj_dtype_size(u->type);
    uint64_t     bits = 0;
    element      result;
    cj_error     error;
    const cj_ptr part = u->parts + u->count * size;
    cj_user_function_constant(u->identity, &bits);
    if (cj_mem_write(u->device, part, &bits, size, NULL, &error)) return message_failure(&error);
    int code = user_reference_fold(u, elements, count, u->count);
    if (code) return code;
    if (cj_mem_read(u->device, &bits, part, size, NULL, &error)) return message_failure(&error);
    element_widen(u->type, &bits, 1, &result);
    *finite = isfinite(result.f);
    return CODE_OK;
}

int user_reference_overflows(user_reference *u, const void *elements, size_t count, bool *overflows) {
    const size_t   size = cj_dtype_size(u->type);
    const char    *from = elements;
    bool           forwards = true, backwards = true;
    unsigned char *turned = malloc(count * size);
    *overflows = false;
    if (!turned) return message_error(CJ_OUT_OF_MEMORY, "no host memory to try op-expr");
    for (size_t i = 0; i < count; i++) {
        element x;
        element_widen(u->type, from + i * size, 1, &x);
        if (element_kind_of(u->type) != ELEMENT_FLOAT || !isfinite(x.f)) {
            free(turned);
            return CODE_OK;
        }
        memcpy(turned + (count - 1 - i) * size, from + i * size, size);
    }
    int code = fold_is_finite(u, elements, count, &forwards);
    if (!code) code = fold_is_finite(u, turned, count, &backwards);
    *overflows = !forwards || !backwards;
    free(turned);
    return code;
}

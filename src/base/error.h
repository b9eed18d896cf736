// SPDX-License-Identifier: Apache-2.0
// Filling a cj_error. All return the status they were given, so a failing function reads `return cj__fail(…);`.
#ifndef CJ_BASE_ERROR_H
#define CJ_BASE_ERROR_H

#include <clusterjit/base.h>

// Sets status and message and clears the rest; `error` may be NULL. After CJ_HINT in the format comes what to do about it:
//   return cj__fail(error, CJ_CONTRACT, "stages: %u do not fit" CJ_HINT "there is room for %u", asked, most);
#define CJ_HINT "\x1f"
cj_status cj__fail(cj_error *error, cj_status status, const char *format, ...) CJ_PRINTF(3, 4);

// Adds a remedy and the broken rule's id to an error that was just filled; `error` may be NULL.
void cj__hint(cj_error *error, const char *format, ...) CJ_PRINTF(2, 3);
void cj__rule(cj_error *error, const char *rule);

// The candidate nearest to `word` by edit distance, or NULL if none is near enough to be a typing mistake. `next(user,
// i)` returns candidate i, NULL at the end.
const char *cj__nearest(const char *word, const char *(*next)(const void *user, size_t i), const void *user);

// Refuses an argument of a public call that is 0. For functions that return cj_status and have `error`.
#define REQUIRE(pointer)                                                                                \
    do {                                                                                                \
        if (!(pointer)) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: " #pointer " is 0", __func__); \
    } while (0)

// The same with a status and a message, where `when` holds:
//   FAIL_IF(asked > most, CJ_CONTRACT, "stages: %u do not fit" CJ_HINT "there is room for %u", asked, most);
// REFUSE_IF refuses an argument: CJ_INVALID_ARGUMENT. TRY returns what a call returns, unless that is CJ_OK.
#define FAIL_IF(when, status, ...)                               \
    do {                                                         \
        if (when) return cj__fail(error, (status), __VA_ARGS__); \
    } while (0)
#define REFUSE_IF(when, ...) FAIL_IF(when, CJ_INVALID_ARGUMENT, __VA_ARGS__)
#define TRY(call)                        \
    do {                                 \
        const cj_status tried_ = (call); \
        if (tried_) return tried_;       \
    } while (0)

#endif

// SPDX-License-Identifier: Apache-2.0
#include "sized.h"

#include <string.h>

enum { SIZE_MOST = 4096 };  // bytes: more than any version's structure; what is beyond it was never set

// The size that the caller wrote, if it can be one.
static cj_status check_size(size_t size, size_t bytes, const char *type, cj_error *error) {
    if (!size)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: struct_size is 0" CJ_HINT
                        "begin with it: %s x = {CJ_INIT(x), ...}; in C++ leave it as it is",
                        type, type);
    if (size >= sizeof size && size <= SIZE_MOST) return CJ_OK;
    if (bytes)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: struct_size is %zu; in version %s it is %zu" CJ_HINT "begin with CJ_INIT, which sets it",
                        type, size, cj_version(), bytes);
    return cj__fail(error, CJ_INVALID_ARGUMENT,
                    "%s: struct_size is %zu, which is not from %zu to %d" CJ_HINT "begin with CJ_INIT, which sets it",
                    type, size, sizeof size, SIZE_MOST);
}

cj_status cj__sized_read(const void *given, void *copy, size_t bytes, const char *type, cj_error *error) {
    const unsigned char *from = given;
    size_t               size;
    memcpy(&size, given, sizeof size);
    TRY(check_size(size, bytes, type, error));
    for (size_t i = bytes; i < size; i++)
        if (from[i])
            return cj__fail(error, CJ_INVALID_ARGUMENT,
                            "%s: the caller's has %zu bytes, version %s knows %zu, and byte %zu is not 0" CJ_HINT
                            "set no field that this version does not have, or use the library of the headers' version",
                            type, size, cj_version(), bytes, i);
    memset(copy, 0, bytes);
    memcpy(copy, given, size < bytes ? size : bytes);
    memcpy(copy, &bytes, sizeof bytes);
    return CJ_OK;
}

cj_status cj__sized_check(const void *result, const char *type, cj_error *error) {
    size_t size;
    if (!result) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: NULL, where should it be written to?", type);
    memcpy(&size, result, sizeof size);
    return check_size(size, 0, type, error);
}

void cj__sized_write(void *result, const void *from, size_t bytes) {
    size_t size;
    memcpy(&size, result, sizeof size);
    memset(result, 0, size);
    memcpy(result, from, size < bytes ? size : bytes);
    memcpy(result, &size, sizeof size);
}

cj_status cj__reserved_check(const uint64_t *reserved, size_t count, const char *type, cj_error *error) {
    for (size_t i = 0; i < count; i++)
        if (reserved[i])
            return cj__fail(error, CJ_INVALID_ARGUMENT,
                            "%s: reserved[%zu] is 0x%llx, of which version %s knows nothing" CJ_HINT
                            "clear it before use: %s x = {0}",
                            type, i, (unsigned long long)reserved[i], cj_version(), type);
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Constants, pointers and the shared memory that bulk copies fill, as every family writes them.
#include "kit.h"

const char *cj__constant_text(const char *type, uint64_t bits, char buffer[24]) {
    const bool narrow = type[1] == '3';
    if (narrow) bits &= UINT32_MAX;
    if (*type == 'f')
        snprintf(buffer, 24, narrow ? "0f%08" PRIX64 : "0d%016" PRIX64, bits);
    else if (*type == 'u')
        snprintf(buffer, 24, "%" PRIu64, bits);
    else
        snprintf(buffer, 24, "%" PRId64, narrow ? (int64_t)(int32_t)bits : (int64_t)bits);
    return buffer;
}

cj_reg cj__load_pointer(cj_func *f, cj_var param, const char *name) {
    cj_reg pointer = cj__load_param(f, "u64", param, name);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", pointer);
    return pointer;
}

cj_reg cj__load_param(cj_func *f, const char *type, cj_var param, const char *name) {
    return cj_let(f, type, name, "ld.param.$3 $1, [$2];", param, type);
}

cj_reg cj__pool_address(cj_func *f, const char *pool) {
    cj_reg at = cj_mov(f, "u32", "pool", pool);
    cj_update(f, at, "add", CJ_POOL_ALIGN - 1);
    cj_ptx(f, "and.b32 $1, $1, $2; // bulk copies are faster to multiples of that", at, -CJ_POOL_ALIGN);
    return at;
}

// SPDX-License-Identifier: Apache-2.0
#include "allocate.h"
#include "error.h"
#include "gpus_state.h"

cj_status cj__gpus_grow(void **list, size_t count, size_t *room, size_t bytes, cj_error *error) {
    if (count < *room) return CJ_OK;
    const size_t more = 2 * *room + 8;
    void        *grown = cj__realloc(*list, *room * bytes, more * bytes);
    if (!grown) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for %zu descriptions of collectives", more);
    *list = grown;
    *room = more;
    return CJ_OK;
}

// SPDX-License-Identifier: Apache-2.0
// What a function of the device runtime reads of its caller's memory.
#include "address.h"
#include "library.h"
#include "undefined.h"

enum { STRING_MOST = 1 << 20 };  // bytes of a string

static bool is_local(uint64_t address) { return (address ^ CJ_LOCAL_BASE) >> 48 == 0; }

// Reports a read of local memory whose bits were loaded from memory that nothing has written.
static void check_defined(const cj_library_call *call, uint64_t address, uint64_t bytes) {
    if (!call->w->watch || !call->w->block->undefined || !is_local(address)) return;
    const unsigned char *bits = cj__undefined_local_of(call->w, call->lane) + (address - CJ_LOCAL_BASE);
    for (uint64_t i = 0; i < bytes; i++) {
        if (!bits[i]) continue;
        cj__undefined_used(call->w, call->op, call->lane);
        return;
    }
}

static bool find(cj_library_call *call, uint64_t address, uint64_t bytes, cj_cpu_spot *spot) {
    return cj__cpu_locate(call->w, call->op, call->lane, CJ_WORD_NONE, address, (cj_cpu_span){bytes, 1, false}, spot);
}

// Tells the watch of a read of bytes that have been found, from `spot` on.
static void watch(cj_library_call *call, uint64_t address, uint64_t bytes, cj_cpu_spot spot) {
    const bool is_param = (address ^ CJ_PARAM_BASE) >> 48 == 0;
    check_defined(call, address, bytes);
    if (is_local(address) || is_param || !bytes) return;
    cj__watch_access(call->w, call->op, call->lane, (cj_watch_use){.flags = CJ_USE_READ},
                     (cj_watch_place){spot.block, spot.address, bytes});
}

bool cj__library_read(cj_library_call *call, uint64_t address, void *to, uint64_t bytes) {
    cj_cpu_spot spot;
    if (!find(call, address, bytes, &spot)) return false;
    memcpy(to, spot.host, bytes);
    watch(call, address, bytes, spot);
    return true;
}

bool cj__library_string(cj_library_call *call, uint64_t address, uint64_t most, cj_text *text) {
    cj_cpu_spot first = {0}, spot;
    uint64_t    bytes = 0;
    if (most > STRING_MOST) most = STRING_MOST;
    for (bool is_end = false; !is_end && bytes < most; bytes++) {
        if (!find(call, address + bytes, 1, &spot)) return false;
        if (!bytes) first = spot;
        is_end = !*spot.host;
        if (!is_end) cj__text_add(text, (const char *)spot.host, 1);
    }
    watch(call, address, bytes, first);
    return true;
}

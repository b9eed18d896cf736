// SPDX-License-Identifier: Apache-2.0
// Releases of atomics at an address.
#include "page.h"

bool cj__shadow_has_locations(const cj_shadow *shadow) {
    return __atomic_load_n(&shadow->has_locations, __ATOMIC_RELAXED);
}

cj_location *cj__shadow_location(cj_shadow *shadow, uint64_t offset, bool make) {
    cj_page *page = shadow->page[offset >> CJ_PAGE_BITS];
    if (!page) return NULL;
    for (cj_location *known = page->location; known; known = known->next) {
        if (known->offset == offset) return known;
    }
    cj_location *made = make ? cj__watch_calloc(sizeof *made) : NULL;
    if (!made) return NULL;
    __atomic_store_n(&shadow->has_locations, true, __ATOMIC_RELAXED);
    *made = (cj_location){.next = page->location, .offset = offset};
    return page->location = made;
}

static void forget_in(cj_page *page, uint64_t offset, uint64_t bytes) {
    for (cj_location *location = page ? page->location : NULL; location; location = location->next) {
        if (location->offset < offset || location->offset - offset >= bytes) continue;
        for (unsigned i = 0; i < CJ_SCOPES; i++) {
            cj__clock_drop(location->released[i].clock);
            location->released[i] = (cj_released){0};
        }
    }
}

void cj__shadow_forget(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    if (!bytes || !cj__shadow_has_locations(shadow)) return;
    const uint64_t first = offset >> CJ_PAGE_BITS, last = (offset + bytes - 1) >> CJ_PAGE_BITS;
    for (uint64_t i = first; i <= last; i++) forget_in(shadow->page[i], offset, bytes);
}

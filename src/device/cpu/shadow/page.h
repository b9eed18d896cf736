// SPDX-License-Identifier: Apache-2.0
// The pages of a shadow. A page is divided into rows of 32 granules. A row has one cell, as long as each access was to
// all of it, by one agent or by lanes side by side; else a cell for each granule.
#ifndef CJ_CPU_PAGE_H
#define CJ_CPU_PAGE_H

#include "roll.h"

enum { CJ_PAGE_BITS = 10, CJ_PAGE = 1 << CJ_PAGE_BITS, CJ_SHIFT_MAX = 5 };

typedef struct cj_row {
    union {
        cj_cell  whole;
        cj_roll *roll;  // if the granules have cells; NULL: none
    };
    cj_cell *granule;  // NULL: `whole` holds
} cj_row;

typedef struct cj_page {
    uint8_t      shift;  // a granule has 1 << shift bytes
    cj_location *location;
    cj_row       row[];
} cj_page;

struct cj_shadow {
    uint64_t            bytes;
    cj_room             room;
    bool                has_locations;  // or had
    const cj_cpu_range *range;
    uint64_t initialized;  // without a range: where what is initialized begins, a multiple of a granule, or the end
    cj_page *page[];
};

static inline size_t cj__shadow_pages(const cj_shadow *shadow) {
    return (size_t)((shadow->bytes + CJ_PAGE - 1) >> CJ_PAGE_BITS);
}

static inline size_t cj__page_bytes(const cj_shadow *shadow, size_t index) {
    const uint64_t left = shadow->bytes - ((uint64_t)index << CJ_PAGE_BITS);
    return left < CJ_PAGE ? (size_t)left : CJ_PAGE;
}

// How many bytes a row has, as a logarithm.
static inline unsigned cj__row_bits(const cj_page *page) { return page->shift + (unsigned)CJ_ROW_BITS; }

static inline size_t cj__page_rows(const cj_shadow *shadow, size_t index, unsigned shift) {
    return (cj__page_bytes(shadow, index) + ((size_t)CJ_ROW << shift) - 1) >> (shift + CJ_ROW_BITS);
}

// Makes a page, or divides its granules. NULL when out of memory.
cj_page *cj__page_make(cj_shadow *shadow, size_t index, uint8_t shift);
void     cj__page_free(cj_shadow *shadow, size_t index);

// The page, with granules of at most 1 << shift bytes. NULL when out of memory.
static inline cj_page *cj__page_at(cj_shadow *shadow, size_t index, uint8_t shift) {
    cj_page *page = shadow->page[index];
    return page && page->shift <= shift ? page : cj__page_make(shadow, index, shift);
}

// Gives each granule of a row its own cell. False when out of memory.
bool cj__row_divide(cj_shadow *shadow, cj_row *row);
// Gives each granule's cell what the row's roll has of it.
void cj__row_settle(cj_shadow *shadow, cj_row *row);
// Removes all accesses of a row, and its cells.
void cj__row_clear(cj_shadow *shadow, cj_row *row);

#endif

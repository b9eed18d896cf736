// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <stdlib.h>

#include "allocate.h"

static size_t bytes_of(const cj_shadow *shadow, size_t index, unsigned shift) {
    return sizeof(cj_page) + cj__page_rows(shadow, index, shift) * sizeof(cj_row);
}

static cj_page *new_page(cj_shadow *shadow, size_t index, uint8_t shift) {
    cj_page *made = cj__pool_take(&shadow->room.pool, bytes_of(shadow, index, shift));
    if (made) made->shift = shift;
    return made;
}

// ---- rows

static cj_cell *new_granules(cj_shadow *shadow) { return cj__pool_take(&shadow->room.pool, CJ_ROW * sizeof(cj_cell)); }

// Whether each access of a row's cell, if any, is of one lane to all of the row: then each granule's cell is the same.
static bool is_of_one(const cj_cell *whole) {
    const bool is_one_write = !whole->write_time || !(whole->write_use >> CJ_LANES_AT & 7);
    return is_one_write && !(whole->use & CJ_MANY) && !(whole->mask & (whole->mask - 1));
}

bool cj__row_divide(cj_shadow *shadow, cj_row *row) {
    if (row->granule) return true;
    cj_cell *made = new_granules(shadow);
    if (!made) return false;
    if (is_of_one(&row->whole)) {
        for (unsigned k = 0; k < CJ_ROW; k++) made[k] = row->whole;
    } else {
        for (unsigned k = 0; k < CJ_ROW; k++) cj__cell_part(&made[k], &row->whole, k, CJ_ROW, &shadow->room);
        cj__cell_empty(&row->whole, &shadow->room);
    }
    row->granule = made;
    row->roll = NULL;
    return true;
}

void cj__row_settle(cj_shadow *shadow, cj_row *row) {
    if (!row->granule || !row->roll) return;
    for (unsigned k = 0; k < CJ_ROW; k++) cj__roll_settle(row->roll, &row->granule[k], k, &shadow->room);
    cj__roll_free(row->roll, &shadow->room);
    row->roll = NULL;
}

void cj__row_clear(cj_shadow *shadow, cj_row *row) {
    if (row->granule)
        cj__roll_free(row->roll, &shadow->room);
    else
        cj__cell_empty(&row->whole, &shadow->room);
    for (unsigned k = 0; row->granule && k < CJ_ROW; k++) {
        if (row->granule[k].use & CJ_MANY) cj__cell_empty(&row->granule[k], &shadow->room);
    }
    if (row->granule) cj__pool_give(&shadow->room.pool, row->granule, CJ_ROW * sizeof(cj_cell));
    *row = (cj_row){0};
}

// ---- pages

// Lowers *shift until no granule is initialized in part.
static void fit_initialized(const cj_shadow *shadow, uint64_t begin, uint64_t bytes, uint8_t *shift) {
    bool written;
    for (uint64_t at = 0; shadow->range && at < bytes;) {
        at += cj__cpu_written_run(shadow->range, begin + at, bytes - at, &written);
        while (*shift && at < bytes && at & ((1u << *shift) - 1)) (*shift)--;
    }
}

// Marks the bytes from `at` to `end` of a page as initialized.
static bool mark_initialized(cj_shadow *shadow, cj_page *page, uint64_t at, uint64_t end) {
    for (uint64_t next; at < end; at = next) {
        const unsigned bits = cj__row_bits(page);
        cj_row        *row = &page->row[at >> bits];
        next = ((at >> bits) + 1) << bits;
        if (next <= end && !(at & ((UINT64_C(1) << bits) - 1))) {
            row->whole.write_use |= CJ_WRITTEN;
            continue;
        }
        if (next > end) next = end;
        if (!cj__row_divide(shadow, row)) return false;
        for (uint64_t k = at >> page->shift; k << page->shift < next; k++)
            row->granule[k % CJ_ROW].write_use |= CJ_WRITTEN;
    }
    return true;
}

static bool read_initialized(cj_shadow *shadow, size_t index, cj_page *page) {
    const uint64_t begin = (uint64_t)index << CJ_PAGE_BITS, bytes = cj__page_bytes(shadow, index);
    bool           is_done = true;
    if (!shadow->range && shadow->initialized < begin + bytes) {
        const uint64_t at = shadow->initialized > begin ? shadow->initialized - begin : 0;
        return mark_initialized(shadow, page, at, bytes);
    }
    for (uint64_t at = 0, run; shadow->range && is_done && at < bytes; at += run) {
        bool written;
        run = cj__cpu_written_run(shadow->range, begin + at, bytes - at, &written);
        if (written) is_done = mark_initialized(shadow, page, at, at + run);
    }
    return is_done;
}

// Makes the rows of a page whose granules are a part of another page's.
static bool divide_rows(cj_shadow *shadow, const cj_page *old, cj_page *made, size_t rows) {
    const unsigned by = old->shift - made->shift, parts = 1u << by;
    for (size_t i = 0; i < rows; i++) {
        const cj_row *from = &old->row[i >> by];
        cj_row       *to = &made->row[i];
        if (!from->granule) {
            cj__cell_part(&to->whole, &from->whole, (unsigned)i % parts, parts, &shadow->room);
            continue;
        }
        if (!(to->granule = new_granules(shadow))) return false;
        for (size_t k = i * CJ_ROW; k < (i + 1) * CJ_ROW; k++)
            cj__cell_part(&to->granule[k % CJ_ROW], &from->granule[(k >> by) % CJ_ROW], 0, 1, &shadow->room);
    }
    return true;
}

static void free_rows(cj_shadow *shadow, size_t index, cj_page *page) {
    for (size_t i = 0; i < cj__page_rows(shadow, index, page->shift); i++) cj__row_clear(shadow, &page->row[i]);
    cj__pool_give(&shadow->room.pool, page, bytes_of(shadow, index, page->shift));
}

cj_page *cj__page_make(cj_shadow *shadow, size_t index, uint8_t shift) {
    cj_page *old = shadow->page[index];
    if (!old) fit_initialized(shadow, (uint64_t)index << CJ_PAGE_BITS, cj__page_bytes(shadow, index), &shift);
    for (size_t i = 0; old && i < cj__page_rows(shadow, index, old->shift); i++) cj__row_settle(shadow, &old->row[i]);
    cj_page     *made = new_page(shadow, index, shift);
    const size_t rows = cj__page_rows(shadow, index, shift);
    if (!made) return NULL;
    if (!(old ? divide_rows(shadow, old, made, rows) : read_initialized(shadow, index, made))) {
        free_rows(shadow, index, made);
        return NULL;
    }
    if (old) {
        made->location = old->location;
        free_rows(shadow, index, old);
    }
    return shadow->page[index] = made;
}

// Of a shadow with a pool, which is then reset, only what is not the pool's.
void cj__page_free(cj_shadow *shadow, size_t index) {
    cj_page *page = shadow->page[index];
    if (!page) return;
    for (cj_location *next, *location = page->location; location; location = next) {
        next = location->next;
        for (unsigned i = 0; i < CJ_SCOPES; i++) cj__clock_drop(location->released[i].clock);
        cj__free(location);
    }
    if (shadow->room.pool.is_shared) free_rows(shadow, index, page);
    shadow->page[index] = NULL;
}

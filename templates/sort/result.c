// SPDX-License-Identifier: Apache-2.0
// Results: a row's values and indices, then its payload. The element of the payload at an item's index goes to the place that the item has
// in the order. A thread loads a batch of such elements before it stores the first, so that the batch waits for memory once. By then no
// register holds a key, except in form=grid, where the key's digit leads to the place.
//
//   payload[row][index of the item]  -->  registers of a batch  -->  sorted_payload[row][place]
#include "sort.h"

static cj_reg index_of(const sort_kernel *k, unsigned item) {
    return k->s.packed ? cj_and(k->f, "index", k->key[item], SORT_SHORT - 1) : k->index[item];
}

// The row's first element in an array that lies as the results do.
static cj_reg first_result(const sort_kernel *k) {
    cj_func *f = k->f;
    if (k->s.offset_bytes) return k->first_element;
    cj_reg columns = cj_cvt(f, "u64", "wide_columns", k->columns);
    return cj_mul(f, "first_result", cj_cvt(f, "u64", "row_number", k->row), columns);
}

void cj__sort_results(sort_kernel *k) {
    cj_func *f = k->f;
    cj_reg   first = k->s.values || k->s.indices ? first_result(k) : cj_none();
    if (k->s.values) k->values = cj_mad(f, "values", first, k->s.bytes, cj__load_pointer(f, k->values_to, "values"));
    if (k->s.indices)
        k->indices = cj_mad(f, "indices", first, k->s.wide_index ? 8 : 4,
                            cj__load_pointer(f, k->indices_to, "indices"));
}

// Its addresses are found where values and indices have been written: until then registers are short.
static void find_payload(sort_kernel *k) {
    cj_func       *f = k->f;
    const unsigned bytes = k->s.payload_bytes;
    cj_reg         first = k->first_element, from = cj__load_pointer(f, k->payload_at, "payload");
    if (!k->s.offset_bytes) {
        cj_reg stride = cj__load_param(f, "u64", k->payload_stride_at, "payload_stride");
        first = cj_mul(f, "payload_first", cj_cvt(f, "u64", "row_number", k->row), stride);
    }
    k->payload_row = cj_mad(f, "payload_row", first, bytes, from);
    cj_reg to = cj__load_pointer(f, k->payload_to, "sorted_payload");
    k->sorted_payload = cj_mad(f, "sorted_payload", first_result(k), bytes, to);
}

// ---- values and indices

static cj_reg key_of(const sort_kernel *k, unsigned item) {
    cj_func *f = k->f;
    cj_reg   key = k->s.packed ? cj_shr(f, "key", k->key[item], SORT_INDEX_BITS) : k->key[item];
    return k->s.settles ? cj_add(f, "whole_key", cj_shr(f, "from_least", key, k->lead), k->least) : key;
}

static void write_item(const sort_kernel *k, unsigned item, cj_reg place, cj_reg inside) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            key = s->values ? key_of(k, item) : cj_none(), index = cj_none();
    if (s->carries) index = index_of(k, item);
    if (s->values) {
        cj_reg bits = cj__sort_bits(k, key, inside, index);
        cj__store(f, inside, "st.global", sort_type(s->bytes), &bits, 1,
                  cj_mad_wide(f, "to", place, s->bytes, k->values), 0);
    }
    if (s->indices) {
        cj_reg to = cj_mad_wide(f, "to", place, s->wide_index ? 8 : 4, k->indices);
        cj_reg wide = s->wide_index ? cj_cvt(f, "u64", "wide_index", index) : index;
        cj__store(f, inside, "st.global", s->wide_index ? "u64" : "u32", &wide, 1, to, 0);
    }
}

// ---- the payload

static void load_batch(const sort_kernel *k, unsigned first, unsigned count, cj_reg *element) {
    cj_func       *f = k->f;
    const unsigned bytes = k->s.payload_bytes;
    for (unsigned i = 0; i < count; i++) {
        cj_reg place = cj_add(f, "place", k->first, SORT_WARP * (first + i)),
               inside = cj_lt(f, "inside", place, k->columns);
        cj_reg at = cj_mad_wide(f, "element_at", index_of(k, first + i), bytes, k->payload_row);
        const char *type = bytes == 8 ? "u64" : "u32";
        // In a loop over segments ptxas would keep what a thread without the load has from the segment before.
        element[i] = k->s.lists || k->s.whole ? cj_mov(f, type, "element", 0) : cj_register(f, type, "element");
        cj__load(f, inside, cj__load_given(k->plan), sort_type(bytes), &element[i], 1, at, 0);
    }
}

static void write_batch(const sort_kernel *k, sort_place *place_of, unsigned first, unsigned count) {
    cj_reg element[SORT_PAYLOAD_BATCH];
    cj_step(k->f, "the payload of %u items: loads, then stores", count);
    load_batch(k, first, count, element);
    for (unsigned i = 0; i < count; i++) {
        cj_reg inside, place = place_of(k, first + i, &inside);
        cj_reg to = cj_mad_wide(k->f, "element_to", place, k->s.payload_bytes, k->sorted_payload);
        cj__store(k->f, inside, "st.global", sort_type(k->s.payload_bytes), &element[i], 1, to, 0);
    }
}

// Registers with the same numbers as before, of which ptxas does not know that: it would keep the places of all values until here, and spill.
static void find_places_again(sort_kernel *k) {
    cj_func *f = k->f;
    cj_reg   zero = cj_and(f, "zero", k->below, k->above);
    k->first = cj_add(f, "first", k->first, zero);
    if (k->s.form == SORT_BY_GRID) k->own = cj_add(f, "own", k->own, zero);
    if (k->s.settles) k->settled_first = cj_add(f, "settled_first", k->settled_first, zero);
}

// Threads after the end of the row have nothing to do. Their branch also keeps ptxas from finding addresses of the payload while values are
// written, where it has no registers for them.
static void write_payload(sort_kernel *k, sort_place *place_of) {
    cj_step(k->f, "the payload, to the places of its items");
    if (k->s.values || k->s.indices) find_places_again(k);
    CJ_IF(k->f, cj_lt(k->f, "has_items", k->first, k->columns), "without_items") {
        find_payload(k);
        for (unsigned i = 0; i < k->s.items; i += SORT_PAYLOAD_BATCH)
            write_batch(k, place_of, i, (unsigned)cj__least(SORT_PAYLOAD_BATCH, k->s.items - i));
    }
}

void cj__sort_write(sort_kernel *k, sort_place *place_of) {
    for (unsigned i = 0; i < k->s.items && (k->s.values || k->s.indices); i++) {
        cj_reg inside, place = place_of(k, i, &inside);
        write_item(k, i, place, inside);
    }
    if (k->s.payload_bytes) write_payload(k, place_of);
}

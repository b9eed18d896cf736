// SPDX-License-Identifier: Apache-2.0
// Rows of a few columns that no vector divides. With lanes on such a row, each would do once a row what one lane can do; with a
// lane a row, its loads would be far apart. So a warp copies 32 rows to an image in shared memory, all lanes one element or
// vector after the other, and then each lane has one row.
//
//   matrix  --loads, side by side-->  image: | row 0 | row 1 | … | row 31 |  --I1-->  lane r reads row r  --I2-->
//   matrix  <--stores, side by side--  the same memory, of what is written   <--I3--  lane r writes row r
//
// An image has no gaps between rows. It is the warp's own, so bar.warp.sync orders it:
//   I1  the rows are there, before lanes read their own
//   I2  all lanes have read them, before what is written takes their place; not if its elements have the same size, since
//       each lane's row then takes the place of its own
//   I3  what is written is there, before lanes store each other's
#include "engine.h"

// A matrix: the warp's rows of it in memory, and their image.
typedef struct image {
    cj_reg   memory, shared;
    uint64_t stride;
    unsigned bytes, width;  // of an element; elements of a load, where all 32 rows are there
} image;

static image image_of(row_kernel *k, row_role role, unsigned n) {
    const row_shape *s = k->s;
    const unsigned   i = k->op->nth[role][n];
    image            m = {.bytes = role == ROW_INPUT ? s->in_bytes : s->out_bytes, .width = 1};
    m.stride = role == ROW_INPUT ? s->stride : s->out_stride;
    if (m.stride == s->columns) m.width = cj__load_width(k->plan->params.value[ROW_ALIGN], m.bytes, 0);
    m.memory = cj_mad_wide(k->f, "rows_at", k->image_row, m.stride * m.bytes, k->base[i]);
    m.shared = cj_add(k->f, "image_at", k->image, n * cj__row_image_bytes(s, m.bytes));
    return m;
}

void cj__row_image_open(row_kernel *k, cj_reg first_row, cj_reg rows) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   in = cj__row_image_bytes(s, s->in_bytes) * k->op->inputs;
    const unsigned   bytes = (unsigned)cj__most(in, cj__row_image_bytes(s, s->out_bytes) * k->op->outputs);
    cj_reg           images = cj_shared_address(f, cj_shared(f, "u32", "images", s->warps * bytes / 4, 16));
    k->image = cj_mad(f, "image", k->warp, bytes, images);
    k->image_row = cj_sub(f, "image_row", first_row, k->lane);
    cj_reg there = cj_let(f, "s32", "rows_there", "sub.s32 $1, $2, $3;", rows, k->image_row);
    cj_update(f, there, "min", ROW_WARP);
    k->image_left = cj_let(f, "s32", "image_left", "mul.lo.s32 $1, $2, $3;", there, (int64_t)s->columns);
    cj_ptx(f, "sub.s32 $1, $1, $2;", k->image_left, k->lane);
}

// Loads or stores of a lane that are 32 apart.
static unsigned steps_of(const row_kernel *k, unsigned width) { return (unsigned)cj__ceil_div(k->s->columns, width); }
static const char *type_of(const image *m, unsigned width) { return m->bytes * width == 2 ? "b16" : "b32"; }
static unsigned    words_of(const image *m, unsigned width) { return (unsigned)cj__ceil_div(m->bytes * width, 4); }

// Whether the lane has an access number n; always, where all lanes have.
static cj_reg has_access(row_kernel *k, unsigned n, unsigned width) {
    const unsigned all = ROW_WARP * (unsigned)k->s->columns / width;
    if (width == 1) return cj_gt(k->f, "inside", k->image_left, n * ROW_WARP);
    return (n + 1) * ROW_WARP <= all ? cj_always() : cj_lt(k->f, "inside", k->lane, all - n * ROW_WARP);
}

// Where access number n is in the matrix.
static cj_reg place_of(row_kernel *k, const image *m, unsigned n, unsigned width, int64_t *offset) {
    cj_func       *f = k->f;
    const uint64_t columns = k->s->columns, step = ROW_WARP * width * m->bytes;
    *offset = m->stride == columns ? (int64_t)(n * step) : 0;
    if (m->stride == columns) return cj_mad_wide(f, "at", k->lane, width * m->bytes, m->memory);
    cj_reg number = cj_add(f, "number", k->lane, n * ROW_WARP), row = cj_div(f, "in_rows", number, columns);
    cj_reg at = cj_mad_wide(f, "at", row, (m->stride - columns) * m->bytes, m->memory);
    return cj_mad_wide(f, "at", number, m->bytes, at);
}

static cj_reg shared_of(row_kernel *k, const image *m, unsigned width) {
    return cj_mad(k->f, "shared_at", k->lane, width * m->bytes, m->shared);
}

// All loads are in flight before the first one is stored.
static void load_images(row_kernel *k, const image *m, unsigned width) {
    cj_reg word[ROW_INPUTS][ROW_TRANSPOSED][ROW_WORDS], has[ROW_TRANSPOSED];
    for (unsigned n = 0; n < steps_of(k, width); n++) has[n] = has_access(k, n, width);
    for (unsigned i = 0; i < k->op->inputs; i++)
        for (unsigned n = 0; n < steps_of(k, width); n++) {
            int64_t offset;
            cj_reg  at = place_of(k, &m[i], n, width, &offset);
            cj_registers(k->f, type_of(&m[i], width), "moved", words_of(&m[i], width), word[i][n]);
            if (width == 1) cj_set(k->f, word[i][n][0], 0);
            cj__load(k->f, has[n], cj__load_given(k->plan), type_of(&m[i], width), word[i][n], words_of(&m[i], width),
                     at, offset);
        }
    for (unsigned i = 0; i < k->op->inputs; i++) {
        cj_reg to = shared_of(k, &m[i], width);
        for (unsigned n = 0; n < steps_of(k, width); n++)
            cj__store(k->f, width == 1 ? cj_always() : has[n], "st.shared", type_of(&m[i], width), word[i][n],
                      words_of(&m[i], width), to, (int64_t)(n * ROW_WARP * width * m[i].bytes));
    }
}

static void store_image(row_kernel *k, const image *m, unsigned width) {
    cj_reg from = shared_of(k, m, width);
    for (unsigned n = 0; n < steps_of(k, width); n++) {
        int64_t offset;
        cj_reg  word[ROW_WORDS], has = has_access(k, n, width), at = place_of(k, m, n, width, &offset);
        cj_registers(k->f, type_of(m, width), "moved", words_of(m, width), word);
        cj__load(k->f, has, "ld.shared", type_of(m, width), word, words_of(m, width), from,
                 (int64_t)(n * ROW_WARP * width * m->bytes));
        cj__store(k->f, has, cj__row_store_global(k), type_of(m, width), word, words_of(m, width), at, offset);
    }
}

// Whether the warp has fewer than 32 rows: then elements come one by one.
static cj_reg is_part(row_kernel *k) {
    cj_reg all = cj_sub(k->f, "all", (int64_t)(ROW_WARP * k->s->columns), k->lane);
    return cj_let(k->f, "pred", "part", "setp.lt.s32 $1, $2, $3;", k->image_left, all);
}

void cj__row_image_load(row_kernel *k) {
    image m[ROW_INPUTS];
    for (unsigned i = 0; i < k->op->inputs; i++) m[i] = image_of(k, ROW_INPUT, i);
    if (m[0].width == 1) {
        load_images(k, m, 1);
    } else {
        cj_reg part = is_part(k);
        CJ_IF_ELSE(k->f, part, "whole", "loaded") { load_images(k, m, 1); }
        else { load_images(k, m, m[0].width); }
    }
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // I1: the rows are here");
    k->stage_at = cj_mad(k->f, "own_row", k->lane, k->s->columns * k->s->in_bytes, k->image);
    k->written_at = cj_mad(k->f, "own_written", k->lane, k->s->columns * k->s->out_bytes, k->image);
}

void cj__row_image_store(row_kernel *k) {
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // I3: what is written is here");
    for (unsigned o = 0; o < k->op->outputs; o++) {
        const image m = image_of(k, ROW_OUTPUT, o);
        if (m.width == 1) {
            store_image(k, &m, 1);
            continue;
        }
        cj_reg part = is_part(k);
        CJ_IF_ELSE(k->f, part, "whole", "stored") { store_image(k, &m, 1); }
        else { store_image(k, &m, m.width); }
    }
}

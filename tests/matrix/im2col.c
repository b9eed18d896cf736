// SPDX-License-Identifier: Apache-2.0
#include "im2col.h"

#include <clusterjit/kernel.h>
#include <clusterjit/tensormap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

// The most that draw makes: 40 channels of 4 bytes, 7 x 7 x 7 x 7 pixels.
enum { RANDOM_SHAPES = 40, TENSOR_BYTES = 40 * 4 * 7 * 7 * 7 * 7, OUT_BYTES = 1 << 16, THREADS = 128 };

// Elements are u32, so that sums and bytes are easily compared; dimensions as in the tensor map: C, W, (H, (D,)) N.
typedef struct shape {
    unsigned             rank;
    uint64_t             dims[5];
    int32_t              lower[3], upper[3], at[5];
    uint32_t             channels, pixels, steps[5];
    uint16_t             offset[3];
    cj_tensormap_swizzle swizzle;
} shape;

static const shape shapes[] = {
    {3, {8, 10, 3}, {0}, {0}, {0, 0, 0}, 4, 20, {1, 1, 1}, {0}, 0},    // into the next image
    {3, {8, 10, 3}, {-1}, {1}, {4, -1, 1}, 8, 30, {1, 1, 1}, {0}, 0},  // over both edges, and the end
    {3, {8, 16, 2}, {-2}, {-2}, {0, 4, 0}, 8, 12, {1, 3, 1}, {2}, CJ_TENSORMAP_SWIZZLE_32B},
    {4, {8, 7, 5, 3}, {0, 0}, {0, 0}, {0, 2, 1, 0}, 4, 60, {1, 1, 1, 1}, {0, 0}, 0},
    {4, {16, 9, 9, 2}, {-1, -2}, {-1, 0}, {0, 3, 1, 0}, 16, 64, {1, 1, 1, 1}, {2, 1}, CJ_TENSORMAP_SWIZZLE_64B},
    {4, {32, 12, 8, 2}, {-1, -1}, {-1, -1}, {0, 1, -1, 0}, 32, 40, {1, 2, 3, 1}, {1, 2}, CJ_TENSORMAP_SWIZZLE_128B},
    {5, {8, 5, 4, 3, 2}, {-1, 0, -1}, {1, -1, 0}, {4, 2, 1, 0, 0}, 8, 100, {1, 1, 1, 1, 1}, {0, 1, 1}, 0},
    {5,
     {8, 6, 6, 6, 2},
     {-2, -2, -2},
     {0, 0, 0},
     {0, -2, 1, 2, 0},
     8,
     90,
     {1, 2, 1, 2, 1},
     {2, 1, 0},
     CJ_TENSORMAP_SWIZZLE_32B},
};

// ---- kernels

#define HEAD                                                                                                      \
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"                    \
    ".visible .entry kernel(.param .u64 out, .param .align 64 .b8 map[128], .param .u32 words,\n"                 \
    "                       .param .align 4 .b8 at[20], .param .align 2 .b8 offset[6])\n{\n"                      \
    "    .shared .align 8 .b64 bar;\n    .reg .b32 %r<24>, %c<5>;\n    .reg .b64 %l<8>;\n    .reg .b16 %h<4>;\n"  \
    "    .reg .pred %p<8>;\n    ld.param.u64 %l0, [out];\n    mov.b64 %l1, map;\n    cvta.param.u64 %l1, %l1;\n"  \
    "    ld.param.u32 %r3, [words];\n    ld.param.u32 %c0, [at];\n    ld.param.u32 %c1, [at + 4];\n"              \
    "    ld.param.u32 %c2, [at + 8];\n    ld.param.u32 %c3, [at + 12];\n    ld.param.u32 %c4, [at + 16];\n"       \
    "    ld.param.u16 %h0, [offset];\n    ld.param.u16 %h1, [offset + 2];\n    ld.param.u16 %h2, [offset + 4];\n" \
    "    mov.u32 %r0, %tid.x;\n    setp.eq.u32 %p0, %r0, 0;\n    shl.b32 %r2, %r3, 2;\n"                          \
    "    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;\n"
// Each word of shared memory and of `out` by one thread.
#define WORDS(name, lines)                                                                                 \
    "    mov.u32 %r4, %r0;\n" name ":\n    setp.lt.u32 %p2, %r4, %r3;\n    @!%p2 bra " name "_end;\n"      \
    "    mov.u32 %r5, tile;\n    mad.lo.u32 %r5, %r4, 4, %r5;\n    mad.wide.u32 %l2, %r4, 4, %l0;\n" lines \
    "    add.u32 %r4, %r4, 128;\n    bra " name ";\n" name "_end:\n"
#define PUBLISH "    fence.mbarrier_init.release.cluster;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
// Gives up after a while: then the words are wrong.
#define WAIT                                                                                                      \
    "    mov.u32 %r10, 0;\nwait:\n    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"                  \
    "    add.u32 %r10, %r10, 1;\n    setp.lt.u32 %p3, %r10, 100000;\n    @%p1 bra arrived;\n    @%p3 bra wait;\n" \
    "arrived:\n"
#define DONE "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\ndone:\n    ret;\n}\n"

static const char *const coordinates[] = {"%c0, %c1, %c2", "%c0, %c1, %c2, %c3", "%c0, %c1, %c2, %c3, %c4"};
static const char *const offsets[] = {"%h0", "%h0, %h1", "%h0, %h1, %h2"};

static bool loads(cj_im2col_way way) { return way == CJ_IM2COL_LOAD || way == CJ_IM2COL_PREFETCH; }

void cj_im2col_ptx(char *ptx, unsigned rank, cj_im2col_way way) {
    static const char *const begin[] = {
        [CJ_IM2COL_LOAD] = HEAD  WORDS("clear", "    st.shared.u32 [%r5], 0;\n") PUBLISH "    @!%p0 bra loaded;\n",
        [CJ_IM2COL_STORE] = HEAD WORDS("fill", "    ld.global.u32 %r6, [%l2];\n    st.shared.u32 [%r5], %r6;\n") PUBLISH
        "    @!%p0 bra done;\n"};
    const char *c = coordinates[rank - 3], *o = offsets[rank - 3];
    size_t      length = (size_t)snprintf(
             ptx, CJ_IM2COL_PTX, "%s",
             begin[loads(way) ? CJ_IM2COL_LOAD : CJ_IM2COL_STORE]);
    if (way == CJ_IM2COL_PREFETCH)
        length += (size_t)snprintf(ptx + length, CJ_IM2COL_PTX - length,
                                   "    cp.async.bulk.prefetch.tensor.%ud.L2.global.im2col [%%l1, {%s}], {%s};\n", rank,
                                   c, o);
    if (loads(way))
        snprintf(ptx + length, CJ_IM2COL_PTX - length,
                 "    ld.global.u32 %%r7, [%%l0];\n    mbarrier.arrive.expect_tx.shared::cta.b64 %%l3, [bar], %%r7;\n"
                 "    cp.async.bulk.tensor.%ud.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [tile], "
                 "[%%l1, {%s}], [bar], {%s};\nloaded:\n%s",
                 rank, c, o,
                 WAIT "    bar.sync 0;\n" WORDS(
                     "copy", "    ld.shared.u32 %r6, [%r5];\n    st.global.u32 [%l2], %r6;\n") "    "
                                                                                               "ret;\n}\n");
    else
        snprintf(ptx + length, CJ_IM2COL_PTX - length,
                 "    %s.tensor.%ud.global.shared::cta%s.im2col_no_offs.bulk_group [%%l1, {%s}], [tile];\n%s",
                 way == CJ_IM2COL_ADD ? "cp.reduce.async.bulk" : "cp.async.bulk", rank,
                 way == CJ_IM2COL_ADD ? ".add" : "", c, DONE);
}

// ---- the reference

static uint32_t pitch_of(const shape *s) { return s->swizzle ? 16u << s->swizzle : s->channels * 4; }

// Where channel c of pixel p lies in shared memory.
static uint32_t shared_at(const shape *s, uint32_t p, uint32_t c) {
    const uint32_t at = p * pitch_of(s) + 4 * c, key = at / 128 % 8;
    return s->swizzle ? at ^ (key & ((1u << s->swizzle) - 1)) << 4 : at;
}

// The byte of the tensor where a pixel's channel lies, or -1: outside.
static int64_t tensor_at(const shape *s, const int64_t pixel[5], bool moved, uint32_t c) {
    int64_t at = 0, stride = 4;
    for (unsigned i = 0; i < s->rank; i++) {
        const bool    is_space = i && i < s->rank - 1;
        const int64_t index = i == 0 ? s->at[0] + (int64_t)c : pixel[i] + (is_space && moved ? s->offset[i - 1] : 0);
        if (index < 0 || index >= (int64_t)s->dims[i]) return -1;
        at += index * stride;
        stride *= (int64_t)s->dims[i];
    }
    return at;
}

// The next pixel of a walk: a step in W; at the end of the bounding box from its other end, and a step in H; and so on.
static void walk(const shape *s, int64_t pixel[5]) {
    for (unsigned i = 1; i < s->rank; i++) {
        pixel[i] += s->steps[i];
        if (i == s->rank - 1 || pixel[i] <= (int64_t)s->dims[i] - 1 + s->upper[i - 1]) return;
        pixel[i] = s->lower[i - 1];
    }
}

static void expect_load(const shape *s, const unsigned char *tensor, unsigned char *shared) {
    int64_t pixel[5];
    for (unsigned i = 0; i < 5; i++) pixel[i] = s->at[i];
    for (uint32_t p = 0; p < s->pixels; p++, walk(s, pixel)) {
        for (uint32_t c = 0; c < s->channels; c++) {
            const int64_t at = tensor_at(s, pixel, true, c);
            if (at >= 0) memcpy(shared + shared_at(s, p, c), tensor + at, 4);
        }
    }
}

static void expect_store(const shape *s, bool adds, unsigned char *tensor, const unsigned char *shared) {
    int64_t pixel[5];
    for (unsigned i = 0; i < 5; i++) pixel[i] = s->at[i];
    for (uint32_t p = 0; p < s->pixels; p++, walk(s, pixel)) {
        for (uint32_t c = 0; c < s->channels; c++) {
            uint32_t      value, before = 0;
            const int64_t at = tensor_at(s, pixel, false, c);
            if (at < 0) continue;
            memcpy(&value, shared + shared_at(s, p, c), 4);
            if (adds) memcpy(&before, tensor + at, 4);
            value += before;
            memcpy(tensor + at, &value, 4);
        }
    }
}

// ---- runs

typedef struct bench {
    cj_device    *device;
    cj_ptr        tensor, out;
    unsigned char tensor_bytes[TENSOR_BYTES], out_bytes[OUT_BYTES];
} bench;

static cj_status encode(const bench *b, const shape *s, cj_tensormap *map, cj_error *error) {
    uint64_t strides[4] = {s->dims[0] * 4};
    for (unsigned i = 1; i + 1 < s->rank; i++) strides[i] = strides[i - 1] * s->dims[i];
    return cj_tensormap_encode_im2col(b->device, map, CJ_TENSORMAP_U32, s->rank, b->tensor, s->dims, strides, s->lower,
                                      s->upper, s->channels, s->pixels, s->steps, CJ_TENSORMAP_INTERLEAVE_NONE,
                                      s->swizzle, CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, error);
}

static cj_status launch(bench *b, const shape *s, cj_im2col_way way, uint32_t words, cj_error *error) {
    char         ptx[CJ_IM2COL_PTX];
    cj_tensormap map;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    shape        copy = *s;
    cj_im2col_ptx(ptx, s->rank, way);
    cj_status status = encode(b, s, &map, error);
    if (!status) status = cj_mem_write(b->device, b->tensor, b->tensor_bytes, TENSOR_BYTES, NULL, error);
    if (!status) status = cj_mem_write(b->device, b->out, b->out_bytes, OUT_BYTES, NULL, error);
    if (!status) status = cj_module_from_ptx(b->device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, "kernel", &function, error);
    if (!status) {
        const cj_launch_config config = {CJ_INIT(config),
                                         .function = function,
                                         .grid = {1, 1, 1},
                                         .block = {THREADS, 1, 1},
                                         .dynamic_shared = words * 4,
                                         .arguments = (void *[]){&b->out, &map, &words, copy.at, copy.offset},
                                         .argument_count = 5};
        status = cj_launch(b->device, &config, error);
    }
    if (!status) status = cj_mem_read(b->device, b->tensor_bytes, b->tensor, TENSOR_BYTES, NULL, error);
    if (!status) status = cj_mem_read(b->device, b->out_bytes, b->out, OUT_BYTES, NULL, error);
    cj_module_unload(module);
    return status;
}

static bool fails(const shape *s, cj_im2col_way way, const char *why) {
    print_error("rank %u, way %d, box from %d %d %d to %d %d %d, at %d %d %d %d %d, %u channels of %u pixels: %s\n",
                s->rank, (int)way, s->lower[0], s->lower[1], s->lower[2], s->upper[0], s->upper[1], s->upper[2],
                s->at[0], s->at[1], s->at[2], s->at[3], s->at[4], s->channels, s->pixels, why);
    return false;
}

static bool succeeds(bench *b, const shape *s, cj_im2col_way way, uint64_t *random) {
    static unsigned char tensor[TENSOR_BYTES], out[OUT_BYTES];
    const uint32_t       bytes = (s->pixels * pitch_of(s) + 127) / 128 * 128, transferred = s->pixels * s->channels * 4;
    cj_error             error = {0};
    for (size_t i = 0; i < TENSOR_BYTES; i++) b->tensor_bytes[i] = tensor[i] = (unsigned char)cj_test_random(random);
    for (size_t i = 0; i < OUT_BYTES; i++) b->out_bytes[i] = out[i] = (unsigned char)cj_test_random(random);
    if (loads(way)) {
        memcpy(b->out_bytes, &transferred, sizeof transferred);
        memset(out, 0, bytes);
        expect_load(s, tensor, out);
    } else {
        expect_store(s, way == CJ_IM2COL_ADD, tensor, out);
    }
    if (launch(b, s, way, bytes / 4, &error)) return fails(s, way, error.message);
    if (memcmp(b->tensor_bytes, tensor, TENSOR_BYTES)) return fails(s, way, "the tensor is wrong");
    return !memcmp(b->out_bytes, out, bytes) || fails(s, way, "the column is wrong");
}

static int32_t between(uint64_t *random, int32_t least, int32_t most) {
    return least + (int32_t)(cj_test_random(random) % (uint64_t)(most - least + 1));
}

static shape draw(uint64_t *random) {
    shape s = {.rank = (unsigned)between(random, 3, 5), .pixels = (uint32_t)between(random, 1, 200)};
    s.channels = 4u << between(random, 0, 3);
    s.dims[0] = s.channels + (uint64_t)between(random, 0, 2) * 4;
    s.at[0] = 4 * between(random, -1, 1);  // copies begin at multiples of 16 bytes
    s.swizzle = s.channels == 32   ? CJ_TENSORMAP_SWIZZLE_128B  // a pixel fills a row of the pattern
                : s.channels == 16 ? CJ_TENSORMAP_SWIZZLE_64B
                : s.channels == 8  ? CJ_TENSORMAP_SWIZZLE_32B
                                   : CJ_TENSORMAP_SWIZZLE_NONE;
    if (between(random, 0, 1)) s.swizzle = CJ_TENSORMAP_SWIZZLE_NONE;
    for (unsigned i = 0; i < 5; i++) s.steps[i] = 1;
    for (unsigned i = 1; i < s.rank; i++) {
        s.dims[i] = (uint64_t)between(random, 4, 7);
        s.at[i] = between(random, 0, (int32_t)s.dims[i] - 1);
        if (i == s.rank - 1) break;
        s.lower[i - 1] = between(random, -3, 1);
        s.upper[i - 1] = between(random, -2, 3);
        s.steps[i] = (uint32_t)between(random, 1, 3);
        s.offset[i - 1] = (uint16_t)between(random, 0, 3);
        const int32_t last = (int32_t)s.dims[i] - 1 + s.upper[i - 1];
        s.at[i] = s.lower[i - 1] +
                  (int32_t)s.steps[i] * between(random, 0, (last - s.lower[i - 1]) / (int32_t)s.steps[i]);
    }
    return s;
}

// What may be stored: a column that begins in the tensor and in its bounding box, which does not leave the tensor. No page
// says so, but an H200 stops every other one as an illegal instruction.
static shape storable(shape s) {
    if (s.at[0] < 0) s.at[0] = 0;
    for (unsigned i = 1; i + 1 < s.rank; i++) {
        if (s.lower[i - 1] < 0) s.lower[i - 1] = 0;
        if (s.upper[i - 1] > 0) s.upper[i - 1] = 0;
        const int32_t last = (int32_t)s.dims[i] - 1 + s.upper[i - 1];
        if (s.at[i] < s.lower[i - 1]) s.at[i] = s.lower[i - 1];
        if (s.at[i] > last) s.at[i] = last;
    }
    return s;
}

unsigned cj_im2col_run(cj_device *device, uint64_t seed) {
    bench   *b = calloc(1, sizeof *b);
    unsigned failed = 0;
    cj_error error = {0};
    assert_non_null(b);
    b->device = device;
    cj_test_ok(cj_mem_alloc(device, TENSOR_BYTES, &b->tensor, &error), &error);
    cj_test_ok(cj_mem_alloc(device, OUT_BYTES, &b->out, &error), &error);
    for (unsigned k = 0; k < CJ_TEST_COUNT(shapes) + RANDOM_SHAPES; k++) {
        const shape s = k < CJ_TEST_COUNT(shapes) ? shapes[k] : draw(&seed);
        const shape stored = storable(s);
        for (unsigned way = CJ_IM2COL_LOAD; way <= CJ_IM2COL_PREFETCH; way++)
            failed += !succeeds(b, loads((cj_im2col_way)way) ? &s : &stored, (cj_im2col_way)way, &seed);
    }
    cj_mem_free(device, b->tensor);
    cj_mem_free(device, b->out);
    free(b);
    return failed;
}

// SPDX-License-Identifier: Apache-2.0
// The matrix product as a typed call: a description becomes the family's parameters, pointers become tensor maps.
#include <clusterjit/gemm.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "gemm.h"

struct cj_gemm {
    cj_kernel   *kernel;
    cj_device   *device;
    cj_gemm_desc desc;
};

// ---- from a description to parameters

static const char *const orders[] = {"row", "column"};
static const char *const tile_words[] = {"auto", "128x256", "128x128", "64x256", "64x128", "64x64"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cj_status set_extent(cj_params *params, const char *name, uint64_t value, cj_error *error) {
    if (!value) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: 0 is below 1: there is nothing to multiply", name);
    return cj__call_number(params, name, value, error);
}

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_gemm_desc *desc = from;
    cj_status           status = cj__call_family(params, "gemm", error);
    if (!status) status = set_extent(params, "m", desc->m, error);
    if (!status) status = set_extent(params, "n", desc->n, error);
    if (!status) status = set_extent(params, "k", desc->k, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_word(params, "a", orders, COUNT(orders), (unsigned)desc->a, error);
    if (!status) status = cj__call_word(params, "b", orders, COUNT(orders), (unsigned)desc->b, error);
    if (!status) status = cj__call_word(params, "d", orders, COUNT(orders), (unsigned)desc->d, error);
    if (!status) status = cj_params_set(params, "c", desc->adds_c ? "yes" : "no", error);
    if (!status) status = cj__call_word(params, "tile", tile_words, COUNT(tile_words), (unsigned)desc->tile, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "cluster-n", desc->cluster_n, error);
    return status;
}

// ---- tensor maps

// One matrix of a launch: its name, where it is, and how far it is from one row (column) to the next.
typedef struct matrix {
    const char *name, *leading_name;
    cj_ptr      address;
    uint64_t    leading;  // elements; 0: as close as can be
} matrix;

enum { ELEMENT_BYTES = 2, ALIGNMENT = 16, ALIGNED_ELEMENTS = ALIGNMENT / ELEMENT_BYTES };

static cj_status check_matrix(const matrix *x, uint64_t leading, uint64_t least, cj_error *error) {
    if (x->address % ALIGNMENT)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: 0x%" PRIx64 " is not a multiple of %d", x->name,
                        (uint64_t)x->address, ALIGNMENT);
    if (leading < least)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: %" PRIu64 " elements are less than the %" PRIu64 " that follow each other",
                        x->leading_name, leading, least);
    if (leading % ALIGNED_ELEMENTS == 0) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %" PRIu64 " elements of %d bytes are not a multiple of %d bytes",
             x->leading_name, leading, ELEMENT_BYTES, ALIGNMENT);
    cj__hint(error, "leave room behind each row (column): %" PRIu64 " is a multiple",
             (leading + ALIGNED_ELEMENTS - 1) / ALIGNED_ELEMENTS * ALIGNED_ELEMENTS);
    return CJ_INVALID_ARGUMENT;
}

static cj_status encode(cj_device *device, const gemm_shape *g, unsigned which, const matrix *x, cj_tensormap *map,
                        cj_error *error) {
    static const uint32_t ones[] = {1, 1};
    gemm_map              m;
    cj__gemm_map(g, which, &m);
    const uint64_t leading = x->leading ? x->leading : m.dims[0], stride = leading * ELEMENT_BYTES;
    cj_status      status = check_matrix(x, leading, m.dims[0], error);
    if (status) return status;
    return cj_tensormap_encode_tiled(device, map, strcmp(g->type, "f16") ? CJ_TENSORMAP_BF16 : CJ_TENSORMAP_F16, 2,
                                     x->address, m.dims, &stride, m.box, ones, CJ_TENSORMAP_INTERLEAVE_NONE,
                                     CJ_TENSORMAP_SWIZZLE_128B, CJ_TENSORMAP_L2_128B, CJ_TENSORMAP_FILL_ZEROS, error);
}

cj_status cj_gemm_kernel_launch(cj_device *device, cj_kernel *kernel, const cj_gemm_desc *desc,
                                const cj_gemm_operands *operands, cj_stream stream, cj_error *error) {
    const matrix a = {"a", "lda", operands->a, desc->lda}, b = {"b", "ldb", operands->b, desc->ldb};
    const matrix c = {"c", "ldc", operands->c, desc->ldc}, d = {"d", "ldd", operands->d, desc->ldd};
    cj_tensormap map[GEMM_MAPS];
    float        alpha = operands->alpha, beta = operands->beta;
    gemm_shape   g;
    cj__gemm_read(&cj_kernel_plan(kernel)->params, &g);
    cj_status status = encode(device, &g, GEMM_MAP_A, g.flipped ? &b : &a, &map[GEMM_MAP_A], error);
    if (!status) status = encode(device, &g, GEMM_MAP_B, g.flipped ? &a : &b, &map[GEMM_MAP_B], error);
    if (!status) status = encode(device, &g, GEMM_MAP_C, g.adds_c ? &c : &d, &map[GEMM_MAP_C], error);
    if (!status) status = encode(device, &g, GEMM_MAP_D, &d, &map[GEMM_MAP_D], error);
    void *arguments[] = {&map[GEMM_MAP_A], &map[GEMM_MAP_B], &map[GEMM_MAP_C], &map[GEMM_MAP_D], &alpha, &beta};
    return status ? status : cj_kernel_launch(kernel, stream, arguments, COUNT(arguments), error);
}

// ---- the handle

cj_status cj_gemm_create(cj_device *device, const cj_gemm_desc *desc, cj_gemm **gemm, cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **gemm, &made, error);
    *gemm = made;
    if (!made) return status;
    (*gemm)->device = device;
    (*gemm)->desc = *desc;
    return CJ_OK;
}

void cj_gemm_destroy(cj_gemm *gemm) { cj__call_destroy(gemm); }

cj_status cj_gemm_run(cj_gemm *gemm, const cj_gemm_operands *operands, cj_stream stream, cj_error *error) {
    return cj_gemm_kernel_launch(gemm->device, gemm->kernel, &gemm->desc, operands, stream, error);
}

const cj_kernel *cj_gemm_kernel(const cj_gemm *gemm) { return gemm->kernel; }

// What the kernel of a one-call product depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint32_t     m, n, k, dtype, cluster, cluster_n;
    uint8_t      a, b, d, adds_c, tile, unused[3];
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

// No kernel is made of what does not fit.
static uint32_t narrow(uint64_t value, uint32_t most) { return value < most ? (uint32_t)value : most; }

static void write_key(const cj_gemm_desc *desc, cj_stream stream, cj_warm_key *to) {
    call_key key;
    memset(&key, 0, sizeof key);
    key.family = tile_words;  // no other family's keys begin with this address
    key.on = cj__stream_id(stream);
    key.m = narrow(desc->m, UINT32_MAX);
    key.n = narrow(desc->n, UINT32_MAX);
    key.k = narrow(desc->k, UINT32_MAX);
    key.dtype = (uint32_t)desc->dtype;
    key.cluster = desc->cluster;
    key.cluster_n = desc->cluster_n;
    key.a = (uint8_t)narrow((uint64_t)desc->a, UINT8_MAX);
    key.b = (uint8_t)narrow((uint64_t)desc->b, UINT8_MAX);
    key.d = (uint8_t)narrow((uint64_t)desc->d, UINT8_MAX);
    key.adds_c = desc->adds_c;
    key.tile = (uint8_t)narrow((uint64_t)desc->tile, UINT8_MAX);
    cj__call_key(to, &key, sizeof key);
}

cj_status cj_gemm_launch(cj_device *device, const cj_gemm_desc *desc, const cj_gemm_operands *operands,
                         cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    REQUIRE(operands);
    cj_warm_key key;
    cj_kernel  *kernel;
    write_key(desc, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    return status ? status : cj_gemm_kernel_launch(device, kernel, desc, operands, stream, error);
}

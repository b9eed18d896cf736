// SPDX-License-Identifier: Apache-2.0
// The typed call of the matrix product: converts a description to the family's parameters, and pointers to tensor maps.
#include <clusterjit/gemm.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "mma.h"
#include "recent.h"
#include "skinny.h"

// ---- from a description to parameters

static const char *const orders[] = {"row", "column"};
static const char *const tile_words[] = {"auto",    "128x256", "128x128", "64x256",  "64x128", "64x64",
                                         "256x128", "128x64",  "32x128",  "16x128",  "16x64",  "16x32",
                                         "16x16",   "128x224", "128x192", "128x160", "128x96", "64x192",
                                         "64x160",  "64x96",   "192x192", "192x160", "192x128"};
static const char *const form_words[] = {"auto", "wgmma", "mma", "skinny"};

static const char *const out_words[] = {"auto", "bf16", "f16", "f32", "e4m3", "e5m2", "i8", "i32", "f64"};
static const char *const bias_words[] = {"none", "n", "m"};
static const char *const activation_words[] = {"none", "relu", "gelu", "silu"};

// Operands of a batch without a stride are shared by all of its products.
static cj_status describe_batch(const cj_gemm_desc *desc, cj_params *params, cj_error *error) {
    static const char *const words[] = {"none", "a", "b", NULL, "c", "ac", "bc"};
    const bool               c = desc->adds_c && !desc->stride_c;
    const unsigned           shared = !desc->stride_a + 2u * !desc->stride_b + 4u * c;
    if (desc->batch < 2) return CJ_OK;
    if (!desc->stride_a && !desc->stride_b)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "stride_a, stride_b: both 0: all %u products would be the same",
                        (unsigned)desc->batch);
    cj_status status = cj__call_number(params, "batch", desc->batch, error);
    return status ? status : cj_params_set(params, "shared", words[shared], error);
}

static cj_status describe_results(const cj_gemm_desc *desc, cj_params *params, cj_error *error) {
    const unsigned out = (unsigned)desc->out, bias = (unsigned)desc->bias, activation = (unsigned)desc->activation;
    cj_status      status = CJ_OK;
    if (desc->dtype_b && desc->dtype_b != desc->dtype) status = cj__call_dtype(params, "dtype-b", desc->dtype_b, error);
    if (!status) status = cj__call_word(params, "out", WORDS(out_words), out, error);
    if (!status) status = cj__call_word(params, "bias", WORDS(bias_words), bias, error);
    if (!status) status = cj__call_word(params, "activation", WORDS(activation_words), activation, error);
    return status ? status : describe_batch(desc, params, error);
}

// A leading dimension must be at least the extent of the dimension that is contiguous.
static cj_status check_leading(const cj_gemm_desc *desc, cj_error *error) {
    const struct {
        const char *name;
        uint64_t    leading, least;
    } rows[] = {{"lda", desc->lda, desc->a ? desc->m : desc->k},
                {"ldb", desc->ldb, desc->b ? desc->k : desc->n},
                {"ldc", desc->adds_c ? desc->ldc : 0, desc->d ? desc->m : desc->n},
                {"ldd", desc->ldd, desc->d ? desc->m : desc->n}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].leading || rows[i].leading >= rows[i].least) continue;
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "%s: %" PRIu64 " elements are less than the %" PRIu64 " that follow each other", rows[i].name,
                 rows[i].leading, rows[i].least);
        cj__hint(error, "leave it 0 for matrices without gaps");
        return CJ_INVALID_ARGUMENT;
    }
    return CJ_OK;
}

// Where lines begin, if gaps between them make that other than their lengths say.
static cj_status describe_lines(const cj_gemm_desc *desc, cj_params *params, cj_error *error) {
    enum { LINE = 128 };  // bytes that L2 reads at once
    const struct {
        uint64_t leading, length;
    } rows[] = {{desc->lda, desc->a ? desc->m : desc->k}, {desc->ldb, desc->b ? desc->k : desc->n}};
    const uint64_t bytes = cj_dtype_size(desc->dtype);
    bool           is_cut = false, differs = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t leading = rows[i].leading ? rows[i].leading : rows[i].length;
        const bool     cut = leading * bytes % LINE != 0;
        is_cut |= cut;
        differs |= cut != (rows[i].length * bytes % LINE != 0);
    }
    return differs ? cj_params_set(params, "lines", is_cut ? "cut" : "whole", error) : CJ_OK;
}

// Bytes of an element of a matrix; 1 where the description has no type, which is refused.
static uint32_t element_of(const cj_gemm_desc *desc, unsigned which) {
    static const uint8_t out[] = {0, 2, 2, 4, 1, 1, 1, 4, 8};  // in the order of cj_gemm_out
    const uint32_t       of_a = (uint32_t)cj_dtype_size(desc->dtype), asked = (unsigned)desc->out < sizeof out ? out[desc->out] : 0;
    const bool           is_integer = desc->dtype == CJ_I8 || desc->dtype == CJ_U8;
    const uint32_t       of_d = asked ? asked : is_integer ? 4 : of_a == 1 ? 2 : of_a;
    const uint32_t       bytes = which < GEMM_MAP_C ? of_a : which == GEMM_MAP_C && of_d == 1 ? 2 : of_d;
    return bytes ? bytes : 1;
}

// Bytes that all lines of a matrix begin at multiples of, 16 at most and at least an element's, if its address is a multiple of `address`.
static uint32_t align_of(const cj_gemm_desc *desc, unsigned which, uint64_t address) {
    const uint64_t length[GEMM_MAPS] = {desc->a ? desc->m : desc->k, desc->b ? desc->k : desc->n, desc->d ? desc->m : desc->n,
                                        desc->d ? desc->m : desc->n};
    const uint64_t leading[GEMM_MAPS] = {desc->lda, desc->ldb, desc->ldc, desc->ldd};
    const uint64_t stride[GEMM_MAPS] = {desc->stride_a, desc->stride_b, desc->stride_c, desc->stride_d};
    const uint32_t element = element_of(desc, which);
    const uint64_t line = leading[which] ? leading[which] : length[which], product = desc->batch > 1 ? stride[which] : 0;
    const uint64_t bits = address | line * element | product * element | GEMM_ALIGN, least = bits & -bits;
    return least > element ? (uint32_t)least : element;
}

static cj_status describe_align(const cj_gemm_desc *desc, cj_params *params, cj_error *error) {
    static const char *const names[GEMM_MAPS] = {"align-a", "align-b", "align-c", "align-d"};
    const uint32_t           said[GEMM_MAPS] = {desc->align_a, desc->align_b, desc->align_c, desc->align_d};
    cj_status                status = CJ_OK;
    for (unsigned i = 0; !status && i < GEMM_MAPS; i++) {
        const uint32_t align = align_of(desc, i, said[i]);
        if (said[i] > GEMM_ALIGN || said[i] & (said[i] - 1))
            return cj__fail(error, CJ_INVALID_ARGUMENT, "align_%c: %" PRIu32 " is none of 16, 8, 4, 2, 1" CJ_HINT "0 stands for 16", "abcd"[i],
                            said[i]);
        if (align < GEMM_ALIGN && (i != GEMM_MAP_C || desc->adds_c)) status = cj__call_number(params, names[i], align, error);
    }
    return status;
}

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_gemm_desc *desc = from;
    cj_status           status = cj__call_family(params, "gemm", error);
    if (!status) status = cj__call_extent(params, "m", desc->m, "multiply", error);
    if (!status) status = cj__call_extent(params, "n", desc->n, "multiply", error);
    if (!status) status = cj__call_extent(params, "k", desc->k, "multiply", error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_word(params, "a", WORDS(orders), (unsigned)desc->a, error);
    if (!status) status = cj__call_word(params, "b", WORDS(orders), (unsigned)desc->b, error);
    if (!status) status = cj__call_word(params, "d", WORDS(orders), (unsigned)desc->d, error);
    if (!status) status = cj_params_set(params, "c", desc->adds_c ? "yes" : "no", error);
    if (!status) status = cj__call_word(params, "tile", WORDS(tile_words), (unsigned)desc->tile, error);
    if (!status) status = cj__call_word(params, "form", WORDS(form_words), (unsigned)desc->form, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "cluster-n", desc->cluster_n, error);
    if (!status) status = cj__call_number(params, "split", desc->split, error);
    if (!status) status = cj__call_number(params, "parts", desc->parts, error);
    if (!status) status = describe_results(desc, params, error);
    if (!status) status = describe_lines(desc, params, error);
    if (!status) status = check_leading(desc, error);
    return status ? status : describe_align(desc, params, error);
}

// ---- tensor maps

// One matrix of a launch: its name, its address, the distance from one row (column) to the next, and the distance from
// one product's to the next one's.
typedef struct matrix {
    const char *name;
    cj_ptr      address;
    uint64_t    leading;  // elements; 0: rows (columns) without gaps
    uint64_t    stride;
} matrix;

#define STRIDE_END (UINT64_C(1) << 40)  // bytes: a tensor map's strides are below this

// Checks a distance in elements, `what` of the matrix (ld, stride_), which must be at least `least`.
static cj_status check_distance(const char *what, const matrix *x, uint64_t distance, uint64_t least, const gemm_map *m,
                                cj_error *error) {
    const uint32_t bytes = m->type->bytes;
    const uint64_t aligned = m->align / bytes, end = STRIDE_END / bytes;
    if (distance >= end)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s%s: %" PRIu64 " elements of %" PRIu32 " bytes are not below the 2^40 bytes of a tensor map,"
                        " %" PRIu64 " elements",
                        what, x->name, distance, bytes, end);
    if (distance < least)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s%s: %" PRIu64 " elements are less than the %" PRIu64 " that follow each other", what,
                        x->name, distance, least);
    if (distance % aligned == 0) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT,
             "%s%s: %" PRIu64 " elements of %" PRIu32 " bytes are not a multiple of the %" PRIu32 " bytes that the kernel was made for", what,
             x->name, distance, bytes, m->align);
    cj__hint(error,
             "make it with a smaller align-%s, or let rows (columns, products) of %s begin %" PRIu64
             " elements apart: what lies between them is not read",
             x->name, x->name, (distance + aligned - 1) / aligned * aligned);
    return CJ_INVALID_ARGUMENT;
}

// Products that are written must not overlap. `leading` has been checked.
static cj_status check_stride(unsigned which, const matrix *x, const gemm_map *m, uint64_t leading, cj_error *error) {
    const uint64_t rows = m->dims[1], end = STRIDE_END / m->type->bytes;
    if (which != GEMM_MAP_D) return check_distance("stride_", x, x->stride, 1, m, error);
    if (rows - 1 > end / leading)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "ld%s: %" PRIu64 " times %" PRIu64 " elements of %" PRIu32 " bytes are not below the 2^40 bytes"
                        " that can be from one product to the next",
                        x->name, rows, leading, m->type->bytes);
    return check_distance("stride_", x, x->stride, (rows - 1) * leading + m->length, m, error);
}

static const char align_hint[] =
    "say in the description's align_a, align_b, align_c, align_d (align-a … of parameters) what it is a multiple of, at least an element's bytes";

// What a launch is given of one matrix: the elements from a line to the next, and its map as numbers.
static cj_status check_matrix(const gemm_shape *g, unsigned which, const matrix *x, gemm_map *m, uint64_t *leading,
                              cj_error *error) {
    cj__gemm_map(g, which, m);
    *leading = x->leading ? x->leading : m->length;
    cj_status status = cj__call_array(x->name, x->address, m->align, align_hint, error);
    if (!status) status = check_distance("ld", x, *leading, m->length, m, error);
    return status || m->rank < 3 ? status : check_stride(which, x, m, *leading, error);
}

static cj_status encode(cj_device *device, const gemm_shape *g, unsigned which, const matrix *x, cj_tensormap *map,
                        cj_error *error) {
    static const uint32_t ones[] = {1, 1, 1};
    gemm_map              m;
    uint64_t              leading;
    cj_status             status = check_matrix(g, which, x, &m, &leading, error);
    if (status) return status;
    const uint64_t strides[] = {leading * m.type->bytes, x->stride * m.type->bytes};
    return cj_tensormap_encode_tiled(device, map, m.type->in_map, m.rank, x->address, m.dims, strides, m.box, ones,
                                     CJ_TENSORMAP_INTERLEAVE_NONE, m.swizzle, CJ_TENSORMAP_L2_128B,
                                     CJ_TENSORMAP_FILL_ZEROS, error);
}

static cj_status check_scale(const char *name, cj_ptr scale, cj_error *error) {
    return scale ? cj__call_array(name, scale, sizeof(float), NULL, error) : CJ_OK;
}

// Checks the vectors that the kernel reads.
static cj_status check_vectors(const gemm_shape *g, const cj_gemm_operands *operands, cj_error *error) {
    cj_status status = CJ_OK;
    if (g->bias) status = cj__call_array("bias", operands->bias, g->c_type->bytes, NULL, error);
    if (!status && cj__gemm_is_scaled(g)) status = check_scale("scale_a", operands->scale_a, error);
    if (!status && cj__gemm_is_scaled(g)) status = check_scale("scale_b", operands->scale_b, error);
    if (!status && cj__gemm_is_d_scaled(g)) status = check_scale("scale_d", operands->scale_d, error);
    return status;
}

static cj_status check_in_place(const gemm_shape *g, const cj_gemm_operands *operands, cj_error *error) {
    if (!g->adds_c || operands->c != operands->d || g->c_type == g->d_type) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "c: 0x%" PRIx64 " is d, but elements of C are %s and those of D %s",
             (uint64_t)operands->c, g->c_type->name, g->d_type->name);
    cj__hint(error, "c may be d where both have one type: give one of them memory of its own");
    return CJ_INVALID_ARGUMENT;
}

// The factors of f64: those of f32 stand for what is left 0.
typedef struct factors {
    double alpha, beta;
} factors;

static factors factors_of(const cj_gemm_operands *operands) {
    return (factors){operands->alpha_f64 != 0 ? operands->alpha_f64 : (double)operands->alpha,
                     operands->beta_f64 != 0 ? operands->beta_f64 : (double)operands->beta};
}

static bool has_factors_of_f64(const cj_gemm_operands *operands) { return operands->alpha_f64 != 0 || operands->beta_f64 != 0; }

static cj_status check_factors(const cj_kernel *kernel, const cj_gemm_operands *operands, cj_error *error) {
    const cj_params *params = &cj_kernel_plan(kernel)->params;
    const bool       is_alpha = operands->alpha_f64 != 0;
    REFUSE_IF(has_factors_of_f64(operands) && !cj__gemm_multiplies_f64(params),
              "%s_f64: %g, but the kernel does not multiply f64" CJ_HINT "%s, of f32, is the factor of all other types", is_alpha ? "alpha" : "beta",
              is_alpha ? operands->alpha_f64 : operands->beta_f64, is_alpha ? "alpha" : "beta");
    REFUSE_IF(operands->alpha != 1 && cj__gemm_keeps_sums(params), "alpha: %g, but D of i32 is the sums as they are, of alpha 1" CJ_HINT
              "CJ_GEMM_OUT_F32, BF16, F16 and I8 have alpha", (double)operands->alpha);
    return CJ_OK;
}

// What the kernel takes of each matrix, in the order of the maps: the form wgmma tensor maps, mma addresses, leading dimensions
// and strides. `words` are what a kernel stores of its last launch.
typedef union matrices {
    cj_tensormap map[GEMM_MAPS];
    struct {
        uint64_t address[GEMM_MAPS], leading[GEMM_MAPS], stride[GEMM_MAPS];
    } plain;
    uint64_t words[CJ_RECENT_VALUE];
} matrices;

_Static_assert(sizeof(cj_tensormap[GEMM_MAPS]) <= sizeof(uint64_t[CJ_RECENT_VALUE]), "a kernel remembers all its maps");

// Where there is no C, the map of D stands for it, or that of D's boxes of last subtiles.
static cj_status take_map(cj_device *device, const gemm_shape *g, unsigned which, const matrix *x, matrices *to,
                          cj_error *error) {
    cj_status status = encode(device, g, which, x, &to->map[which], error);
    if (status || which != GEMM_MAP_D) return status;
    to->map[GEMM_MAP_C] = to->map[GEMM_MAP_D];
    return cj__gemm_has_last(g) ? encode(device, g, GEMM_MAP_C, x, &to->map[GEMM_MAP_C], error) : CJ_OK;
}

static cj_status take_plain(cj_device *device, const gemm_shape *g, unsigned which, const matrix *x, matrices *to,
                            cj_error *error) {
    gemm_map m;
    (void)device;
    to->plain.address[which] = x->address;
    to->plain.stride[which] = x->stride;
    return check_matrix(g, which, x, &m, &to->plain.leading[which], error);
}

// What a launch knows of a form: how its shape is read from the plan, how its kernel takes a matrix (C last), and as how many
// arguments of how many bytes it takes all; whether it stores the remainder of a line itself.
typedef struct form_call {
    void (*read)(const cj_params *params, gemm_shape *g);
    cj_status (*take)(cj_device *device, const gemm_shape *g, unsigned which, const matrix *x, matrices *to,
                      cj_error *error);
    uint32_t arguments;
    size_t   bytes;
    bool     ends;
} form_call;

enum { PLAIN = sizeof(((matrices *)0)->plain) / sizeof(uint64_t) };

static const form_call forms[] = {
    [GEMM_FORM_WGMMA] = {cj__gemm_read, take_map, GEMM_MAPS, sizeof(cj_tensormap), true},
    [GEMM_FORM_MMA] = {cj__mma_read, take_plain, PLAIN, sizeof(uint64_t), false},
    [GEMM_FORM_SKINNY] = {cj__skinny_read, take_plain, PLAIN, sizeof(uint64_t), false},
};

static const form_call *form_of(const cj_kernel *kernel) {
    return &forms[cj_kernel_plan(kernel)->params.value[GEMM_FORM]];
}

static cj_status check_and_take(cj_device *device, const cj_kernel *kernel, const cj_gemm_desc *desc,
                                const cj_gemm_operands *operands, matrices *to, cj_error *error) {
    const form_call *form = form_of(kernel);
    const matrix a = {"a", operands->a, desc->lda, desc->stride_a}, b = {"b", operands->b, desc->ldb, desc->stride_b};
    const matrix c = {"c", operands->c, desc->ldc, desc->stride_c}, d = {"d", operands->d, desc->ldd, desc->stride_d};
    gemm_shape   g;
    form->read(&cj_kernel_plan(kernel)->params, &g);
    cj_status status = check_vectors(&g, operands, error);
    if (!status) status = form->take(device, &g, g.flipped ? GEMM_MAP_B : GEMM_MAP_A, &a, to, error);
    if (!status) status = form->take(device, &g, g.flipped ? GEMM_MAP_A : GEMM_MAP_B, &b, to, error);
    if (!status) status = form->take(device, &g, GEMM_MAP_D, &d, to, error);
    if (!status) status = check_in_place(&g, operands, error);
    return status || !g.adds_c ? status : form->take(device, &g, GEMM_MAP_C, &c, to, error);
}

// Checks operands and encodes maps if something differs from the kernel's last launch. The kernel's shape is fixed.
static cj_status find_matrices(cj_device *device, cj_kernel *kernel, const cj_gemm_desc *desc,
                               const cj_gemm_operands *operands, matrices *found, cj_error *error) {
    const uint64_t key[CJ_RECENT_KEY] = {operands->a,    operands->b,       operands->c,       operands->d,
                                         desc->lda,      desc->ldb,         desc->ldc,         desc->ldd,
                                         desc->stride_a, desc->stride_b,    desc->stride_c,    desc->stride_d,
                                         operands->bias, operands->scale_a, operands->scale_b, operands->scale_d};
    cj_recent     *recent = cj__kernel_recent(kernel);
    if (cj__recent_get(recent, key, found->words)) return CJ_OK;
    memset(found, 0, sizeof *found);
    cj_status status = check_and_take(device, kernel, desc, operands, found, error);
    if (!status) cj__recent_put(recent, key, found->words);
    return status;
}

cj_status cj_gemm_kernel_launch(cj_device *device, cj_kernel *kernel, const cj_gemm_desc *desc,
                                const cj_gemm_operands *operands, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(kernel);
    SIZED(cj_gemm_desc, desc);
    SIZED(cj_gemm_operands, operands);
    enum { SCALARS = 6, ENDS = 3 };
    matrices         x;
    cj_gemm_operands given = *operands;
    const form_call *form = form_of(kernel);
    uint64_t         leading = desc->ldd, stride = desc->stride_d;  // always given where they are used
    const bool       is_f64 = cj__gemm_multiplies_f64(&cj_kernel_plan(kernel)->params);
    factors          wide = factors_of(operands);
    const bool       is_plain = operands->alpha == 1 && !has_factors_of_f64(operands);
    cj_status        status = is_plain ? CJ_OK : check_factors(kernel, operands, error);
    if (!status) status = find_matrices(device, kernel, desc, operands, &x, error);
    void *alpha = is_f64 ? (void *)&wide.alpha : &given.alpha, *beta = is_f64 ? (void *)&wide.beta : &given.beta;
    void *scalars[SCALARS] = {alpha, beta, &given.bias, &given.scale_a, &given.scale_b, &given.scale_d};
    void *ends[ENDS] = {&given.d, &leading, &stride};
    void *arguments[PLAIN + SCALARS + ENDS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < form->arguments; i++) arguments[count++] = (char *)&x + i * form->bytes;
    for (uint32_t i = 0; i < SCALARS; i++) arguments[count++] = scalars[i];
    const bool takes_ends = form->ends && cj__gemm_takes_ends(cj_kernel_plan(kernel));
    for (uint32_t i = 0; takes_ends && i < ENDS; i++) arguments[count++] = ends[i];
    return status ? status : cj_kernel_launch(kernel, stream, arguments, count, error);
}

// ---- the handle

CALL_HANDLE(cj_gemm)

cj_status cj_gemm_run(cj_gemm *gemm, const cj_gemm_operands *operands, cj_stream stream, cj_error *error) {
    REQUIRE(gemm);
    SIZED(cj_gemm_operands, operands);
    return cj_gemm_kernel_launch(gemm->call.device, gemm->call.kernel, &gemm->desc, operands, stream, error);
}

typedef struct CALL_KEY call_key {
    uint32_t m, n, k, dtype, cluster, cluster_n, dtype_b, batch;
    uint8_t  a, b, d, adds_c, tile, split, parts, out, bias, activation, shares, form;
    uint8_t  align[GEMM_MAPS];  // of addresses and lines
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_gemm_desc *d) {
    const uint32_t align[GEMM_MAPS] = {d->align_a, d->align_b, d->align_c, d->align_d};
    call_key       key = {.m = cj__call_u32(d->m),
                      .n = cj__call_u32(d->n),
                      .k = cj__call_u32(d->k),
                      .dtype = (uint32_t)d->dtype,
                      .cluster = d->cluster,
                      .cluster_n = d->cluster_n,
                      .dtype_b = (uint32_t)d->dtype_b,
                      .batch = d->batch,
                      .a = cj__call_u8(d->a),
                      .b = cj__call_u8(d->b),
                      .d = cj__call_u8(d->d),
                      .adds_c = d->adds_c,
                      .tile = cj__call_u8(d->tile),
                      .split = cj__call_u8(d->split),
                      .parts = cj__call_u8(d->parts),
                      .out = cj__call_u8(d->out),
                      .bias = cj__call_u8(d->bias),
                      .activation = cj__call_u8(d->activation),
                      .shares = (uint8_t)(!d->stride_a + 2 * !d->stride_b + 4 * !d->stride_c),
                      .form = cj__call_u8(d->form)};
    for (unsigned i = 0; i < GEMM_MAPS; i++) key.align[i] = (uint8_t)align_of(d, i, align[i]);
    return key;
}

// The alignment that an address has, for a kernel of that.
static uint32_t align_here(cj_ptr address) { return (uint32_t)((address | GEMM_ALIGN) & -(address | GEMM_ALIGN)); }

cj_status cj_gemm_launch(cj_device *device, const cj_gemm_desc *desc, const cj_gemm_operands *operands,
                         cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_gemm_desc, desc);
    SIZED(cj_gemm_operands, operands);
    cj_kernel   *kernel;
    cj_gemm_desc here = *desc;
    here.align_a = align_here(operands->a);
    here.align_b = align_here(operands->b);
    here.align_c = desc->adds_c ? align_here(operands->c) : GEMM_ALIGN;
    here.align_d = align_here(operands->d);
    const call_key key = key_of(&here);
    cj_status      status = cj__call_kernel(device, describe, &here, &key, sizeof key, stream, &kernel, error);
    return status ? status : cj_gemm_kernel_launch(device, kernel, desc, operands, stream, error);
}

// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind { NUMBER, REAL, DTYPE } field_kind;

// A member of a description: its name in words, where it lies, and for choices the words in the order of their enum.
typedef struct field {
    const char *name;
    size_t      offset, size;
    field_kind  kind;
    const char *choices;
} field;

#define FIELD(desc, member, kind, choices) \
    { #member, offsetof(desc, member), sizeof(((desc *)NULL)->member), kind, choices }
#define COUNT(desc, member) FIELD(desc, member, NUMBER, NULL)
#define SHAPE(desc)                                                                                                    \
    COUNT(desc, shape.rows), COUNT(desc, shape.columns), FIELD(desc, shape.dtype, DTYPE, NULL),                        \
        FIELD(desc, shape.out, NUMBER, "same f32 f16 bf16"), COUNT(desc, shape.stride), COUNT(desc, shape.out_stride), \
        COUNT(desc, shape.align)

static const field reduce_fields[] = {
    COUNT(cj_reduce_desc, n),
    FIELD(cj_reduce_desc, op, NUMBER, "sum min max product argmin argmax mean meanvar"),
    FIELD(cj_reduce_desc, dtype, DTYPE, NULL),
    {0}};
static const field softmax_fields[] = {SHAPE(cj_softmax_desc),
                                       COUNT(cj_softmax_desc, log),
                                       COUNT(cj_softmax_desc, backward),
                                       COUNT(cj_softmax_desc, mask),
                                       FIELD(cj_softmax_desc, scale, REAL, NULL),
                                       COUNT(cj_softmax_desc, mask_rows),
                                       {0}};
static const field norm_fields[] = {SHAPE(cj_norm_desc),
                                    FIELD(cj_norm_desc, kind, NUMBER, "rms layer"),
                                    COUNT(cj_norm_desc, backward),
                                    COUNT(cj_norm_desc, weight),
                                    COUNT(cj_norm_desc, bias),
                                    COUNT(cj_norm_desc, residual),
                                    COUNT(cj_norm_desc, stats),
                                    COUNT(cj_norm_desc, weight_gradient),
                                    COUNT(cj_norm_desc, bias_gradient),
                                    FIELD(cj_norm_desc, epsilon, REAL, NULL),
                                    {0}};
static const field crossentropy_fields[] = {SHAPE(cj_crossentropy_desc),
                                            FIELD(cj_crossentropy_desc, label, DTYPE, NULL),
                                            FIELD(cj_crossentropy_desc, smoothing, REAL, NULL),
                                            COUNT(cj_crossentropy_desc, gradient),
                                            FIELD(cj_crossentropy_desc, scale, REAL, NULL),
                                            {0}};
static const field topk_fields[] = {COUNT(cj_topk_desc, rows),     COUNT(cj_topk_desc, columns),
                                    COUNT(cj_topk_desc, k),        FIELD(cj_topk_desc, dtype, DTYPE, NULL),
                                    COUNT(cj_topk_desc, smallest), COUNT(cj_topk_desc, index_u32),
                                    COUNT(cj_topk_desc, stride),   COUNT(cj_topk_desc, align),
                                    COUNT(cj_topk_desc, unsorted), {0}};
static const field sort_fields[] = {
    COUNT(cj_sort_desc, rows),          COUNT(cj_sort_desc, columns),        FIELD(cj_sort_desc, dtype, DTYPE, NULL),
    COUNT(cj_sort_desc, descending),    COUNT(cj_sort_desc, values_only),    COUNT(cj_sort_desc, indices_only),
    COUNT(cj_sort_desc, index_u32),     COUNT(cj_sort_desc, stride),         FIELD(cj_sort_desc, offsets, DTYPE, NULL),
    COUNT(cj_sort_desc, payload_bytes), COUNT(cj_sort_desc, payload_stride), COUNT(cj_sort_desc, elements),
    {0}};
static const field sample_fields[] = {COUNT(cj_sample_desc, rows),
                                      COUNT(cj_sample_desc, columns),
                                      FIELD(cj_sample_desc, dtype, DTYPE, NULL),
                                      COUNT(cj_sample_desc, top_k),
                                      COUNT(cj_sample_desc, top_p),
                                      COUNT(cj_sample_desc, min_p),
                                      COUNT(cj_sample_desc, mask),
                                      COUNT(cj_sample_desc, penalties),
                                      COUNT(cj_sample_desc, stride),
                                      COUNT(cj_sample_desc, align),
                                      COUNT(cj_sample_desc, log_probability),
                                      COUNT(cj_sample_desc, top),
                                      COUNT(cj_sample_desc, distribution),
                                      COUNT(cj_sample_desc, draft),
                                      {0}};
static const field argmax_fields[] = {
    COUNT(cj_argmax_desc, rows),   COUNT(cj_argmax_desc, columns), FIELD(cj_argmax_desc, dtype, DTYPE, NULL),
    COUNT(cj_argmax_desc, stride), COUNT(cj_argmax_desc, align),   {0}};
static const field scan_fields[] = {COUNT(cj_scan_desc, rows),
                                    COUNT(cj_scan_desc, columns),
                                    FIELD(cj_scan_desc, op, NUMBER, "sum min max product"),
                                    FIELD(cj_scan_desc, dtype, DTYPE, NULL),
                                    COUNT(cj_scan_desc, exclusive),
                                    COUNT(cj_scan_desc, reverse),
                                    COUNT(cj_scan_desc, stride),
                                    COUNT(cj_scan_desc, out_stride),
                                    COUNT(cj_scan_desc, align),
                                    {0}};
static const field histogram_fields[] = {
    COUNT(cj_histogram_desc, n), COUNT(cj_histogram_desc, bins), FIELD(cj_histogram_desc, dtype, DTYPE, NULL), {0}};

// In the order of cj_gemm_tile.
#define GEMM_TILES                                                                                                     \
    "auto 128x256 128x128 64x256 64x128 64x64 256x128 128x64 32x128 16x128 16x64 16x32 16x16 128x224 128x192 128x160 " \
    "128x96 64x192 64x160 64x96 192x192 192x160 192x128"
static const field gemm_fields[] = {COUNT(cj_gemm_desc, m),
                                    COUNT(cj_gemm_desc, n),
                                    COUNT(cj_gemm_desc, k),
                                    FIELD(cj_gemm_desc, dtype, DTYPE, NULL),
                                    FIELD(cj_gemm_desc, a, NUMBER, "row column"),
                                    FIELD(cj_gemm_desc, b, NUMBER, "row column"),
                                    COUNT(cj_gemm_desc, lda),
                                    COUNT(cj_gemm_desc, ldb),
                                    COUNT(cj_gemm_desc, ldd),
                                    FIELD(cj_gemm_desc, out, NUMBER, "auto bf16 f16 f32 e4m3 e5m2 i8 i32 f64"),
                                    FIELD(cj_gemm_desc, bias, NUMBER, "none n m"),
                                    FIELD(cj_gemm_desc, activation, NUMBER, "none relu gelu silu"),
                                    FIELD(cj_gemm_desc, tile, NUMBER, GEMM_TILES),
                                    COUNT(cj_gemm_desc, cluster),
                                    COUNT(cj_gemm_desc, cluster_n),
                                    COUNT(cj_gemm_desc, split),
                                    COUNT(cj_gemm_desc, parts),
                                    COUNT(cj_gemm_desc, align_a),
                                    COUNT(cj_gemm_desc, align_b),
                                    COUNT(cj_gemm_desc, align_d),
                                    FIELD(cj_gemm_desc, form, NUMBER, "auto wgmma mma skinny"),
                                    {0}};

// ---- the calls: how a handle is run with pointers

typedef union description {
    cj_reduce_desc       reduce;
    cj_softmax_desc      softmax;
    cj_norm_desc         norm;
    cj_crossentropy_desc crossentropy;
    cj_topk_desc         topk;
    cj_sort_desc         sort;
    cj_sample_desc       sample;
    cj_argmax_desc       argmax;
    cj_scan_desc         scan;
    cj_histogram_desc    histogram;
    cj_gemm_desc         gemm;
} description;

// The four functions of a typed handle without its type; `how` is its run on pointers `p`.
#define HANDLE(family, how)                                                                                          \
    static cj_status family##_make(cj_device *device, const description *desc, void **handle, cj_error *error) {     \
        cj_##family       *made = NULL;                                                                              \
        cj_##family##_desc whole = desc->family;                                                                     \
        whole.struct_size = sizeof whole;                                                                            \
        cj_status status = cj_##family##_create(device, &whole, &made, error);                                       \
        *handle = made;                                                                                              \
        return status;                                                                                               \
    }                                                                                                                \
    static cj_status family##_go(void *handle, const uint64_t *p, cj_stream stream, cj_error *error) { return how; } \
    static void      family##_end(void *handle) { cj_##family##_destroy(handle); }                                   \
    static const cj_kernel *family##_beneath(const void *handle) { return cj_##family##_kernel(handle); }

HANDLE(reduce, cj_reduce_run(handle, p[0], p[1], stream, error))
HANDLE(softmax, cj_softmax_run(handle, &(cj_softmax_arrays){CJ_INIT(cj_softmax_arrays), p[0], p[1], p[2], p[3], p[4]},
                               stream, error))
HANDLE(norm, cj_norm_run(handle,
                         &(cj_norm_arrays){CJ_INIT(cj_norm_arrays), p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
                                           p[8], p[9], p[10], p[11]},
                         stream, error))
HANDLE(crossentropy,
       cj_crossentropy_run(handle,
                           &(cj_crossentropy_arrays){CJ_INIT(cj_crossentropy_arrays), p[0], p[1], p[2], p[3], p[4]},
                           stream, error))
HANDLE(topk, cj_topk_run(handle, p[0], p[1], p[2], stream, error))
HANDLE(sort,
       p[4]   ? cj_sort_run_pairs(handle,
                                  &(cj_sort_arrays){CJ_INIT(cj_sort_arrays), .x = p[0], .values = p[1], .indices = p[2],
                                                    .offsets = p[3], .payload = p[4], .sorted_payload = p[5]},
                                  stream, error)
       : p[3] ? cj_sort_run_segmented(handle, p[0], p[3], p[1], p[2], stream, error)
              : cj_sort_run(handle, p[0], p[1], p[2], stream, error))
HANDLE(sample, cj_sample_run(handle,
                             &(cj_sample_arrays){CJ_INIT(cj_sample_arrays),
                                                 .logits = p[0],
                                                 .tokens = p[1],
                                                 .mask = p[2],
                                                 .temperature_rows = p[3],
                                                 .top_k_rows = p[4],
                                                 .top_p_rows = p[5],
                                                 .min_p_rows = p[6],
                                                 .seed_rows = p[7],
                                                 .log_probability = p[8],
                                                 .counts = p[9],
                                                 .repetition_rows = p[10],
                                                 .frequency_rows = p[11],
                                                 .presence_rows = p[12],
                                                 .offset_rows = p[13],
                                                 .top_tokens = p[14],
                                                 .top_log_probabilities = p[15],
                                                 .probabilities = p[16],
                                                 .draft_tokens = p[17],
                                                 .draft_probabilities = p[18],
                                                 .accepted = p[19]},
                             stream, error))
HANDLE(argmax, cj_argmax_run(handle, p[0], p[1], stream, error))
HANDLE(scan, cj_scan_run(handle, p[0], p[1], stream, error))
HANDLE(histogram, cj_histogram_run(handle, p[0], p[1], stream, error))
HANDLE(gemm, cj_gemm_run(handle,
                         &(cj_gemm_operands){CJ_INIT(cj_gemm_operands), .a = p[0], .b = p[1], .d = p[2], .bias = p[3],
                                             .alpha = 1},
                         stream, error))

typedef struct family {
    const char  *name;
    const field *fields;
    cj_status (*make)(cj_device *device, const description *desc, void **handle, cj_error *error);
    cj_status (*go)(void *handle, const uint64_t *pointers, cj_stream stream, cj_error *error);
    void (*end)(void *handle);
    const cj_kernel *(*beneath)(const void *handle);
} family;

#define FAMILY(name) \
    { #name, name##_fields, name##_make, name##_go, name##_end, name##_beneath }

static const family families[] = {FAMILY(reduce), FAMILY(softmax), FAMILY(norm),  FAMILY(crossentropy),
                                  FAMILY(topk),   FAMILY(argmax),  FAMILY(scan),  FAMILY(histogram),
                                  FAMILY(gemm),   FAMILY(sort),    FAMILY(sample)};

struct call {
    const family *type;
    void         *handle;
};

// ---- words

static int refuse(char *text, const char *what, const char *which) {
    snprintf(text, CALLS_TEXT, "%s '%s'", what, which);
    return CJ_INVALID_ARGUMENT;
}

static int tell(cj_status status, const cj_error *error, char *text) {
    if (status) snprintf(text, CALLS_TEXT, "%s: %s", cj_status_name(status), error->message);
    return (int)status;
}

// The place of `word` in a blank-separated list; -1: it is not there.
static int place_of(const char *choices, const char *word) {
    const size_t length = strlen(word);
    for (int at = 0; *choices; at++) {
        const size_t here = strcspn(choices, " ");
        if (here == length && !strncmp(choices, word, here)) return at;
        choices += here + (choices[here] == ' ');
    }
    return -1;
}

static int type_of(const char *word) {
    for (int type = 0; cj_dtype_name((cj_dtype)type); type++)
        if (!strcmp(cj_dtype_name((cj_dtype)type), word)) return type;
    return -1;
}

static int read_value(const field *f, const char *value, description *desc) {
    char    *to = (char *)desc + f->offset;
    uint64_t number = 0;
    int      place = f->kind == DTYPE ? type_of(value) : f->choices ? place_of(f->choices, value) : -1;
    if (f->kind == REAL) {
        double      real;
        const char *end = cj_real_read(value, &real);
        if (!end || *end) return -1;
        return memcpy(to, &real, sizeof real), 0;
    }
    if (f->kind == DTYPE || f->choices) {
        if (place < 0) return -1;
        number = (uint64_t)place;
    } else {
        const char *end = cj_number_read(value, &number);
        if (!end || *end) return -1;
    }
    memcpy(to, &number, f->size);  // little-endian, as every machine with such a GPU is
    return 0;
}

static int read_words(const family *type, const char *words, description *desc, char *text) {
    char word[128], *value;
    for (int length; sscanf(words, " %127s%n", word, &length) == 1; words += length) {
        const field *f = type->fields;
        if (!(value = strchr(word, '='))) return refuse(text, "this word has no '='", word);
        *value++ = '\0';
        while (f->name && strcmp(f->name, word) != 0) f++;
        if (!f->name) return refuse(text, "no such member", word);
        if (read_value(f, value, desc)) return refuse(text, "this value is none", value);
    }
    return CJ_OK;
}

// ---- the interface

int calls_open(const char *spec, cj_device **device, char *text) {
    cj_error error;
    return tell(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = spec}, device, &error), &error,
                text);
}

int calls_make(cj_device *device, const char *name, const char *words, call **made, char *text) {
    const size_t  count = sizeof families / sizeof *families;
    const family *type = families;
    description   desc;
    cj_error      error;
    memset(&desc, 0, sizeof desc);
    while (type < families + count && strcmp(type->name, name) != 0) type++;
    if (type == families + count) return refuse(text, "no such family", name);
    if (read_words(type, words, &desc, text)) return CJ_INVALID_ARGUMENT;
    call *c = calloc(1, sizeof *c);
    if (!c) return refuse(text, "no host memory for", name);
    c->type = type;
    int status = tell(type->make(device, &desc, &c->handle, &error), &error, text);
    if (status) free(c), c = NULL;
    *made = c;
    return status;
}

int calls_gemm_words(const char *words, cj_gemm_desc *desc, char *text) {
    const family *type = families;
    description   whole;
    while (strcmp(type->name, "gemm") != 0) type++;
    memset(&whole, 0, sizeof whole);
    int status = read_words(type, words, &whole, text);
    *desc = whole.gemm;
    desc->struct_size = sizeof *desc;
    return status;
}

int calls_run(call *made, const uint64_t *pointers, void *stream, char *text) {
    cj_error error;
    return tell(made->type->go(made->handle, pointers, stream, &error), &error, text);
}

// Those that tuning tries, or that are "auto" by default, are the plan's choices; the others are the problem.
static bool is_choice(const cj_param_info *info) { return info->tune || !strcmp(info->initial, "auto"); }

// Parameters that are not as by default, each after `before`: the choices, or the problem.
static void add_params(const cj_params *params, bool choices, const char *before, char *text) {
    char word[64];
    for (size_t i = 0; i < cj_family_param_count(params->family); i++) {
        const cj_param_info *info = cj_family_param(params->family, i);
        const char          *now = cj_params_word(params, info->name, word, sizeof word);
        const size_t         length = strlen(text);
        if (is_choice(info) == choices && strcmp(now, info->initial) != 0)
            snprintf(text + length, CALLS_TEXT - length, "%s%s=%s", before, info->name, now);
    }
}

void calls_plan(const call *made, char *text) {
    const cj_plan *p = cj_kernel_plan(made->type->beneath(made->handle));
    snprintf(text, CALLS_TEXT, "entry=%s grid=%ux%ux%u block=%u cluster-blocks=%u shared=%u bound=%.17g", p->entry,
             p->grid.x, p->grid.y, p->grid.z, p->block.x, p->cluster.x * p->cluster.y * p->cluster.z, p->dynamic_shared,
             p->error_bound);
    add_params(&p->params, true, " ", text);
    const size_t length = strlen(text);
    snprintf(text + length, CALLS_TEXT - length, " note=%s", p->note);
}

void calls_problem(const call *made, char *text) {
    const cj_params *params = &cj_kernel_plan(made->type->beneath(made->handle))->params;
    snprintf(text, CALLS_TEXT, "%s", cj_family_name(params->family));
    add_params(params, false, " --", text);
}

// ---- what tuning would choose

// The parameters of a call's problem, with all choices left to the plan.
static int problem_of(const call *made, cj_params *problem, char *text) {
    *problem = cj_kernel_plan(made->type->beneath(made->handle))->params;
    for (size_t i = 0; i < cj_family_param_count(problem->family); i++) {
        const cj_param_info *info = cj_family_param(problem->family, i);
        cj_error             error;
        if (is_choice(info) && cj_params_set(problem, info->name, info->initial, &error))
            return tell(CJ_INVALID_ARGUMENT, &error, text);
    }
    return CJ_OK;
}

void calls_tunable(const call *made, char *text) {
    const cj_family *its = cj_kernel_plan(made->type->beneath(made->handle))->params.family;
    *text = '\0';
    for (size_t i = 0; i < cj_family_param_count(its); i++) {
        const cj_param_info *info = cj_family_param(its, i);
        const size_t         length = strlen(text);
        if (info->tune) snprintf(text + length, CALLS_TEXT - length, "%s %s\n", info->name, info->tune);
    }
}

// Sets "warps=4 form=direct".
static int set_choice(cj_params *params, const char *choice, char *text) {
    char word[128], *value;
    for (int length; sscanf(choice, " %127s%n", word, &length) == 1; choice += length) {
        cj_error error;
        if (!(value = strchr(word, '='))) return refuse(text, "this word has no '='", word);
        *value++ = '\0';
        if (cj_params_set(params, word, value, &error)) return tell(CJ_INVALID_ARGUMENT, &error, text);
    }
    return CJ_OK;
}

int calls_make_tuned(cj_device *device, const call *like, const char *words, const char *choice, call **made, char *text) {
    cj_params problem, chosen;
    cj_error  error;
    int       status = problem_of(like, &problem, text);
    chosen = problem;
    if (!status) status = set_choice(&chosen, choice, text);
    if (!status) status = tell(cj_tuning_keep(device, &problem, &chosen, 1, 1, &error), &error, text);
    return status ? status : calls_make(device, like->type->name, words, made, text);
}

int calls_forget(cj_device *device, const call *like, char *text) {
    cj_params              problem;
    cj_error               error;
    size_t                 count;
    const cj_tuning_filter kept = {CJ_INIT(cj_tuning_filter), .device = device, .problem = &problem};
    const int              status = problem_of(like, &problem, text);
    return status ? status : tell(cj_tuning_forget(&kept, &count, &error), &error, text);
}

void calls_free(call *made) {
    if (!made) return;
    made->type->end(made->handle);
    free(made);
}

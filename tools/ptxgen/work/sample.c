// SPDX-License-Identifier: Apache-2.0
// sample: rows of logits of a fill or a file; of penalties some tokens are counted, of a mask most are allowed. The check computes each
// row's token on the host.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "sample_model.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

enum { POISON = 0xa5, SETTINGS = 9, ARGUMENTS = 4 + 2 * SETTINGS };

typedef struct sample {
    cj_dtype         type;
    uint64_t         rows, columns, stride, words, bytes;  // words: of a row's mask
    bool             masked, penalized;
    sample_model_row values;
    uint64_t         all[SETTINGS];
    source           source;
    unsigned char   *input;
    uint32_t        *mask, *counts;
    int32_t         *tokens, *expected;  // expected: of every set, as all have the same logits; made by the first check
    cj_ptr          *x, *out, *mask_at, *counts_at;  // of each set
    uint64_t         wrong;
} sample;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a sample"); }

static size_t span(const sample *t) { return (size_t)(((t->rows - 1) * t->stride + t->columns) * t->bytes); }
static size_t mask_bytes(const sample *t) { return (size_t)(t->rows * t->words * 4); }
static size_t counts_bytes(const sample *t) { return (size_t)(t->rows * t->columns * 4); }

static float real_of(const workload *w, const char *name) {
    const uint64_t bits = cj_params_get(&w->params, name);
    double         value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

static uint64_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void read_params(const workload *w, sample *t) {
    t->bytes = cj_dtype_size(t->type);
    t->rows = cj_params_get(&w->params, "rows");
    t->columns = cj_params_get(&w->params, "columns");
    t->stride = cj_params_get(&w->params, "stride");
    if (!t->stride) t->stride = t->columns;
    t->words = (t->columns + 31) / 32;
    t->masked = workload_has_word(w, "mask", "yes");
    t->values = (sample_model_row){.temperature = real_of(w, "temperature"),
                                   .top_p = real_of(w, "top-p"),
                                   .min_p = real_of(w, "min-p"),
                                   .repetition = real_of(w, "repetition"),
                                   .frequency = real_of(w, "frequency"),
                                   .presence = real_of(w, "presence"),
                                   .top_k = (int32_t)cj_params_get(&w->params, "top-k"),
                                   .seed = cj_params_get(&w->params, "seed"),
                                   .offset = cj_params_get(&w->params, "offset")};
    const sample_model_row *v = &t->values;
    t->penalized = v->repetition != 1 || v->frequency != 0 || v->presence != 0;
    const uint64_t all[SETTINGS] = {bits_of(v->temperature),
                                    bits_of(v->top_p),
                                    bits_of(v->min_p),
                                    bits_of(v->repetition),
                                    bits_of(v->frequency),
                                    bits_of(v->presence),
                                    (uint64_t)v->top_k,
                                    v->seed,
                                    v->offset};
    memcpy(t->all, all, sizeof all);
}

// Seven of eight tokens are allowed, and one of sixteen is counted, up to three times.
static void fill_tokens(sample *t) {
    uint64_t state = 1;
    for (uint64_t i = 0; t->masked && i < t->rows * t->words; i++) {
        t->mask[i] = 0;
        for (unsigned bit = 0; bit < 32; bit++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            t->mask[i] |= (uint32_t)(state >> 61 != 0) << bit;
        }
    }
    for (uint64_t i = 0; t->penalized && i < t->rows * t->columns; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        t->counts[i] = state >> 60 ? 0 : 1 + (uint32_t)(state >> 50) % 3;
    }
}

static int allocate(workload *w, sample *t) {
    w->copies = workload_copies(w, (double)span(t));
    t->input = malloc(span(t));
    t->tokens = malloc((size_t)t->rows * sizeof *t->tokens);
    t->mask = t->masked ? malloc(mask_bytes(t)) : NULL;
    t->counts = t->penalized ? malloc(counts_bytes(t)) : NULL;
    if (!t->input || !t->tokens || (t->masked && !t->mask) || (t->penalized && !t->counts)) return no_memory();
    fill_tokens(t);
    w->bytes_read = (double)t->rows * (double)t->columns * (double)t->bytes;
    if (t->masked) w->bytes_read += (double)mask_bytes(t);
    if (t->penalized) w->bytes_read += (double)counts_bytes(t);
    w->bytes_written = (double)t->rows * 4;
    w->whole = true;
    int code = sets_alloc(w, span(t), &t->x);
    if (!code) code = sets_alloc(w, (size_t)t->rows * 4, &t->out);
    if (!code && t->masked) code = sets_alloc(w, mask_bytes(t), &t->mask_at);
    if (!code && t->penalized) code = sets_alloc(w, counts_bytes(t), &t->counts_at);
    return code;
}

static int open_sample(workload *w) {
    sample *t = w->state = calloc(1, sizeof *t);
    if (!t) return no_memory();
    t->type = workload_dtype(w);
    int code = workload_open_rows(w, &t->source, t->type);
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    read_params(w, t);
    code = workload_fits("rows, columns, stride", (double)t->rows * (double)t->stride * (double)t->bytes);
    if (!code) code = allocate(w, t);
    if (!code) code = source_read_rows(&t->source, t->input, span(t) / t->bytes);
    if (!code) code = sets_write(w, t->x, t->input, span(t));
    if (!code && t->masked) code = sets_write(w, t->mask_at, t->mask, mask_bytes(t));
    if (!code && t->penalized) code = sets_write(w, t->counts_at, t->counts, counts_bytes(t));
    return code;
}

static void close_sample(workload *w) {
    sample *t = w->state;
    if (!t) return;
    sets_free(w, t->x);
    sets_free(w, t->out);
    if (t->mask_at) sets_free(w, t->mask_at);
    if (t->counts_at) sets_free(w, t->counts_at);
    source_close(&t->source);
    free(t->input);
    free(t->expected);
    free(t->tokens);
    free(t->mask);
    free(t->counts);
    free(t);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const sample *t = w->state;
    return cj_mem_fill(w->device, t->out[copy], POISON, (size_t)t->rows * 4, NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    sample  *t = w->state;
    uint64_t none = 0;
    void    *arguments[ARGUMENTS] = {&t->x[copy], &t->out[copy], t->masked ? &t->mask_at[copy] : &none,
                                  t->penalized ? &t->counts_at[copy] : &none};
    for (unsigned i = 0; i < SETTINGS; i++) {
        arguments[4 + 2 * i] = &none;
        arguments[5 + 2 * i] = &t->all[i];
    }
    return cj_kernel_launch(kernel, stream, arguments, ARGUMENTS, error);
}

// The tokens that all sets have.
static int expect(sample *t) {
    if (t->expected) return CODE_OK;
    t->expected = malloc((size_t)t->rows * sizeof *t->expected);
    if (!t->expected) return no_memory();
    for (uint64_t row = 0; row < t->rows; row++) {
        t->values.row = (uint32_t)row;
        t->expected[row] = sample_model_token(t->type, t->input + row * t->stride * t->bytes, t->columns,
                                              t->masked ? t->mask + row * t->words : NULL,
                                              t->penalized ? t->counts + row * t->columns : NULL, &t->values, NULL);
        if (t->expected[row] == -2) return no_memory();
    }
    return CODE_OK;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    sample  *t = w->state;
    cj_error error;
    if (cj_mem_read(w->device, t->tokens, t->out[copy], (size_t)t->rows * 4, NULL, &error))
        return message_failure(&error);
    const int code = expect(t);
    if (code) return code;
    *verdict = (workload_verdict){.ok = true};
    t->wrong = 0;
    for (uint64_t row = 0; row < t->rows; row++) {
        if (t->expected[row] == t->tokens[row]) continue;
        if (!t->wrong++)
            snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ": token %" PRId32 ", not %" PRId32, row,
                     t->tokens[row], t->expected[row]);
        verdict->ok = false;
        verdict->error = (double)t->wrong;
    }
    return CODE_OK;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const sample *t = w->state;
    (void)kernel;
    printf("Rows: %" PRIu64 " of %" PRIu64 " logits\n", t->rows, t->columns);
    printf("First token: %" PRId32 "\n", t->tokens[0]);
    printf("Wrong rows: %" PRIu64 "\n", t->wrong);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const sample *t = w->state;
    (void)kernel;
    json_t *result = json_pack("{s:i, s:o}", "first", (int)t->tokens[0], "wrong_rows", output_json_uint(t->wrong));
    json_object_set_new(object, "expected", json_pack("{s:i}", "wrong_rows", 0));
    json_object_set_new(object, "result", result);
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const sample *t = w->state;
    (void)kernel;
    list[0] = (workload_output){
        .name = "tokens", .type = CJ_I32, .at = t->out[0], .dims = 1, .extent = {t->rows}, .stride = {1}};
    return 1;
}

const workload_type work_sample = {
    .family = "sample",
    .open = open_sample,
    .close = close_sample,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};

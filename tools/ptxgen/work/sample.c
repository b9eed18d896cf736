// SPDX-License-Identifier: Apache-2.0
// sample: rows of logits of a fill or a file; of penalties some tokens are counted, of a mask most are allowed. The check computes each
// row's token on the host.
#include <inttypes.h>
#include <math.h>
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

// What else is told, and the draft that is given, in the order of the kernel's parameters.
typedef enum told { LOG, TOP_TOKENS, TOP_LOGS, PROBABILITIES, DRAFT_TOKENS, DRAFT_PROBABILITIES, ACCEPTED, TOLD } told;

static const char *const told_names[TOLD] = {"log_probability", "top_tokens", "top_log_probabilities", "probabilities",
                                             "draft_tokens", "draft_probabilities", "accepted"};

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
    uint32_t         top;
    uint64_t         each[TOLD];    // words of a row; 0: the kernel does not have it
    uint32_t        *given[TOLD];   // of the draft
    uint32_t        *found[TOLD];   // of what is told
    cj_ptr          *told_at[TOLD]; // of each set
    sample_model_more *more;        // of each row
    uint64_t        *kept;          // of all rows, if the distribution is told
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
    const bool draft = workload_has_word(w, "draft", "yes");
    t->top = (uint32_t)cj_params_get(&w->params, "top");
    t->each[LOG] = workload_has_word(w, "log-probability", "yes");
    t->each[TOP_TOKENS] = t->each[TOP_LOGS] = t->top;
    t->each[PROBABILITIES] = workload_has_word(w, "distribution", "yes") ? t->columns : 0;
    t->each[DRAFT_TOKENS] = t->each[ACCEPTED] = draft;
    t->each[DRAFT_PROBABILITIES] = draft ? t->columns : 0;
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

static size_t told_bytes(const sample *t, unsigned i) { return (size_t)(t->rows * t->each[i] * 4); }

// The draft gives all tokens about the same; its own is any.
static void fill_draft(sample *t) {
    uint64_t state = 7;
    for (uint64_t i = 0; i < t->rows * t->each[DRAFT_PROBABILITIES]; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const float p = (float)(state >> 40) / (1 << 23) / (float)t->columns;
        memcpy(&t->given[DRAFT_PROBABILITIES][i], &p, sizeof p);
        if (i % t->columns == 0) t->given[DRAFT_TOKENS][i / t->columns] = (uint32_t)((state >> 33) % t->columns);
    }
}

static int allocate_told(workload *w, sample *t) {
    int code = CODE_OK;
    t->more = calloc((size_t)t->rows, sizeof *t->more);
    if (t->each[PROBABILITIES]) t->kept = malloc((size_t)(t->rows * t->columns) * sizeof *t->kept);
    if (!t->more || (t->each[PROBABILITIES] && !t->kept)) return no_memory();
    for (unsigned i = 0; i < TOLD && !code; i++) {
        if (!t->each[i]) continue;
        const bool is_given = i == DRAFT_TOKENS || i == DRAFT_PROBABILITIES;
        uint32_t **host = is_given ? &t->given[i] : &t->found[i];
        if (!(*host = malloc(told_bytes(t, i)))) return no_memory();
        *(is_given ? &w->bytes_read : &w->bytes_written) += (double)told_bytes(t, i);
        code = sets_alloc(w, told_bytes(t, i), &t->told_at[i]);
    }
    if (!code && t->each[DRAFT_TOKENS]) {
        fill_draft(t);
        code = sets_write(w, t->told_at[DRAFT_TOKENS], t->given[DRAFT_TOKENS], told_bytes(t, DRAFT_TOKENS));
        if (!code) code = sets_write(w, t->told_at[DRAFT_PROBABILITIES], t->given[DRAFT_PROBABILITIES], told_bytes(t, DRAFT_PROBABILITIES));
    }
    return code;
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
    int code = workload_open_matrix(w, &t->source, t->type);
    if (code) return code;
    read_params(w, t);
    code = allocate(w, t);
    if (!code) code = allocate_told(w, t);
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
    for (unsigned i = 0; i < TOLD; i++) {
        if (t->told_at[i]) sets_free(w, t->told_at[i]);
        free(t->given[i]);
        free(t->found[i]);
    }
    free(t->more);
    free(t->kept);
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
    cj_status     status = cj_mem_fill(w->device, t->out[copy], POISON, (size_t)t->rows * 4, NULL, error);
    for (unsigned i = 0; i < TOLD && !status; i++)
        if (t->found[i]) status = cj_mem_fill(w->device, t->told_at[i][copy], POISON, told_bytes(t, i), NULL, error);
    return status;
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    sample  *t = w->state;
    uint64_t none = 0;
    uint32_t count = ARGUMENTS;
    void    *arguments[ARGUMENTS + TOLD] = {&t->x[copy], &t->out[copy], t->masked ? &t->mask_at[copy] : &none,
                                  t->penalized ? &t->counts_at[copy] : &none};
    for (unsigned i = 0; i < SETTINGS; i++) {
        arguments[4 + 2 * i] = &none;
        arguments[5 + 2 * i] = &t->all[i];
    }
    for (unsigned i = 0; i < TOLD; i++)
        if (t->each[i]) arguments[count++] = &t->told_at[i][copy];
    return cj_kernel_launch(kernel, stream, arguments, count, error);
}

// The tokens that all sets have.
static int expect(sample *t) {
    if (t->expected) return CODE_OK;
    t->expected = malloc((size_t)t->rows * sizeof *t->expected);
    if (!t->expected) return no_memory();
    for (uint64_t row = 0; row < t->rows; row++) {
        t->values.row = (uint32_t)row;
        sample_model_more *more = &t->more[row];
        *more = (sample_model_more){.top = t->top, .draft_token = -1};
        if (t->each[DRAFT_TOKENS]) {
            more->draft = (const float *)(const void *)t->given[DRAFT_PROBABILITIES] + row * t->columns;
            more->draft_token = (int32_t)t->given[DRAFT_TOKENS][row];
        }
        t->expected[row] = sample_model_tell(t->type, t->input + row * t->stride * t->bytes, t->columns,
                                             t->masked ? t->mask + row * t->words : NULL,
                                             t->penalized ? t->counts + row * t->columns : NULL, &t->values,
                                             t->kept ? t->kept + row * t->columns : NULL, more);
        if (t->expected[row] == -2) return no_memory();
    }
    return CODE_OK;
}

static float real_at(const uint32_t *words, uint64_t i) {
    float value;
    memcpy(&value, &words[i], sizeof value);
    return value;
}

static bool is_log(float found, double expected) {
    return expected < -1e30 ? (double)found < -1e30 : fabs((double)found - expected) <= 2e-5 + 1e-6 * fabs(expected);
}

// Whether all that is told of a row is as the model has it.
static bool is_told(const sample *t, uint64_t row) {
    const sample_model_more *more = &t->more[row];
    bool                     ok = !t->found[LOG] || is_log(real_at(t->found[LOG], row), more->log_probability);
    for (uint32_t i = 0; i < t->top; i++)
        ok = ok && (int32_t)t->found[TOP_TOKENS][row * t->top + i] == more->top_token[i] &&
             is_log(real_at(t->found[TOP_LOGS], row * t->top + i), more->top_log_probability[i]);
    if (t->found[ACCEPTED]) ok = ok && t->found[ACCEPTED][row] == more->accepted;
    const uint64_t *kept = t->kept ? t->kept + row * t->columns : NULL;
    uint64_t        all = 0;
    for (uint64_t i = 0; kept && i < t->columns; i++) all += kept[i];
    for (uint64_t i = 0; kept && i < t->columns; i++)
        ok = ok && real_at(t->found[PROBABILITIES], row * t->columns + i) == (float)kept[i] / (float)(all ? all : 1);
    return ok;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    sample  *t = w->state;
    cj_error error;
    if (cj_mem_read(w->device, t->tokens, t->out[copy], (size_t)t->rows * 4, NULL, &error))
        return message_failure(&error);
    for (unsigned i = 0; i < TOLD; i++)
        if (t->found[i] && cj_mem_read(w->device, t->found[i], t->told_at[i][copy], told_bytes(t, i), NULL, &error))
            return message_failure(&error);
    const int code = expect(t);
    if (code) return code;
    *verdict = (workload_verdict){.ok = true};
    t->wrong = 0;
    for (uint64_t row = 0; row < t->rows; row++) {
        if (t->expected[row] == t->tokens[row] && is_told(t, row)) continue;
        if (!t->wrong++)
            snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ": token %" PRId32 ", not %" PRId32 "%s", row,
                     t->tokens[row], t->expected[row], t->expected[row] == t->tokens[row] ? "; what else is told is wrong" : "");
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
    if (t->found[LOG]) printf("Its log-probability: %.6g, expected %.6g\n", (double)real_at(t->found[LOG], 0), t->more[0].log_probability);
    for (uint32_t i = 0; i < t->top; i++)
        printf("%s %" PRId32 " (%.4g)%s", i ? "" : "Most probable:", (int32_t)t->found[TOP_TOKENS][i],
               (double)real_at(t->found[TOP_LOGS], i), i + 1 < t->top ? "," : "\n");
    if (t->found[ACCEPTED]) printf("The draft's token is %s\n", t->found[ACCEPTED][0] ? "taken" : "replaced");
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
    unsigned count = 0;
    list[count++] = (workload_output){
        .name = "tokens", .type = CJ_I32, .at = t->out[0], .dims = 1, .extent = {t->rows}, .stride = {1}};
    for (unsigned i = 0; i < TOLD; i++)
        if (t->found[i])
            list[count++] = workload_output_rows(told_names[i], i == TOP_TOKENS ? CJ_I32 : i == ACCEPTED ? CJ_U32 : CJ_F32,
                                                 t->told_at[i][0], t->rows, t->each[i], t->each[i]);
    return count;
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

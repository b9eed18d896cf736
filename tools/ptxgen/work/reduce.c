// SPDX-License-Identifier: Apache-2.0
// reduce: made-up numbers or a file's, compared with the host's own reduction (reference.c) or, for functions of the
// user, with these functions applied to one element after the other (user_reference.c).
#define _POSIX_C_SOURCE 200809L
#include <clusterjit/tuning.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "output.h"
#include "reference.h"
#include "sets.h"
#include "source.h"
#include "user_reference.h"
#include "workload.h"

enum { PARTS_SHOWN = 16 };
enum { CHUNK_BYTES = 64 << 20, POISON = 0xff };  // host memory for the input, which may be longer

typedef struct reduction {
    cj_dtype                type;  // of x; the references have the type after widening
    uint64_t                n;
    size_t                  most;  // results that any plan has
    source                  source;
    reference               reference;
    user_reference          user;       // of the functions that were given, map and op-expr
    bool                    tried;      // op-expr has been tried on the first elements
    bool                    overflows;  // op-expr overflows on those
    bool                    asked;      // the parts were asked for, to be shown beside the result
    const cj_user_function *op;
    bool                    sliced;   // the expected values depend on the plan, so the elements are kept
    unsigned char          *kept;     // elements, widened
    cj_ptr                 *x, *out;  // of each set
    unsigned char          *raw;      // the results as the device writes them
    element (*found)[REFERENCE_PIECES];
} reduction;

static int no_memory(const char *what) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the %s", what); }

// ---- the problem

static size_t param_index(const cj_params *params, const char *name) {
    size_t i = 0;
    while (strcmp(cj_family_param(params->family, i)->name, name) != 0) i++;
    return i;
}

// Whether the parts of the operation are values of the result's kind.
static bool has_parts(const workload *w) {
    switch ((cj_reduce_op)cj_params_get(&w->params, "op")) {
    case CJ_REDUCE_SUM:
    case CJ_REDUCE_MIN:
    case CJ_REDUCE_MAX:
    case CJ_REDUCE_PRODUCT: return true;
    default: return false;
    }
}

static const cj_user_function *function_of(const workload *w, const char *name) {
    return w->params.function[param_index(&w->params, name)];
}

enum { TRIED = 4096 };  // elements whose order is tried

// Whether op-expr over the first of 0, 1, 2, … overflows.
static int overflows_on_iota(const workload *w, cj_dtype type, bool *overflows) {
    const cj_dtype held = cj_dtype_arithmetic(type);
    const uint64_t n = cj_params_get(&w->params, "n");
    const size_t   count = n < TRIED ? (size_t)n : TRIED;
    unsigned char *x = malloc(count * cj_dtype_size(held));
    user_reference user = {0};
    fill           iota;
    fill_parse("iota", held, &iota);
    int code = x ? CODE_OK : no_memory("trial of op-expr");
    if (!code) fill_write(&iota, 0, count, x);
    if (!code)
        code = user_reference_open(&user, held, function_of(w, "map"), function_of(w, "op-expr"),
                                   function_of(w, "identity"), count, 1);
    if (!code) code = user_reference_map(&user, x, count);
    if (!code) code = user_reference_overflows(&user, x, count, overflows);
    user_reference_close(&user);
    free(x);
    return code;
}

// 0, 1, 2, …; but for a product of floats at most 64 twos and as many halves, so that no product of some of them
// overflows; the same for a user's operation that overflows on 0, 1, 2, ….
static int default_fill(const workload *w, cj_dtype type, char buffer[32]) {
    enum { FACTORS = 128 };
    bool product = workload_has_word(w, "op", "product");
    int  code = CODE_OK;
    if (element_kind_of(type) == ELEMENT_FLOAT && function_of(w, "op-expr"))
        code = overflows_on_iota(w, type, &product);
    if (product && element_kind_of(type) == ELEMENT_FLOAT)
        snprintf(buffer, 32, "twos:%" PRIu64, cj_params_get(&w->params, "n") / FACTORS + 1);
    else
        snprintf(buffer, 32, "iota");
    return code;
}

// With a file --n defaults to the elements in the file.
static int open_source(workload *w, reduction *r) {
    char count[24], made[32];
    r->type = workload_dtype(w);
    int code = w->fill || w->input ? CODE_OK : default_fill(w, r->type, made);
    if (!code) code = source_open(&r->source, r->type, w->input, w->fill ? w->fill : made);
    if (code) return code;
    if (w->input && !w->given[param_index(&w->params, "n")]) {
        cj_error error;
        snprintf(count, sizeof count, "%" PRIu64, r->source.available);
        if (cj_params_set(&w->params, "n", count, &error)) return message_failure(&error);
    }
    r->n = cj_params_get(&w->params, "n");
    if (r->n <= r->source.available) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "n is %" PRIu64 ", but '%s' holds only %" PRIu64 " elements", r->n,
                         r->source.name, r->source.available);
}

static size_t chunk_elements(const reduction *r) {
    size_t room = CHUNK_BYTES / cj_dtype_size(cj_dtype_arithmetic(r->type));
    return r->n < room ? (size_t)r->n : room;
}

// With a result for each block there are as many results as blocks in the grid, which is given or fits the device.
static void choose_results(const workload *w, reduction *r) {
    const cj_limits *limits = cj_device_limits(w->device);
    const uint64_t   grid = cj_params_get(&w->params, "grid");
    r->most = 1;
    if (!r->reference.by_block) return;
    r->most = grid != CJ_PARAM_AUTO ? (size_t)grid : (size_t)limits->sm_count * limits->max_blocks_per_sm;
    r->most += r->reference.total;
}

static int prepare_reference(workload *w, reduction *r) {
    reference *f = &r->reference;
    f->type = cj_dtype_arithmetic(r->type);
    f->op = (cj_reduce_op)cj_params_get(&w->params, "op");
    f->weighted = workload_has_word(w, "weight", "block");
    f->by_block = !workload_has_word(w, "result", "total");
    f->total = !workload_has_word(w, "result", "block");
    r->sliced = f->weighted || f->by_block;
    r->op = function_of(w, "op-expr");
    choose_results(w, r);
    f->results = calloc(r->most, sizeof *f->results);
    r->raw = malloc(r->most * 16);
    r->found = calloc(r->most, sizeof *r->found);
    if (r->sliced) r->kept = malloc((size_t)r->n * cj_dtype_size(f->type));
    if (!f->results || !r->raw || !r->found || (r->sliced && !r->kept)) return no_memory("expected results");
    w->whole = element_kind_of(reference_layout_of(f).type[0]) != ELEMENT_FLOAT;
    return CODE_OK;
}

static size_t result_bytes(const reduction *r) {
    const reference_layout layout = reference_layout_of(&r->reference);
    return layout.second + cj_dtype_size(layout.type[layout.pieces - 1]);
}

static int allocate(workload *w, reduction *r) {
    const size_t bytes = (size_t)r->n * cj_dtype_size(r->type), out_bytes = r->most * result_bytes(r);
    w->bytes_read = (double)bytes;
    w->bytes_written = (double)result_bytes(r);
    w->copies = workload_copies(w, w->bytes_read);
    int code = sets_alloc(w, bytes, &r->x);
    return code ? code : sets_alloc(w, out_bytes, &r->out);
}

// ---- the input and the expected values

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(double started, uint64_t done, uint64_t all) {
    if (now() - started < 0.5 || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "writing the input: %3.0f %%\r%s", 100.0 * (double)done / (double)all, done == all ? "\033[K" : "");
}

static int begin_reference(workload *w, reduction *r, uint64_t blocks) {
    const size_t count = r->reference.total + (r->reference.by_block ? (size_t)blocks : 0);
    r->reference.n = r->n;
    r->reference.blocks = blocks;
    r->reference.count = count;
    reference_begin(&r->reference);
    user_reference_close(&r->user);
    r->user = (user_reference){0};
    return user_reference_open(&r->user, r->reference.type, function_of(w, "map"), r->op, function_of(w, "identity"),
                               chunk_elements(r), count);
}

// Elements of one block after the other.
static int fold(reduction *r, const char *elements, size_t count) {
    reference *f = &r->reference;
    int        code = CODE_OK;
    while (!code && count) {
        uint64_t end, block = reference_block_at(f, f->position, &end), left = end - f->position;
        size_t   step = left < count ? (size_t)left : count;
        if (f->total) code = user_reference_fold(&r->user, elements, step, 0);
        if (!code && f->by_block) code = user_reference_fold(&r->user, elements, step, f->total + (size_t)block);
        elements += step * cj_dtype_size(f->type);
        f->position += step;
        count -= step;
    }
    return code;
}

// Adds the next elements, widened; may overwrite them.
static int add_to_reference(reduction *r, void *elements, size_t count) {
    int code = user_reference_map(&r->user, elements, count);
    if (!code && r->op && !r->tried) code = user_reference_try(&r->user, elements, count, true);
    if (!code && r->op && !r->tried)
        code = user_reference_overflows(&r->user, elements, count < TRIED ? count : TRIED, &r->overflows);
    r->tried = true;
    if (!code && r->op) return fold(r, elements, count);
    if (!code) reference_add(&r->reference, elements, count);
    return code;
}

static int finish_reference(reduction *r, double bound) {
    reference *f = &r->reference;
    if (!r->op) {
        reference_finish(f, bound);
        return CODE_OK;
    }
    const size_t size = cj_dtype_size(f->type);
    int          code = user_reference_parts(&r->user, r->raw);
    for (size_t i = 0; !code && i < f->count; i++) element_widen(f->type, r->raw + i * size, 1, f->results[i].value);
    return code;
}

// Widens elements of x's type; `to` may be `from` if the two types are one.
static void convert(const reduction *r, const void *from, size_t count, unsigned char *to) {
    enum { BATCH = 512 };
    element        batch[BATCH];
    const cj_dtype held = r->reference.type;
    if (held == r->type && (const void *)to != from) memcpy(to, from, count * cj_dtype_size(held));
    if (held == r->type) return;
    for (size_t done = 0, step; done < count; done += step) {
        step = count - done < BATCH ? count - done : BATCH;
        element_widen(r->type, (const char *)from + done * cj_dtype_size(r->type), step, batch);
        element_narrow(held, batch, step, to + done * cj_dtype_size(held));
    }
}

// In one pass, writes each chunk to every set, and adds it to the reference or keeps it.
static int upload(workload *w, reduction *r) {
    const size_t   size = cj_dtype_size(r->type), held = cj_dtype_size(r->reference.type), room = chunk_elements(r);
    unsigned char *chunk = malloc(room * size), *converted = held > size ? malloc(room * held) : chunk;
    int            code = chunk && converted ? CODE_OK : no_memory("input");
    double         started = now();
    for (uint64_t done = 0; !code && done < r->n;) {
        size_t   count = r->n - done < room ? (size_t)(r->n - done) : room;
        cj_error error;
        code = source_read(&r->source, chunk, count);
        for (unsigned c = 0; !code && c < w->copies; c++)
            if (cj_mem_write(w->device, r->x[c] + done * size, chunk, count * size, NULL, &error))
                code = message_failure(&error);
        if (code) break;
        convert(r, chunk, count, r->sliced ? r->kept + done * held : converted);
        if (!r->sliced) code = add_to_reference(r, converted, count);
        done += count;
        show_progress(started, done, r->n);
    }
    if (converted != chunk) free(converted);
    free(chunk);
    return code;
}

// The expected values for a plan with slices.
static int take_kept(workload *w, reduction *r, const cj_plan *plan) {
    const size_t   size = cj_dtype_size(r->reference.type), room = chunk_elements(r);
    unsigned char *chunk = malloc(room * size);
    int            code = chunk ? CODE_OK : no_memory("input");
    if (!code) code = begin_reference(w, r, plan->grid.x);
    for (uint64_t done = 0; !code && done < r->n;) {
        size_t count = r->n - done < room ? (size_t)(r->n - done) : room;
        memcpy(chunk, r->kept + done * size, count * size);
        code = add_to_reference(r, chunk, count);
        done += count;
    }
    free(chunk);
    return code;
}

// ---- the workload

static bool is_given(const workload *w, const char *name) { return w->given[param_index(&w->params, name)]; }

static cj_status set_number(workload *w, const char *name, uint32_t value, cj_error *error) {
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, value);
    return cj_params_set(&w->params, name, text, error);
}

// If a few blocks were asked for, shows what each has summed: the same shape, with results=both.
static int ask_for_parts(workload *w) {
    cj_plan  plan;
    cj_error error;
    if (is_given(w, "result") || !(is_given(w, "cluster") || is_given(w, "grid"))) return CODE_OK;
    if (cj_tuning_plan(w->device, &w->params, w->arch, &plan, &error)) return message_failure(&error);
    if (plan.grid.x < 2 || plan.grid.x > PARTS_SHOWN || !has_parts(w)) return CODE_OK;
    cj_status status = set_number(w, "block", plan.block.x, &error);
    if (!status) status = set_number(w, "grid", plan.grid.x, &error);
    if (!status && !is_given(w, "cluster")) status = set_number(w, "cluster", plan.cluster.x, &error);
    if (!status) status = cj_params_set(&w->params, "result", "both", &error);
    ((reduction *)w->state)->asked = true;
    return status ? message_failure(&error) : CODE_OK;
}

static int open_reduction(workload *w) {
    reduction *r = w->state = calloc(1, sizeof *r);
    if (!r) return no_memory("reduction");
    int code = w->input ? CODE_OK : workload_plan_check(w);
    if (!code) code = open_source(w, r);
    if (!code && w->input) code = workload_plan_check(w);  // of as many elements as the file has
    if (!code && w->parts) code = ask_for_parts(w);
    if (!code) code = prepare_reference(w, r);
    if (!code) code = allocate(w, r);
    if (!code && !r->sliced) code = begin_reference(w, r, 1);
    return code ? code : upload(w, r);
}

static void close_reduction(workload *w) {
    reduction *r = w->state;
    if (!r) return;
    source_close(&r->source);
    user_reference_close(&r->user);
    sets_free(w, r->x);
    sets_free(w, r->out);
    free(r->reference.results);
    free(r->kept);
    free(r->raw);
    free(r->found);
    free(r);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const reduction *r = w->state;
    return cj_mem_fill(w->device, r->out[copy], POISON, r->most * result_bytes(r), NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    reduction *r = w->state;
    void      *arguments[] = {&r->x[copy], &r->out[copy], &r->n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

static int read_results(workload *w, reduction *r, unsigned copy) {
    const reference_layout layout = reference_layout_of(&r->reference);
    const size_t           bytes = result_bytes(r), count = r->reference.count;
    cj_error               error;
    if (cj_mem_read(w->device, r->raw, r->out[copy], count * bytes, NULL, &error)) return message_failure(&error);
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < layout.pieces; k++)
            element_widen(layout.type[k], r->raw + i * bytes + (k ? layout.second : 0), 1, &r->found[i][k]);
    return CODE_OK;
}

// Notes the first wrong piece, else the one with the largest share of its bound.
static void compare(const reduction *r, double plan_bound, workload_verdict *verdict) {
    const reference *f = &r->reference;
    *verdict = (workload_verdict){.ok = true};
    for (size_t at = 0; at < f->count * reference_layout_of(f).pieces && verdict->ok; at++) {
        const unsigned         pieces = reference_layout_of(f).pieces, piece = (unsigned)(at % pieces);
        const reference_value *expected = &f->results[at / pieces];
        double                 error = reference_error(f, expected, piece, r->found[at / pieces][piece]);
        double                 bound = plan_bound * expected->scale[piece];
        // A sum that is not finite has no bound; a sum that may overflow midway can have any value.
        verdict->ok = error <= bound || error == 0 || isnan(expected->scale[piece]) ||
                      (isnan(plan_bound) && (isfinite(error) || r->overflows));
        if (verdict->ok && at && !(error > 0 && error * verdict->bound >= verdict->error * bound)) continue;
        verdict->error = error;
        verdict->bound = bound;
    }
}

static void explain(const workload *w, const reduction *r, workload_verdict *v) {
    char        error[ELEMENT_TEXT], bound[ELEMENT_TEXT];
    const char *why = r->op && r->overflows ? "op-expr of some of the elements overflows"
                      : r->op               ? "op-expr rounds in another order"
                      : r->reference.op == CJ_REDUCE_PRODUCT
                          ? "a product of some of the elements may over- or underflow"
                          : "there are too many roundings";
    if (v->ok && isnan(v->bound)) snprintf(v->text, sizeof v->text, "%s", why);
    if (v->ok) return;
    if (w->whole)
        snprintf(error, sizeof error, "%.0f", v->error), snprintf(bound, sizeof bound, "%.0f", v->bound);
    else
        element_real_text(v->error, 7, error), element_real_text(v->bound, 7, bound);
    snprintf(v->text, sizeof v->text, "the error is %s, the bound %s%s", error, bound,
             r->op
                 ? "\nis op-expr associative and commutative on all of x, and does identity leave every value as it is?"
                 : "");
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    reduction     *r = w->state;
    const cj_plan *plan = cj_kernel_plan(kernel);
    int            code = r->sliced ? take_kept(w, r, plan) : CODE_OK;
    if (!code) code = finish_reference(r, plan->error_bound);
    if (!code) code = read_results(w, r, copy);
    if (code) return code;
    compare(r, plan->error_bound, verdict);
    explain(w, r, verdict);
    return CODE_OK;
}

// ---- the output

// Result i as it was found, or as it is expected.
static element piece_of(const reduction *r, size_t i, unsigned piece, bool found) {
    if (found) return r->found[i][piece];
    const reference_value *v = &r->reference.results[i];
    element                e = v->value[piece];
    if (element_kind_of(reference_layout_of(&r->reference).type[piece]) == ELEMENT_FLOAT) e.f += v->low[piece];
    return e;
}

static void print_values(const reduction *r, size_t first, size_t end, bool found) {
    const reference_layout layout = reference_layout_of(&r->reference);
    const bool             at = layout.pieces == 2 && layout.type[1] == CJ_U64;
    char                   text[ELEMENT_TEXT];
    for (size_t i = first; i < end; i++)
        for (unsigned k = 0; k < layout.pieces; k++)
            printf("%s %s", k && at ? " at" : "", element_text(layout.type[k], piece_of(r, i, k, found), text));
    putchar('\n');
}

static void print(const workload *w, const cj_kernel *kernel) {
    const reduction *r = w->state;
    const cj_plan   *plan = cj_kernel_plan(kernel);
    const char      *blocks = r->reference.total ? "" : "s";
    const size_t     count = r->reference.count, shown = r->reference.total ? 1 : count;
    char             op[16];
    const char      *word = r->op ? "result" : cj_params_word(&w->params, "op", op, sizeof op);
    if (r->user.device)
        printf("Reference: %s one element after the other, on the CPU device\n", r->op ? "op-expr" : "map");
    printf("SIZE: %" PRIu64 " TPB: %" PRIu32 " CLUSTER_SIZE: %" PRIu32, r->n, plan->block.x, plan->cluster.x);
    if (plan->grid.x != plan->cluster.x) printf(" BLOCKS: %" PRIu32, plan->grid.x);
    putchar('\n');
    printf("Expected %s%s%s:", *blocks ? "block " : "", word, blocks);
    print_values(r, 0, shown, false);
    if (*blocks)
        printf("Block %ss:", word);
    else
        printf(plan->cluster.x ? "Cluster reduction result:" : "Reduction result:");
    print_values(r, 0, shown, true);
    if (shown == count || count - 1 > PARTS_SHOWN) return;
    printf("Parts of the blocks:");
    print_values(r, 1, count, true);
}

static json_t *json_values(const reduction *r, size_t first, size_t end, bool found) {
    const reference_layout layout = reference_layout_of(&r->reference);
    if (r->reference.total && !first && layout.pieces == 1)
        return element_json(layout.type[0], piece_of(r, 0, 0, found));
    json_t *array = json_array();
    for (size_t i = first; i < end; i++)
        for (unsigned k = 0; k < layout.pieces; k++)
            json_array_append_new(array, element_json(layout.type[k], piece_of(r, i, k, found)));
    return array;
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    (void)kernel;
    const reduction *r = w->state;
    const size_t     count = r->reference.count, shown = r->reference.total ? 1 : count;
    json_object_set_new(object, "expected", json_values(r, 0, shown, false));
    json_object_set_new(object, "result", json_values(r, 0, shown, true));
    if (shown < count) json_object_set_new(object, "parts", json_values(r, 1, count, true));
}

// The value; of argmin and argmax its index beside it.
static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const reduction       *r = w->state;
    const reference_layout layout = reference_layout_of(&r->reference);
    const bool indexed = layout.pieces > 1 && layout.type[1] == CJ_U64, one = r->reference.total && layout.pieces == 1;
    const size_t count = layout.pieces > 1 ? layout.pieces : r->reference.count;
    (void)kernel;
    list[0] = (workload_output){.name = "value", .type = layout.type[0], .at = r->out[0], .stride = {1}};
    if (!indexed && !(one && (r->asked || count == 1))) list[0].dims = 1, list[0].extent[0] = count;
    if (indexed) list[1] = (workload_output){.name = "index", .type = CJ_U64, .at = r->out[0] + layout.second};
    return 1 + indexed;
}

const workload_type work_reduce = {
    .family = "reduce",
    .open = open_reduction,
    .close = close_reduction,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};

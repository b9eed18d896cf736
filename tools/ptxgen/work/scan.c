// SPDX-License-Identifier: Apache-2.0
// scan: rows of a fill or a file, compared with running values that the host computes in wider arithmetic.
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "sets.h"
#include "source.h"
#include "user_reference.h"
#include "workload.h"

// SEGMENT: average length of a segment, if flags mark where segments begin. CHUNK: elements that a user's operation scans at once.
// PIECE: elements of a row that are checked at once. SAMPLE: so many elements of several pieces, where a part is enough.
enum { POISON = 0xa5, SEGMENT = 64, CHUNK = 1 << 20, PIECE = 1 << 10, SAMPLE = 1 << 18 };

// The running value of a row; for floats also the sum of magnitudes, to which error bounds are relative.
typedef struct running {
    long double real, magnitude;
    element     whole;
    bool        any;
} running;

typedef struct scan {
    cj_dtype                type;
    element_kind            held;   // in which the type's elements are
    double                  large;  // smaller magnitudes are stored as finite numbers
    size_t                  bytes;  // of an element
    uint64_t                rows, columns, stride, out_stride;
    bool                    exclusive, reverse, segmented;
    char                    kind;          // of op: 's', 'n' (min), 'x' (max), 'p'
    uint64_t                segments;      // that offsets describe; 0: flags, or none
    size_t                  offset_bytes;  // of one
    source                  source;
    unsigned char          *input, *found;
    unsigned char          *begins;         // of each element of x whether a segment begins there; NULL: no segments
    cj_ptr                 *x, *out;        // of each set
    cj_ptr                  heads;          // flags or offsets
    const cj_user_function *op, *identity;  // a user's; NULL: none
    running                *before;         // each piece, in the order of the scan, row by row
    bool                    all_before;     // a check has computed all of them
    unsigned char          *user;           // their results, widened, in the order of the scan, row by row
    element                 last_expected, last_found;
    bool                    has_last;
} scan;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a scan"); }

static size_t span(const scan *s, uint64_t stride) { return (size_t)((s->rows - 1) * stride + s->columns) * s->bytes; }

static uint64_t pieces(const scan *s) { return s->rows * ((s->columns + PIECE - 1) / PIECE); }

static double find_large(cj_dtype type) {
    double large = 1;
    while (isfinite(element_stored(type, (element){.f = 2 * large}).f)) large *= 2;
    return large;
}

static void read_params(workload *w, scan *s) {
    char word[16];
    s->held = element_kind_of(s->type);
    if (s->held == ELEMENT_FLOAT) s->large = find_large(s->type);
    for (size_t i = 0; i < cj_family_param_count(w->params.family); i++) {
        const char *name = cj_family_param(w->params.family, i)->name;
        if (!strcmp(name, "op-expr")) s->op = w->params.function[i];
        if (!strcmp(name, "identity")) s->identity = w->params.function[i];
    }
    s->bytes = cj_dtype_size(s->type);
    s->rows = cj_params_get(&w->params, "rows");
    s->columns = cj_params_get(&w->params, "columns");
    s->stride = cj_params_get(&w->params, "stride");
    s->out_stride = cj_params_get(&w->params, "out-stride");
    if (!s->stride) s->stride = s->columns;
    if (!s->out_stride) s->out_stride = s->columns;
    s->exclusive = workload_has_word(w, "exclusive", "yes");
    s->reverse = workload_has_word(w, "reverse", "yes");
    s->segments = cj_params_get(&w->params, "segments");
    s->offset_bytes = !strcmp(cj_params_word(&w->params, "heads", word, sizeof word), "i64") ? 8 : 4;
    s->segmented = strcmp(word, "none") != 0;
    cj_params_word(&w->params, "op", word, sizeof word);
    s->kind = word[0] == 'm' ? word[2] : word[0];
}

// ---- segments: of random lengths, the same in each run

static uint32_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

// Offset i is at a random place in the i-th of as many equal parts as there are segments; the first is 0, the last the
// end.
static void make_offsets(const scan *s, unsigned char *offsets) {
    uint64_t seed = 1;
    for (uint64_t i = 0; i <= s->segments; i++) {
        const double   inside = i && i < s->segments ? draw(&seed) * 0x1p-32 : 0;
        const uint64_t offset = (uint64_t)(((double)i + inside) * (double)s->columns / (double)s->segments);
        memcpy(offsets + i * s->offset_bytes, &offset, s->offset_bytes);  // little-endian
        if (offset < s->columns) s->begins[offset] = 1;
    }
}

static int make_heads(workload *w, scan *s) {
    const size_t   count = span(s, s->stride) / s->bytes;
    const size_t   bytes = s->segments ? (size_t)(s->segments + 1) * s->offset_bytes : count;
    uint64_t       seed = 1;
    cj_error       error;
    unsigned char *offsets = s->segments ? malloc(bytes) : NULL;
    s->begins = calloc(1, count);
    if (!s->begins || (s->segments && !offsets)) {
        free(offsets);
        return no_memory();
    }
    if (offsets) make_offsets(s, offsets);
    for (size_t i = 0; !offsets && i < count; i++) s->begins[i] = draw(&seed) < UINT32_MAX / SEGMENT;
    cj_status status = cj_mem_alloc(w->device, bytes, &s->heads, &error);
    if (!status) status = cj_mem_write(w->device, s->heads, offsets ? offsets : s->begins, bytes, NULL, &error);
    free(offsets);
    w->bytes_read += (double)bytes;
    return status ? message_failure(&error) : CODE_OK;
}

// ---- a user's operation: applied to one element after the other (user_reference.h)

// The column of element i of a row, in the order of the scan.
static uint64_t column_of(const scan *s, uint64_t i) { return s->reverse ? s->columns - 1 - i : i; }

static bool begins_at(const scan *s, uint64_t row, uint64_t i) {
    return !i || (s->begins && s->begins[row * s->stride + column_of(s, i) + s->reverse]);
}

static int scan_by_user(scan *s) {
    const cj_dtype held = cj_dtype_arithmetic(s->type);
    const size_t   size = cj_dtype_size(held);
    const uint64_t all = s->rows * s->columns;
    user_reference user = {0};
    unsigned char *begins = malloc(CHUNK);
    s->user = malloc((size_t)all * size);
    int code = begins && s->user ? CODE_OK : no_memory();
    if (!code) code = user_reference_open(&user, held, NULL, s->op, s->identity, CHUNK, 1);
    for (uint64_t done = 0, step; !code && done < all; done += step) {
        step = all - done < CHUNK ? all - done : CHUNK;
        for (uint64_t k = 0; k < step; k++) {
            const uint64_t row = (done + k) / s->columns, i = (done + k) % s->columns;
            element        x;
            element_widen(s->type, s->input + (row * s->stride + column_of(s, i)) * s->bytes, 1, &x);
            element_narrow(held, &x, 1, s->user + (done + k) * size);
            begins[k] = begins_at(s, row, i);
        }
        if (!done) code = user_reference_try(&user, s->user, (size_t)step, false);
        if (!code) code = user_reference_scan(&user, s->user + done * size, begins, (size_t)step);
    }
    user_reference_close(&user);
    free(begins);
    return code;
}

static int open_scan(workload *w) {
    scan *s = w->state = calloc(1, sizeof *s);
    if (!s) return no_memory();
    s->type = workload_dtype(w);
    int code = workload_open_rows(w, &s->source, s->type);
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    read_params(w, s);
    code = workload_fits("rows, stride", (double)s->rows * (double)s->stride * (double)s->bytes);
    if (!code) code = workload_fits("rows, out-stride", (double)s->rows * (double)s->out_stride * (double)s->bytes);
    if (code) return code;
    const size_t in = span(s, s->stride), out = span(s, s->out_stride);
    w->bytes_read = w->bytes_written = (double)s->rows * (double)s->columns * (double)s->bytes;
    w->copies = workload_copies(w, (double)in + (double)out);
    w->whole = s->held != ELEMENT_FLOAT;
    s->input = malloc(in);
    s->found = malloc(out);
    s->before = malloc((size_t)pieces(s) * sizeof *s->before);
    if (!s->input || !s->found || !s->before) return no_memory();
    code = source_read_rows(&s->source, s->input, span(s, s->stride) / s->bytes);
    if (!code && s->segmented) code = make_heads(w, s);
    if (!code && s->op) code = scan_by_user(s);
    if (!code) code = sets_alloc(w, in, &s->x);
    if (!code) code = sets_alloc(w, out, &s->out);
    return code ? code : sets_write(w, s->x, s->input, in);
}

static void close_scan(workload *w) {
    scan *s = w->state;
    if (!s) return;
    sets_free(w, s->x);
    sets_free(w, s->out);
    cj_mem_free(w->device, s->heads);
    source_close(&s->source);
    free(s->begins);
    free(s->before);
    free(s->user);
    free(s->input);
    free(s->found);
    free(s);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const scan *s = w->state;
    return cj_mem_fill(w->device, s->out[copy], POISON, span(s, s->out_stride), NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    scan *s = w->state;
    void *arguments[] = {&s->x[copy], &s->out[copy], &s->heads};
    return cj_kernel_launch(kernel, stream, arguments, s->segmented ? 3 : 2, error);
}

// ---- the reference

static bool is_less(const scan *s, element a, element b) {
    return s->held == ELEMENT_SIGNED ? a.i < b.i : a.u < b.u;
}

static void take_whole(const scan *s, running *r, element x) {
    if (!r->any)
        r->whole = x;
    else if (s->kind == 's')
        r->whole.u += x.u;
    else if (s->kind == 'p')
        r->whole.u *= x.u;
    else if (is_less(s, x, r->whole) == (s->kind == 'n'))
        r->whole = x;
    r->any = true;
}

static void take_real(const scan *s, running *r, double x) {
    r->magnitude += fabs(x);
    if (!r->any)
        r->real = x;
    else if (s->kind == 's')
        r->real += x;
    else if (s->kind == 'p')
        r->real *= x;
    else
        r->real = s->kind == 'n' ? fminl(r->real, x) : fmaxl(r->real, x);
    r->any = true;
}

static void take(const scan *s, running *r, element x) {
    if (s->held == ELEMENT_FLOAT)
        take_real(s, r, x.f);
    else
        take_whole(s, r, x);
}

// The smallest normal number; products below it have fewer digits.
static double least_normal(cj_dtype type) { return type == CJ_F64 ? DBL_MIN : type == CJ_F16 ? 0x1p-14 : FLT_MIN; }

// The error of an element, relative to the scale of its bound; for integers whether it differs. The first element of an
// exclusive scan, and of each segment, is the identity, which the library's tests check: it is ignored here.
static double error_of(const scan *s, const running *r, element found, element *expected) {
    if (!r->any) return 0;
    if (s->held != ELEMENT_FLOAT) {
        const bool same = !((r->whole.u ^ found.u) << (64 - 8 * s->bytes));  // as far as they are stored
        *expected = same ? found : element_stored(s->type, r->whole);
        return !same;
    }
    expected->f = (double)r->real;
    if (!(fabs(expected->f) < s->large) && isinf(element_stored(s->type, *expected).f))
        *expected = element_stored(s->type, *expected);
    const double off = fabs(found.f - expected->f), scale = (double)(s->kind == 's' ? r->magnitude : fabsl(r->real));
    if (off == 0 || element_same(s->type, found, *expected) || (s->kind == 'p' && off < least_normal(s->type))) return 0;
    return scale > 0 ? off / scale : INFINITY;
}

// The same for a user's operation, which has no known bound: the difference itself. NaN if only one side is finite.
static double error_of_user(const scan *s, uint64_t row, uint64_t i, element found, element *expected) {
    const cj_dtype held = cj_dtype_arithmetic(s->type);
    if (s->exclusive && begins_at(s, row, i)) return 0;
    element_widen(held, s->user + (row * s->columns + i - s->exclusive) * cj_dtype_size(held), 1, expected);
    *expected = element_stored(s->type, *expected);
    if (s->held != ELEMENT_FLOAT) return expected->u != found.u;
    return element_same(s->type, found, *expected) ? 0 : fabs(found.f - expected->f);
}

static bool is_right(const scan *s, double error, double bound) {
    return error <= bound || (isnan(bound) && (!s->op || isfinite(error)));
}

static void note_wrong(const scan *s, uint64_t row, uint64_t column, element found, element expected, workload_verdict *verdict) {
    char wanted[ELEMENT_TEXT], is[ELEMENT_TEXT];
    verdict->ok = false;
    snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ", column %" PRIu64 " is %s, not %s", row, column,
             element_text(s->type, found, is), element_text(s->type, expected, wanted));
}

// Elements of a row in memory, in the order of the scan.
static void widen(const scan *s, const unsigned char *row, uint64_t first, size_t count, element *to) {
    element_widen(s->type, row + (s->reverse ? s->columns - first - count : first) * s->bytes, count, to);
    for (size_t k = 0; s->reverse && k < count / 2; k++) {
        const element x = to[k];
        to[k] = to[count - 1 - k];
        to[count - 1 - k] = x;
    }
}

// Checks elements from `first` on, and takes them into *r, which has all those before.
static void check_piece(scan *s, uint64_t row, uint64_t first, size_t count, running *r, workload_verdict *verdict) {
    element x[PIECE], found[PIECE], expected = {0};
    widen(s, s->input + row * s->stride * s->bytes, first, count, x);
    widen(s, s->found + row * s->out_stride * s->bytes, first, count, found);
    for (size_t k = 0; k < count; k++) {
        if (begins_at(s, row, first + k)) *r = (running){0};
        if (!s->exclusive) take(s, r, x[k]);
        s->has_last = r->any;
        const double error = s->op ? error_of_user(s, row, first + k, found[k], &expected) : error_of(s, r, found[k], &expected);
        if (s->exclusive) take(s, r, x[k]);
        if (!(error <= verdict->error)) verdict->error = error;
        if (verdict->ok && !is_right(s, error, verdict->bound))
            note_wrong(s, row, column_of(s, first + k), found[k], expected, verdict);
    }
    s->last_expected = expected;
    s->last_found = found[count - 1];
}

// Reads some elements of a row of the results.
static cj_status read_found(const workload *w, unsigned copy, uint64_t row, uint64_t first, size_t count, cj_error *error) {
    const scan  *s = w->state;
    const size_t at = (size_t)(row * s->out_stride + (s->reverse ? s->columns - first - count : first)) * s->bytes;
    return cj_mem_read(w->device, s->found + at, s->out[copy] + at, count * s->bytes, NULL, error);
}

// Checks all pieces of all rows, or equally spaced ones.
static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    scan          *s = w->state;
    const uint64_t all = pieces(s), each = all / s->rows;
    const bool     sampled = w->sampled && s->all_before && all > SAMPLE / PIECE;
    const uint64_t checked = sampled ? SAMPLE / PIECE : all;
    running        r = {0};
    cj_error       error;
    if (!sampled && cj_mem_read(w->device, s->found, s->out[copy], span(s, s->out_stride), NULL, &error))
        return message_failure(&error);
    *verdict = (workload_verdict){.ok = true, .bound = cj_kernel_plan(kernel)->error_bound};
    for (uint64_t n = 0; n < checked; n++) {
        const uint64_t piece = workload_spread(n, checked, all), row = piece / each, first = piece % each * PIECE;
        const size_t   count = s->columns - first < PIECE ? (size_t)(s->columns - first) : PIECE;
        if (sampled && read_found(w, copy, row, first, count, &error)) return message_failure(&error);
        if (sampled) r = s->before[piece];
        s->before[piece] = r;
        check_piece(s, row, first, count, &r, verdict);
    }
    s->all_before = true;
    if (isnan(verdict->bound) && verdict->ok)
        snprintf(verdict->text, sizeof verdict->text,
                 s->op ? "op-expr rounds in another order"
                       : "nothing is known about the roundings of products this long");
    return CODE_OK;
}

// ---- what run shows: the last element that was scanned

static void print(const workload *w, const cj_kernel *kernel) {
    const scan *s = w->state;
    char        text[ELEMENT_TEXT];
    (void)kernel;
    if (s->op) printf("Reference: op-expr one element after the other, on the CPU device\n");
    printf("Rows: %" PRIu64 " of %" PRIu64 " elements\n", s->rows, s->columns);
    if (s->has_last) printf("Expected, at the last row's end: %s\n", element_text(s->type, s->last_expected, text));
    printf("Result, at the last row's end: %s\n", element_text(s->type, s->last_found, text));
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const scan *s = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", s->has_last ? element_json(s->type, s->last_expected) : json_null());
    json_object_set_new(object, "result", element_json(s->type, s->last_found));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const scan *s = w->state;
    (void)kernel;
    list[0] = workload_output_rows("out", s->type, s->out[0], s->rows, s->columns, s->out_stride);
    return 1;
}

const workload_type work_scan = {
    .family = "scan",
    .open = open_scan,
    .close = close_scan,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};

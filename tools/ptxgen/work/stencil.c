// SPDX-License-Identifier: Apache-2.0
// stencil: random grids, or those of a file or a fill, compared with the host's results in the documented order: all
// points if that is little work, else windows at both ends and in the middle of the first and the last grid, each
// computed with all points around it that its results depend on.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "progress.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

// GRIDS: so many grids of a batch are checked at most.
enum { AXES = 3, TAPS = 32, WINDOW = 8, WINDOWS = 3, GRIDS = 1 << 16, POISON = 0xff };

#define WORK_MAX 3e8    // products that the host computes for all points
#define SHOWN_WORK 3e7  // of a window; windows with more work show progress

enum { ZERO, CLAMP, PERIODIC };

typedef struct tap {
    int64_t at[AXES];
    double  weight;
} tap;

// A part of a grid: the points that are checked, and the points that must be computed for them.
typedef struct window {
    int64_t grid;
    int64_t first[AXES], count[AXES];  // the points that are checked
    int64_t low[AXES], length[AXES];   // the points that are computed
    double *now, *next;
} window;

typedef struct stencil {
    cj_dtype dtype;
    int64_t  n[AXES], radius, steps, batch, dim;
    int      boundary;
    bool     box;
    unsigned tap_count;
    tap      tap[TAPS];
    size_t   points, bytes;  // of a grid; of all grids
    source   source;
    void    *in, *found;  // on the host
    cj_ptr  *from, *to;   // of each set
    uint64_t checked, mismatches;
    window  *window;  // the parts that are checked, computed once
    size_t   window_count;
} stencil;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a stencil"); }

// ---- the problem

static void read_taps(stencil *s, const cj_params *p) {
    const int64_t  r = s->radius, ry = s->dim > 1 ? r : 0, rz = s->dim > 2 ? r : 0;
    const uint64_t given = cj_params_get(p, "weights");
    for (int64_t z = -rz; z <= rz; z++)
        for (int64_t y = -ry; y <= ry; y++)
            for (int64_t x = -r; x <= r; x++)
                if (s->tap_count < TAPS && (s->box || (x != 0) + (y != 0) + (z != 0) <= 1))
                    s->tap[s->tap_count++] = (tap){{x, y, z}, 0};
    for (unsigned i = 0; i < s->tap_count; i++)
        s->tap[i].weight = given ? p->reals[i] : i == s->tap_count / 2 ? 0.5 : 0.5 / (s->tap_count - 1);
}

static void read_params(stencil *s, const cj_params *p) {
    static const char *const extents[] = {"nx", "ny", "nz"};
    s->dim = (int64_t)cj_params_get(p, "dim");
    s->batch = (int64_t)cj_params_get(p, "batch");
    s->steps = (int64_t)cj_params_get(p, "steps");
    s->radius = (int64_t)cj_params_get(p, "radius");
    s->boundary = (int)cj_params_get(p, "boundary");
    s->box = cj_params_get(p, "shape") == 1;
    s->dtype = cj_params_get(p, "dtype") == 1 ? CJ_F64 : CJ_F32;
    s->points = 1;
    for (int a = 0; a < AXES; a++)
        s->points *= (size_t)(s->n[a] = a < s->dim ? (int64_t)cj_params_get(p, extents[a]) : 1);
    s->bytes = s->points * (size_t)s->batch * cj_dtype_size(s->dtype);
    read_taps(s, p);
}

// ---- the reference: of windows, in f64. tests/cases/arrays/stencil_cases.c has another, written apart from this one, so that one mistake
// is not in both.

static double value_at(const stencil *s, const void *grids, size_t i) {
    return s->dtype == CJ_F64 ? ((const double *)grids)[i] : (double)((const float *)grids)[i];
}

static size_t grid_index(const stencil *s, const window *w, int64_t x, int64_t y, int64_t z) {
    const int64_t at[AXES] = {x, y, z};
    int64_t       index = 0;
    for (int a = AXES; a-- > 0;) index = index * s->n[a] + ((w->low[a] + at[a]) % s->n[a] + s->n[a]) % s->n[a];
    return (size_t)index;
}

// The index in the window of a point along an axis, -1 for a point that is zero. No point is needed beyond a window's
// end inside the grid.
static int64_t place(const stencil *s, const window *w, int a, int64_t at) {
    const int64_t length = w->length[a];
    if (at >= 0 && at < length) return at;
    if (s->boundary == ZERO) return -1;
    if (s->boundary == PERIODIC && length == s->n[a]) return (at % length + length) % length;
    return at < 0 ? 0 : length - 1;
}

static double tap_value(const stencil *s, const window *w, const tap *t, const int64_t at[AXES]) {
    int64_t index = 0;
    for (int a = AXES; a-- > 0;) {
        const int64_t i = place(s, w, a, at[a] + t->at[a]);
        if (i < 0) return 0;
        index = index * w->length[a] + i;
    }
    return w->now[index];
}

static double new_value(const stencil *s, const window *w, const int64_t at[AXES]) {
    double sum = 0;
    for (unsigned i = 0; i < s->tap_count; i++) {
        const double v = tap_value(s, w, &s->tap[i], at), weight = s->tap[i].weight;
        if (s->dtype == CJ_F64)
            sum = i ? fma(v, weight, sum) : v * weight;
        else
            sum = i ? (double)fmaf((float)v, (float)weight, (float)sum) : (double)((float)v * (float)weight);
    }
    return sum;
}

// Whether all taps of a row's points between the window's first and last one are inside the window.
static bool is_inner(const stencil *s, const window *w, int64_t y, int64_t z) {
    const int64_t at[AXES] = {s->radius, y, z};
    if (w->length[0] <= 2 * s->radius) return false;
    for (unsigned i = 0; i < s->tap_count; i++)
        for (int a = 1; a < AXES; a++) {
            const int64_t there = at[a] + s->tap[i].at[a];
            if (there < 0 || there >= w->length[a]) return false;
        }
    return true;
}

// The same sums as in new_value, for a row's points from `at`.
static void inner_row(const stencil *s, const window *w, size_t at, int64_t points) {
    int64_t away[TAPS];
    for (unsigned i = 0; i < s->tap_count; i++)
        away[i] = (s->tap[i].at[2] * w->length[1] + s->tap[i].at[1]) * w->length[0] + s->tap[i].at[0];
    for (const double *v = w->now + at, *end = v + points; v < end; v++, at++) {
        double sum = v[away[0]] * s->tap[0].weight;
        float  narrow = (float)v[away[0]] * (float)s->tap[0].weight;
        if (s->dtype == CJ_F64)
            for (unsigned i = 1; i < s->tap_count; i++) sum = fma(v[away[i]], s->tap[i].weight, sum);
        else
            for (unsigned i = 1; i < s->tap_count; i++)
                narrow = fmaf((float)v[away[i]], (float)s->tap[i].weight, narrow);
        w->next[at] = s->dtype == CJ_F64 ? sum : (double)narrow;
    }
}

static void step_row(const stencil *s, const window *w, int64_t y, int64_t z) {
    const size_t  row = (size_t)((z * w->length[1] + y) * w->length[0]);
    const int64_t r = is_inner(s, w, y, z) ? s->radius : w->length[0], inner = w->length[0] - 2 * r;
    if (inner > 0) inner_row(s, w, row + (size_t)r, inner);
    for (int64_t x = 0; x < w->length[0]; x++) {
        if (inner > 0 && x == r) x += inner;
        w->next[row + (size_t)x] = new_value(s, w, (const int64_t[]){x, y, z});
    }
}

static void step(const stencil *s, window *w) {
    for (int64_t z = 0; z < w->length[2]; z++)
        for (int64_t y = 0; y < w->length[1]; y++) step_row(s, w, y, z);
    double *swap = w->now;
    w->now = w->next;
    w->next = swap;
}

static size_t window_points(const window *w) { return (size_t)(w->length[0] * w->length[1] * w->length[2]); }

// Computes the window; false when out of memory.
static bool compute(const stencil *s, window *w) {
    size_t i = 0;
    w->now = malloc(window_points(w) * sizeof *w->now);
    w->next = malloc(window_points(w) * sizeof *w->next);
    if (!w->now || !w->next) return false;
    for (int64_t z = 0; z < w->length[2]; z++)
        for (int64_t y = 0; y < w->length[1]; y++)
            for (int64_t x = 0; x < w->length[0]; x++)
                w->now[i++] = value_at(s, s->in, (size_t)w->grid * s->points + grid_index(s, w, x, y, z));
    const bool is_long = (double)window_points(w) * (double)s->steps * s->tap_count > SHOWN_WORK;
    for (int64_t k = 0; k < s->steps; k++) {
        if (is_long) progress_show("computing what is expected: step", (size_t)k, (size_t)s->steps);
        step(s, w);
    }
    if (is_long) progress_clear();
    free(w->next);
    w->next = NULL;
    return true;
}

// ---- the check

static void compare(stencil *s, const window *w, workload_verdict *verdict) {
    const int64_t grid = w->grid;
    for (int64_t z = 0; z < w->count[2]; z++)
        for (int64_t y = 0; y < w->count[1]; y++)
            for (int64_t x = 0; x < w->count[0]; x++) {
                const int64_t at[AXES] = {w->first[0] + x - w->low[0], w->first[1] + y - w->low[1],
                                          w->first[2] + z - w->low[2]};
                const double  want = w->now[(at[2] * w->length[1] + at[1]) * w->length[0] + at[0]];
                const double  got = value_at(s, s->found,
                                             (size_t)grid * s->points + grid_index(s, w, at[0], at[1], at[2]));
                s->checked++;
                if (got == want || (isnan(got) && isnan(want))) continue;
                if (!s->mismatches++)
                    snprintf(verdict->text, sizeof verdict->text,
                             "point (%" PRId64 ", %" PRId64 ", %" PRId64 ") of grid %" PRId64 " is %.9g, not %.9g",
                             w->first[0] + x, w->first[1] + y, w->first[2] + z, grid, got, want);
                verdict->ok = false;
                verdict->error = isnan(got) ? INFINITY : fmax(verdict->error, fabs(got - want));
            }
}

// The whole grid, or the k-th window of a few points.
static window window_of(const stencil *s, int64_t grid, bool all, int k) {
    window w = {.grid = grid};
    for (int a = 0; a < AXES; a++) {
        const int64_t n = s->n[a], reach = a < s->dim ? s->steps * s->radius : 0, most = all || n < WINDOW ? n : WINDOW;
        w.count[a] = most;
        w.first[a] = (n - most) * k / (WINDOWS - 1);
        w.low[a] = w.first[a] - reach;
        w.length[a] = most + 2 * reach;
        if (w.length[a] >= n) w.low[a] = 0, w.length[a] = n;
        if (s->boundary == PERIODIC) continue;
        const int64_t end = w.low[a] + w.length[a] < n ? w.low[a] + w.length[a] : n;
        if (w.low[a] < 0) w.low[a] = 0;
        w.length[a] = end - w.low[a];
    }
    return w;
}

static bool is_whole(const stencil *s, const window *w) {
    for (int a = 0; a < AXES; a++)
        if (w->length[a] < s->n[a]) return false;
    return true;
}

// A window that depends on the whole grid is widened to the whole grid.
static bool make_windows(stencil *s) {
    const bool    all = (double)s->points * (double)s->batch * (double)s->steps * s->tap_count <= WORK_MAX;
    const int64_t stride = all ? (s->batch + GRIDS - 1) / GRIDS : s->batch < 2 ? 1 : s->batch - 1;
    s->window = calloc((size_t)((s->batch + stride - 1) / stride) * (all ? 1 : WINDOWS), sizeof *s->window);
    if (!s->window) return false;
    for (int64_t grid = 0; grid < s->batch; grid += stride)
        for (int k = 0; k < WINDOWS; k++) {
            window     w = window_of(s, grid, all, k);
            const bool whole = is_whole(s, &w);
            window    *kept = &s->window[s->window_count++];
            *kept = whole ? window_of(s, grid, true, 0) : w;
            if (!compute(s, kept)) return false;
            if (whole) break;
        }
    return true;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    stencil *s = w->state;
    cj_error error;
    (void)kernel;
    if (!s->window && !make_windows(s)) return no_memory();
    if (cj_mem_read(w->device, s->found, s->to[copy], s->bytes, NULL, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    s->checked = s->mismatches = 0;
    for (size_t i = 0; i < s->window_count; i++) compare(s, &s->window[i], verdict);
    return CODE_OK;
}

// ---- the workload

static int allocate(workload *w, stencil *s) {
    w->copies = workload_copies(w, 2.0 * (double)s->bytes);
    s->in = malloc(s->bytes);
    s->found = malloc(s->bytes);
    if (!s->in || !s->found) return no_memory();
    int code = source_read(&s->source, s->in, s->points * (size_t)s->batch);
    if (!code) code = sets_alloc(w, s->bytes, &s->from);
    if (!code) code = sets_alloc(w, s->bytes, &s->to);
    if (!code) code = sets_write(w, s->from, s->in, s->bytes);
    w->bytes_read = w->bytes_written = (double)s->bytes;
    w->operations = (double)s->points * (double)s->batch * (double)s->steps;
    w->unit = "point updates";
    return code;
}

// Takes the grid from a file's shape: its last dimensions are x, y and z, as many as `dim` says, and those before are a
// batch.
static int take_shape(workload *w, stencil *s) {
    static const char *const axes[] = {"nz", "ny", "nx"};
    const unsigned           dim = (unsigned)cj_params_get(&w->params, "dim"), there = s->source.shape.dims;
    const char              *names[1 + AXES] = {"batch"};
    if (there < 2) return CODE_OK;
    for (unsigned i = 0; i < dim; i++) names[1 + i] = axes[AXES - dim + i];
    return workload_shape(w, &s->source, names + (there == dim), dim + (there != dim));
}

static int open_stencil(workload *w) {
    stencil *s = w->state = calloc(1, sizeof *s);
    if (!s) return no_memory();
    s->dtype = cj_params_get(&w->params, "dtype") == 1 ? CJ_F64 : CJ_F32;
    int code = source_open(&s->source, s->dtype, w->input, w->fill ? w->fill : "rand:1");
    if (!code) code = take_shape(w, s);
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    read_params(s, &w->params);
    if (!code && w->input && s->source.available < s->points * (size_t)s->batch)
        code = message_error(CJ_INVALID_ARGUMENT, "the grids have %zu points, but '%s' holds only %" PRIu64 " elements",
                             s->points * (size_t)s->batch, s->source.name, s->source.available);
    return code ? code : allocate(w, s);
}

static void close_stencil(workload *w) {
    stencil *s = w->state;
    if (!s) return;
    sets_free(w, s->from);
    sets_free(w, s->to);
    for (size_t i = 0; i < s->window_count; i++) {
        free(s->window[i].now);
        free(s->window[i].next);
    }
    free(s->window);
    source_close(&s->source);
    free(s->in);
    free(s->found);
    free(s);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const stencil *s = w->state;
    return cj_mem_fill(w->device, s->to[copy], POISON, s->bytes, NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    const stencil *s = w->state;
    void          *arguments[] = {&s->from[copy], &s->to[copy]};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

// ---- what run shows

static double checksum(const stencil *s, const void *grids) {
    double sum = 0;
    for (size_t i = 0; i < s->points * (size_t)s->batch; i++) sum += value_at(s, grids, i);
    return sum;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const stencil *s = w->state;
    const cj_plan *plan = cj_kernel_plan(kernel);
    printf("Grid: %" PRId64, s->n[0]);
    for (int a = 1; a < s->dim; a++) printf("x%" PRId64, s->n[a]);
    printf(" of %s, %" PRId64 " of them, %" PRId64 " steps\n", cj_dtype_name(s->dtype), s->batch, s->steps);
    printf("Kernel: %s, clusters of %" PRIu32 ", %" PRIu32 " launch%s\n", plan->entry, plan->cluster.x,
           plan->launches ? plan->launches : 1, plan->launches > 1 ? "es" : "");
    printf("Checksum: %.9g before, %.9g after\n", checksum(s, s->in), checksum(s, s->found));
    printf("Mismatches: %" PRIu64 " of %" PRIu64 " points looked at\n", s->mismatches, s->checked);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const stencil *s = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", json_pack("{s:o}", "mismatches", output_json_uint(0)));
    json_object_set_new(object, "result",
                        json_pack("{s:o, s:o, s:o}", "checksum", output_json_real(checksum(s, s->found)), "looked_at",
                                  output_json_uint(s->checked), "mismatches", output_json_uint(s->mismatches)));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const stencil  *s = w->state;
    workload_output grids = {
        .name = "grids", .type = s->dtype, .at = s->to[0], .dims = (unsigned)s->dim + (s->batch > 1)};
    uint64_t stride = 1;
    (void)kernel;
    for (unsigned i = grids.dims, axis = 0; i-- > 0; axis++) {
        grids.extent[i] = (uint64_t)(axis < (unsigned)s->dim ? s->n[axis] : s->batch);
        grids.stride[i] = stride;
        stride *= grids.extent[i];
    }
    list[0] = grids;
    return 1;
}

const workload_type work_stencil = {
    .family = "stencil",
    .open = open_stencil,
    .close = close_stencil,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};

// SPDX-License-Identifier: Apache-2.0
// A stencil, from its parameters to its kernel. Files, each of which sees those above it:
//
//   problem.c                          parameters as numbers: taps, tiles, strips, bytes
//   plan.c                             strategy, form and sizes
//   kernel.c                           what all forms write: buffers, steps left, the weighted sum
//   row.c                              a row of the grid in the registers of a warp
//   shared.c  resident.c  stream.c     the forms
//   stencil.c                          the family
#ifndef CJ_TEMPLATES_STENCIL_H
#define CJ_TEMPLATES_STENCIL_H

#include "kit.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// Parameters.
enum {
#define PARAM(id, ...) id,
#include "params.def"
};

enum { AXES = 3, RADIUS_MAX = 4, COLUMNS_MAX = 16, VECTOR_BYTES = 16, WARP = 32 };

typedef enum stencil_boundary { BOUNDARY_ZERO, BOUNDARY_CLAMP, BOUNDARY_PERIODIC } stencil_boundary;
typedef enum stencil_strategy { STRATEGY_AUTO, STRATEGY_RESIDENT, STRATEGY_BLOCKED, STRATEGY_STEP } stencil_strategy;
typedef enum stencil_form { FORM_AUTO, FORM_SHARED, FORM_REGISTERS } stencil_form;

// A grid point that a new value is made of, by its distance along x, y and z.
typedef struct stencil_tap {
    int32_t at[AXES];
    double  weight;
} stencil_tap;

// How the shared form cuts an axis: tiles of `out` results, which with the margins on either side hold `length` points.
// One tile that is the whole axis has no margins.
typedef struct stencil_axis {
    uint32_t n, out, margin, length, tiles;
} stencil_axis;

typedef struct stencil {
    const char      *type;                         // f32, f64
    uint32_t         bytes, dim, radius, n[AXES];  // n: 1 beyond dim
    bool             box;
    stencil_boundary boundary;
    stencil_strategy strategy;
    stencil_form     form;
    uint32_t         tap_count;
    stencil_tap      tap[CJ_REALS_MAX];
    uint64_t         points, batch, steps;
    uint32_t     depth;  // steps a launch; of the resident register form: steps from one exchange of halos to the next
    uint64_t     launches;
    uint32_t     cluster;  // blocks that share a tile, 1: none shares
    uint32_t     threads, warps;
    uint32_t     tile;             // shared: results a block along the last axis; registers: rows a warp
    stencil_axis axis[AXES];       // shared
    uint32_t     columns, strips;  // registers: of a lane; warps along a row
    uint32_t     margin;           // registers: columns or rows beyond the results, on either side
    uint32_t     strip,
        strip_margin;  // registers: columns of a warp that are results, and in whole lanes those on either side
} stencil;

// ---- the problem

// The numbers of a plan's parameters. plan: those that are chosen, too.
void cj__stencil_read(const cj_params *params, stencil *s);

// What follows from them: tiles, margins, strips, launches.
void cj__stencil_layout(stencil *s);

// Bytes of dynamic shared memory.
uint64_t cj__stencil_shared_bytes(const stencil *s);

// Whether blocks, or clusters, have numbers that say which problem or tile is theirs.
static inline bool cj__stencil_is_numbered(const stencil *s) {
    if (s->form == FORM_REGISTERS) return s->strategy != STRATEGY_RESIDENT || s->batch > 1;
    return s->batch > 1 || s->axis[0].tiles > 1 || s->axis[1].tiles > 1 || s->axis[2].tiles > 1;
}

// Registers of a thread, of the forms blocked and step in registers.
uint32_t cj__stencil_stream_registers(const stencil *s);

cj_status cj__stencil_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- the kernel

typedef struct kernel {
    const cj_plan *plan;
    const stencil *s;
    cj_func       *f;
    cj_var         in, out, steps, turn, workspace;
    cj_reg         thread, lane, block, rank;  // rank: of a cluster alone
} kernel;

void cj__stencil_emit_shared(const kernel *k);
void cj__stencil_emit_resident(const kernel *k);
void cj__stencil_emit_stream(const kernel *k);

// What this launch reads and writes of a problem (u32): addresses of its first point.
typedef struct stencil_buffers {
    cj_reg from, to;
} stencil_buffers;

stencil_buffers cj__stencil_buffers(const kernel *k, cj_reg problem);

// `at`, at most `reach` points outside of an axis of `n`, becomes the point that stands there: round the grid's end, or the
// nearest.
void cj__stencil_enter_grid(const kernel *k, cj_reg at, uint32_t n, uint32_t reach);

// The steps that are left for this launch, at most depth, as a new u32.
cj_reg cj__stencil_steps(const kernel *k);

// into = the weighted sum of what value(user, tap) gives, in the taps' order.
void cj__stencil_sum(const kernel *k, cj_reg into, cj_reg (*value)(void *user, const stencil_tap *tap), void *user);

// ---- a row of the grid in a warp

// A lane's columns of a row: at[radius + v] is column v, and on either side are its neighbours' nearest.
typedef struct stencil_row {
    cj_reg at[COLUMNS_MAX + 2 * RADIUS_MAX];
} stencil_row;

stencil_row cj__stencil_row(const kernel *k, const char *name);
void        cj__stencil_row_move(const kernel *k, const stencil_row *into, const stencil_row *from,
                                 bool own);  // own: the lane's own columns alone
void        cj__stencil_row_zero(const kernel *k, const stencil_row *row);

// Where the grid's rows end: whether this lane begins or ends them; the lanes that have the columns next to this lane's,
// where the warp's row wraps around.
typedef struct stencil_ends {
    cj_reg first, last, left, right;
    bool   wraps;
} stencil_ends;

stencil_ends cj__stencil_row_ends(const kernel *k, cj_reg x);  // x: the lane's first column, s32

// Fills in the neighbours' columns; at an end of the grid's rows, what the boundary says.
void cj__stencil_row_sides(const kernel *k, const stencil_ends *ends, const stencil_row *row);

// into = the new row in the middle of the 2 radius + 1 rows.
void cj__stencil_row_sum(const kernel *k, const stencil_row *into, const stencil_row *const *rows);

// A lane's columns as pieces of 16 bytes: their number, elements of each, and a piece's registers.
static inline uint32_t cj__stencil_row_count(const kernel *k) { return VECTOR_BYTES / k->s->bytes; }
static inline uint32_t cj__stencil_row_pieces(const kernel *k) { return k->s->columns / cj__stencil_row_count(k); }
const cj_reg          *cj__stencil_row_piece(const kernel *k, const stencil_row *row, uint32_t piece);

// The pieces at address, address + pitch, ...; `load` and `store` are operations such as "ld.global".
void cj__stencil_row_load(const kernel *k, const char *load, const stencil_row *row, cj_reg address, uint32_t pitch);
void cj__stencil_row_store(const kernel *k, cj_reg when, const char *store, const stencil_row *row, cj_reg address,
                           uint32_t pitch);

#endif

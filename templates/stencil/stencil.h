// SPDX-License-Identifier: Apache-2.0
// What the stencil's files share: a problem and the way it is done as numbers, and the pieces that its forms are
// written with. stencil.c describes the family; stencil_plan.c chooses; stencil_shared.c, stencil_resident.c and
// stencil_stream.c write a form each.
#ifndef CJ_TEMPLATES_STENCIL_H
#define CJ_TEMPLATES_STENCIL_H

#include "family.h"

enum {
    DIM,
    NX,
    NY,
    NZ,
    BATCH,
    STEPS,
    RADIUS,
    SHAPE,
    BOUNDARY,
    WEIGHTS,
    DTYPE,
    STRATEGY,
    FORM,
    CLUSTER,
    BLOCK,
    TILE,
    DEPTH
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
    uint32_t         bytes, dim, radius, n[AXES];  // n: 1 behind dim
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
} stencil;

// The numbers of a plan's parameters, all of which are chosen.
void      cj__stencil_read(const cj_params *params, stencil *s);
cj_status cj__stencil_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// What follows from them: tiles, margins, strips, launches.
void cj__stencil_layout(stencil *s);

// Bytes of dynamic shared memory.
uint64_t cj__stencil_shared_bytes(const stencil *s);

// Registers of a thread, of the forms blocked and step in registers.
uint32_t cj__stencil_stream_registers(const stencil *s);

// ---- the kernel

// What its steps share. Addresses are those of this block's problem.
typedef struct kernel {
    const cj_plan *plan;
    const stencil *s;
    cj_func       *f;
    cj_var         in, out, steps, turn, workspace;
    cj_reg         thread, lane, block, rank;  // rank: of a cluster alone
    cj_reg         from, to;                   // u64
    cj_reg         first, last;                // registers: whether this lane begins, ends the grid's rows
    cj_reg         lane_left, lane_right;  // registers: whose columns are next to this lane's, where rows wrap around
} kernel;

void cj__stencil_emit_shared(kernel *k);
void cj__stencil_emit_resident(kernel *k);
void cj__stencil_emit_stream(kernel *k);

// What a launch reads and writes: from and to, of problem `problem` (u32).
void cj__stencil_buffers(kernel *k, cj_reg problem);

// The steps that are left for this launch, at most depth, as a new u32.
cj_reg cj__stencil_steps(kernel *k);

// into = the weighted sum of what value(user, tap) gives, in the taps' order.
void cj__stencil_sum(kernel *k, cj_reg into, cj_reg (*value)(void *user, const stencil_tap *tap), void *user);

// A lane's columns of a row, at[radius + v] for column v, and between them and the array's ends its neighbours'.
typedef struct stencil_row {
    cj_reg at[COLUMNS_MAX + 2 * RADIUS_MAX];
} stencil_row;

stencil_row cj__stencil_row(kernel *k, const char *name);
void        cj__stencil_row_move(kernel *k, const stencil_row *into, const stencil_row *from);
void cj__stencil_row_move_own(kernel *k, const stencil_row *into, const stencil_row *from);  // the lane's own columns
void cj__stencil_row_zero(kernel *k, const stencil_row *row);

// Fills in the neighbours' columns, with the boundary's where the lane is at an end of the grid's rows.
void cj__stencil_row_sides(kernel *k, const stencil_row *row);

// into = the new row in the middle of the 2 radius + 1 rows.
void cj__stencil_row_sum(kernel *k, const stencil_row *into, const stencil_row *const *rows);

// The row in 16-byte pieces at address, address + pitch, …: `operation` is "ld.global", "st.shared", …; loads fill it.
void cj__stencil_row_load(kernel *k, const char *operation, const stencil_row *row, cj_reg address, uint32_t pitch);
void cj__stencil_row_store(kernel *k, cj_reg when, const char *operation, const stencil_row *row, cj_reg address,
                           uint32_t pitch);

// The row's 16 bytes at piece `piece`: how many elements, and their registers.
uint32_t cj__stencil_row_piece(const kernel *k, const stencil_row *row, uint32_t piece, cj_reg element[4]);
uint32_t cj__stencil_row_pieces(const kernel *k);

// Sets first and last for a lane whose columns begin at `x` (s32), and the lanes next to it.
void cj__stencil_row_ends(kernel *k, cj_reg x);

#endif

// SPDX-License-Identifier: Apache-2.0
// stencil, shared form: a tile of the grid in the shared memory of a block, or of the blocks of a cluster.
//
// The tile is cut along its last axis into planes (1-D: points, 2-D: rows), an even share for each block of the cluster. A block
// holds its planes, and on either side `radius` planes of halo where a neighbour has the next ones:
//
//   rank 0            rank 1            rank 2          (periodic and all of the grid: the ends are neighbours too)
//   halo | planes | halo
//              halo | planes | halo      a plane near the end is stored twice: in the block's own buffer, and through
//                           halo | …     distributed shared memory in the halo of the neighbour that will read it
//
// There are two such buffers. A step reads one and writes the other; the last step writes to global memory. A step spends `radius`
// points of the tile's margins (blocked): taps beyond the tile's end read its last point, and what comes of that never
// reaches a result. Points outside the grid are never read: the boundary puts a point or 0 in their place.
//
// Barriers, each of the cluster, or bar.sync without one (docs/maintaining/stencil.md has the proof):
//   B1  every block has started, before the first store into a neighbour's memory; relaxed
//   B2  the first buffer is loaded, halos included, before taps read it
//   B3  after each step but the last: its stores before the next step's loads, its loads before the next step's stores
#include "stencil.h"

// Where planes of a block are halo elsewhere: those from `down` on in the next rank, `back` bytes before their own place; those
// before `up` in the previous rank, `on` bytes after it.
typedef struct hop {
    cj_reg down, up, back, on;
} hop;

// A block's part of a tile.
typedef struct tile {
    const kernel   *k;
    cj_func        *f;
    const stencil  *s;
    uint32_t        cut, stride[AXES], plane, halo;       // points
    uint32_t        buffer;                               // bytes
    bool            wraps[AXES];                          // periodic, and the tile is the whole axis
    cj_reg          origin[AXES], low[AXES], high[AXES];  // of the tile in the grid; of the grid's points in the tile
    stencil_buffers global;
    cj_reg          pool, first, count;  // shared memory; the block's first plane, and its points
    hop             hops[RADIUS_MAX];
    uint32_t        hop_count;
    cj_reg          next, previous;  // ranks
    cj_reg          read, write;     // offsets of the two buffers
} tile;

static const stencil_axis *axis_of(const tile *t, uint32_t a) { return &t->s->axis[a]; }

static void sync(const tile *t, const char *why) {
    if (t->s->cluster > 1)
        cj_cluster_sync(t->f, why);
    else
        cj_ptx(t->f, "bar.sync 0; // $1", why);
}

// ---- where things are

static void measure_tile(tile *t) {
    const stencil *s = t->s;
    t->cut = s->dim - 1;
    t->plane = 1;
    for (uint32_t a = 0; a < s->dim; a++) {
        t->stride[a] = t->plane;
        if (a < t->cut) t->plane *= s->axis[a].length;
        t->wraps[a] = s->boundary == BOUNDARY_PERIODIC && !s->axis[a].margin;
    }
    if (s->cluster > 1 || t->wraps[t->cut]) t->halo = s->radius;
    t->buffer = (uint32_t)(cj__stencil_shared_bytes(s) / (s->depth > 1 ? 2 : 1));
}

// Along an axis: where the tile begins in the grid, and of the grid's points in it the first and the last.
static void emit_origin(tile *t, uint32_t a, cj_reg number) {
    static const char *const names[3][AXES] = {
        {"origin_x", "origin_y", "origin_z"}, {"low_x", "low_y", "low_z"}, {"high_x", "high_y", "high_z"}};
    cj_func            *f = t->f;
    const stencil_axis *axis = axis_of(t, a);
    if (axis->tiles > 1) {
        cj_reg part = cj_rem(f, "part", number, axis->tiles);
        cj_update(f, number, "div", axis->tiles);
        t->origin[a] = cj_let(f, "s32", names[0][a], "mul.lo.s32 $1, $2, $3;", part, axis->out);
        cj_update(f, t->origin[a], "sub", axis->margin);
    } else {
        t->origin[a] = cj_mov(f, "s32", names[0][a], -(int32_t)axis->margin);
    }
    if (t->wraps[a] && a == t->cut) return;  // every plane has its neighbours, as halo
    t->low[a] = cj_mov(f, "s32", names[1][a], 0);
    t->high[a] = cj_mov(f, "s32", names[2][a], axis->length - 1);
    if (t->s->boundary == BOUNDARY_PERIODIC) return;
    cj_update(f, t->low[a], "sub", t->origin[a]);
    cj_update(f, t->low[a], "max", 0);
    cj_update(f, t->high[a], "min", cj_sub(f, "last_point", axis->n - 1, t->origin[a]));
}

static void emit_place(tile *t) {
    cj_step(t->f, "the tile's place in the grid");
    cj_reg number = cj_none();
    if (cj__stencil_is_numbered(t->s)) number = cj_div(t->f, "number", t->k->block, t->s->cluster);
    for (uint32_t a = 0; a < t->s->dim; a++) emit_origin(t, a, number);
    t->global = cj__stencil_buffers(t->k, number);
}

// Planes of a rank: length / cluster, and one more for each of the first length % cluster ranks.
static cj_reg planes_of(const tile *t, cj_reg rank) {
    const uint32_t length = axis_of(t, t->cut)->length, cluster = t->s->cluster;
    cj_reg         longer = cj_lt(t->f, "longer", rank, length % cluster);
    return cj_select(t->f, "u32", "planes", longer, length / cluster + 1, length / cluster);
}

// Returns how many planes are this block's.
static cj_reg emit_share(tile *t) {
    cj_func       *f = t->f;
    const uint32_t length = axis_of(t, t->cut)->length, cluster = t->s->cluster;
    cj_reg         planes;
    cj_step(f, "this block's planes of the tile");
    t->pool = cj_mov(f, "u32", "pool_at", "pool");
    if (cluster > 1) {
        planes = planes_of(t, t->k->rank);
        cj_reg longer = cj_min(f, "longer_ones", t->k->rank, length % cluster);
        t->first = cj_mad(f, "first_plane", t->k->rank, length / cluster, longer);
    } else {
        t->first = cj_mov(f, "u32", "first_plane", 0);
        planes = cj_mov(f, "u32", "planes", length);
    }
    t->count = cj_mul(f, "count", planes, t->plane);
    return planes;
}

// The ranks before and after this one; round the ends where the tile wraps.
static void emit_neighbours(tile *t, cj_reg planes) {
    cj_func       *f = t->f;
    const uint32_t cluster = t->s->cluster, bytes = t->plane * t->s->bytes;
    hop            h;
    cj_step(f, "the neighbours, and which planes they hold as halo");
    cj_reg end = cj_eq(f, "end", t->k->rank, cluster - 1), begin = cj_eq(f, "begin", t->k->rank, 0);
    t->next = cj_add(f, "next_rank", t->k->rank, 1);
    t->previous = cj_sub(f, "previous_rank", t->k->rank, 1);
    cj_ptx(f, "selp.u32 $1, 0, $1, $2;", t->next, end);
    cj_ptx(f, "selp.u32 $1, $2, $1, $3;", t->previous, cluster - 1, begin);
    cj_reg there = planes_of(t, t->previous);
    h.down = cj_let(f, "s32", "from_plane", "sub.s32 $1, $2, $3;", planes, t->s->radius);
    h.up = cj_mov(f, "s32", "to_plane", t->s->radius);
    if (!t->wraps[t->cut]) {
        cj_ptx(f, "selp.s32 $1, $2, $1, $3;", h.down, INT32_MAX, end);
        cj_ptx(f, "selp.s32 $1, 0, $1, $2;", h.up, begin);
    }
    h.back = cj_mul(f, "back", planes, bytes);
    h.on = cj_mul(f, "on", there, bytes);
    t->hops[t->hop_count++] = h;
}

// A block alone whose tile wraps is its own neighbour, several times over where it has fewer planes than a halo.
static void emit_own_halo(tile *t) {
    const int32_t  planes = (int32_t)axis_of(t, t->cut)->length, radius = (int32_t)t->s->radius;
    const uint32_t bytes = t->plane * t->s->bytes;
    cj_step(t->f, "this block's ends are each other's halo");
    for (int32_t k = 1; (k - 1) * planes < radius; k++) {
        hop *h = &t->hops[t->hop_count++];
        h->down = cj_mov(t->f, "s32", "from_plane", k * planes - radius);
        h->up = cj_mov(t->f, "s32", "to_plane", radius - (k - 1) * planes);
        h->back = cj_mov(t->f, "u32", "back", (uint32_t)(k * planes) * bytes);
        h->on = cj_mov(t->f, "u32", "on", (uint32_t)(k * planes) * bytes);
    }
}

// ---- the points of the block

// A loop over the block's points, a thread each. The first one's place is divided out, the next ones' counted on from it.
typedef struct points {
    cj_body loop;
    bool    puts;              // whether values go to neighbours, too: then its plane is asked for
    cj_reg  index, at[AXES];   // its number; its place in the tile
    cj_reg  plane, mine;       // its plane and its byte offset in the block
} points;

static const char *const axes[AXES] = {"x", "y", "z"};

static points points_begin(const tile *t, bool puts, const char *name, const char *done) {
    cj_func *f = t->f;
    points   p = {.puts = puts && t->hop_count, .index = cj_mov(f, "u32", "index", t->k->thread)};
    cj_reg   rest = cj_mov(f, "u32", "rest", p.index);
    for (uint32_t a = 0; a < t->cut; a++) {
        p.at[a] = cj_let(f, "s32", axes[a], "rem.u32 $1, $2, $3;", rest, axis_of(t, a)->length);
        cj_update(f, rest, "div", axis_of(t, a)->length);
    }
    if (p.puts) p.plane = cj_mov(f, "u32", "plane", rest);
    p.at[t->cut] = cj_let(f, "s32", axes[t->cut], "add.u32 $1, $2, $3;", rest, t->first);
    p.mine = cj_mad(f, "mine", p.index, t->s->bytes, t->halo * t->plane * t->s->bytes);
    p.loop = cj_loop_begin(f, name, done, 0);
    cj_leave(&p.loop, cj_ge(f, "beyond", p.index, t->count));
    return p;
}

static void points_end(const tile *t, points *p) {
    cj_func *f = t->f;
    uint32_t ahead = t->s->threads;
    cj_reg   carry = {0};
    cj_update(f, p->index, "add", ahead);
    cj_update(f, p->mine, "add", ahead * t->s->bytes);
    for (uint32_t a = 0; a < t->cut; a++) {
        const uint32_t length = axis_of(t, a)->length;
        cj_update(f, p->at[a], "add", ahead % length);
        if (a) cj_ptx(f, "@$1 add.s32 $2, $2, 1;", carry, p->at[a]);
        carry = cj_ge(f, "carry", p->at[a], length);
        cj_ptx(f, "@$1 sub.s32 $2, $2, $3;", carry, p->at[a], length);
        ahead /= length;
    }
    cj_reg planes = cj_mov(f, "u32", "planes_ahead", ahead);
    if (t->cut) cj_ptx(f, "@$1 add.u32 $2, $2, 1;", carry, planes);
    if (p->puts) cj_update(f, p->plane, "add", planes);
    cj_ptx(f, "add.u32 $1, $1, $2;", p->at[t->cut], planes);
    cj_body_end(&p->loop);
}

#define POINTS(t, p, puts, name, done) \
    for (points p = points_begin(t, puts, name, done); p.loop.open; points_end(t, &p))

// The value goes to `at`, an address in the own window, of block `rank`. The address is mapped last of all: what it is
// made of may be negative for points that are not sent, and ptxas would add a constant to it that hardware does not
// wrap around.
static void send(const tile *t, cj_reg when, cj_reg at, cj_reg rank, cj_reg value) {
    const bool peer = t->s->cluster > 1;
    if (peer) cj_ptx(t->f, "@$1 mapa.shared::cluster.u32 $2, $2, $3;", when, at, rank);
    cj_ptx(t->f, "@$1 st.$2.$3 [$4], $5;", when, peer ? "shared::cluster" : "shared", t->s->type, at, value);
}

// The value goes to the buffer that is written, here and where it is halo.
static void emit_put(const tile *t, const points *p, cj_reg value) {
    cj_func *f = t->f;
    cj_reg   here = cj_add(f, "to_shared", cj_add(f, "to_shared", p->mine, t->write), t->pool);
    cj_ptx(f, "st.shared.$1 [$2], $3;", t->s->type, here, value);
    for (const hop *h = t->hops; h < t->hops + t->hop_count; h++) {
        cj_reg down = cj_let(f, "pred", "sends", "setp.ge.s32 $1, $2, $3;", p->plane, h->down);
        send(t, down, cj_sub(f, "there", here, h->back), t->next, value);
        cj_reg up = cj_let(f, "pred", "sends", "setp.lt.s32 $1, $2, $3;", p->plane, h->up);
        send(t, up, cj_add(f, "there", here, h->on), t->previous, value);
    }
}

// The address in global memory, from `base`, of the point at `at`, each of them below 2^32.
static cj_reg global_address(const tile *t, cj_reg base, const cj_reg *at) {
    const bool is_small = t->s->points <= UINT32_MAX;
    cj_reg     number = cj_let(t->f, is_small ? "u32" : "u64", "point_number",
                           is_small ? "mov.u32 $1, $2;" : "cvt.u64.u32 $1, $2;", at[t->cut]);
    for (uint32_t a = t->cut; a-- > 0;) {
        cj_reg along = is_small ? at[a] : cj_let(t->f, "u64", "along", "cvt.u64.u32 $1, $2;", at[a]);
        cj_update(t->f, number, "mad", axis_of(t, a)->n, along);
    }
    return is_small ? cj_mad_wide(t->f, "address", number, t->s->bytes, base)
                    : cj_mad(t->f, "address", number, t->s->bytes, base);
}

// Where a point of the tile is in the grid; beyond its ends, where the boundary is not periodic, too.
static cj_reg in_grid(const tile *t, const points *p, uint32_t a) {
    return cj_add(t->f, "in_grid", p->at[a], t->origin[a]);
}

// Points outside the grid get what is there with periodic boundaries, else whatever is near: it is never used.
static void emit_load(const tile *t) {
    cj_step(t->f, "load: the block's planes, and to the neighbours what they hold as halo");
    POINTS(t, p, true, "load", "load_done") {
        cj_reg at[AXES];
        for (uint32_t a = 0; a < t->s->dim; a++) {
            const stencil_axis *axis = axis_of(t, a);
            at[a] = in_grid(t, &p, a);
            if (axis->margin) cj__stencil_enter_grid(t->k, at[a], axis->n, axis->margin);
        }
        cj_reg address = global_address(t, t->global.from, at);
        emit_put(t, &p, cj_let(t->f, t->s->type, "value", "ld.global.$3 $1, [$2];", address, t->s->type));
    }
}

// ---- a new value

// A point whose taps are read. Near an edge, for each axis and distance: how many bytes away a tap's point lies, and whether
// it is outside the grid.
typedef struct taps {
    const tile *t;
    cj_reg      address, away[AXES][2 * RADIUS_MAX + 1], outside[AXES][2 * RADIUS_MAX + 1];
} taps;

static cj_reg tap_inside(void *user, const stencil_tap *tap) {
    const taps *x = user;
    const tile *t = x->t;
    int32_t     offset = 0;
    for (uint32_t a = 0; a < t->s->dim; a++) offset += tap->at[a] * (int32_t)(t->stride[a] * t->s->bytes);
    return cj_let(t->f, t->s->type, "tap", "ld.shared.$4 $1, [$2 + $3];", x->address, offset, t->s->type);
}

static cj_reg tap_near_edge(void *user, const stencil_tap *tap) {
    const taps    *x = user;
    cj_func       *f = x->t->f;
    const stencil *s = x->t->s;
    const int32_t  r = (int32_t)s->radius;
    cj_reg         at = cj_mov(f, "u32", "tap_at", x->address);
    for (uint32_t a = 0; a < s->dim; a++)
        if (tap->at[a]) cj_update(f, at, "add", x->away[a][tap->at[a] + r]);
    cj_reg value = cj_let(f, s->type, "tap", "ld.shared.$3 $1, [$2];", at, s->type);
    for (uint32_t a = 0; a < s->dim && s->boundary == BOUNDARY_ZERO; a++)
        if (tap->at[a])
            cj_ptx(f, s->bytes == 4 ? "selp.f32 $1, 0f00000000, $1, $2;" : "selp.f64 $1, 0d0000000000000000, $1, $2;",
                   value, x->outside[a][tap->at[a] + r]);
    return value;
}

// Where the points at each distance along an axis are, seen from one near the tile's or the grid's ends.
static void emit_away(taps *x, const points *p, uint32_t a) {
    const tile   *t = x->t;
    cj_func      *f = t->f;
    const int32_t r = (int32_t)t->s->radius, n = (int32_t)axis_of(t, a)->n;
    for (int32_t d = -r; d <= r; d++) {
        if (!d) continue;
        cj_reg point = cj_add(f, "point", p->at[a], d), away = cj_mov(f, "s32", "away", point);
        for (int32_t turn = 0; turn < r && t->wraps[a] && a != t->cut; turn += n) {
            cj_ptx(f, "@$1 add.s32 $2, $2, $3;", cj_lt(f, "over", away, 0), away, n);
            cj_ptx(f, "@$1 sub.s32 $2, $2, $3;", cj_ge(f, "over", away, n), away, n);
        }
        if (!t->wraps[a]) {
            cj_update(f, away, "max", t->low[a]);
            cj_update(f, away, "min", t->high[a]);
        }
        if (t->s->boundary == BOUNDARY_ZERO) x->outside[a][d + r] = cj_ne(f, "outside", away, point);
        cj_update(f, away, "sub", p->at[a]);
        cj_update(f, away, "mul", t->stride[a] * t->s->bytes);
        x->away[a][d + r] = away;
    }
}

// Whether all taps are inside, so that they lie at fixed distances in the buffer.
static cj_reg emit_is_inside(const tile *t, const points *p) {
    cj_reg inside = cj_pred(t->f, "inside");
    cj_ptx(t->f, "setp.eq.u32 $1, 0, 0;", inside);
    for (uint32_t a = 0; a < t->s->dim; a++) {
        if (t->wraps[a] && a == t->cut) continue;
        cj_reg low = cj_add(t->f, "bound", t->low[a], t->s->radius);
        cj_ptx(t->f, "setp.ge.and.s32 $1, $2, $3, $1;", inside, p->at[a], low);
        cj_reg high = cj_sub(t->f, "bound", t->high[a], t->s->radius);
        cj_ptx(t->f, "setp.le.and.s32 $1, $2, $3, $1;", inside, p->at[a], high);
    }
    return inside;
}

static cj_reg emit_value(const tile *t, const points *p) {
    cj_reg inside = emit_is_inside(t, p), value = cj_register(t->f, t->s->type, "value");
    taps   x = {.t = t, .address = cj_add(t->f, "point_at", cj_add(t->f, "point_at", p->mine, t->read), t->pool)};
    CJ_IF_ELSE(t->f, inside, "near_an_edge", "have_value") { cj__stencil_sum(t->k, value, tap_inside, &x); }
    else {
        for (uint32_t a = 0; a < t->s->dim; a++) emit_away(&x, p, a);
        cj__stencil_sum(t->k, value, tap_near_edge, &x);
    }
    return value;
}

// ---- the steps

// Points of the margin outside the grid, far from it perhaps, are left as they are: nobody reads them.
static void skip_outside(const tile *t, const points *p, const cj_body *point) {
    for (uint32_t a = 0; a < t->s->dim; a++) {
        if (!axis_of(t, a)->margin || t->s->boundary == BOUNDARY_PERIODIC) continue;
        cj_leave(point, cj_lt(t->f, "outside_grid", p->at[a], t->low[a]));
        cj_leave(point, cj_gt(t->f, "outside_grid", p->at[a], t->high[a]));
    }
}

static void emit_inner_steps(const tile *t) {
    cj_func *f = t->f;
    cj_reg   left = cj__stencil_steps(t->k);
    cj_step(f, "every step but the last: from one buffer to the other");
    CJ_LOOP(f, step, "next_step", "last_step") {
        cj_update(f, left, "sub", 1);
        cj_leave(&step, cj_eq(f, "is_last", left, 0));
        cj_ptx(f, "sub.u32 $1, $2, $3;", t->write, t->buffer, t->read);
        POINTS(t, p, true, "point", "point_done") CJ_ONCE(f, point, "outside") {
            skip_outside(t, &p, &point);
            emit_put(t, &p, emit_value(t, &p));
        }
        sync(t, "B3: this step's values are there");
        cj_set(f, t->read, t->write);
    }
}

// Leaves with a point that is in the tile's margin, or beyond the grid.
static void skip_margin(const tile *t, const points *p, uint32_t a, cj_reg at, const cj_body *result) {
    const stencil_axis *axis = axis_of(t, a);
    cj_reg              from_margin = cj_sub(t->f, "from_margin", p->at[a], axis->margin);
    cj_reg is_result = cj_let(t->f, "pred", "is_result", "setp.lt.u32 $1, $2, $3;", from_margin, axis->out);
    cj_ptx(t->f, "setp.lt.and.s32 $1, $2, $3, $1;", is_result, at, axis->n);
    cj_leave_unless(result, is_result);
}

static void emit_last_step(const tile *t) {
    cj_step(t->f, "the last step: results go to global memory");
    POINTS(t, p, false, "result", "result_done") CJ_ONCE(t->f, result, "no_result") {
        cj_reg at[AXES];
        for (uint32_t a = 0; a < t->s->dim; a++) {
            at[a] = in_grid(t, &p, a);
            if (axis_of(t, a)->margin) skip_margin(t, &p, a, at[a], &result);
        }
        cj_reg value = emit_value(t, &p);
        cj_ptx(t->f, "st.global.$1 [$2], $3;", t->s->type, global_address(t, t->global.to, at), value);
    }
}

void cj__stencil_emit_shared(const kernel *k) {
    tile t = {.k = k, .f = k->f, .s = k->s};
    if (k->s->cluster > 1) cj_cluster_arrive(k->f, CJ_ARRIVE_RELAXED, "B1: this block has started");
    measure_tile(&t);
    emit_place(&t);
    cj_reg planes = emit_share(&t);
    if (k->s->cluster > 1)
        emit_neighbours(&t, planes);
    else if (t.wraps[t.cut])
        emit_own_halo(&t);
    t.read = cj_mov(k->f, "u32", "read", 0);
    t.write = cj_mov(k->f, "u32", "write", 0);
    if (k->s->cluster > 1) cj_cluster_wait(k->f, "B1: the neighbours have too");
    emit_load(&t);
    sync(&t, "B2: the tile is loaded");
    if (k->s->depth > 1) emit_inner_steps(&t);
    emit_last_step(&t);
}

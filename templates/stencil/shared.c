// SPDX-License-Identifier: Apache-2.0
// stencil, shared form: a tile of the grid in the shared memory of a block, or of the blocks of a cluster.
//
// The tile is cut along its last axis into planes (1-D: points, 2-D: rows), which the cluster's blocks share out
// evenly. Each block holds its planes, and on either side `radius` planes of halo where a neighbour has the next ones:
//
//   rank 0            rank 1            rank 2          (periodic and all of the grid: the ends are neighbours too)
//   halo | planes | halo
//              halo | planes | halo      a plane near the end is stored twice: in the block's own buffer, and through
//                           halo | …     distributed shared memory in the halo of the neighbour that will read it
//
// There are two such buffers. A step reads one and writes the other; the last step writes to global memory. The tile's
// margins (blocked) lose `radius` points of sense a step: what is read there beyond the tile's end is the tile's last
// point, and what comes of it never reaches a result. Points outside the grid are never read: the boundary puts a point
// or 0 in their place.
//
// Barriers, each of the cluster, or bar.sync without one:
//   B1  before the first plane is stored: a neighbour's memory may be written once that block has started. Relaxed.
//   B2  behind the loading: orders the first buffer's writes, halos included, before they are read.
//   B3  behind each step but the last: orders what it wrote, to this block and to neighbours, before the next step
//       reads it, and what it read before the next step overwrites that: one barrier does both since each step writes
//       the other buffer.
//   The last step writes to no neighbour, and the barrier before it was waited for by all: any block may then exit.
#include <stdio.h>

#include "stencil.h"

// Where a block's planes are halo: those from `down` on in the next rank, `back` bytes before their own place; those
// before `up` in the rank before, `on` bytes behind it.
typedef struct hop {
    cj_reg down, up, back, on;
} hop;

typedef struct tile {
    kernel  *k;
    uint32_t cut, stride[AXES], plane, halo;       // points
    uint32_t buffer;                               // bytes
    bool     wraps[AXES];                          // periodic, and the tile is the whole axis
    cj_reg   origin[AXES], low[AXES], high[AXES];  // of the tile in the grid; of the grid's points in the tile
    cj_reg   pool, first, planes, count;           // the block's planes, and points
    hop      hops[RADIUS_MAX];
    uint32_t hop_count;
    cj_reg   next, previous;  // ranks
    cj_reg   read, write;     // offsets of the two buffers
    cj_reg   index, at[AXES], plane_at,
        mine;  // of a point: its number, its place in the tile, its plane and byte offset in the block
    cj_reg value;
    // While taps are read: the point's address; per axis and distance, near an edge, how far away a tap's point lies in
    // bytes and whether it is outside the grid.
    cj_reg address, away[AXES][2 * RADIUS_MAX + 1], outside[AXES][2 * RADIUS_MAX + 1];
} tile;

static const stencil_axis *axis_of(const tile *t, uint32_t a) { return &t->k->s->axis[a]; }

static void sync(const tile *t, const char *why) {
    if (t->k->s->cluster > 1)
        cj_cluster_sync(t->k->f, why);
    else
        cj_ptx(t->k->f, "bar.sync 0; // $1", why);
}

// ---- where things are

static void measure_tile(tile *t) {
    const stencil *s = t->k->s;
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

// The tile's place in the grid, and of the grid's points in it the first and the last along each axis.
static void emit_place(tile *t) {
    kernel        *k = t->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_reg         number = cj_u32(f, "number"), part = cj_u32(f, "part");
    cj_step(f, "the tile's place in the grid");
    cj_ptx(f, "div.u32 $1, $2, $3;", number, k->block, s->cluster);
    for (uint32_t a = 0; a < s->dim; a++) {
        const stencil_axis *axis = axis_of(t, a);
        const char          letter[] = {"xyz"[a], 0};
        char                name[3][16];
        snprintf(name[0], sizeof name[0], "origin_%s", letter);
        snprintf(name[1], sizeof name[1], "low_%s", letter);
        snprintf(name[2], sizeof name[2], "high_%s", letter);
        t->origin[a] = cj_s32(f, name[0]);
        t->low[a] = cj_s32(f, name[1]);
        t->high[a] = cj_s32(f, name[2]);
        if (axis->tiles > 1) {
            cj_ptx(f, "rem.u32 $1, $2, $3;", part, number, axis->tiles);
            cj_ptx(f, "div.u32 $1, $1, $2;", number, axis->tiles);
            cj_ptx(f, "mul.lo.s32 $1, $2, $3;", t->origin[a], part, axis->out);
            cj_ptx(f, "sub.s32 $1, $1, $2;", t->origin[a], axis->margin);
        } else {
            cj_ptx(f, "mov.s32 $1, $2;", t->origin[a], -(int32_t)axis->margin);
        }
        cj_ptx(f, "mov.s32 $1, 0;", t->low[a]);
        cj_ptx(f, "mov.s32 $1, $2;", t->high[a], axis->length - 1);
        if (s->boundary == BOUNDARY_PERIODIC) continue;
        cj_ptx(f, "sub.s32 $1, $1, $2;", t->low[a], t->origin[a]);
        cj_ptx(f, "max.s32 $1, $1, 0;", t->low[a]);
        cj_ptx(f, "sub.s32 $1, $2, $3;", part, axis->n - 1, t->origin[a]);
        cj_ptx(f, "min.s32 $1, $1, $2;", t->high[a], part);
    }
    cj__stencil_buffers(k, number);
}

// Planes of a rank: length / cluster, and one more for each of the first length % cluster ranks.
static void emit_planes(tile *t, cj_reg planes, cj_reg rank) {
    const uint32_t length = axis_of(t, t->cut)->length, cluster = t->k->s->cluster;
    cj_reg         longer = cj_pred(t->k->f, "longer");
    cj_ptx(t->k->f, "setp.lt.u32 $1, $2, $3;", longer, rank, length % cluster);
    cj_ptx(t->k->f, "selp.u32 $1, $2, $3, $4;", planes, length / cluster + 1, length / cluster, longer);
}

static void emit_share(tile *t) {
    cj_func       *f = t->k->f;
    const uint32_t length = axis_of(t, t->cut)->length, cluster = t->k->s->cluster;
    t->first = cj_u32(f, "first_plane");
    t->planes = cj_u32(f, "planes");
    t->count = cj_u32(f, "count");
    t->pool = cj_u32(f, "pool_at");
    cj_step(f, "this block's planes of the tile");
    cj_ptx(f, "mov.u32 $1, pool;", t->pool);
    if (cluster > 1) {
        cj_reg long_ones = cj_u32(f, "long_ones");
        emit_planes(t, t->planes, t->k->rank);
        cj_ptx(f, "min.u32 $1, $2, $3;", long_ones, t->k->rank, length % cluster);
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", t->first, t->k->rank, length / cluster, long_ones);
    } else {
        cj_ptx(f, "mov.u32 $1, 0;", t->first);
        cj_ptx(f, "mov.u32 $1, $2;", t->planes, length);
    }
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", t->count, t->planes, t->plane);
}

static hop new_hop(cj_func *f) {
    return (hop){cj_s32(f, "from_plane"), cj_s32(f, "to_plane"), cj_u32(f, "back"), cj_u32(f, "on")};
}

// To the ranks before and behind; round the ends where the tile wraps.
static void emit_neighbours(tile *t) {
    kernel        *k = t->k;
    cj_func       *f = k->f;
    const uint32_t cluster = k->s->cluster, bytes = t->plane * k->s->bytes;
    cj_reg         there = cj_u32(f, "their_planes"), end = cj_pred(f, "end"), begin = cj_pred(f, "begin");
    hop            h = new_hop(f);
    t->next = cj_u32(f, "next_rank");
    t->previous = cj_u32(f, "previous_rank");
    cj_step(f, "the neighbours, and which planes they hold as halo");
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", end, k->rank, cluster - 1);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", begin, k->rank);
    cj_ptx(f, "add.u32 $1, $2, 1;", t->next, k->rank);
    cj_ptx(f, "sub.u32 $1, $2, 1;", t->previous, k->rank);
    cj_ptx(f, "selp.u32 $1, 0, $1, $2;", t->next, end);
    cj_ptx(f, "selp.u32 $1, $2, $1, $3;", t->previous, cluster - 1, begin);
    emit_planes(t, there, t->previous);
    cj_ptx(f, "sub.s32 $1, $2, $3;", h.down, t->planes, k->s->radius);
    cj_ptx(f, "mov.s32 $1, $2;", h.up, k->s->radius);
    if (!t->wraps[t->cut]) {
        cj_ptx(f, "selp.s32 $1, $2, $1, $3;", h.down, INT32_MAX, end);
        cj_ptx(f, "selp.s32 $1, 0, $1, $2;", h.up, begin);
    }
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", h.back, t->planes, bytes);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", h.on, there, bytes);
    t->hops[t->hop_count++] = h;
}

// A block alone whose tile wraps is its own neighbour, several times over where it has fewer planes than a halo.
static void emit_own_halo(tile *t) {
    cj_func       *f = t->k->f;
    const int32_t  planes = (int32_t)axis_of(t, t->cut)->length, radius = (int32_t)t->k->s->radius;
    const uint32_t bytes = t->plane * t->k->s->bytes;
    cj_step(f, "this block's ends are each other's halo");
    for (int32_t k = 1; (k - 1) * planes < radius; k++) {
        hop h = new_hop(f);
        cj_ptx(f, "mov.s32 $1, $2;", h.down, k * planes - radius);
        cj_ptx(f, "mov.s32 $1, $2;", h.up, radius - (k - 1) * planes);
        cj_ptx(f, "mov.u32 $1, $2;", h.back, (uint32_t)(k * planes) * bytes);
        cj_ptx(f, "mov.u32 $1, $2;", h.on, (uint32_t)(k * planes) * bytes);
        t->hops[t->hop_count++] = h;
    }
}

// ---- the points of the block

typedef struct loop {
    cj_label next, end;
} loop;

// For each of the block's points, a thread each. The first one's place is divided out, the next ones' counted on from
// it.
static loop begin_points(tile *t, const char *name) {
    kernel  *k = t->k;
    cj_func *f = k->f;
    char     end[32];
    snprintf(end, sizeof end, "%s_done", name);
    loop   l = {cj_label_new(f, name), cj_label_new(f, end)};
    cj_reg past = cj_pred(f, "past"), rest = cj_u32(f, "rest");
    cj_ptx(f, "mov.u32 $1, $2;", t->index, k->thread);
    cj_ptx(f, "mov.u32 $1, $2;", rest, t->index);
    for (uint32_t a = 0; a < t->cut; a++) {
        cj_ptx(f, "rem.u32 $1, $2, $3;", t->at[a], rest, axis_of(t, a)->length);
        cj_ptx(f, "div.u32 $1, $1, $2;", rest, axis_of(t, a)->length);
    }
    cj_ptx(f, "mov.u32 $1, $2;", t->plane_at, rest);
    cj_ptx(f, "add.u32 $1, $2, $3;", t->at[t->cut], rest, t->first);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", t->mine, t->index, k->s->bytes, t->halo * t->plane * k->s->bytes);
    cj_label_here(f, l.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, t->index, t->count);
    cj_ptx(f, "@$1 bra $2;", past, l.end);
    return l;
}

static void end_points(tile *t, loop l) {
    cj_func *f = t->k->f;
    uint32_t ahead = t->k->s->threads;
    cj_reg   carry = cj_pred(f, "carry"), planes = cj_u32(f, "planes_ahead");
    cj_ptx(f, "add.u32 $1, $1, $2;", t->index, ahead);
    cj_ptx(f, "add.u32 $1, $1, $2;", t->mine, ahead * t->k->s->bytes);
    for (uint32_t a = 0; a < t->cut; a++) {
        const uint32_t length = axis_of(t, a)->length;
        cj_ptx(f, "add.s32 $1, $1, $2;", t->at[a], ahead % length);
        if (a) cj_ptx(f, "@$1 add.s32 $2, $2, 1;", carry, t->at[a]);
        cj_ptx(f, "setp.ge.s32 $1, $2, $3;", carry, t->at[a], length);
        cj_ptx(f, "@$1 sub.s32 $2, $2, $3;", carry, t->at[a], length);
        ahead /= length;
    }
    cj_ptx(f, "mov.u32 $1, $2;", planes, ahead);
    if (t->cut) cj_ptx(f, "@$1 add.u32 $2, $2, 1;", carry, planes);
    cj_ptx(f, "add.u32 $1, $1, $2;", t->plane_at, planes);
    cj_ptx(f, "add.u32 $1, $1, $2;", t->at[t->cut], planes);
    cj_ptx(f, "bra $1;", l.next);
    cj_label_here(f, l.end);
}

// The value goes to `at`, an address in the own window, of block `rank`. The address is mapped last of all: what it is
// made of may be negative for points that are not sent, and ptxas would add a constant to it that hardware does not
// wrap around.
static void send(tile *t, cj_reg when, cj_reg at, cj_reg rank) {
    cj_func    *f = t->k->f;
    const char *type = t->k->s->type;
    if (t->k->s->cluster == 1) {
        cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", when, type, at, t->value);
        return;
    }
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $2, $3;", when, at, rank);
    cj_ptx(f, "@$1 st.shared::cluster.$2 [$3], $4;", when, type, at, t->value);
}

// The value goes to the buffer that is written, here and where it is halo.
static void emit_put(tile *t) {
    cj_func *f = t->k->f;
    cj_reg   here = cj_u32(f, "to_shared");
    cj_ptx(f, "add.u32 $1, $2, $3;", here, t->mine, t->write);
    cj_ptx(f, "add.u32 $1, $1, $2;", here, t->pool);
    cj_ptx(f, "st.shared.$1 [$2], $3;", t->k->s->type, here, t->value);
    if (!t->hop_count) return;
    cj_reg there = cj_u32(f, "there"), sends = cj_pred(f, "sends");
    for (uint32_t i = 0; i < t->hop_count; i++) {
        const hop *h = &t->hops[i];
        cj_ptx(f, "setp.ge.s32 $1, $2, $3;", sends, t->plane_at, h->down);
        cj_ptx(f, "sub.u32 $1, $2, $3;", there, here, h->back);
        send(t, sends, there, t->next);
        cj_ptx(f, "setp.lt.s32 $1, $2, $3;", sends, t->plane_at, h->up);
        cj_ptx(f, "add.u32 $1, $2, $3;", there, here, h->on);
        send(t, sends, there, t->previous);
    }
}

// The address in global memory, from `base`, of the point at `at`.
static cj_reg global_address(tile *t, cj_reg base, const cj_reg *at) {
    cj_func    *f = t->k->f;
    const bool  is_small = t->k->s->points <= UINT32_MAX;
    const char *add = is_small ? "mad.lo.u32 $1, $1, $2, $3;" : "mad.lo.u64 $1, $1, $2, $3;";
    cj_reg      address = cj_u64(f, "address"), number = cj_register(f, is_small ? "u32" : "u64", "point_number"),
           along = number;
    cj_ptx(f, is_small ? "mov.u32 $1, $2;" : "cvt.u64.u32 $1, $2;", number, at[t->cut]);
    for (uint32_t a = t->cut; a-- > 0;) {
        if (!is_small) cj_ptx(f, "cvt.u64.u32 $1, $2;", along = cj_u64(f, "along"), at[a]);
        cj_ptx(f, add, number, axis_of(t, a)->n, is_small ? at[a] : along);
    }
    cj_ptx(f, is_small ? "mad.wide.u32 $1, $2, $3, $4;" : "mad.lo.u64 $1, $2, $3, $4;", address, number, t->k->s->bytes,
           base);
    return address;
}

// Points outside the grid get what is there with periodic boundaries, else whatever is near: it is never used.
static void emit_load(tile *t) {
    kernel        *k = t->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_reg         at[AXES];
    cj_step(f, "load: the block's planes, and to the neighbours what they hold as halo");
    loop l = begin_points(t, "load");
    for (uint32_t a = 0; a < s->dim; a++) {
        const stencil_axis *axis = axis_of(t, a);
        at[a] = cj_s32(f, "from_point");
        cj_ptx(f, "add.s32 $1, $2, $3;", at[a], t->at[a], t->origin[a]);
        if (!axis->margin) continue;
        if (s->boundary == BOUNDARY_PERIODIC) {
            cj_ptx(f, "add.s32 $1, $1, $2;", at[a], (axis->margin + axis->n - 1) / axis->n * axis->n);
            cj_ptx(f, "rem.u32 $1, $1, $2;", at[a], axis->n);
        } else {
            cj_ptx(f, "max.s32 $1, $1, 0;", at[a]);
            cj_ptx(f, "min.s32 $1, $1, $2;", at[a], axis->n - 1);
        }
    }
    cj_ptx(f, "ld.global.$1 $2, [$3];", s->type, t->value, global_address(t, k->from, at));
    emit_put(t);
    end_points(t, l);
}

// ---- a new value

static cj_reg tap_inside(void *user, const stencil_tap *tap) {
    tile   *t = user;
    int32_t offset = 0;
    cj_reg  value = cj_register(t->k->f, t->k->s->type, "tap");
    for (uint32_t a = 0; a < t->k->s->dim; a++) offset += tap->at[a] * (int32_t)(t->stride[a] * t->k->s->bytes);
    cj_ptx(t->k->f, "ld.shared.$1 $2, [$3 + $4];", t->k->s->type, value, t->address, offset);
    return value;
}

static cj_reg tap_anywhere(void *user, const stencil_tap *tap) {
    tile          *t = user;
    cj_func       *f = t->k->f;
    const stencil *s = t->k->s;
    cj_reg         value = cj_register(f, s->type, "tap"), at = cj_u32(f, "tap_at");
    cj_ptx(f, "mov.u32 $1, $2;", at, t->address);
    for (uint32_t a = 0; a < s->dim; a++)
        if (tap->at[a]) cj_ptx(f, "add.u32 $1, $1, $2;", at, t->away[a][tap->at[a] + (int32_t)s->radius]);
    cj_ptx(f, "ld.shared.$1 $2, [$3];", s->type, value, at);
    for (uint32_t a = 0; a < s->dim && s->boundary == BOUNDARY_ZERO; a++)
        if (tap->at[a])
            cj_ptx(f, s->bytes == 4 ? "selp.f32 $1, 0f00000000, $1, $2;" : "selp.f64 $1, 0d0000000000000000, $1, $2;",
                   value, t->outside[a][tap->at[a] + (int32_t)s->radius]);
    return value;
}

// Where the points at each distance along an axis are, seen from one near the tile's or the grid's ends.
static void emit_away(tile *t, uint32_t a) {
    kernel        *k = t->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const int32_t  r = (int32_t)s->radius, n = (int32_t)axis_of(t, a)->n;
    const bool     turns = t->wraps[a] && a != t->cut;
    cj_reg         over = turns ? cj_pred(f, "over") : cj_always(), point = cj_s32(f, "point");
    for (int32_t d = -r; d <= r; d++) {
        if (!d) continue;
        cj_reg away = t->away[a][d + r] = cj_s32(f, "away");
        cj_ptx(f, "add.s32 $1, $2, $3;", point, t->at[a], d);
        cj_ptx(f, "mov.s32 $1, $2;", away, point);
        for (int32_t turn = 0; turn < r && turns; turn += n) {
            cj_ptx(f, "setp.lt.s32 $1, $2, 0;", over, away);
            cj_ptx(f, "@$1 add.s32 $2, $2, $3;", over, away, n);
            cj_ptx(f, "setp.ge.s32 $1, $2, $3;", over, away, n);
            cj_ptx(f, "@$1 sub.s32 $2, $2, $3;", over, away, n);
        }
        if (!t->wraps[a]) {
            cj_ptx(f, "max.s32 $1, $1, $2;", away, t->low[a]);
            cj_ptx(f, "min.s32 $1, $1, $2;", away, t->high[a]);
        }
        if (s->boundary == BOUNDARY_ZERO) {
            cj_reg outside = t->outside[a][d + r] = cj_pred(f, "outside");
            cj_ptx(f, "setp.ne.s32 $1, $2, $3;", outside, away, point);
        }
        cj_ptx(f, "sub.s32 $1, $1, $2;", away, t->at[a]);
        cj_ptx(f, "mul.lo.s32 $1, $1, $2;", away, t->stride[a] * s->bytes);
    }
}

// Whether all taps are inside, so that they lie at fixed distances in the buffer.
static cj_reg emit_is_inside(tile *t) {
    kernel  *k = t->k;
    cj_func *f = k->f;
    cj_reg   inside = cj_pred(f, "inside"), bound = cj_s32(f, "bound");
    cj_ptx(f, "setp.eq.u32 $1, 0, 0;", inside);
    for (uint32_t a = 0; a < k->s->dim; a++) {
        if (t->wraps[a] && a == t->cut) continue;
        cj_ptx(f, "add.s32 $1, $2, $3;", bound, t->low[a], k->s->radius);
        cj_ptx(f, "setp.ge.and.s32 $1, $2, $3, $1;", inside, t->at[a], bound);
        cj_ptx(f, "sub.s32 $1, $2, $3;", bound, t->high[a], k->s->radius);
        cj_ptx(f, "setp.le.and.s32 $1, $2, $3, $1;", inside, t->at[a], bound);
    }
    return inside;
}

static void emit_value(tile *t) {
    cj_func *f = t->k->f;
    cj_label near = cj_label_new(f, "near_an_edge"), have = cj_label_new(f, "have_value");
    cj_reg   inside = emit_is_inside(t);
    cj_ptx(f, "add.u32 $1, $2, $3;", t->address, t->mine, t->read);
    cj_ptx(f, "add.u32 $1, $1, $2;", t->address, t->pool);
    cj_ptx(f, "@!$1 bra $2;", inside, near);
    cj__stencil_sum(t->k, t->value, tap_inside, t);
    cj_ptx(f, "bra $1;", have);
    cj_label_here(f, near);
    for (uint32_t a = 0; a < t->k->s->dim; a++) emit_away(t, a);
    cj__stencil_sum(t->k, t->value, tap_anywhere, t);
    cj_label_here(f, have);
}

// ---- the steps

// Points outside the grid, far from it perhaps, are left as they are: nobody reads them. Whether there are such points.
static bool skip_outside(tile *t, cj_label skip) {
    cj_func *f = t->k->f;
    cj_reg   outside = cj_pred(f, "outside_grid");
    bool     any = false;
    for (uint32_t a = 0; a < t->k->s->dim; a++) {
        if (!axis_of(t, a)->margin || t->k->s->boundary == BOUNDARY_PERIODIC) continue;
        any = true;
        cj_ptx(f, "setp.lt.s32 $1, $2, $3;", outside, t->at[a], t->low[a]);
        cj_ptx(f, "@$1 bra $2;", outside, skip);
        cj_ptx(f, "setp.gt.s32 $1, $2, $3;", outside, t->at[a], t->high[a]);
        cj_ptx(f, "@$1 bra $2;", outside, skip);
    }
    return any;
}

// All but the last, which stay in shared memory.
static void emit_inner_steps(tile *t) {
    cj_func *f = t->k->f;
    cj_label step = cj_label_new(f, "next_step"), last = cj_label_new(f, "last_step"),
             skip = cj_label_new(f, "outside");
    cj_reg done = cj_pred(f, "done"), left = cj__stencil_steps(t->k);
    cj_step(f, "every step but the last: from one buffer to the other");
    cj_label_here(f, step);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", done, left);
    cj_ptx(f, "@$1 bra $2;", done, last);
    cj_ptx(f, "sub.u32 $1, $2, $3;", t->write, t->buffer, t->read);
    loop l = begin_points(t, "point");
    const bool skips = skip_outside(t, skip);
    emit_value(t);
    emit_put(t);
    if (skips) cj_label_here(f, skip);
    end_points(t, l);
    sync(t, "B3: this step's values are there");
    cj_ptx(f, "mov.u32 $1, $2;", t->read, t->write);
    cj_ptx(f, "bra $1;", step);
    cj_label_here(f, last);
}

// Past a point that is in the tile's margin, or beyond the grid.
static void skip_margin(tile *t, uint32_t a, cj_reg at, cj_label skip) {
    cj_func            *f = t->k->f;
    const stencil_axis *axis = axis_of(t, a);
    cj_reg              result = cj_pred(f, "is_result"), from_margin = cj_s32(f, "from_margin");
    cj_ptx(f, "sub.s32 $1, $2, $3;", from_margin, t->at[a], axis->margin);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", result, from_margin, axis->out);
    cj_ptx(f, "setp.lt.and.s32 $1, $2, $3, $1;", result, at, axis->n);
    cj_ptx(f, "@!$1 bra $2;", result, skip);
}

static void emit_last_step(tile *t) {
    kernel        *k = t->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    bool           skips = false;
    cj_reg         at[AXES];
    cj_label       skip = cj_label_new(f, "no_result");
    cj_step(f, "the last step: results go to global memory");
    loop l = begin_points(t, "result");
    for (uint32_t a = 0; a < s->dim; a++) {
        at[a] = cj_s32(f, "to_point");
        cj_ptx(f, "add.s32 $1, $2, $3;", at[a], t->at[a], t->origin[a]);
        if (!axis_of(t, a)->margin) continue;
        skip_margin(t, a, at[a], skip);
        skips = true;
    }
    emit_value(t);
    cj_ptx(f, "st.global.$1 [$2], $3;", s->type, global_address(t, k->to, at), t->value);
    if (skips) cj_label_here(f, skip);
    end_points(t, l);
}

void cj__stencil_emit_shared(kernel *k) {
    tile     t = {.k = k};
    cj_func *f = k->f;
    if (k->s->cluster > 1) cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B1: this block has started");
    measure_tile(&t);
    emit_place(&t);
    emit_share(&t);
    if (k->s->cluster > 1)
        emit_neighbours(&t);
    else if (t.wraps[t.cut])
        emit_own_halo(&t);
    t.read = cj_u32(f, "read");
    t.write = cj_u32(f, "write");
    t.index = cj_u32(f, "index");
    t.plane_at = cj_s32(f, "plane");
    t.mine = cj_u32(f, "mine");
    t.address = cj_u32(f, "point_at");
    t.value = cj_register(f, k->s->type, "value");
    for (uint32_t a = 0; a < k->s->dim; a++) t.at[a] = cj_s32(f, (const char[]){"xyz"[a], 0});
    cj_ptx(f, "mov.u32 $1, 0;", t.read);
    cj_ptx(f, "mov.u32 $1, 0;", t.write);
    if (k->s->cluster > 1) cj_cluster_wait(f, "B1: the neighbours have too");
    emit_load(&t);
    sync(&t, "B2: the tile is loaded");
    if (k->s->depth > 1) emit_inner_steps(&t);
    emit_last_step(&t);
}

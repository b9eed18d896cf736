// SPDX-License-Identifier: Apache-2.0
// exchange=once: each item goes to the block that has its place in the sorted row, and passes are those of a block. Boundary r is the item with
// the place r * tile: what is less goes to ranks before r. It is found exactly, a digit of 8 bits after the other, from the highest bit of the
// key to the lowest of the item's index, which tells equal keys apart: the blocks count what has the digits that are known of a boundary (its
// group, of which boundaries may share one) by the next digit, and rank r adds up what all counted and finds the digit of boundary r.
//
//   counted[group][digit]  --push-->  gathered[rank][digit] of rank r  --digit, items before-->  found[r] of all  -->  next[group][digit]
//
// A group's number is its first boundary's; 0: none, the item is next to no boundary. Of most rows two or three digits are enough: a boundary is known when
// no item of its group is before it. Then a warp finds the rank that each item goes to, and its place among the warp's with that rank.
// These four arrays lie where the tile is later.
#include "sort.h"

enum { DIGIT = 8, BINS = 1 << DIGIT, LANE_BINS = BINS / SORT_WARP, ROW = 4 * BINS, PLACE_BITS = 10 };  // a warp has up to 2^10 items

// Lane r of each warp has the boundary of rank r, others one that no item reaches.
typedef struct boundary {
    cj_reg is_one;
    cj_reg key, position;  // its digits that are known, and zeros
    cj_reg before, group;  // items of its group that are before it
    cj_reg all_known, by_key;  // all boundaries, and by their keys alone
} boundary;

// Where a value's digit is taken from.
typedef struct level {
    const char *type;
    cj_reg      shift, byte;
} level;

static cj_reg shuffle(const sort_kernel *k, const char *name, cj_reg value, cj_arg lane) {
    return cj_let(k->f, "u32", name, "shfl.sync.idx.b32 $1, $2, $3, 31, 0xffffffff;", value, lane);
}

static cj_reg position(const sort_kernel *k, unsigned item) { return cj_add(k->f, "position", k->first, SORT_WARP * item); }

static cj_reg digit_of(const sort_kernel *k, const level *l, cj_reg value) {
    cj_func *f = k->f;
    if (!strcmp(l->type, "u32")) return cj_let(f, "u32", "digit", "prmt.b32 $1, $2, 0, $3;", value, l->byte);
    return cj_and(f, "digit", cj_cvt(f, "u32", "rest", cj_shr(f, "rest", value, l->shift)), BINS - 1);
}

// ---- what is counted

static void clear(const sort_kernel *k) {
    cj_func       *f = k->f;
    const unsigned bytes = k->s.cluster * ROW;
    CJ_STRIDE(f, i, cj_mov(f, "u32", "i", k->thread), k->s.block, bytes / 16) {
        cj_ptx(f, "st.shared.v4.u32 [$1 + $2], {0, 0, 0, 0};", cj_mad(f, "counted_at", i, 16, k->counts), k->s.at.counted);
    }
    CJ_STRIDE(f, i, cj_mov(f, "u32", "i", k->thread), k->s.block, k->s.cluster * BINS / 16) {
        cj_ptx(f, "st.shared.v4.u32 [$1 + $2], {0, 0, 0, 0};", cj_mad(f, "next_at", i, 16, k->counts), k->s.at.next);
    }
}

void cj__sort_begin_split(const sort_kernel *k) {
    cj_step(k->f, "nothing is counted");
    clear(k);
}

// Whether an item of the warp's `some` loads from `first` on is next to a boundary: after two digits few are.
static cj_reg any_near(const sort_kernel *k, unsigned first, unsigned some) {
    const unsigned each = k->s.paired ? 2 : 1;
    cj_func       *f = k->f;
    cj_reg         groups = cj_mov(f, "u32", "groups", k->place[first / each]);
    for (unsigned i = first / each + 1; i * each < first + some; i++) cj_update(f, groups, "or", k->place[i]);
    return cj_let(f, "pred", "any_near", "vote.sync.any.pred $1, $2, 0xffffffff;", cj_ne(f, "near", groups, 0));
}

static unsigned loads_from(const sort_kernel *k, unsigned first) {
    enum { LOADS = 4 };
    return k->s.items - first < LOADS ? k->s.items - first : LOADS;
}

static void count_item(const sort_kernel *k, const level *l, cj_reg value, cj_reg group, cj_reg counts) {
    cj_func *f = k->f;
    cj_reg   at = cj_mad(f, "counted_at", group, ROW, cj_mad(f, "digit_at", digit_of(k, l, value), 4, k->counts));
    cj_ptx(f, "@$1 red.shared.add.u32 [$2 + $3], 1;", counts, at, k->s.at.counted);
}

// The first digit. Of a key all items are of one group.
static void count_all(const sort_kernel *k, const level *l, const cj_reg *value) {
    cj_func *f = k->f;
    cj_reg   only = cj_mov(f, "u32", "only_group", 1);
    for (unsigned i = 0; i < k->s.items; i++) {
        count_item(k, l, value[i], only, cj_always());
        cj__sort_keep_place(k, i, only);
    }
}

static void count_loads(const sort_kernel *k, const level *l, const cj_reg *value, unsigned first) {
    cj_func *f = k->f;
    for (unsigned i = first; i < first + loads_from(k, first); i++) {
        cj_reg group = cj__sort_place(k, i);
        count_item(k, l, value[i], group, cj_ne(f, "is_near", group, 0));
    }
}

static void count_near(const sort_kernel *k, const level *l, const cj_reg *value) {
    for (unsigned i = 0; i < k->s.items; i += loads_from(k, i))
        CJ_IF_UNI(k->f, any_near(k, i, loads_from(k, i)), "far") count_loads(k, l, value, i);
}

// To rank r what its boundary's group has: four bins a thread and turn.
static void push_counted(const sort_kernel *k, const boundary *b) {
    enum { VECTORS = BINS / 4 };
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            four[4];
    const unsigned    all = (s->cluster - 1) * VECTORS;
    for (unsigned from = 0; from < all; from += s->block) {
        cj_reg vector = cj_add(f, "vector", k->thread, from), pushes = cj_lt(f, "pushes", vector, all);
        CJ_IF_UNI(f, from + s->block <= all ? cj_always() : pushes, "pushed") {
            cj_reg rank = cj_add(f, "to_rank", cj_shr(f, "to_rank", vector, 6), 1), group = shuffle(k, "its_group", b->group, CJ_ARG(rank));
            cj_reg at = cj_mad(f, "vector_at", cj_and(f, "vector_of_row", vector, VECTORS - 1), 16, k->counts);
            cj_registers(f, "u32", "number", 4, four);
            cj__load(f, cj_always(), "ld.shared", "u32", four, 4, cj_mad(f, "from", group, ROW, at), s->at.counted);
            cj_reg peer = cj_cluster_map_address(f, cj_mad(f, "to", k->rank, ROW, at), rank);
            cj_dsmem_store(f, cj_always(), "u32", four, 4, peer, (int32_t)s->at.gathered);
        }
    }
}

// ---- a digit of this rank's boundary

// Of its group, items of the lane's digits, in all ranks.
static void sum_gathered(const sort_kernel *k, cj_reg *sum) {
    cj_func *f = k->f;
    cj_reg   part[LANE_BINS], at = cj_mad(f, "gathered_at", k->lane, 4 * LANE_BINS, k->counts);
    cj_registers(f, "u32", "part", LANE_BINS, part);
    for (unsigned i = 0; i < LANE_BINS; i++) sum[i] = cj_mov(f, "u32", "sum", 0);
    for (unsigned rank = 0; rank < k->s.cluster; rank++) {
        for (unsigned i = 0; i < LANE_BINS; i += 4)
            cj__load(f, cj_always(), "ld.shared", "u32", &part[i], 4, at, k->s.at.gathered + rank * ROW + 4 * i);
        for (unsigned i = 0; i < LANE_BINS; i++) cj_update(f, sum[i], "add", part[i]);
    }
}

// A warp. The digit whose items those before the boundary end in; it and what of its items are before the boundary go to all ranks.
static void find_digit(const sort_kernel *k, const boundary *b) {
    cj_func *f = k->f;
    cj_reg   sum[LANE_BINS];
    sum_gathered(k, sum);
    cj_reg all = cj_mov(f, "u32", "of_lane", sum[0]);
    for (unsigned i = 1; i < LANE_BINS; i++) cj_update(f, all, "add", sum[i]);
    cj_reg          upto = cj_mov(f, "u32", "upto", all);
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj__prefix_lanes(&lanes, upto, NULL, SORT_WARP);
    cj_reg before = shuffle(k, "before", b->before, CJ_ARG(k->rank)), digit = cj_mul(f, "digit", k->lane, LANE_BINS);
    cj_update(f, before, "sub", cj_sub(f, "lanes_before", upto, all));
    cj_reg has = cj_lt(f, "has_it", before, all);
    cj_reg lanes_that_have = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", has), lane = cj_let(f, "u32", "its_lane", "bfind.u32 $1, $2;", lanes_that_have);
    cj_reg later = cj_ge(f, "is_later", before, sum[0]);
    for (unsigned i = 0; i + 1 < LANE_BINS; i++) {
        if (i) cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", later, before, sum[i]);
        cj_ptx(f, "@$1 sub.u32 $2, $2, $3; @$1 add.u32 $4, $4, 1;", later, before, sum[i], digit);
    }
    cj_reg found[] = {shuffle(k, "found_digit", digit, CJ_ARG(lane)), cj_none()};
    found[1] = shuffle(k, "items_before", before, CJ_ARG(lane));
    CJ_IF(f, cj_lt(f, "tells", k->lane, k->s.cluster), "told") {
        cj_reg peer = cj_cluster_map_address(f, cj_mad(f, "found_at", k->rank, 8, k->counts), k->lane);
        cj_dsmem_store(f, cj_always(), "u32", found, 2, peer, (int32_t)k->s.at.found);
    }
}

// Every warp takes the digits of all boundaries. Those that agree in all digits are a group still; its first one tells what leads to it.
static void take_digits(const sort_kernel *k, boundary *b, const level *l, cj_reg bound) {
    cj_func *f = k->f;
    cj_reg   found[] = {cj_mov(f, "u32", "digit", 0), b->before}, previous = cj_sub(f, "previous", k->lane, 1);
    cj__load(f, b->is_one, "ld.shared", "u32", found, 2, cj_mad(f, "found_at", k->lane, 8, k->counts), k->s.at.found);
    cj_reg wide = strcmp(l->type, "u64") ? found[0] : cj_cvt(f, "u64", "wide_digit", found[0]);
    cj_set(f, bound, cj_or(f, "bound", bound, cj_shl(f, "bits", wide, l->shift)));
    cj_reg other_digit = shuffle(k, "other_digit", found[0], CJ_ARG(previous)), other_group = shuffle(k, "other_group", b->group, CJ_ARG(previous));
    cj_reg begins = cj_ne(f, "begins", found[0], other_digit);
    cj_ptx(f, "setp.ne.or.u32 $1, $2, $3, $1; and.pred $1, $1, $4;", begins, b->group, other_group, b->is_one);
    cj_reg first = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", begins);
    cj_reg at = cj_mad(f, "next_at", b->group, BINS, cj_add(f, "digit_at", found[0], k->counts));
    cj_reg upto = cj_let(f, "u32", "upto", "not.b32 $1, $2;\nand.b32 $1, $1, $3;", k->above, first);
    cj_ptx(f, "@$1 bfind.u32 $2, $3;", b->is_one, b->group, upto);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1; @$1 st.shared.u8 [$3 + $4], $5;", begins, k->warp, at, k->s.at.next, b->group);
    cj_ptx(f, "vote.sync.all.pred $1, $2, 0xffffffff;", b->all_known, cj_eq(f, "is_known", b->before, 0));
}

// Which group items have with one digit more; they are counted by the next one, `lower`, if `goes_on`.
static void descend_loads(const sort_kernel *k, const level *l, const level *lower, cj_reg goes_on, const cj_reg *value, unsigned first) {
    const unsigned some = loads_from(k, first);
    cj_func       *f = k->f;
    cj_reg         next[4];  // all are read before the first is kept: two places may share a register
    for (unsigned i = 0; i < some; i++) {
        cj_reg group = cj__sort_place(k, first + i), near = cj_ne(f, "is_near", group, 0), digit = digit_of(k, l, value[first + i]);
        cj_reg at = cj_mad(f, "next_at", group, BINS, cj_add(f, "digit_at", digit, k->counts));
        next[i] = cj_mov(f, "u32", "next", 0);
        cj_ptx(f, "@$1 ld.shared.u8 $2, [$3 + $4];", near, next[i], at, k->s.at.next);
    }
    for (unsigned i = 0; i < some; i++) {
        cj_reg counts = cj_pred(f, "is_near");
        cj__sort_keep_place(k, first + i, next[i]);
        cj_ptx(f, "setp.ne.and.u32 $1, $2, 0, $3;", counts, next[i], goes_on);
        count_item(k, lower, value[first + i], next[i], counts);
    }
}

static void descend(const sort_kernel *k, const level *l, const level *lower, cj_reg goes_on, const cj_reg *value) {
    for (unsigned i = 0; i < k->s.items; i += loads_from(k, i))
        CJ_IF_UNI(k->f, any_near(k, i, loads_from(k, i)), "far") descend_loads(k, l, lower, goes_on, value, i);
}

// The digits of all boundaries, of what is counted.
static void find_digit_of_all(const sort_kernel *k, boundary *b, const level *l, cj_reg bound) {
    cj_func *f = k->f;
    cj__sort_sync(k, "P1: the block has counted");
    push_counted(k, b);
    cj_cluster_sync(f, "P2: each rank has what all counted of its boundary's group");
    clear(k);
    cj_reg finds = cj_eq(f, "finds", k->warp, 0);
    cj_ptx(f, "setp.ne.and.u32 $1, $2, 0, $1;", finds, k->rank);
    CJ_IF_UNI(f, finds, "digit_found") find_digit(k, b);
    cj_cluster_sync(f, "P3: the digits of all boundaries are here");
    take_digits(k, b, l, bound);
}

static level level_at(const sort_kernel *k, const char *type, cj_reg shift) {
    level l = {.type = type, .shift = shift};
    if (!strcmp(type, "u32")) l.byte = cj_let(k->f, "u32", "byte", "shr.u32 $1, $2, 3;\nor.b32 $1, $1, 0x4440; // and zeros", shift);
    return l;
}

// What is counted by the highest digit is counted already.
static void find_digits(const sort_kernel *k, boundary *b, const level *highest, const cj_reg *value, cj_reg bound) {
    cj_func *f = k->f;
    level    l = *highest;
    CJ_LOOP_UNI(f, levels, "next_level", "last_level") {
        find_digit_of_all(k, b, &l, bound);
        cj_leave(&levels, b->all_known);
        cj__sort_sync(k, "P4: the groups' numbers are written");
        cj_reg      goes_on = cj_ne(f, "goes_on", l.shift, 0);
        const level lower = level_at(k, l.type, cj_sub(f, "lower_shift", l.shift, DIGIT));
        descend(k, &l, &lower, goes_on, value);
        cj_leave_unless(&levels, goes_on);
        cj_set(f, l.shift, lower.shift);
        if (!strcmp(l.type, "u32")) cj_set(f, l.byte, lower.byte);
    }
}

static void find_boundaries(const sort_kernel *k, boundary *b) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            positions[SORT_ITEMS_MAX];
    const unsigned    bits = s->packed ? 32 : s->bits, row = s->cluster * s->tile;
    cj_step(f, "the boundaries of the ranks, digit by digit");
    level l = level_at(k, s->type, cj_mov(f, "u32", "digit_shift", bits - DIGIT));
    count_all(k, &l, k->key);
    find_digits(k, b, &l, k->key, b->key);
    if (s->packed) return;
    cj_ptx(f, "mov.pred $1, $2;", b->by_key, b->all_known);
    CJ_UNLESS_UNI(f, b->by_key, "known") {
        cj_step(f, "equal keys are told apart by their positions");
        for (unsigned i = 0; i < s->items; i++) positions[i] = position(k, i);
        l = level_at(k, "u32", cj_mov(f, "u32", "digit_shift", cj__round_up(cj__log2(cj__power_from(row)), DIGIT) - DIGIT));
        count_near(k, &l, positions);
        find_digits(k, b, &l, positions, b->position);
    }
}

static boundary begin(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    boundary          b = {.is_one = cj_ge(f, "has_boundary", k->lane, 1), .all_known = cj_pred(f, "all_known")};
    b.by_key = cj_pred(f, "known_by_key");
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", b.is_one, k->lane, s->cluster);
    cj_reg zero = cj__sort_constant(k, "zero", 0), last = cj__sort_constant(k, "last", UINT64_MAX >> (s->bits == 64 ? 0 : 32));
    b.key = cj_let(f, s->type, "boundary", "selp.$2 $1, $3, $4, $5;", s->type, zero, last, b.is_one);
    b.position = cj_select(f, "u32", "boundary_position", b.is_one, 0, UINT32_MAX);
    b.before = cj_select(f, "u32", "items_before", b.is_one, cj_mul(f, "place", k->lane, s->tile), 0);
    b.group = cj_select(f, "u32", "group", b.is_one, 1, 0);
    return b;
}

// ---- to which rank

typedef struct limit {
    cj_reg key, position;
} limit;

// The boundary of rank `at`, which each lane chooses.
static limit boundary_of(const sort_kernel *k, const boundary *b, bool by_key, cj_arg at) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    limit             l = {cj_register(f, s->type, "limit"), cj_none()};
    if (s->bits == 64) {
        cj_reg half[] = {cj_u32(f, "low"), cj_u32(f, "high")};
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", half[0], half[1], b->key);
        cj_reg low = shuffle(k, "low", half[0], at), high = shuffle(k, "high", half[1], at);
        cj_ptx(f, "mov.b64 $1, {$2, $3};", l.key, low, high);
    } else {
        cj_set(f, l.key, shuffle(k, "limit", b->key, at));
    }
    if (!by_key) l.position = shuffle(k, "limit_position", b->position, at);
    return l;
}

static limit select_limit(const sort_kernel *k, cj_reg p, const limit *a, const limit *b) {
    limit l = {cj_select(k->f, k->s.type, "limit", p, a->key, b->key), cj_none()};
    if (!cj_is_none(a->position)) l.position = cj_select(k->f, "u32", "limit_position", p, a->position, b->position);
    return l;
}

// The item is at the boundary or after it.
static cj_reg reaches(const sort_kernel *k, const limit *l, unsigned item) {
    cj_func *f = k->f;
    if (cj_is_none(l->position)) return cj_ge(f, "reaches", k->key[item], l->key);
    cj_reg reaches = cj_eq(f, "is_equal", k->key[item], l->key);
    cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", reaches, position(k, item), l->position);
    cj_ptx(f, "setp.gt.or.$1 $2, $3, $4, $2;", k->s.type, reaches, k->key[item], l->key);
    return reaches;
}

// A search by halves. All items meet the boundary in the middle; of up to four ranks those of the quarters are in registers, too.
typedef struct search {
    unsigned bits;        // of a rank
    bool     by_key;      // no boundary is among equal keys
    limit    middle, quarter[2];
    cj_reg   others[5];   // of each bit of a rank: all bits where the lane has none
} search;

static search begin_search(const sort_kernel *k, const boundary *b, bool by_key) {
    cj_func       *f = k->f;
    const unsigned bits = cj__log2(cj__power_from(k->s.cluster)), half = 1u << bits >> 1;
    search         t = {.bits = bits, .by_key = by_key, .middle = boundary_of(k, b, by_key, CJ_ARG(half))};
    for (unsigned i = 0; i < 2 && bits == 2; i++) t.quarter[i] = boundary_of(k, b, by_key, CJ_ARG(half / 2 + i * half));
    for (unsigned bit = 0; bit < bits; bit++) t.others[bit] = cj_sub(f, "lane_has_not", cj_and(f, "lane_has", cj_shr(f, "lane_bit", k->lane, bit), 1), 1);
    return t;
}

// The rank that the item goes to; the lanes whose items go to the rank of the lane's number.
static cj_reg find_rank(const sort_kernel *k, const boundary *b, const search *t, unsigned item, cj_reg mine) {
    cj_func *f = k->f;
    cj_reg   rank = cj_mov(f, "u32", "to_rank", 0), is_set = cj_none();
    for (unsigned bit = t->bits; bit--;) {
        cj_reg at = cj_or(f, "boundary_at", rank, 1u << bit);
        limit  l = t->middle;
        if (t->bits == 2 && !bit) l = select_limit(k, is_set, &t->quarter[1], &t->quarter[0]);
        if (t->bits > 2 && bit + 1 < t->bits) l = boundary_of(k, b, t->by_key, CJ_ARG(at));
        is_set = reaches(k, &l, item);
        cj_set_if(f, is_set, rank, at);
        cj_reg lanes = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", is_set);
        cj_ptx(f, "lop3.b32 $1, $2, $3, $1, 0x28; // (a ^ b) & c", mine, lanes, t->others[bit]);
    }
    return rank;
}

// Lane r counts the warp's items that go to rank r; an item's place is among these.
static void find_ranks(const sort_kernel *k, const boundary *b, bool by_key, cj_reg number) {
    cj_func     *f = k->f;
    const search t = begin_search(k, b, by_key);
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg mine = cj_mov(f, "u32", "lanes_to_mine", UINT32_MAX), rank = find_rank(k, b, &t, i, mine);
        cj_reg same = shuffle(k, "same", mine, CJ_ARG(rank)), before = shuffle(k, "before", number, CJ_ARG(rank));
        cj_reg earlier = cj_let(f, "u32", "earlier", "popc.b32 $1, $2;", cj_and(f, "earlier", same, k->below));
        cj_reg place = cj_add(f, "place", earlier, before);
        cj__sort_keep_place(k, i, cj_mad(f, "rank_and_place", rank, 1 << PLACE_BITS, place));
        cj_update(f, number, "add", cj_let(f, "u32", "more", "popc.b32 $1, $2;", mine));
    }
}

// Lane r: the place in the row of the first of the warp's items that go to rank r. They come after those of the ranks before, and of the warps before.
static cj_reg find_starts(const sort_kernel *k, cj_reg number) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            is_rank = cj_lt(f, "is_rank", k->lane, s->cluster), at = cj_mad(f, "number_at", k->lane, 4, k->counts);
    cj_reg            start = cj_mul(f, "start", k->lane, s->tile), all = cj_mov(f, "u32", "of_block", 0);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", is_rank, cj_mad(f, "own_number_at", k->lane, 4, k->own_counts), number);
    cj__sort_sync(k, "E1: all warps have written how many items go to each rank");
    for (unsigned warp = 0; warp < sort_warps(s); warp++) {
        cj_reg some = cj_mov(f, "u32", "of_warp", 0), is_before = cj_gt(f, "is_before", k->warp, warp);
        cj_ptx(f, "@$1 ld.shared.u32 $2, [$3 + $4];", is_rank, some, at, warp * sort_warp_bytes(s));
        cj_ptx(f, "add.u32 $1, $1, $2; @$3 add.u32 $4, $4, $2;", all, some, is_before, start);
    }
    cj_reg tells = cj_eq(f, "tells", k->warp, 0), to = cj_mad(f, "table_at", k->rank, 4 * s->cluster, at);
    cj_update(f, tells, "and", is_rank);
    CJ_IF(f, tells, "told") {
        for (unsigned rank = 0; rank < s->cluster; rank++)
            cj_dsmem_store(f, cj_always(), "u32", &all, 1, cj_cluster_map_address(f, to, cj_mov(f, "u32", "peer_rank", rank)), (int32_t)s->at.table);
    }
    cj_cluster_sync(f, "E2: so have all ranks; and nobody counts any more");
    for (unsigned rank = 0; rank < s->cluster; rank++) {
        cj_reg some = cj_mov(f, "u32", "of_rank", 0), is_before = cj_gt(f, "is_before", k->rank, rank);
        cj_update(f, is_before, "and", is_rank);
        cj_ptx(f, "@$1 ld.shared.u32 $2, [$3 + $4];", is_before, some, at, s->at.table + rank * 4 * s->cluster);
        cj_update(f, start, "add", some);
    }
    return start;
}

// Of three ranks, or another number that is no power of two, the search meets lanes without a boundary, whose key alone may be reached.
static void find_all_ranks(const sort_kernel *k, const boundary *b, cj_reg number) {
    if (k->s.packed || !cj__is_power(k->s.cluster)) {
        find_ranks(k, b, k->s.packed, number);
        return;
    }
    CJ_IF_ELSE_UNI(k->f, b->by_key, "among_equal", "ranks_found") { find_ranks(k, b, true, number); }
    else {
        find_ranks(k, b, false, number);
    }
}

void cj__sort_split(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    boundary          b = begin(k);
    find_boundaries(k, &b);
    cj_reg number = cj_mov(f, "u32", "to_mine", 0);
    cj_step(f, "the rank that each item goes to, and its place among the warp's");
    find_all_ranks(k, &b, number);
    cj_step(f, "items go to their ranks");
    cj_reg start = find_starts(k, number);
    for (unsigned i = 0; i < s->items; i++) {
        cj_reg kept = cj__sort_place(k, i), rank = cj_shr(f, "to_rank", kept, PLACE_BITS);
        cj_reg in_warp = cj_and(f, "in_warp", kept, (1 << PLACE_BITS) - 1), first = shuffle(k, "first_place", start, CJ_ARG(rank));
        if (!s->packed && s->carries) cj_set(f, k->index[i], position(k, i));
        cj__sort_put_in_cluster(k, cj_add(f, "in_row", first, in_warp), i);
    }
    cj_cluster_sync(f, "E3: all items are in their blocks");
    cj__sort_gather(k);
}

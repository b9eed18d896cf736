// SPDX-License-Identifier: Apache-2.0
// form=grid of segments: what tells it from that of rows. A segment that a warp holds is sorted by a warp, one that a tile holds by a block;
// a longer one is cut into tiles. A launch looks at all segments, and lists the others: so neither the workspace nor the time
// depends on how many elements all segments would have if they were as long as the longest.
//
//   turn 0  the numbers of both lists, and the tickets, are cleared
//   turn 1  warps take segments in turns. Each is checked, and sorted or listed: a medium one by its number, a long one by a record of each of
//           its tiles. An atomic gives a long segment its place among them, and its first tile, so its tiles lie side by side.
//   turn 2  blocks sort the medium segments; the statuses of the tiles are cleared; some blocks count the digits of the tiles (grid.c)
//
//   workspace, after the tickets:  | tiles, long segments | medium segments |
//   record of a tile:              | first element of the segment | its first item | elements | place in the list | tile in the segment | 0 |
//
// The order of the lists is not the same in each launch; the results do not depend on it.
#include "sort.h"

enum { LONGS = 128, MEDIUMS = 136 };  // bytes from the workspace's first

static cj_reg part(const sort_kernel *k, cj_reg workspace, const char *name, uint64_t at) {
    return cj_add(k->f, name, workspace, cj_mov(k->f, "u64", "part_at", at));
}

static cj_reg load_number(const sort_kernel *k, const char *name, cj_reg workspace, int at) {
    return cj_let(k->f, "u32", name, "ld.global.u32 $1, [$2 + $3];", workspace, at);
}

cj_reg cj__sort_long_tiles(const sort_kernel *k, cj_reg workspace) { return load_number(k, "tiles", workspace, LONGS); }
cj_reg cj__sort_long_segments(const sort_kernel *k, cj_reg workspace) { return load_number(k, "segments", workspace, LONGS + 4); }

void cj__sort_clear_lists(const sort_kernel *k, cj_reg workspace) {
    cj_func *f = k->f;
    cj_step(f, "turn 0: tickets and the numbers of the lists are cleared");
    cj_reg number = cj_mad(f, "number", cj_mov(f, "u32", "block", "%ctaid.x"), k->s.block, k->thread);
    CJ_IF(f, cj_lt(f, "clears", number, SORT_PART / 16), "cleared_lists") {
        cj_ptx(f, "st.global.v4.u32 [$1], {0, 0, 0, 0};", cj_mad_wide(f, "clear_at", number, 16, workspace));
    }
    cj_ptx(f, "ret;");
}

// ---- turn 1: a segment of each warp

// The segment `row`, and where it begins among the items. More elements than the plan was told end the launch.
static void find_segment(sort_kernel *k, cj_reg first_of_all) {
    cj_func *f = k->f;
    cj__sort_find_row(k, true);
    cj_reg all = cj__load_param(f, "u64", k->elements_at, "elements");
    k->first_item = cj_sub(f, "first_item", k->first_element, first_of_all);
    cj_reg end = cj_add(f, "end_item", k->first_item, cj_cvt(f, "u64", "wide_columns", k->columns));
    cj_reg is_after = cj_gt(f, "is_after", k->first_item, all);
    cj_ptx(f, "setp.gt.or.u64 $1, $2, $3, $1;\n@$1 trap; // the segments have more elements than the plan was told", is_after, end, all);
}

static cj_reg first_offset(const sort_kernel *k) {
    cj_func    *f = k->f;
    const char *type = k->s.offset_bytes == 4 ? "s32" : "s64";
    cj_reg      first = cj_let(f, type, "first_offset", "$3.$2 $1, [$4];", type, cj__load_given(k->plan), cj__load_pointer(f, k->offsets_at, "offsets"));
    return cj_let(f, "u64", "first_of_all", "mov.b64 $1, $2;", k->s.offset_bytes == 4 ? cj_cvt(f, "s64", "wide_first", first) : first);
}

// A segment that the group holds.
static void sort_whole(const sort_kernel *group) {
    sort_kernel k = *group;  // whose registers are of this body alone
    cj_func    *f = k.f;
    k.first = k.own;
    for (unsigned i = 0; i < (k.s.paired ? (k.s.items + 1) / 2 : k.s.items); i++) cj_set(f, k.place[i], 0);  // of loads after the end
    cj__sort_load(&k, true);
    cj__sort_digits(&k, cj_mov(f, "u32", "shift", sort_low(&k.s)));
    cj__sort_finish(&k);
}

// A list is too short only where some offsets fall: the warp that finds these ends the launch.
static void list_medium(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    cj_func *f = k->f;
    cj_step(f, "a segment that a block holds: its number");
    cj_reg first = cj_eq(f, "first_lane", k->lane, 0), at = cj_add(f, "mediums_at", workspace, MEDIUMS);
    cj_reg place = cj_mov(f, "u32", "place", 0);
    cj_ptx(f, "@$1 atom.relaxed.gpu.global.add.u32 $2, [$3], 1;", first, place, at);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", first, place, cj_mov(f, "u32", "most_mediums", w->mediums));
    cj_ptx(f, "@$1 st.global.u32 [$2], $3;", first, cj_mad_wide(f, "list_at", place, 4, part(k, workspace, "list", w->list)), k->row);
}

// The segment's place among the long ones, and its first tile: the halves of one number, which an atomic moves on together. Whether the list has them.
static cj_reg take_place(const sort_kernel *k, cj_reg workspace, const sort_workspace *w, cj_reg tiles, cj_reg *place, cj_reg *first_tile) {
    cj_func *f = k->f;
    cj_reg   first = cj_eq(f, "first_lane", k->lane, 0);
    cj_reg   one = cj_let(f, "u64", "one_segment", "mov.b64 $1, {$2, $3};", tiles, cj_mov(f, "u32", "one", 1));
    *place = cj_register(f, "u32", "place");
    *first_tile = cj_register(f, "u32", "first_tile");
    cj_reg both = cj_mov(f, "u64", "place_and_tile", 0);
    cj_ptx(f, "@$1 atom.relaxed.gpu.global.add.u64 $2, [$3 + $4], $5;", first, both, workspace, (int)LONGS, one);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", *first_tile, *place, both);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;\nshfl.sync.idx.b32 $2, $2, 0, 31, 0xffffffff;", *first_tile, *place);
    cj_reg has_place = cj_lt(f, "has_place", *place, cj_mov(f, "u32", "most_longs", w->longs));
    cj_reg after = cj_add(f, "tiles_after", *first_tile, tiles);
    cj_ptx(f, "setp.le.and.u32 $1, $2, $3, $1;", has_place, after, cj_mov(f, "u32", "most_tiles", w->tiles));
    return has_place;
}

static void write_record(const sort_kernel *k, cj_reg at, cj_reg place, cj_reg tile) {
    cj_func *f = k->f;
    const cj_reg firsts[] = {k->first_element, k->first_item}, others[] = {k->columns, place, tile, cj_mov(f, "u32", "nothing", 0)};
    cj__store(f, cj_always(), "st.global", "u64", firsts, 2, at, 0);
    cj__store(f, cj_always(), "st.global", "u32", others, 4, at, 16);
}

static void write_records(const sort_kernel *k, cj_reg workspace, const sort_workspace *w, cj_reg tiles, cj_reg place, cj_reg first_tile) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            records = cj_mad_wide(f, "own_records", first_tile, SORT_RECORD_BYTES, part(k, workspace, "records", w->records));
    CJ_FOR(f, tile, "u32", "tile", k->lane, tiles, SORT_WARP) {
        write_record(k, cj_mad_wide(f, "record_at", tile, SORT_RECORD_BYTES, records), place, tile);
    }
    const unsigned bins = sort_passes(s) * s->bins;
    cj_reg         own_bins = cj_mad_wide(f, "own_bins", place, 4 * bins, part(k, workspace, "bins", w->bins));
    CJ_FOR(f, i, "u32", "vector", k->lane, bins / 4, SORT_WARP) {
        cj_ptx(f, "st.global.v4.u32 [$1], {0, 0, 0, 0};", cj_mad_wide(f, "clear_at", i, 16, own_bins));
    }
}

static void list_long(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    const unsigned tile = k->s.tile;
    cj_func       *f = k->f;
    cj_reg         place, first_tile;
    cj_step(f, "a longer segment: a record of each tile, and its bins are cleared");
    cj_reg tiles = cj_div(f, "tiles_of_segment", cj_add(f, "rounded_up", k->columns, tile - 1), tile);
    cj_reg has_place = take_place(k, workspace, w, tiles, &place, &first_tile);
    CJ_IF_UNI(f, has_place, "no_place") write_records(k, workspace, w, tiles, place, first_tile);
}

// A kernel of the warp alone, with its part of the shared memory.
static sort_kernel begin_warp(const sort_kernel *k) {
    sort_kernel warp = *k;
    cj_func    *f = k->f;
    cj__sort_warp_shape(k->plan, &k->s, &warp.s);
    warp.counts = cj_mad(f, "warp_counts", k->warp, warp.s.at.bytes, k->counts);
    warp.own_counts = warp.counts;
    warp.warp = cj_none();  // there is one
    warp.thread = warp.own = k->lane;
    cj_registers(f, "u32", "rank_in_warp", warp.s.paired ? (warp.s.items + 1) / 2 : warp.s.items, warp.place);
    return warp;
}

static void sort_or_list(const sort_kernel *k, const sort_kernel *warp, cj_reg workspace, const sort_workspace *w) {
    cj_func    *f = k->f;
    sort_kernel own = *warp;
    own.s = k->s;  // of a tile
    cj_reg elements = own.columns, is_listed = cj_gt(f, "is_listed", elements, warp->s.tile), is_medium = cj_le(f, "is_medium", elements, own.s.tile);
    cj_update(f, is_medium, "and", is_listed);
    CJ_IF_UNI(f, is_medium, "not_medium") list_medium(&own, workspace, w);
    CJ_IF_UNI(f, cj_gt(f, "is_long", elements, own.s.tile), "not_long") list_long(&own, workspace, w);
    cj_reg is_short = cj_lt(f, "is_short", cj_sub(f, "last", elements, 1), warp->s.tile);  // and has elements
    CJ_IF_UNI(f, is_short, "not_short") {
        cj_step(f, "a segment that the warp holds");
        sort_whole(warp);
    }
}

void cj__sort_list(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    sort_kernel       warp = begin_warp(k);
    cj_step(f, "turn 1: warps take segments in turns");
    cj_reg rows = cj__load_param(f, "u32", k->rows_at, "rows"), first_of_all = first_offset(k);
    cj_reg row = cj_mad(f, "segment", cj_mov(f, "u32", "block", "%ctaid.x"), s->block / SORT_WARP, k->warp);
    cj_reg warps = cj_mul(f, "warps", cj_mov(f, "u32", "blocks", "%nctaid.x"), s->block / SORT_WARP);
    CJ_IF_UNI(f, cj_lt(f, "has_segment", row, rows), "no_segment") {
        CJ_COUNT_UNI(f, "next_segment", row, warps, rows) {
            warp.row = row;
            find_segment(&warp, first_of_all);
            sort_or_list(k, &warp, workspace, w);
        }
    }
    cj_ptx(f, "ret;");
}

// ---- turn 2

static void clear_statuses(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const uint64_t    bytes = w->tiles * s->bins * 4;  // of a pass
    cj_step(f, "the statuses of the tiles are cleared");
    cj_reg tiles = cj__sort_long_tiles(k, workspace), own = cj_mad_wide(f, "own_statuses", k->thread, 4, part(k, workspace, "statuses", w->statuses));
    CJ_IF(f, cj_lt(f, "has_bin", k->thread, s->bins), "without_bin") {
        cj_reg first = cj_mov(f, "u32", "first_tile", "%ctaid.x"), blocks = cj_mov(f, "u32", "blocks", "%nctaid.x");
        CJ_FOR(f, tile, "u32", "tile", first, tiles, blocks) {
            cj_reg at = cj_mad_wide(f, "clear_at", tile, 4 * s->bins, own);
            for (unsigned pass = 0; pass < sort_passes(s); pass++) {
                if (pass) cj_update(f, at, "add", cj_mov(f, "u64", "pass_bytes", bytes));
                cj_ptx(f, "st.global.u32 [$1], 0;", at);
            }
        }
    }
}

void cj__sort_listed(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    cj_func    *f = k->f;
    sort_kernel block = *k;
    block.s.form = SORT_BY_BLOCK;  // a tile that is a row of its own
    block.s.skips = true;
    cj_step(f, "turn 2: blocks take medium segments in turns");
    cj_reg count = load_number(k, "mediums", workspace, MEDIUMS), place = cj_mov(f, "u32", "place", "%ctaid.x");
    cj_reg blocks = cj_mov(f, "u32", "blocks", "%nctaid.x"), list = part(k, workspace, "list", w->list);
    CJ_IF_UNI(f, cj_lt(f, "has_medium", place, count), "no_medium") {
        CJ_COUNT_UNI(f, "next_medium", place, blocks, count) {
            block.row = cj_let(f, "u32", "segment", "ld.global.u32 $1, [$2];", cj_mad_wide(f, "list_at", place, 4, list));
            cj__sort_find_row(&block, true);
            sort_whole(&block);
        }
    }
    clear_statuses(k, workspace, w);
}

// ---- a tile

void cj__sort_find_tile(sort_kernel *k, cj_reg number, cj_reg workspace, const sort_workspace *w) {
    cj_func     *f = k->f;
    const cj_reg firsts[] = {cj_register(f, "u64", "first_element"), cj_register(f, "u64", "first_item")};
    cj_reg       others[4];
    cj_registers(f, "u32", "record", 4, others);
    cj_reg at = cj_mad_wide(f, "record_at", number, SORT_RECORD_BYTES, part(k, workspace, "records", w->records));
    cj__load(f, cj_always(), "ld.global", "u64", firsts, 2, at, 0);
    cj__load(f, cj_always(), "ld.global", "u32", others, 4, at, 16);
    k->first_element = firsts[0], k->first_item = firsts[1];
    k->columns = others[0], k->row = others[1], k->tile = others[2];
    k->base = cj_mad(f, "row_at", k->first_element, k->s.bytes, cj__load_pointer(f, k->x, "x"));
}

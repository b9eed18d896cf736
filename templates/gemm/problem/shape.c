// SPDX-License-Identifier: Apache-2.0
// Sizes that follow from a problem, its tile and its cluster: steps, shared memory, tensor maps.
#include "gemm.h"

// Whether registers hold a tile's packed results beside the next tile's sums, and that has a step for each of them.
static bool may_defer(const gemm_shape *g) {
    const uint32_t sums = g->tile_n / 2, packed = sums * g->d_type->bytes / 4;
    const uint32_t most = g->groups > 2 ? GEMM_HELD_MAX_OF_THREE : GEMM_HELD_MAX;
    return sums + packed <= most && g->subtiles <= g->steps && !cj__gemm_is_split(g) && g->teams == 1;
}

// Boxes of lines are loaded whole, also where a tile ends within one.
static uint32_t stage_bytes_of(const gemm_operand *o) {
    return (o->order == CJ_BY_K ? o->lines : (uint32_t)cj__round_up(o->lines, GEMM_BOX)) * GEMM_ROW;
}

// Columns of a subtile. Of a turned tile each is a box of so many lines of D, and of C, whose map has boxes of one size: then subtiles are
// equal, and it is 0 where no width divides the tile into few enough. Without C the last one has what is left.
static uint32_t subtile_of(const gemm_shape *g, uint32_t columns) {
    uint32_t subtile = g->d_type->bytes == 4 ? GEMM_NARROW : GEMM_BOX;
    if (!g->turned) return columns % subtile ? GEMM_NARROW : subtile;
    if (!g->adds_c) return (uint32_t)cj__round_up(cj__ceil_div(columns, cj__ceil_div(columns, subtile)), GEMM_PATTERN_ROWS);
    while (columns % subtile) subtile -= GEMM_PATTERN_ROWS;
    return subtile < GEMM_SUBTILE_LEAST || subtile * GEMM_SUBTILES_MAX < columns ? 0 : subtile;
}

// Turned tiles side by side share the columns evenly, as wgmma takes each multiple of 8 (of integers of 16): 264 of them are 2 times 136, where a tile has 256,
// and not 256 and 8 (with C, 2 times 144: 3 subtiles of 48). Each block of a column of the multicast group loads whole swizzle patterns.
static uint32_t columns_of_tile(const gemm_shape *g) {
    const uint32_t least = cj__gemm_is_integer(g) ? GEMM_INTEGER_COLUMNS : GEMM_PATTERN_ROWS;
    const uint32_t most = cj__gemm_tiles[g->tile].n, unit = (uint32_t)cj__round_up(least, GEMM_PATTERN_ROWS * g->cluster_m);
    if (!g->turned) return most;
    const uint64_t tiles = cj__round_up(cj__ceil_div(g->n, most), g->cluster_n);
    uint32_t       columns = (uint32_t)cj__round_up(cj__ceil_div(g->n, tiles), unit);
    while (columns < most && !subtile_of(g, columns)) columns += unit;
    return columns < most ? columns : most;
}

void cj__gemm_set_tile(gemm_shape *g, uint64_t tile) {
    g->tile = (uint32_t)tile;
    g->tile_m = cj__gemm_tiles[tile].m;
    g->tile_n = columns_of_tile(g);
    g->groups = g->tile_m / GEMM_GROUP_ROWS;
    g->teams = g->in_turn && g->groups == 1 && !cj__gemm_is_split(g) ? 2 : 1;
    g->subtile = subtile_of(g, g->tile_n);
    g->subtiles = (uint32_t)cj__ceil_div(g->tile_n, g->subtile);
    g->last = g->tile_n - (g->subtiles - 1) * g->subtile;
    g->deferred = may_defer(g) ? g->subtiles : 0;
    g->a.lines = g->tile_m;
    g->b.lines = g->tile_n;
    g->a.bytes = stage_bytes_of(&g->a);
    g->b.bytes = stage_bytes_of(&g->b);
}

// How many lines of a tile the copies bring. Where the tile needs fewer, they leave out the others: a copy fills a line beyond the
// matrix with zeros, which takes longer than a line of the matrix. What a stage holds there goes into lines of D that nobody
// stores. Each block's part is a whole number of swizzle patterns.
static uint32_t loaded_lines(const gemm_operand *o, uint64_t needed) {
    const uint64_t part = (uint64_t)o->loaders * GEMM_PATTERN_ROWS;
    return o->order == CJ_BY_K ? (uint32_t)cj__least(o->lines, cj__round_up(needed, part)) : o->lines;
}

// Few tiles below each other share the rows of D evenly, in whole tensor stores: 80 rows are 48 and 32, not 64 and 16, since the
// other 48 lines of A's second tile would lie beyond the matrix.
static uint32_t rows_of_tile(const gemm_shape *g) {
    const uint64_t tiles = g->tiles_m * g->cluster_m;
    if (tiles == 1 || g->a.order != CJ_BY_K) return g->tile_m;
    return (uint32_t)cj__least(g->tile_m, cj__round_up(cj__ceil_div(g->m, tiles), GEMM_WARP_ROWS));
}

void cj__gemm_set_cluster(gemm_shape *g, uint64_t along_m, uint64_t along_n) {
    g->clustered = along_m > 0;
    g->cluster_m = along_m ? (uint32_t)along_m : 1;
    g->cluster_n = along_m ? (uint32_t)along_n : 1;
    if (g->turned) cj__gemm_set_tile(g, g->tile);
    g->a.loaders = g->cluster_n;
    g->b.loaders = g->cluster_m;
    g->tiles_m = cj__ceil_div(g->m, (uint64_t)g->tile_m * g->cluster_m);
    g->tiles_n = cj__ceil_div(g->n, (uint64_t)g->tile_n * g->cluster_n);
    g->rows = rows_of_tile(g);
    g->a.loaded = loaded_lines(&g->a, cj__least(g->rows, g->m));
    g->b.loaded = loaded_lines(&g->b, g->n);
}

void cj__gemm_read(const cj_params *p, gemm_shape *g) {
    cj__gemm_problem(p, g);
    g->split = (uint32_t)p->value[GEMM_SPLIT];
    g->parts = (uint32_t)p->value[GEMM_PARTS];
    cj__gemm_set_tile(g, p->value[GEMM_TILE]);
    cj__gemm_set_cluster(g, p->value[GEMM_CLUSTER], p->value[GEMM_CLUSTER_N]);
    g->stages = (uint32_t)p->value[GEMM_STAGES];
    g->sums_in_stages = p->value[GEMM_SUMS] == GEMM_SUMS_STAGES;
}

uint64_t cj__gemm_tile_count(const gemm_shape *g) {
    const uint64_t most = UINT64_C(1) << 48, tiles = g->tiles_m * g->tiles_n;
    return tiles > most / g->batches ? most : tiles * g->batches;
}

cj_status cj__gemm_check_tiles(const cj_params *p, const gemm_shape *g, uint32_t parts, cj_error *error) {
    REFUSE_IF(cj__gemm_tile_count(g) * parts > INT32_MAX,
              "m, n, batch: %" PRIu64 " x %" PRIu64 ", %" PRIu64 " times, are more than %d tiles" CJ_HINT
              "use several launches",
              p->value[GEMM_M], p->value[GEMM_N], g->batches, INT32_MAX);
    return CJ_OK;
}

// ---- shared memory

uint32_t cj__gemm_stages_most(const gemm_shape *g, const cj_limits *limits) {
    const uint32_t all = limits->shared_per_block_optin - GEMM_MBARRIER_BYTES - GEMM_SHARED_ALIGN,
                   taken = cj__gemm_store_bytes(g) + cj__gemm_peer_bytes_apart(g);
    return all > taken ? (all - taken) / cj__gemm_stage_bytes(g) : 0;
}

// ---- the workspace

size_t cj__gemm_workspace(const gemm_shape *g) {
    if (g->parts == 1) return 0;
    const uint64_t counters = (uint64_t)g->split * cj__gemm_consumer_warps(g) * sizeof(uint32_t);
    return (size_t)(cj__gemm_tile_count(g) * cj__gemm_multicast(g) * (counters + cj__gemm_partials_bytes(g)));
}

// ---- tensor maps

// Columns of D's map where its lines have a tail: those of whole units, but no map has none.
static uint64_t columns_of_whole_units(const gemm_shape *g) {
    const uint64_t unit = GEMM_STORED_UNIT / g->d_type->bytes, whole = cj__gemm_line(g) / unit * unit;
    return whole ? whole : unit;
}

// A block loads its part of what its multicast group has in common.
static gemm_map operand_map(const gemm_shape *g, const gemm_operand *o) {
    if (o->order == CJ_BY_K)
        return (gemm_map){.type = o->type, .dims = {g->k, o->extent}, .box = {g->step, o->loaded / o->loaders}};
    return (gemm_map){.type = o->type, .dims = {o->extent, g->k}, .box = {GEMM_BOX, g->step / o->loaders}};
}

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map) {
    const bool shared[GEMM_MAPS] = {g->a.shared, g->b.shared, g->shared_c, false};
    const bool is_last = which == GEMM_MAP_C && cj__gemm_has_last(g);
    if (which == GEMM_MAP_A || which == GEMM_MAP_B)
        *map = operand_map(g, which == GEMM_MAP_A ? &g->a : &g->b);
    else
        *map = (gemm_map){.type = which == GEMM_MAP_C ? g->c_type : g->d_type,
                          .dims = {cj__gemm_line(g), cj__gemm_lines(g)},
                          .box = {cj__gemm_box_columns(g), cj__gemm_box_rows(g, is_last ? g->last : g->subtile)}};
    const uint32_t row_bytes = map->box[0] * map->type->bytes;
    map->swizzle = row_bytes == GEMM_ROW       ? CJ_TENSORMAP_SWIZZLE_128B
                   : row_bytes == GEMM_ROW / 2 ? CJ_TENSORMAP_SWIZZLE_64B
                                               : CJ_TENSORMAP_SWIZZLE_32B;
    map->length = map->dims[0];
    if ((which == GEMM_MAP_D || is_last) && cj__gemm_has_tail(g)) map->dims[0] = columns_of_whole_units(g);
    map->align = which == GEMM_MAP_A ? g->a.align : which == GEMM_MAP_B ? g->b.align : which == GEMM_MAP_C ? g->c_align : g->d_align;
    map->rank = g->batches > 1 && !shared[which] ? 3 : 2;
    map->dims[2] = g->batches;
    map->box[2] = 1;
}

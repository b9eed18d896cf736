// SPDX-License-Identifier: Apache-2.0
// scan: out[r][c] = op over x[r][0..c], for each row r of a matrix; one array is a matrix of one row. One read, one write.
//
// Algorithm. Rows are cut into tiles; the threads that scan a tile hold it in registers. A warp's load is one piece of the row.
// Shuffles scan the totals of its lanes, then the loads of a warp follow one after the other, then the warps of a tile, through
// shared memory. A short row is one tile of a few lanes, a warp, or several warps. A longer row has a tile a block, whose prefix
// comes from the other blocks: in a cluster each block pushes its total to higher ranks by st.async; else a block takes the next
// tile from a work counter, publishes the tile's total as its status, and looks back at the tiles before it (kit/lookback.h).
//
//   x: | tile 0 | tile 1 | ... | tile 31 | tile 32 | ...                 global, a row; 32 tiles are a group
//        loads of 16 bytes, lane by lane -> prefix[load] in registers
//        warp_total[warps]                                               shared
//   cluster_total[cluster]  of each block                                distributed shared; or
//   workspace: | work counter | status of each tile | of each group |    global
//
// Stream: a persistent kernel for large inputs, in which each step has warps of its own, which work on successive tiles.
//
//   producer    one thread  work counter  --bulk copy-->  stage[stages]: the tile, its flags; tile_of_stage[]: which it is
//   summing     all warps   stage         -->  warp_prefix[]  the total of each warp's share
//   publishing  a warp      warp_prefix[] -->  the prefix of each share in the tile; the tile's status
//   look-back   a warp      statuses      -->  tile_prefix[]  the tile's prefix
//   scanning    all warps   stage         -->  registers, out; then the stage is free
//
// docs/maintaining/scan.md has the stream, segments, and why each barrier is needed and enough:
//   B0  bar.sync            the block's tile is known; look-back
//   B1  bar.sync            warp_total is written; several warps a tile
//   B2  bar.sync            warp 0 knows the tile's prefix; look-back, several warps
//   B3  barrier.cluster     peers have started, their mbarriers count; cluster
//   B4  mbarrier            the totals of all lower ranks have arrived; cluster
//   B5  bar.sync            the bits are clear, and the first offset is known; offsets
//   B6  bar.sync            all bits are set; offsets
//   S1  bar.sync            the mbarriers count; stream, as all that follow
//   S2  tile_empty[stage]   the scanning warps have read the stage
//   S3  tile_full[stage]    tile_of_stage[] is written, the tile and its flags have arrived
//   S4  summed[stage]       warp_prefix[] has the total of each warp
//   S5  known[stage]        warp_prefix[] and tile_prefix[] have prefixes
#include "scan.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [SCAN_##id] = {__VA_ARGS__},
#include "params.def"
};

static void write_launch(const scan_kernel *k, cj_builder *b) {
    const scan_shape *s = &k->s;
    if (s->form == SCAN_STREAM)
        cj_head(b, "\nLaunch: block %u threads; %u bytes of dynamic shared memory; grid: any number of blocks.", s->block,
                k->plan->dynamic_shared);
    else
        cj_head(b, "\nLaunch: block %u threads%s; grid: %s.", s->block, s->cluster ? ", as a cluster launch" : "",
                s->cluster               ? "a cluster a row"
                : cj__scan_looks_back(s) ? "a block for each tile of each row"
                                         : "a tile a row");
}

static void write_head(const scan_kernel *k, cj_builder *b) {
    const scan_shape *s = &k->s;
    cj_head(b, "clusterjit: scan  op=%s dtype=%s exclusive=%s reverse=%s",
            k->plan->params.function[SCAN_OP_EXPR] ? "op-expr" : CJ_PARAM_WORD(k->plan, "op"),
            CJ_PARAM_WORD(k->plan, "dtype"), k->exclusive ? "yes" : "no", k->reverse ? "yes" : "no");
    cj__functions_head(k->plan, b);
    if (s->form == SCAN_STREAM)
        cj_head(b, "  row  --bulk copies-->  %u stages, a tile each  --summed, and then scanned-->  out", s->stages);
    cj_head(b, "  row  --%u loads of %u elements a thread-->  a tile of %u threads, %" PRIu64 " elements", s->loads,
            s->width, s->threads, s->tile);
    if (s->cluster) cj_head(b, "  tile's total  --mapa + st.async-->  cluster_total of higher ranks");
    if (cj__scan_looks_back(s))
        cj_head(b, "  tile's total  --its status-->  workspace  --look-back of later tiles-->  carry");
    write_launch(k, b);
    if (s->remainder)
        cj_head(b, "Strides are multiples of %u elements, x and out of %u bytes; the last %u elements of a row come one by one.",
                s->access, s->access * s->bytes, s->remainder);
    else if (s->head)
        cj_head(b, "x and out are multiples of %u bytes; elements before x's first and after its last whole %u bytes come one by one.",
                s->access * s->bytes, SCAN_LOAD);
    else if (s->tail)
        cj_head(b, "x and out are multiples of %u bytes; the last %u elements come one by one.", s->width * s->bytes,
                s->tail);
    else
        cj_head(b, "Columns and strides are multiples of %u elements, x and out of %u bytes.", s->width,
                s->access * s->bytes);
    if (s->heads == SCAN_FLAGS)
        cj_head(b, "A flag that is not 0 begins a segment; flags are a multiple of %u bytes.", s->width);
    if (s->heads > SCAN_FLAGS) cj_head(b, "Each of the %" PRIu64 " offsets begins a segment.", s->segments + 1);
    if (s->whole_rows)
        cj_head(b, "The workspace, zero before the first launch, holds the work counter: a u32 of rows taken, one of "
                   "launches.");
    if (cj__scan_looks_back(s))
        cj_head(b, "The workspace, zero before the first launch, holds the work counter (a u32 of tiles taken, one of "
                   "launches), and from byte %d on the status of each tile.", SCAN_STATUS_AT);
}

// Shapes for which ptxas by itself spills registers to fit one more block on an SM: values of 8 bytes; a stream of smaller
// blocks than usual, or of 4-byte values with segments and few loads, or exclusive with a tail; a direct tile with segments or
// of loads of less than 16 bytes.
static bool spills(const scan_kernel *k) {
    const scan_shape *s = &k->s;
    const bool        segmented = cj__scan_segmented(s);
    if (s->computed == 8) return true;
    if (s->form == SCAN_DIRECT) return segmented || s->width * s->bytes < SCAN_LOAD;
    if (s->threads < SCAN_STREAM_BLOCK) return true;
    return s->bytes == 4 && (segmented ? s->loads < SCAN_SEGMENT_LOADS : s->tail && k->exclusive);
}

// Elements up to the first multiple of a load.
static void find_head(scan_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "elements of x before its first multiple of %d bytes", SCAN_LOAD);
    cj_reg x = cj__load_pointer(f, k->x, "x");
    cj_reg above = cj_and(f, "above", cj_let(f, "u64", "below", "neg.s64 $1, $2;", x), SCAN_LOAD - 1);
    k->skipped = cj_min(f, "head", cj_div(f, "head", above, k->s.bytes), k->s.columns);
}

static void declare(scan_kernel *k) {
    const uint32_t others = cj__scan_segmented(&k->s) ? SCAN_ASKED_SEGMENTED : SCAN_ASKED_PLAIN;
    const uint32_t registers = others + k->s.loads * k->s.width * k->s.computed / 4;
    cj_func       *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[rows][stride]");
    k->out = cj_param(f, "u64", "out", "out[rows][out_stride]; may be x");
    if (k->s.heads == SCAN_FLAGS) k->heads = cj_param(f, "u64", "flags", "u8 flags[rows][stride]");
    if (k->s.heads > SCAN_FLAGS)
        k->heads = cj_param(f, "u64", "offsets", k->s.heads == SCAN_OFFSETS_I64 ? "s64, ascending" : "s32, ascending");
    k->rows = cj_param(f, "u64", "rows", NULL);
    k->columns = cj_param(f, "u64", "columns", "elements of a row");
    k->stride = cj_param(f, "u64", "stride", "elements from row to row of x");
    k->out_stride = cj_param(f, "u64", "out_stride", "of out");
    k->workspace = cj_param(f, "u64", "workspace", cj__scan_looks_back(&k->s) ? "work counter, statuses" : "not used");
    cj__registers(k->plan, f, registers < SCAN_ASKED_LEAST ? SCAN_ASKED_LEAST : registers, spills(k));
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    if (k->s.lanes > 1 || k->p.segmented || cj__scan_has_before(&k->s)) k->p.lane = cj_and(f, "lane", k->thread, 31);
    if (k->s.form == SCAN_STREAM || k->s.warps > 1 || k->s.cluster || k->s.heads > SCAN_FLAGS)  // one does what others do not
        k->warp = cj_shr(f, "warp", k->thread, 5);
    if (k->s.head) find_head(k);
}

// A tile a block, or one of a few rows that a block has at once.
static void emit_tiles(scan_kernel *k) {
    scan_tile           tile = {.carry = cj_none()};
    const scan_exchange exchange = cj__scan_begin(k, &tile);
    cj__scan_load(k, &tile);
    cj__scan_tile(k, &tile);
    cj__scan_carry(k, &tile, &exchange);
    cj__scan_store(k, &tile);
}

static void emit_scan(const cj_plan *plan, cj_builder *b) {
    static const cj_combine_op ops[] = {CJ_COMBINE_SUM, CJ_COMBINE_MIN, CJ_COMBINE_MAX, CJ_COMBINE_PRODUCT};
    const uint64_t            *value = plan->params.value;
    char                       identity[24];
    scan_kernel                k = {.plan = plan, .exclusive = value[SCAN_EXCLUSIVE], .reverse = value[SCAN_REVERSE]};
    cj__scan_shape(plan, &k.s);
    k.p.combine = (cj_combine){.op = ops[value[SCAN_OP]], .type = k.s.type};
    write_head(&k, b);
    if (k.s.form == SCAN_STREAM) cj_declare(b, ".extern .shared .align 16 .b8 scan_pool[];");
    cj__functions_write(plan, b, &k.p.combine, identity);
    k.p.segmented = cj__scan_segmented(&k.s);
    k.p.f = k.f = cj__entry(plan, b);
    declare(&k);
    cj__follow_launches(plan, k.f);
    (k.s.form == SCAN_STREAM ? cj__scan_stream : emit_tiles)(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_scan = {CJ_FAMILY(
    "scan", "running sums, extremes, products or your own along rows or one long array, read once and written once",
    params, cj__scan_plan, emit_scan)};

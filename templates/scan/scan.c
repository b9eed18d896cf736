// SPDX-License-Identifier: Apache-2.0
// scan: out[r][c] = op over x[r][0..c], for each row r of a matrix; one array is a matrix of one row. One read, one
// write.
//
// Algorithm. Rows are cut into tiles, and a tile is held in the registers of the threads that scan it. Lanes take loads
// side by side, so a load of a warp is one piece of the row; its lanes' sums are scanned by shuffles, the loads of a
// warp one after the other, the warps of a tile through shared memory. A short row is one tile, of a few lanes, of a
// warp or of several; a block takes as many rows as it has threads for. A longer row is a tile of a block each, and
// what stands before a tile comes by one of two ways:
//
//   cluster    the blocks of a cluster take a row together. Each pushes its total to those behind it by st.async.
//   posts      any number of tiles. Each block claims the next tile from a counter in global memory, so tiles begin in
//              their order, and posts its tile's total there. It waits for the totals of the tiles before it.
//
//   x: | tile 0 | tile 1 | … | tile 31 | tile 32 | …                     global, a row
//        loads of 16 bytes, lane by lane -> before[load] in registers
//        warp_total[warps]                                               shared
//   cluster_total[cluster]  of each block                                distributed shared; or
//   workspace: | tiles claimed, launches | totals of tiles | of groups | global
//
// 32 tiles are a group. What stands before a tile is the tiles before it in its group, and the groups before that. A
// group's last tile posts the group's total, and, once it knows it, the total of all groups up to it, in the same
// place; one look of a warp sees the tiles of its group and the 32 groups before, and waits until one of these has all
// that was before. So the way from the first tile to the last goes over a thousand tiles at a time, and all is always
// combined in the same order: equal plans give equal bits, whatever the schedule.
//
// A post is its own flag: every 32-bit word of it travels beside a 32-bit tag in one store of 64 bits, so whoever sees
// the tag has the word, and nothing is published or acquired beside it. The tag counts launches: nothing needs to be
// cleared between them. Who claims the last tile begins the counter anew.
//
// Stream. A block that loads, waits for what stands before and stores, one after the other, leaves memory idle. Where
// there is much to scan, blocks stay on their SMs, and each of these steps has warps of its own, that work on tiles one
// behind the other; so loads never stop, and there is time to find out what stands before:
//
//   one thread  claims       --bulk copy-->  stage[stages]    the tile and its flags; told[]: which it is
//   summing     (all warps)  stage           -->  before_warps[]  the sum of each warp's share
//   telling     (a warp)     before_warps[]  -->  what stands before each share in the tile; posts the tile's total
//   looking     (a warp)     posts           -->  before_tile[]   what stands before the tile
//   scanning    (all warps)  stage           -->  registers, out  and the stage is free
//
// The warp that looks keeps what stood before the group of the block's tile before, and adds all tiles since then, some
// groups in a look, a lane a tile: each group by itself and then one after the other, so that the order is the same for
// every block here, too. It depends on what tiles sum to alone, not on what others found out: there is no chain. A block
// that claims rows has all tiles of one, one behind the other: it posts nothing, and the warp that tells knows what
// stands before. Tiles of a block are claimed in their order, and what a tile waits for are sums of tiles that were
// claimed before it, by blocks that run: these need nothing but their own earlier tiles to be done. So none waits
// forever, however many blocks run at once. Tiles are whole loads; what one array has behind its last is a tile of its
// own, of which a lane reads and writes element by element.
//
// Segments. What is scanned is then a pair: a value, and whether a segment begins in it; (a, p) and (b, q) become (q
// ? b : a op b, p or q). The flags of a warp's lanes are one ballot, so lanes need to pass values alone: a lane takes
// from as many lanes before it as its segment reaches back. Warps and ranks put the flag beside the total, a tile
// into its post's tag. A tile in whose group a segment has begun before it needs no group before that. Flags come a
// byte an element, in loads as wide as those of x in elements; in a stream through the stage, behind the tile, as far as
// they begin and end there at multiples of 16 bytes. Offsets become bits of the tile in shared memory: warp
// 0 looks for the first that lies in the tile, 32 places a look, while x is on its way; then each thread marks some
// of them. A segment is the same elements in reverse, so there its first element ends its scan: the flag counts
// behind it.
//
// Barriers, and why each is needed and enough:
//   B0  bar.sync: one thread has claimed the tile for all; only with posts.
//   B1  bar.sync: warp_total is written before all warps read it; only with several warps a tile.
//   B2  bar.sync: warp 0 knows what stands before the tile, and the others read it.
//   B3  barrier.cluster: peers have started and their mbarriers count, before they are written to. Relaxed, for nothing
//       but that is to be known; the loads hide it.
//   B4  the mbarrier of each block: its phase ends when the totals of all ranks below have come. No block is written to
//       behind that, so it may exit.
//   B5  bar.sync: the bits are clear before any is set, and the first offset is known to all; only with offsets.
//   B6  bar.sync: all bits are set before they are read.
// Barriers of a stream, in which a block counts as a cluster of its own:
//   S1  bar.sync: the mbarriers count; fence.mbarrier_init publishes them to the bulk copies.
//   S2  tile_empty[stage]: the warps that scan have read the tile, told[] and what stands before it. Nobody else reads
//       or writes these any more: scanning waits for S5, that for S4, and these for all others of the stage.
//   S3  tile_full[stage]: told[] is written, and the bytes of the tile and its flags have come.
//   S4  summed[stage]: before_warps[] has every warp's sum.
//   S5  known[stage]: before_warps[] and before_tile[] have what stands before. Telling and looking arrive, or telling
//       alone where rows are claimed.
// Each lane arrives for what it has itself read or written, so that nothing within a warp needs to be ordered.
#include <clusterjit/value.h>

#include "scan.h"

#include <inttypes.h>
#include <stdio.h>

#include "user_function.h"

const cj_param_info cj__scan_params[] = {
    [SCAN_ROWS] =
        {.name = "rows", .minimum = 1, .maximum = INT32_MAX, .initial = "1", .help = "rows, each scanned by itself"},
    [SCAN_COLUMNS] =
        {.name = "columns", .minimum = 1, .maximum = UINT64_C(1) << 40, .initial = "1024", .help = "elements of a row"},
    [SCAN_OP] = {.name = "op", .choices = "sum min max product", .initial = "sum", .help = "how two values become one"},
    [SCAN_DTYPE] = {.name = "dtype",
                    .choices = "f32 f64 i32 u32 i64 u64 f16 bf16",
                    .initial = "f32",
                    .help = "type of x and out; f16 and bf16 are computed in f32"},
    [SCAN_EXCLUSIVE] = {.name = "exclusive",
                        .choices = "no yes",
                        .initial = "no",
                        .help = "yes: without the element itself; the first becomes the identity"},
    [SCAN_REVERSE] = {.name = "reverse", .choices = "no yes", .initial = "no", .help = "yes: from the row's end"},
    [SCAN_HEADS] = {.name = "heads",
                    .choices = "none flags i32 i64",
                    .initial = "none",
                    .help = "where segments begin, which are scanned by themselves: flags, a byte an element, laid out"
                            " as x; or offsets of that type"},
    [SCAN_SEGMENTS] = {.name = "segments",
                       .maximum = INT32_MAX,
                       .initial = "0",
                       .help = "with offsets: how many, of one array; offsets[segments + 1] are ascending"},
    [SCAN_STRIDE] = {.name = "stride",
                     .maximum = UINT64_C(1) << 40,
                     .initial = "0",
                     .help = "elements from row to row of x; 0: columns"},
    [SCAN_OUT_STRIDE] = {.name = "out-stride",
                         .maximum = UINT64_C(1) << 40,
                         .initial = "0",
                         .help = "elements from row to row of out; 0: columns"},
    [SCAN_ALIGN] = {.name = "align",
                    .choices = "16 8 4 2",
                    .initial = "16",
                    .help = "bytes that x and out are multiples of, where their element is smaller"},
    [SCAN_CLUSTER] = {.name = "cluster",
                      .maximum = 16,
                      .automatic = true,
                      .initial = "auto",
                      .tune = "0 2 4 8 16",
                      .help = "blocks that take a row together; 0: generate without clusters"},
    [SCAN_BLOCK] = {.name = "block",
                    .minimum = 32,
                    .maximum = SCAN_BLOCK_MAX,
                    .multiple = 32,
                    .automatic = true,
                    .initial = "auto",
                    .tune = "128 256 512 1024",
                    .help = "threads a block, a power of two; stream: that scan"},
    [SCAN_LOADS] = {.name = "loads",
                    .minimum = 1,
                    .maximum = SCAN_LOADS_MAX,
                    .automatic = true,
                    .at_most = true,
                    .initial = "auto",
                    .tune = "1 2 4 6 8",
                    .help = "loads of a thread; of rows that one block holds, at most"},
    [SCAN_FORM] = {.name = "form",
                   .choices = "auto direct stream",
                   .initial = "auto",
                   .tune = "direct stream",
                   .help = "direct: a tile a block; stream: blocks stay, and tiles come by bulk copies"},
    [SCAN_CLAIM] = {.name = "claim",
                    .choices = "auto tile row",
                    .initial = "auto",
                    .tune = "tile row",
                    .help = "stream: what a block takes at a time"},
    [SCAN_STAGES] = {.name = "stages",
                     .minimum = 1,
                     .maximum = SCAN_STAGES_MAX,
                     .automatic = true,
                     .initial = "auto",
                     .tune = "4 6 8 12",
                     .help = "stream: tiles that fit shared memory at once"},
    [SCAN_GRID] = {.name = "grid",
                   .minimum = 1,
                   .maximum = INT32_MAX,
                   .automatic = true,
                   .initial = "auto",
                   .help = "stream: blocks in the grid"},
    [SCAN_OP_EXPR] = {.name = "op-expr",
                      .function = "a b",
                      .initial = "",
                      .help = "how two values become one, in place of op: associative; a stands before b"},
    [SCAN_IDENTITY] = {.name = "identity",
                       .function = "",
                       .initial = "",
                       .help = "with op-expr: the constant e for which op-expr of e and any x is x"},
};

static void write_launch(const scan_kernel *k, cj_builder *b) {
    const scan_shape *s = &k->s;
    if (s->form == SCAN_STREAM)
        cj_head(b, "Launch: block %u threads; %u bytes of dynamic shared memory; grid: any number of blocks.", s->block,
                k->plan->dynamic_shared);
    else
        cj_head(b, "Launch: block %u threads%s; grid: %s.", s->block, s->cluster ? ", as a cluster launch" : "",
                s->cluster               ? "a cluster a row"
                : cj__scan_looks_back(s) ? "a block for each tile of each row"
                                         : "a tile a row");
}

static void write_head(const scan_kernel *k, cj_builder *b) {
    const scan_shape *s = &k->s;
    char              op[12], dtype[8];
    cj_head(b, "clusterjit: scan  op=%s dtype=%s exclusive=%s reverse=%s",
            k->plan->params.function[SCAN_OP_EXPR] ? "op-expr" : cj_params_word(&k->plan->params, "op", op, sizeof op),
            cj_params_word(&k->plan->params, "dtype", dtype, sizeof dtype), k->exclusive ? "yes" : "no",
            k->reverse ? "yes" : "no");
    for (int i = SCAN_OP_EXPR; i <= SCAN_IDENTITY; i++)
        if (k->plan->params.function[i])
            cj_head(b, "  %s: %.200s", cj__scan_params[i].name, k->plan->params.function[i]->text);
    cj_head(b, "%s", "");
    if (s->form == SCAN_STREAM)
        cj_head(b, "  row  --bulk copies-->  %u stages, a tile each  --summed, and then scanned-->  out", s->stages);
    cj_head(b, "  row  --%u loads of %u elements a thread-->  a tile of %u threads, %" PRIu64 " elements", s->loads,
            s->width, s->threads, s->tile);
    if (s->cluster) cj_head(b, "  tile's total  --mapa + st.async-->  cluster_total of the ranks behind");
    if (cj__scan_looks_back(s))
        cj_head(b, "  tile's total  --tagged words-->  workspace  --by the tiles behind-->  carry");
    cj_head(b, "%s", "");
    write_launch(k, b);
    if (s->tail)
        cj_head(b, "x and out are multiples of %u bytes; the last %u elements come one by one.", s->width * s->bytes,
                s->tail);
    else
        cj_head(b, "Columns and strides are multiples of %u elements, x and out of %u bytes.", s->width,
                s->width * s->bytes);
    if (s->heads == SCAN_FLAGS)
        cj_head(b, "A flag that is not 0 begins a segment; flags are a multiple of %u bytes.", s->width);
    if (s->heads > SCAN_FLAGS) cj_head(b, "Each of the %" PRIu64 " offsets begins a segment.", s->segments + 1);
    if (s->whole_rows)
        cj_head(b, "The workspace, zero before the first launch, holds a u32 of rows claimed and one of launches.");
    if (cj__scan_looks_back(s))
        cj_head(
            b,
            "The workspace, zero before the first launch, holds a u32 of tiles claimed and one of launches, and from"
            " byte %d on the posts.",
            SCAN_STATUS_AT);
}

static void add_functions(scan_kernel *k, cj_builder *b, char identity[24]) {
    const cj_user_function *const *function = k->plan->params.function;
    if (!function[SCAN_OP_EXPR]) return;
    k->p.combine.op = CJ_COMBINE_USER;
    k->p.combine.function = cj_builder_function(b, function[SCAN_OP_EXPR], "op");
    k->p.combine.identity = cj__constant_text(k->s.type, function[SCAN_IDENTITY]->constant, identity);
}

// Shapes for which ptxas by itself spills registers to fit one more block on an SM: values of 8 bytes; a stream of smaller
// blocks than usual, or exclusive with a tail; a direct tile with segments or of loads of less than 16 bytes.
static bool spills(const scan_kernel *k) {
    const scan_shape *s = &k->s;
    const bool        segmented = cj__scan_segmented(s);
    if (s->computed == 8) return true;
    if (s->form == SCAN_DIRECT) return segmented || s->width * s->bytes < SCAN_LOAD;
    return s->threads < SCAN_STREAM_BLOCK || (s->tail && k->exclusive && s->bytes == 4 && !segmented);
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
    k->workspace = cj_param(f, "u64", "workspace", cj__scan_looks_back(&k->s) ? "claims and posts" : "not used");
    cj_block(f, k->s.block, 1, 1);
    cj__registers(k->plan, f, registers < SCAN_ASKED_LEAST ? SCAN_ASKED_LEAST : registers, spills(k));
    if (k->s.cluster) cj_cluster(f, k->s.cluster, 1, 1);
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->p.lane = cj_and(f, "lane", k->thread, 31);
    k->warp = cj_shr(f, "warp", k->thread, 5);
}

// A tile a block, or one of a few rows that a block has at once.
static void emit_tiles(scan_kernel *k) {
    scan_tile           tile = {.row = {0}};
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
    add_functions(&k, b, identity);
    k.p.segmented = cj__scan_segmented(&k.s);
    k.p.f = k.f = cj_entry(b, plan->entry);
    declare(&k);
    if (k.s.form == SCAN_STREAM)
        cj__scan_stream(&k);
    else
        emit_tiles(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_scan = {
    .name = "scan",
    .summary = "running sums, extremes, products or your own along rows or one long array, read once and written once",
    .param = cj__scan_params,
    .param_count = sizeof cj__scan_params / sizeof *cj__scan_params,
    .plan = cj__scan_plan,
    .emit = emit_scan,
};

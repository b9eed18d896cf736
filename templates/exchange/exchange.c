// SPDX-License-Identifier: Apache-2.0
// exchange: the blocks of a cluster trade their chunks of an array, or parts of them.
//
// x holds a chunk of n elements for each block; out gets
//   pair        the chunk of the block whose rank is mine xor 1; the last of an odd number keeps its own
//   ring        the chunk of the block `shift` ranks to the right, around the cluster
//   halo        my chunk between the last `halo` elements of my left and the first of my right neighbour (n + 2 halo)
//   all-to-all  as many equal parts as there are blocks: part j is my rank's part of block j
// With repeat > 1 every round trades what the round before brought: pair, ring and all-to-all do the same again; halo sends
// back to each neighbour what came from it. That is for measuring.
//
// Algorithm. Threads hold what travels in registers, up to 8 units of up to 16 bytes each. A round sends it and takes what came:
//   push   st.async straight into the unit's place in the peer's buffer; the peer's mbarrier counts the bytes. There is no
//          barrier of the cluster: a block waits only for what it needs. An all-to-all begins with the part of the next rank,
//          so that the blocks do not all write to the same one, and its own part stays in registers. Long parts in many
//          rounds go by bulk copies, from the buffer that they came into to the peers' other one, by a thread a part; only the
//          first and the last round then go through registers.
//   pull   into the own buffer, cluster barrier, ld.shared::cluster
//   global without clusters: into the own buffer in the workspace, a flag for each block, and loads. The launch is
//          cooperative: blocks wait for each other. Flags count rounds from launch to launch, modulo 2^32: nobody resets them.
//
//   shared memory:  | full[2] free[2] | buffer 0 | buffer 1 |
//   workspace:      | flag of block 0 | flag of block 1 | … | buffers of block 0 | buffers of block 1 | …    (global)
//
// Barriers (docs/maintaining/exchange.md tells why each is needed and why they suffice):
//   B1       barrier.cluster: every block has started, and its mbarriers are initialized.
//   full[b]  mbarrier: every byte of buffer b has arrived.
//   free[b]  mbarrier, in a ring: the block that this one pushes to has read its buffer b.
//   B2       bar.sync, in a ring: every thread has read the buffer, which one thread then tells the sender.
//   B3       barrier.cluster: no block exits while a peer or a copy needs its memory.
//   B4       bar.sync between tiles: threads that hold nothing in the next tile have read the buffer, too.
//   C1, C2   bar.sync around the rounds of bulk copies: the buffer is written; the last bytes have arrived.
//   P1       barrier.cluster, pull: every buffer is written, and the other one has been read.
//   G1, G2   bar.sync, global: the buffer is written; the blocks that this one trades with have written theirs.
#include "exchange.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) {__VA_ARGS__},
#include "params.def"
};

static void write_head(const exchange_kernel *k, cj_builder *b) {
    const cj_exchange_shape *s = &k->s;
    cj_head(b, "clusterjit: exchange  pattern=%s strategy=%s size=%u cluster=%u block=%u repeat=%u\n",
            CJ_PARAM_WORD(k->plan, "pattern"),
            s->strategy == CJ_EXCHANGE_GLOBAL ? "global" : CJ_PARAM_WORD(k->plan, "strategy"), s->size,
            k->plan->cluster.x, s->threads, s->repeat);
    cj_head(b, "  a unit is %u bytes; %u units a chunk, of which %u part%s of %u travel, %u of each at a time", s->unit,
            s->chunk, s->parts, s->parts > 1 ? "s" : "", s->part, s->tile);
    cj_head(b, "  x --> registers --%s--> out\n",
            s->bulk ? "st.shared--> buffer --cp.async.bulk--> peer's buffer --ld.shared--> registers"
            : s->strategy == CJ_EXCHANGE_PUSH ? "st.async--> peer's buffer --ld.shared--> registers"
            : s->strategy == CJ_EXCHANGE_PULL ? "st.shared--> buffer --ld.shared::cluster--> registers"
                                              : "st.global--> buffer, flag --ld.global--> registers");
    cj_head(b, "Launch: grid %u, block %u%s, dynamic shared memory %u bytes.", k->plan->grid.x, s->threads,
            s->strategy == CJ_EXCHANGE_GLOBAL ? ", cooperative" : ", as a cluster launch", k->plan->dynamic_shared);
    if (s->strategy == CJ_EXCHANGE_GLOBAL)
        cj_head(
            b,
            "The workspace is zero before the first launch: a flag a block, %u bytes apart, then %u buffers a block.",
            EXCHANGE_FLAG, EXCHANGE_BUFFERS);
}

static void declare(exchange_kernel *k) {
    k->x = cj_param(k->f, "u64", "x", "a chunk for each block");
    k->out = cj_param(k->f, "u64", "out", "a chunk for each block");
    k->workspace = cj_param(k->f, "u64", "workspace",
                            k->s.strategy == CJ_EXCHANGE_GLOBAL ? "flags and buffers" : "not used");
    if (k->s.strategy != CJ_EXCHANGE_GLOBAL) return;
    cj_registers_max(k->f, EXCHANGE_REGISTERS);  // all blocks of the plan must be resident
}

static void emit_identity(exchange_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    if (k->s.strategy != CJ_EXCHANGE_PULL) k->leader = cj_eq(f, "leader", k->thread, 0);
    if (k->s.strategy == CJ_EXCHANGE_GLOBAL) {
        k->block = cj_mov(f, "u32", "block", "%ctaid.x");
        k->group = cj_div(f, "group", k->block, k->s.size);
        k->rank = cj_rem(f, "rank", k->block, k->s.size);
        cj_reg buffers = cj__load_pointer(f, k->workspace, "buffers");
        k->box = cj_add(f, "box", buffers, k->plan->grid.x * EXCHANGE_FLAG);
        cj_reg own = cj_mad_wide(f, "own", k->block, EXCHANGE_BUFFERS * k->s.buffer_bytes, k->box);
        k->own = cj_mad_wide(f, "own", k->thread, k->s.slot, own);
    } else {
        k->rank = cj_cluster_rank(f);
        k->group = cj__group_number(f, "group", k->s.size);
        k->box = cj_mov(f, "u32", "box", "exchange_box");
        if (!k->s.turned) k->own = cj_mad(f, "own", k->thread, k->s.slot, k->box);
    }
}

// The item's cluster of the problem and its tile.
static exchange_tile emit_item(const exchange_kernel *k, cj_reg item) {
    cj_func      *f = k->f;
    exchange_tile t = {.first = {0}};
    const bool    counts = k->s.guarded || k->s.strategy == CJ_EXCHANGE_PUSH;  // the tile's units
    cj_step(f, "an item: a tile of the parts of a cluster of chunks");
    if (k->s.tiles == 1) {
        t.cluster = cj_mov(f, "u32", "problem", item);
        if (counts) t.left = cj_mov(f, "u32", "left", k->s.tile);
        return t;
    }
    t.cluster = cj_div(f, "problem", item, k->s.tiles);
    t.first = cj_mul(f, "first", cj_rem(f, "tile", item, k->s.tiles), k->s.tile);
    if (!counts) return t;
    cj_reg left = cj_let(f, "u32", "left", "sub.u32 $1, $2, $3;", k->s.part, t.first);
    t.left = cj_min(f, "left", left, k->s.tile);
    return t;
}

static void emit_items(const exchange_kernel *k) {
    exchange_units u;
    cj_reg         round = cj_mov(k->f, "u32", "round", 0), item = cj_mov(k->f, "u32", "item", k->group);
    cj__exchange_name_units(k, &u);
    CJ_COUNT(k->f, "next_item", item, k->s.groups, k->s.items) {
        u.tile = emit_item(k, item);
        cj__exchange_copy_chunk(k, &u);
        cj__exchange_load(k, &u);
        cj__exchange_find(k, &u);
        cj__exchange_rounds(k, &u, round);
        if (k->s.settles)
            cj_ptx(
                k->f,
                "bar.sync 0; // B4: every thread has read the last buffer, also those that hold less of the next tile");
        cj__exchange_store(k, &u);
    }
}

static void emit_exchange(const cj_plan *plan, cj_builder *b) {
    exchange_kernel k = {.plan = plan, .s = cj__exchange_shape(plan)};
    write_head(&k, b);
    if (k.s.strategy != CJ_EXCHANGE_GLOBAL) cj_declare(b, ".extern .shared .align 128 .b8 exchange_box[];");
    cj_func *f = k.f = cj__entry(plan, b);
    declare(&k);
    emit_identity(&k);
    cj__exchange_setup(&k);
    emit_items(&k);
    if (k.s.strategy == CJ_EXCHANGE_PULL || k.s.credits || k.s.bulk) {
        cj_step(f, "the end");
        cj_cluster_arrive(f, k.s.bulk ? CJ_ARRIVE_RELAXED : CJ_ARRIVE_RELEASE, NULL);
        cj_cluster_wait(f, "B3: nobody needs this block's memory any more");
    }
    cj_ptx(f, "ret;");
}

const cj_family cj__family_exchange = {
    CJ_FAMILY("exchange", "blocks of a cluster trade their chunks of an array: pair, ring, halo, all-to-all", params,
              cj__exchange_plan, emit_exchange)};

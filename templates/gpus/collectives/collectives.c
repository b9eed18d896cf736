// SPDX-License-Identifier: Apache-2.0
// The collectives of several GPUs whose memory peers reach: all-reduce, reduce-scatter, all-gather, all-to-all, broadcast,
// barrier. Each GPU launches the same kernel once; the launches exchange data through mailboxes in each other's memory.
//
//   x  --loads-->  message: | word | epoch | word | epoch | …  --st.relaxed.sys-->  a peer's mail[set][sender][unit]
//                                                own mail[set][sender][unit]  --polls, in the order of ranks-->  out
//
// Units of 16 bytes take two stores of 16: the first pairs of words of all units lie side by side, then the second ones, so that
// the stores of a warp fill whole lines. Half lines cross NVLink at half the rate (4 x H200).
//
//   one shot     each GPU sends x to all, and combines what all sent
//   two shots    each GPU sends part p of x to GPU p, combines the parts that it got, and sends the result to all
//   tags=blocks  two shots whose words have no epochs beside them: half the bytes; flags say that a block's have come (flags.c)
//
// Push, do not pull: a store to a peer costs one way, a load two. The word and its epoch are one 64-bit access, so no flag and no
// fence is needed (docs/maintaining/kit.md, "Mailbox"). Everything is combined in one order, that of a cluster's collectives, so
// all GPUs get the same bits, in each run.
//
// Hellos are said and awaited by a block that has no messages where there is room for one: the others do not wait for it.
//
// The barrier orders memory: a fence before the hello releases what earlier kernels and this thread saw, a fence after the last
// one acquires it. The other collectives order only their own messages: their results are complete in them.
//
// protocol/launch.c has what all kernels of GPUs begin and end with: epochs, hellos and sets. move.c has the loop over messages, direct.c
// the copies between arrays that all GPUs reach, which need no mail.
#include "collectives.h"

static void declare(gpus_kernel *k) {
    if (k->s.direct) {
        cj__gpus_declare_arrays(k);
    } else if (k->s.op->moves) {
        cj__gpus_given(k, &k->x, "x", k->s.op->by_rank ? "x[gpus][count]" : "x[count]");
        cj__gpus_given(k, &k->out, "out", k->s.op->gathers ? "out[gpus][count]" : "out[count]");
    }
    cj__gpus_declare(k);
}

static void write_head(const gpus_kernel *k, cj_builder *b) {
    cj_head(b, "clusterjit: %s of %u GPUs  dtype=%s count=%u", k->s.op->name, k->s.gpus, k->s.type, k->s.count);
    if (k->s.direct) cj_head(b, "  memory=%s", k->s.multicast ? "multicast" : "registered");
    if (k->s.op->combines)
        cj_head(b, "  combine=%s shots=%u%s", (const char *[]){"sum", "min", "max"}[k->s.combine.op], k->s.shots,
                k->s.by_blocks ? " tags=blocks" : "");
    cj_head(b, "\nLaunch: on each GPU, beside each other: grid %u, block %u threads.", k->s.grid, k->s.block);
}

static void emit_gpus(const cj_plan *plan, cj_builder *b) {
    gpus_kernel k = {.s = cj__gpus_shape(plan), .plan = plan};
    k.checksum = cj__gpus_checksum(&k.s);
    k.message = cj__gpus_message(k.s.words, k.s.units);
    write_head(&k, b);
    k.f = cj__entry(plan, b);
    cj__registers(plan, k.f, GPUS_REGISTERS, false);
    declare(&k);
    cj__gpus_open_thread(&k);
    if (k.s.direct) cj__gpus_open_arrays(&k);
    cj__gpus_open_boxes(&k);
    if (k.s.direct)
        cj__gpus_copy(&k);
    else if (k.s.op->moves)
        cj__gpus_move(&k);
    else
        cj__gpus_say_hello(&k, k.speaks);
    cj__gpus_close(&k);
}

// ---- the families

static const cj_param_info combining[] = {
#define PARAM(id, ...) [GPUS_##id] = {__VA_ARGS__},
#define COMBINES PARAM
#define GPUS_MEMORIES "mail registered multicast"
#define GPUS_MEMORY_SAYS \
    "what GPUs write: mailboxes; the arrays themselves, which are registered; or these by multimem instructions, on CPU devices alone"
#include "params.def"
};

static const cj_param_info moving[] = {
#define PARAM(id, ...) [GPUS_##id] = {__VA_ARGS__},
#define MOVES PARAM
#define GPUS_DTYPES "f32 f16 bf16 i32 u32 u16 u8"
#include "params.def"
};

#define GPUS_FAMILY(id, params, summary, ...) \
    const cj_family cj__family_##id = {       \
        CJ_FAMILY(#id, summary, params, cj__gpus_plan, emit_gpus), .mail = GPUS_MAIL, .own = &(const gpus_op){.name = #id, __VA_ARGS__}}

GPUS_FAMILY(allreduce, combining, "GPUs: each gets the sum (min, max) of all", .moves = true, .combines = true,
            .from_all = true);
GPUS_FAMILY(reducescatter, combining, "GPUs: GPU r gets the sum (min, max) of the parts r of all", .moves = true,
            .combines = true, .by_rank = true, .from_all = true);
GPUS_FAMILY(allgather, moving, "GPUs: each gets the parts of all", .moves = true, .gathers = true, .from_all = true);
GPUS_FAMILY(alltoall, moving, "GPUs: GPU r gets the parts r of all", .moves = true, .by_rank = true,
            .gathers = true, .from_all = true);
GPUS_FAMILY(broadcast, moving, "GPUs: each gets what one of them has", .moves = true, .from_root = true);
GPUS_FAMILY(barrier, moving, "GPUs: what one did before it, all see after it", .moves = false);

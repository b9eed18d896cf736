// SPDX-License-Identifier: Apache-2.0
// The collectives of several GPUs whose memory peers reach: all-reduce, reduce-scatter, all-gather, all-to-all, broadcast,
// barrier. Each GPU launches the same kernel once; the launches meet through mailboxes in each other's memory.
//
//   x  --loads-->  message: | word | epoch | word | epoch | …  --st.relaxed.sys-->  a peer's mail[set][sender][unit]
//                                                own mail[set][sender][unit]  --polls, in the order of ranks-->  out
//
//   one shot     each GPU sends x to all, and combines what all sent
//   two shots    each GPU sends part p of x to GPU p, combines the parts that it got, and sends the result to all
//
// Push, do not pull: a store to a peer costs one way, a load two. The word and its epoch are one 64-bit access, so no flag and no
// fence is needed (docs/maintaining/kit.md, "Mailbox"). Everything is combined in one order, that of a cluster's collectives, so
// all GPUs get the same bits, in each run.
//
// Epochs. Each block of a box keeps the epoch of the last launch, and this launch's is one more: no host step, so a graph may
// launch this again and again. Block b writes the epochs of all blocks k with k mod grid = b, so that launches of other
// grids find the same epoch. No two blocks touch the same one.
//
// Hellos. In each launch every GPU writes to every peer one word, the checksum of what was asked for, and waits for all of
// theirs before it ends. So a launch with epoch e + 1 ends on one GPU only after each peer has begun its own, and so has ended its launch e:
//
//   A set of mail may be written again: launch e + 2 writes the set that launch e read, and on each peer launch e has ended.
//
// A rank that comes with another description, or not within the limit of polls, is written to `failed` in the own box, and the
// launch ends: nothing hangs. What is in out is then undefined, and epochs are out of step: the box is of no more use.
//
// The barrier orders memory: a fence before the hello releases what earlier kernels and this thread saw, a fence after the last
// one acquires it. The other collectives order only their own messages: their results are complete in them.
#include "gpus.h"

// ---- the parts of the kernel

static void declare(gpus_kernel *k) {
    cj_func *f = k->f;
    if (k->s.op->moves) {
        k->x_param = cj_param(f, "u64", "x", k->s.op->by_rank ? "x[gpus][count]" : "x[count]");
        k->out_param = cj_param(f, "u64", "out", k->s.op->gathers ? "out[gpus][count]" : "out[count]");
    }
    for (uint32_t q = 0; q < k->s.gpus; q++) {
        char name[16];
        snprintf(name, sizeof name, "box_%" PRIu32, q);
        k->box_param[q] = cj_param(f, "u64", name, q ? "of that GPU" : "the box of GPU 0");
    }
    k->rank_param = cj_param(f, "u64", "rank", "of this GPU");
    k->limit_param = cj_param(f, "u64", "limit", "polls after which a thread gives up");
    cj_param(f, "u64", "workspace", "not used");
}

static void open(gpus_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->block = cj_mov(f, "u32", "block", "%ctaid.x");
    k->rank = cj__load_param(f, "u32", k->rank_param, "rank");
    k->left = cj__load_param(f, "u32", k->limit_param, "left");
    if (k->s.op->moves) {
        k->x = cj__load_pointer(f, k->x_param, "x");
        k->out = cj__load_pointer(f, k->out_param, "out");
    }
    cj_step(f, "the boxes, and which of them is this GPU's");
    for (uint32_t q = 0; q < k->s.gpus; q++) {
        k->box[q] = cj__load_pointer(f, k->box_param[q], "box");
        k->mine[q] = cj_eq(f, "mine", k->rank, q);
    }
    k->own = cj_mov(f, "u64", "own", k->box[0]);
    for (uint32_t q = 1; q < k->s.gpus; q++) cj_set_if(f, k->mine[q], k->own, k->box[q]);
    cj_step(f, "this launch's epoch, and the set of mail that it says");
    cj_reg last = cj_mad_wide(f, "last", k->block, 4, k->own);
    k->epoch = cj_let(f, "u32", "epoch", "ld.global.u32 $1, [$2 + $3];", last, CJ_BOX_EPOCH);
    cj_update(f, k->epoch, "add", 1);
    k->set = cj_and(f, "set", k->epoch, 1);
    cj_reg speaks = cj_or(f, "speaker", k->thread, k->block);
    k->first = cj_eq(f, "speaks", speaks, 0);
}

static const cj_mailbox one_word = {.words = 1, .scope = "sys"};

static void say_hello(const gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "hello to each peer: the checksum of what this launch is");
    CJ_IF(f, k->first, "said") {
        if (!k->s.op->moves) cj_ptx(f, "fence.acq_rel.sys; // what was done before the barrier, before the hellos");
        cj_reg sum = cj_mov(f, "u32", "checksum", (uint64_t)cj__gpus_checksum(&k->s));
        cj_reg mine = cj_mad(f, "hello_of_rank", k->set, CJ_BOX_GPUS, k->rank);
        for (uint32_t q = 0; q < k->s.gpus; q++) {
            cj_reg at = cj_mad_wide(f, "hello", mine, CJ_MAIL_BYTES, k->box[q]);
            cj__mail_post(f, &one_word, cj_always(), at, CJ_BOX_HELLO, &sum, 1, k->epoch);
        }
    }
}

static void await_hellos(const gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "all peers have begun this launch, so they have ended the one before");
    CJ_IF(f, k->first, "greeted") {
        cj_reg hellos = cj_mad_wide(f, "hellos", k->set, CJ_BOX_HELLO_SET, k->own);
        for (uint32_t q = 0; q < k->s.gpus; q++) {
            cj_reg sum = cj_b32(f, "found");
            cj_reg late = cj__gpus_receive(k, &one_word, hellos, CJ_BOX_HELLO + CJ_MAIL_BYTES * q, q, &sum);
            cj_reg differs = cj_let(f, "pred", "differs", "setp.ne.and.u32 $1, $2, $3, !$4;", sum,
                                    cj__gpus_checksum(&k->s), late);
            CJ_IF(f, differs, "alike") cj__gpus_report(k, CJ_BOX_DIFFERS, q);
        }
        if (!k->s.op->moves) cj_ptx(f, "fence.acq_rel.sys; // the hellos, before what follows the barrier");
    }
}

static void keep_epoch(const gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "B1: all threads have read the epoch: now it is the last launch's, for each block that a launch may have");
    cj_ptx(f, "bar.sync 0;");
    cj_reg begin = cj_mad(f, "begin", k->thread, k->s.grid, k->block);
    CJ_FOR(f, i, "u32", "i", begin, CJ_BOX_BLOCKS, k->s.grid * k->s.block) {
        cj_reg at = cj_mad_wide(f, "at", i, 4, k->own);
        cj_ptx(f, "st.global.u32 [$1 + $2], $3;", at, CJ_BOX_EPOCH, k->epoch);
    }
}

static void write_head(const gpus_kernel *k, cj_builder *b) {
    cj_head(b, "clusterjit: %s of %" PRIu32 " GPUs  dtype=%s count=%" PRIu32, k->s.op->name, k->s.gpus, k->s.type, k->s.count);
    if (k->s.op->combines)
        cj_head(b, "  combine=%s shots=%" PRIu32, (const char *[]){"sum", "min", "max"}[k->s.combine.op], k->s.shots);
    cj_head(b, "\nLaunch: on each GPU, beside each other: grid %" PRIu32 ", block %" PRIu32 " threads.", k->s.grid, k->s.block);
}

static void emit_gpus(const cj_plan *plan, cj_builder *b) {
    gpus_kernel k = {.s = cj__gpus_shape(plan)};
    k.message = (cj_mailbox){.words = k.s.words, .paired = k.s.words > 1, .scope = "sys"};
    write_head(&k, b);
    k.f = cj__entry(plan, b);
    declare(&k);
    open(&k);
    say_hello(&k);
    if (k.s.op->moves) cj__gpus_move(&k);
    await_hellos(&k);
    keep_epoch(&k);
    cj_ptx(k.f, "ret;");
}

// ---- the families

static const cj_param_info combining[] = {
#define PARAM(id, ...) [GPUS_##id] = {__VA_ARGS__},
#define COMBINES PARAM
#include "params.def"
};

static const cj_param_info moving[] = {
#define PARAM(id, ...) [GPUS_##id] = {__VA_ARGS__},
#define MOVES PARAM
#include "params.def"
};

#define GPUS_FAMILY(id, params, summary, ...) \
    const cj_family cj__family_##id = {       \
        CJ_FAMILY(#id, summary, params, cj__gpus_plan, emit_gpus), .own = &(const gpus_op){.name = #id, __VA_ARGS__}}

GPUS_FAMILY(allreduce, combining, "GPUs: each gets the sum (min, max) of all", .moves = true, .combines = true);
GPUS_FAMILY(reducescatter, combining, "GPUs: GPU r gets the sum (min, max) of the parts r of all", .moves = true,
            .combines = true, .by_rank = true);
GPUS_FAMILY(allgather, moving, "GPUs: each gets the parts of all", .moves = true, .gathers = true);
GPUS_FAMILY(alltoall, moving, "GPUs: GPU r gets the parts r of all", .moves = true, .by_rank = true, .gathers = true);
GPUS_FAMILY(broadcast, moving, "GPUs: each gets what one of them has", .moves = true, .from_root = true);
GPUS_FAMILY(barrier, moving, "GPUs: what was done before it on one is seen behind it on all", .moves = false);

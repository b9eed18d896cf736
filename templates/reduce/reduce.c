// SPDX-License-Identifier: Apache-2.0
// reduce: op over x[0..n) in one kernel.
//
// Algorithm. The grid's threads take 16-byte loads of x in turn, four in flight each, so that together they read x as
// one stream. Each thread makes one part of what it read; then parts meet at up to four levels: warp (redux.sync or
// shuffles), block (shared memory) or cluster (every warp pushes its part to rank 0 by st.async, which needs no barrier
// of the block before it), grid (a workspace in global memory, which the last group watches). A group is a
// cluster, or a block without clusters. A small x is one block's, a larger one one cluster's (reduce_plan.c).
//
//   x: | load 0 | load 1 | load 2 | …                                   global
//        thread i of the grid takes loads i, i + threads, … -> warps
//   warp_part[warps]             of each block, without clusters        shared
//   cluster_part[cluster][warps] of rank 0, with clusters               distributed shared
//        warp 0 (of rank 0) -> one part a group
//   workspace: | tag | unused | words of group 0 | words of group 1 | … global
//        warp 0 of the last group, several parts a lane -> out
//        of more groups: all threads of one of its blocks -> last_part[warps] -> warp 0 -> out
//
// A part is one value; or, for argmin and argmax, a value and its index; or, for mean and variance, count, mean and
// squared distances (reduce_combine.c).
//
// The grid's end is a post box, not a barrier: a group posts each 32-bit word of its part together with a 32-bit tag in
// one store of 64 bits, so whoever sees the tag has the word, and nothing needs to be published or acquired beside it.
// The tag is one more than what the launch before left in the workspace; the last group leaves its own there when it
// has read all. It waits for groups that began no later than itself, whatever else the device runs: groups begin in
// their order.
//
// Barriers, and why each is needed and enough:
//   B1  bar.sync: orders the writes of warp_part before warp 0 reads them. Not there with one warp or where parts are
//       pushed.
//   B2  barrier.cluster, arrived at first of all and waited for before the push: a block's shared memory may be touched
//       only once that block has started, and its mbarrier only once it is made, which is what fence.mbarrier_init
//       publishes and all that there is to publish: so the arrival is relaxed. The loads hide it.
//   B3  the mbarrier of rank 0: its phase ends when the bytes of all parts have arrived, which also makes them visible
//       to warp 0. No block but rank 0 is written to, and rank 0 waits here, so every block may exit behind its push.
//   B4  bar.sync: orders the writes of last_part before warp 0 reads them, and the last reading of the tag before it is
//       overwritten. Threads of the last group alone come here, and only where more than its warp 0 take parts: that has
//       read the tag itself, and whoever posted before had read it, too.
//
// With result=block, result=both or weight=block each block has a slice of x of its own, which its threads read in the same
// manner; also where a cluster or a grid is asked for and its threads have fewer than eight loads each, so that no block is
// left without (reduce_plan.c). With result=block nothing meets above the cluster: rank 0 writes the parts of its cluster's
// blocks to out. With result=both it does so, too, and then combines them: out has the total first. Generated without
// clusters (cluster=0, or a target that has none) or with one block in each, B2 and B3 are gone.
//
// With dependent=yes (programmatic dependent launch) the next kernel's blocks may start where there is room as soon as
// all of this one have, and nothing global is touched before griddepcontrol.wait, behind which all that the kernels
// before have written is visible: also the workspace, when that is this very kernel. It is right behind any kernel, and so
// the default. x is then not read through ld.global.nc, which asks that nobody writes it while the kernel runs. What each
// block loads first is fetched into L2 in front of that wait: a hint, on which no write is lost, as writes go there, too.
#include <inttypes.h>
#include <stdio.h>

#include "reduce.h"
#include "user_function.h"

static const char *group_name(const reduce_kernel *k) { return k->cluster ? "cluster" : "block"; }

static void write_path(const reduce_kernel *k, cj_builder *b) {
    cj_head(b, "  %-14s  --16-byte loads----->  threads --warp--> a part a warp", k->sliced ? "slice of x" : "x");
    if (!k->pushes || k->per_block)
        cj_head(b, "  warps' parts    --shared memory----->  warp_part[%u]  --warp 0--> the block's part", k->warps);
    if (k->pushes)
        cj_head(b, "  %s parts%s  --mapa + st.async--->  cluster_part[%u] of rank 0",
                k->per_block ? "blocks'" : "warps'", k->per_block ? " " : "  ",
                k->cluster * (k->per_block ? 1 : k->warps));
    if (k->per_block) cj_head(b, "  each block's value  --------------->  out[%sblock]", k->total ? "1 + " : "");
    if (!k->total) return;
    if (k->meets)
        cj_head(b, "  %s' parts %s--tagged words------>  workspace --last %s--> out", group_name(k),
                k->cluster ? "" : "  ", group_name(k));
    else
        cj_head(b, "  the %s's part  --> out", group_name(k));
}

static void write_head(const reduce_kernel *k, cj_builder *b) {
    const cj_plan *plan = k->plan;
    char           op[12], dtype[8], result[8];
    cj_head(b, "clusterjit: reduce  op=%s dtype=%s block=%u cluster=%u result=%s weight=%s%s",
            plan->params.function[REDUCE_OP_EXPR] ? "op-expr" : cj_params_word(&plan->params, "op", op, sizeof op),
            cj_params_word(&plan->params, "dtype", dtype, sizeof dtype), plan->block.x, k->cluster,
            cj_params_word(&plan->params, "result", result, sizeof result),
            plan->params.value[REDUCE_WEIGHT] ? "block" : "none", plan->programmatic ? " dependent=yes" : "");
    for (int i = REDUCE_MAP; i <= REDUCE_IDENTITY; i++)
        if (plan->params.function[i])
            cj_head(b, "  %s: %.200s", cj__reduce_params[i].name, plan->params.function[i]->text);
    cj_head(b, "%s", "");
    write_path(k, b);
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; grid %s%s%s.", plan->block.x, k->cluster ? ", as a cluster launch" : "",
            k->meets || k->per_block ? "any" : "one ", k->meets || k->per_block ? "" : group_name(k),
            (k->meets || k->per_block) && k->cluster > 1 ? " multiple of the cluster" : "");
    if (k->sliced)
        cj_head(b, "slice is n / grid, rounded down: each of the first n mod grid blocks has one element more.");
    if (k->meets)
        cj_head(b,
                "The workspace holds the last launch's u32 tag, zero before the first, and from byte %d on, %u"
                " tagged word%s of 8 bytes for each %s.",
                REDUCE_WORDS_AT, cj__reduce_words(plan), cj__reduce_words(plan) > 1 ? "s" : "", group_name(k));
}

// How two values become one. Functions of the user's are put into the module.
static cj_combine add_functions(reduce_kernel *k, cj_builder *b, char identity[24]) {
    const cj_user_function *const *function = k->plan->params.function;
    cj_combine                     value = {.op = k->op->combine, .type = cj__reduce_combined_type(k->plan)};
    k->maps = function[REDUCE_MAP] != NULL;
    if (k->maps) k->map = cj_builder_function(b, function[REDUCE_MAP], "map");
    if (!function[REDUCE_OP_EXPR]) return value;
    value.op = CJ_COMBINE_USER;
    value.function = cj_builder_function(b, function[REDUCE_OP_EXPR], "op");
    value.identity = cj__constant_text(value.type, function[REDUCE_IDENTITY]->constant, identity);
    return value;
}

// Warp 0 alone, while it is one pass of its lanes.
static void describe_end(reduce_kernel *k) {
    const unsigned groups = k->plan->grid.x / (k->cluster ? k->cluster : 1),
                   most = REDUCE_MAILBOXES / cj__reduce_words(k->plan);
    const bool few = groups <= 32 * most || k->warps == 1;
    k->gatherers = few ? 1 : k->warps;
    k->posts = few ? (groups + 31) / 32 < most ? (groups + 31) / 32 : most : 1;
}

static void emit_reduce(const cj_plan *plan, cj_builder *b) {
    const reduce_dtype *dtype = cj__reduce_dtype(plan);
    char                identity[24];
    reduce_kernel       k = {.plan = plan,
                             .op = cj__reduce_op(plan),
                             .dtype = dtype,
                             .vector = REDUCE_LOAD / dtype->bytes,
                             .load = plan->programmatic ? "ld.global.L1::no_allocate" : "ld.global.nc.L1::no_allocate",
                             .warps = plan->block.x / 32,
                             .cluster = plan->cluster.x,
                             .pushes = plan->cluster.x > 1,
                             .per_block = plan->params.value[REDUCE_RESULT] != RESULT_TOTAL,
                             .total = plan->params.value[REDUCE_RESULT] != RESULT_BLOCK,
                             .sliced = cj__reduce_is_sliced(plan),
                             .meets = cj__reduce_meets(plan)};
    if (k.meets) describe_end(&k);
    write_head(&k, b);
    const cj_combine value = add_functions(&k, b, identity);
    k.f = cj_entry(b, plan->entry);
    k.partials = cj__reduce_partials(plan, k.f, &value);
    k.done = cj_label_new(k.f, "done");
    cj__reduce_declare(&k);
    cj__launch_dependents(plan, k.f);
    cj__reduce_begin(&k);
    const reduce_push  push = cj__reduce_open(&k);
    const reduce_epoch epoch = cj__reduce_epoch(&k);
    const cj_partial   part = cj__reduce_thread(&k, &epoch);
    cj__reduce_finish(&k, &push, &epoch, &part);
    cj_label_here(k.f, k.done);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_reduce = {
    .name = "reduce",
    .summary =
        "an array to one value, in one kernel: sum, extremes and their places, product, mean, variance, your own",
    .param = cj__reduce_params,
    .param_count = REDUCE_PARAMS,
    .plan = cj__reduce_plan,
    .emit = emit_reduce,
};

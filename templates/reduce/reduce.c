// SPDX-License-Identifier: Apache-2.0
// reduce: op over x[0..n) in one kernel.
//
// Algorithm. The grid's threads take 16-byte loads of x in turn, four in flight each, so that together they read x as one
// stream. Each thread makes one partial of what it read; then partials are combined on up to four levels: warp (redux.sync or
// shuffles), block (shared memory) or cluster (every warp pushes its partial to rank 0 by st.async, which needs no barrier of
// the block before it), grid (mailboxes in global memory, which the last group reads). A group is a cluster, or a block without
// clusters. A small x is one block's, a larger one one cluster's (plan.c).
//
//   x: | load 0 | load 1 | load 2 | …                                   global
//        thread i of the grid takes loads i, i + threads, … -> warps
//   warp_part[warps]             of each block, without clusters        shared
//   cluster_part[cluster][warps] of rank 0, with clusters               distributed shared
//        warp 0 (of rank 0) -> one partial a group
//   workspace: | epoch tag | unused | mailbox of group 0 | mailbox of group 1 | …  global
//        warp 0 of the last group, several messages a lane -> out
//        of more groups: all threads of one of its blocks -> last_part[warps] -> warp 0 -> out
//
// A partial is one value; or, for argmin and argmax, a value and its index; or, for mean and variance, count, mean and squared
// distances (part.c).
//
// Barriers (docs/maintaining/reduce.md tells why each is needed and why they suffice):
//   B1  bar.sync: warp_part is written.
//   B2  barrier.cluster: rank 0 has started, and its mbarrier is initialized. The loads hide it.
//   B3  mbarrier of rank 0: every partial of the cluster has arrived.
//   B4  bar.sync: last_part is written, and no thread reads the tag any more.
//
// With result=block, result=both or weight=block each block has a slice of x of its own, which its threads read in the same
// manner. With result=block nothing is combined above the cluster: rank 0 writes its cluster's results. With result=both it
// does so, too, and then combines them: out has the total first. With dependent=yes the next kernel's blocks may start as soon
// as all of this one have, and no global memory is touched before griddepcontrol.wait.
#include "reduce.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [REDUCE_##id] = {__VA_ARGS__},
#include "params.def"
};

static void write_path(const reduce_kernel *k, cj_builder *b) {
    const char *own = k->per_block ? "blocks' partials" : "warps' partials";
    cj_head(b, "  %-18s  --16-byte loads----->  threads --warp--> a partial a warp", k->sliced ? "slice of x" : "x");
    if (!k->pushes || k->per_block)
        cj_head(b, "  %-18s  --shared memory----->  warp_part[%u]  --warp 0--> the block's partial", "warps' partials",
                k->warps);
    if (k->pushes)
        cj_head(b, "  %-18s  --mapa + st.async--->  cluster_part[%u] of rank 0", own,
                k->cluster * (k->per_block ? 1 : k->warps));
    if (k->per_block)
        cj_head(b, "  %-18s  ------------------->  out[%sblock]", "a block's value", k->total ? "1 + " : "");
    if (!k->total) return;
    if (k->gathers)
        cj_head(b, "  %-18s  --mailboxes--------->  workspace  --last %s--> out",
                k->cluster ? "clusters' partials" : "blocks' partials", cj__reduce_group(k));
    else
        cj_head(b, "  the %s's partial  --> out", cj__reduce_group(k));
}

static void write_head(const reduce_kernel *k, cj_builder *b) {
    const cj_plan *plan = k->plan;
    cj_head(b, "clusterjit: reduce  op=%s dtype=%s block=%u cluster=%u result=%s weight=%s%s",
            plan->params.function[REDUCE_OP_EXPR] ? "op-expr" : CJ_PARAM_WORD(plan, "op"), CJ_PARAM_WORD(plan, "dtype"),
            plan->block.x, k->cluster, CJ_PARAM_WORD(plan, "result"), CJ_PARAM_WORD(plan, "weight"),
            plan->programmatic ? " dependent=yes" : "");
    cj__functions_head(plan, b);
    write_path(k, b);
    cj_head(b, "\nLaunch: block %u threads%s; grid %s%s%s.", plan->block.x, k->cluster ? ", as a cluster launch" : "",
            k->gathers || k->per_block ? "any" : "one ", k->gathers || k->per_block ? "" : cj__reduce_group(k),
            (k->gathers || k->per_block) && k->cluster > 1 ? " multiple of the cluster" : "");
    if (k->sliced)
        cj_head(b, "slice is n / grid, rounded down: each of the first n mod grid blocks has one element more.");
    if (k->gathers)
        cj_head(b,
                "The workspace holds the last launch's u32 tag, zero before the first, and from byte %d on, %u"
                " mailbox word%s of 8 bytes for each %s.",
                CJ_GATHER_AT, cj__reduce_words(plan), cj__reduce_words(plan) > 1 ? "s" : "", cj__reduce_group(k));
}

// How two values become one. Functions of the user's are put into the module.
static cj_combine add_functions(reduce_kernel *k, cj_builder *b, char identity[24]) {
    const cj_user_function *map = k->plan->params.function[REDUCE_MAP];
    cj_combine              value = {.op = k->op->combine, .type = cj__reduce_combined_type(k->plan)};
    k->maps = map != NULL;
    if (map) k->map = cj_builder_function(b, map, "map");
    cj__functions_write(k->plan, b, &value, identity);
    return value;
}

_Static_assert((int)REDUCE_MAILBOXES <= (int)CJ_MAIL_AT_ONCE, "the kit polls that many mailboxes at once");

// Warp 0 alone, while it is one pass of its lanes.
static void describe_end(reduce_kernel *k) {
    const uint64_t a_lane = cj__ceil_div(k->plan->grid.x / cj__most(k->cluster, 1), 32);
    const unsigned most = REDUCE_MAILBOXES / cj__reduce_words(k->plan);
    const bool     few = a_lane <= most || k->warps == 1;
    k->gatherers = few ? 1 : k->warps;
    k->messages = few ? (unsigned)cj__least(a_lane, most) : 1;
}

static void declare(reduce_kernel *k) {
    cj_func       *f = k->f;
    const uint64_t blocks = cj__reduce_blocks_per_sm(k->plan);
    const char    *out = !k->per_block ? "the result" : k->total ? "the total, then out[1 + blocks]" : "out[blocks]";
    k->x = cj_param(f, "u64", "x", "x[n], aligned to the element");
    k->out = cj_param(f, "u64", "out", out);
    k->n = cj_param(f, "u64", "n", "elements");
    if (k->sliced) k->slice = cj_param(f, "u64", "slice", "elements a block");
    k->workspace = cj_param(f, "u64", "workspace", k->gathers ? "the groups' mailboxes" : "not used");
    if (blocks > 1)
        cj__blocks_per_sm(k->plan, f, blocks);
    else
        cj__registers(k->plan, f, REDUCE_REGISTERS, cj__reduce_spills(k->plan));
}

static void begin(reduce_kernel *k) {
    k->thread = cj_mov(k->f, "u32", "thread", "%tid.x");
    k->lane = cj_and(k->f, "lane", k->thread, 31);
    k->warp = cj_shr(k->f, "warp", k->thread, 5);
    k->block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    k->leader = cj_eq(k->f, "leader", k->thread, 0);
    k->warp_leader = cj_eq(k->f, "warp_leader", k->lane, 0);
}

static void open_push(reduce_kernel *k) {
    if (!k->pushes) return;
    cj_step(k->f, "an mbarrier, of which that of rank 0 will count the bytes of all partials that are sent there");
    k->rank = cj_cluster_rank(k->f);
    k->push = cj__push_new(k->f, "arrived");
    k->receiver = cj_let(k->f, "pred", "receiver", "setp.eq.and.u32 $1, $2, 0, $3;", k->rank, k->leader);
    cj__push_open(k->f, &k->push, k->receiver, "publishes the mbarrier, at B2", "B2: this block has started");
}

static void emit_reduce(const cj_plan *plan, cj_builder *b) {
    const cj_dtype dtype = cj__reduce_dtype(plan);
    const unsigned bytes = (unsigned)cj_dtype_size(dtype);
    char           identity[24];
    reduce_kernel  k = {.plan = plan,
                        .op = cj__reduce_op(plan),
                        .type = cj__dtype_ptx(dtype),
                        .bytes = bytes,
                        .vector = REDUCE_LOAD / bytes,
                        .load = cj__load_given_once(plan),
                        .warps = plan->block.x / 32,
                        .cluster = plan->cluster.x,
                        .pushes = plan->cluster.x > 1,
                        .per_block = plan->params.value[REDUCE_RESULT] != RESULT_TOTAL,
                        .total = plan->params.value[REDUCE_RESULT] != RESULT_BLOCK,
                        .sliced = cj__reduce_is_sliced(plan),
                        .gathers = cj__reduce_gathers(plan)};
    if (k.gathers) describe_end(&k);
    write_head(&k, b);
    const cj_combine value = add_functions(&k, b, identity);
    k.f = cj__entry(plan, b);
    k.partials = cj__reduce_partials(plan, k.f, &value);
    k.done = cj_label_new(k.f, "done");
    declare(&k);
    cj__launch_dependents(plan, k.f);
    begin(&k);
    open_push(&k);
    cj__reduce_end(&k);
    const cj_partial partial = cj__reduce_thread(&k);
    cj__reduce_finish(&k, &partial);
    cj_label_here(k.f, k.done);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_reduce = {CJ_FAMILY(
    "reduce", "an array to one value, in one kernel: sum, extremes and their places, product, mean, variance, your own",
    params, cj__reduce_plan, emit_reduce)};

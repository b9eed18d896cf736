// SPDX-License-Identifier: Apache-2.0
// From the warps' partials to the result: block, cluster, grid, and what is written. reduce.c tells why each step is safe.
#include "reduce.h"

// Partials that each block of a cluster sends to rank 0.
static unsigned sent_by_block(const reduce_kernel *k) { return k->per_block ? 1 : k->warps; }

// The other warps leave for that label.
static void only_warp_0(const reduce_kernel *k, cj_label others) {
    cj_ptx(k->f, "@$1 bra $2;", cj_ne(k->f, "other_warp", k->warp, 0), others);
}

// ---- block

static void combine_block(const reduce_kernel *k, const cj_partial *partial, cj_label others) {
    if (k->warps == 1) return;
    const cj_slots warp_part = cj__slots_make(&k->partials, "warp_part", k->warps);
    cj_step(k->f, "block: a slot a warp, combined by warp 0");
    cj__slot_store(&k->partials, &warp_part, k->warp, k->warp_leader, partial);
    cj_ptx(k->f, "bar.sync 0; // B1: warp_part is written");
    only_warp_0(k, others);
    cj__slots_combine(&k->partials, &warp_part, k->lane, partial);
}

static void apply_weight(const reduce_kernel *k, const cj_partial *partial) {
    const char *type = k->partials.type[0];
    const bool  is_float = *type == 'f';
    const char *convert = is_float                    ? "cvt.rn.$3.u32 $1, $2;"
                          : k->partials.bytes[0] == 8 ? "cvt.$3.u32 $1, $2;"
                                                      : "mov.b32 $1, $2;";
    if (!k->plan->params.value[REDUCE_WEIGHT]) return;
    cj_step(k->f, "weight: block b counts b + 1 times");
    cj_reg weight = cj_let(k->f, type, "weight", convert, cj_add(k->f, "number", k->block, 1), type);
    cj_ptx(k->f, "mul$1.$2 $3, $3, $4;", is_float ? ".rn" : ".lo", type, partial->value[0], weight);
}

// ---- cluster

// Every warp, or with a result for each block its warp 0, sends its partial to rank 0; then only rank 0 is left.
static cj_slots send_to_rank_0(const reduce_kernel *k, const cj_partial *partial) {
    cj_func           *f = k->f;
    const cj_partials *kind = &k->partials;
    const cj_slots     slots = cj__slots_make(kind, "cluster_part", k->cluster * sent_by_block(k));
    cj_step(f, "cluster: partials are pushed to rank 0, whose mbarrier counts their bytes");
    cj_reg index = cj_mov(f, "u32", "index", k->rank);
    if (!k->per_block) cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", index, k->rank, k->warps, k->warp);
    cj_reg zero = cj_mov(f, "u32", "rank_0", 0), gate = cj__push_gate(f, &k->push, zero);
    for (unsigned i = 0; i < kind->values; i++) {
        cj_reg slot = cj_cluster_map_address(f, cj__slot_address(kind, &slots, i, index), zero);
        cj_st_async(f, k->per_block ? k->leader : k->warp_leader, kind->type[i], &partial->value[i], 1, slot, 0, gate);
    }
    cj_ptx(f, "@$1 bra $2;", cj_ne(f, "other_rank", k->rank, 0), k->done);
    return slots;
}

// ---- the grid's end: groups send their partials to mailboxes in the workspace, and the last group combines them

void cj__reduce_end(reduce_kernel *k) {
    cj_func    *f = k->f;
    reduce_end *e = &k->end;
    if (!k->gathers) return;
    cj_step(f,
            k->gatherers > 1 ? "warp 0 of each block, and all of the last %s, need the tag" : "warp 0 needs the tag",
            cj__reduce_group(k));
    e->mail = (cj_gather){.kind = &k->partials, .box = cj__gather_box(&k->partials, false)};
    e->mail.space = cj__load_pointer(f, k->workspace, "space");
    cj_reg groups = cj_mov(f, "u32", "groups", cj__group_count(k->cluster));
    cj_reg group = cj_add(f, "group", cj__group_number(f, "group", k->cluster), 1);
    e->is_last = cj_eq(f, "is_last", group, groups);
    e->reads = k->gatherers > 1 ? cj_let(f, "pred", "reads", "setp.eq.or.u32 $1, $2, 0, $3;", k->warp, e->is_last)
                                : cj_eq(f, "reads", k->warp, 0);
    e->mail.before = cj_mov(f, "u32", "last_tag", 0);
}

static cj_reg send(const reduce_kernel *k, const cj_partial *partial) {
    cj_step(k->f, "grid: the %s sends its partial to its mailbox, word by word, each with this launch's tag",
            cj__reduce_group(k));
    cj_reg group = cj__group_number(k->f, "group", k->cluster);
    return cj__gather_send(&k->end.mail, k->leader, group, partial);
}

// Sends the group's partial; lane 0 of warp 0 of the last group gets that of all. All others go to k->done. `gather` stands
// where the last group's other warps come from. Of few groups warp 0 reads the mailboxes, several a lane at once; of many all threads of a block of the last group.
static void combine_grid(const reduce_kernel *k, const cj_partial *partial, cj_label gather) {
    cj_func   *f = k->f;
    const bool many = k->gatherers > 1;
    cj_reg     tag = send(k, partial);
    if (many) cj_label_here(f, gather);
    if (many && k->pushes && k->per_block)  // warps come from every rank of the cluster
        cj_ptx(f, "@$1 bra $2;", cj_ne(f, "other_rank", k->rank, 0), k->done);
    cj_step(f, "the last %s combines the partials of all, always in the same order", cj__reduce_group(k));
    cj_ptx(f, "@!$1 bra $2;", k->end.is_last, k->done);
    if (many) tag = cj__gather_tag(&k->end.mail);
    k->partials.clear(&k->partials, partial);
    cj_reg groups = cj_mov(f, "u32", "groups", cj__group_count(k->cluster));
    cj__gather_take(&k->end.mail, k->thread, 32 * k->gatherers, k->messages, groups, tag, partial);
    cj__warp_combine(&k->partials, partial, 32);
    if (many) {
        const cj_slots last_part = cj__slots_make(&k->partials, "last_part", k->warps);
        cj__slot_store(&k->partials, &last_part, k->warp, k->warp_leader, partial);
        cj_ptx(f, "bar.sync 0; // B4: last_part is written, and no thread reads the tag any more");
        only_warp_0(k, k->done);
        cj__slots_combine(&k->partials, &last_part, k->lane, partial);
    }
    cj__gather_close(&k->end.mail, k->leader, tag);
}

// ---- results

static void divide_by_n(const reduce_kernel *k, cj_reg value) {
    const char *type = k->partials.type[0];
    cj_reg      n = cj_let(k->f, "u64", "count", "ld.param.u64 $1, [$2];", k->n);
    cj_reg      divisor = cj_let(k->f, type, "divisor", "cvt.rn.$3.u64 $1, $2;", n, type);
    cj_ptx(k->f, "div.rn.$1 $2, $2, $3;", type, value, divisor);
}

static void store_total(const reduce_kernel *k, const cj_partial *partial) {
    cj_func      *f = k->f;
    const cj_reg *value = partial->value;
    const char   *type = k->partials.type[0];
    const bool    moments = k->op->kind == REDUCE_MOMENTS;
    cj_step(f, "one thread writes the result");
    cj_reg out = cj__load_pointer(f, k->out, "out");
    if (k->op->kind == REDUCE_BEST) {
        cj_reg none = cj_let(f, "pred", "none", "setp.eq.u64 $1, $2, -1;", value[1]);
        cj_ptx(f, "@$1 mov.u64 $2, 0; // no element preceded the first", none, value[1]);
        cj__store(f, k->leader, "st.global", "u64", &value[1], 1, out, 8);
    }
    if (k->op->mean) divide_by_n(k, value[moments ? 2 : 0]);
    cj__store(f, k->leader, "st.global", type, &value[moments], 1, out, 0);
    if (moments) cj__store(f, k->leader, "st.global", type, &value[2], 1, out, k->partials.bytes[0]);
}

// result=block, both: the block's element of out by one thread a block, or by the lanes of rank 0, whose block is the
// cluster's first. After the total, where there is one.
static void store_blocks(const reduce_kernel *k, const cj_slots *slots, const cj_partial *partial) {
    cj_func       *f = k->f;
    const char    *type = k->partials.type[0];
    const unsigned bytes = k->partials.bytes[0];
    cj_reg         writes = k->leader;
    cj_step(f, "a result for each block");
    cj_reg out = cj_mad_wide(f, "out", k->block, bytes, cj__load_pointer(f, k->out, "out"));
    if (k->pushes) {
        cj_reg slot = cj__slot_address(&k->partials, slots, 0, k->lane);
        writes = cj_lt(f, "writes", k->lane, k->cluster);
        cj__load(f, writes, "ld.shared", type, partial->value, 1, slot, 0);
        out = cj_mad_wide(f, "out", k->lane, bytes, out);
    }
    cj__store(f, writes, "st.global", type, partial->value, 1, out, k->total ? bytes : 0);
}

// ---- all of it

void cj__reduce_finish(const reduce_kernel *k, const cj_partial *partial) {
    const unsigned sent = k->cluster * sent_by_block(k) * cj__partial_bytes(&k->partials);
    cj_label       others = k->gatherers > 1 ? cj_label_new(k->f, "gather") : k->done;
    cj_slots       slots = {0};
    cj_step(k->f, "warp: lane 0 gets the warp's partial");
    cj__warp_combine(&k->partials, partial, 32);
    apply_weight(k, partial);
    if (k->pushes)
        cj__push_expect(k->f, &k->push, "B2: rank 0 has started, its memory may be written", k->receiver, CJ_ARG(sent),
                        "B3: all partials");
    if (!k->pushes || k->per_block) combine_block(k, partial, others);
    if (k->pushes) {
        slots = send_to_rank_0(k, partial);
        if (!k->per_block && k->warps > 1) only_warp_0(k, others);
        cj__push_wait(k->f, &k->push, "B3: every partial of the cluster is here");
    }
    if (k->per_block) store_blocks(k, &slots, partial);
    if (!k->total) return;
    if (k->pushes) cj__slots_combine(&k->partials, &slots, k->lane, partial);
    if (k->gathers) combine_grid(k, partial, others);
    store_total(k, partial);
}

// SPDX-License-Identifier: Apache-2.0
// The grid's end: groups send their partials to mailboxes in the workspace, and the last group combines them. reduce.c has
// the picture and the barriers.
#include "reduce.h"

void cj__reduce_only_warp_0(const reduce_kernel *k, cj_label others) {
    cj_ptx(k->f, "@$1 bra $2;", cj_ne(k->f, "other_warp", k->warp, 0), others);
}

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
    cj_reg group = cj_add(f, "group", cj_mov(f, "u32", "group", cj__group_index(k->cluster)), 1);
    e->is_last = cj_eq(f, "is_last", group, groups);
    e->reads = k->gatherers > 1 ? cj_let(f, "pred", "reads", "setp.eq.or.u32 $1, $2, 0, $3;", k->warp, e->is_last)
                                : cj_eq(f, "reads", k->warp, 0);
    e->mail.before = cj_mov(f, "u32", "last_tag", 0);
}

// The tag is read early, so that the loads hide its latency, and used late.
void cj__reduce_wait(const reduce_kernel *k) {
    cj__wait_for_launches(k->plan, k->f);
    if (k->gathers) cj__gather_read_tag(&k->end.mail, k->end.reads);
}

static cj_reg send(const reduce_kernel *k, const cj_partial *partial) {
    cj_step(k->f, "grid: the %s sends its partial to its mailbox, word by word, each with this launch's tag",
            cj__reduce_group(k));
    cj_reg group = cj_mov(k->f, "u32", "group", cj__group_index(k->cluster));
    return cj__gather_send(&k->end.mail, k->leader, group, partial);
}

// Of few groups warp 0 reads the mailboxes, several a lane at once; of many all threads of a block of the last group.
void cj__reduce_grid(const reduce_kernel *k, const cj_partial *partial, cj_label gather) {
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
        cj__reduce_only_warp_0(k, k->done);
        cj__slots_combine(&k->partials, &last_part, k->lane, partial);
    }
    cj__gather_close(&k->end.mail, k->leader, tag);
}

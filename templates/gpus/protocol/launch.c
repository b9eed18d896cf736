// SPDX-License-Identifier: Apache-2.0
// What every kernel of GPUs begins and ends with: the boxes, the epoch, hellos.
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
//   thread q of GPU r:  checksum, epoch  --st.relaxed.sys-->  hello[set][r] in the box of GPU q
//                       own hello[set][q]  --polls until the epoch is there-->  checksum of GPU q, which must be the same
//
#include "gpus.h"

uint32_t cj__gpus_hash(uint32_t sum, const void *bytes, size_t count) {
    for (const unsigned char *at = bytes; count--; at++) sum = (sum ^ *at) * 16777619u;
    return sum;
}

void cj__gpus_given(gpus_kernel *k, cj_reg *at, const char *name, const char *what) {
    k->array[k->arrays++] = (gpus_array){cj_param(k->f, "u64", name, what), name, at};
}

void cj__gpus_declare(gpus_kernel *k) {
    cj_func *f = k->f;
    for (uint32_t q = 0; q < k->s.gpus; q++) {
        char name[16], what[40];
        snprintf(name, sizeof name, "box_%u", q);
        snprintf(what, sizeof what, "the mailbox of GPU %u", q);
        k->box_param[q] = cj_param(f, "u64", name, what);
    }
    k->rank_param = cj_param(f, "u64", "rank", "the number of this GPU");
    k->limit_param = cj_param(f, "u64", "limit", "polls after which a thread gives up");
    cj_param(f, "u64", "workspace", "not used");
}

void cj__gpus_open_thread(gpus_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->block = cj_mov(f, "u32", "block", "%ctaid.x");
    k->rank = cj__load_param(f, "u32", k->rank_param, "rank");
    k->left = cj__load_param(f, "u32", k->limit_param, "left");
    for (const gpus_array *a = k->array; a < k->array + k->arrays; a++) *a->at = cj__load_pointer(f, a->param, a->name);
}

// Whether it matters that this is GPU 0: a GPU that is none of the others is GPU 0, so addresses are chosen without asking for it.
static bool asks_for_0(const gpus_shape *s) { return !s->direct && (s->op->from_all || (s->op->from_root && !s->root)); }

void cj__gpus_open_boxes(gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the boxes, and which of them is this GPU's");
    for (uint32_t q = 0; q < k->s.gpus; q++) {
        k->box[q] = cj__load_pointer(f, k->box_param[q], "box");
        if (q || asks_for_0(&k->s)) k->mine[q] = cj_eq(f, "mine", k->rank, q);
    }
    k->own = cj_mov(f, "u64", "own", k->box[0]);
    for (uint32_t q = 1; q < k->s.gpus; q++) cj_set_if(f, k->mine[q], k->own, k->box[q]);
    cj__wait_for_launches(k->plan, f);
    cj_step(f, "this launch's epoch, and the set of mail that it says");
    cj_reg last = cj_mad_wide(f, "last", k->block, 4, k->own);
    k->epoch = cj_let(f, "u32", "epoch", "ld.global.u32 $1, [$2 + $3];", last, CJ_BOX_EPOCH);
    cj_update(f, k->epoch, "add", 1);
    if (k->s.direct) return;
    k->set = cj_and(f, "set", k->epoch, 1);
    if (k->s.by_blocks) return;
    cj_reg is_speaker = cj_eq(f, "is_speaker", k->block, k->s.speaker);
    k->speaks = cj_let(f, "pred", "speaks", "setp.lt.and.u32 $1, $2, $3, $4;", k->thread, k->s.gpus, is_speaker);
}

bool cj__gpus_are_paired(const gpus_kernel *k) { return !(k->s.gpus & (k->s.gpus - 1)); }

cj_reg cj__gpus_peer(const gpus_kernel *k, uint32_t i) {
    cj_func *f = k->f;
    if (!i) return k->rank;
    if (cj__gpus_are_paired(k)) return cj_let(f, "u32", "peer_rank", "xor.b32 $1, $2, $3;", k->rank, i);
    cj_reg next = cj_add(f, "peer_rank", k->rank, i), over = cj_ge(f, "over", next, k->s.gpus);
    cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", over, next, k->s.gpus);
    return next;
}

void cj__gpus_by_peer(const gpus_kernel *k, const char *name, const cj_reg *of_all, cj_reg *of_peer) {
    for (uint32_t i = 0; i < k->s.gpus; i++) {
        of_peer[i] = cj_mov(k->f, "u64", name, of_all[i]);
        for (uint32_t r = 1; r < k->s.gpus; r++)
            cj_set_if(k->f, k->mine[r], of_peer[i], of_all[cj__gpus_are_paired(k) ? r ^ i : (r + i) % k->s.gpus]);
    }
}

void cj__gpus_open_mail(gpus_kernel *k) {
    cj_reg box[CJ_BOX_GPUS];
    cj_step(k->f, "this set of mail: the own one, and those of the peers, of which each rank has an order of its own");
    cj__gpus_by_peer(k, "box_of_peer", k->box, box);
    for (uint32_t i = 0; i < k->s.gpus; i++) {
        k->mail[i] = cj_mad_wide(k->f, "mail", k->set, cj__gpus_set_bytes(k->s.mail, k->s.by_blocks), box[i]);
        if (k->s.by_blocks) cj_update(k->f, k->mail[i], "add", 2 * k->s.mail);
    }
}

cj_reg cj__gpus_peer_box(const gpus_kernel *k) {
    cj_reg box = cj_mov(k->f, "u64", "peer_box", k->box[0]);
    for (uint32_t q = 1; q < k->s.gpus; q++) cj_set_if(k->f, cj_eq(k->f, "peer", k->thread, q), box, k->box[q]);
    return box;
}

static const cj_mailbox one_word = {.words = 1, .scope = "sys"};

void cj__gpus_say_hello(const gpus_kernel *k, cj_reg speaks) {
    cj_func *f = k->f;
    cj_step(f, "hello to GPU q, by thread q: the checksum of what this launch is");
    CJ_IF(f, speaks, "said") {
        cj_reg box = cj__gpus_peer_box(k), sum = cj_mov(f, "u32", "checksum", (uint64_t)k->checksum);
        cj_reg mine = cj_mad(f, "hello_of_rank", k->set, CJ_BOX_GPUS, k->rank);
        cj_reg at = cj_mad_wide(f, "hello", mine, CJ_MAIL_BYTES, box);
        if (!k->s.op->moves) cj_ptx(f, "fence.acq_rel.sys; // what was done before the barrier, before the hellos");
        cj__mail_send(f, &one_word, cj_always(), at, CJ_BOX_HELLO, &sum, 1, k->epoch);
    }
}

void cj__gpus_say_hello_at_row(const gpus_kernel *k, cj_reg row) {
    cj__gpus_say_hello(k, cj_let(k->f, "pred", "speaks_now", "setp.eq.and.u32 $1, $2, 0, $3;", row, k->speaks));
}

// The hello of GPU q, by thread q: they take one way to memory and back, not one each.
static void await_hellos(const gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "all peers have begun this launch, so they have ended the one before");
    CJ_IF(f, k->speaks, "greeted") {
        cj_reg at = cj_mad(f, "hello_of_thread", k->set, CJ_BOX_GPUS, k->thread), sum = cj_b32(f, "found");
        at = cj_mad_wide(f, "hello", at, CJ_MAIL_BYTES, k->own);
        cj_reg late = cj__gpus_receive_from(k, &one_word, at, CJ_BOX_HELLO, k->thread, &sum);
        cj_reg differs = cj_let(f, "pred", "differs", "setp.ne.and.u32 $1, $2, $3, !$4;", sum, k->checksum, late);
        CJ_IF(f, differs, "alike") cj__gpus_report_from(k, CJ_BOX_DIFFERS, k->thread);
        if (!k->s.op->moves) cj_ptx(f, "fence.acq_rel.sys; // the hellos, before what follows the barrier");
    }
}

// After B1 or B2 no thread of the launch waits for a peer. Only then may the next kernel's blocks take its blocks' places: they
// could otherwise keep out the blocks of a rank on the same GPU, for which this launch waits.
static void keep_epoch(const gpus_kernel *k) {
    cj_func *f = k->f;
    if (!k->has_barrier) cj_ptx(f, "bar.sync 0; // B1: all threads have read the epoch, and none waits for a peer");
    if (k->has_barrier && k->plan->programmatic) cj_ptx(f, "bar.sync 0; // B2: no thread waits for a peer");
    cj__launch_dependents(k->plan, f);
    cj_step(f, "the epoch is the last launch's now, for each block that a launch may have");
    cj_reg begin = cj_mad(f, "begin", k->thread, k->s.grid, k->block);
    CJ_FOR(f, i, "u32", "i", begin, CJ_BOX_BLOCKS, k->s.grid * k->s.block) {
        cj_reg at = cj_mad_wide(f, "at", i, 4, k->own);
        cj_ptx(f, "st.global.u32 [$1 + $2], $3;", at, CJ_BOX_EPOCH, k->epoch);
    }
}

void cj__gpus_close(const gpus_kernel *k) {
    if (!k->s.direct && !k->s.by_blocks) await_hellos(k);
    keep_epoch(k);
    cj_ptx(k->f, "ret;");
}

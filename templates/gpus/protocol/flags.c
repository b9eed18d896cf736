// SPDX-License-Identifier: Apache-2.0
// Flags: block b of each GPU says to block b of the others how far it is. They take the place of hellos in kernels whose words have no tags:
// collectives/direct.c, and move.c's two shots without tags. A flag is the checksum of what this launch is beside its epoch, one store of 64 bits, which
// releases what the block's threads did before the barrier that precedes it; the thread that sees it acquires that, and the barrier
// that follows passes it on to the block's other threads.
//
// A flag is written again only by the next launch with flags, after its block has seen this launch's flag of the other phase, which its
// reader sends when it has read this one. No deadlock: block b waits for blocks b alone, blocks begin in the order of their numbers, and
// the least that has not ended is on each GPU.
#include "gpus.h"

// Thread q of the block speaks with GPU q: whether it came with something else, or not at all.
static void exchange_with_peer(const gpus_kernel *k, gpus_phase phase, const cj_reg *wrong) {
    static const cj_mailbox word = {.words = 1, .orders = true, .scope = "sys"};
    cj_func                *f = k->f;
    const uint64_t          flags = CJ_BOX_MAIL + CJ_BOX_SETS * k->s.mail + (uint64_t)phase * CJ_BOX_FLAGS_PHASE;
    cj_reg                  box = cj__gpus_peer_box(k), found = cj_b32(f, "found");
    const bool              is_end = phase == GPUS_END;
    cj_reg of_block = cj_mul_wide(f, "of_block", k->block, CJ_MAIL_BYTES);
    cj_update(f, of_block, "add", flags);
    cj_reg sent = cj_mad_wide(f, "sent_flag", k->rank, CJ_BOX_FLAGS_SENDER, box);
    cj_update(f, sent, "add", of_block);
    cj_reg got = cj_mad_wide(f, "got_flag", k->thread, CJ_BOX_FLAGS_SENDER, k->own);
    cj_update(f, got, "add", of_block);
    cj__mail_send(f, &word, cj_always(), sent, 0, &k->what, 1, k->epoch);
    cj_reg late = cj__gpus_receive_from(k, &word, got, 0, k->thread, is_end ? NULL : &found);
    if (is_end) return;
    if (wrong) cj_ptx(f, "setp.ne.or.u32 $1, $2, $3, $4;", *wrong, found, k->what, late);
    cj_reg differs = cj_let(f, "pred", "differs", "setp.ne.and.u32 $1, $2, $3, !$4;", found, k->what, late);
    CJ_IF(f, differs, "alike") cj__gpus_report_from(k, CJ_BOX_DIFFERS, k->thread);
}

void cj__gpus_exchange_flags(const gpus_kernel *k, gpus_phase phase, cj_reg *wrong) {
    cj_func *f = k->f;
    if (wrong) *wrong = cj_let(f, "pred", "wrong", "setp.ne.u32 $1, $2, $2;", k->thread);
    cj_reg is_peer = cj_let(f, "pred", "is_peer", "setp.ne.u32 $1, $2, $3;", k->thread, k->rank);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", is_peer, k->thread, k->s.gpus);
    CJ_IF(f, is_peer, "no_peer") exchange_with_peer(k, phase, wrong);
}

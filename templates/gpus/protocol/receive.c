// SPDX-License-Identifier: Apache-2.0
// Messages: their slots; waiting for them, and giving up.
//
// A poll takes one way to the L2 cache and back (0.3 us and more, 4 x H200), so a thread that waits for several GPUs starts the loads of
// all their messages at once, and polls all of them again.
#include "gpus.h"

uint32_t cj__gpus_slot(uint32_t words) { return words > 1 ? GPUS_PAIR : CJ_MAIL_BYTES; }

cj_mailbox cj__gpus_message(uint32_t words, uint32_t units) {
    return (cj_mailbox){.words = words, .paired = words > 1, .apart = words > 1 ? units * GPUS_PAIR : 0, .scope = "sys"};
}

// Of several reports the one with the largest cause stays: others wait because a rank came with something else.
static void report(const gpus_kernel *k, cj_reg failed) { cj_ptx(k->f, "red.relaxed.sys.global.max.u32 [$1], $2;", k->own, failed); }

void cj__gpus_report_from(const gpus_kernel *k, cj_box_cause cause, cj_reg rank) {
    report(k, cj_or(k->f, "failed", rank, (uint64_t)cause << 8));
}

// Polls are counted, not time: so a run on the CPU device is the same each time.
static void count_poll(const gpus_kernel *k, cj_reg again, cj_reg late) {
    cj_ptx(k->f, "setp.ne.and.u32 $1, $2, 0, $3;", again, k->left, late);
    cj_ptx(k->f, "@$1 sub.u32 $2, $2, 1;", again, k->left);
}

cj_reg cj__gpus_receive_from(const gpus_kernel *k, const cj_mailbox *message, cj_reg at, unsigned offset, cj_reg rank,
                             const cj_reg *words) {
    cj_func *f = k->f;
    cj_reg   sealed[GPUS_WORDS], late = cj_pred(f, "late"), again = cj_pred(f, "again");
    cj__mail_new(f, message, sealed);
    CJ_DO(f, "not_there", again) {
        cj__mail_load(f, message, cj_always(), at, offset, sealed);
        for (unsigned w = 0; w < message->words; w++) {
            cj_reg word = cj__mail_open(f, sealed[w], k->epoch, late, !w);
            if (words) cj_set(f, words[w], word);
        }
        count_poll(k, again, late);
    }
    CJ_IF(f, late, "there") cj__gpus_report_from(k, CJ_BOX_ABSENT, rank);
    return late;
}

// late[q], where that message is not there though it should be; `missing`, where one is.
static void look(const gpus_kernel *k, const gpus_senders *from, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS], const cj_reg *late, cj_reg missing) {
    cj_func *f = k->f;
    cj_reg   sealed[CJ_BOX_GPUS][GPUS_WORDS];
    for (uint32_t q = 0; q < from->count; q++) {
        cj__mail_new(f, &k->message, sealed[q]);
        cj__mail_load(f, &k->message, cj_always(), from->at, from->offset + q * from->stride, sealed[q]);
    }
    for (uint32_t q = 0; q < from->count; q++) {
        for (unsigned w = 0; w < k->message.words; w++) got[q][w] = cj__mail_open(f, sealed[q][w], k->epoch, late[q], !w);
        cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $1;", late[q], k->rank, q);
        if (from->exists && !cj_is_always(from->exists[q])) cj_ptx(f, "and.pred $1, $1, $2;", late[q], from->exists[q]);
        cj_ptx(f, q ? "or.pred $1, $1, $2;" : "mov.pred $1, $2;", missing, late[q]);
    }
}

// The own slot is looked at, too, and what is there is not used: nobody writes it.
void cj__gpus_receive_all(const gpus_kernel *k, const gpus_senders *from, const cj_reg *own, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS]) {
    cj_func *f = k->f;
    cj_reg   late[CJ_BOX_GPUS], missing = cj_pred(f, "missing"), again = cj_pred(f, "again");
    for (uint32_t q = 0; q < from->count; q++) late[q] = cj_pred(f, "late");
    CJ_DO(f, "not_there", again) {
        look(k, from, got, late, missing);
        count_poll(k, again, missing);
    }
    CJ_IF(f, missing, "all_there")
        for (uint32_t q = 0; q < from->count; q++)
            CJ_IF(f, late[q], "there") report(k, cj_mov(f, "u32", "failed", (uint64_t)CJ_BOX_ABSENT << 8 | q));
    for (uint32_t q = 0; q < from->count; q++)
        for (unsigned w = 0; w < k->message.words; w++) cj_set_if(f, k->mine[q], got[q][w], own[w]);
}

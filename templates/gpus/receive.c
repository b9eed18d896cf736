// SPDX-License-Identifier: Apache-2.0
// Waiting for a message, and giving up.
#include "gpus.h"

// Of several reports the one with the largest cause stays: a rank that came with something else is why others wait.
void cj__gpus_report(const gpus_kernel *k, cj_box_cause cause, unsigned rank) {
    cj_func *f = k->f;
    cj_reg   failed = cj_mov(f, "u32", "failed", (uint64_t)cause << 8 | rank);
    cj_ptx(f, "red.relaxed.sys.global.max.u32 [$1], $2;", k->own, failed);
}

// Polls are counted, not time: so a run on the CPU device is the same each time.
static cj_reg poll(const gpus_kernel *k, const cj_mailbox *message, cj_reg at, unsigned offset, const cj_reg *words) {
    cj_func *f = k->f;
    cj_reg   sealed[GPUS_WORDS], late = cj_pred(f, "late"), again = cj_pred(f, "again");
    cj__mail_new(f, message, sealed);
    CJ_DO(f, "not_there", again) {
        cj__mail_load(f, message, cj_always(), at, offset, sealed);
        for (unsigned w = 0; w < message->words; w++)
            cj_set(f, words[w], cj__mail_open(f, sealed[w], k->epoch, late, !w));
        cj_ptx(f, "setp.ne.and.u32 $1, $2, 0, $3;", again, k->left, late);
        cj_ptx(f, "@$1 sub.u32 $2, $2, 1;", again, k->left);
    }
    return late;
}

cj_reg cj__gpus_receive(const gpus_kernel *k, const cj_mailbox *message, cj_reg at, unsigned offset, unsigned rank,
                        const cj_reg *words) {
    cj_reg late = poll(k, message, at, offset, words);
    CJ_IF(k->f, late, "there") cj__gpus_report(k, CJ_BOX_ABSENT, rank);
    return late;
}

cj_reg cj__gpus_receive_from(const gpus_kernel *k, const cj_mailbox *message, cj_reg at, unsigned offset, cj_reg rank,
                             const cj_reg *words) {
    cj_reg late = poll(k, message, at, offset, words);
    CJ_IF(k->f, late, "there") {
        cj_reg failed = cj_or(k->f, "failed", rank, CJ_BOX_ABSENT << 8);
        cj_ptx(k->f, "red.relaxed.sys.global.max.u32 [$1], $2;", k->own, failed);
    }
    return late;
}

// SPDX-License-Identifier: Apache-2.0
// Reports of the watch. The launch continues after each of them.
#ifndef CJ_CPU_WATCH_REPORT_H
#define CJ_CPU_WATCH_REPORT_H

#include "hazard.h"
#include "watch.h"

// Reports a conflict of two accesses; if `earlier` is NULL, a read of bytes that were never written.
void cj__cpu_conflict(cj_cpu_cluster *cluster, const cj_accessor *accessor, const cj_access *earlier,
                      cj_watch_place place);
// Notes a conflict that makes no difference, under the rule that says why.
void cj__cpu_note(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_accessor *accessor, const cj_access *earlier,
                  cj_watch_place place);
// Reports an access to another block's shared memory that may not exist at that time.
void cj__cpu_peer(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_access *access, cj_watch_place place);

typedef enum cj_undefined_use {
    CJ_UNDEFINED_GUARD,
    CJ_UNDEFINED_ADDRESS,
    CJ_UNDEFINED_STORED,
    CJ_UNDEFINED_OPERAND
} cj_undefined_use;

// Reports a use of bits that `load` loaded from there; `load` NULL: it is not known; place.bytes 0: from local memory.
void cj__cpu_undefined(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_undefined_use use, const cj_cpu_op *load,
                       cj_watch_place place);

#endif

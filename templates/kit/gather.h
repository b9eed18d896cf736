// SPDX-License-Identifier: Apache-2.0
// Partials of a grid: each sender (a block, a cluster, a part of a row) sends its partial to a mailbox of its own, and one gatherer
// combines them.
//
//   workspace:  | tag of the last launch, unused | mailbox of sender 0 | mailbox of sender 1 | …
//
// Contract. The workspace is zero before the first launch. Every sender, and every thread that gathers, reads the tag before it
// sends or polls; this launch's tag is one more. The gatherer writes it back when it has the messages of all. Senders begin before the
// gatherer and wait for nobody. docs/maintaining/kit.md, "Mailbox", has the proof.
#ifndef CJ_TEMPLATES_GATHER_H
#define CJ_TEMPLATES_GATHER_H

#include "combine.h"
#include "mailbox.h"

enum { CJ_GATHER_AT = 16 };  // where mailboxes begin in the workspace

typedef struct cj_gather {
    const cj_partials *kind;
    cj_mailbox         box;
    cj_reg             space;   // address of the workspace, or of the row's part of it
    cj_reg             before;  // u32: the tag that the launch before left
} cj_gather;

// Mailboxes of partials of that kind; and the bytes of a workspace of so many senders, whose partials have so many 32-bit words.
cj_mailbox cj__gather_box(const cj_partials *kind, bool paired);
uint64_t   cj__gather_bytes(uint64_t senders, unsigned words);

// before = the tag, in threads for which `when` holds.
void cj__gather_read_tag(const cj_gather *g, cj_reg when);

// This launch's tag, in threads that have read the one before.
cj_reg cj__gather_tag(const cj_gather *g);

// The thread `when` sends the partial of sender number `number`. Returns this launch's tag.
cj_reg cj__gather_send(const cj_gather *g, cj_reg when, cj_reg number, const cj_partial *partial);

// partial = it and those of senders number `thread`, thread + threads, … below `senders`, combined in this order; a thread
// polls `at_once` messages at once, of CJ_MAIL_AT_ONCE words in all at most.
void cj__gather_take(const cj_gather *g, cj_reg thread, unsigned threads, unsigned at_once, cj_reg senders, cj_reg tag,
                     const cj_partial *partial);

// By one thread, after a barrier that follows all reads of the tag before: the tag stays for the next launch.
void cj__gather_close(const cj_gather *g, cj_reg when, cj_reg tag);

#endif

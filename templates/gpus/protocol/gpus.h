// SPDX-License-Identifier: Apache-2.0
// Kernels of several GPUs: what they share. launch.c has the protocol.
#ifndef CJ_TEMPLATES_GPUS_H
#define CJ_TEMPLATES_GPUS_H

#include "box.h"
#include "kit.h"

#include "constants.def"

// A collective by what it moves.
typedef struct gpus_op {
    const char *name;
    bool        moves;     // anything but hellos
    bool        combines;  // what the GPUs send
    bool        by_rank;   // x has a part for each GPU
    bool        gathers;   // out has a part of each GPU
    bool        from_root;
    bool        from_all;  // messages of all GPUs come to each: its own is in its place among them
} gpus_op;

enum { GPUS_ARRAYS = 6 };  // of a kernel, at most
enum { GPUS_WORDS = 4, GPUS_PAIR = 16 };  // 32 bits each, of a message; bytes of two of them with their tags

// What a plan comes to.
typedef struct gpus_shape {
    const gpus_op *op;
    const char    *type;       // of an element: "f32", "f16", "bf16", "s32", "u32"; of what only moves also "u16", "u8"
    uint32_t       gpus, bytes, count, words;  // words of a message; an element's bytes
    uint32_t       stride;     // elements from a part of x or out to the next
    uint32_t       each;       // elements of a message
    uint32_t       units;      // messages from a GPU to a peer; of two shots for each shot
    uint32_t       all;        // units of x: of two shots those of all parts, of which the last may be shorter
    uint32_t       shots, root, block, grid;
    bool           direct;     // into registered arrays, without mail
    bool           multicast;  // so by multimem instructions: x, and out of all-reduce, are multicast addresses
    uint32_t       speaker;    // the block that says hello: 0, or the last one if it has nothing else to do
    bool           by_blocks;  // through mail without tags: a flag of each block says that its words have come
    uint64_t       mail, used; // bytes of a set, and those that this kernel uses
    cj_combine     combine;
} gpus_shape;

// Bytes of a set of mail: the set of words without tags is a half of one that has the room of a set with them (box.h).
static inline uint64_t cj__gpus_set_bytes(uint64_t mail, bool by_blocks) { return by_blocks ? mail / 2 : mail; }

// An array that the kernel is given: `at` becomes its address.
typedef struct gpus_array {
    cj_var      param;
    const char *name;
    cj_reg     *at;
} gpus_array;

typedef struct gpus_kernel {
    cj_func       *f;
    const cj_plan *plan;
    gpus_shape s;
    gpus_array array[GPUS_ARRAYS];                   // those that cj__gpus_given has declared
    uint32_t   arrays;
    cj_var     box_param[CJ_BOX_GPUS], rank_param, limit_param;
    cj_var     from_param[CJ_BOX_GPUS], to_param[CJ_BOX_GPUS], what_param;  // s.direct, as is what follows
    cj_reg     from[CJ_BOX_GPUS], to[CJ_BOX_GPUS];  // x and out of each GPU, or the own one alone
    cj_reg     thread, block, rank, x, out;
    cj_reg     box[CJ_BOX_GPUS], mine[CJ_BOX_GPUS];  // addresses; whether that GPU is this one
    cj_reg     own;                                  // the address of this GPU's box
    cj_reg     epoch, set;                           // of this launch; 0 or 1
    cj_reg     mail[CJ_BOX_GPUS];                    // of peer i: its box, and the bytes before the set; [0]: the own
    cj_reg     left;                                 // polls that this thread may still make
    cj_reg     speaks;                               // thread q of the block `speaker`, which speaks with GPU q
    cj_mailbox message;
    uint32_t   checksum;                             // of what all ranks must have in common
    cj_reg     what;                                 // in flags: the same; s.direct: with which arrays they are
    bool       has_barrier;                          // each block has a barrier after the load of the epoch: it needs no B1
} gpus_kernel;

// FNV-1a of so many bytes more: for checksums, of numbers as the host has them.
#define GPUS_HASH_OF_NOTHING 2166136261u
uint32_t cj__gpus_hash(uint32_t sum, const void *bytes, size_t count);

// What is asked for, or else `chosen`, stays in the plan's parameters.
static inline uint32_t cj__gpus_keep(cj_plan *plan, unsigned param, uint64_t chosen) {
    return (uint32_t)(plan->params.value[param] = cj__asked_or(plan, param, chosen));
}

// ---- launch.c. A kernel declares its arrays, then what is here; it opens the thread and its arrays, then the boxes, says
// hello before it waits for a message, works, and closes. Of the shape these use gpus, grid, block and op->moves.
void cj__gpus_given(gpus_kernel *k, cj_reg *at, const char *name, const char *what);
void cj__gpus_declare(gpus_kernel *k);
void cj__gpus_open_thread(gpus_kernel *k);
void cj__gpus_open_boxes(gpus_kernel *k);
cj_reg cj__gpus_peer_box(const gpus_kernel *k);  // of thread q: the box of GPU q
void cj__gpus_say_hello(const gpus_kernel *k, cj_reg speaks);  // by threads for which it holds: k->speaks, each once
void cj__gpus_say_hello_at_row(const gpus_kernel *k, cj_reg row);  // in a loop over rows, of which block 0 has row 0 in its first turn
void cj__gpus_close(const gpus_kernel *k);  // waits for hellos (unless flags say more), keeps the epoch, returns

// Peers are written to, and read from, in an order of each rank's own: if all GPUs began with GPU 0, its links would be full while the
// others' are idle. Peer i of rank r is GPU r ^ i if gpus is a power of two, so two GPUs speak with each other and no third one; else
// GPU r + i (mod gpus). Peer 0 is the own GPU.
bool   cj__gpus_are_paired(const gpus_kernel *k);      // a power of two
cj_reg cj__gpus_peer(const gpus_kernel *k, uint32_t i);  // its rank
void   cj__gpus_by_peer(const gpus_kernel *k, const char *name, const cj_reg *of_all, cj_reg *of_peer);  // of_peer[i] = of_all[peer i]
void   cj__gpus_open_mail(gpus_kernel *k);  // k->mail

// ---- receive.c

uint32_t   cj__gpus_slot(uint32_t words);                     // bytes from a unit's message to the next unit's
cj_mailbox cj__gpus_message(uint32_t words, uint32_t units);  // of units that lie side by side

// Loads what is at `at + offset` until it has the epoch's tag, into `words` (message->words of them), and reports the
// rank (a register) that did not come: the predicate that it returns then holds.
cj_reg cj__gpus_receive_from(const gpus_kernel *k, const cj_mailbox *message, cj_reg at, unsigned offset, cj_reg rank,
                             const cj_reg *words);
void   cj__gpus_report_from(const gpus_kernel *k, cj_box_cause cause, cj_reg rank);

// The messages of GPUs 0 to count - 1, at `at + offset + q * stride`. exists: NULL, or of each the predicate (or cj_always())
// that it sends one.
typedef struct gpus_senders {
    cj_reg        at;
    uint32_t      offset, stride, count;
    const cj_reg *exists;
} gpus_senders;

// got[q] = the message of GPU q, or of this GPU `own`. All are looked at together until all are there.
void cj__gpus_receive_all(const gpus_kernel *k, const gpus_senders *from, const cj_reg *own, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS]);

// ---- flags.c: block b of all GPUs tell each other how far they are, twice a launch
typedef enum gpus_phase { GPUS_BEGIN, GPUS_END } gpus_phase;

// wrong: whether a peer's flag is that of something else, or does not come; NULL: the caller does not ask. The caller has barriers before and after it.
void cj__gpus_exchange_flags(const gpus_kernel *k, gpus_phase phase, cj_reg *wrong);

#endif

// SPDX-License-Identifier: Apache-2.0
// Mailboxes in global memory: a block leaves a message there, and other blocks of the launch wait for it.
//
//   message:  | word 0 | epoch tag | word 1 | epoch tag | …     32 bits each: a word and its tag are one 64-bit store
//
// Contract. A message is a few 32-bit words; its sender and its readers agree on an epoch tag, which no earlier message in
// that mailbox had. A reader loads the words again until each has this tag. A word and its tag are one aligned 64-bit access,
// which is a single copy, so a reader that sees the tag has the word: nothing is published or acquired beside it,
// and all accesses are relaxed. Before a sender sends again, every reader has read the message before. The proof,
// and how the users come to their tags, is in docs/maintaining/kit.md, "Mailbox".
//
//     const cj_mailbox box = {.words = 2};
//     cj__mail_send(f, &box, leader, at, 0, &total, 1, tag);                    // a 64-bit value, by the thread `leader`
//
//     cj_reg           word[2];
//     const cj_message m = {.box = box, .at = at, .there = cj_always(), .word = word};
//     cj__mail_receive(f, &m, 1, tag, false);
//     cj_reg total = cj__mail_value(f, "u64", "total", word);
#ifndef CJ_TEMPLATES_MAILBOX_H
#define CJ_TEMPLATES_MAILBOX_H

#include <clusterjit/cluster.h>
#include <stdbool.h>

// Bytes of a word with its tag; words of a message, and of messages that a thread waits for at once, at most.
enum { CJ_MAIL_BYTES = 8, CJ_MAIL_WORDS = 8, CJ_MAIL_AT_ONCE = 16 };

// How messages lie in memory. A mailbox of `words` words takes CJ_MAIL_BYTES for each.
typedef struct cj_mailbox {
    unsigned    words;
    bool        paired;  // an even number of words, two by one 16-byte access: mailboxes are aligned to 16 bytes
    unsigned    apart;   // bytes from a pair of words to the next, where they are not side by side; 0: they are
    bool        orders;  // st.release and ld.acquire: what its sender saw before it, its reader sees after it
    const char *scope;   // whose threads wait: NULL or "gpu"; "sys": another GPU's
} cj_mailbox;

unsigned cj__mail_bytes(const cj_mailbox *box);

// ---- words

// The 32-bit words of a register of 4 or 8 bytes: how many; and the register of a type that has these bits.
unsigned cj__mail_words(cj_func *f, cj_reg value, cj_reg word[2]);
cj_reg   cj__mail_value(cj_func *f, const char *type, const char *name, const cj_reg *word);

// Of a b64 that has a word and its tag: the word, in a new register of 32 bits, and the tag.
cj_reg cj__mail_split(cj_func *f, cj_reg sealed, cj_reg *tag);

// The word, and `late`, where it is not of this epoch; `first`: of the words that are looked at together.
cj_reg cj__mail_open(cj_func *f, cj_reg sealed, cj_reg tag, cj_reg late, bool first);

// ---- messages. `at` is the mailbox's global address, to which `offset` bytes are added; `when` may be cj_always().

// Sends `count` values of 4 or 8 bytes, which have box->words words in all.
void cj__mail_send(cj_func *f, const cj_mailbox *box, cj_reg when, cj_reg at, unsigned offset, const cj_reg *value,
                   unsigned count, cj_reg tag);

// Loads words, each with its tag. A thread for which `when` does not hold keeps what it had.
void cj__mail_load(cj_func *f, const cj_mailbox *box, cj_reg when, cj_reg at, unsigned offset, const cj_reg *sealed);
void cj__mail_new(cj_func *f, const cj_mailbox *box, cj_reg *sealed);  // registers for them

// A message that a thread waits for.
typedef struct cj_message {
    cj_mailbox    box;
    cj_reg        at;
    unsigned      offset;
    cj_reg        there;   // a predicate: the thread has this message; else it gets the words `absent`
    const cj_reg *absent;  // NULL: any words
    cj_reg       *word;    // box.words registers, which cj__mail_receive makes
} cj_message;

// Waits for `count` messages, of CJ_MAIL_AT_ONCE words in all at most: loads all of them again until each has the tag. by_warp:
// until those of all 32 lanes have it; all lanes execute this.
void cj__mail_receive(cj_func *f, const cj_message *m, unsigned count, cj_reg tag, bool by_warp);

// ---- copies

// All readers of one message wait at the same time, and the L2 cache serves those of one address one after the other. So a
// message with many readers is written several times, by a lane each: so many copies for so many readers, a power of two, and
// bytes from one copy of all mailboxes to the next.
unsigned cj__mail_copies(unsigned readers);
size_t   cj__mail_copy_bytes(size_t bytes);

#endif

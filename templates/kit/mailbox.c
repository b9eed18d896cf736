// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { OPERATION = 32 };

// What was fitted to a GPU.
#include "constants.def"

unsigned cj__mail_bytes(const cj_mailbox *box) { return CJ_MAIL_BYTES * box->words; }

// ---- words

static bool is_wide(const char *type) { return strstr(type, "64") != NULL; }

unsigned cj__mail_words(cj_func *f, cj_reg value, cj_reg word[2]) {
    const char *type = cj_reg_type(f, value);
    const bool  wide = type && is_wide(type);
    word[0] = cj_b32(f, "word");
    word[1] = wide ? cj_b32(f, "word") : word[0];
    cj_ptx(f, wide ? "mov.b64 {$1, $3}, $2;" : "mov.b32 $1, $2;", word[0], value, word[1]);
    return wide ? 2 : 1;
}

cj_reg cj__mail_value(cj_func *f, const char *type, const char *name, const cj_reg *word) {
    if (is_wide(type)) return cj_let(f, type, name, "mov.b64 $1, {$2, $3};", word[0], word[1]);
    return cj_let(f, type, name, "mov.b32 $1, $2;", word[0]);
}

// A word with its tag, in a new b64.
static cj_reg seal(cj_func *f, cj_reg word, cj_reg tag) {
    return cj_let(f, "b64", "sealed", "mov.b64 $1, {$2, $3};", word, tag);
}

cj_reg cj__mail_split(cj_func *f, cj_reg sealed, cj_reg *tag) {
    cj_reg word = cj_b32(f, "word");
    *tag = cj_u32(f, "found");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", word, *tag, sealed);
    return word;
}

cj_reg cj__mail_open(cj_func *f, cj_reg sealed, cj_reg tag, cj_reg late, bool first) {
    cj_reg found, word = cj__mail_split(f, sealed, &found);
    cj_ptx(f, first ? "setp.ne.u32 $1, $2, $3;" : "setp.ne.or.u32 $1, $2, $3, $1;", late, found, tag);
    return word;
}

// ---- messages

// "st.relaxed.gpu.global" of the box's scope.
static const char *operation(const cj_mailbox *box, const char *access, char text[OPERATION]) {
    const char *order = !box->orders ? "relaxed" : *access == 's' ? "release" : "acquire";
    snprintf(text, OPERATION, "%s.%s.%s.global", access, order, box->scope ? box->scope : "gpu");
    return text;
}

static unsigned place_of(const cj_mailbox *box, unsigned word) {
    return box->apart ? word / 2 * box->apart : CJ_MAIL_BYTES * word;
}

// Sends words that are sealed.
static void store(cj_func *f, const cj_mailbox *box, cj_reg when, cj_reg at, unsigned offset, const cj_reg *sealed) {
    char           text[OPERATION];
    const unsigned at_once = box->paired ? 2 : 1;
    for (unsigned w = 0; w < box->words; w += at_once)
        cj__store(f, when, operation(box, "st", text), "b64", sealed + w, at_once, at, offset + place_of(box, w));
}

void cj__mail_load(cj_func *f, const cj_mailbox *box, cj_reg when, cj_reg at, unsigned offset, const cj_reg *sealed) {
    char           text[OPERATION];
    const unsigned at_once = box->paired ? 2 : 1;
    for (unsigned w = 0; w < box->words; w += at_once)
        cj__load(f, when, operation(box, "ld", text), "b64", sealed + w, at_once, at, offset + place_of(box, w));
}

void cj__mail_new(cj_func *f, const cj_mailbox *box, cj_reg *sealed) {
    for (unsigned w = 0; w < box->words; w++) sealed[w] = cj_b64(f, "sealed");
}

// A word goes as soon as it is sealed, or all go when all are where two go at once.
void cj__mail_send(cj_func *f, const cj_mailbox *box, cj_reg when, cj_reg at, unsigned offset, const cj_reg *value,
                   unsigned count, cj_reg tag) {
    const cj_mailbox one = {.words = 1, .orders = box->orders, .scope = box->scope};
    cj_reg           sealed[CJ_MAIL_WORDS], word[2];
    unsigned         words = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned in_value = cj__mail_words(f, value[i], word);
        for (unsigned w = 0; w < in_value; w++, words++) {
            sealed[words] = seal(f, word[w], tag);
            if (!box->paired) store(f, &one, when, at, offset + CJ_MAIL_BYTES * words, &sealed[words]);
        }
    }
    if (box->paired) store(f, box, when, at, offset, sealed);
}

// The words of a message that is not there have the tag from the start.
static void seal_absent(cj_func *f, const cj_message *m, cj_reg tag, cj_reg *sealed) {
    for (unsigned w = 0; w < m->box.words; w++)
        sealed[w] = cj_is_always(m->there) ? cj_b64(f, "sealed")
                                           : seal(f, m->absent ? m->absent[w] : tag, tag);
}

void cj__mail_receive(cj_func *f, const cj_message *m, unsigned count, cj_reg tag, bool by_warp) {
    cj_reg   sealed[CJ_MAIL_AT_ONCE], late = cj_pred(f, "late");
    unsigned words = 0;
    for (unsigned u = 0; u < count; words += m[u++].box.words) seal_absent(f, &m[u], tag, &sealed[words]);
    CJ_DO(f, "not_here", late) {
        words = 0;
        for (unsigned u = 0; u < count; words += m[u++].box.words)
            cj__mail_load(f, &m[u].box, m[u].there, m[u].at, m[u].offset, &sealed[words]);
        words = 0;
        for (unsigned u = 0; u < count; u++)
            for (unsigned w = 0; w < m[u].box.words; w++, words++)
                m[u].word[w] = cj__mail_open(f, sealed[words], tag, late, !words);
        if (by_warp) cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    }
}

// ---- copies

unsigned cj__mail_copies(unsigned readers) {
    unsigned copies = 1;
    while (copies < MAIL_COPIES && readers > MAIL_READERS * copies) copies *= 2;
    return copies;
}

size_t cj__mail_copy_bytes(size_t bytes) { return (bytes + MAIL_APART - 1) / MAIL_APART * MAIL_APART; }

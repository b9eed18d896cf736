// SPDX-License-Identifier: Apache-2.0
// What travels between GPUs: units of x become messages, messages become units of out. A unit is 16 bytes; or 4 bytes, whose
// elements are loaded one by one, where addresses or parts are not multiples of 16.
//
// A thread has the same unit in each part. It loads all that it sends before it stores anything, so out may be x; the loads are on their
// way together.
//
// All-gather, by GPU r:
//
//   x  --loads-->  unit  --st.relaxed.sys-->  mail[set][r][unit] of each peer
//   own mail[set][q][unit]  --polls-->  out: | x of GPU 0 | x of GPU 1 | … |, its own x from registers
//
// All-to-all, by GPU r:
//
//   x: | for GPU 0 | for GPU 1 | … |  --loads-->  the units of part q  --st.relaxed.sys-->  mail[set][r][unit] of GPU q
//   own mail[set][q][unit]  --polls-->  out: | from GPU 0 | from GPU 1 | … |, its own part from registers
//
// Reduce-scatter, by GPU r:
//
//   x: | part 0 | part 1 | … |  --loads-->  the units of part q  --st.relaxed.sys-->  mail[set][r][unit] of GPU q
//   own mail[set][q][unit] of all q  --polls-->  registers, in the order of ranks  --combine-->  out: | part r |
//
// Broadcast:
//
//   the root's x  --loads-->  unit  --st.relaxed.sys-->  mail[set][root][unit] of each peer  --polls-->  its out
//                             unit  --stores-->  the root's out
#include "collectives.h"

enum { PER_WORD = 4, COMBINED = 2 };  // elements in a word, at most; of those that are combined

// A piece of x or out: the unit of one GPU's part.
typedef struct piece {
    cj_reg   at;      // its address, less `offset`
    uint32_t offset;
    cj_reg   exists;  // cj_always(), or whether the unit is inside x
    cj_reg   more[PER_WORD - 1];  // of elements of a word that are loaded one by one: whether there is a second one, …; or cj_always()
} piece;

// Whose part: GPU 0, 1, …, or no part; or PEER + i: that of peer i, so PEER is the own one.
enum { WHOLE = -1, PEER = CJ_BOX_GPUS };

// A unit, and where its messages lie.
typedef struct place {
    cj_reg unit;
    cj_reg sent;  // bytes into a peer's mail, to the slot of this GPU's message
    cj_reg got;   // the address of GPU 0's message here
} place;

static bool is_half(const gpus_shape *s) { return s->bytes == 2; }

// Elements of a word of which each has a load of its own; 1: the word is loaded at once.
static uint32_t apart(const gpus_shape *s) { return s->words == 1 ? 4 / s->bytes : 1; }

// Elements from a GPU's part to the next one's.
static uint32_t stride(const gpus_shape *s) { return s->shots == 2 ? s->units * s->each : s->stride; }

// Of two shots the last parts may be shorter, or empty.
static bool is_empty(const gpus_shape *s, int part) {
    return s->shots == 2 && part > 0 && (uint64_t)(uint32_t)part * stride(s) >= s->count;
}

// base: cj_none() where only whether it exists is asked for.
static piece piece_of(const gpus_kernel *k, cj_reg base, cj_reg unit, int part) {
    cj_func          *f = k->f;
    const gpus_shape *s = &k->s;
    const uint32_t    before = part > 0 && part < PEER ? (uint32_t)part * stride(s) : 0;  // elements in the parts before it
    piece             p = {.offset = before * s->bytes, .exists = cj_always()};
    cj_reg            element = cj_mul(f, "element", unit, s->each), within = element;
    if (part >= PEER) element = cj_mad(f, "element", cj__gpus_peer(k, (uint32_t)(part - PEER)), stride(s), element);
    if (s->shots == 2) within = element;
    if (s->shots == 2) p.exists = cj_lt(f, "exists", within, s->count - before);
    for (uint32_t i = 1; i < apart(s); i++) {
        static const char *const names[] = {"second", "third", "fourth"};
        const uint32_t           end = s->count - (s->shots == 2 ? before : 0);
        p.more[i - 1] = s->count % apart(s) ? cj_lt(f, names[i - 1], within, end > i ? end - i : 0) : p.exists;
    }
    if (!cj_is_none(base)) p.at = cj_mad_wide(f, "at", element, s->bytes, base);
    return p;
}

// ---- words and elements

static cj_reg join(cj_func *f, cj_reg low, cj_reg high) {
    return cj_let(f, "b32", "word", "mov.b32 $1, {$2, $3};", low, high);
}

static const char *type_apart(const gpus_shape *s) { return is_half(s) ? "b16" : "b8"; }

// A unit, or 0.
static void load_words(const gpus_kernel *k, cj_reg when, cj_reg at, uint32_t offset, cj_reg *words) {
    cj_registers(k->f, "b32", "word", k->s.words, words);
    for (uint32_t w = 0; w < k->s.words && !cj_is_always(when); w++) cj_set(k->f, words[w], 0);
    cj__load(k->f, when, "ld.global", "b32", words, k->s.words, at, offset);
}

// 0 where the piece does not exist.
static void load_unit(const gpus_kernel *k, const piece *p, cj_reg *words) {
    cj_func *f = k->f;
    if (apart(&k->s) == 1) {
        load_words(k, p->exists, p->at, p->offset, words);
        return;
    }
    const uint32_t count = apart(&k->s);
    cj_reg         part[PER_WORD];
    for (uint32_t i = 0; i < count; i++) part[i] = cj_let(f, "b16", is_half(&k->s) ? "half" : "byte", "mov.b16 $1, $2;", 0);
    for (uint32_t i = 0; i < count; i++)
        cj__load(f, i ? p->more[i - 1] : p->exists, "ld.global", type_apart(&k->s), &part[i], 1, p->at, p->offset + i * k->s.bytes);
    for (uint32_t i = 0; count == PER_WORD && i < COMBINED; i++) {
        cj_reg upper = cj_let(f, "b16", "upper", "shl.b16 $1, $2, 8;", part[2 * i + 1]);
        part[i] = cj_let(f, "b16", "half", "or.b16 $1, $2, $3;", part[2 * i], upper);
    }
    words[0] = join(f, part[0], part[1]);
}

static void store_unit(const gpus_kernel *k, const piece *p, const cj_reg *words) {
    cj_func *f = k->f;
    if (apart(&k->s) == 1) {
        cj__store(f, cj_always(), "st.global", "b32", words, k->s.words, p->at, p->offset);
        return;
    }
    cj_reg half[COMBINED] = {cj_register(f, "b16", "half"), cj_register(f, "b16", "half")}, part[PER_WORD] = {half[0], half[1]};
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], words[0]);
    for (uint32_t i = 0; apart(&k->s) == PER_WORD && i < PER_WORD; i++)
        part[i] = i % 2 ? cj_let(f, "b16", "byte", "shr.b16 $1, $2, 8;", half[i / 2]) : half[i / 2];
    for (uint32_t i = 0; i < apart(&k->s); i++)
        cj__store(f, i ? p->more[i - 1] : cj_always(), "st.global", type_apart(&k->s), &part[i], 1, p->at, p->offset + i * k->s.bytes);
}

// The numbers in a word, in the type in which they are combined.
static unsigned widen(const gpus_kernel *k, cj_reg word, cj_reg *number) {
    cj_func *f = k->f;
    if (!is_half(&k->s)) {
        number[0] = cj_let(f, k->s.type, "number", "mov.b32 $1, $2;", word);
        return 1;
    }
    cj_reg bits = cj_let(f, "b32", "low", "and.b32 $1, $2, 65535;", word);
    cj_reg above = cj_let(f, "b32", "high", "shr.b32 $1, $2, 16;", word);
    number[0] = cj_f32(f, "number");
    number[1] = cj_f32(f, "number");
    cj__half_widen(f, k->s.type, number[0], bits);
    cj__half_widen(f, k->s.type, number[1], above);
    return COMBINED;
}

static cj_reg narrow(const gpus_kernel *k, const cj_reg *number) {
    cj_func *f = k->f;
    if (!is_half(&k->s)) return cj_let(f, "b32", "word", "mov.b32 $1, $2;", number[0]);
    cj_reg half[COMBINED];
    for (unsigned i = 0; i < COMBINED; i++) {
        half[i] = cj_register(f, "b16", "half");
        cj__half_round(f, k->s.type, half[i], number[i]);
    }
    return join(f, half[0], half[1]);
}

// ---- messages

// Thread q of block 0 has unit q in its first turn. It says hello after its loads; a block without units says it after the loop.
static void say_hello(const gpus_kernel *k, const place *here) {
    if (!k->s.speaker) cj__gpus_say_hello(k, cj_lt(k->f, "speaks_now", here->unit, k->s.gpus));
}

// Bytes before the messages of `sender` in a box, of shot 0 or 1.
static uint32_t slots_before(const gpus_shape *s, uint32_t sender, unsigned shot) {
    return (shot * s->gpus + sender) * s->units * s->words * CJ_MAIL_BYTES;
}

// To peer i.
static void send(const gpus_kernel *k, uint32_t i, cj_reg sent, unsigned shot, const cj_reg *words) {
    cj_reg at = cj_add(k->f, "slot", k->mail[i], sent);
    cj__mail_send(k->f, &k->message, cj_always(), at, CJ_BOX_MAIL + slots_before(&k->s, 0, shot), words, k->s.words,
                  k->epoch);
}

static gpus_senders senders(const gpus_kernel *k, const place *here, unsigned shot) {
    const uint32_t first = slots_before(&k->s, 0, shot), second = slots_before(&k->s, 1, shot);
    return (gpus_senders){.at = here->got, .offset = CJ_BOX_MAIL + first, .stride = second - first, .count = k->s.gpus};
}

static void send_to_all(const gpus_kernel *k, const place *here, unsigned shot, const cj_reg *words) {
    for (uint32_t i = 1; i < k->s.gpus; i++) send(k, i, here->sent, shot, words);
}

// Part q of x to GPU q, of which the own one stays.
static void send_parts(const gpus_kernel *k, const place *here, cj_reg *own) {
    cj_reg words[CJ_BOX_GPUS][GPUS_WORDS];
    piece  part[CJ_BOX_GPUS];
    for (uint32_t i = 0; i < k->s.gpus; i++) {
        part[i] = piece_of(k, k->x, here->unit, (int)(PEER + i));
        load_unit(k, &part[i], words[i]);
    }
    for (uint32_t w = 0; w < k->s.words; w++) own[w] = words[0][w];
    say_hello(k, here);
    for (uint32_t i = 1; i < k->s.gpus; i++) CJ_IF(k->f, part[i].exists, "beyond") send(k, i, here->sent, 0, words[i]);
}

// In pairs of neighbours, as a cluster's collectives are.
void cj__gpus_fold(const gpus_kernel *k, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS], cj_reg *words) {
    for (uint32_t w = 0; w < k->s.words; w++) {
        cj_reg   number[COMBINED][CJ_BOX_GPUS], of_one[COMBINED];
        unsigned each = 1;
        for (uint32_t q = 0; q < k->s.gpus; q++) {
            each = widen(k, got[q][w], of_one);
            for (unsigned i = 0; i < each; i++) number[i][q] = of_one[i];
        }
        for (unsigned i = 0; i < each; i++) {
            cj__fold_all(k->f, &k->s.combine, number[i], k->s.gpus);
            of_one[i] = number[i][0];
        }
        words[w] = narrow(k, of_one);
    }
}

static void combine_all(const gpus_kernel *k, const place *here, cj_reg *words) {
    cj_reg got[CJ_BOX_GPUS][GPUS_WORDS];
    const gpus_senders all = senders(k, here, 0);
    cj__gpus_receive_all(k, &all, words, got);
    cj__gpus_fold(k, got, words);
}

// ---- the collectives

// Each GPU's message, as it is, to its part of out.
static void gather(const gpus_kernel *k, const place *here, unsigned shot, const cj_reg *own) {
    piece        part[CJ_BOX_GPUS];
    cj_reg       got[CJ_BOX_GPUS][GPUS_WORDS], exists[CJ_BOX_GPUS];
    gpus_senders from = senders(k, here, shot);
    for (from.count = 0; from.count < k->s.gpus && !is_empty(&k->s, (int)from.count); from.count++) {
        part[from.count] = piece_of(k, k->out, here->unit, (int)from.count);
        exists[from.count] = part[from.count].exists;
    }
    from.exists = exists;
    cj__gpus_receive_all(k, &from, own, got);
    for (uint32_t q = 0; q < from.count; q++) CJ_IF(k->f, exists[q], "beyond") store_unit(k, &part[q], got[q]);
}

static void broadcast(const gpus_kernel *k, const place *here) {
    cj_func    *f = k->f;
    cj_reg      got[GPUS_WORDS];
    const piece to = piece_of(k, k->out, here->unit, WHOLE);
    cj_registers(f, "b32", "got", k->s.words, got);
    CJ_IF_ELSE(f, k->mine[k->s.root], "gets", "sent") {
        cj_reg      words[GPUS_WORDS];
        const piece from = piece_of(k, k->x, here->unit, WHOLE);
        load_unit(k, &from, words);
        say_hello(k, here);
        send_to_all(k, here, 0, words);
        for (uint32_t w = 0; w < k->s.words; w++) cj_set(f, got[w], words[w]);
    } else {
        say_hello(k, here);
        cj_reg root = cj_mov(f, "u32", "root", (uint64_t)k->s.root);
        cj__gpus_receive_from(k, &k->message, here->got, CJ_BOX_MAIL + slots_before(&k->s, k->s.root, 0), root, got);
    }
    store_unit(k, &to, got);
}

// The own part of x, to all: or to each its part, of which the own stays.
static void one_shot(const gpus_kernel *k, const place *here) {
    const gpus_op *op = k->s.op;
    cj_reg         words[GPUS_WORDS];
    if (op->by_rank) {
        send_parts(k, here, words);
    } else {
        const piece from = piece_of(k, k->x, here->unit, WHOLE);
        load_unit(k, &from, words);
        say_hello(k, here);
        send_to_all(k, here, 0, words);
    }
    if (!op->combines) {
        gather(k, here, 0, words);
        return;
    }
    combine_all(k, here, words);
    const piece to = piece_of(k, k->out, here->unit, WHOLE);
    store_unit(k, &to, words);
}

static void two_shots(const gpus_kernel *k, const place *here) {
    cj_func *f = k->f;
    cj_reg   words[GPUS_WORDS], result[GPUS_WORDS];
    cj_step(f, "the first shot: each GPU combines its part");
    send_parts(k, here, words);
    for (uint32_t w = 0; w < k->s.words; w++) result[w] = cj_let(f, "b32", "result", "mov.b32 $1, $2;", 0);
    const piece own = piece_of(k, cj_none(), here->unit, PEER);
    CJ_IF(f, own.exists, "no_part") {
        combine_all(k, here, words);
        send_to_all(k, here, 1, words);
        for (uint32_t w = 0; w < k->s.words; w++) cj_set(f, result[w], words[w]);
    }
    cj_step(f, "the second: all parts are gathered");
    gather(k, here, 1, result);
}

// ---- two shots without tags: a block's words of a shot, then its flag

static uint32_t word_bytes(const gpus_shape *s) { return 4 * s->words; }

static uint32_t words_before(const gpus_shape *s, uint32_t sender, unsigned shot) {
    return CJ_BOX_MAIL + (shot * s->gpus + sender) * s->units * word_bytes(s);
}

// Of GPU `sender`, from the address of a mail.
static cj_reg slot_of(const gpus_kernel *k, cj_reg mail, cj_reg sender, cj_reg unit) {
    cj_reg slot = cj_mad(k->f, "slot", sender, k->s.units, unit);
    return cj_mad_wide(k->f, "at_slot", slot, word_bytes(&k->s), mail);
}

static void push(const gpus_kernel *k, uint32_t i, cj_reg unit, unsigned shot, const cj_reg *words) {
    cj_reg to = slot_of(k, k->mail[i], k->rank, unit);
    cj__store(k->f, cj_always(), "st.global", "b32", words, k->s.words, to, words_before(&k->s, 0, shot));
}

static void push_parts(const gpus_kernel *k, cj_reg unit) {
    cj_reg words[CJ_BOX_GPUS][GPUS_WORDS];
    piece  part[CJ_BOX_GPUS];
    for (uint32_t i = 1; i < k->s.gpus; i++) {
        part[i] = piece_of(k, k->x, unit, (int)(PEER + i));
        load_unit(k, &part[i], words[i]);
    }
    for (uint32_t i = 1; i < k->s.gpus; i++) CJ_IF(k->f, part[i].exists, "beyond") push(k, i, unit, 0, words[i]);
}

static void push_result(const gpus_kernel *k, cj_reg unit) {
    cj_reg      words[GPUS_WORDS], got[CJ_BOX_GPUS][GPUS_WORDS];
    const piece from = piece_of(k, k->x, unit, PEER), to = piece_of(k, k->out, unit, PEER);
    CJ_IF(k->f, from.exists, "no_part") {
        load_unit(k, &from, words);
        cj_reg at = cj_mad_wide(k->f, "own_slots", unit, word_bytes(&k->s), k->mail[0]);
        for (uint32_t q = 0; q < k->s.gpus; q++) load_words(k, cj_always(), at, words_before(&k->s, q, 0), got[q]);
        for (uint32_t q = 0; q < k->s.gpus; q++)
            for (uint32_t w = 0; w < k->s.words; w++) cj_set_if(k->f, k->mine[q], got[q][w], words[w]);
        cj__gpus_fold(k, got, words);
        for (uint32_t i = 1; i < k->s.gpus; i++) push(k, i, unit, 1, words);
        store_unit(k, &to, words);
    }
}

static void take_results(const gpus_kernel *k, cj_reg unit) {
    cj_reg words[CJ_BOX_GPUS][GPUS_WORDS];
    piece  part[CJ_BOX_GPUS];
    for (uint32_t i = 1; i < k->s.gpus; i++) {
        part[i] = piece_of(k, k->out, unit, (int)(PEER + i));
        load_words(k, part[i].exists, slot_of(k, k->mail[0], cj__gpus_peer(k, i), unit), words_before(&k->s, 0, 1), words[i]);
    }
    for (uint32_t i = 1; i < k->s.gpus; i++) CJ_IF(k->f, part[i].exists, "beyond") store_unit(k, &part[i], words[i]);
}

static void move_by_blocks(gpus_kernel *k, cj_reg begin) {
    cj_func       *f = k->f;
    const uint32_t step = k->s.grid * k->s.block;
    k->what = cj_mov(f, "u32", "what", (uint64_t)k->checksum);
    CJ_FOR(f, unit, "u32", "unit", begin, k->s.units, step) push_parts(k, unit);
    cj_step(f, "block b of each peer has stored its words of the first shot, and this GPU combines its part");
    cj_ptx(f, "bar.sync 0; // S1: all threads have stored");
    cj_reg wrong;
    cj__gpus_exchange_flags(k, GPUS_BEGIN, &wrong);
    cj_ptx(f, "bar.red.or.pred $1, 0, $1; // S2: the flags have come, for all threads; nobody goes on if one is wrong", wrong);
    CJ_UNLESS_UNI(f, wrong, "nothing_combined")
        CJ_FOR(f, unit, "u32", "unit", begin, k->s.units, step) push_result(k, unit);
    cj_step(f, "so it has those of the second one");
    cj_ptx(f, "bar.sync 0; // S3: all threads have stored");
    cj__gpus_exchange_flags(k, GPUS_END, NULL);
    cj_ptx(f, "bar.sync 0; // S4: the flags have come, for all threads");
    CJ_FOR(f, unit, "u32", "unit", begin, k->s.units, step) take_results(k, unit);
    k->has_barrier = true;
}

void cj__gpus_move(gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "messages of %u bytes: %u to each peer", 4 * k->s.words, k->s.units);
    cj__gpus_open_mail(k);
    cj_reg begin = cj_mad(f, "begin", k->block, k->s.block, k->thread);
    if (k->s.by_blocks) {
        move_by_blocks(k, begin);
        return;
    }
    CJ_FOR(f, unit, "u32", "unit", begin, k->s.units, k->s.grid * k->s.block) {
        const uint32_t bytes = cj__gpus_slot(k->s.words), pairs = k->s.words > 1 ? k->s.words / 2 : 1;
        place          here = {.unit = unit};
        cj_reg         slot = cj_mad(f, "slot_of_unit", k->rank, pairs * k->s.units, unit);
        here.sent = cj_mul_wide(f, "sent", slot, bytes);
        here.got = cj_mad_wide(f, "got", unit, bytes, k->mail[0]);
        if (k->s.op->from_root)
            broadcast(k, &here);
        else if (k->s.shots == 2)
            two_shots(k, &here);
        else
            one_shot(k, &here);
    }
    cj_reg speaks = k->speaks;
    if (!k->s.speaker && k->s.units < k->s.gpus)
        speaks = cj_let(f, "pred", "has_no_unit", "setp.ge.and.u32 $1, $2, $3, $4;", k->thread, k->s.units, k->speaks);
    if (k->s.speaker || k->s.units < k->s.gpus) cj__gpus_say_hello(k, speaks);
}

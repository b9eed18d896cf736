// SPDX-License-Identifier: Apache-2.0
#include "undefined.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "lanes.h"
#include "report.h"

enum { ACCESS_BYTES = 32 };  // by one lane's load or store, at most

// How an op treats undefined bits.
typedef enum manner {
    USES,      // reports them
    NOTHING,   // has no effect here, and no result
    COMPUTES,  // a bit of a source makes all bits of the results undefined
    TOGETHER,  // the same, for all lanes
    MOVES,     // its twin moves them
    FOLLOWS,   // the same; the op names its twin's executor, or it USES
    SHUFFLES,  // the same, between lanes
    UNITES,    // combines them bit by bit
    ANDS,
    ORS,
    COMPARES,
    LOADS,
    STORES,
} manner;

// By executor (the first column of instructions.def). For an executor that is not listed, the row's effects decide.
// `twin` has a letter for each slot; the last letter holds for all further slots. d: data; c: not data; x: a result
// that is always defined.
typedef struct rule {
    const char *executor;
    manner      manner;
    const char *twin;
} rule;

static const rule rules[] = {
    {"hint", NOTHING, NULL},    {"idle", NOTHING, NULL},  {"mov", MOVES, "d"},           {"mov_pack", MOVES, "d"},
    {"mov_unpack", MOVES, "d"}, {"brev", MOVES, "d"},     {"movmatrix", MOVES, "d"},     {"selp", MOVES, "dddc"},
    {"slct", MOVES, "dddc"},    {"shl", MOVES, "ddc"},    {"shr", MOVES, "ddc"},         {"shf", MOVES, "dddc"},
    {"prmt", MOVES, "dddc"},    {"bfe", MOVES, "ddc"},    {"bfi", MOVES, "dddc"},        {"vote_ballot", MOVES, "ddc"},
    {"shfl", SHUFFLES, "dxdc"}, {"cvt", MOVES, "d"},  // of integers: see rule_of
    {"xor", UNITES, NULL},      {"not", UNITES, NULL},    {"lop3", UNITES, NULL},        {"xor_pred", UNITES, NULL},
    {"not_pred", UNITES, NULL}, {"and", ANDS, NULL},      {"and_pred", ANDS, NULL},      {"or", ORS, NULL},
    {"or_pred", ORS, NULL},     {"setp", COMPARES, NULL}, {"setp_half", COMPARES, NULL}, {"mma", FOLLOWS, "d"},
    {"mma_sparse", USES, NULL}, {"wmma_mma", USES, NULL}, {"stackrestore", USES, NULL},  {"alloca", USES, NULL},
    {"ld", LOADS, "d"},         {"ldmatrix", LOADS, "d"}, {"st", STORES, "d"},           {"stmatrix", STORES, "d"},
};

static const char *const executors[CJ_ROW_COUNT] = {
#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) #executor,
#include "instructions.def"
#undef CJ_ROW
};

typedef struct prepared {
    manner      manner;
    const char *letters;
    cj_cpu_op   twin;
} prepared;

struct cj_undefined {
    const cj_cpu_program *program;
    prepared             *op;    // of each op of the program
    uint32_t             *slot;  // of all twins
    cj_watch_place       *from;  // of each op: the place from which it last loaded undefined bytes
    // The current access: its undefined bits, the lanes that have read undefined bits; those of local memory are stored
    // in place. Between two accesses all bits are 0.
    _Alignas(16) unsigned char bits[CJ_LANES][ACCESS_BYTES];
    unsigned char *at[CJ_LANES];
    uint32_t       read, local;
    struct {
        cj_shadow    *shadow;
        cj_cpu_block *owner;
        uint64_t      offset;
    } written[CJ_LANES];
};

static cj_undefined *state_of(const cj_cpu_warp *w) { return w->block->cluster->undefined; }

static uint32_t index_of(const cj_cpu_warp *w, const cj_cpu_op *op) {
    return (uint32_t)(op - w->block->cluster->launch->program->op);
}

// ---- what ops do

static const rule *find_rule(const char *executor) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!strcmp(rules[i].executor, executor)) return &rules[i];
    }
    return NULL;
}

// A conversion that only moves bits: from an integer to another one, whose sign it replicates.
static bool is_widening(const cj_cpu_op *op) {
    const cj_mnemonic  *m = op->inst->mnemonic;
    const cj_word_info *to = &cj__words[m->type[0]], *from = &cj__words[m->type[1]];
    if (cj__mnemonic_has(m, CJ_W_SAT)) return false;
    return to->class != CJ_CLASS_FLOAT && from->class != CJ_CLASS_FLOAT && to->class != CJ_CLASS_PACKED &&
           from->class != CJ_CLASS_PACKED;
}

static rule rule_of(const cj_cpu_op *op) {
    if (!op->inst || !op->flow) return (rule){.manner = NOTHING};
    if (op->flow->is_copy) return (rule){.manner = MOVES, .twin = "d"};
    const cj_row *row = op->inst->row;
    const rule   *known = find_rule(executors[row - cj__rows]);
    if (known && known->manner == MOVES && cj__words[op->inst->mnemonic->type_last].bits == 1 &&
        !strcmp(known->executor, "mov")) {
        return (rule){.manner = UNITES};  // a predicate may be negated
    }
    if (known && known->manner == FOLLOWS && !op->twin) return (rule){.manner = USES};
    if (known && (strcmp(known->executor, "cvt") || is_widening(op))) return *known;
    if (known || !row->effects) return (rule){.manner = COMPUTES};
    return (rule){.manner = row->effects == CJ_CONVERGENT ? TOGETHER : USES};
}

static bool reach_bits(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]) {
    (void)op, (void)mask;
    memcpy(at, state_of(w)->at, CJ_LANES * sizeof *at);
    return true;
}

static char letter_of(const char *letters, uint32_t k) {
    const size_t length = strlen(letters);
    return letters[k < length ? k : length - 1];
}

static uint32_t twin_slot(const cj_cpu_program *program, uint32_t slot, char letter) {
    if (slot == CJ_SLOT_NONE || letter == 'c') return slot;
    return (letter == 'x' ? program->sink : slot) + program->file_bytes;
}

// Makes the op that moves undefined bits; its slots go to `slot`.
static void make_twin(const cj_cpu_program *program, const cj_cpu_op *op, prepared *made, uint32_t *slot) {
    made->twin = *op;
    made->twin.slot = slot;
    made->twin.flip = 0;
    made->twin.reach = reach_bits;
    if (op->twin) made->twin.run = op->twin;
    for (uint32_t k = 0; k < op->flow->slots; k++) {
        slot[k] = twin_slot(program, op->slot[k], letter_of(made->letters, k));
    }
}

static void prepare_all(cj_undefined *u) {
    uint32_t *slot = u->slot;
    for (size_t i = 0; i < u->program->op_count; i++) {
        const cj_cpu_op *op = &u->program->op[i];
        const rule       r = rule_of(op);
        u->op[i].manner = r.manner;
        u->op[i].letters = r.twin;
        if (!r.twin) continue;
        make_twin(u->program, op, &u->op[i], slot);
        slot += op->flow->slots;
    }
}

cj_undefined *cj__undefined_open(const cj_cpu_program *program) {
    cj_undefined *u = cj__calloc(1, sizeof *u);
    size_t        slots = 1;
    for (size_t i = 0; i < program->op_count; i++) slots += program->op[i].flow ? program->op[i].flow->slots : 0;
    if (!u) return NULL;
    u->program = program;
    u->op = cj__calloc(program->op_count + 1, sizeof *u->op);
    u->slot = cj__calloc(slots, sizeof *u->slot);
    u->from = cj__calloc(program->op_count + 1, sizeof *u->from);
    if (!u->op || !u->slot || !u->from) return cj__undefined_close(u), NULL;
    prepare_all(u);
    return u;
}

void cj__undefined_close(cj_undefined *u) {
    if (!u) return;
    cj__free(u->op);
    cj__free(u->slot);
    cj__free(u->from);
    cj__free(u);
}

// ---- registers

static unsigned char *bits_at(const cj_cpu_warp *w, uint32_t slot) {
    return w->file + slot + w->block->cluster->launch->program->file_bytes;
}

// The number of the load that a register's undefined bits come from, starting at 1; 0: not known.
static lane_u32 *origin_at(const cj_cpu_warp *w, uint32_t slot) {
    return (lane_u32 *)(void *)(bits_at(w, slot) + w->block->cluster->launch->program->file_bytes);
}

static bool is_zero(const unsigned char *at, size_t bytes) {
    return !bytes || (!*at && !memcmp(at, at + 1, bytes - 1));
}

// The lanes in which some of the register's bits are undefined.
static uint32_t lanes_of(const cj_cpu_warp *w, uint32_t slot, unsigned bits) {
    const unsigned char *at = bits_at(w, slot);
    const unsigned       bytes = bits / 8;
    uint32_t             lanes = 0;
    if (bits == 1) return *(const lane_u32 *)(const void *)at;
    if (is_zero(at, (size_t)bytes * CJ_LANES)) return 0;
    for (unsigned i = 0; i < CJ_LANES; i++) lanes |= (uint32_t)!is_zero(at + i * bytes, bytes) << i;
    return lanes;
}

// Makes all bits of the register undefined in these lanes of `mask`, and defined in the others.
static void set_lanes(const cj_cpu_warp *w, uint32_t slot, unsigned bits, uint32_t mask, uint32_t lanes) {
    unsigned char *at = bits_at(w, slot);
    if (bits == 1) {
        cj__cpu_predicate_set(at, mask, lanes);
        return;
    }
    if (mask == CJ_ALL_LANES && !lanes) {
        memset(at, 0, (size_t)(bits / 8) * CJ_LANES);
        return;
    }
    CJ_SOME_LANES(i, mask) memset(at + i * (bits / 8), lanes >> i & 1 ? 0xff : 0, bits / 8);
}

static void set_origins(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t origin) {
    for (uint32_t i = 0; i < op->flow->count; i++) {
        if (op->flow->operand[i].role == CJ_ROLE_RESULT) *origin_at(w, op->flow->operand[i].slot) = origin;
    }
}

void cj__undefined_pass(const cj_cpu_warp *w, uint32_t to, uint32_t from) { *origin_at(w, to) = *origin_at(w, from); }

// ---- uses

static void report(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes, cj_undefined_use use, uint32_t origin) {
    const cj_undefined *u = state_of(w);
    const cj_cpu_op    *load = origin ? &u->program->op[origin - 1] : NULL;
    cj__cpu_undefined(w, op, cj__cpu_first(lanes), use, load, origin ? u->from[origin - 1] : (cj_watch_place){0});
}

// Reports a register that is undefined in some of these lanes; from then on it counts as defined.
static void use(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, cj_undefined_use how, uint32_t slot,
                unsigned bits) {
    const uint32_t lanes = lanes_of(w, slot, bits) & mask;
    if (!lanes) return;
    report(w, op, lanes, how, *origin_at(w, slot));
    set_lanes(w, slot, bits, lanes, 0);
}

static void use_all(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, bool only_addresses) {
    use(w, op, w->active, CJ_UNDEFINED_GUARD, op->guard, 1);
    for (uint32_t i = 0; op->flow && mask && i < op->flow->count; i++) {
        const cj_cpu_operand *it = &op->flow->operand[i];
        if (it->role == CJ_ROLE_ADDRESS) use(w, op, mask, CJ_UNDEFINED_ADDRESS, it->slot, it->bits);
        if (it->role == CJ_ROLE_ADDRESS || only_addresses) continue;
        if (it->role == CJ_ROLE_SOURCE) use(w, op, mask, CJ_UNDEFINED_OPERAND, it->slot, it->bits);
    }
    for (uint32_t i = 0; op->flow && !only_addresses && i < op->flow->count; i++) {
        const cj_cpu_operand *it = &op->flow->operand[i];
        if (it->role == CJ_ROLE_RESULT) set_lanes(w, it->slot, it->bits, mask, 0);
    }
}

// ---- from registers to registers

// The lanes in which a source of an op is undefined; the lanes in which a source that controls the op is; the load that
// they come from.
typedef struct sources {
    uint32_t lanes, deciding;
    uint32_t origin;
} sources;

static bool is_deciding(const cj_cpu_op *op, const char *letters, uint32_t slot) {
    for (uint32_t k = 1; letters && k < op->flow->slots; k++) {
        if (op->slot[k] == slot && letter_of(letters, k) == 'c') return true;
    }
    return false;
}

static sources look(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const prepared *it) {
    sources found = {0};
    for (uint32_t i = 0; i < op->flow->count; i++) {
        const cj_cpu_operand *operand = &op->flow->operand[i];
        if (operand->role != CJ_ROLE_SOURCE) continue;
        const uint32_t lanes = lanes_of(w, operand->slot, operand->bits) & mask;
        if (!lanes) continue;
        if (!found.lanes || !found.origin) found.origin = *origin_at(w, operand->slot);
        found.lanes |= lanes;
        if (is_deciding(op, it->letters, operand->slot)) found.deciding |= lanes;
    }
    return found;
}

static void set_results(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint32_t lanes) {
    for (uint32_t i = 0; i < op->flow->count; i++) {
        const cj_cpu_operand *operand = &op->flow->operand[i];
        if (operand->role == CJ_ROLE_RESULT) set_lanes(w, operand->slot, operand->bits, mask, lanes);
    }
}

// The result of a logic operation on one or two registers, or predicates, from undefined bits x and y and operands a
// and b.
static uint32_t logic(manner how, uint32_t x, uint32_t y, uint32_t a, uint32_t b) {
    switch (how) {
    case ANDS: return (x | y) & (x | a) & (y | b);
    case ORS: return (x | y) & (x | ~a) & (y | ~b);
    default: return x | y;
    }
}

static void move_predicate_logic(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, manner how) {
    const unsigned second = op->flow->slots > 2 ? 2 : 1;
    const uint32_t x = lanes_of(w, op->slot[1], 1), y = lanes_of(w, op->slot[second], 1);
    const uint32_t a = cj__cpu_predicate(w, op, 1), b = cj__cpu_predicate(w, op, second);
    cj__cpu_predicate_set(bits_at(w, op->slot[0]), mask, logic(how, x, y, a, b));
}

// Works on pieces of 16 bits; every register has a multiple of 16.
static void move_logic(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, manner how) {
    const unsigned bits = op->flow->operand[0].bits, pieces = bits / 16, last = op->flow->slots - 1;
    if (bits == 1) {
        move_predicate_logic(w, op, mask, how);
        return;
    }
    lane_u16       *d = (lane_u16 *)(void *)bits_at(w, op->slot[0]);
    const unsigned  second = last < 2 ? 1 : 2, third = last < 3 || how != UNITES ? second : 3;
    const lane_u16 *x = (lane_u16 *)(void *)bits_at(w, op->slot[1]),
                   *y = (lane_u16 *)(void *)bits_at(w, op->slot[second]);
    const lane_u16 *z = (lane_u16 *)(void *)bits_at(w, op->slot[third]);
    const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1), *b = CJ_LANES_OF(const lane_u16, second);
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = i * pieces; k < (i + 1) * pieces; k++) {
            d[k] = (uint16_t)(logic(how, x[k], y[k], a[k], b[k]) | (third > second ? z[k] : 0));
        }
    }
}

// Slots: p, q, a, b, c. With .and or .or, either the comparison or c may decide the result alone; the comparison is
// executed once without c, to find its result.
static void move_comparison(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, sources found) {
    if (!op->mode) {
        set_results(w, op, mask, found.lanes);
        return;
    }
    const uint32_t file_bytes = w->block->cluster->launch->program->file_bytes,
                   with = lanes_of(w, op->slot[4], 1) & mask;
    const uint32_t scratch = w->block->cluster->launch->program->sink + file_bytes, c = cj__cpu_predicate(w, op, 4);
    const uint32_t slot[] = {scratch, scratch + 4, op->slot[2], op->slot[3], op->slot[4]};
    const manner   how = op->mode == CJ_W_AND ? ANDS : op->mode == CJ_W_OR ? ORS : UNITES;
    uint32_t       compared = 0;
    cj_cpu_op      alone = *op;
    alone.slot = slot;
    alone.mode = 0;
    alone.run(w, &alone, mask);
    for (uint32_t i = 0; i < op->flow->count; i++) {
        const cj_cpu_operand *operand = &op->flow->operand[i];
        if (operand->role == CJ_ROLE_SOURCE && operand->bits > 1) compared |= lanes_of(w, operand->slot, operand->bits);
    }
    for (unsigned k = 0; k < 2; k++) {
        const uint32_t value = *(const lane_u32 *)(const void *)(w->file + slot[k]);
        cj__cpu_predicate_set(bits_at(w, op->slot[k]), mask, logic(how, compared, with, value, c));
    }
}

static void move_between_lanes(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_op *twin) {
    twin->run(w, twin, mask);
    cj__cpu_predicate_set(bits_at(w, op->slot[1]), mask, 0);
}

// The twin calls this, too, but has no place of its own: the op itself follows.
void cj__undefined_absent(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes) {
    cj_undefined *u = state_of(w);
    if (op->reach == reach_bits) return;
    set_lanes(w, op->slot[0], 32, lanes, lanes);
    *origin_at(w, op->slot[0]) = index_of(w, op) + 1;
    u->from[index_of(w, op)] = (cj_watch_place){0};
    w->undefined = true;
}

static void move_between_registers(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const prepared *it) {
    const sources  found = look(w, op, mask, it);
    const uint32_t guard = lanes_of(w, op->guard, 1) & w->active, guarded_by = guard ? *origin_at(w, op->guard) : 0;
    const manner   how = found.lanes ? it->manner : COMPUTES;
    switch (how) {
    case MOVES:
    case FOLLOWS: it->twin.run(w, &it->twin, mask); break;
    case SHUFFLES: move_between_lanes(w, op, mask, &it->twin); break;
    case UNITES:
    case ANDS:
    case ORS: move_logic(w, op, mask, how); break;
    case COMPARES: move_comparison(w, op, mask, found); break;
    default: set_results(w, op, mask, it->manner == TOGETHER && found.lanes ? mask : found.lanes);
    }
    if (found.deciding) set_results(w, op, found.deciding, found.deciding);
    if (guard) set_results(w, op, guard, guard);
    if (found.lanes || guard) set_origins(w, op, found.lanes ? found.origin : guarded_by);
}

void cj__undefined_used(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    cj__cpu_undefined(w, op, lane, CJ_UNDEFINED_OPERAND, NULL, (cj_watch_place){0});
}

bool cj__undefined_step(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    const prepared *it = &state_of(w)->op[index_of(w, op)];
    switch (it->manner) {
    case NOTHING: break;
    case USES: use_all(w, op, mask, false); break;
    case LOADS:
    case STORES: use_all(w, op, mask, true); break;
    default: move_between_registers(w, op, mask, it);
    }
    return !w->block->cluster->status;
}

void cj__undefined_settle(cj_cpu_warp *w) {
    const uint32_t begin = w->block->cluster->launch->program->sink + CJ_LANES * 16;
    w->is_clean = false;
    w->undefined = !is_zero(bits_at(w, begin), w->block->cluster->launch->program->file_bytes - begin);
}

// ---- memory

static size_t local_bytes(const cj_cpu_launch *launch) { return (size_t)launch->local_bytes * launch->threads; }

unsigned char *cj__undefined_local_of(const cj_cpu_warp *w, unsigned lane) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    return w->block->local + local_bytes(launch) + ((size_t)w->index * CJ_LANES + lane) * launch->local_bytes;
}

void cj__undefined_start(cj_cpu_block *block) {
    const cj_cpu_launch *launch = block->cluster->launch;
    const size_t         bytes = launch->program->file_bytes;
    block->undefined = launch->local_bytes;
    memset(block->local + local_bytes(launch), 0xff, local_bytes(launch));
    for (uint32_t i = 0; i < launch->warps; i++) {
        cj_cpu_warp *w = &block->warp[i];
        if (!w->is_clean) memset(w->file + bytes, 0, (CJ_UNDEFINED_FILES - 1) * bytes);
        w->is_clean = true;
    }
}

bool cj__undefined_read(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, unsigned at, uint64_t bytes,
                        cj_watch_place place) {
    cj_undefined  *u = state_of(w);
    const uint32_t index = index_of(w, op);
    if (u->op[index].manner != LOADS || at + bytes > ACCESS_BYTES) return false;
    memset(u->bits[lane] + at, 0xff, bytes);
    u->read |= 1u << lane;
    u->from[index] = place;
    return true;
}

void cj__undefined_write(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, cj_cpu_block *owner, uint64_t offset) {
    cj_undefined *u = state_of(w);
    u->written[lane].shadow = shadow;
    u->written[lane].owner = owner;
    u->written[lane].offset = offset;
}

void cj__undefined_local(cj_cpu_warp *w, uint32_t mask, unsigned char *const at[CJ_LANES]) {
    cj_undefined *u = state_of(w);
    const size_t  bytes = local_bytes(w->block->cluster->launch);
    u->local |= mask;
    CJ_SOME_LANES(i, mask) u->at[i] = at[i] + bytes;
}

static void load(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    for (uint32_t i = 0; i < op->flow->count; i++) {
        const cj_cpu_operand *it = &op->flow->operand[i];
        if (it->role != CJ_ROLE_RESULT || !(lanes_of(w, it->slot, it->bits) & mask)) continue;
        *origin_at(w, it->slot) = index_of(w, op) + 1;
        w->undefined = true;
    }
}

// The origin of the first undefined source.
static uint32_t stored_origin(const cj_cpu_warp *w, const cj_cpu_op *op) {
    for (uint32_t i = 0; i < op->flow->count; i++) {
        const cj_cpu_operand *it = &op->flow->operand[i];
        if (it->role == CJ_ROLE_SOURCE && lanes_of(w, it->slot, it->bits)) return *origin_at(w, it->slot);
    }
    return 0;
}

// Marks the bytes of shared memory that now contain an undefined bit as unwritten.
static void undefine(cj_undefined *u, unsigned lane, unsigned bytes) {
    const unsigned char *bits = u->bits[lane];
    for (unsigned i = 0, run; i < bytes; i += run) {
        for (run = 1; i + run < bytes && !bits[i + run] == !bits[i];) run++;
        if (bits[i]) cj__shadow_undefine(u->written[lane].shadow, u->written[lane].offset + i, run);
    }
}

static void store(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    cj_undefined  *u = state_of(w);
    const unsigned bytes = (unsigned)op->bytes * op->count;
    uint32_t       to_host = 0;
    CJ_SOME_LANES(i, mask) {
        if (is_zero(u->at[i], bytes)) continue;
        if (u->local >> i & 1)
            w->block->undefined = true;
        else if (u->written[i].owner)
            undefine(u, i, bytes);
        else
            to_host |= 1u << i;
    }
    if (to_host) report(w, op, to_host, CJ_UNDEFINED_STORED, stored_origin(w, op));
}

void cj__undefined_moved(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    cj_undefined   *u = state_of(w);
    const prepared *it = &u->op[index_of(w, op)];
    const bool      is_load = it->manner == LOADS;
    if ((is_load || it->manner == STORES) && (u->read || w->undefined || (u->local && w->block->undefined))) {
        CJ_SOME_LANES(i, mask & ~u->local) u->at[i] = u->bits[i];
        it->twin.run(w, &it->twin, op->aligned ? w->live : mask);
        if (is_load)
            load(w, op, op->aligned ? w->live : mask);
        else
            store(w, op, mask);
        CJ_SOME_LANES(i, mask) memset(u->bits[i], 0, ACCESS_BYTES);
    }
    u->read = u->local = 0;
}

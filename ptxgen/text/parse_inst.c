// SPDX-License-Identifier: Apache-2.0
// Instructions: guard, mnemonic, operands, and the row of the table that they fit.
#include <string.h>

#include "error.h"
#include "parser.h"

// ---- operands

static bool parse_operand(cj_parser *p, cj_ir_operand *operand);

bool cj__parse_list(cj_parser *p, char close, cj_ir_operand **list, uint16_t *count) {
    enum { LIST_MAX = 256 };
    cj_ir_operand items[16], *item = items;
    size_t n = 0, capacity = sizeof items / sizeof *items;
    if (!cj__take(p, close)) {
        do {
            if (n == LIST_MAX)
                return cj__parse_error(p, p->at, "syntax", "more than %d operands in one list", LIST_MAX);
            if (n == capacity) {
                cj_ir_operand *more = cj__arena_alloc(p->arena, LIST_MAX * sizeof *more);
                if (!more) return cj__parse_memory(p);
                item = memcpy(more, item, n * sizeof *item);
                capacity = LIST_MAX;
            }
            if (!parse_operand(p, &item[n++])) return false;
        } while (cj__take(p, ','));
        if (!cj__expect(p, close, "or ',' in this list")) return false;
    }
    *list = cj__arena_copy(p->arena, item, n * sizeof *item);
    if (!*list) return cj__parse_memory(p);
    *count = (uint16_t)n;
    return true;
}

static bool parse_elements(cj_parser *p, char close, cj_ir_operand *operand) {
    cj_ir_operand *list;
    if (!cj__parse_list(p, close, &list, &operand->count)) return false;
    operand->list = list;
    return true;
}

// A sampler, then {coordinates} of a tensor or texture; a single one needs no braces.
static bool parse_coordinates(cj_parser *p, cj_ir_operand *operand) {
    cj_ir_operand *next = cj__arena_take(p->arena, sizeof *next);
    const char    *at = p->at;
    if (!next) return cj__parse_memory(p);
    if (!parse_operand(p, next)) return false;
    if (next->kind != CJ_OPERAND_VECTOR && cj__at(p, ',')) {
        operand->predicate = next;
        if (!cj__take(p, ',') || !(next = cj__arena_take(p->arena, sizeof *next))) return cj__parse_memory(p);
        if (!parse_operand(p, next)) return false;
    }
    const bool vector = next->kind == CJ_OPERAND_VECTOR, single = next->kind == CJ_OPERAND_REG;
    if (!vector && !single) return cj__expected(p, at, "the coordinates '{…}' of a tensor");
    operand->list = vector ? next->list : next;
    operand->count = vector ? next->count : 1;
    return true;
}

static bool parse_memory_operand(cj_parser *p, cj_ir_operand *operand) {
    operand->kind = CJ_OPERAND_MEMORY;
    const char *at = p->at;
    cj_ir_operand *base = cj__arena_take(p->arena, sizeof *base);
    if (!base) return cj__parse_memory(p);
    if (!parse_operand(p, base)) return false;
    bool address = base->kind == CJ_OPERAND_REG || base->kind == CJ_OPERAND_VAR || base->kind == CJ_OPERAND_INT ||
                   base->kind == CJ_OPERAND_NAME;
    if (!address || base->negated || base->predicate)
        return cj__expected(p, at, "a register, a variable or a number as address");
    operand->base = base;
    if (base->kind == CJ_OPERAND_VAR || base->kind == CJ_OPERAND_REG) {  // the offset belongs to the address
        operand->offset = base->offset;
        operand->offset_written = base->offset_written;
        base->offset = base->offset_written = 0;
    }
    if (!cj__offset(p, &operand->offset, &operand->offset_written)) return false;
    if (cj__take(p, ',') && !parse_coordinates(p, operand)) return false;
    if (!cj__expect(p, ']', "after an address")) return false;
    operand->unified = cj__take_word(p, ".unified");
    return true;
}

// Why a register may not have a component, or must have one; NULL where all is well.
static const char *component_refused(const cj_ir_operand *operand, bool written) {
    if (operand->kind == CJ_OPERAND_REG)
        return written && operand->reg->vector == 1 ? "this register has no parts" : NULL;
    bool parts = cj__specials[operand->special].components > 1;
    if (parts == written) return NULL;
    return parts ? "expected .x, .y or .z of this special register" : "this special register has no parts";
}

// .b0, .h1, .b7654: the parts of a register that a video instruction takes, kept as text.
static bool parse_selector(cj_parser *p, cj_ir_operand *operand) {
    const size_t length = cj__word_length(p);
    const char   kind = length > 1 ? p->at[1] : 0;
    bool         digits = length > 2 && length < 7;
    for (size_t i = 2; i < length; i++) digits = digits && p->at[i] >= '0' && p->at[i] <= '7';
    if (!digits || (kind != 'b' && kind != 'h')) return cj__expected(p, p->at, "parts of the register such as .b0 or .h1");
    operand->text = cj__text_of(p, p->at, p->at + length);
    p->at += length;
    return operand->text != NULL;
}

// .x .y .z .w, also called .r .g .b .a
static bool parse_component(cj_parser *p, cj_ir_operand *operand) {
    static const char names[] = "xyzwrgba";
    size_t length = cj__word_length(p);
    if (length && p->is_video && operand->kind == CJ_OPERAND_REG) return parse_selector(p, operand);
    const char *wrong = component_refused(operand, length > 0);
    if (wrong) return cj__parse_error(p, p->at, "syntax", "%s", wrong);
    if (!length) return true;
    const char *name = length == 2 ? memchr(names, p->at[1], sizeof names - 1) : NULL;
    if (!name)
        return cj__expected(p, p->at, ".x, .y, .z or .w");
    operand->component = (uint8_t)((name - names) % 4 + 1);
    p->at += length;
    return true;
}

static bool parse_named(cj_parser *p, cj_ir_operand *operand, size_t length) {
    const char *name = p->at;
    if (!cj__resolve(p, name, length, operand)) return false;
    if (operand->kind == CJ_OPERAND_NAME && cj__name_is(p, "WARP_SZ")) return cj__constant(p, operand);
    p->at += length;
    if ((operand->kind == CJ_OPERAND_REG || operand->kind == CJ_OPERAND_SPECIAL) && !parse_component(p, operand))
        return false;
    cj__skip(p);
    const bool sums = operand->kind == CJ_OPERAND_VAR || (operand->kind == CJ_OPERAND_REG && !operand->component && cj__at(p, '+'));
    return !sums || cj__offset(p, &operand->offset, &operand->offset_written);
}

// !p, which is no expression.
static bool parse_negation(cj_parser *p, cj_ir_operand *operand) {
    const char *at = p->at;
    while (++at < p->end && (*at == ' ' || *at == '\t')) continue;
    if (at == p->end || memchr("0123456789.(+-~!", *at, 16)) return false;
    return operand->negated = cj__take(p, '!');
}

// The |q of d|q.
static bool parse_second(cj_parser *p, cj_ir_operand *operand) {
    cj_ir_operand *second = cj__arena_take(p->arena, sizeof *second);
    if (!second) return cj__parse_memory(p);
    operand->predicate = second;
    const char *at = p->at;
    if (!parse_operand(p, second)) return false;
    cj_operand_kind kind = second->kind;
    bool takes = kind == CJ_OPERAND_REG || kind == CJ_OPERAND_SINK || kind == CJ_OPERAND_NAME;
    if (kind == CJ_OPERAND_SINK && operand->kind == CJ_OPERAND_SINK)
        return cj__expected(p, at, "a register after '_|': one of the two results is kept,");
    if (takes && !second->negated && !second->predicate) return true;
    return cj__expected(p, at, "a register or _ after '|'");
}

static bool parse_one_operand(cj_parser *p, cj_ir_operand *operand) {
    const char *start = p->at;
    *operand = (cj_ir_operand){.column = cj__column(p, start)};
    size_t length = cj__name_length(p);
    if (!length && p->at < p->end) {
        switch (*p->at) {
        case '{':
            operand->kind = CJ_OPERAND_VECTOR;
            return cj__take(p, '{') && parse_elements(p, '}', operand);
        case '[': return cj__take(p, '[') && parse_memory_operand(p, operand);
        case '(':
            if (!p->is_call) return cj__constant(p, operand);
            operand->kind = CJ_OPERAND_LIST;
            return cj__take(p, '(') && parse_elements(p, ')', operand);
        case '!':
            if (!parse_negation(p, operand)) return cj__constant(p, operand);
            length = cj__name_length(p);
            break;
        default: return cj__constant(p, operand);
        }
    }
    if (!length)
        return cj__expected(p, p->at, "an operand");
    if (!parse_named(p, operand, length)) return false;
    return !cj__take(p, '|') || parse_second(p, operand);
}

static bool parse_operand(cj_parser *p, cj_ir_operand *operand) {
    if (!cj__enter(p)) return false;
    bool ok = parse_one_operand(p, operand);
    p->depth--;
    return ok;
}

// ---- instructions

// Whether the elements of a vector can all be written, or all be read.
static bool elements_fit(const cj_ir_operand *vector, bool written) {
    for (unsigned i = 0; i < vector->count; i++) {
        const cj_ir_operand *element = &vector->list[i];
        bool reg = element->kind == CJ_OPERAND_REG && !element->negated && !element->predicate && !element->offset_written;
        bool constant = element->kind == CJ_OPERAND_INT || element->kind == CJ_OPERAND_FLOAT;
        if (!reg && !(written ? element->kind == CJ_OPERAND_SINK : constant)) return false;
    }
    return true;
}

// A vector register without a component: it stands for all of its elements.
static bool is_whole_vector(const cj_ir_operand *operand) {
    return operand->kind == CJ_OPERAND_REG && operand->reg->vector > 1 && !operand->component;
}

// Whether an operand is of the kind that a pattern's item asks for. Types are the checker's business.
static bool fits(const cj_pattern_item *item, const cj_ir_operand *operand) {
    cj_operand_kind kind = operand->kind;
    bool whole = is_whole_vector(operand), reg = kind == CJ_OPERAND_REG && !whole;
    bool plain = !operand->predicate && !operand->negated && !item->paired;
    if (operand->kind == CJ_OPERAND_REG && operand->offset_written) return plain && strchr("sSa", item->kind);
    if (reg && plain && (item->kind == 'd' || item->kind == 's')) return true;  // nearly every operand
    bool sink = kind == CJ_OPERAND_SINK, vector = kind == CJ_OPERAND_VECTOR;
    bool constant = kind == CJ_OPERAND_INT || kind == CJ_OPERAND_FLOAT;
    bool address = kind == CJ_OPERAND_FUNC || (kind == CJ_OPERAND_VAR && operand->offset_written);  // as a number
    bool source = reg || constant || address;
    if (operand->predicate && !item->predicate && !(kind == CJ_OPERAND_MEMORY && item->kind == 't')) return false;
    if (item->paired && (!operand->predicate || operand->predicate->kind != CJ_OPERAND_REG)) return false;
    if (operand->negated && (!reg || operand->reg->type != CJ_W_PRED || !strchr("ps", item->kind))) return false;
    switch (item->kind) {
    case 'd': return reg || sink;
    case 'D': return reg || whole || sink || (vector && elements_fit(operand, true));
    case 's': return source;
    case 'S': return source || whole || (vector && elements_fit(operand, false));
    case 'U': return (whole && !item->length) || (vector && elements_fit(operand, true));
    case 'P': return (whole && !item->length) || (vector && elements_fit(operand, false));
    case 'q': return reg;
    case 'p': return reg || kind == CJ_OPERAND_INT;
    case 'm': return kind == CJ_OPERAND_MEMORY && !operand->list && !operand->unified;
    case 'M': return kind == CJ_OPERAND_MEMORY && !operand->list;
    case 't': return kind == CJ_OPERAND_MEMORY && operand->list;
    case '_': return sink;
    case 'i': return constant;
    case 'a': return source || kind == CJ_OPERAND_VAR;
    case 'v': return kind == CJ_OPERAND_VAR || kind == CJ_OPERAND_FUNC;
    case 'x': return kind == CJ_OPERAND_SPECIAL;
    case 'l': return kind == CJ_OPERAND_NAME;
    case 'f': return kind == CJ_OPERAND_FUNC;
    case 'L': return kind == CJ_OPERAND_LIST;
    default: return false;
    }
}

// A predicate where the pattern has another kind of source, or the reverse (a constant may be either, and is rarely a
// predicate): a later row of the syntax may be meant.
static bool class_fits(const cj_pattern_item *item, const cj_ir_operand *operand) {
    bool asks = item->kind == 'p' || (item->kind == 's' && item->type == 'F');
    if (operand->kind == CJ_OPERAND_INT) return item->kind != 'p';
    if (operand->kind != CJ_OPERAND_REG || !asks) return true;
    return (operand->reg->type == CJ_W_PRED) == (item->kind == 'p' || item->fixed == CJ_W_PRED);
}

static bool row_fits(const cj_row_shape *shape, const cj_ir_inst *inst, bool strict) {
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const cj_pattern_item *item = shape->item[i];
        const cj_ir_operand   *operand = &inst->operand[i];
        if (!item || !fits(item, operand) || (strict && !class_fits(item, operand))) return false;
    }
    const cj_pattern_item *next = shape->item[inst->operand_count];
    return !next || next->optional;
}

// Whether the row, whose operands fit, can do without the results that are given to _: a result may be discarded when
// it is one of a pair d|p, or what an atomic returns.
static bool can_discard(const cj_row_shape *shape, const cj_ir_inst *inst) {
    for (unsigned i = 0; i < inst->operand_count; i++) {
        if (inst->operand[i].kind != CJ_OPERAND_SINK) continue;
        const cj_pattern_item *item = shape->item[i];
        if (item->kept || (item->kind != '_' && !item->predicate && !(shape->row->effects & CJ_WRITES))) return false;
    }
    return true;
}

// The name that nothing declares among these operands, or NULL.
static const cj_ir_operand *unknown_name(const cj_ir_operand *operand, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cj_ir_operand *o = &operand[i];
        if (o->kind == CJ_OPERAND_NAME) return o;
        const cj_ir_operand *inner = o->kind == CJ_OPERAND_MEMORY ? unknown_name(o->base, 1) : NULL;
        if (!inner && o->predicate) inner = unknown_name(o->predicate, 1);
        if (!inner && o->count) inner = unknown_name(o->list, o->count);
        if (inner) return inner;
    }
    return NULL;
}

// The first row whose operands fit in kind and class, else the first whose operands fit in kind: the checker then says
// what is wrong with them. *discards: rows would fit, if they could discard a result.
static const cj_row_shape *fitting_row(const cj_ir_inst *inst, bool *discards) {
    const cj_mnemonic *mnemonic = inst->mnemonic;
    *discards = false;
    for (int strict = 1; strict >= 0; strict--) {
        for (unsigned i = 0; i < mnemonic->candidate_count; i++) {
            const cj_row_shape *shape = &mnemonic->shape[i];
            if (!row_fits(shape, inst, strict)) continue;
            if (can_discard(shape, inst)) return shape;
            *discards = true;
        }
    }
    return NULL;
}

static bool no_row(cj_parser *p, const char *at, const cj_mnemonic *mnemonic, unsigned operands, bool discards) {
    if (discards)
        cj__parse_error(p, at, "operands", "'%s' does not discard its result: a register must stand where '_' does",
                        mnemonic->text);
    else
        cj__parse_error(p, at, "operands", "'%s' does not take these %u operands", mnemonic->text, operands);
    cj__hint(p->error, "a line that is right: %s", cj__rows[mnemonic->candidate[0]].sample);
    return false;
}

// Chooses the row, and notes the labels to resolve.
static bool choose_row(cj_parser *p, const char *at, cj_ir_inst *inst) {
    const cj_mnemonic *mnemonic = inst->mnemonic;
    bool discards;
    const cj_row_shape *shape = inst->shape = fitting_row(inst, &discards);
    inst->row = shape ? shape->row : NULL;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        cj_ir_operand *operand = &inst->operand[i];
        if (shape && operand->kind == CJ_OPERAND_REG && !operand->predicate) continue;
        bool is_label = shape && shape->item[i]->kind == 'l';
        const cj_ir_operand *unknown = is_label ? NULL : unknown_name(operand, 1);
        if (unknown) return cj__undefined(p, at, unknown);
        if (!is_label) continue;
        operand->kind = CJ_OPERAND_LABEL;
        if (!cj__add_jump(p, operand, p->line)) return false;
    }
    return shape || no_row(p, at, mnemonic, inst->operand_count, discards);
}

static const char *opcode_at(const void *user, size_t i) {
    (void)user;
    if (i >= CJ_ROW_COUNT) return NULL;
    const char *opcode = cj__row_opcode(&cj__rows[i]);
    return i && !strcmp(opcode, cj__row_opcode(&cj__rows[i - 1])) ? "" : opcode;  // rows of one follow each other
}

static bool unknown_mnemonic(cj_parser *p, const char *text, size_t length, unsigned wrong) {
    const char *at = text;
    for (unsigned dots = 0; dots < wrong && at < text + length; dots++) {
        const char *dot = memchr(at + 1, '.', (size_t)(text + length - at - 1));
        at = dot ? dot : text + length;
    }
    size_t opcode = (size_t)((const char *)memchr(text, '.', length) - text);
    if (!memchr(text, '.', length)) opcode = length;
    if (wrong && at == text + length)
        return cj__parse_error(p, text, "mnemonic", "'%.*s' is not complete", (int)length, text);
    if (wrong)
        return cj__parse_error(p, at, "mnemonic", "no form of '%.*s' takes %s here", (int)opcode, text,
                               cj__found(p, at).text);
    cj__parse_error(p, text, "mnemonic", "there is no instruction '%.*s'", (int)opcode, text);
    char word[32];
    if (opcode < sizeof word) {
        memcpy(word, text, opcode);
        word[opcode] = '\0';
        const char *nearest = cj__nearest(word, opcode_at, NULL);
        if (nearest) cj__hint(p->error, "is '%s' meant?", nearest);
    }
    return false;
}

// Keeps it in the module, with the shape of every row that it may be.
static const cj_mnemonic *keep_mnemonic(cj_parser *p, const cj_mnemonic *resolved) {
    cj_arena    *arena = &p->module->arena;
    cj_mnemonic *mnemonic = cj__arena_copy(arena, resolved, sizeof *resolved);
    char        *text = cj__arena_text(arena, resolved->text, resolved->length);
    cj_row_shape    *shape = cj__arena_alloc(arena, resolved->candidate_count * sizeof *shape);
    if (!mnemonic || !text || !shape || !cj__map_put(&p->module->mnemonics, text, resolved->length, mnemonic)) {
        cj__parse_memory(p);
        return NULL;
    }
    for (unsigned i = 0; i < resolved->candidate_count; i++) {
        cj__shape_make(&shape[i], &cj__rows[resolved->candidate[i]], resolved);
        if (shape[i].operands_most > mnemonic->operands_most) mnemonic->operands_most = shape[i].operands_most;
    }
    mnemonic->text = text;
    mnemonic->shape = shape;
    return mnemonic;
}

// Where the mnemonic is remembered.
static size_t place_of(const char *text, size_t length) {
    const unsigned first = (unsigned char)*text, middle = (unsigned char)text[length / 2],
                   last = (unsigned char)text[length - 1];
    return (length * 7 + first * 5 + middle * 3 + last) % CJ_RECENT_MNEMONICS;
}

static const cj_mnemonic *parse_mnemonic(cj_parser *p) {
    const char *text = p->at;
    const size_t length = cj__mnemonic_length(p);
    p->at += length;
    const cj_mnemonic *none = NULL, **recent = p->mnemonic ? &p->mnemonic[place_of(text, length)] : &none;
    if (*recent && (*recent)->length == length && !memcmp((*recent)->text, text, length)) return *recent;
    const cj_mnemonic *known = cj__map_get(&p->module->mnemonics, text, length);
    if (known) return *recent = known;
    cj_mnemonic resolved;
    unsigned wrong = 0;
    if (length > 200 || !cj__mnemonic_resolve(text, length, &resolved, &wrong)) {
        unknown_mnemonic(p, text, length, wrong);
        return NULL;
    }
    return keep_mnemonic(p, &resolved);
}

static bool parse_guard(cj_parser *p, cj_ir_inst *inst) {
    if (!cj__take(p, '@')) return true;
    inst->guard_negated = cj__take(p, '!');
    const char *at = p->at;
    cj_ir_operand operand;
    if (!cj__name_length(p) || !parse_operand(p, &operand))
        return cj__parse_error(p, at, "guard", "expected a predicate register after '@', found %s",
                               cj__found(p, at).text);
    if (operand.kind == CJ_OPERAND_NAME) return cj__undefined(p, at, &operand);
    if (operand.predicate) return cj__expected(p, at, "one predicate register after '@'");
    if (operand.kind != CJ_OPERAND_REG || operand.reg->type != CJ_W_PRED)
        return cj__parse_error(p, at, "guard", "a guard must be a .pred register, which %s is not",
                               cj__found(p, at).text);
    inst->guard = operand.reg;
    return true;
}

// Moves the instruction's operands to where as many as any instruction takes have room.
static bool make_room(cj_parser *p, cj_ir_inst *inst, unsigned room) {
    if (room == CJ_OPERANDS_MAX)
        return cj__parse_error(p, p->at, "operands", "no instruction takes more than %d operands", CJ_OPERANDS_MAX);
    cj_ir_operand *more = cj__arena_take(p->arena, CJ_OPERANDS_MAX * sizeof *more);
    if (!more) return cj__parse_memory(p);
    inst->operand = memcpy(more, inst->operand, inst->operand_count * sizeof *more);
    return true;
}

// The operands, where there is room for those that the mnemonic takes at most.
static bool parse_operands(cj_parser *p, cj_ir_inst *inst, unsigned room) {
    if (cj__at(p, ';')) return true;
    do {
        if (inst->operand_count == room) {
            if (!make_room(p, inst, room)) return false;
            room = CJ_OPERANDS_MAX;
        }
        if (!parse_operand(p, &inst->operand[inst->operand_count++])) return false;
    } while (cj__take(p, ','));
    return true;
}

// The instruction, with room for the operands that its mnemonic takes after it.
static cj_ir_inst *keep_inst(cj_parser *p, const cj_ir_inst *head, unsigned room) {
    cj_ir_inst *inst = cj__arena_take(p->arena, sizeof *inst + room * sizeof *inst->operand);
    if (!inst) return NULL;
    *inst = *head;
    inst->operand = (cj_ir_operand *)(inst + 1);
    return inst;
}

bool cj__parse_instruction(cj_parser *p) {
    cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_INST, p->at);
    cj_ir_inst head = {0};
    if (!stmt || !parse_guard(p, &head)) return false;
    if (p->at == p->end || !(cj__char_class[(unsigned char)*p->at] & CJ_NAME_START))
        return cj__expected(p, p->at, "an instruction");
    const char *at = p->at;
    head.mnemonic = parse_mnemonic(p);
    if (!head.mnemonic) return false;
    cj__skip(p);
    const char *text = head.mnemonic->text;
    p->is_call = *text == 'c' && !strncmp(text, "call", 4);
    p->is_video = *text == 'v' && strncmp(text, "vote", 4);
    const unsigned room = head.mnemonic->operands_most;
    cj_ir_inst    *inst = stmt->inst = keep_inst(p, &head, room);
    if (!inst) return cj__parse_memory(p);
    return parse_operands(p, inst, room) && choose_row(p, at, inst) && cj__end_statement(p, text);
}

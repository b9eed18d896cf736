// SPDX-License-Identifier: Apache-2.0
// A function's body: declarations, labels, instructions and their operands.
#include <string.h>

#include "error.h"
#include "parser.h"

// ---- statements and the comments between them

cj_ir_stmt *cj__add_stmt(cj_parser *p, cj_stmt_kind kind, const char *at) {
    cj_ir_func *func = p->func;
    cj_ir_stmt *grown = cj__arena_grow(&p->module->arena, func->stmt, func->stmt_count, &func->stmt_capacity,
                                       sizeof *grown);
    if (!grown) {
        cj__parse_memory(p);
        return NULL;
    }
    func->stmt = grown;
    cj_ir_stmt *stmt = &grown[func->stmt_count++];
    *stmt = (cj_ir_stmt){.kind = (uint8_t)kind, .line = p->line, .column = cj__column(p, at)};
    return stmt;
}

cj_ir_item *cj__add_item(cj_parser *p, cj_item_kind kind) {
    cj_ir_module *module = p->module;
    cj_ir_item *grown = cj__arena_grow(&module->arena, module->item, module->item_count, &module->item_capacity,
                                       sizeof *grown);
    if (!grown) {
        cj__parse_memory(p);
        return NULL;
    }
    module->item = grown;
    grown[module->item_count] = (cj_ir_item){.kind = kind};
    return &grown[module->item_count++];
}

// A comment or an empty line where statements (or, outside functions, items) stand.
static void add_between(cj_parser *p, bool blank, const char *text, uint32_t line) {
    if (p->func) {
        cj_ir_stmt *stmt = cj__add_stmt(p, blank ? CJ_STMT_BLANK : CJ_STMT_COMMENT, p->at);
        if (!stmt) return;
        stmt->line = line;
        stmt->text = text;
    } else {
        cj_ir_item *item = cj__add_item(p, blank ? CJ_ITEM_BLANK : CJ_ITEM_COMMENT);
        if (item) item->text = text;
    }
}

// Where a comment on the last statement's line belongs; NULL when that place is taken.
static const char **behind_last(cj_parser *p) {
    if (p->func) {
        if (!p->func->stmt_count) return p->func->comment ? NULL : &p->func->comment;
        cj_ir_stmt *last = &p->func->stmt[p->func->stmt_count - 1];
        bool takes = last->kind != CJ_STMT_COMMENT && last->kind != CJ_STMT_BLANK && !last->comment;
        return takes ? &last->comment : NULL;
    }
    if (!p->module->item_count) return NULL;
    cj_ir_item *last = &p->module->item[p->module->item_count - 1];
    bool takes = (last->kind == CJ_ITEM_VAR || last->kind == CJ_ITEM_DIRECTIVE) && !last->comment;
    return takes ? &last->comment : NULL;
}

// One line of a comment: without the blank behind its //, and without trailing blanks.
static const char *comment_text(cj_parser *p, const char *from, const char *to) {
    if (from < to && *from == ' ') from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) to--;
    const char *text = cj__arena_text(&p->module->arena, from, (size_t)(to - from));
    if (!text) cj__parse_memory(p);
    return text;
}

void cj__attach_comments(cj_parser *p) {
    for (size_t i = 0; i < p->comment_count && !p->status; i++) {
        const cj_comment *comment = &p->comment[i];
        const char *line = comment->text, *end = comment->text + comment->length;
        bool first = true;
        while (line <= end) {  // a /* */ over several lines becomes several comments
            const char *stop = memchr(line, '\n', (size_t)(end - line));
            if (!stop) stop = end;
            const char *text = comment_text(p, line, stop);
            if (!text) return;
            const char **behind = first && comment->line == p->last_line ? behind_last(p) : NULL;
            if (behind) {
                *behind = text;
            } else {
                if (first && comment->line > p->last_line + 1) add_between(p, true, NULL, comment->line);
                add_between(p, false, text, comment->line);
            }
            first = false;
            line = stop + 1;
        }
        if (comment->last_line > p->last_line) p->last_line = comment->last_line;
    }
    p->comment_count = 0;
    if (p->last_line && p->at < p->end && p->line > p->last_line + 1) {
        add_between(p, true, NULL, p->line - 1);
        p->last_line = p->line - 1;
    }
}

// ---- names

bool cj__reserved_name(const char *name, size_t length) {
    return length > 1 && *name == '%' && cj__special_find(name + 1, length - 1);
}

bool cj__declare(cj_parser *p, const char *name, const cj_ir_reg *reg, const cj_ir_var *var, const char *at) {
    size_t length = strlen(name);
    if (reg && cj__reserved_name(name, length))
        return cj__parse_error(p, at, "name-reserved",
                               "a register cannot be named %s: ptxas reads that as the special register", name);
    if (cj__map_get(&p->scope->names, name, length))
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this scope", name);
    cj_name *entry = cj__arena_alloc(&p->module->arena, sizeof *entry);
    if (!entry) return cj__parse_memory(p);
    *entry = (cj_name){.reg = reg, .var = var};
    return cj__map_put(&p->scope->names, name, length, entry) || cj__parse_memory(p);
}

cj_ir_reg *cj__new_reg(cj_parser *p, const char *name, uint16_t type, uint8_t vector) {
    cj_ir_func *func = p->func;
    cj_arena *arena = &p->module->arena;
    cj_ir_reg **grown = cj__arena_grow(arena, func->reg, func->reg_count, &func->reg_capacity, sizeof *grown);
    cj_ir_reg *reg = cj__arena_alloc(arena, sizeof *reg);
    if (!grown || !reg) {
        cj__parse_memory(p);
        return NULL;
    }
    *reg = (cj_ir_reg){.name = name, .type = type, .vector = vector, .index = (uint32_t)func->reg_count, .line = p->line};
    func->reg = grown;
    grown[func->reg_count++] = reg;
    return reg;
}

// %r12 of a range %r<54>, made a register at its first use.
static const cj_name *name_in_range(cj_parser *p, cj_scope *scope, const char *name, size_t length) {
    size_t stem = length;
    while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
    size_t digits = length - stem;
    if (!digits || digits > 9 || (digits > 1 && name[stem] == '0')) return NULL;
    const cj_range *range = cj__map_get(&scope->ranges, name, stem);
    if (!range) return NULL;
    uint64_t number = 0;
    for (size_t i = stem; i < length; i++) number = number * 10 + (uint64_t)(name[i] - '0');
    if (number >= range->count) return NULL;
    const char *text = cj__arena_text(&p->module->arena, name, length);
    cj_ir_reg *reg = text ? cj__new_reg(p, text, range->type, range->vector) : NULL;
    cj_name *entry = cj__arena_alloc(&p->module->arena, sizeof *entry);
    if (!reg || !entry) {
        cj__parse_memory(p);
        return NULL;
    }
    reg->line = range->line;
    entry->reg = reg;
    return cj__map_put(&scope->names, text, length, entry) ? entry : NULL;
}

static const cj_name *find_name(cj_parser *p, const char *name, size_t length) {
    for (cj_scope *scope = p->scope; scope; scope = scope->outer) {
        const cj_name *found = cj__map_get(&scope->names, name, length);
        if (!found) found = name_in_range(p, scope, name, length);
        if (found || p->status) return found;
    }
    return NULL;
}

static bool open_scope(cj_parser *p) {
    cj_arena *arena = &p->module->arena;
    cj_scope *scope = cj__arena_alloc(arena, sizeof *scope);
    if (!scope) return cj__parse_memory(p);
    scope->outer = p->scope;
    scope->names.arena = scope->ranges.arena = scope->labels.arena = arena;
    p->scope = scope;
    return true;
}

static bool add_jump(cj_parser *p, cj_scope *scope, cj_jump jump) {
    cj_jump *grown = cj__arena_grow(&p->module->arena, scope->jump, scope->jump_count, &scope->jump_capacity,
                                    sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    scope->jump = grown;
    grown[scope->jump_count++] = jump;
    return true;
}

static const char *label_at(const void *user, size_t i) {
    const cj_map *labels = user;
    for (size_t slot = 0; slot < labels->capacity; slot++)
        if (labels->slot[slot].value && !i--) return ((const cj_ir_label *)labels->slot[slot].value)->name;
    return NULL;
}

static bool undefined_label(cj_parser *p, const cj_scope *scope, const cj_jump *jump) {
    cj__parse_error(p, p->at, "label-undefined", "there is no label '%s' in this function", jump->operand->text);
    const char *nearest = cj__nearest(jump->operand->text, label_at, &scope->labels);
    if (nearest) cj__hint(p->error, "is '%s' meant?", nearest);
    if (p->error) p->error->line = jump->line, p->error->column = jump->operand->column;
    return false;
}

static bool close_scope(cj_parser *p) {
    cj_scope *scope = p->scope;
    for (size_t i = 0; i < scope->jump_count; i++) {
        cj_jump *jump = &scope->jump[i];
        cj_ir_label *label = cj__map_get(&scope->labels, jump->operand->text, strlen(jump->operand->text));
        if (label) {
            jump->operand->label = label;
            label->uses++;
        } else if (!scope->outer) {
            return undefined_label(p, scope, jump);
        } else if (!add_jump(p, scope->outer, *jump)) {
            return false;
        }
    }
    p->scope = scope->outer;
    return true;
}

// ---- operands

static bool parse_operand(cj_parser *p, cj_ir_operand *operand);

// Operands up to `close`, into *list.
static bool parse_list(cj_parser *p, char close, const cj_ir_operand **list, uint16_t *count) {
    enum { LIST_MAX = 256 };
    cj_ir_operand items[16], *item = items;
    size_t n = 0, capacity = sizeof items / sizeof *items;
    if (!cj__take(p, close)) {
        do {
            if (n == LIST_MAX) return cj__parse_error(p, p->at, "syntax", "more than %d operands in one list", LIST_MAX);
            if (n == capacity) {
                cj_ir_operand *more = cj__arena_alloc(&p->module->arena, LIST_MAX * sizeof *more);
                if (!more) return cj__parse_memory(p);
                item = memcpy(more, item, n * sizeof *item);
                capacity = LIST_MAX;
            }
            if (!parse_operand(p, &item[n++])) return false;
        } while (cj__take(p, ','));
        if (!cj__expect(p, close, "or ',' in this list")) return false;
    }
    cj_ir_operand *copy = cj__arena_alloc(&p->module->arena, (n ? n : 1) * sizeof *copy);
    if (!copy) return cj__parse_memory(p);
    if (n) memcpy(copy, item, n * sizeof *copy);
    *list = copy;
    *count = (uint16_t)n;
    return true;
}

// +4, -4, +-4: as far as they stand here.
static bool parse_offset(cj_parser *p, int64_t *offset) {
    while (cj__at(p, '+') || cj__at(p, '-')) {
        bool minus = cj__take(p, '-');
        if (!minus) cj__take(p, '+');
        if (cj__take(p, '-')) minus = !minus;
        uint64_t value;
        if (!cj__integer(p, &value, "an offset in bytes")) return false;
        *offset = (int64_t)((uint64_t)*offset + (minus ? 0 - value : value));
    }
    return true;
}

static bool parse_memory_operand(cj_parser *p, cj_ir_operand *operand) {
    operand->kind = CJ_OPERAND_MEMORY;
    const char *at = p->at;
    cj_ir_operand *base = cj__arena_alloc(&p->module->arena, sizeof *base);
    if (!base) return cj__parse_memory(p);
    if (!parse_operand(p, base)) return false;
    bool address = base->kind == CJ_OPERAND_REG || base->kind == CJ_OPERAND_VAR || base->kind == CJ_OPERAND_INT ||
                   base->kind == CJ_OPERAND_NAME;
    if (!address || base->negated || base->predicate)
        return cj__parse_error(p, at, "syntax", "expected a register, a variable or a number as address, found %s",
                               cj__found(p, at).text);
    operand->base = base;
    operand->offset = base->kind == CJ_OPERAND_VAR ? base->offset : 0;
    if (base->kind == CJ_OPERAND_VAR) base->offset = 0;
    if (!parse_offset(p, &operand->offset)) return false;
    if (cj__take(p, ',')) {
        if (!cj__at(p, '{'))
            return cj__parse_error(p, p->at, "syntax", "expected the coordinates '{…}' of a tensor, found %s",
                                   cj__found(p, p->at).text);
        cj_ir_operand coordinates = {0};
        if (!parse_operand(p, &coordinates)) return false;
        operand->list = coordinates.list;
        operand->count = coordinates.count;
    }
    if (!cj__expect(p, ']', "behind an address")) return false;
    operand->unified = cj__take_word(p, ".unified");
    return true;
}

// Why a register may not have a component, or must have one; NULL where all is well.
static const char *component_refused(const cj_ir_operand *operand, bool written) {
    if (operand->kind == CJ_OPERAND_REG) return written && operand->reg->vector == 1 ? "this register has no parts" : NULL;
    bool parts = cj__specials[operand->special].components > 1;
    if (parts == written) return NULL;
    return parts ? "expected .x, .y or .z: this special register has three parts" : "this special register has no parts";
}

// .x .y .z .w, also called .r .g .b .a
static bool parse_component(cj_parser *p, cj_ir_operand *operand) {
    static const char names[] = "xyzwrgba";
    size_t length = cj__word_length(p);
    const char *wrong = component_refused(operand, length > 0);
    if (wrong) return cj__parse_error(p, p->at, "syntax", "%s", wrong);
    if (!length) return true;
    const char *name = length == 2 ? strchr(names, p->at[1]) : NULL;
    if (!name || !*name)
        return cj__parse_error(p, p->at, "syntax", "expected .x, .y, .z or .w, found %s", cj__found(p, p->at).text);
    operand->component = (uint8_t)((name - names) % 4 + 1);
    p->at += length;
    return true;
}

static bool module_name(cj_parser *p, const char *name, size_t length, cj_ir_operand *operand) {
    const cj_ir_item *item = cj__map_get(&p->module->names, name, length);
    if (!item) return false;
    if (item->kind == CJ_ITEM_VAR) {
        operand->kind = CJ_OPERAND_VAR;
        operand->var = item->var;
    } else {
        operand->kind = CJ_OPERAND_FUNC;
        operand->func = item->func;
    }
    return true;
}

static bool parse_named(cj_parser *p, cj_ir_operand *operand, size_t length) {
    const char *name = p->at;
    p->at += length;
    if (length == 1 && *name == '_') {
        operand->kind = CJ_OPERAND_SINK;
        return true;
    }
    const cj_name *found = find_name(p, name, length);
    if (p->status) return false;
    cj_special special = found ? CJ_SPECIAL_NONE : *name == '%' ? cj__special_find(name + 1, length - 1) : 0;
    if (found && found->reg) {
        operand->kind = CJ_OPERAND_REG;
        operand->reg = found->reg;
    } else if (found) {
        operand->kind = CJ_OPERAND_VAR;
        operand->var = found->var;
    } else if (special) {
        operand->kind = CJ_OPERAND_SPECIAL;
        operand->special = (uint16_t)special;
    } else if (!module_name(p, name, length, operand)) {
        operand->kind = CJ_OPERAND_NAME;
        operand->text = cj__text_of(p, name, name + length);
        if (!operand->text) return false;
    }
    if ((operand->kind == CJ_OPERAND_REG || operand->kind == CJ_OPERAND_SPECIAL) && !parse_component(p, operand))
        return false;
    cj__skip(p);
    return operand->kind != CJ_OPERAND_VAR || parse_offset(p, &operand->offset);
}

static bool parse_one_operand(cj_parser *p, cj_ir_operand *operand) {
    const char *start = p->at;
    *operand = (cj_ir_operand){.column = cj__column(p, start)};
    if (cj__take(p, '{')) {
        operand->kind = CJ_OPERAND_VECTOR;
        return parse_list(p, '}', &operand->list, &operand->count);
    }
    if (cj__take(p, '(')) {
        operand->kind = CJ_OPERAND_LIST;
        return parse_list(p, ')', &operand->list, &operand->count);
    }
    if (cj__take(p, '[')) return parse_memory_operand(p, operand);
    operand->negated = cj__take(p, '!');
    size_t length = cj__name_length(p);
    if (!length) return cj__number(p, operand);
    if (!parse_named(p, operand, length)) return false;
    if (!cj__take(p, '|')) return true;
    cj_ir_operand *predicate = cj__arena_alloc(&p->module->arena, sizeof *predicate);
    if (!predicate) return cj__parse_memory(p);
    operand->predicate = predicate;
    const char *at = p->at;
    if (!parse_operand(p, predicate)) return false;
    bool takes = predicate->kind == CJ_OPERAND_REG || predicate->kind == CJ_OPERAND_SINK || predicate->kind == CJ_OPERAND_NAME;
    if (takes && !predicate->negated && !predicate->predicate) return true;
    return cj__parse_error(p, at, "syntax", "expected a register or _ behind '|', found %s", cj__found(p, at).text);
}

static bool parse_operand(cj_parser *p, cj_ir_operand *operand) {
    enum { DEPTH_MAX = 8 };
    if (p->depth == DEPTH_MAX)
        return cj__parse_error(p, p->at, "syntax", "operands stand in operands more than %d deep", DEPTH_MAX);
    p->depth++;
    bool ok = parse_one_operand(p, operand);
    p->depth--;
    return ok;
}

// ---- instructions

// Whether the elements of a vector can all be written, or all be read.
static bool elements_fit(const cj_ir_operand *vector, bool written) {
    for (unsigned i = 0; i < vector->count; i++) {
        const cj_ir_operand *element = &vector->list[i];
        bool reg = element->kind == CJ_OPERAND_REG && !element->negated && !element->predicate;
        bool constant = element->kind == CJ_OPERAND_INT || element->kind == CJ_OPERAND_FLOAT;
        if (!reg && !(written ? element->kind == CJ_OPERAND_SINK : constant)) return false;
    }
    return true;
}

// Whether an operand is of the kind that a pattern's item asks for. Types are the checker's business.
static bool fits(const cj_pattern_item *item, const cj_ir_operand *operand) {
    cj_operand_kind kind = operand->kind;
    bool reg = kind == CJ_OPERAND_REG, sink = kind == CJ_OPERAND_SINK, vector = kind == CJ_OPERAND_VECTOR;
    bool constant = kind == CJ_OPERAND_INT || kind == CJ_OPERAND_FLOAT;
    bool source = reg || constant;
    if (operand->predicate && !item->predicate) return false;
    if (operand->negated && (!reg || operand->reg->type != CJ_W_PRED || !strchr("ps", item->kind))) return false;
    switch (item->kind) {
    case 'd': return reg || sink;
    case 'D': return reg || sink || (vector && elements_fit(operand, true));
    case 's': return source;
    case 'S': return source || (vector && elements_fit(operand, false));
    case 'U': return vector && elements_fit(operand, true);
    case 'P': return vector && elements_fit(operand, false);
    case 'q': return reg;
    case 'p': return reg;
    case 'm': return kind == CJ_OPERAND_MEMORY && !operand->list && !operand->unified;
    case 'M': return kind == CJ_OPERAND_MEMORY && !operand->list;
    case 't': return kind == CJ_OPERAND_MEMORY && operand->list;
    case '_': return sink;
    case 'i': return constant;
    case 'a': return reg || constant || kind == CJ_OPERAND_VAR;
    case 'v': return kind == CJ_OPERAND_VAR || kind == CJ_OPERAND_FUNC;
    case 'x': return kind == CJ_OPERAND_SPECIAL;
    case 'l': return kind == CJ_OPERAND_NAME;
    case 'f': return kind == CJ_OPERAND_FUNC;
    case 'L': return kind == CJ_OPERAND_LIST;
    default: return false;
    }
}

// A predicate where the pattern has another kind of source, or the reverse: then a later row of the syntax may be meant.
static bool class_fits(const cj_pattern_item *item, const cj_ir_operand *operand) {
    if (operand->kind != CJ_OPERAND_REG || !(item->kind == 'p' || (item->kind == 's' && item->type == 'F'))) return true;
    return (operand->reg->type == CJ_W_PRED) == (item->kind == 'p' || item->fixed == CJ_W_PRED);
}

static bool row_fits(const cj_row *row, const cj_ir_inst *inst, bool strict) {
    const cj_pattern *pattern = cj__row_pattern(row);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const cj_pattern_item *item = cj__pattern_item(pattern, inst->mnemonic, i);
        const cj_ir_operand   *operand = &inst->operand[i];
        if (!item || !fits(item, operand) || (strict && !class_fits(item, operand))) return false;
        bool discards = operand->kind == CJ_OPERAND_SINK && item->kind != '_';  // of a pair d|p, or what an atomic returns
        if (discards && !item->predicate && !(row->effects & CJ_WRITES)) return false;
    }
    const cj_pattern_item *next = cj__pattern_item(pattern, inst->mnemonic, inst->operand_count);
    return !next || next->optional;
}

static const char *reg_at(const void *user, size_t i) {
    const cj_ir_func *func = user;
    return i < func->reg_count ? func->reg[i]->name : NULL;
}

// The name that nothing declares among these operands, or NULL.
static const cj_ir_operand *unknown_name(const cj_ir_operand *operand, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cj_ir_operand *o = &operand[i];
        if (o->kind == CJ_OPERAND_NAME) return o;
        const cj_ir_operand *inner = o->kind == CJ_OPERAND_MEMORY ? unknown_name(o->base, 1) : NULL;
        if (!inner && o->predicate) inner = unknown_name(o->predicate, 1);
        if (!inner && o->list) inner = unknown_name(o->list, o->count);
        if (inner) return inner;
    }
    return NULL;
}

static bool report_unknown(cj_parser *p, const char *at, const cj_ir_operand *operand) {
    cj__parse_error(p, at, "name-undefined", "nothing declares '%s'", operand->text);
    const char *nearest = cj__nearest(operand->text, reg_at, p->func);
    if (nearest) cj__hint(p->error, "is '%s' meant?", nearest);
    if (p->error) p->error->column = operand->column;
    return false;
}

// The first row whose operands fit in kind and class, else the first whose operands fit in kind: the checker then says
// what is wrong with them.
static const cj_row *fitting_row(const cj_ir_inst *inst) {
    const cj_mnemonic *mnemonic = inst->mnemonic;
    for (int strict = 1; strict >= 0; strict--)
        for (unsigned i = 0; i < mnemonic->candidate_count; i++)
            if (row_fits(&cj__rows[mnemonic->candidate[i]], inst, strict)) return &cj__rows[mnemonic->candidate[i]];
    return NULL;
}

// Chooses the row, and notes the labels to resolve.
static bool choose_row(cj_parser *p, const char *at, cj_ir_inst *inst) {
    const cj_mnemonic *mnemonic = inst->mnemonic;
    inst->row = fitting_row(inst);
    const cj_pattern *pattern = inst->row ? cj__row_pattern(inst->row) : NULL;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        cj_ir_operand *operand = &inst->operand[i];
        bool is_label = pattern && cj__pattern_item(pattern, mnemonic, i)->kind == 'l';
        const cj_ir_operand *unknown = is_label ? NULL : unknown_name(operand, 1);
        if (unknown) return report_unknown(p, at, unknown);
        if (!is_label) continue;
        operand->kind = CJ_OPERAND_LABEL;
        if (!add_jump(p, p->scope, (cj_jump){.operand = operand, .line = p->line})) return false;
    }
    if (pattern) return true;
    cj__parse_error(p, at, "operands", "'%s' does not take these %u operands", mnemonic->text, inst->operand_count);
    cj__hint(p->error, "a line that is right: %s", cj__rows[mnemonic->candidate[0]].sample);
    return false;
}

static const char *opcode_at(const void *user, size_t i) {
    (void)user;
    return i < CJ_ROW_COUNT ? cj__row_opcode(&cj__rows[i]) : NULL;
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

static const cj_mnemonic *parse_mnemonic(cj_parser *p) {
    const char *text = p->at;
    size_t length = cj__name_length(p);
    for (p->at += length; (length = cj__word_length(p)); p->at += length) continue;
    length = (size_t)(p->at - text);
    const cj_mnemonic *known = cj__map_get(&p->module->mnemonics, text, length);
    if (known) return known;
    cj_mnemonic resolved;
    unsigned wrong = 0;
    if (length > 200 || !cj__mnemonic_resolve(text, length, &resolved, &wrong)) {
        unknown_mnemonic(p, text, length, wrong);
        return NULL;
    }
    cj_mnemonic *mnemonic = cj__arena_alloc(&p->module->arena, sizeof *mnemonic);
    resolved.text = cj__arena_text(&p->module->arena, text, length);
    if (!mnemonic || !resolved.text) {
        cj__parse_memory(p);
        return NULL;
    }
    *mnemonic = resolved;
    if (!cj__map_put(&p->module->mnemonics, resolved.text, length, mnemonic)) cj__parse_memory(p);
    return mnemonic;
}

static bool parse_guard(cj_parser *p, cj_ir_inst *inst) {
    if (!cj__take(p, '@')) return true;
    inst->guard_negated = cj__take(p, '!');
    const char *at = p->at;
    cj_ir_operand operand;
    if (!cj__name_length(p) || !parse_operand(p, &operand))
        return cj__parse_error(p, at, "guard", "expected a predicate register behind '@', found %s",
                               cj__found(p, at).text);
    if (operand.kind == CJ_OPERAND_NAME) return report_unknown(p, at, &operand);
    if (operand.kind != CJ_OPERAND_REG || operand.reg->type != CJ_W_PRED)
        return cj__parse_error(p, at, "guard", "a guard must be a .pred register, which %s is not",
                               cj__found(p, at).text);
    inst->guard = operand.reg;
    return true;
}

// Ends a statement at its semicolon, remembering the line for the comment that may follow.
static bool end_statement(cj_parser *p, const char *what) {
    if (!cj__at(p, ';'))
        return cj__parse_error(p, p->at, "syntax", "expected ';' behind %s, found %s", what, cj__found(p, p->at).text);
    p->at++;
    p->last_line = p->line;
    cj__skip(p);
    return true;
}

static bool parse_instruction(cj_parser *p) {
    const char *start = p->at;
    cj_ir_inst *inst = cj__arena_alloc(&p->module->arena, sizeof *inst);
    cj_ir_stmt *stmt = inst ? cj__add_stmt(p, CJ_STMT_INST, start) : NULL;
    if (!stmt) return cj__parse_memory(p);
    stmt->inst = inst;
    if (!parse_guard(p, inst)) return false;
    if (!cj__name_length(p))
        return cj__parse_error(p, p->at, "syntax", "expected an instruction, found %s", cj__found(p, p->at).text);
    const char *at = p->at;
    inst->mnemonic = parse_mnemonic(p);
    if (!inst->mnemonic) return false;
    cj__skip(p);
    cj_ir_operand operand[CJ_OPERANDS_MAX];
    unsigned count = 0;
    if (!cj__at(p, ';')) {
        do {
            if (count == CJ_OPERANDS_MAX)
                return cj__parse_error(p, p->at, "operands", "no instruction takes more than %d operands", CJ_OPERANDS_MAX);
            if (!parse_operand(p, &operand[count++])) return false;
        } while (cj__take(p, ','));
    }
    inst->operand_count = (uint8_t)count;
    inst->operand = cj__arena_alloc(&p->module->arena, (count ? count : 1) * sizeof *operand);
    if (!inst->operand) return cj__parse_memory(p);
    if (count) memcpy(inst->operand, operand, count * sizeof *operand);
    return choose_row(p, at, inst) && end_statement(p, inst->mnemonic->text);
}

// ---- declarations, labels, scopes

static bool parse_label(cj_parser *p, size_t length) {
    const char *at = p->at;
    const char *name = cj__text_of(p, at, at + length);
    cj_ir_label *label = cj__arena_alloc(&p->module->arena, sizeof *label);
    if (!name || !label) return cj__parse_memory(p);
    if (cj__map_get(&p->scope->labels, name, length))
        return cj__parse_error(p, at, "name-twice", "the label '%s' is defined twice in this scope", name);
    if (!cj__map_put(&p->scope->labels, name, length, label)) return cj__parse_memory(p);
    cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_LABEL, at);
    if (!stmt) return false;
    *label = (cj_ir_label){.name = name, .stmt = (uint32_t)(p->func->stmt_count - 1), .line = p->line};
    stmt->label = label;
    p->at += length;
    p->last_line = p->line;
    cj__skip(p);
    p->last_line = p->line;  // the colon may stand on a later line
    p->at++;
    cj__skip(p);
    return true;
}

static bool parse_reg_name(cj_parser *p, uint16_t type, uint8_t vector) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) return cj__parse_error(p, at, "syntax", "expected a register's name, found %s", cj__found(p, at).text);
    const char *name = cj__text_of(p, at, at + length);
    if (!name) return false;
    p->at += length;
    cj__skip(p);
    if (!cj__take(p, '<')) {
        cj_ir_reg *reg = cj__new_reg(p, name, type, vector);
        return reg && cj__declare(p, name, reg, NULL, at);
    }
    cj_range *range = cj__arena_alloc(&p->module->arena, sizeof *range);
    if (!range) return cj__parse_memory(p);
    *range = (cj_range){.type = type, .vector = vector, .line = p->line};
    if (!cj__integer(p, &range->count, "the number of registers") || !cj__expect(p, '>', "behind the number of registers"))
        return false;
    if (cj__map_get(&p->scope->ranges, name, length))
        return cj__parse_error(p, at, "name-twice", "the registers '%s' are declared twice in this scope", name);
    return cj__map_put(&p->scope->ranges, name, length, range) || cj__parse_memory(p);
}

static bool parse_regs(cj_parser *p) {
    const char *start = p->at;
    size_t stmt = p->func->stmt_count;
    if (!cj__add_stmt(p, CJ_STMT_REGS, start)) return false;
    cj__take_word(p, ".reg");
    uint16_t type;
    uint8_t vector;
    if (!cj__parse_type(p, &type, &vector)) return false;
    do {
        if (!parse_reg_name(p, type, vector)) return false;
    } while (cj__take(p, ','));
    const char *text = cj__text_plain(p, start, p->at);
    p->func->stmt[stmt].text = text;
    return text && end_statement(p, "a declaration of registers");
}

static bool parse_vars(cj_parser *p, cj_space space) {
    cj_ir_var head = {.space = space, .func = p->func};
    if (!cj__parse_var_head(p, &head)) return false;
    do {
        size_t index = p->func->stmt_count;
        if (!cj__add_stmt(p, CJ_STMT_VAR, p->at)) return false;
        cj_ir_var *var = cj__parse_declarator(p, &head);
        if (!var) return false;
        p->func->stmt[index].var = var;
    } while (cj__take(p, ','));
    return end_statement(p, "a declaration");
}

// .loc and the like, up to the end of the line; .pragma and the like, up to the semicolon.
static bool parse_directive(cj_parser *p, char close) {
    const char *start = p->at;
    const char *end = memchr(start, close, (size_t)(p->end - start));
    cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_DIRECTIVE, start);
    if (!stmt) return false;
    if (!end && close == ';') return cj__parse_error(p, start, "syntax", "this directive is not closed with ';'");
    p->at = end ? end + (close == ';') : p->end;
    stmt->text = cj__text_of(p, start, p->at);
    for (const char *c = start; c < p->at; c++)
        if (*c == '\n') p->line++, p->line_start = c + 1;
    p->last_line = p->line;
    cj__skip(p);
    return stmt->text != NULL;
}

static bool parse_brace(cj_parser *p, bool open) {
    if (!cj__add_stmt(p, open ? CJ_STMT_OPEN : CJ_STMT_CLOSE, p->at)) return false;
    p->at++;
    p->last_line = p->line;
    cj__skip(p);
    return open ? open_scope(p) : close_scope(p);
}

static const struct {
    const char *word;
    cj_space    space;
} spaces[] = {
    {".shared", CJ_SPACE_SHARED}, {".local", CJ_SPACE_LOCAL}, {".param", CJ_SPACE_PARAM},
    {".global", CJ_SPACE_GLOBAL}, {".const", CJ_SPACE_CONST},
};

static bool parse_dotted(cj_parser *p) {
    if (cj__word_is(p, ".reg")) return parse_regs(p);
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (cj__take_word(p, spaces[i].word)) return parse_vars(p, spaces[i].space);
    if (cj__word_is(p, ".loc")) return parse_directive(p, '\n');
    static const char *const closed[] = {".pragma", ".branchtargets", ".calltargets", ".callprototype"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (cj__word_is(p, closed[i])) return parse_directive(p, ';');
    return cj__parse_error(p, p->at, "syntax", "expected a statement, found %s", cj__found(p, p->at).text);
}

// The length of a label's name here, 0 when this is something else.
static size_t label_length(const cj_parser *p) {
    size_t length = cj__name_length(p);
    const char *at = p->at + length;
    while (at < p->end && (*at == ' ' || *at == '\t')) at++;
    bool colon = at < p->end && *at == ':' && !(at + 1 < p->end && at[1] == ':');
    return colon ? length : 0;
}

static bool parse_statement(cj_parser *p) {
    size_t label = label_length(p);
    if (label) return parse_label(p, label);
    if (cj__at(p, '.')) return parse_dotted(p);
    if (cj__at(p, '{')) return parse_brace(p, true);
    return parse_instruction(p);
}

bool cj__parse_statements(cj_parser *p) {
    for (;;) {
        cj__attach_comments(p);
        if (p->status) return false;
        bool closes = cj__at(p, '}');
        if (p->at == p->end || (closes && !p->scope->outer)) return true;
        if (!(closes ? parse_brace(p, false) : parse_statement(p))) return false;
    }
}

bool cj__open_body(cj_parser *p, cj_ir_func *func) {
    p->func = func;
    p->scope = NULL;
    func->has_body = true;
    if (!open_scope(p)) return false;
    for (size_t i = 0; i < func->param_count; i++)
        if (!cj__declare(p, func->param[i]->name, NULL, func->param[i], p->at)) return false;
    for (size_t i = 0; i < func->result_count; i++)
        if (!cj__declare(p, func->result[i]->name, NULL, func->result[i], p->at)) return false;
    return true;
}

bool cj__close_body(cj_parser *p) {
    bool closed = close_scope(p);
    p->func = NULL;
    return closed;
}

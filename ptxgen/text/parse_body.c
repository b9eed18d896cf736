// SPDX-License-Identifier: Apache-2.0
// A function's body: declarations, labels, instructions and their operands.
#include <string.h>

#include "error.h"
#include "parser.h"

// ---- statements and the comments between them

cj_ir_stmt *cj__add_stmt(cj_parser *p, cj_stmt_kind kind, const char *at) {
    cj_ir_func *func = p->func;
    if (func->stmt_count == func->stmt_capacity) {
        cj_ir_stmt *grown = cj__arena_grow(p->arena, func->stmt, func->stmt_count, &func->stmt_capacity, sizeof *grown);
        if (!grown) {
            cj__parse_memory(p);
            return NULL;
        }
        func->stmt = grown;
    }
    cj_ir_stmt *stmt = &func->stmt[func->stmt_count++];
    *stmt = (cj_ir_stmt){.kind = (uint8_t)kind, .line = p->line, .column = cj__column(p, at)};
    return stmt;
}

// A comment or an empty line where statements (or, outside functions, items) stand.
static void add_between(cj_parser *p, bool blank, const char *text, uint32_t line) {
    if (p->each && (blank || !p->func)) return;
    if (p->func) {
        cj_ir_stmt *stmt = cj__add_stmt(p, blank ? CJ_STMT_BLANK : CJ_STMT_COMMENT, p->at);
        if (!stmt) return;
        stmt->line = line;
        stmt->text = text;
    } else {
        const size_t count = p->module->item_count;  // directives of the head, which are no items, may stand between two
        if (blank && count && p->module->item[count - 1].kind == CJ_ITEM_BLANK) return;
        cj_ir_item *item = cj__add_item(p, blank ? CJ_ITEM_BLANK : CJ_ITEM_COMMENT);
        if (item) item->text = text;
    }
}

// Where a comment on the last statement's line belongs; NULL when that place is taken.
static const char **after_last(cj_parser *p) {
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

// One line of a comment: without the blank after its //, and without trailing blanks.
static const char *comment_text(cj_parser *p, const char *from, const char *to) {
    if (from < to && *from == ' ') from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) to--;
    const char *text = cj__arena_text(p->arena, from, (size_t)(to - from));
    if (!text) cj__parse_memory(p);
    return text;
}

void cj__attach_comments(cj_parser *p) {
    if (!p->comment_count && p->line <= p->last_line + 1) return;  // nearly always
    for (size_t i = 0; i < p->comment_count && !p->status; i++) {
        const cj_comment *comment = &p->comment[i];
        const char *line = comment->text, *end = comment->text + comment->length;
        bool first = true;
        while (line <= end) {  // a /* */ over several lines becomes several comments
            const char *stop = memchr(line, '\n', (size_t)(end - line));
            if (!stop) stop = end;
            const char *text = comment_text(p, line, stop);
            if (!text) return;
            const char **after = first && comment->line == p->last_line ? after_last(p) : NULL;
            if (after) {
                *after = text;
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

// ---- scopes and their labels

static bool open_scope(cj_parser *p) {
    enum { SCOPES_MAX = 1000 };
    cj_arena *arena = p->arena;
    if (p->scope_depth == SCOPES_MAX)
        return cj__parse_error(p, p->at, "syntax", "braces stand in each other more than %d deep", SCOPES_MAX);
    cj_scope *scope = cj__arena_alloc(arena, sizeof *scope);
    if (!scope) return cj__parse_memory(p);
    scope->outer = p->scope;
    scope->names.arena = scope->ranges.arena = scope->labels.arena = arena;
    p->scope = scope;
    p->scope_depth++;
    return true;
}

static bool put_jump(cj_parser *p, cj_scope *scope, cj_jump jump) {
    cj_jump *grown = cj__arena_grow(p->arena, scope->jump, scope->jump_count, &scope->jump_capacity,
                                    sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    scope->jump = grown;
    grown[scope->jump_count++] = jump;
    return true;
}

bool cj__add_jump(cj_parser *p, cj_ir_operand *operand, uint32_t line) {
    operand->kind = CJ_OPERAND_LABEL;
    return put_jump(p, p->scope, (cj_jump){.operand = operand, .line = line});
}

static const char *label_at(const void *user, size_t i) {
    const cj_map *labels = user;
    for (; i < labels->capacity && i < CJ_NEAREST_MAX; i++) {
        const cj_ir_label *label = labels->slot[i].value;
        if (label && label->defined) return label->name;
    }
    return NULL;
}

// Reports it once: the label that takes its place is found from then on.
static bool undefined_label(cj_parser *p, cj_scope *scope, cj_jump *jump) {
    const char *name = jump->operand->text;
    cj__parse_error(p, p->at, "label-undefined", "there is no label '%s' in this function", name);
    const char *nearest = cj__nearest(name, label_at, &scope->labels);
    if (nearest) cj__hint(p->error, "is '%s' meant?", nearest);
    if (p->error) p->error->line = jump->line, p->error->column = jump->operand->column;
    p->known = cj__map_get(&p->missed, name, strlen(name));
    p->resume = true;
    if (!cj__recover(p, cj__mark(p))) return false;
    cj_ir_label *label = cj__arena_alloc(p->arena, sizeof *label);
    if (!label || !cj__map_put(&scope->labels, name, strlen(name), label)) return cj__parse_memory(p);
    *label = (cj_ir_label){.name = name, .line = jump->line, .uses = 1};
    jump->operand->label = label;
    return true;
}

static bool close_scope(cj_parser *p) {
    cj_scope *scope = p->scope;
    for (size_t i = 0; i < scope->jump_count; i++) {
        cj_jump *jump = &scope->jump[i];
        cj_ir_label *label = cj__map_get(&scope->labels, jump->operand->text, strlen(jump->operand->text));
        if (label) {
            jump->operand->label = label;
            label->uses++;
        } else if (scope->outer ? !put_jump(p, scope->outer, *jump) : !undefined_label(p, scope, jump)) {
            return false;
        }
    }
    p->scope = scope->outer;
    p->scope_depth--;
    return true;
}

// ---- statements

bool cj__end_statement(cj_parser *p, const char *what) {
    if (!cj__at(p, ';')) {
        p->resume |= cj__begins_line(p) && !cj__at(p, '{');  // a ; was forgotten at a line's end
        return cj__parse_error(p, p->at, "syntax", "expected ';' after %s, found %s", what, cj__found(p, p->at).text);
    }
    p->at++;
    p->last_line = p->line;
    cj__skip(p);
    return true;
}

static bool parse_label(cj_parser *p, size_t length) {
    const char *at = p->at;
    const char *name = cj__text_of(p, at, at + length);
    cj_ir_label *label = cj__arena_alloc(p->arena, sizeof *label);
    if (!name || !label) return cj__parse_memory(p);
    if (cj__map_get(&p->scope->labels, name, length)) {
        p->at += length;
        cj__skip(p);
        p->resume = cj__take(p, ':');
        return cj__parse_error(p, at, "name-twice", "the label '%s' is defined twice in this scope", name);
    }
    if (!cj__map_put(&p->scope->labels, name, length, label)) return cj__parse_memory(p);
    cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_LABEL, at);
    if (!stmt) return false;
    *label = (cj_ir_label){.name = name, .stmt = (uint32_t)(p->func->stmt_count - 1), .defined = true, .line = p->line};
    stmt->label = label;
    p->at += length;
    cj__skip(p);
    p->last_line = p->line;  // the colon may stand on a later line
    p->at++;
    cj__skip(p);
    return true;
}

static bool parse_reg_name(cj_parser *p, uint16_t type, uint8_t vector) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) return cj__expected(p, p->at, "a register's name");
    const char *name = cj__text_of(p, at, at + length);
    if (!name) return false;
    p->at += length;
    cj__skip(p);
    if (!cj__take(p, '<')) {
        cj_ir_reg *reg = cj__new_reg(p, name, type, vector);
        return reg && cj__declare(p, name, reg, NULL, at);
    }
    cj_range *range = cj__arena_alloc(p->arena, sizeof *range);
    if (!range) return cj__parse_memory(p);
    *range = (cj_range){.stem = name, .length = length, .type = type, .vector = vector, .line = p->line};
    if (!cj__integer(p, &range->count, "the number of registers")) return false;
    if (!cj__expect(p, '>', "after the number of registers")) return false;
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
    const char *text = p->each ? "" : cj__text_plain(p, start, p->at);
    p->func->stmt[stmt].text = text;
    return text && cj__end_statement(p, "a declaration of registers");
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
    return cj__end_statement(p, "a declaration");
}

static bool expect_name(cj_parser *p, const char *name) {
    if (!cj__name_is(p, name))
        return cj__expected(p, p->at, name);
    p->at += strlen(name);
    cj__skip(p);
    return true;
}

// file line column: *end is where the column ends.
static bool parse_place(cj_parser *p, cj_ir_place *place, const char **end) {
    static const char *const parts[] = {"a file's number", "a line", "a column"};
    uint32_t *const into[] = {&place->file, &place->line, &place->column};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t value;
        const char *at = p->at;
        p->last_line = p->line;
        if (!cj__integer(p, &value, parts[i])) return false;
        *into[i] = value < CJ_NO_FILE ? (uint32_t)value : 0;
        for (*end = at; *end < p->at && **end != ',' && **end != '/' && **end > ' ';) ++*end;
    }
    return true;
}

// function_name label[+4], inlined_at 1 20 3
static bool parse_inlined(cj_parser *p, const cj_ir_inlined **inlined, const char **end) {
    cj_ir_inlined *made = cj__arena_alloc(&p->module->arena, sizeof *made);
    bool written;
    if (!made) return cj__parse_memory(p);
    if (!expect_name(p, "function_name")) return false;
    size_t length = cj__name_length(p);
    if (!length) return cj__expected(p, p->at, "a label");
    made->label = cj__arena_text(&p->module->arena, p->at, length);
    if (!made->label) return cj__parse_memory(p);
    p->at += length;
    cj__skip(p);
    if (!cj__offset(p, &made->offset, &written) || !cj__expect(p, ',', "before inlined_at")) return false;
    *inlined = made;
    return expect_name(p, "inlined_at") && parse_place(p, &made->at, end);
}

// .loc 1 12 5[, function_name …, inlined_at …]
static bool parse_loc(cj_parser *p) {
    const char *start = p->at, *end;
    const bool counts_on = p->asm_loc && p->asm_loc != start;
    cj_ir_loc loc = {.line = p->line};
    size_t index = p->func->stmt_count;
    if (!cj__add_stmt(p, CJ_STMT_DIRECTIVE, start)) return false;
    cj__take_word(p, ".loc");
    if (!parse_place(p, &loc.place, &end)) return false;
    if (cj__take(p, ',') && !parse_inlined(p, &loc.inlined, &end)) return false;
    if (!counts_on && !cj__add_loc(p, loc)) return false;
    if (p->each) p->func->stmt_count = index;
    const char *text = p->each ? "" : cj__text_plain(p, start, end);
    p->func->stmt[index].text = text;
    return text != NULL;
}

static bool parse_pragma(cj_parser *p) {
    size_t index = p->func->stmt_count;
    const char *text;
    if (!cj__add_stmt(p, CJ_STMT_DIRECTIVE, p->at) || !cj__parse_pragma(p, &text)) return false;
    p->func->stmt[index].text = text;
    return true;
}

// The labels directly before this statement.
static void name_table(cj_parser *p, const cj_ir_targets *targets, const cj_ir_func *prototype) {
    for (size_t i = p->func->stmt_count - 1; i-- && p->func->stmt[i].kind == CJ_STMT_LABEL;) {
        p->func->stmt[i].label->targets = targets;
        p->func->stmt[i].label->prototype = prototype;
    }
}

static bool parse_target(cj_parser *p, cj_ir_operand *target, bool calls) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    *target = (cj_ir_operand){.column = cj__column(p, at)};
    if (!length)
        return cj__expected(p, at, calls ? "a function" : "a label");
    if (calls && !cj__resolve(p, at, length, target)) return false;
    if (!calls) target->text = cj__text_of(p, at, at + length);
    p->at += length;
    cj__skip(p);
    if (!calls) return target->text;
    if (target->kind == CJ_OPERAND_NAME) return cj__undefined(p, at, target);
    return target->kind == CJ_OPERAND_FUNC || cj__expected(p, at, "a function");
}

static bool parse_targets(cj_parser *p, bool calls) {
    cj_arena *arena = p->arena;
    cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_TARGETS, p->at);
    cj_ir_targets *targets = cj__arena_alloc(arena, sizeof *targets);
    if (!stmt || !targets) return cj__parse_memory(p);
    stmt->targets = targets;
    targets->calls = calls;
    name_table(p, targets, NULL);
    p->at += cj__word_length(p);
    cj__skip(p);
    cj_ir_operand *list = NULL;
    uint32_t *line = NULL;  // on which each stands
    size_t room = 0, lines = 0;
    do {
        if (targets->count == UINT16_MAX)
            return cj__parse_error(p, p->at, "syntax", "more than %d targets", UINT16_MAX);
        list = cj__arena_grow(arena, list, targets->count, &room, sizeof *list);
        line = cj__arena_grow(arena, line, targets->count, &lines, sizeof *line);
        if (!list || !line) return cj__parse_memory(p);
        targets->list = list;
        line[targets->count] = p->line;
        if (!parse_target(p, &list[targets->count], calls)) return false;
        targets->count++;
    } while (cj__take(p, ','));
    for (size_t i = 0; !calls && i < targets->count; i++)  // jumps point into the list, which grows no more
        if (!cj__add_jump(p, &list[i], line[i])) return false;
    return cj__end_statement(p, "a list of targets");
}

static bool parse_prototype(cj_parser *p) {
    size_t index = p->func->stmt_count;
    if (!cj__add_stmt(p, CJ_STMT_PROTOTYPE, p->at)) return false;
    cj__take_word(p, ".callprototype");
    const cj_ir_func *prototype = cj__parse_prototype(p);
    if (!prototype) return false;
    p->func->stmt[index].prototype = prototype;
    name_table(p, NULL, prototype);
    return cj__end_statement(p, "a prototype");
}

static bool parse_brace(cj_parser *p, bool open) {
    if (!cj__add_stmt(p, open ? CJ_STMT_OPEN : CJ_STMT_CLOSE, p->at)) return false;
    p->at++;
    p->last_line = p->line;
    cj__skip(p);
    return open ? open_scope(p) : close_scope(p);
}

static bool parse_branch_targets(cj_parser *p) { return parse_targets(p, false); }
static bool parse_call_targets(cj_parser *p) { return parse_targets(p, true); }

// What a directive begins: a declaration in that space, or what the function reads.
static const struct {
    const char *word;
    cj_space    space;
    bool (*parse)(cj_parser *p);
} directives[] = {
    {".loc", 0, parse_loc},
    {".reg", 0, parse_regs},
    {".param", CJ_SPACE_PARAM, NULL},
    {".shared", CJ_SPACE_SHARED, NULL},
    {".local", CJ_SPACE_LOCAL, NULL},
    {".global", CJ_SPACE_GLOBAL, NULL},
    {".const", CJ_SPACE_CONST, NULL},
    {".pragma", 0, parse_pragma},
    {".branchtargets", 0, parse_branch_targets},
    {".calltargets", 0, parse_call_targets},
    {".callprototype", 0, parse_prototype},
};

static bool parse_dotted(cj_parser *p) {
    size_t length = cj__word_length(p);
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (strncmp(directives[i].word, p->at, length) || directives[i].word[length]) continue;
        if (directives[i].parse) return directives[i].parse(p);
        p->at += length;
        cj__skip(p);
        return parse_vars(p, directives[i].space);
    }
    return cj__expected(p, p->at, "a statement");
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
    if (cj__at(p, '@')) return cj__parse_instruction(p);
    if (cj__at(p, '.')) return parse_dotted(p);
    if (cj__at(p, '{')) return parse_brace(p, true);
    size_t label = label_length(p);
    return label ? parse_label(p, label) : cj__parse_instruction(p);
}

bool cj__parse_statements(cj_parser *p) {
    for (;;) {
        cj_mark start = cj__mark(p);
        cj__attach_comments(p);
        size_t count = p->func->stmt_count;
        bool closes = cj__at(p, '}'), ok = !p->status;
        if (ok && (p->at == p->end || (closes && !p->scope->outer) || cj__begins_item(p))) return true;
        if (ok) ok = closes ? parse_brace(p, false) : parse_statement(p);
        if (ok && !p->status) continue;
        if (!ok && p->func->stmt_count > count) p->func->stmt_count = count;
        if (!cj__recover(p, start)) return false;
    }
}

static bool declare_params(cj_parser *p, cj_ir_var **param, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cj_ir_var *var = param[i];
        if (var->space == CJ_SPACE_REG && !(var->reg = cj__new_reg(p, var->name, var->type, var->vector))) return false;
        if (!cj__declare(p, var->name, var->reg, var->reg ? NULL : var, p->at)) return false;
    }
    return true;
}

bool cj__open_body(cj_parser *p, cj_ir_func *func) {
    p->func = func;
    p->scope = NULL;
    p->scope_depth = 0;
    memset(p->recent, 0, sizeof p->recent);
    if (p->each) {
        p->body = func;
        p->arena = p->bodies;
    }
    func->has_body = true;
    p->asm_loc = NULL;
    if (p->module->loc_count && !cj__add_loc(p, (cj_ir_loc){.line = p->line, .place.file = CJ_NO_FILE})) return false;
    return open_scope(p) && declare_params(p, func->param, func->param_count) &&
           declare_params(p, func->result, func->result_count);
}

bool cj__close_body(cj_parser *p) {
    bool closed = close_scope(p);
    p->func = NULL;
    return closed;
}

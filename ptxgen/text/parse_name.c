// SPDX-License-Identifier: Apache-2.0
// Names in a body: what they are declared as, the registers of ranges, and what a name means where it stands.
#include <string.h>

#include "error.h"
#include "parser.h"

bool cj__reserved_name(const char *name, size_t length) {
    return length > 1 && *name == '%' && cj__special_find(name + 1, length - 1);
}

// What a name that may belong to a range is made of.
typedef struct cj_stem {
    size_t   length;  // of what stands before the number; 0: no name of a range
    uint64_t number;
} cj_stem;

static cj_stem stem_of(const char *name, size_t length) {
    enum { DIGITS_MAX = 9 };
    size_t   stem = length;
    uint32_t number = 0;
    for (uint32_t scale = 1; stem && name[stem - 1] >= '0' && name[stem - 1] <= '9'; scale *= 10)
        number += (uint32_t)(name[--stem] - '0') * scale;
    const size_t digits = length - stem;
    if (!digits || digits > DIGITS_MAX || (digits > 1 && name[stem] == '0')) return (cj_stem){0};
    return (cj_stem){.length = stem, .number = number};
}

static unsigned mix(const char *name, cj_stem stem) {
    return (unsigned char)name[stem.length - 1] + (unsigned)stem.length;
}

// The bit of a stem in a scope's `numbered`; 0: the name has no number.
static uint64_t mark_of(const char *name, cj_stem stem) {
    return stem.length ? UINT64_C(1) << mix(name, stem) % 64 : 0;
}

// The range of the scope that the name belongs to, or NULL.
static cj_range *range_of(cj_parser *p, const cj_scope *scope, const char *name, cj_stem stem) {
    if (!stem.length || !scope->ranges.count) return NULL;
    cj_recent *recent = &p->recent[mix(name, stem) % CJ_RECENT];
    size_t     same = 0;
    if (recent->scope == scope && recent->range->length == stem.length)
        while (same < stem.length && recent->range->stem[same] == name[same]) same++;
    if (same != stem.length) {
        cj_range *range = cj__map_get(&scope->ranges, name, stem.length);
        if (!range) return NULL;
        *recent = (cj_recent){.scope = scope, .range = range};
    }
    return stem.number < recent->range->count ? recent->range : NULL;
}

static bool is_declared(cj_parser *p, const char *name, size_t length) {
    const cj_stem   stem = stem_of(name, length);
    const cj_range *range = range_of(p, p->scope, name, stem);
    if (range && stem.number < range->capacity && range->known[stem.number]) return true;
    return cj__map_get(&p->scope->names, name, length);
}

static bool put_name(cj_parser *p, cj_scope *scope, const char *name, size_t length, cj_name what) {
    cj_name *entry = cj__arena_copy(p->arena, &what, sizeof what);
    scope->numbered |= mark_of(name, stem_of(name, length));
    return (entry && cj__map_put(&scope->names, name, length, entry)) || cj__parse_memory(p);
}

bool cj__declare(cj_parser *p, const char *name, const cj_ir_reg *reg, const cj_ir_var *var, const char *at) {
    size_t length = strlen(name);
    if (reg && cj__reserved_name(name, length)) {
        cj__parse_error(p, at, "name-reserved",
                        "a register cannot be named %s: ptxas reads that as the special register", name);
        cj__hint(p->error, "name it otherwise, as %s_0", name);
        return false;
    }
    if (is_declared(p, name, length))
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this scope", name);
    return put_name(p, p->scope, name, length, (cj_name){.reg = reg, .var = var});
}

cj_ir_reg *cj__new_reg(cj_parser *p, const char *name, uint16_t type, uint8_t vector) {
    cj_ir_func *func = p->func;
    cj_arena   *arena = p->arena;
    cj_ir_reg **grown = cj__arena_grow(arena, func->reg, func->reg_count, &func->reg_capacity, sizeof *grown);
    cj_ir_reg  *reg = cj__arena_take(arena, sizeof *reg);
    if (!grown || !reg) {
        cj__parse_memory(p);
        return NULL;
    }
    *reg = (cj_ir_reg){.name = name, .type = type, .vector = vector, .line = p->line};
    reg->index = (uint32_t)func->reg_count;
    func->reg = grown;
    grown[func->reg_count++] = reg;
    return reg;
}

// Remembers the register in the range's array, if its number is not far beyond those in use.
static bool keep_known(cj_parser *p, cj_range *range, uint64_t number, const cj_ir_reg *reg) {
    size_t capacity = range->capacity ? range->capacity : 32;
    range->used++;
    while (capacity <= number && capacity < 8 * range->used + 64) capacity *= 2;
    if (number >= capacity) return true;
    if (capacity > range->capacity) {
        const cj_ir_reg **grown = cj__arena_alloc(p->arena, capacity * sizeof *grown);
        if (!grown) return cj__parse_memory(p);
        if (range->capacity) memcpy(grown, range->known, range->capacity * sizeof *grown);
        range->known = grown;
        range->capacity = capacity;
    }
    range->known[number] = reg;
    return true;
}

// %r12 of a range %r<54>, made a register at its first use; NULL when out of memory.
static const cj_ir_reg *reg_in_range(cj_parser *p, cj_scope *scope, cj_range *range, const char *name, size_t length,
                                     uint64_t number) {
    const char *text = cj__arena_text(p->arena, name, length);
    cj_ir_reg  *reg = text ? cj__new_reg(p, text, range->type, range->vector) : NULL;
    if (!reg) {
        cj__parse_memory(p);
        return NULL;
    }
    reg->line = range->line;
    reg->in_range = true;
    if (!keep_known(p, range, number, reg)) return NULL;
    const bool is_kept = number < range->capacity;
    return is_kept || put_name(p, scope, text, length, (cj_name){.reg = reg}) ? reg : NULL;
}

static cj_name find_name(cj_parser *p, const char *name, size_t length) {
    const cj_stem  stem = stem_of(name, length);
    const uint64_t mark = mark_of(name, stem);
    for (cj_scope *scope = p->scope; scope; scope = scope->outer) {
        cj_range *range = range_of(p, scope, name, stem);
        if (range && stem.number < range->capacity && range->known[stem.number])
            return (cj_name){.reg = range->known[stem.number]};
        const bool     may_be_named = mark ? (scope->numbered & mark) != 0 : scope->names.count;
        const cj_name *found = may_be_named ? cj__map_get(&scope->names, name, length) : NULL;
        if (found) return *found;
        if (range) return (cj_name){.reg = reg_in_range(p, scope, range, name, length, stem.number)};
    }
    return (cj_name){0};
}

bool cj__resolve(cj_parser *p, const char *name, size_t length, cj_ir_operand *operand) {
    const cj_name     found = find_name(p, name, length);
    const cj_ir_item *item;
    cj_special        special;
    if (p->status) return false;
    if (found.reg) {
        operand->kind = CJ_OPERAND_REG;
        operand->reg = found.reg;
    } else if (found.var) {
        operand->kind = CJ_OPERAND_VAR;
        operand->var = found.var;
    } else if (length == 1 && *name == '_') {
        operand->kind = CJ_OPERAND_SINK;
    } else if (*name == '%' && (special = cj__special_find(name + 1, length - 1))) {
        operand->kind = CJ_OPERAND_SPECIAL;
        operand->special = (uint16_t)special;
    } else if (!(item = cj__map_get(&p->module->names, name, length))) {
        operand->kind = CJ_OPERAND_NAME;
        operand->text = cj__text_of(p, name, name + length);
        return operand->text != NULL;
    } else if (item->kind == CJ_ITEM_VAR) {
        operand->kind = CJ_OPERAND_VAR;
        operand->var = item->var;
    } else {
        operand->kind = CJ_OPERAND_FUNC;
        operand->func = item->func;
    }
    return true;
}

static const char *reg_at(const void *user, size_t i) {
    const cj_ir_func *func = user;
    return i < func->reg_count && i < CJ_NEAREST_MAX ? func->reg[i]->name : NULL;
}

bool cj__undefined(cj_parser *p, const char *at, const cj_ir_operand *operand) {
    const char *name = operand->text;
    size_t      length = strlen(name), stem = length;
    while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
    p->known = cj__map_get(&p->missed, name, length) || cj__map_get(&p->missed, name, stem);
    const char *missed = p->known || !p->report ? NULL : cj__arena_text(&p->module->arena, name, length);
    if (missed && !cj__map_put(&p->missed, missed, length, p->module)) missed = NULL;
    if (!p->known && p->report && !missed) return cj__parse_memory(p);
    cj__parse_error(p, at, "name-undefined", "nothing declares '%s'", name);
    const char *nearest = p->func && !p->known ? cj__nearest(name, reg_at, p->func) : NULL;
    if (nearest) cj__hint(p->error, "is '%s' meant?", nearest);
    if (p->error) p->error->column = operand->column;
    return false;
}

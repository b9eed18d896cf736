// SPDX-License-Identifier: Apache-2.0
// Types, variables and their initialisers (PTX ISA 5).
#include <string.h>

#include "error.h"
#include "parser.h"

enum { DIMENSIONS_MAX = 16 };

// An array's extents; those of a vector's elements are the last one.
typedef struct shape {
    unsigned count;
    uint64_t extent[DIMENSIONS_MAX + 1];
} shape;

// ---- types

bool cj__parse_type(cj_parser *p, uint16_t *type, uint8_t *vector) {
    const char *at = p->at;
    *vector = 1;
    if (cj__take_word(p, ".v2")) *vector = 2;
    else if (cj__take_word(p, ".v4")) *vector = 4;
    else if (cj__take_word(p, ".v8")) *vector = 8;
    size_t length = cj__word_length(p);
    cj_word word = length > 1 ? cj__word_find(p->at + 1, length - 1) : CJ_WORD_NONE;
    if (!cj__words[word].class)
        return cj__parse_error(p, at, "type", "expected a type such as .u32, found %s", cj__found(p, p->at).text);
    *type = (uint16_t)word;
    p->at += length;
    cj__skip(p);
    return true;
}

static bool is_power_of_two(uint64_t x) { return x && !(x & (x - 1)); }

static bool parse_align(cj_parser *p, cj_ir_var *head) {
    const char *at = p->at;
    uint64_t align;
    if (!cj__take_word(p, ".align")) return true;
    if (!cj__integer(p, &align, "an alignment in bytes")) return false;
    if (!is_power_of_two(align) || align > 1 << 16)
        return cj__parse_error(p, at, "align", ".align %llu is not a power of two up to 65536",
                               (unsigned long long)align);
    head->align = (uint32_t)align;
    head->align_written = true;
    return true;
}

// .ptr .global .align 16: what a pointer parameter points to. Kept as text.
static bool parse_pointer(cj_parser *p, cj_ir_var *head) {
    const char *start = p->at, *end = start;
    if (cj__take_word(p, ".ptr")) {
        end = start + strlen(".ptr");
        for (size_t length; (length = cj__word_length(p));) {
            bool align = cj__word_is(p, ".align");
            p->at += length;
            end = p->at;
            cj__skip(p);
            uint64_t bytes;
            if (align && !cj__integer(p, &bytes, "an alignment in bytes")) return false;
            if (align) end = p->at;
        }
    }
    head->attributes = end == start ? "" : cj__text_plain(p, start, end);
    return head->attributes != NULL;
}

bool cj__parse_attribute(cj_parser *p, const char **text) {
    const char *start = p->at;
    *text = NULL;
    if (!cj__take_word(p, ".attribute")) return true;
    if (!cj__at(p, '(')) return cj__expected(p, p->at, "'(' after .attribute");
    unsigned depth = 0;
    while (p->at < p->end && *p->at != ';' && *p->at != '{') {
        depth += *p->at == '(';
        depth -= *p->at == ')';
        p->at++;
        const char *end = p->at;
        cj__skip(p);
        if (depth) continue;
        *text = cj__text_plain(p, start, end);
        return *text != NULL;
    }
    return cj__parse_error(p, start, "syntax", "this .attribute is not closed with ')'");
}

bool cj__parse_var_head(cj_parser *p, cj_ir_var *head) {
    if (!cj__parse_attribute(p, &head->qualifiers) || !parse_align(p, head)) return false;
    if (!head->qualifiers && !cj__parse_attribute(p, &head->qualifiers)) return false;
    const char *at = p->at;
    if (!cj__parse_type(p, &head->type, &head->vector)) return false;
    if (head->type == CJ_W_PRED && head->space != CJ_SPACE_REG)
        return cj__parse_error(p, at, "type", ".pred is a type of registers; memory holds no predicates");
    if (!parse_align(p, head) || !parse_pointer(p, head)) return false;
    uint32_t natural = cj__words[head->type].bits / 8u * head->vector;
    if (!head->align) head->align = natural;
    return true;
}

// [8][4], or [] where the launch or an initialiser gives the size.
static bool parse_shape(cj_parser *p, cj_ir_var *var, shape *dims) {
    const char *start = p->at, *end = start;
    while (cj__take(p, '[')) {
        const char *at = p->at;
        uint64_t extent = 0;
        if (!cj__at(p, ']') && !cj__integer(p, &extent, "an array's extent")) return false;
        if (extent && var->count > (UINT64_MAX >> 8) / extent)
            return cj__parse_error(p, at, "array-size", "the array '%s' is larger than memory", var->name);
        if (!extent && var->is_array)
            return cj__parse_error(p, at, "array-size", "only the first extent of an array may be left open");
        if (dims->count == DIMENSIONS_MAX)
            return cj__parse_error(p, at, "array-size", "an array has at most %d dimensions", DIMENSIONS_MAX);
        var->is_array = true;
        var->unsized |= !extent;
        if (extent) var->count *= extent;
        dims->extent[dims->count++] = extent;
        if (!cj__expect(p, ']', "after an array's extent")) return false;
        end = p->at;
    }
    var->shape = end == start ? "" : cj__text_plain(p, start, end);
    return var->shape != NULL;
}

// ---- initialisers

enum { DATA_MAX = 1 << 28 };

// The variable that is being filled.
typedef struct filling {
    cj_ir_var     *var;
    const shape   *dims;
    unsigned       bytes;         // of an element
    unsigned char *data;
    size_t         data_capacity;
    cj_ir_reloc   *reloc;
} filling;

static bool put_bytes(cj_parser *p, filling *f, uint64_t offset, uint64_t value, unsigned bytes) {
    cj_ir_var *var = f->var;
    uint64_t end = offset + bytes;
    if (end > DATA_MAX)
        return cj__parse_error(p, p->at, "initialiser", "the initialiser of '%s' reaches beyond %d bytes", var->name,
                               DATA_MAX);
    while (f->data_capacity < end) {
        const size_t   before = f->data_capacity;
        unsigned char *grown = cj__arena_grow(p->arena, f->data, before, &f->data_capacity, 1);
        if (!grown) return cj__parse_memory(p);
        memset(grown + before, 0, f->data_capacity - before);
        f->data = grown;
    }
    for (unsigned i = 0; i < bytes && i < sizeof value; i++) f->data[offset + i] = (unsigned char)(value >> 8 * i);
    if (end > var->data_bytes) var->data_bytes = end;
    var->data = f->data;
    return true;
}

static bool put_constant(cj_parser *p, filling *f, const char *at, uint64_t offset, const cj_ir_operand *value) {
    const cj_word_info *type = &cj__words[f->var->type];
    bool is_float = value->kind == CJ_OPERAND_FLOAT;
    bool bits_type = type->class == CJ_CLASS_BITS;
    bool takes = bits_type || is_float == (type->class == CJ_CLASS_FLOAT);
    if (!takes || (is_float && type->bits < 32))
        return cj__parse_error(p, at, "initialiser", "a .%s cannot be initialised with %s", type->text,
                               is_float ? "a float" : "an integer: write a point, or 0f…");
    uint64_t bits = value->bits;
    if (is_float && value->is_f32 != (type->bits == 32)) {
        uint32_t narrow = (uint32_t)bits;
        float single;
        double number;
        memcpy(&single, &narrow, sizeof single);
        memcpy(&number, &bits, sizeof number);
        if (value->is_f32) number = (double)single;
        else single = (float)number;
        memcpy(&narrow, &single, sizeof narrow);
        memcpy(&bits, &number, sizeof bits);
        if (type->bits == 32) bits = narrow;
    }
    return put_bytes(p, f, offset, bits, f->bytes);
}

static bool name_here(cj_parser *p, cj_ir_reloc *reloc) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    cj_ir_operand named = {.column = cj__column(p, at)};
    if (!length) return cj__expected(p, p->at, "a value or a name");
    p->at += length;
    if (!cj__resolve(p, at, length, &named)) return false;
    if (named.kind == CJ_OPERAND_NAME) return cj__undefined(p, at, &named);
    if (named.kind != CJ_OPERAND_VAR && named.kind != CJ_OPERAND_FUNC)
        return cj__parse_error(p, at, "initialiser", "'%.*s' has no address", (int)(length < 80 ? length : 80), at);
    if (named.kind == CJ_OPERAND_VAR) reloc->var = named.var;
    else reloc->func = named.func;
    cj__skip(p);
    return true;
}

// name, name+4, generic(name)+4
static bool parse_address(cj_parser *p, cj_ir_reloc *reloc) {
    if (cj__name_is(p, "generic")) {
        cj_mark start = cj__mark(p);
        p->at += strlen("generic");
        cj__skip(p);
        reloc->generic = cj__take(p, '(');
        if (!reloc->generic) p->at = start.at, p->line = start.line, p->line_start = start.line_start;
    }
    if (!name_here(p, reloc) || (reloc->generic && !cj__expect(p, ')', "after generic(name"))) return false;
    bool written;
    return cj__offset(p, &reloc->addend, &written);
}

static bool put_address(cj_parser *p, filling *f, cj_ir_reloc reloc) {
    cj_ir_var *var = f->var;
    cj_ir_reloc *grown = cj__arena_grow(p->arena, f->reloc, var->reloc_count, &var->reloc_capacity,
                                        sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    var->reloc = f->reloc = grown;
    grown[var->reloc_count++] = reloc;
    return put_bytes(p, f, reloc.offset, 0, f->bytes);
}

// 0xff00(name): the second byte of the address.
static bool parse_masked(cj_parser *p, filling *f, const char *at, uint64_t offset, uint64_t mask) {
    cj_ir_reloc reloc = {.offset = offset, .bytes = 1};
    while (reloc.shift < 64 && mask >> reloc.shift != 0xff) reloc.shift = (uint8_t)(reloc.shift + 8);
    if (reloc.shift == 64 || mask << (64 - reloc.shift - 8) << 8 || f->bytes != 1)
        return cj__parse_error(p, at, "initialiser", "a mask is 0xff, 0xff00, … in an array of bytes");
    cj__take(p, '(');
    return parse_address(p, &reloc) && cj__expect(p, ')', "after a masked address") && put_address(p, f, reloc);
}

static bool parse_value(cj_parser *p, filling *f, uint64_t offset) {
    const char *at = p->at;
    bool named = cj__name_length(p) && !cj__name_is(p, "WARP_SZ");
    if (!named) {
        cj_ir_operand value = {0};
        if (at == p->end || strchr(";,}{", *at))
            return cj__parse_error(p, at, "initialiser", "expected a value in the initialiser of '%s', found %s",
                                   f->var->name, cj__found(p, at).text);
        if (!cj__constant(p, &value)) return false;
        if (cj__at(p, '(')) return parse_masked(p, f, at, offset, value.kind == CJ_OPERAND_INT ? value.bits : 0);
        return put_constant(p, f, at, offset, &value);
    }
    cj_ir_reloc reloc = {.offset = offset, .bytes = (uint8_t)f->bytes};
    if (!parse_address(p, &reloc)) return false;
    if (f->bytes == 4 || f->bytes == 8) return put_address(p, f, reloc);
    return cj__parse_error(p, at, "initialiser", "an address takes 4 or 8 bytes, a .%s has %u",
                           cj__words[f->var->type].text, f->bytes);
}

// The values of one dimension in braces, or one value. *given is how many of the dimension were written.
static bool parse_level(cj_parser *p, filling *f, unsigned dimension, uint64_t offset, uint64_t *given) {
    const shape *dims = f->dims;
    if (dimension == dims->count) return parse_value(p, f, offset);
    const char *at = p->at;
    if (!cj__take(p, '{'))
        return cj__parse_error(p, at, "initialiser", "expected '{' in the initialiser of '%s', found %s", f->var->name,
                               cj__found(p, at).text);
    uint64_t stride = f->bytes, inner = 0;
    for (unsigned i = dimension + 1; i < dims->count; i++) stride *= dims->extent[i];
    bool more = !cj__take(p, '}');
    for (*given = 0; more; ++*given) {
        if (dims->extent[dimension] && *given == dims->extent[dimension])
            return cj__parse_error(p, p->at, "initialiser", "more than %llu values for this dimension of '%s'",
                                   (unsigned long long)dims->extent[dimension], f->var->name);
        if (*given > DATA_MAX / stride)
            return cj__parse_error(p, p->at, "initialiser", "the initialiser of '%s' reaches beyond %d bytes",
                                   f->var->name, DATA_MAX);
        if (!parse_level(p, f, dimension + 1, offset + *given * stride, &inner)) return false;
        more = cj__take(p, ',');
        if (!more && !cj__expect(p, '}', "or ',' after a value")) return false;
    }
    return true;
}

static bool parse_initial(cj_parser *p, cj_ir_var *var, shape *dims) {
    const char *equals = p->at;
    if (!cj__take(p, '=')) return true;
    const char *start = p->at;
    if (var->space != CJ_SPACE_GLOBAL && var->space != CJ_SPACE_CONST)
        return cj__parse_error(p, equals, "initialiser", "only .global and .const variables have initialisers");
    if (var->vector > 1) dims->extent[dims->count++] = var->vector;
    filling f = {.var = var, .dims = dims, .bytes = cj__words[var->type].bits / 8u};
    if (!f.bytes)
        return cj__parse_error(p, equals, "initialiser", "a .%s has no initialiser", cj__words[var->type].text);
    uint64_t given = 0;
    if (!parse_level(p, &f, 0, 0, &given)) return false;
    if (var->unsized) {  // the first extent follows from the values
        var->count *= given;
        var->unsized = false;
    }
    var->initial = cj__text_plain(p, start, p->at);
    return var->initial != NULL;
}

// ---- declarations

static bool declare_global(cj_parser *p, cj_ir_var *var, const char *at) {
    cj_map *names = &p->module->names;
    size_t length = strlen(var->name);
    const cj_ir_item *before = cj__map_get(names, var->name, length);
    bool again = before && before->kind == CJ_ITEM_VAR && before->var->space == var->space &&
                 (before->var->linkage == CJ_LINK_EXTERN || var->linkage == CJ_LINK_EXTERN);
    if (before && !again)
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this module", var->name);
    if (before && var->linkage == CJ_LINK_EXTERN) return true;  // the name stays with what defines it
    cj_ir_item *item = cj__arena_alloc(p->arena, sizeof *item);
    if (!item) return cj__parse_memory(p);
    *item = (cj_ir_item){.kind = CJ_ITEM_VAR, .var = var};
    return cj__map_put(names, var->name, length, item) || cj__parse_memory(p);
}

static bool declare_local(cj_parser *p, cj_ir_var *var, const char *at) {
    cj_ir_func *func = p->func;
    cj_ir_var **grown = cj__arena_grow(p->arena, func->var, func->var_count, &func->var_capacity,
                                       sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    func->var = grown;
    grown[func->var_count++] = var;
    return cj__declare(p, var->name, NULL, var, at);
}

cj_ir_var *cj__parse_declarator(cj_parser *p, const cj_ir_var *head) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) {
        cj__expected(p, p->at, "a name");
        return NULL;
    }
    cj_ir_var *var = cj__arena_alloc(p->arena, sizeof *var);
    if (!var) {
        cj__parse_memory(p);
        return NULL;
    }
    *var = *head;
    var->count = 1;
    var->line = p->line;
    var->name = cj__text_of(p, at, at + length);
    if (!var->name) return NULL;
    p->at += length;
    cj__skip(p);
    // a parameter is declared where its function's body opens
    bool is_param = head->space == CJ_SPACE_REG || (head->space == CJ_SPACE_PARAM && !p->scope);
    shape dims = {0};
    if (!parse_shape(p, var, &dims) || !parse_initial(p, var, &dims)) return NULL;
    if (var->unsized) var->count = 0;
    var->bytes = var->count * (cj__words[var->type].bits / 8u) * var->vector;
    bool declared = is_param || (p->func ? declare_local(p, var, at) : declare_global(p, var, at));
    return declared ? var : NULL;
}

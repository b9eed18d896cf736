// SPDX-License-Identifier: Apache-2.0
// Taking a .func out of a PTX file: found, held against its signature, and printed with placeholders (user_function.h).
#include "user_function.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "parse.h"
#include "print.h"

// Marks in printed PTX that become placeholders, since '$' may stand in names: of a prefix, and of an operand's number.
enum { MARK_PREFIX = 1, MARK_OPERAND = 2 };

// Where a `ret` that is not the last statement goes.
static const char return_label[] = "$L__return";

// What the steps share.
typedef struct taking {
    cj_ir_module       *module;
    cj_ir_func         *func;
    const cj_signature *signature;
    cj_arena           *arena;
    cj_map              used;   // names of module level that the function reaches
    const char        **queue;  // those, in the order found
    size_t              queue_count, queue_capacity;
    cj_text             text;
    bool                returns_early, wrote, reads_late;
    cj_error           *error;
    cj_status           status;
} taking;

// ---- types and signatures

static const char *const ptx_types[] = {
    [CJ_F32] = "f32", [CJ_F64] = "f64", [CJ_I32] = "s32", [CJ_U32] = "u32", [CJ_I64] = "s64", [CJ_U64] = "u64"};

const char *cj__dtype_ptx(cj_dtype type) { return ptx_types[cj_dtype_arithmetic(type)]; }

// A function computes, so its values are of a type that one computes in.
static cj_status check_scalar(cj_dtype type, const char *which, cj_error *error) {
    const char *name = cj_dtype_name(type);
    if (!name) return cj__fail(error, CJ_INVALID_ARGUMENT, "signature: %s is %d, not a cj_dtype", which, (int)type);
    if (cj_dtype_arithmetic(type) == type) return CJ_OK;
    cj_status status = cj__fail(error, CJ_INVALID_ARGUMENT, "signature: %s is %s, and functions compute in no such type",
                                which, name);
    cj__hint(error, "values of %s reach a function as %s: say %s", name, cj_dtype_name(cj_dtype_arithmetic(type)),
             cj_dtype_name(cj_dtype_arithmetic(type)));
    return status;
}

cj_status cj__signature_check(const cj_signature *signature, cj_error *error) {
    if (signature->count > CJ_FUNCTION_ARGUMENTS)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "signature: %" PRIu32 " arguments are more than %d",
                        signature->count, CJ_FUNCTION_ARGUMENTS);
    cj_status status = check_scalar(signature->result, "the result", error);
    for (uint32_t i = 0; !status && i < signature->count; i++) {
        char which[24];
        snprintf(which, sizeof which, "argument %" PRIu32, i);
        status = check_scalar(signature->argument[i], which, error);
    }
    return status;
}

static void put_wanted(cj_text *text, const cj_signature *signature, const char *name) {
    cj__text_printf(text, ".func (.param .b%zu) %s(", 8 * cj_dtype_size(signature->result), name);
    for (uint32_t i = 0; i < signature->count; i++)
        cj__text_printf(text, "%s.param .b%zu", i ? ", " : "", 8 * cj_dtype_size(signature->argument[i]));
    cj__text_puts(text, ")");
}

static void put_params(cj_text *text, cj_ir_var *const *param, size_t count) {
    for (size_t i = 0; i < count; i++)
        cj__text_printf(text, "%s%s .%s%s", i ? ", " : "", param[i]->space == CJ_SPACE_REG ? ".reg" : ".param",
                        cj__words[param[i]->type].text, param[i]->shape);
}

static void put_found(cj_text *text, const cj_ir_func *func) {
    cj__text_puts(text, func->is_entry ? ".entry " : ".func ");
    if (func->result_count) {
        cj__text_puts(text, "(");
        put_params(text, func->result, func->result_count);
        cj__text_puts(text, ") ");
    }
    cj__text_printf(text, "%s(", func->name);
    put_params(text, func->param, func->param_count);
    cj__text_puts(text, ")");
}

static cj_status unresolved(const taking *t, const char *name, const cj_ir_func *found) {
    cj_text wanted = {0}, there = {0};
    put_wanted(&wanted, t->signature, name);
    if (found)
        put_found(&there, found);
    else
        cj__text_puts(&there, "no function of that name");
    cj_status status = wanted.failed || there.failed
                           ? cj__fail(t->error, CJ_OUT_OF_MEMORY, "out of memory while reading a user's function")
                           : cj__fail(t->error, CJ_COMPILER, "unresolved user function '%s': wanted %s, found %s%s",
                                      name, wanted.data, there.data,
                                      found && !found->has_body ? " without a body" : "");
    if (!wanted.failed) cj__hint(t->error, "define it in the source with these very types: %.200s", wanted.data);
    cj__rule(t->error, "user-function");
    cj__text_free(&wanted);
    cj__text_free(&there);
    return status;
}

static bool is_scalar(const cj_ir_var *var, cj_dtype type) {
    return var->space == CJ_SPACE_PARAM && !var->is_array && var->vector == 1 && var->bytes == cj_dtype_size(type);
}

static cj_status find_function(taking *t, const char *name) {
    const cj_signature *want = t->signature;
    cj_ir_func         *func = cj__ir_func(t->module, name);
    bool                fits = func && func->has_body && !func->is_entry && func->result_count == 1 &&
                func->param_count == want->count && is_scalar(func->result[0], want->result);
    for (uint32_t i = 0; fits && i < want->count; i++) fits = is_scalar(func->param[i], want->argument[i]);
    t->func = func;
    return fits ? CJ_OK : unresolved(t, name, func);
}

// ---- what the function reaches

static bool reach(taking *t, const char *name) {
    if (cj__map_get(&t->used, name, strlen(name))) return true;
    const char **grown = cj__arena_grow(t->arena, t->queue, t->queue_count, &t->queue_capacity, sizeof *grown);
    if (!grown) return false;
    t->queue = grown;
    grown[t->queue_count++] = name;
    return cj__map_put(&t->used, name, strlen(name), t);
}

static bool reach_operand(taking *t, const cj_ir_operand *o) {
    if (o->kind == CJ_OPERAND_FUNC) return reach(t, o->func->name);
    if (o->kind == CJ_OPERAND_VAR) return o->var->func || reach(t, o->var->name);
    if (o->kind == CJ_OPERAND_MEMORY) return reach_operand(t, o->base);
    if (o->kind != CJ_OPERAND_LIST && o->kind != CJ_OPERAND_VECTOR) return true;
    for (unsigned i = 0; i < o->count; i++)
        if (!reach_operand(t, &o->list[i])) return false;
    return true;
}

static bool reach_body(taking *t, const cj_ir_func *func) {
    for (size_t i = 0; i < func->stmt_count; i++) {
        const cj_ir_stmt *stmt = &func->stmt[i];
        if (stmt->kind == CJ_STMT_INST)
            for (unsigned k = 0; k < stmt->inst->operand_count; k++)
                if (!reach_operand(t, &stmt->inst->operand[k])) return false;
        if (stmt->kind == CJ_STMT_TARGETS && stmt->targets->calls)
            for (unsigned k = 0; k < stmt->targets->count; k++)
                if (!reach_operand(t, &stmt->targets->list[k])) return false;
    }
    return true;
}

// A name of module level must be there in full: its function has a body, its variable's bytes hold no addresses, which
// are kept as they were written and could not be renamed.
static cj_status check_used(const taking *t, const char *name) {
    const cj_ir_item *item = cj__map_get(&t->module->names, name, strlen(name));
    bool              is_func = item->kind == CJ_ITEM_FUNC;
    if (is_func ? item->func->has_body : item->var->linkage != CJ_LINK_EXTERN && !item->var->reloc_count) return CJ_OK;
    cj_status status = is_func || item->var->linkage == CJ_LINK_EXTERN
                           ? cj__fail(t->error, CJ_COMPILER,
                                      "the user function '%s' uses '%s', which is not in its source", t->func->name,
                                      name)
                           : cj__fail(t->error, CJ_COMPILER,
                                      "the user function '%s' uses '%s', a variable that holds"
                                      " addresses",
                                      t->func->name, name);
    cj__rule(t->error, "user-function");
    cj__hint(t->error, "a user function brings everything that it uses along: no printf, no assert, no external code");
    return status;
}

static cj_status no_memory(const taking *t) {
    return cj__fail(t->error, CJ_OUT_OF_MEMORY, "out of memory while reading a user's function");
}

static cj_status find_used(taking *t) {
    if (!reach_body(t, t->func)) return no_memory(t);
    for (size_t i = 0; i < t->queue_count; i++) {
        cj_status status = check_used(t, t->queue[i]);
        if (status) return status;
        const cj_ir_func *func = cj__ir_func(t->module, t->queue[i]);
        if (func && !reach_body(t, func)) return no_memory(t);
    }
    return CJ_OK;
}

// ---- placeholders

// Prints a text with its marks as placeholders and '$' as "$$"; the copy lives in the arena.
static const char *as_template(taking *t, cj_text *text) {
    cj_text out = {0};
    for (size_t i = 0; i < text->length; i++) {
        char c = text->data[i];
        if (c == MARK_PREFIX)
            cj__text_printf(&out, "$%d_", CJ_USER_PREFIX);
        else if (c == MARK_OPERAND)
            cj__text_puts(&out, "$");
        else if (c == '$')
            cj__text_puts(&out, "$$");
        else
            cj__text_add(&out, &c, 1);
    }
    const char *copy = out.failed || text->failed ? NULL
                                                  : cj__arena_text(t->arena, out.data ? out.data : "", out.length);
    cj__text_free(&out);
    text->length = 0;
    return copy;
}

// Marks the module's names, and makes them known to the module alone.
static bool mark_names(taking *t) {
    for (size_t i = 0; i < t->module->item_count; i++) {
        cj_ir_item *item = &t->module->item[i];
        bool        is_func = item->kind == CJ_ITEM_FUNC;
        if (!is_func && item->kind != CJ_ITEM_VAR) continue;
        const char **name = is_func ? &item->func->name : &item->var->name;
        size_t       length = strlen(*name);
        if (!cj__map_get(&t->used, *name, length)) continue;
        char *marked = cj__arena_alloc(t->arena, length + 2);
        if (!marked) return false;
        *marked = MARK_PREFIX;
        memcpy(marked + 1, *name, length);
        *name = marked;
        if (is_func)
            item->func->linkage = CJ_LINK_NONE;
        else
            item->var->linkage = CJ_LINK_NONE;
    }
    return true;
}

static const char *items_text(taking *t) {
    for (size_t i = 0; i < t->module->item_count; i++) {
        const cj_ir_item *item = &t->module->item[i];
        const char       *name = item->kind == CJ_ITEM_FUNC  ? item->func->name
                                 : item->kind == CJ_ITEM_VAR ? item->var->name
                                                             : "";
        if (*name == MARK_PREFIX) cj__print_item(t->module, item, &t->text);
    }
    return as_template(t, &t->text);
}

// ---- the body

// The parameter (0), the result (1) or neither (-1) that a memory operand names, with its index.
static int place_of(const taking *t, const cj_ir_operand *o, uint32_t *index) {
    const cj_ir_func *func = t->func;
    if (o->kind == CJ_OPERAND_MEMORY) o = o->base;
    if (o->kind != CJ_OPERAND_VAR) return -1;
    for (*index = 0; *index < func->param_count; ++*index)
        if (func->param[*index] == o->var) return 0;
    return func->result[0] == o->var ? 1 : -1;
}

static bool opcode_is(const cj_ir_inst *inst, const char *opcode) {
    size_t length = strlen(opcode);
    return !strncmp(inst->mnemonic->text, opcode, length) &&
           (!inst->mnemonic->text[length] || inst->mnemonic->text[length] == '.');
}

static void put_guard(cj_text *text, const cj_ir_inst *inst) {
    if (inst->guard) cj__text_printf(text, "@%s%s ", inst->guard_negated ? "!" : "", inst->guard->name);
}

// What a load or a store of a parameter moves: all of it, a part (compilers load the low half of what they need no more
// of), or something else.
typedef enum extent { WHOLE, PART, OTHER } extent;

static extent extent_of(const cj_ir_inst *inst, const cj_ir_operand *memory, cj_dtype type) {
    const cj_word_info *moved = &cj__words[inst->mnemonic->type_last];
    const int64_t       bits = 8 * (int64_t)cj_dtype_size(type), at = 8 * memory->offset;
    if (inst->mnemonic->vector != 1 || memory->kind != CJ_OPERAND_MEMORY || at < 0) return OTHER;
    if (moved->bits == bits && !at) return WHOLE;
    return moved->class != CJ_CLASS_FLOAT && at + moved->bits <= bits ? PART : OTHER;
}

// ld.param.u32 of the upper half: { .reg .b64 %whole; mov.b64 %whole, $3; shr.u64 %whole, %whole, 32; cvt.u32.u64 %r1,
// %whole; }
static void put_part(cj_text *text, const cj_ir_inst *inst, cj_dtype type, uint32_t argument) {
    const cj_word_info *moved = &cj__words[inst->mnemonic->type_last];
    const size_t        bits = 8 * cj_dtype_size(type);
    cj__text_printf(text, "{\n.reg .b%zu %%whole;\nmov.b%zu %%whole, %c%" PRIu32 ";\n", bits, bits, MARK_OPERAND,
                    argument);
    if (inst->operand[1].offset)
        cj__text_printf(text, "shr.u%zu %%whole, %%whole, %" PRId64 ";\n", bits, 8 * inst->operand[1].offset);
    put_guard(text, inst);
    cj__text_printf(text, "cvt.%c%u.u%zu ", moved->class == CJ_CLASS_SIGNED ? 's' : 'u', (unsigned)moved->bits, bits);
    cj__print_operand(text, &inst->operand[0]);
    cj__text_puts(text, ", %whole;\n}\n");
}

static void put_load(cj_text *text, const cj_ir_inst *inst, cj_dtype type, uint32_t argument) {
    put_guard(text, inst);
    cj__text_printf(text, "mov.b%zu ", 8 * cj_dtype_size(type));
    cj__print_operand(text, &inst->operand[0]);
    cj__text_printf(text, ", %c%" PRIu32 ";\n", MARK_OPERAND, argument);
}

static void put_store(cj_text *text, const cj_ir_inst *inst, cj_dtype type) {
    put_guard(text, inst);
    cj__text_printf(text, "mov.b%zu %c%d, ", 8 * cj_dtype_size(type), MARK_OPERAND, CJ_USER_RESULT);
    cj__print_operand(text, &inst->operand[1]);
    cj__text_puts(text, ";\n");
}

// Loads of parameters and stores of the result become moves. False: this is another statement. Sets the status where a
// parameter is used in a way that a register cannot be.
static bool put_move(taking *t, const cj_ir_inst *inst) {
    uint32_t index = 0;
    int      place = -1;
    unsigned at = 0;
    while (at < inst->operand_count && (place = place_of(t, &inst->operand[at], &index)) < 0) at++;
    if (place < 0) return false;
    bool reads = place == 0 && opcode_is(inst, "ld.param") && at == 1,
         writes = place == 1 && opcode_is(inst, "st.param") && !at;
    cj_dtype type = place ? t->signature->result : t->signature->argument[index];
    extent   moved = reads || writes ? extent_of(inst, &inst->operand[at], type) : OTHER;
    t->reads_late |= reads && t->wrote;
    t->wrote |= writes;
    if (reads && moved == WHOLE)
        put_load(&t->text, inst, type, CJ_USER_ARGUMENT + index);
    else if (reads && moved == PART)
        put_part(&t->text, inst, type, CJ_USER_ARGUMENT + index);
    else if (writes && moved == WHOLE)
        put_store(&t->text, inst, type);
    else {
        t->status = cj__fail(t->error, CJ_COMPILER, "the user function '%s' uses its %s as more than a value",
                             t->func->name, place ? "result" : "parameter");
        cj__rule(t->error, "user-function");
    }
    return true;
}

static void put_return(taking *t, const cj_ir_inst *inst, bool last) {
    if (last) return;
    t->returns_early = true;
    put_guard(&t->text, inst);
    cj__text_printf(&t->text, "bra %s;\n", return_label);
}

// The last statement that does something.
static size_t last_of(const cj_ir_func *func) {
    size_t i = func->stmt_count;
    while (i && func->stmt[i - 1].kind != CJ_STMT_INST && func->stmt[i - 1].kind != CJ_STMT_CLOSE) i--;
    return i - (i > 0);
}

static void put_statement(taking *t, size_t i, size_t *depth) {
    const cj_ir_stmt *stmt = &t->func->stmt[i];
    if (stmt->kind == CJ_STMT_BLANK || (stmt->kind == CJ_STMT_DIRECTIVE && !strncmp(stmt->text, ".loc", 4))) return;
    if (stmt->kind == CJ_STMT_INST && put_move(t, stmt->inst)) return;
    if (stmt->kind == CJ_STMT_INST && opcode_is(stmt->inst, "ret"))
        put_return(t, stmt->inst, i == last_of(t->func) && !stmt->inst->guard);
    else
        cj__print_stmt(&t->text, stmt, depth);
}

static const char *body_text(taking *t) {
    size_t depth = 1;
    for (size_t i = 0; i < t->func->stmt_count && !t->status; i++) put_statement(t, i, &depth);
    if (t->returns_early) cj__text_printf(&t->text, "%s:\n", return_label);
    return as_template(t, &t->text);
}

// ---- constants

// The bits that an operand gives a scalar of that type; false for one that is not a number.
static bool number_bits(const cj_ir_operand *o, cj_dtype type, uint64_t *bits) {
    bool is_float = type == CJ_F32 || type == CJ_F64;
    *bits = o->bits;
    if (o->kind == CJ_OPERAND_INT) return true;
    if (o->kind != CJ_OPERAND_FLOAT) return false;
    return o->is_f32 == (cj_dtype_size(type) == 4) || !is_float;
}

// A function of no arguments whose body is: mov of a number, st.param of it, ret.
static bool find_constant(const taking *t, uint64_t *bits) {
    const cj_ir_reg *reg = NULL;
    bool             known = false, stored = false;
    if (t->signature->count) return false;
    for (size_t i = 0; i < t->func->stmt_count; i++) {
        const cj_ir_stmt *stmt = &t->func->stmt[i];
        if (stmt->kind != CJ_STMT_INST) continue;
        const cj_ir_inst *inst = stmt->inst;
        if (inst->guard) return false;
        if (opcode_is(inst, "mov") && !known && number_bits(&inst->operand[1], t->signature->result, bits)) {
            reg = inst->operand[0].reg;
            known = true;
        } else if (opcode_is(inst, "st.param") && !stored) {
            const cj_ir_operand *from = &inst->operand[1];
            stored = true;
            if (from->kind == CJ_OPERAND_REG ? !known || from->reg != reg
                                             : !number_bits(from, t->signature->result, bits))
                return false;
        } else if (!opcode_is(inst, "ret")) {
            return false;
        }
    }
    return stored;
}

// ---- the function

// One line for comments.
static const char *comment_text(cj_arena *arena, const char *text) {
    char *line = cj__arena_text(arena, text, strlen(text));
    for (char *c = line; c && *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    return line;
}

static cj_status take(taking *t, cj_user_function *made, const char *name, const char *text) {
    cj_status status = find_function(t, name);
    if (!status) status = find_used(t);
    if (status) return status;
    made->is_constant = find_constant(t, &made->constant);
    if (!mark_names(t)) return no_memory(t);
    made->items = items_text(t);
    made->body = body_text(t);
    if (t->status) return t->status;
    made->text = comment_text(&made->arena, text ? text : name);
    made->target = cj__target_find(t->module->target);
    made->reads_late = t->reads_late;
    return made->items && made->body && made->text ? CJ_OK : no_memory(t);
}

static cj_user_function *new_function(const cj_signature *signature) {
    cj_user_function *made = cj__calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->shares, 1);
    made->result = signature->result;
    made->count = signature->count;
    memcpy(made->argument, signature->argument, sizeof made->argument);
    return made;
}

cj_status cj__user_function_make(const char *ptx, size_t length, const char *name, const cj_signature *signature,
                                 const char *text, cj_user_function **function, cj_error *error) {
    *function = NULL;
    cj_ir_module *module;
    cj_status     status = cj__signature_check(signature, error);
    if (!status) status = cj__ir_parse(ptx, length, &module, error);
    if (status) return status;
    cj_user_function *made = new_function(signature);
    taking            t = {.module = module, .signature = signature, .arena = &module->arena, .error = error};
    t.used.arena = t.arena;
    if (!made) status = no_memory(&t);
    if (!status) status = cj__check(module, error);
    if (!status) {
        t.arena = &made->arena;
        t.used.arena = &made->arena;
        status = take(&t, made, name, text);
    }
    cj__text_free(&t.text);
    cj__ir_free(module);
    if (status)
        cj_user_function_destroy(made);
    else
        *function = made;
    return status;
}

cj_status cj_function_from_ptx(const char *ptx, size_t length, const char *name, const cj_signature *signature,
                               cj_user_function **function, cj_error *error) {
    if (!ptx || !name || !signature || !function)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_function_from_ptx: an argument is 0");
    return cj__user_function_make(ptx, length, name, signature, NULL, function, error);
}

// Its count of shares is the one thing about a function that changes.
static cj_user_function *owned(const cj_user_function *function) {
    cj_user_function *same;
    memcpy(&same, &function, sizeof same);
    return same;
}

const cj_user_function *cj__user_function_share(const cj_user_function *function) {
    if (function) atomic_fetch_add_explicit(&owned(function)->shares, 1, memory_order_relaxed);
    return function;
}

void cj__user_function_drop(const cj_user_function *function) {
    if (!function || atomic_fetch_sub_explicit(&owned(function)->shares, 1, memory_order_acq_rel) > 1) return;
    cj__arena_free(&owned(function)->arena);
    cj__free(owned(function));
}

void cj_user_function_destroy(cj_user_function *function) { cj__user_function_drop(function); }

// "(f32, f32) -> f32".
static void put_types(cj_text *text, const cj_dtype *argument, uint32_t count, cj_dtype result) {
    for (uint32_t i = 0; i < count; i++) cj__text_printf(text, "%s%s", i ? ", " : "(", cj_dtype_name(argument[i]));
    cj__text_printf(text, "%s) -> %s", count ? "" : "(", cj_dtype_name(result));
}

cj_status cj__user_function_check(const cj_user_function *function, const char *parameter, cj_dtype type,
                                  uint32_t count, cj_error *error) {
    const cj_dtype all[CJ_FUNCTION_ARGUMENTS] = {type, type, type, type};
    bool           fits = function->count == count && function->result == type &&
                !memcmp(function->argument, all, count * sizeof *all);
    if (fits) return CJ_OK;
    cj_text wanted = {0}, found = {0};
    put_types(&wanted, all, count, type);
    put_types(&found, function->argument, function->count, function->result);
    cj_status status = wanted.failed || found.failed
                           ? cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while checking %s", parameter)
                           : cj__fail(error, CJ_INVALID_ARGUMENT,
                                      "%s: unresolved user function '%.200s': wanted %s, found %s", parameter,
                                      function->text, wanted.data, found.data);
    if (!wanted.failed) cj__hint(error, "make it with the signature %.200s", wanted.data);
    cj__rule(error, "user-function");
    cj__text_free(&wanted);
    cj__text_free(&found);
    return status;
}

const char *cj_user_function_text(const cj_user_function *function) {
    return function ? function->text : NULL;
}

int cj_user_function_constant(const cj_user_function *function, void *value) {
    if (!function) return 0;
    if (function->is_constant && value) memcpy(value, &function->constant, cj_dtype_size(function->result));
    return function->is_constant;
}

// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/control.h>

#include <stdbool.h>

#include "builder.h"

// Branches where `p` is `holds`; where cj_always() would not be, nothing is written. What is wrong with an operand is said under
// the name of the public call.
static void branch(const cj_body *body, const char *call, cj_reg p, int holds, cj_label to) {
    static const char *const lines[2][2] = {{"@!$1 bra $2;", "@!$1 bra.uni $2;"}, {"@$1 bra $2;", "@$1 bra.uni $2;"}};
    if (!holds && cj_is_always(p)) return;
    cj_ptx_args(body->f, call, 0, CJ_OPERANDS(lines[holds != 0][body->uniform != 0], p, to), 3);
}

cj_body cj_if_begin(cj_func *f, cj_reg p, int holds, const char *done, int uniform) {
    const cj_body body = {.f = f, .kind = CJ_BODY_IF, .end = cj_label_new(f, done), .open = 1, .uniform = uniform};
    branch(&body, holds ? "CJ_IF" : "CJ_UNLESS", p, !holds, body.end);
    return body;
}

cj_body cj_if_else_begin(cj_func *f, cj_reg p, const char *other, const char *done, int uniform) {
    const cj_body body = {.f = f,
                          .kind = CJ_BODY_IF_ELSE,
                          .other = cj_label_new(f, other),
                          .end = cj_label_new(f, done),
                          .open = 2,
                          .uniform = uniform};
    branch(&body, "CJ_IF_ELSE", p, 0, body.other);
    return body;
}

cj_body cj_once_begin(cj_func *f, const char *done, int uniform) {
    return (cj_body){.f = f, .kind = CJ_BODY_ONCE, .end = cj_label_new(f, done), .open = 1, .uniform = uniform};
}

cj_body cj_do_begin(cj_func *f, const char *label, int uniform) {
    const cj_body body = {.f = f, .kind = CJ_BODY_DO, .top = cj_label_new(f, label), .open = 1, .uniform = uniform};
    cj_label_here(f, body.top);
    return body;
}

void cj_do_end(cj_body *body, cj_reg p) {
    if (!body) return;
    branch(body, "CJ_DO", p, 1, body->top);
    body->open = 0;
}

cj_body cj_count_begin(cj_func *f, const char *label, cj_reg index, cj_arg step, const cj_arg *limit, int uniform) {
    cj_body body = cj_do_begin(f, label, uniform);
    cj__func_has(f, index, "%s: the register that counts", limit ? "CJ_COUNT" : "CJ_COUNT_DOWN");
    body.kind = CJ_BODY_COUNT;
    body.again = cj_pred(f, "more");
    body.index = index;
    body.step = step;
    body.down = !limit;
    body.limit = limit ? *limit : cj_arg_int(0);
    return body;
}

cj_body cj_loop_begin(cj_func *f, const char *label, const char *done, int uniform) {
    const cj_body body = {.f = f,
                          .kind = CJ_BODY_LOOP,
                          .top = cj_label_new(f, label),
                          .end = cj_label_new(f, done),
                          .open = 1,
                          .uniform = uniform};
    cj_label_here(f, body.top);
    return body;
}

void cj_leave(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, __func__, p, 1, loop->end);
}

void cj_leave_unless(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, __func__, p, 0, loop->end);
}

void cj_repeat(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, __func__, p, 1, loop->top);
}

cj_body cj_for_begin(cj_func *f, const char *type, const char *name, cj_arg first, cj_arg limit, cj_arg step) {
    cj_body body = {
        .f = f, .kind = CJ_BODY_FOR, .index = cj_mov(f, type, name, first), .limit = limit, .step = step, .open = 1};
    body.top = cj_label_new(f, "next");
    body.end = cj_label_new(f, "done");
    body.again = cj_lt(f, "more", body.index, limit);
    branch(&body, "CJ_FOR", body.again, 0, body.end);
    cj_label_here(f, body.top);
    return body;
}

static void next_index(const cj_body *body) {
    cj_func    *f = body->f;
    const char *type = cj_reg_type(f, body->index), *add = body->down ? "sub" : "add", *less = body->down ? "ne" : "lt";
    cj_ptx(f, "$3.$4 $1, $1, $2;", body->index, body->step, add, type);
    cj_ptx(f, "setp.$4.$5 $1, $2, $3;", body->again, body->index, body->limit, less, type);
}

// What is written where a block of each kind ends; a body of two, before its first block has ended, goes to `end`.
static const struct body_end {
    bool counts, repeats, has_end;  // to the next index; back to `top`; the label `end`
} body_ends[] = {
    [CJ_BODY_IF] = {false, false, true},
    [CJ_BODY_IF_ELSE] = {false, false, true},
    [CJ_BODY_ONCE] = {false, false, true},
    [CJ_BODY_DO] = {false, false, false},  // cj_do_end branches
    [CJ_BODY_COUNT] = {true, true, false},
    [CJ_BODY_LOOP] = {false, true, true},
    [CJ_BODY_FOR] = {true, true, true},
};

void cj_body_end(cj_body *body) {
    if (!body) return;
    cj_func *f = body->f;
    body->open--;
    const struct body_end *ends = &body_ends[body->kind];
    if (body->kind == CJ_BODY_IF_ELSE && body->open) {
        branch(body, "CJ_IF_ELSE", cj_always(), 1, body->end);
        cj_label_here(f, body->other);
        return;
    }
    if (ends->counts) next_index(body);
    if (ends->repeats) branch(body, "cj_body_end", ends->counts ? body->again : cj_always(), 1, body->top);
    if (ends->has_end) cj_label_here(f, body->end);
}

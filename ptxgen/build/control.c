// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/control.h>

#include "builder.h"

// Branches where `p` is `holds`.
static void branch(const cj_body *body, cj_reg p, int holds, cj_label to) {
    static const char *const lines[2][2] = {{"@!$1 bra $2;", "@!$1 bra.uni $2;"}, {"@$1 bra $2;", "@$1 bra.uni $2;"}};
    cj_ptx(body->f, lines[holds != 0][body->uniform != 0], p, to);
}

cj_body cj_if_begin(cj_func *f, cj_reg p, int holds, const char *done, int uniform) {
    const cj_body body = {.f = f, .end = cj_label_new(f, done), .open = 1, .uniform = uniform};
    branch(&body, p, !holds, body.end);
    return body;
}

cj_body cj_where_begin(cj_func *f, cj_reg p, const char *done) {
    return p.id ? cj_if_begin(f, p, 1, done, 0) : cj_once_begin(f, done, 0);
}

cj_body cj_if_else_begin(cj_func *f, cj_reg p, const char *other, const char *done, int uniform) {
    const cj_body body = {
        .f = f, .other = cj_label_new(f, other), .end = cj_label_new(f, done), .open = 2, .uniform = uniform};
    branch(&body, p, 0, body.other);
    return body;
}

cj_body cj_once_begin(cj_func *f, const char *done, int uniform) {
    return (cj_body){.f = f, .end = cj_label_new(f, done), .open = 1, .uniform = uniform};
}

cj_body cj_do_begin(cj_func *f, const char *label, int uniform) {
    const cj_body body = {.f = f, .top = cj_label_new(f, label), .open = 1, .uniform = uniform};
    cj_label_here(f, body.top);
    return body;
}

void cj_do_end(cj_body *body, cj_reg p) {
    if (!body) return;
    branch(body, p, 1, body->top);
    body->open = 0;
}

cj_body cj_count_begin(cj_func *f, const char *label, cj_reg index, cj_arg step, const cj_arg *limit, int uniform) {
    cj_body body = cj_do_begin(f, label, uniform);
    body.again = cj_pred(f, "more");
    body.index = index;
    body.step = step;
    body.down = !limit;
    body.limit = limit ? *limit : cj_arg_int(0);
    return body;
}

cj_body cj_loop_begin(cj_func *f, const char *label, const char *done, int uniform) {
    const cj_body body = {
        .f = f, .top = cj_label_new(f, label), .end = cj_label_new(f, done), .open = 1, .uniform = uniform};
    cj_label_here(f, body.top);
    return body;
}

void cj_leave(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, p, 1, loop->end);
}

void cj_leave_unless(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, p, 0, loop->end);
}

void cj_repeat(const cj_body *loop, cj_reg p) {
    if (loop) branch(loop, p, 1, loop->top);
}

cj_body cj_for_begin(cj_func *f, const char *type, const char *name, cj_arg first, cj_arg limit, cj_arg step) {
    cj_body body = {.f = f, .index = cj_mov(f, type, name, first), .limit = limit, .step = step, .open = 1};
    body.top = cj_label_new(f, "next");
    body.end = cj_label_new(f, "done");
    body.again = cj_lt(f, "more", body.index, limit);
    cj_ptx(f, "@!$1 bra $2;", body.again, body.end);
    cj_label_here(f, body.top);
    return body;
}

static void next_index(const cj_body *body) {
    cj_func    *f = body->f;
    const char *type = cj_reg_type(f, body->index), *add = body->down ? "sub" : "add", *less = body->down ? "ne" : "lt";
    cj_ptx(f, "$3.$4 $1, $1, $2;", body->index, body->step, add, type);
    cj_ptx(f, "setp.$4.$5 $1, $2, $3;", body->again, body->index, body->limit, less, type);
}

static void go(const cj_body *body, cj_label to) { cj_ptx(body->f, body->uniform ? "bra.uni $1;" : "bra $1;", to); }

void cj_body_end(cj_body *body) {
    if (!body) return;
    cj_func *f = body->f;
    body->open--;
    if (body->other.id && body->open) {
        go(body, body->end);
        cj_label_here(f, body->other);
        return;
    }
    if (body->index.id) next_index(body);
    if (body->again.id)
        branch(body, body->again, 1, body->top);
    else if (body->top.id)
        go(body, body->top);
    if (body->end.id) cj_label_here(f, body->end);
}

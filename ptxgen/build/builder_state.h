// SPDX-License-Identifier: Apache-2.0
// What the builder's files share: its state, and how a line of text is written.
#ifndef CJ_BUILDER_STATE_H
#define CJ_BUILDER_STATE_H

#include "builder.h"
#include "parser.h"
#include "text.h"
#include "user_function.h"

struct cj_func {
    cj_builder  *builder;
    cj_ir_func  *ir;
    cj_ir_reg  **reg;    // handed out, by id - 1: the function may have more, declared in its text
    size_t       reg_count, reg_capacity;
    cj_ir_var  **var;    // the same
    size_t       var_count, var_capacity;
    const char **label;  // names, by id - 1
    size_t       label_count, label_capacity;
};

// A user's function, and what stands before the names that it brought along.
typedef struct callee {
    const cj_user_function *function;
    const char             *prefix;
} callee;

struct cj_builder {
    cj_parser parser;
    cj_error  error;  // the first one
    cj_text   line;   // scratch: the line with its operands put in
    cj_func   func;
    callee   *callee;   // by id - 1
    size_t    callee_count, callee_capacity;
    uint16_t  version;  // asked for; 0: the least
};

enum { PARAM_BIT = 1 << 30 };  // of the ids of variables that are parameters

static inline bool is_open(const cj_func *f) { return f && f->ir && !f->builder->parser.status; }

// Puts the operands into the text arg[0], as the builder's line; false, with the error set, at one that is missing.
bool cj__builder_expand(cj_func *f, const cj_arg *arg, unsigned count);

// Makes the text what the parser reads next.
void cj__builder_parse_text(cj_parser *p, const cj_text *text);

// Says which C line wrote the line that was refused.
void cj__builder_name_line(cj_builder *b, const char *file, int line);

#endif

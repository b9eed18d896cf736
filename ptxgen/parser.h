// SPDX-License-Identifier: Apache-2.0
// The parser's state, shared by its files and by the builder, which feeds it line by line.
//
//   lex.c         characters: blanks, comments, names, numbers
//   parse.c       the file: directives, variables, functions
//   parse_body.c  a function's body: declarations, labels, instructions, operands
//
// The first error sticks: it is filled in, and every parsing function returns false from there on.
#ifndef CJ_PTXGEN_PARSER_H
#define CJ_PTXGEN_PARSER_H

#include "parse.h"

typedef struct cj_comment {
    const char *text;
    size_t      length;
    uint32_t    line, last_line;
} cj_comment;

typedef struct cj_jump {
    cj_ir_operand *operand;
    uint32_t       line;
} cj_jump;

// A pair of braces. Labels are known in the whole of their scope, so a branch finds its label when the scope closes.
typedef struct cj_scope {
    struct cj_scope *outer;
    cj_map           names;    // registers and variables: name -> cj_name
    cj_map           ranges;   // "%r" of %r<54> -> cj_range
    cj_map           labels;   // name -> cj_ir_label
    cj_jump         *jump;     // uses of labels that are not resolved yet
    size_t           jump_count, jump_capacity;
} cj_scope;

// What a name in a body stands for: one of the two.
typedef struct cj_name {
    const cj_ir_reg *reg;
    const cj_ir_var *var;
} cj_name;

typedef struct cj_range {
    uint16_t type;
    uint8_t  vector;
    uint64_t count;
    uint32_t line;
} cj_range;

typedef struct cj_parser {
    const char   *begin, *at, *end;
    const char   *line_start;
    uint32_t      line;
    uint32_t      last_line;     // on which the last statement or comment ended
    cj_ir_module *module;
    cj_ir_func   *func;          // whose body is being read, or NULL
    cj_scope     *scope;
    unsigned      depth;         // of operands in operands
    cj_comment   *comment;       // read, not yet attached
    size_t        comment_count, comment_capacity;
    cj_error     *error;
    cj_status     status;        // the first error's
} cj_parser;

// ---- lex.c

// Records the first error, at `at`; returns false. The text names what was expected and what was found.
bool cj__parse_error(cj_parser *p, const char *at, const char *rule, const char *format, ...) CJ_PRINTF(4, 5);
bool cj__parse_memory(cj_parser *p);  // out of memory, as an error

// What stands at `at`, short enough for a message.
typedef struct cj_found {
    char text[48];
} cj_found;
cj_found cj__found(const cj_parser *p, const char *at);

void   cj__skip(cj_parser *p);                      // blanks and comments
bool   cj__at(const cj_parser *p, char c);          // the next character, nothing skipped
bool   cj__take(cj_parser *p, char c);              // takes it and the blanks behind it
bool   cj__expect(cj_parser *p, char c, const char *where);
size_t cj__name_length(const cj_parser *p);         // of the identifier here; 0: none
size_t cj__word_length(const cj_parser *p);         // of the dotted word here, `::` included: ".shared::cluster"
bool   cj__word_is(const cj_parser *p, const char *word);
bool   cj__take_word(cj_parser *p, const char *word);
bool   cj__number(cj_parser *p, cj_ir_operand *operand);    // an integer or a float literal, sign included
bool   cj__integer(cj_parser *p, uint64_t *value, const char *what);
const char *cj__text_of(cj_parser *p, const char *from, const char *to);     // a trimmed copy; NULL sets the error
const char *cj__text_plain(cj_parser *p, const char *from, const char *to);  // without comments, one blank between words
uint32_t    cj__column(const cj_parser *p, const char *at);

// ---- parse.c

bool       cj__parse_file(cj_parser *p);
bool       cj__parse_type(cj_parser *p, uint16_t *type, uint8_t *vector);
// A variable: first what all declarators of a declaration share (alignment, type), then each name with its shape and
// initialiser, declared in the current scope or in the module.
bool       cj__parse_var_head(cj_parser *p, cj_ir_var *head);
cj_ir_var *cj__parse_declarator(cj_parser *p, const cj_ir_var *head);
cj_ir_func *cj__new_func(cj_parser *p, const char *name, bool is_entry, uint32_t line);

// ---- parse_body.c

cj_ir_stmt *cj__add_stmt(cj_parser *p, cj_stmt_kind kind, const char *at);
bool cj__open_body(cj_parser *p, cj_ir_func *func);     // parameters become visible
bool cj__parse_statements(cj_parser *p);                // until the text or the body ends
bool cj__close_body(cj_parser *p);                      // every label used is defined
bool cj__declare(cj_parser *p, const char *name, const cj_ir_reg *reg, const cj_ir_var *var, const char *at);
cj_ir_reg *cj__new_reg(cj_parser *p, const char *name, uint16_t type, uint8_t vector);
cj_ir_item *cj__add_item(cj_parser *p, cj_item_kind kind);
void cj__attach_comments(cj_parser *p);                 // those read so far, to statements or items
bool cj__reserved_name(const char *name, size_t length);  // "%tid", "%clock": stems of special registers

#endif

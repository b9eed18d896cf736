// SPDX-License-Identifier: Apache-2.0
// The parser's state, shared by its files and by the builder, which feeds it line by line.
//
//   lex.c         characters: blanks, comments, names, literals
//   constant.c    constant expressions
//   parse.c       the file: its head, directives and items; recovery from errors
//   parse_var.c   types, variables, initialisers
//   parse_func.c  heads of functions: parameters and directives
//   parse_name.c  what names in a body are declared as and mean
//   parse_body.c  bodies: comments, scopes, declarations, labels
//   parse_inst.c  instructions and their operands
//   source.c      which place of the source each line comes from
//
// An error is filled in and every parsing function returns false from there on. With a report, the loops over items and
// statements then add it there, skip what is broken (cj__recover) and go on; without one the first error stays.
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
    uint64_t         numbered; // marks the stems of those names that end in a number: a filter before `names`
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
    const char *stem;   // "%r"
    size_t   length;
    uint16_t type;
    uint8_t  vector;
    uint64_t count;
    uint32_t line;
    const cj_ir_reg **known;  // of %r0, %r1, … those used so far, as far as `capacity` reaches; the others are in names
    size_t   capacity;
    size_t   used;
} cj_range;

// A range that was looked up not long ago: a scope has few, and nearly every operand is of one.
typedef struct cj_recent {
    const cj_scope *scope;
    cj_range       *range;
} cj_recent;

enum { CJ_RECENT = 16, CJ_RECENT_MNEMONICS = 128 };

typedef struct cj_parser {
    const char   *begin, *at, *end;
    const char   *line_start;
    uint32_t      line;
    uint32_t      last_line;     // on which the last statement or comment ended
    cj_ir_module *module;
    cj_arena     *arena;         // takes what is read: the module's, or `bodies`
    cj_arena     *bodies;        // with `each`: takes one body after the other
    cj_ir_each   *each;          // sees each function after its body, which is dropped then; NULL: all is kept
    void         *user;          // of each
    cj_ir_func   *body;          // with `each`: the function whose body was opened last, until it was seen
    cj_ir_func   *func;          // whose body is being read, or NULL
    cj_scope     *scope;
    unsigned      scope_depth;
    cj_recent     recent[CJ_RECENT];
    const cj_mnemonic **mnemonic;  // CJ_RECENT_MNEMONICS that were read not long ago; NULL: each is looked up
    bool          is_call;       // the instruction at hand takes (lists) of operands
    bool          is_video;      // and parts of registers: %r1.b0
    unsigned      depth;         // of operands in operands, expressions in expressions
    cj_comment   *comment;       // read, not yet attached
    size_t        comment_count, comment_capacity;
    cj_error     *error;         // NULL: not wanted
    cj_status     status;        // the first error's
    cj_report    *report;        // takes the errors and the parser goes on; NULL: the first one stays
    cj_map        missed;        // names in what was skipped, or reported as undefined: not reported again
    size_t        found;         // errors added to it
    bool          known;         // the error at hand is a consequence of one reported before
    bool          resume;        // what follows an error begins right here: nothing to skip
    const char   *asm_loc;       // within inline assembly: where its own .loc stands, if it has one; else NULL
} cj_parser;

// A place to go back to.
typedef struct cj_mark {
    const char *at, *line_start;
    uint32_t    line;
} cj_mark;

// ---- lex.c

// What stands at `at`, short enough for a message.
typedef struct cj_found {
    char text[48];
} cj_found;
cj_found cj__found(const cj_parser *p, const char *at);

// Records the first error, at `at`; returns false. The text names what was expected and what was found.
bool cj__parse_error(cj_parser *p, const char *at, const char *rule, const char *format, ...) CJ_PRINTF(4, 5);

// Whether there is, or may come to be, such a PTX: 90 for 9.0.
bool cj__version_exists(unsigned version);
bool cj__expected(cj_parser *p, const char *at, const char *what);  // "expected …, found …"
bool cj__parse_memory(cj_parser *p);  // out of memory, as an error

void   cj__skip_more(cj_parser *p);
static inline void cj__skip(cj_parser *p) {         // blanks and comments
    if (p->at < p->end && *p->at == ' ') p->at++;
    if (p->at < p->end && (*p->at <= ' ' || *p->at == '/')) cj__skip_more(p);
}
static inline bool cj__at(const cj_parser *p, char c) { return p->at < p->end && *p->at == c; }  // the next character
static inline bool cj__take(cj_parser *p, char c) {  // takes it and the blanks after it
    if (!cj__at(p, c)) return false;
    p->at++;
    cj__skip(p);
    return true;
}
bool   cj__expect(cj_parser *p, char c, const char *where);
bool   cj__begins_line(const cj_parser *p);         // only blanks stand before what is here
enum { CJ_DEPTH_MAX = 64 };
bool   cj__too_deep(cj_parser *p);
static inline bool cj__enter(cj_parser *p) {        // one deeper; false where that is too deep. `depth--` leaves
    return p->depth == CJ_DEPTH_MAX ? cj__too_deep(p) : (bool)++p->depth;
}
enum { CJ_NAME_START = 1, CJ_NAME_PART = 2 };
extern const unsigned char cj__char_class[256];
static inline size_t cj__name_length(const cj_parser *p) {  // of the identifier here; 0: none
    const char *at = p->at, *end = p->end;
    if (at == end || !(cj__char_class[(unsigned char)*at] & CJ_NAME_START)) return 0;
    do at++;
    while (at < end && cj__char_class[(unsigned char)*at] & CJ_NAME_PART);
    return (size_t)(at - p->at);
}
bool   cj__name_is(const cj_parser *p, const char *name);
size_t cj__dotted_length(const cj_parser *p);       // of cj__word_length, where a dot stands
static inline size_t cj__word_length(const cj_parser *p) {  // of the dotted word here, `::` included: ".shared::cluster"
    return cj__at(p, '.') ? cj__dotted_length(p) : 0;
}
size_t cj__mnemonic_length(const cj_parser *p);     // of the name here and the dotted words after it
bool   cj__word_is(const cj_parser *p, const char *word);
bool   cj__take_word(cj_parser *p, const char *word);
bool   cj__literal(cj_parser *p, cj_ir_operand *operand);  // a number without its sign, and without its text
bool   cj__integer(cj_parser *p, uint64_t *value, const char *what);  // a whole number, or WARP_SZ
// Refuses what is not ASCII: by its place in the text that is read, or, of other text, without one.
bool   cj__is_ascii(cj_parser *p, const char *from, const char *to);
const char *cj__ascii_text(cj_parser *p, const char *text);  // a copy in the arena; NULL: it is refused, or there is no memory
bool   cj__string(cj_parser *p);                    // takes "…"
const char *cj__text_of(cj_parser *p, const char *from, const char *to);     // a trimmed copy; NULL sets the error
const char *cj__text_plain(cj_parser *p, const char *from, const char *to);  // without comments, on one line
static inline uint32_t cj__column(const cj_parser *p, const char *at) {
    return at && at >= p->line_start ? (uint32_t)(at - p->line_start) + 1 : 1;
}

// ---- constant.c

// A constant: a number with its sign, or an expression of numbers.
bool cj__constant(cj_parser *p, cj_ir_operand *operand);
// What is added to a name or a register: "+4", "+-4*2", "+4-8"; the first begins with '+'.
bool cj__offset(cj_parser *p, int64_t *offset, bool *written);

// ---- parse.c

bool        cj__parse_file(cj_parser *p);
cj_ir_item *cj__add_item(cj_parser *p, cj_item_kind kind);
cj_mark     cj__mark(const cj_parser *p);
bool        cj__begins_item(const cj_parser *p);  // a directive that cannot stand in a body: a } is missing before it
// In a report: adds the error found in what began at `start` and goes on after it. False where reading ends.
bool cj__recover(cj_parser *p, cj_mark start);
bool cj__parse_pragma(cj_parser *p, const char **text);  // .pragma "…", "…";

// ---- parse_var.c

bool cj__parse_type(cj_parser *p, uint16_t *type, uint8_t *vector);
// A variable: first what all declarators of a declaration share (alignment, type), then each name with its shape and
// initialiser, declared in the current scope or in the module.
bool       cj__parse_var_head(cj_parser *p, cj_ir_var *head);
cj_ir_var *cj__parse_declarator(cj_parser *p, const cj_ir_var *head);
bool       cj__parse_attribute(cj_parser *p, const char **text);  // .attribute(…), or nothing: ""

// ---- parse_func.c

cj_ir_func *cj__new_func(cj_parser *p, const char *name, bool is_entry, uint32_t line);
bool        cj__parse_function(cj_parser *p, cj_linkage linkage);
const cj_ir_func *cj__parse_prototype(cj_parser *p);  // what follows .callprototype

// ---- parse_name.c

bool cj__declare(cj_parser *p, const char *name, const cj_ir_reg *reg, const cj_ir_var *var, const char *at);
cj_ir_reg *cj__new_reg(cj_parser *p, const char *name, uint16_t type, uint8_t vector);
bool cj__reserved_name(const char *name, size_t length);  // "%tid", "%clock": stems of special registers
// What the name means here: fills kind and reg, var, func or special; NAME with its text where nothing declares it.
bool cj__resolve(cj_parser *p, const char *name, size_t length, cj_ir_operand *operand);
bool cj__undefined(cj_parser *p, const char *at, const cj_ir_operand *operand);  // reports a NAME; false
enum { CJ_NEAREST_MAX = 4096 };  // candidates for a hint: the more there are, the less a guess is worth its time

// ---- parse_body.c

cj_ir_stmt *cj__add_stmt(cj_parser *p, cj_stmt_kind kind, const char *at);
bool cj__open_body(cj_parser *p, cj_ir_func *func);     // parameters become visible
bool cj__parse_statements(cj_parser *p);                // until the text or the body ends
bool cj__close_body(cj_parser *p);                      // every label used is defined
void cj__attach_comments(cj_parser *p);                 // those read so far, to statements or items
bool cj__add_jump(cj_parser *p, cj_ir_operand *operand, uint32_t line);  // to the label of that name
bool cj__end_statement(cj_parser *p, const char *what);   // takes the ;

// ---- source.c

bool cj__add_loc(cj_parser *p, cj_ir_loc loc);
bool cj__add_file(cj_parser *p, uint64_t number, const char *quoted);  // a text in quotes, which has been read

// ---- parse_inst.c

bool cj__parse_instruction(cj_parser *p);
// Operands up to `close`, into *list, which stays where it is.
bool cj__parse_list(cj_parser *p, char close, cj_ir_operand **list, uint16_t *count);

#endif

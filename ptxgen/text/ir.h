// SPDX-License-Identifier: Apache-2.0
// The intermediate representation of a PTX file: what the parser and the builder make, and the checker, the printer,
// the launch contract and the CPU device read. Everything lives in the module's arena and is immutable once it is made.
#ifndef CJ_PTXGEN_IR_H
#define CJ_PTXGEN_IR_H

#include <clusterjit/base.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "hash.h"
#include "table.h"

typedef struct cj_ir_func   cj_ir_func;
typedef struct cj_ir_module cj_ir_module;

// A virtual register of a function.
typedef struct cj_ir_reg {
    const char *name;    // with its %
    uint16_t    type;    // cj_word: CJ_W_U32, CJ_W_PRED, …
    uint8_t     vector;  // 1, 2 or 4 elements
    uint32_t    index;   // dense, from 0, in its function
    uint32_t    line;    // where it was declared
    bool        in_range;  // as one of %r<54>, the way of compilers
} cj_ir_reg;

typedef enum cj_space {
    CJ_SPACE_GENERIC, CJ_SPACE_REG, CJ_SPACE_PARAM, CJ_SPACE_SHARED, CJ_SPACE_GLOBAL, CJ_SPACE_CONST, CJ_SPACE_LOCAL
} cj_space;

typedef enum cj_linkage { CJ_LINK_NONE, CJ_LINK_VISIBLE, CJ_LINK_EXTERN, CJ_LINK_WEAK, CJ_LINK_COMMON } cj_linkage;

// A place in a variable's initial bytes that takes an address when memory is laid out: the low `bytes` bytes of
// (address of var or func + addend) >> shift.
typedef struct cj_ir_reloc {
    uint64_t                offset;   // in the variable
    uint8_t                 bytes, shift;
    bool                    generic;  // generic(name): the address in the generic window
    const struct cj_ir_var *var;      // one of the two
    const cj_ir_func       *func;
    int64_t                 addend;
} cj_ir_reloc;

// A variable in memory, or a parameter.
typedef struct cj_ir_var {
    const char *name;
    cj_space    space;
    cj_linkage  linkage;
    uint16_t    type;       // cj_word of the element
    uint8_t     vector;     // 1, 2, 4: .v2 .v4 elements
    bool        is_array;
    bool        unsized;    // .extern .shared buffer[]: sized by the launch
    uint32_t    align;      // bytes; the type's own where none was written
    uint64_t    count;      // elements in all; 1 for a scalar, 0 for an unsized array
    uint64_t    bytes;      // count * element bytes
    const char *shape;      // "[8][4]" as written, or ""
    const char *attributes; // ".ptr .global .align 16" of a parameter, as written, or ""
    const char *qualifiers; // ".attribute(.managed)", before the type, as written, or NULL
    const char *initial;    // initialiser as written, or NULL
    const unsigned char *data;   // what it gives: the first data_bytes bytes of the variable; all after them are zero
    uint64_t             data_bytes;
    const cj_ir_reloc   *reloc;  // addresses among them
    size_t               reloc_count, reloc_capacity;
    const cj_ir_reg     *reg;    // of a .func's .reg parameter (space REG), once its body opens
    const char *comment;    // after a parameter, or NULL
    bool        align_written;
    uint32_t    line;
    cj_ir_func *func;       // NULL for a module variable
} cj_ir_var;

typedef struct cj_ir_label {
    const char *name;
    uint32_t    stmt;     // its statement's index in the function, once defined
    bool        defined;
    uint32_t    line;     // of its definition, else of its first use
    uint32_t    uses;
    const struct cj_ir_targets *targets;    // of a label before .branchtargets or .calltargets
    const cj_ir_func           *prototype;  // of a label before .callprototype
} cj_ir_label;

typedef enum cj_operand_kind {
    CJ_OPERAND_REG,      // reg; component 1..4 for .x .y .z .w of a vector register; reg + offset where it is written
    CJ_OPERAND_SPECIAL,  // special; component 0 (scalar) or 1..4
    CJ_OPERAND_INT,      // bits
    CJ_OPERAND_FLOAT,    // bits: of a f64 (0d…, 1.5), or of a f32 where is_f32 (0f…)
    CJ_OPERAND_VAR,      // var +- offset: its address
    CJ_OPERAND_FUNC,     // func
    CJ_OPERAND_LABEL,    // label
    CJ_OPERAND_MEMORY,   // [base], base[0] is a REG, VAR or INT; offset in bytes; coordinates of a tensor in list
    CJ_OPERAND_VECTOR,   // {list}
    CJ_OPERAND_LIST,     // (list): of a call
    CJ_OPERAND_SINK,     // _
    CJ_OPERAND_NAME      // a name that nothing declares
} cj_operand_kind;

typedef struct cj_ir_operand {
    uint8_t  kind;
    uint8_t  component;
    bool     negated;     // !p, or -r where an instruction allows it
    bool     is_f32;
    bool     is_unsigned; // of an INT: written with U, or beyond 63 bits
    bool     unified;     // [a].unified
    bool     offset_written;  // also + 0, of which ptxas -g makes an addition
    uint16_t special;     // cj_special
    uint16_t count;       // of list
    uint32_t column;
    union {
        const cj_ir_reg *reg;
        const cj_ir_var *var;
        cj_ir_func      *func;
        cj_ir_label     *label;
        uint64_t         bits;
        const struct cj_ir_operand *base;
    };
    int64_t     offset;
    union {
        const char                 *text;    // as written: numbers, names, labels, the .b0 of a REG, else NULL
        const struct cj_ir_operand *list;    // `count` of them: of a VECTOR or LIST, or a MEMORY's coordinates
    };
    const struct cj_ir_operand *predicate;   // of d|p; of a texture's MEMORY: its sampler; else NULL
} cj_ir_operand;

// .branchtargets: labels. .calltargets: functions.
typedef struct cj_ir_targets {
    bool                 calls;
    uint16_t             count;
    const cj_ir_operand *list;
} cj_ir_targets;

typedef struct cj_ir_inst {
    const cj_mnemonic *mnemonic;
    const cj_row      *row;
    const cj_row_shape    *shape;  // the row under that mnemonic
    const cj_ir_reg   *guard;  // @p, or NULL
    bool               guard_negated;
    uint8_t            operand_count;
    cj_ir_operand     *operand;
} cj_ir_inst;

typedef enum cj_stmt_kind {
    CJ_STMT_INST,       // inst
    CJ_STMT_LABEL,      // label
    CJ_STMT_REGS,       // text: a .reg declaration, normalized, without its semicolon
    CJ_STMT_VAR,        // var
    CJ_STMT_OPEN,       // {
    CJ_STMT_CLOSE,      // }
    CJ_STMT_COMMENT,    // text, without //, alone on its line
    CJ_STMT_BLANK,      // an empty line
    CJ_STMT_DIRECTIVE,  // text: .loc, .pragma, … as written
    CJ_STMT_TARGETS,    // targets
    CJ_STMT_PROTOTYPE   // prototype: .callprototype
} cj_stmt_kind;

typedef struct cj_ir_stmt {
    uint8_t     kind;
    uint32_t    line, column;
    const char *comment;  // after it on its line, without //, or NULL
    union {
        cj_ir_inst  *inst;
        cj_ir_label *label;
        cj_ir_var   *var;
        const char  *text;
        const cj_ir_targets *targets;
        const cj_ir_func    *prototype;
    };
} cj_ir_stmt;

// The directives between an entry's head and its body, in the order in which they are printed.
typedef enum cj_directive {
    CJ_DIR_MAXNTID, CJ_DIR_REQNTID, CJ_DIR_MINNCTAPERSM, CJ_DIR_MAXNREG, CJ_DIR_BLOCKSARECLUSTERS,
    CJ_DIR_EXPLICITCLUSTER, CJ_DIR_REQNCTAPERCLUSTER, CJ_DIR_MAXCLUSTERRANK, CJ_DIR_NORETURN,
    CJ_DIR_ABI_PRESERVE, CJ_DIR_ABI_PRESERVE_CONTROL, CJ_DIR_COUNT
} cj_directive;

typedef struct cj_ir_directive {
    bool     given;
    uint8_t  count;     // values written
    uint32_t value[3];
    uint32_t line, column;
} cj_ir_directive;

struct cj_ir_func {
    cj_ir_module *module;
    const char   *name;
    bool          is_entry, has_body;
    cj_linkage    linkage;
    cj_ir_var   **param;
    size_t        param_count, param_capacity;
    cj_ir_var   **result;      // of a .func
    size_t        result_count, result_capacity;
    cj_ir_directive directive[CJ_DIR_COUNT];
    const char   *attributes;  // ".attribute(.unified(1, 2))" as written, or NULL
    cj_ir_func   *alias;       // of .alias: the function that this name stands for
    bool          broken;      // statements are missing: they broke rules (only after cj__ir_parse_report)
    const char   *pragmas;     // ".pragma \"…\";" lines of the head as written, or NULL
    cj_ir_stmt   *stmt;
    size_t        stmt_count, stmt_capacity;
    cj_ir_reg   **reg;
    size_t        reg_count, reg_capacity;
    cj_ir_var   **var;         // declared in the body
    size_t        var_count, var_capacity;
    uint32_t      line;
    const char   *comment;     // of the head's opening, or NULL
};

typedef enum cj_item_kind {
    CJ_ITEM_COMMENT, CJ_ITEM_BLANK,
    CJ_ITEM_HEAD,       // .version, .target, .address_size
    CJ_ITEM_VAR, CJ_ITEM_FUNC, CJ_ITEM_DIRECTIVE
} cj_item_kind;

typedef struct cj_ir_item {
    cj_item_kind kind;
    const char  *comment;  // after it, or NULL
    union {
        const char *text;
        cj_ir_var  *var;
        cj_ir_func *func;
    };
} cj_ir_item;

// A place of the source that was compiled to PTX, as .loc names it.
typedef struct cj_ir_place {
    uint32_t file, line, column;  // file: the number of a .file
} cj_ir_place;

// `place` is in a function that was inlined.
typedef struct cj_ir_inlined {
    const char *label;   // of the function's name in a .section, which begins `offset` bytes after it
    int64_t     offset;
    cj_ir_place at;      // where it was inlined
} cj_ir_inlined;

// From this line of the text on, until the next cj_ir_loc, instructions come from that place.
typedef struct cj_ir_loc {
    uint32_t             line;
    cj_ir_place          place;    // line 0: from no line of the source; file CJ_NO_FILE: a function begins
    const cj_ir_inlined *inlined;  // or NULL
} cj_ir_loc;

#define CJ_NO_FILE UINT32_MAX

typedef struct cj_ir_file {
    uint32_t    number;
    const char *name;
} cj_ir_file;

struct cj_ir_module {
    cj_arena    arena;
    uint16_t    version;       // 10 * major + minor; 0 until .version was read
    const char *target;        // "sm_90a" (its first word) and
    const char *target_options;  // ", texmode_independent, debug" or ""
    uint16_t    target_sm;     // 90
    char        target_suffix; // 'a', 'f' or 0
    bool        retargeted;    // it is held against `target`; the file named another one
    uint16_t    address_size;  // 32 or 64
    bool        broken;        // something is missing: it broke a rule (only after cj__ir_parse_report)
    bool        has_sections;  // .section, which debuggers read
    cj_ir_item *item;
    size_t      item_count, item_capacity;
    cj_ir_loc  *loc;           // in the order of the text
    size_t      loc_count, loc_capacity;
    cj_ir_file *file;          // .file
    size_t      file_count, file_capacity;
    cj_map      labels;        // of the .section texts -> what follows the colon; cj__ir_source fills it
    bool        labels_known;
    cj_map      names;         // module-level name -> cj_ir_item
    cj_map      mnemonics;     // text -> cj_mnemonic
};

// How nvcc names, in a comment, a register whose value does not matter.
#define CJ_IMPLICIT_DEF "implicit-def: "

// ".reqntid" and so on, static storage.
const char *cj__directive_word(cj_directive directive);

// An empty module for a 64-bit target; NULL when out of memory.
cj_ir_module *cj__ir_new(void);

// The function of that name, or NULL.
cj_ir_func *cj__ir_func(const cj_ir_module *module, const char *name);

// Marks the registers, by index, that the statements' instructions read or write.
void cj__ir_used_regs(const cj_ir_stmt *stmt, size_t count, bool *used);

// Frees the module and all that hangs on it; NULL is allowed.
void cj__ir_free(cj_ir_module *module);

#endif

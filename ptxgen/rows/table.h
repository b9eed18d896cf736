// SPDX-License-Identifier: Apache-2.0
// The instruction table: one row a form, from instructions.def; the words of mnemonics, from words.def; the special
// registers, from specials.def. The parser, the checker, the CPU device and the page of supported PTX all read these.
//
// A row's syntax is its mnemonic with alternatives:   ld{.weak}{.global|.shared}.(u32|f32)
//   .word      this word                     .(a|b|c)   one of these words
//   {.a|.b}    one of these words or none    $SET       in an alternative: the words of a set of sets.def
// Words may also be written in another order, as ptxas allows: the words of a name (mul.lo, mbarrier.arrive) stay where
// they are, and types, state spaces and matrix layouts keep their order among themselves.
// A row's operand pattern has one item an operand, blank-separated:   kind:type
//   d  destination register                  s  source: register or constant
//   D  the same, or a vector {a, b, …}       S  the same, or a vector {a, b, …}
//   U  destination vector                    P  source vector
//   q  destination predicate                 p  source predicate, p or !p, or a constant
//   dq destination d|q, |q optional          m  memory operand [base + offset]
//   dQ destination d|q, q a register         dk as dq, but d is no _
//   i  constant                              a  address: register, or variable + offset
//   v  variable or function: its address     x  special register
//   l  label                                 f  function name
//   t  memory operand [map, {coordinates}]   _  the sink _
//   M  memory operand, may be [a].unified    L  list (a, b, …) of a call
// A number after U, P or t is its length: U4 takes four registers, t5 five coordinates. In place of the number may
// stand n, the extent that a word of the mnemonic gives (x4: 4, 3d: 3, else m64n128k16: 128), as in n, 4n, n/2 or n-2.
// The type is T (the mnemonic's last type word), T1, T2, … (its first, second, …), W (twice as wide as T), a type word
// (u32), or absent where the kind says it all; of an m it is the base register's. B is b32 without floats: a fragment of a
// matrix. A is an address of 32 or 64 bits. A ? after an item makes it optional; ?word asks for it exactly where the
// mnemonic has that word. Before the ? may stand what a constant may be:
//   =A, =A..B     this number, one of A to B; B may be max     =A..B*K  every Kth of them      =reg  no constant
//   =A..Bw        the same of its low 32 bits                  =A..B^   the powers of two of them
//   =num          no address of a variable                     =some    not alone in a vector
//   =0f           the same, and a float as 0f… only
#ifndef CJ_PTXGEN_TABLE_H
#define CJ_PTXGEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Every word that can stand in a mnemonic after a dot, types included.
typedef enum cj_word {
    CJ_WORD_NONE,
#define CJ_WORD(id, text, ptx, target) CJ_W_##id,
#define CJ_TYPE(id, text, class, bits, ptx, target) CJ_W_##id,
#include "words.def"
#undef CJ_WORD
#undef CJ_TYPE
    CJ_WORD_COUNT
} cj_word;

typedef enum cj_type_class {
    CJ_CLASS_NONE, CJ_CLASS_BITS, CJ_CLASS_UNSIGNED, CJ_CLASS_SIGNED, CJ_CLASS_FLOAT, CJ_CLASS_PRED,
    CJ_CLASS_PACKED  // several values, or one that has no register type of its own: its registers are of a bits type
} cj_type_class;

typedef struct cj_word_info {
    const char   *text;    // without the dot
    cj_type_class class;   // NONE: no type
    uint16_t      bits;    // of a type
    uint16_t      ptx;     // least .version that knows it, 10 * major + minor (78 for 7.8); 0: any
    uint16_t      target;  // least target, 90 for sm_90; 0: any
} cj_word_info;

extern const cj_word_info cj__words[CJ_WORD_COUNT];

cj_word cj__word_find(const char *text, size_t length);  // CJ_WORD_NONE when unknown

// What an instruction does, as far as others must know.
enum {
    CJ_READS = 1 << 0,        // memory
    CJ_WRITES = 1 << 1,       // memory
    CJ_ASYNC = 1 << 2,        // completes later, through the async proxy or an mbarrier
    CJ_BARRIER = 1 << 3,      // waits for or signals other threads
    CJ_CONVERGENT = 1 << 4,   // all threads of the warp must execute it together
    CJ_CLUSTER = 1 << 5,      // needs a cluster launch
    CJ_BRANCH = 1 << 6,       // may continue elsewhere
    CJ_END = 1 << 7,          // never continues below
    CJ_ARCH = 1 << 8,         // needs an architecture-specific target: one of those named below, any where none is
    CJ_EARLY_CTA = 1 << 9,    // its .shared::cta is as old as the form, older than the word elsewhere
    CJ_EARLY_SCOPE = 1 << 10, // its scope is as old as the form
    CJ_LATE_89 = 1 << 11,     // sm_89 has it from .version 8.1 on, later targets before
    CJ_ON_90A = 1 << 16, CJ_ON_100A = 1 << 17, CJ_ON_100F = 1 << 18, CJ_ON_103A = 1 << 19, CJ_ON_103F = 1 << 20,
    CJ_ON_110A = 1 << 21, CJ_ON_110F = 1 << 22, CJ_ON_120A = 1 << 23, CJ_ON_120F = 1 << 24, CJ_ON_121A = 1 << 25,
    CJ_ON_121F = 1 << 26,
    CJ_FAMILY_103 = CJ_ON_103A | CJ_ON_103F,
    CJ_FAMILY_100 = CJ_ON_100A | CJ_ON_100F | CJ_FAMILY_103,
    CJ_FAMILY_110 = CJ_ON_110A | CJ_ON_110F
};

// One form. Its executor (the first column of instructions.def) is the CPU device's business.
typedef struct cj_row {
    const char *syntax, *operands;
    uint16_t    ptx, target;
    uint32_t    effects;
    const char *sample;    // one line of PTX
} cj_row;

enum {
#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) +1
    CJ_ROW_COUNT = 0
#include "instructions.def"
#undef CJ_ROW
};

extern const cj_row cj__rows[CJ_ROW_COUNT];

// An operand pattern, compiled.
enum { CJ_OPERANDS_MAX = 12 };

typedef struct cj_pattern_item {
    char     kind;      // d, s, …
    bool     predicate; // dq, dQ, dk
    bool     paired;    // dQ
    bool     kept;      // dk
    bool     optional;
    char     type;      // 'T', '1' to '4', 'W', 'A', 'B', 'F' (fixed), or 0
    uint16_t fixed;     // cj_word of an F
    uint8_t  length;    // of a U, P or t; 0: any. With a divisor: length * extent / divisor - less
    uint8_t  divisor, less;
    uint16_t only_with; // cj_word of a ?word, or 0
    bool     register_only, is_limited, number_only, beside_registers, single_floats;
    bool     low_word, powers;  // of a limited constant; it is low + k * step, up to high
    int64_t  low, high, step;
} cj_pattern_item;

typedef struct cj_pattern {
    uint8_t         count;
    bool            conditional;  // an item has a ?word
    bool            vectors;      // an item is a vector where the mnemonic has .v2 or its like
    cj_pattern_item item[CJ_OPERANDS_MAX];
} cj_pattern;

const cj_pattern *cj__row_pattern(const cj_row *row);
const char       *cj__row_opcode(const cj_row *row);  // the syntax up to its first dot

// A mnemonic resolved against the table: its text as written, its words in the order of the syntax. At most CJ_WORDS_MAX.
enum { CJ_WORDS_MAX = 16, CJ_CANDIDATES_MAX = 8 };

typedef struct cj_mnemonic {
    const char *text;                      // as written, NUL-terminated
    uint16_t    length;
    uint8_t     word_count, candidate_count;
    uint16_t    word[CJ_WORDS_MAX];        // cj_word, the opcode not counted
    uint16_t    candidate[CJ_CANDIDATES_MAX];  // rows whose syntax matches
    uint16_t    type[4];                   // T1 to T4: its type words in order
    uint16_t    type_last;                 // T
    uint8_t     vector;                    // 2, 4, 8 for .v2 .v4 .v8, else 1
    uint16_t    extent;                    // n of operand lengths; 0: no word has one
    uint16_t    ptx, target;               // the most that any word asks; rows may ask more
    uint64_t    has[(CJ_WORD_COUNT + 63) / 64];  // bit w: word w is one of its words
    const struct cj_row_shape *shape;          // of each candidate; NULL unless the parser made it
    uint16_t operands_most;                // that a candidate takes; 0 unless the parser made them
} cj_mnemonic;

// Resolves "ld.global.nc.f32". False when no row matches: then *wrong is the index of the first dotted word at which every
// row of the opcode fails (0: the opcode itself), for the message.
bool cj__mnemonic_resolve(const char *text, size_t length, cj_mnemonic *mnemonic, unsigned *wrong);

static inline bool cj__mnemonic_has(const cj_mnemonic *mnemonic, cj_word word) {
    return mnemonic->has[word / 64] >> word % 64 & 1;
}

// The item that operand `index` of an instruction with that mnemonic stands for; NULL: it takes no so many.
const cj_pattern_item *cj__pattern_item(const cj_pattern *pattern, const cj_mnemonic *mnemonic, unsigned index);

// A row under one mnemonic: what each of its instructions would look up again.
typedef struct cj_row_shape {
    const cj_row *row;
    bool          vectors;      // as its pattern's
    bool          is_move;      // ld, st
    bool          is_call;
    bool may_be_wider;  // its registers may be wider than its type, coordinates excepted: ld, st, ldu, cvt, suld, …
    bool          is_warpgroup; // wgmma, setmaxnreg
    bool          is_media;     // textures, surfaces, video
    bool          has_memory;   // an operand is an address in brackets
    uint16_t      written;      // bit i: operand i is a result
    uint16_t      operands_most;
    uint16_t      ptx, target;  // the least that the row and the mnemonic's words ask for; operands may ask for more
    uint16_t      want[CJ_OPERANDS_MAX];  // cj_word that each operand must have; 0: any
    const cj_pattern_item *item[CJ_OPERANDS_MAX + 1];  // of each operand, then NULL
} cj_row_shape;

void cj__shape_make(cj_row_shape *shape, const cj_row *row, const cj_mnemonic *mnemonic);

// How many elements a U, P or t has under that mnemonic; 0: any number.
unsigned cj__pattern_length(const cj_pattern_item *item, const cj_mnemonic *mnemonic);

// Special registers.
typedef enum cj_special {
    CJ_SPECIAL_NONE,
#define CJ_SPECIAL(id, text, type, components, ptx, target) CJ_S_##id,
#include "specials.def"
#undef CJ_SPECIAL
    CJ_SPECIAL_COUNT
} cj_special;

typedef struct cj_special_info {
    const char *text;        // "tid", "cluster_ctarank"
    uint16_t    type;        // cj_word
    uint8_t     components;  // 1: a scalar; 3: .x .y .z (and .w, which reads 0)
    uint16_t    ptx, target;
} cj_special_info;

extern const cj_special_info cj__specials[CJ_SPECIAL_COUNT];

cj_special cj__special_find(const char *text, size_t length);  // without the %; NONE when unknown

#endif

// SPDX-License-Identifier: Apache-2.0
// Writing PTX from C: a builder that takes PTX line by line, parses and checks every line, and prints the whole.
//
//     cj_builder *b = cj_builder_create("sm_90");
//     cj_func    *f = cj_entry(b, "ranks");
//     cj_var      out = cj_param(f, "u64", "out", "uint32_t *out [blocks]");
//     cj_cluster(f, 4, 1, 1);
//     cj_reg at = cj_u64(f, "at"), rank = cj_u32(f, "rank"), block = cj_u32(f, "block");
//     cj_ptx(f, "ld.param.u64    $1, [$2];", at, out);
//     cj_ptx(f, "mov.u32         $1, %ctaid.x;", block);
//     cj_ptx(f, "mad.wide.u32    $1, $2, $3, $1;", at, block, 4);
//     cj_ptx(f, "mov.u32         $1, %cluster_ctarank;", rank);
//     cj_ptx(f, "st.global.u32   [$1], $2;", at, rank);
//     cj_ptx(f, "ret;");
//     cj_status status = cj_builder_finish(b, &text, NULL, &error);
//     cj_builder_destroy(b);
//
// The first error sticks: later calls do nothing, and cj_builder_finish reports it with the C line that caused it. So
// nothing needs checking in between, and NULL is accepted for any builder or function.
// The least .version that the lines need is chosen by itself, unless cj_builder_version says another. Thread safety: one thread a builder.
#ifndef CLUSTERJIT_PTX_H
#define CLUSTERJIT_PTX_H

#include <clusterjit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_builder cj_builder;
typedef struct cj_func    cj_func;

// Handles, valid in the function that made them. A zero handle, cj_reg r = {0}, is one that nobody has set, and what a call
// returns after the first error. To use one is an error that names the operand.
typedef struct cj_reg {
    uint32_t id;
} cj_reg;
typedef struct cj_var {
    uint32_t id;
} cj_var;
typedef struct cj_label {
    uint32_t id;
} cj_label;

// Two handles that are no registers:
//   cj_always()  a predicate that always holds: what takes a predicate to guard a line (`when`) or a body takes it, and writes
//                no guard. "@$1 add.u32 …;" with it is add.u32 …; elsewhere in a line, and after "@!", it is refused.
//   cj_none()    there is no register here, for the caller's own optional ones, asked for by cj_is_none. Every line refuses it.
enum { CJ__ALWAYS_ID = 0x7fffffff, CJ__NONE_ID = 0x7ffffffe };  // ids that no register has
static inline cj_reg cj_always(void) {
    cj_reg always;
    always.id = CJ__ALWAYS_ID;
    return always;
}
static inline cj_reg cj_none(void) {
    cj_reg none;
    none.id = CJ__NONE_ID;
    return none;
}
static inline int cj_is_always(cj_reg p) { return p.id == CJ__ALWAYS_ID; }
static inline int cj_is_none(cj_reg r) { return r.id == CJ__NONE_ID; }

// A module for a target such as "sm_90" or "sm_90a". NULL when out of memory; an unknown target, and NULL, is an error of finish.
CJ_API cj_builder *cj_builder_create(const char *arch);
CJ_API void        cj_builder_destroy(cj_builder *builder);

// Checks and prints the module: NUL-terminated text owned by the caller (cj_text_free); `length` may be NULL.
// INVALID_KERNEL (rule, C file and line, what is wrong), OUT_OF_MEMORY. The builder can only be destroyed afterwards.
// Held against the rules of forms and directives; cj_check_ptx (clusterjit/check.h) also follows the text's paths.
CJ_API cj_status cj_builder_finish(cj_builder *builder, char **text, size_t *length, cj_error *error);

// The .version to print, 10 * major + minor (80 for 8.0). finish refuses one that lacks what the kernel uses.
CJ_API void cj_builder_version(cj_builder *builder, unsigned version);

// Comment lines at the file's head, above the directives; call it before cj_entry. As in cj_step and cj_note, a line break in
// the text begins another comment line.
CJ_API void cj_head(cj_builder *builder, const char *format, ...) CJ_PRINTF(2, 3);

// Declarations at module scope, as PTX text; call it before cj_entry: it ends an entry that is being written. Lines name
// what it declares as PTX does. Shared memory whose bytes the launch says is declared so:
//     cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
CJ_API void cj_declare(cj_builder *builder, const char *text);

// Begins a kernel; one kernel is written at a time, and the next call of cj_entry ends the one before.
CJ_API cj_func *cj_entry(cj_builder *builder, const char *name);

// A parameter of a scalar type ("u64", "f32"), in order; `comment` says what it is and may be NULL.
CJ_API cj_var cj_param(cj_func *f, const char *type, const char *name, const char *comment);

// One of `count` elements of a scalar type, aligned to `align` bytes (0: the type's own size): a struct of the host's.
CJ_API cj_var cj_param_array(cj_func *f, const char *type, const char *name, uint32_t count, uint32_t align,
                             const char *comment);

// What the kernel relies on; the directives follow from it.
//   cj_block               it is launched with exactly this block shape, in threads     (.reqntid)
//   cj_block_max           … with blocks of at most x * y * z threads                   (.maxntid)
//   cj_blocks_per_sm       this many blocks shall fit an SM; goes with one of the above (.minnctapersm)
//   cj_registers_max       a thread shall have at most this many registers              (.maxnreg)
//   cj_cluster             it is launched with exactly this cluster shape, in blocks    (.explicitcluster, .reqnctapercluster)
//   cj_cluster_max         … with clusters of at most this many blocks                  (.maxclusterrank)
//   cj_blocks_are_clusters the launch's grid counts clusters; goes with cj_block and cj_cluster   (.blocksareclusters)
// Each may be said once. Targets before sm_90 have no clusters: there the last three say nothing. cj_builder_finish refuses
// what excludes each other and shapes that no launch can have, by the rule's name (clusterjit/check.h).
CJ_API void cj_block(cj_func *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_block_max(cj_func *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_blocks_per_sm(cj_func *f, uint32_t blocks);
CJ_API void cj_registers_max(cj_func *f, uint32_t registers);
CJ_API void cj_cluster(cj_func *f, uint32_t x, uint32_t y, uint32_t z);
CJ_API void cj_cluster_max(cj_func *f, uint32_t blocks);
CJ_API void cj_blocks_are_clusters(cj_func *f);

// Shared memory of each block: `count` elements of a type, aligned to `align` bytes (0: the type's own size).
CJ_API cj_var cj_shared(cj_func *f, const char *type, const char *name, uint32_t count, uint32_t align);

// A virtual register of a type ("u32", "f64", "pred"); a name in use gets a number appended (sum, sum_2, …). What no line
// names is not declared.
CJ_API cj_reg cj_register(cj_func *f, const char *type, const char *name);
static inline cj_reg cj_u32(cj_func *f, const char *name) { return cj_register(f, "u32", name); }
static inline cj_reg cj_s32(cj_func *f, const char *name) { return cj_register(f, "s32", name); }
static inline cj_reg cj_b32(cj_func *f, const char *name) { return cj_register(f, "b32", name); }
static inline cj_reg cj_u64(cj_func *f, const char *name) { return cj_register(f, "u64", name); }
static inline cj_reg cj_s64(cj_func *f, const char *name) { return cj_register(f, "s64", name); }
static inline cj_reg cj_b64(cj_func *f, const char *name) { return cj_register(f, "b64", name); }
static inline cj_reg cj_f32(cj_func *f, const char *name) { return cj_register(f, "f32", name); }
static inline cj_reg cj_f64(cj_func *f, const char *name) { return cj_register(f, "f64", name); }
static inline cj_reg cj_pred(cj_func *f, const char *name) { return cj_register(f, "pred", name); }

// A label to branch to, and the place where it stands. A name in use gets a number appended. A label that nothing branches
// to is not written.
CJ_API cj_label cj_label_new(cj_func *f, const char *name);
CJ_API void     cj_label_here(cj_func *f, cj_label label);

// An empty line and a comment that opens a step of the kernel; a comment line alone.
CJ_API void cj_step(cj_func *f, const char *format, ...) CJ_PRINTF(2, 3);
CJ_API void cj_note(cj_func *f, const char *format, ...) CJ_PRINTF(2, 3);

// What may stand for $1, $2, …
typedef enum cj_arg_kind { CJ_ARG_REG, CJ_ARG_VAR, CJ_ARG_LABEL, CJ_ARG_INT, CJ_ARG_UINT, CJ_ARG_F32, CJ_ARG_F64, CJ_ARG_WORD } cj_arg_kind;

typedef struct cj_arg {
    cj_arg_kind kind;
    union {
        uint32_t    id;
        int64_t     i;
        uint64_t    u;
        float       f;
        double      d;
        const char *word;
    } as;
} cj_arg;

// The call beneath cj_ptx, for languages without its macro: arg[0] is the text (a WORD), arg[k] stands for $k.
CJ_API void cj_ptx_args(cj_func *f, const char *file, int line, const cj_arg *arg, unsigned count);

// The type of a register, "u32"; NULL for a handle that is none of this function's.
CJ_API const char *cj_reg_type(const cj_func *f, cj_reg reg);

static inline cj_arg cj_arg_make(cj_arg_kind kind, uint32_t id) {
    cj_arg arg;
    arg.kind = kind;
    arg.as.u = 0;
    arg.as.id = id;
    return arg;
}
static inline cj_arg cj_arg_reg(cj_reg x) { return cj_arg_make(CJ_ARG_REG, x.id); }
static inline cj_arg cj_arg_var(cj_var x) { return cj_arg_make(CJ_ARG_VAR, x.id); }
static inline cj_arg cj_arg_label(cj_label x) { return cj_arg_make(CJ_ARG_LABEL, x.id); }
static inline cj_arg cj_arg_int(long long x) {
    cj_arg arg = cj_arg_make(CJ_ARG_INT, 0);
    arg.as.i = x;
    return arg;
}
static inline cj_arg cj_arg_uint(unsigned long long x) {
    cj_arg arg = cj_arg_make(CJ_ARG_UINT, 0);
    arg.as.u = x;
    return arg;
}
static inline cj_arg cj_arg_f32(float x) {
    cj_arg arg = cj_arg_make(CJ_ARG_F32, 0);
    arg.as.f = x;
    return arg;
}
static inline cj_arg cj_arg_f64(double x) {
    cj_arg arg = cj_arg_make(CJ_ARG_F64, 0);
    arg.as.d = x;
    return arg;
}
static inline cj_arg cj_arg_word(const char *x) {
    cj_arg arg = cj_arg_make(CJ_ARG_WORD, 0);
    arg.as.word = x;
    return arg;
}
static inline cj_arg cj_arg_itself(cj_arg x) { return x; }

// CJ_ARG(x): x as an operand. CJ_OPERANDS(x, y, …): a list of them, valid until the end of the statement.
#ifdef __cplusplus
}
static inline cj_arg CJ_ARG(cj_reg x) { return cj_arg_reg(x); }
static inline cj_arg CJ_ARG(cj_var x) { return cj_arg_var(x); }
static inline cj_arg CJ_ARG(cj_label x) { return cj_arg_label(x); }
static inline cj_arg CJ_ARG(int x) { return cj_arg_int(x); }
static inline cj_arg CJ_ARG(long x) { return cj_arg_int(x); }
static inline cj_arg CJ_ARG(long long x) { return cj_arg_int(x); }
static inline cj_arg CJ_ARG(unsigned x) { return cj_arg_uint(x); }
static inline cj_arg CJ_ARG(unsigned long x) { return cj_arg_uint(x); }
static inline cj_arg CJ_ARG(unsigned long long x) { return cj_arg_uint(x); }
static inline cj_arg CJ_ARG(float x) { return cj_arg_f32(x); }
static inline cj_arg CJ_ARG(double x) { return cj_arg_f64(x); }
static inline cj_arg CJ_ARG(const char *x) { return cj_arg_word(x); }
static inline cj_arg CJ_ARG(cj_arg x) { return x; }
struct cj_arg_list {
    cj_arg arg[21];
};
#define CJ_OPERANDS(...) (cj_arg_list{{CJ__EACH(__VA_ARGS__)}}.arg)
extern "C" {
#else
#define CJ_ARG(x)                                                                                       \
    _Generic((x), cj_reg: cj_arg_reg, cj_var: cj_arg_var, cj_label: cj_arg_label, int: cj_arg_int,      \
             long: cj_arg_int, long long: cj_arg_int, unsigned: cj_arg_uint, unsigned long: cj_arg_uint, \
             unsigned long long: cj_arg_uint, float: cj_arg_f32, double: cj_arg_f64,                    \
             char *: cj_arg_word, const char *: cj_arg_word, cj_arg: cj_arg_itself)(x)
#define CJ_OPERANDS(...) ((const cj_arg[]){CJ__EACH(__VA_ARGS__)})
#endif

// One line of PTX, or several. $1, $2, … stand for the operands after the text: registers, variables, labels, whole
// numbers, floats (float for .f32, double for .f64), and words, which are put in as they are ("f32" in "ld.global.$1").
// At most 20 operands. Where a whole number among them makes an integer instruction idle (an addition of 0, a division
// by 1), a copy stands in its place, or nothing; numbers in the text itself are left as they are.
#define cj_ptx(f, ...) cj_ptx_args((f), __FILE__, __LINE__, CJ_OPERANDS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))

#define CJ__COUNT(...) CJ__COUNT_(__VA_ARGS__, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CJ__COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, count, ...) count
#define CJ__EACH(...) CJ__JOIN(CJ__EACH, CJ__COUNT(__VA_ARGS__))(__VA_ARGS__)
#define CJ__JOIN(a, b) CJ__JOIN_(a, b)
#define CJ__JOIN_(a, b) a##b
#define CJ__EACH1(x) CJ_ARG(x)
#define CJ__EACH2(x, ...) CJ_ARG(x), CJ__EACH1(__VA_ARGS__)
#define CJ__EACH3(x, ...) CJ_ARG(x), CJ__EACH2(__VA_ARGS__)
#define CJ__EACH4(x, ...) CJ_ARG(x), CJ__EACH3(__VA_ARGS__)
#define CJ__EACH5(x, ...) CJ_ARG(x), CJ__EACH4(__VA_ARGS__)
#define CJ__EACH6(x, ...) CJ_ARG(x), CJ__EACH5(__VA_ARGS__)
#define CJ__EACH7(x, ...) CJ_ARG(x), CJ__EACH6(__VA_ARGS__)
#define CJ__EACH8(x, ...) CJ_ARG(x), CJ__EACH7(__VA_ARGS__)
#define CJ__EACH9(x, ...) CJ_ARG(x), CJ__EACH8(__VA_ARGS__)
#define CJ__EACH10(x, ...) CJ_ARG(x), CJ__EACH9(__VA_ARGS__)
#define CJ__EACH11(x, ...) CJ_ARG(x), CJ__EACH10(__VA_ARGS__)
#define CJ__EACH12(x, ...) CJ_ARG(x), CJ__EACH11(__VA_ARGS__)
#define CJ__EACH13(x, ...) CJ_ARG(x), CJ__EACH12(__VA_ARGS__)
#define CJ__EACH14(x, ...) CJ_ARG(x), CJ__EACH13(__VA_ARGS__)
#define CJ__EACH15(x, ...) CJ_ARG(x), CJ__EACH14(__VA_ARGS__)
#define CJ__EACH16(x, ...) CJ_ARG(x), CJ__EACH15(__VA_ARGS__)
#define CJ__EACH17(x, ...) CJ_ARG(x), CJ__EACH16(__VA_ARGS__)
#define CJ__EACH18(x, ...) CJ_ARG(x), CJ__EACH17(__VA_ARGS__)
#define CJ__EACH19(x, ...) CJ_ARG(x), CJ__EACH18(__VA_ARGS__)
#define CJ__EACH20(x, ...) CJ_ARG(x), CJ__EACH19(__VA_ARGS__)
#define CJ__EACH21(x, ...) CJ_ARG(x), CJ__EACH20(__VA_ARGS__)

// ---- functions of the user's

// A function of scalars that a user wrote, ready to be put into kernels: made from PTX by cj_function_from_ptx, or from
// CUDA C by cj_function_from_cuda (clusterjit/nvrtc.h). Immutable: any number of builders and threads may use one at once.
// What uses one (a builder, a kernel) keeps it alive by itself, so its maker may drop it as soon as that was created.
typedef struct cj_user_function cj_user_function;

enum { CJ_FUNCTION_ARGUMENTS = 4 };

// The signature that is wanted: result and arguments, as they come. Names are identifiers; NULL: a, b, c, d.
typedef struct cj_signature {
    cj_dtype    result;
    uint32_t    count;  // arguments, 0 to CJ_FUNCTION_ARGUMENTS
    cj_dtype    argument[CJ_FUNCTION_ARGUMENTS];
    const char *name[CJ_FUNCTION_ARGUMENTS];
} cj_signature;

// Takes the .func `name` out of a PTX file, with the variables and functions that it uses. Its parameters and its result
// are .param variables of the signature's sizes. *function is owned by the caller (cj_user_function_destroy).
// COMPILER with the rule user-function where there is no such function, or none of that signature: the message has the one
// wanted and the one found. INVALID_KERNEL for PTX that breaks a rule, OUT_OF_MEMORY.
CJ_API cj_status cj_function_from_ptx(const char *ptx, size_t length, const char *name, const cj_signature *signature,
                                      cj_user_function **function, cj_error *error);
CJ_API void cj_user_function_destroy(cj_user_function *function);  // drops the maker's share; NULL is allowed

// What it is called in comments: the expression or the name. Owned by the function.
CJ_API const char *cj_user_function_text(const cj_user_function *function);

// Whether it is a function of no arguments that always gives the same: its value is then written to `value`, as an element
// of the result's type. `value` may be NULL.
CJ_API int cj_user_function_constant(const cj_user_function *function, void *value);

// A user's function in the module being built; a zero handle is unset, as above.
typedef struct cj_callee {
    uint32_t id;
} cj_callee;

// Puts what the function needs beside it (constants, helpers) into the module, under names that begin with `name`; a name
// in use gets a number appended. Call it before cj_entry: it ends an entry that is being written.
// A target older than the one that the function was made for is an error of finish.
CJ_API cj_callee cj_builder_function(cj_builder *builder, const cj_user_function *function, const char *name);

// result = function(argument[0], …): writes the function's body here, in braces, so that it costs what it would cost if
// it stood in the kernel. Registers have the signature's types, or bits of their width; `result` may be among the arguments.
// cj_call(f, callee, result, a, b) below is the same.
CJ_API void cj_call_args(cj_func *f, const char *file, int line, cj_callee callee, cj_reg result, const cj_reg *argument,
                         unsigned count);

#ifdef __cplusplus
struct cj_reg_list {
    cj_reg reg[1 + CJ_FUNCTION_ARGUMENTS];
};
#define CJ__REGS(...) (cj_reg_list{{__VA_ARGS__}}.reg)
#else
#define CJ__REGS(...) ((const cj_reg[]){__VA_ARGS__})
#endif
#define cj_call(f, callee, ...) \
    cj__call((f), __FILE__, __LINE__, (callee), CJ__REGS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))
static inline void cj__call(cj_func *f, const char *file, int line, cj_callee callee, const cj_reg *reg, unsigned count) {
    cj_call_args(f, file, line, callee, reg[0], reg + 1, count - 1);
}

// Frees text that the library returned; NULL is allowed.
CJ_API void cj_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
// What a kernel family is made of: a parameter table, a plan, and the writing of the kernel.
#ifndef CJ_TEMPLATES_FAMILY_H
#define CJ_TEMPLATES_FAMILY_H

#include <clusterjit/cluster.h>
#include <clusterjit/collectives.h>
#include <clusterjit/control.h>
#include <clusterjit/kernel.h>
#include <clusterjit/ptx.h>
#include <stdbool.h>

// A parameter, of which params.def has one row each: PARAM(K, CJ_NUMBER("k", 1, 2048, "64", "how many")) becomes K in an enum and
// [K] = {CJ_NUMBER(…)} in the family's table. Other members may follow in the row. The file ends with #undef PARAM.
//   CJ_NUMBER      a number from minimum to maximum
//   CJ_AUTOMATIC   the same, or "auto", its default, which leaves the number to the plan
//   CJ_REAL        a real number
//   CJ_CHOICE      one of the words in `choices`
//   CJ_SWITCH      "no", its default, or "yes"
//   CJ_FUNCTION    a user's function of these arguments
#define CJ_NUMBER(name_, minimum_, maximum_, initial_, help_) \
    .name = name_, .minimum = minimum_, .maximum = maximum_, .initial = initial_, .help = help_
#define CJ_AUTOMATIC(name_, minimum_, maximum_, help_) \
    CJ_NUMBER(name_, minimum_, maximum_, "auto", help_), .automatic = true
#define CJ_REAL(name_, initial_, help_) .name = name_, .real = true, .initial = initial_, .help = help_
#define CJ_CHOICE(name_, choices_, initial_, help_) \
    .name = name_, .choices = choices_, .initial = initial_, .help = help_
#define CJ_SWITCH(name_, help_) CJ_CHOICE(name_, "no yes", "no", help_)
#define CJ_FUNCTION(name_, arguments_, help_) .name = name_, .function = arguments_, .initial = "", .help = help_

// A row of a family's constants.def, which its header includes: what was fitted to a GPU or to a compiler, and the command that
// measures it again.
#define CJ_CONSTANT(name, value, unit, gpu, date, command) enum { name = (value) };

// A family's table.
#define CJ_PARAMS(params_) .param = params_, .param_count = sizeof params_ / sizeof *params_

// A family, {CJ_FAMILY("topk", "the k largest …", params, plan, emit)}. Here, too, others may follow.
#define CJ_FAMILY(name_, summary_, params_, plan_, emit_) \
    .name = name_, .summary = summary_, CJ_PARAMS(params_), .plan = plan_, .emit = emit_

// A parameter's value as text, for the rest of the block.
enum { CJ_PARAM_WORD_BYTES = 24 };
#define CJ_PARAM_WORD(plan, name) \
    cj_params_word(&(plan)->params, (name), (char[CJ_PARAM_WORD_BYTES]){0}, CJ_PARAM_WORD_BYTES)

struct cj_family {
    const char          *name, *summary;
    const cj_param_info *param;
    size_t               param_count;  // at most CJ_PARAM_MAX
    const void          *own;          // what a family has of its own that shares plan and emit with others
    uint32_t             mail;  // of kernels of several GPUs: which parameter is `mail`, where `gpus` is the first; 0: of one
    const char          *arch;  // the target where a caller names none and the device has its compute capability;
                                // NULL: the newest that the device runs

    // Fills grid, block, cluster, derived arguments, workspace, bound and note; params and arch are set. `clusters` says
    // whether the target has them. The launch contract is checked afterwards.
    cj_status (*plan)(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

    // Writes the kernel plan->entry.
    void (*emit)(const cj_plan *plan, cj_builder *builder);
};

// Whether `text` is one of blank-separated words, and the number of that one.
bool cj__word_index(const char *words, const char *text, uint64_t *index);

// What a caller sets he gets, or INVALID_ARGUMENT names it: before planning, parameters that have no effect with the others'
// words; afterwards, those that the plan does not have as they are set. What is at its default, or auto, is the plan's to choose.
cj_status cj__given_check(const cj_params *given, cj_error *error);
cj_status cj__given_check_plan(const cj_params *given, const cj_plan *plan, bool clusters, cj_error *error);

// A caller that keeps parameters keeps their functions: one share more in each, and one less.
void cj__params_share(const cj_params *params);
void cj__params_drop(const cj_params *params);

// A user's functions (CJ_FUNCTION), of families with dtype, op, op-expr and identity. Checks their signatures, and that op-expr
// comes with an identity and without another op; names them in the kernel's head, before an empty line; makes op-expr, where
// there is one, the operation of `value`, whose type is set: `identity` is its text.
cj_status cj__functions_check(const cj_plan *plan, cj_error *error);
void      cj__functions_head(const cj_plan *plan, cj_builder *builder);
void      cj__functions_write(const cj_plan *plan, cj_builder *builder, cj_combine *value, char identity[24]);

// Bits of a value of that type ("f32", "s64") as a PTX constant, in `buffer`.
const char *cj__constant_text(const char *type, uint64_t bits, char buffer[24]);

// The pointer that a kernel is given in `param`, into global memory: a new u64 register.
cj_reg cj__load_pointer(cj_func *f, cj_var param, const char *name);

// What it is given as a value of `type`: of a u64, as a u32 its lower half.
cj_reg cj__load_param(cj_func *f, const char *type, cj_var param, const char *name);

// The plan's derived arguments, in the order of the kernel's parameters.
#define CJ_DERIVE(plan, ...) \
    cj__derive((plan), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void cj__derive(cj_plan *plan, const uint64_t *values, size_t count);

// The plan's entry, of its block and its cluster.
cj_func *cj__entry(const cj_plan *plan, cj_builder *builder);

// Asks ptxas for registers that let so many blocks fit an SM, or as many as an SM of the target holds: it ignores a larger
// number, with a warning. 1 is what every kernel has, and is not written.
void cj__blocks_per_sm(const cj_plan *plan, cj_func *f, uint64_t wanted);

// Threads that all SMs hold at once, if they have nothing but threads to hold.
static inline uint64_t cj__threads_at_once(const cj_limits *limits) {
    return (uint64_t)limits->sm_count * limits->max_threads_per_sm;
}

// Clusters of so many blocks (0 and 1: blocks) that the GPU holds at once, but at least 1.
uint64_t cj__clusters_at_once(const cj_limits *limits, uint64_t threads, uint64_t shared, uint64_t cluster);

// Lets a thread have so many registers. ptxas by itself now and then spills some for a block more on an SM, and does not where
// a number of blocks is asked for. For sm_90, where forms were measured as ptxas compiles them by itself, only those that
// `spills` names are kept from it.
enum { CJ_TARGET_MEASURED = 90 };
void cj__registers(const cj_plan *plan, cj_func *f, uint32_t registers, bool spills);

// Whether a CJ_AUTOMATIC parameter is set; its value, or else what is chosen for it: numbers of 32 bits.
static inline bool cj__is_asked(const cj_plan *plan, unsigned param) {
    return plan->params.value[param] != CJ_PARAM_AUTO;
}
static inline uint32_t cj__asked_or(const cj_plan *plan, unsigned param, uint64_t chosen) {
    return (uint32_t)(cj__is_asked(plan, param) ? plan->params.value[param] : chosen);
}

// Registers that each of so many threads of a block may have at most, on all targets (but never more than 255).
uint32_t cj__registers_per_thread(uint64_t threads);

// Elements from row to row: what a stride's parameter says, and 0 stands for the columns. Rows may not overlap.
static inline uint64_t cj__stride(const cj_plan *plan, unsigned param, uint64_t columns) {
    return plan->params.value[param] ? plan->params.value[param] : columns;
}
cj_status cj__check_stride(const cj_plan *plan, unsigned param, uint64_t columns, cj_error *error);

// Refuses a number that is beyond f32, in which the kernel has it.
cj_status cj__check_f32(const char *param, double value, cj_error *error);

// Whether a grid may have so many blocks, `each` of a row.
cj_status cj__check_grid(uint64_t blocks, uint64_t rows, uint64_t each, cj_error *error);

// The name of the plan's entry, of words of parameters: their '-' become '_'.
void cj__name_entry(cj_plan *plan, const char *format, ...) CJ_PRINTF(2, 3);

// The plan's note if `cluster` blocks are asked for of a target without clusters: they are generated without.
void cj__note_no_clusters(cj_plan *plan, uint64_t cluster);

// The blocks of a cluster that `param` asks for, 0 (with the note) of a target without clusters. CJ_PARAM_AUTO: to be chosen.
uint64_t cj__cluster_asked(cj_plan *plan, unsigned param, bool clusters);

// The plan's target as a number, 90 for sm_90a.
unsigned cj__target_number(const cj_plan *plan);

// Of f16 or bf16 (`type`): the two halves of a word as f32, and one value, a b16 register, as f32.
void cj__unpack_halves(cj_func *f, const char *type, cj_reg word, cj_reg low, cj_reg high);
void cj__widen_half(cj_func *f, const char *type, cj_reg wide, cj_reg half);

// word = two f32 rounded to f16 or bf16 (`type`); before sm_80 there are no instructions that round to bf16, which
// cj__refuse_bf16 refuses, as what the parameter `name` asks for.
void      cj__pack_halves(const cj_plan *plan, cj_func *f, const char *type, cj_reg word, cj_reg high, cj_reg low);
cj_status cj__refuse_bf16(const cj_plan *plan, const char *name, const char *type, cj_error *error);

// x = 1 / sqrt(x) of an x that is `least` or more. Below FLT_MIN .ftz would make it infinite.
void cj__inverse_root(cj_func *f, cj_reg x, double least);

// A barrier of all threads of the cluster, where the kernel is `clustered`, else of the block; why, of each.
void cj__sync(cj_func *f, bool clustered, const char *cluster_why, const char *block_why);

// With programmatic dependent launch: lets the next kernel's blocks start; waits for all that the kernels before do.
void cj__launch_dependents(const cj_plan *plan, cj_func *f);
void cj__wait_for_launches(const cj_plan *plan, cj_func *f);
// Both, for a kernel that does nothing while the kernels before still run. What its launch takes overlaps with them all the same.
void cj__follow_launches(const cj_plan *plan, cj_func *f);

// How a kernel loads what it is given: one that may start before others have ended must not say that nobody writes it.
// `once`: of what is read once, which shall leave the L1 cache alone.
const char *cj__load_given(const cj_plan *plan);
const char *cj__load_given_once(const cj_plan *plan);

// Where bulk copies may go: the first multiple of 128 bytes in `pool`, the kernel's unsized array of shared memory,
// which takes CJ_POOL_SLACK bytes more for it; a new u32 register. Copies to elsewhere are an eighth slower on an H200.
// An .align of the array would do, but the driver's linker keeps none beyond 16.
enum { CJ_POOL_ALIGN = 128, CJ_POOL_SLACK = CJ_POOL_ALIGN - 16 };
cj_reg cj__pool_address(cj_func *f, const char *pool);

extern const cj_family cj__family_collective;
extern const cj_family cj__family_exchange;
extern const cj_family cj__family_allreduce, cj__family_reducescatter, cj__family_allgather, cj__family_alltoall,
    cj__family_broadcast, cj__family_barrier, cj__family_allreducenorm,
    cj__family_shardedcrossentropy, cj__family_shardedsoftmax, cj__family_shardedtopk;
extern const cj_family cj__family_gemm;
extern const cj_family cj__family_reduce;
extern const cj_family cj__family_scan;
extern const cj_family cj__family_stencil;
extern const cj_family cj__family_topk;
extern const cj_family cj__family_sort;
extern const cj_family cj__family_argmax;
extern const cj_family cj__family_sample;
extern const cj_family cj__family_histogram;
extern const cj_family cj__family_softmax;
extern const cj_family cj__family_logsoftmax;
extern const cj_family cj__family_rmsnorm;
extern const cj_family cj__family_layernorm;
extern const cj_family cj__family_crossentropy;

#endif

// SPDX-License-Identifier: Apache-2.0
// Kernel families: parameters -> plan -> PTX text, and the loaded kernel.
//
// A family is a name and a table of key=value parameters; that table drives the command's flags, its listing, defaults,
// ranges and error messages. Nothing here needs a GPU but cj_kernel_create on a gpu device.
#ifndef CLUSTERJIT_KERNEL_H
#define CLUSTERJIT_KERNEL_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/ptx.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Parameters of one family. A number lies in [minimum, maximum] (and, where `multiple` is not 0, is a multiple of it, or
// equals `minimum`); a real number is any finite one; a choice is one of the blank-separated words in `choices`; a function
// is a user's, from values of the family's dtype to one.
typedef struct cj_param_info {
    const char *name;
    const char *choices;   // NULL for a number or a function
    uint64_t    minimum, maximum, multiple;
    const char *initial;   // default, as text
    const char *help;      // one line, with units
    const char *function;  // the names of a function's arguments, blank-separated ("" for a constant); NULL: no function
    bool        real;      // a real number: the range above is not used
    uint32_t    reals;     // a list of finite real numbers, at most so many (CJ_REALS_MAX); 0: no list
    bool        automatic; // a number that may also be "auto" (CJ_PARAM_AUTO): the plan chooses
    bool        at_most;   // a number that limits: the plan may have less
    const char *only;      // "op=scan shift": it has an effect only with these words of that choice; NULL: with all
    const char *tune;      // values that tuning tries, blank-separated, where the default leaves it to the plan and every
                           // value keeps what the kernel promises, though sums may round in another order
                           // (clusterjit/tuning.h); NULL: not tuned
} cj_param_info;

typedef struct cj_family cj_family;

CJ_API size_t               cj_family_count(void);
CJ_API const cj_family     *cj_family_at(size_t index);
CJ_API const char          *cj_family_name(const cj_family *family);
CJ_API const char          *cj_family_summary(const cj_family *family);
CJ_API size_t               cj_family_param_count(const cj_family *family);
CJ_API const cj_param_info *cj_family_param(const cj_family *family, size_t index);

// Finds a family; INVALID_ARGUMENT names the nearest one.
CJ_API cj_status cj_family_find(const char *name, const cj_family **family, cj_error *error);

#define CJ_PARAM_MAX 64  // far more than any family has (24)
#define CJ_REALS_MAX 32
#define CJ_PARAM_AUTO UINT64_MAX

// A family's parameter values, in its table's order: the number, the bits of a real number as a double, the index of the
// chosen word, the length of a list, or the user's function. A family has one list at most.
// Copyable; functions are the caller's and must stay until a kernel or a text was made from the copies.
typedef struct cj_params {
    const cj_family        *family;
    uint64_t                value[CJ_PARAM_MAX];
    const cj_user_function *function[CJ_PARAM_MAX];  // NULL: none
    double                  reals[CJ_REALS_MAX];     // the list; zero after its end
} cj_params;

// All defaults; one value by name from text (a number as cj_number_read and cj_real_read take it; a list with
// commas, "" for none; "auto"); a value by name.
// Parameters of no family, as {0} leaves them, are refused by all that takes them.
// cj_params_set: INVALID_ARGUMENT names the parameter, the text, the range and the nearest valid word.
// cj_params_set_function: INVALID_ARGUMENT where that parameter is no function; NULL takes it back, and so does "" as text.
// Its signature is held against the family's dtype when the kernel is planned.
CJ_API void        cj_params_init(cj_params *params, const cj_family *family);
CJ_API cj_status   cj_params_set(cj_params *params, const char *name, const char *text, cj_error *error);
CJ_API cj_status   cj_params_set_function(cj_params *params, const char *name, const cj_user_function *function,
                                          cj_error *error);
CJ_API cj_status   cj_params_set_reals(cj_params *params, const char *name, const double *value, uint32_t count,
                                       cj_error *error);
CJ_API uint64_t    cj_params_get(const cj_params *params, const char *name);         // UINT64_MAX for no such name
CJ_API double      cj_params_real(const cj_params *params, const char *name);        // NaN for no such name
CJ_API const char *cj_params_word(const cj_params *params, const char *name, char *buffer, size_t size);  // as text

// How one problem runs on one target. Plain data.
typedef struct cj_plan {
    cj_params params;
    char      arch[16];         // "sm_90"
    char      entry[64];        // the kernel's name
    cj_dim3   grid, block, cluster;  // cluster {0,0,0}: generated without clusters
    uint32_t  dynamic_shared;   // bytes
    uint32_t  resident;         // 0: the grid stays. Else it is what the device was thought to hold at once, and a driver that
                                // counts fewer makes it smaller on loading, in steps of so many blocks
    bool      programmatic;     // a dependent launch (cj_launch_attributes): the kernel waits by griddepcontrol
    bool      cooperative;      // all blocks are resident at once (cj_launch_attributes): they wait for each other
    uint32_t  launches;         // 0: one. n: cj_kernel_launch launches n times, with 0, 1, … n - 1 as a u64 argument after
                                // the derived ones
    uint64_t  derived[8];       // u64 arguments that follow the caller's own, computed from the parameters
    uint32_t  derived_count;
    size_t    workspace_bytes;  // zeroed once before the first launch, left ready by every launch; 0 for none
    double    error_bound;      // of a rounded result, relative to what the family says (sum |x| for sums); 0 where it is
                                // exact, NaN where nothing is known: for a user's operation on floats
    char      note[256];        // what was changed and why (fallback without clusters, …), or empty
    uint64_t  reserved[8];      // 0
} cj_plan;

// Built-in limits of a target ("sm_90", "sm_90a", "sm_80", …), static storage; INVALID_ARGUMENT names the nearest.
CJ_API cj_status cj_limits_builtin(const char *arch, const cj_limits **limits, cj_error *error);

// The target to generate for on a device with these limits: the newest known one that it can run.
CJ_API const char *cj_limits_arch(const cj_limits *limits);

// The family's target on such a device: cj_limits_arch, but sm_90a for what only that has (gemm), where the device runs it.
CJ_API const char *cj_family_arch(const cj_family *family, const cj_limits *limits);

// Chooses grid, block, cluster and memory. `arch` is the target, or NULL: cj_family_arch. UNSUPPORTED when the family has no
// kernel for a target that is named. CONTRACT or INVALID_ARGUMENT when it could not launch, with the rule's name. A parameter
// that is not at its default is planned as it is set (plan->params has what was chosen for the others), or INVALID_ARGUMENT
// names it; but a target before sm_90 has no clusters: then plan->note says that the kernel is generated without them.
CJ_API cj_status cj_plan_make(const cj_params *params, const cj_limits *limits, const char *arch, cj_plan *plan,
                              cj_error *error);

// Writes the kernel: NUL-terminated PTX text, checked, owned by the caller (cj_text_free). `length` may be NULL.
CJ_API cj_status cj_plan_emit(const cj_plan *plan, char **text, size_t *length, cj_error *error);

// A planned kernel loaded on a device, with its workspace. Thread safety: launches of one kernel must be ordered (they
// share its workspace); for concurrent launches create one kernel each. Its module is shared with every kernel of the
// same PTX on the device, and comes from the disk cache where it can (clusterjit/cache.h).
typedef struct cj_kernel cj_kernel;

// cj_kernel_create plans for the device, with what tuning has found (clusterjit/tuning.h); cj_kernel_load takes a plan that
// was made, for another target perhaps.
CJ_API cj_status      cj_kernel_create(cj_device *device, const cj_params *params, cj_kernel **kernel, cj_error *error);
CJ_API cj_status      cj_kernel_load(cj_device *device, const cj_plan *plan, cj_kernel **kernel, cj_error *error);
CJ_API void           cj_kernel_destroy(cj_kernel *kernel);  // NULL is allowed; waits for nothing

// The device's kernel of these parameters for launches on this stream: shared by all callers that ask for it, and made once
// however many threads ask (they wait for that one, and get its error too). Every get wants a cj_kernel_release; the
// last one frees the kernel, whose launches must have ended by then. A stream of its own has a workspace of its own, so
// launches of shared kernels need no order beyond their streams'. A kernel must be there before its launch is captured
// into a graph; the graph's launches then count as launches on the stream that it was captured on.
CJ_API cj_status cj_kernel_get(cj_device *device, const cj_params *params, cj_stream stream, cj_kernel **kernel,
                               cj_error *error);
CJ_API void      cj_kernel_release(cj_kernel *kernel);  // of cj_kernel_get alone; NULL is allowed

CJ_API const cj_plan *cj_kernel_plan(const cj_kernel *kernel);
CJ_API const char    *cj_kernel_ptx(const cj_kernel *kernel);

// Launches with the family's own arguments, in the order of the entry's parameters; the derived ones and the workspace,
// which follow them, are supplied. Allocates nothing, does not synchronize.
CJ_API cj_status cj_kernel_launch(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count,
                                  cj_error *error);

#ifdef __cplusplus
}
#endif
#endif

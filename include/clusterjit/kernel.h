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

#ifdef __cplusplus
extern "C" {
#endif

// Parameters of one family. A number lies in [minimum, maximum] (and, where `multiple` is not 0, is a multiple of it, or
// equals `minimum`); a choice is one of the blank-separated words in `choices`.
typedef struct cj_param_info {
    const char *name;
    const char *choices;   // NULL for a number
    uint64_t    minimum, maximum, multiple;
    const char *initial;   // default, as text
    const char *help;      // one line, with units
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

#define CJ_PARAM_MAX 16

// A family's parameter values, in its table's order: the number, or the index of the chosen word. Copyable.
typedef struct cj_params {
    const cj_family *family;
    uint64_t         value[CJ_PARAM_MAX];
} cj_params;

// All defaults; one value by name from text (digits, 0x…, 2^k, 2^k+c, K/M/G suffixes); a value by name.
// cj_params_set: INVALID_ARGUMENT names the parameter, the text, the range and the nearest valid word.
CJ_API void        cj_params_init(cj_params *params, const cj_family *family);
CJ_API cj_status   cj_params_set(cj_params *params, const char *name, const char *text, cj_error *error);
CJ_API uint64_t    cj_params_get(const cj_params *params, const char *name);         // UINT64_MAX for no such name
CJ_API const char *cj_params_word(const cj_params *params, const char *name, char *buffer, size_t size);  // as text

// How one problem runs on one target. Plain data.
typedef struct cj_plan {
    cj_params params;
    char      arch[16];         // "sm_90"
    char      entry[64];        // the kernel's name
    cj_dim3   grid, block, cluster;  // cluster {0,0,0}: generated without clusters
    uint32_t  dynamic_shared;   // bytes
    uint64_t  derived[4];       // u64 arguments that follow the caller's own, computed from the parameters
    uint32_t  derived_count;
    size_t    workspace_bytes;  // zeroed once before the first launch, left ready by every launch; 0 for none
    double    error_bound;      // |result - exact| <= error_bound * sum |x| for rounded sums; 0 where the result is exact
    char      note[256];        // what was changed and why (fallback without clusters, …), or empty
} cj_plan;

// Built-in limits of a target ("sm_90", "sm_90a", "sm_80", …), static storage; INVALID_ARGUMENT names the nearest.
CJ_API cj_status cj_limits_builtin(const char *arch, const cj_limits **limits, cj_error *error);

// The target to generate for on a device with these limits: the newest known one that it can run.
CJ_API const char *cj_limits_arch(const cj_limits *limits);

// Chooses grid, block, cluster and memory. `arch` may be NULL (cj_limits_arch). CONTRACT or INVALID_ARGUMENT when it
// could not launch, with the rule's name.
CJ_API cj_status cj_plan_make(const cj_params *params, const cj_limits *limits, const char *arch, cj_plan *plan,
                              cj_error *error);

// Writes the kernel: NUL-terminated PTX text, checked, owned by the caller (cj_text_free). `length` may be NULL.
CJ_API cj_status cj_plan_emit(const cj_plan *plan, char **text, size_t *length, cj_error *error);

// A planned kernel loaded on a device, with its workspace. Thread safety: launches of one kernel must be ordered (they
// share its workspace); for concurrent launches create one kernel each.
typedef struct cj_kernel cj_kernel;

// cj_kernel_create plans for the device; cj_kernel_load takes a plan that was made, for another target perhaps.
CJ_API cj_status      cj_kernel_create(cj_device *device, const cj_params *params, cj_kernel **kernel, cj_error *error);
CJ_API cj_status      cj_kernel_load(cj_device *device, const cj_plan *plan, cj_kernel **kernel, cj_error *error);
CJ_API void           cj_kernel_destroy(cj_kernel *kernel);  // NULL is allowed; waits for nothing
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

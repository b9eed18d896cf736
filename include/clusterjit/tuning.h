// SPDX-License-Identifier: Apache-2.0
// What was measured to be fastest: parameters that tuning has chosen for a problem on a model of device, kept in a
// file.
//
// A family's table marks the parameters that tuning may choose (`tune` in cj_param_info); by default each is left to
// the plan. All that a caller says besides, and those of them that are not left to the plan, is a problem: "m=4096
// n=4096 k=4096". Where the file has this problem for this model of device (name, compute capability, SMs), kernels are
// planned with what is kept there; a kept choice that the plan now refuses is passed over. Where it has not, the plan
// chooses.
//   file     tuning-1.txt in the directory of the disk cache (clusterjit/cache.h says whose it must be): a line a
//            problem, with a checksum. A damaged line is passed over, and gone when the file is next written.
//   reading  by cj_kernel_create, cj_kernel_get and so by all typed calls, when a kernel is made; never by a launch.
//   writing  by cj_tuning_keep and cj_tuning_forget: whole or not at all, one at a time.
//   off      CLUSTERJIT_TUNING=off in the environment: nothing is looked up.
// Thread safety: every call may run in any thread, and in several processes on one file.
#ifndef CLUSTERJIT_TUNING_H
#define CLUSTERJIT_TUNING_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether tuning may choose the parameter at `index`: its table says so, and it is left to the plan.
CJ_API bool cj_tuning_is_open(const cj_params *params, size_t index);

// cj_plan_make for a device, with what tuning has found; the plan's note says so. `arch` may be NULL. Errors as
// cj_plan_make.
CJ_API cj_status cj_tuning_plan(cj_device *device, const cj_params *params, const char *arch, cj_plan *plan,
                                cj_error *error);

// Keeps a choice for the device's model, in place of an older one: the values that `choice` has for what `problem`
// leaves open. `time` and `untuned` are milliseconds of a launch, of the choice and of what the plan has without it.
// FILE where it cannot be written, INVALID_ARGUMENT where nothing is chosen or a time is not above 0.
CJ_API cj_status cj_tuning_keep(cj_device *device, const cj_params *problem, const cj_params *choice, double time,
                                double untuned, cj_error *error);

// One kept choice. Strings live during the visit.
typedef struct cj_tuning {
    const char *family;
    const char *device;   // "NVIDIA H200, sm_90, 132 SMs"
    const char *problem;  // parameters that are not as by default: "m=4096 n=4096"; "defaults" where all are
    const char *choice;   // "tile=128x128 cluster=2"
    const char *made;     // the day: "2026-11-21"
    double      time, untuned;
} cj_tuning;

typedef void (*cj_tuning_visit)(void *user, const cj_tuning *tuning);

// Which of them: of this model of device, of this family, for this problem (of its family); NULL: of any.
typedef struct cj_tuning_filter {
    CJ_STRUCT_SIZE(cj_tuning_filter);
    const cj_device *device;
    const cj_family *family;
    const cj_params *problem;
} cj_tuning_filter;

// Visits them in the order of the file, which is that in which they were made. FILE.
CJ_API cj_status cj_tuning_each(const cj_tuning_filter *filter, cj_tuning_visit visit, void *user, cj_error *error);

// Forgets them, and says how many. FILE.
CJ_API cj_status cj_tuning_forget(const cj_tuning_filter *filter, size_t *count, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif

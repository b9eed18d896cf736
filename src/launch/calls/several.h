// SPDX-License-Identifier: Apache-2.0
// The typed calls that several GPUs make of their own data before a collective: the parameters of a description, and the launch of
// a kernel that was made of them.
#ifndef CJ_LAUNCH_SEVERAL_H
#define CJ_LAUNCH_SEVERAL_H

#include <clusterjit/histogram.h>
#include <clusterjit/reduce.h>
#include <clusterjit/topk.h>

cj_status cj__reduce_describe(const cj_reduce_desc *desc, cj_params *params, cj_error *error);
cj_status cj__reduce_run(cj_kernel *kernel, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error);

cj_status cj__histogram_describe(const cj_histogram_desc *desc, cj_params *params, cj_error *error);
cj_status cj__histogram_run(cj_device *device, cj_kernel *kernel, const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts, cj_stream stream,
                            cj_error *error);

cj_status cj__topk_describe(const cj_topk_desc *desc, cj_params *params, cj_error *error);
cj_status cj__topk_run(cj_kernel *kernel, const cj_topk_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream,
                       cj_error *error);

#endif

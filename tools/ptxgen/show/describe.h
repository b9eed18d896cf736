// SPDX-License-Identifier: Apache-2.0
// Parameters, plan and device as JSON: the same members in run, bench and compare.
#ifndef PTXGEN_DESCRIBE_H
#define PTXGEN_DESCRIBE_H

#include <clusterjit/kernel.h>
#include <jansson.h>

json_t *describe_params(const cj_params *params);
json_t *describe_plan(const cj_plan *plan);
json_t *describe_device(const cj_device *device);

#endif

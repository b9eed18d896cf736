// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include "output.h"

static json_t *json_function(const cj_user_function *function) {
    return function ? output_json_text(cj_user_function_text(function)) : json_null();
}

static json_t *json_reals(const double *value, uint64_t count) {
    json_t *array = json_array();
    for (uint64_t i = 0; i < count; i++) json_array_append_new(array, output_json_real(value[i]));
    return array;
}

static json_t *json_value(const cj_params *params, size_t i) {
    const cj_param_info *info = cj_family_param(params->family, i);
    char                 word[64];
    if (info->function) return json_function(params->function[i]);
    if (info->choices) return json_string(cj_params_word(params, info->name, word, sizeof word));
    if (info->reals) return json_reals(params->reals, params->value[i]);
    if (info->real) return output_json_real(cj_params_real(params, info->name));
    if (info->automatic && params->value[i] == CJ_PARAM_AUTO) return json_string("auto");
    return output_json_uint(params->value[i]);
}

json_t *describe_params(const cj_params *params) {
    json_t *object = json_object();
    for (size_t i = 0; i < cj_family_param_count(params->family); i++)
        json_object_set_new(object, cj_family_param(params->family, i)->name, json_value(params, i));
    return object;
}

json_t *describe_plan(const cj_plan *plan) {
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:s}", "arch", plan->arch, "entry", plan->entry, "parameters",
                     describe_params(&plan->params), "grid", output_json_dim3(plan->grid), "block", output_json_dim3(plan->block), "cluster",
                     output_json_dim3(plan->cluster), "dynamic_shared", (json_int_t)plan->dynamic_shared,
                     "workspace_bytes", (json_int_t)plan->workspace_bytes, "note", plan->note);
}

json_t *describe_device(const cj_device *device) {
    return json_pack("{s:s, s:s, s:s}", "kind", cj_device_kind(device), "name", cj_device_name(device), "reason",
                     cj_device_reason(device));
}

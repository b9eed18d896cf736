// SPDX-License-Identifier: Apache-2.0
// A user's functions. Each is held against its row of the family's table; op-expr and identity together are an operation.
#include "kit.h"

static const cj_user_function *find(const cj_plan *plan, const char *name) {
    size_t i = 0;
    while (strcmp(plan->params.family->param[i].name, name)) i++;
    return plan->params.function[i];
}

static uint32_t count_words(const char *text) {
    uint32_t count = *text != '\0';
    for (; *text; text++) count += *text == ' ';
    return count;
}

cj_status cj__functions_check(const cj_plan *plan, cj_error *error) {
    const cj_params        *p = &plan->params;
    const cj_dtype          type = cj_dtype_arithmetic((cj_dtype)cj_params_get(p, "dtype"));
    const cj_user_function *op = find(plan, "op-expr"), *identity = find(plan, "identity");
    for (size_t i = 0; i < p->family->param_count; i++)
        if (p->function[i])
            TRY(cj__user_function_check(p->function[i], p->family->param[i].name, type,
                                        count_words(p->family->param[i].function), error));
    REFUSE_IF(!op != !identity,
              "%s" CJ_HINT
              "identity is the value e for which op-expr of e and any x is x: 0 for a + b, INT_MIN for the larger int",
              op ? "identity is missing: op-expr needs one" : "identity goes with op-expr only");
    REFUSE_IF(identity && !identity->is_constant,
              "identity: '%.200s' is not a constant" CJ_HINT "an expression without a and b has one value",
              identity->text);
    REFUSE_IF(op && cj_params_get(p, "op"), "op and op-expr exclude each other" CJ_HINT "leave op at its default");
    return CJ_OK;
}

void cj__functions_head(const cj_plan *plan, cj_builder *b) {
    for (size_t i = 0; i < plan->params.family->param_count; i++)
        if (plan->params.function[i])
            cj_head(b, "  %s: %.200s", plan->params.family->param[i].name, plan->params.function[i]->text);
    cj_head(b, "%s", "");
}

void cj__functions_write(const cj_plan *plan, cj_builder *b, cj_combine *value, char identity[24]) {
    if (!find(plan, "op-expr")) return;
    value->op = CJ_COMBINE_USER;
    value->function = cj_builder_function(b, find(plan, "op-expr"), "op");
    value->identity = cj__constant_text(value->type, find(plan, "identity")->constant, identity);
}

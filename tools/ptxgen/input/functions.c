// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <clusterjit/nvrtc.h>
#include <stdio.h>
#include <string.h>

#include "element.h"
#include "message.h"

enum { NAME = 16 };

// All arguments, named in the parameter's table, and the result have one type.
static cj_signature signature_of(const cj_param_info *info, cj_dtype type, char names[CJ_FUNCTION_ARGUMENTS][NAME]) {
    cj_signature signature = {.result = type};
    for (const char *word = info->function; *word && signature.count < CJ_FUNCTION_ARGUMENTS; signature.count++) {
        size_t length = strcspn(word, " ");
        snprintf(names[signature.count], NAME, "%.*s", (int)length, word);
        signature.name[signature.count] = names[signature.count];
        signature.argument[signature.count] = type;
        word += length + strspn(word + length, " ");
    }
    return signature;
}

static int compile(args_family *family, size_t index, cj_dtype type) {
    const cj_param_info *info = cj_family_param(family->params.family, index);
    char                 names[CJ_FUNCTION_ARGUMENTS][NAME], flag[64];
    snprintf(flag, sizeof flag, "--%s", info->name);
    cj_cuda_desc desc = {CJ_INIT(desc), .expression = family->expression[index], .name = flag,
                         .signature = signature_of(info, type, names)};
    cj_error error;
    if (cj_function_from_cuda(&desc, &family->function[index], &error) ||
        cj_params_set_function(&family->params, info->name, family->function[index], &error))
        return message_failure(&error);
    return CODE_OK;
}

int functions_compile(args_family *family) {
    char        word[16];
    cj_dtype    type = CJ_F32;  // for a family without a dtype
    int         code = CODE_OK;
    const char *name = cj_params_word(&family->params, "dtype", word, sizeof word);
    if (name) element_type(name, &type);
    type = cj_dtype_arithmetic(type);
    for (size_t i = 0; !code && i < cj_family_param_count(family->params.family); i++)
        if (family->expression[i]) code = compile(family, i, type);
    return code;
}

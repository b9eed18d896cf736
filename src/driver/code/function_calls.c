// SPDX-License-Identifier: Apache-2.0
// The calls that ask and tell a function: attributes, parameters, its name.
#include "library.h"

#define ENTER_FUNCTION(given) \
    ENTER(CJ_NEED_CONTEXT);   \
    cj_fun *fun = NULL;       \
    TRY(cj__fun_of(given, &fun))

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction given) {
    ENTER_FUNCTION(given);
    REQUIRE(value);
    LEAVE(cj__fun_get(fun, attribute, value));
}

CUresult cuFuncSetAttribute(CUfunction given, CUfunction_attribute attribute, int value) {
    ENTER_FUNCTION(given);
    LEAVE(cj__fun_set(fun, attribute, value));
}

CUresult cuFuncSetCacheConfig(CUfunction given, CUfunc_cache config) {
    ENTER_FUNCTION(given);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "config is %d", (int)config));
    LEAVE(CUDA_SUCCESS);
}

CUresult cuFuncSetSharedMemConfig(CUfunction given, CUsharedconfig config) {
    ENTER_FUNCTION(given);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "config is %d", (int)config));
    LEAVE(CUDA_SUCCESS);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction given) {
    ENTER_FUNCTION(given);
    REQUIRE(module);
    *module = HANDLE_OF(fun->mod);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuFuncGetName(const char **name, CUfunction given) {
    ENTER_FUNCTION(given);
    REQUIRE(name);
    *name = fun->name;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuFuncGetParamInfo(CUfunction given, size_t index, size_t *offset, size_t *bytes) {
    ENTER_FUNCTION(given);
    LEAVE(cj__fun_param(fun, index, offset, bytes));
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction given) {
    ENTER_FUNCTION(given);
    REQUIRE(state);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuFuncLoad(CUfunction given) {
    ENTER_FUNCTION(given);
    (void)fun;
    LEAVE(CUDA_SUCCESS);
}

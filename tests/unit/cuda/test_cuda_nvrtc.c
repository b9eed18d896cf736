// SPDX-License-Identifier: Apache-2.0
// The interface that the library declares for NVRTC is the one of the toolkit's header. Nothing is called or linked:
// the types are compared while this compiles.
#include <nvrtc.h>

#include "library.h"
#include "test.h"

// A pointer to an enum of int's size stands for nvrtcResult, as C has it.
_Static_assert(sizeof(nvrtcResult) == sizeof(int), "results are passed as int");
_Static_assert(CJ_NVRTC_SUCCESS == (int)NVRTC_SUCCESS && CJ_NVRTC_OUT_OF_MEMORY == (int)NVRTC_ERROR_OUT_OF_MEMORY &&
                   CJ_NVRTC_COMPILATION == (int)NVRTC_ERROR_COMPILATION,
               "results are numbered alike");
_Static_assert(_Generic((cj_nvrtc_program)0, nvrtcProgram : 1, default : 0), "programs are of one type");

#define SAME(name, result, arguments) \
    _Static_assert(_Generic(&nvrtc##name, result(*) arguments : 1, default : 0), "nvrtc" #name);
SAME(Version, nvrtcResult, (int *, int *))
SAME(GetErrorString, const char *, (nvrtcResult))
SAME(GetNumSupportedArchs, nvrtcResult, (int *))
SAME(GetSupportedArchs, nvrtcResult, (int *))
SAME(CreateProgram, nvrtcResult,
     (cj_nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *))
SAME(DestroyProgram, nvrtcResult, (cj_nvrtc_program *))
SAME(CompileProgram, nvrtcResult, (cj_nvrtc_program, int, const char *const *))
SAME(GetProgramLogSize, nvrtcResult, (cj_nvrtc_program, size_t *))
SAME(GetProgramLog, nvrtcResult, (cj_nvrtc_program, char *))
SAME(AddNameExpression, nvrtcResult, (nvrtcProgram, const char *))
SAME(GetLoweredName, nvrtcResult, (nvrtcProgram, const char *, const char **))
SAME(GetPTXSize, nvrtcResult, (cj_nvrtc_program, size_t *))
SAME(GetPTX, nvrtcResult, (cj_nvrtc_program, char *))

static void the_table_has_no_more_functions_than_are_compared(void **state) {
    (void)state;
    assert_int_equal(sizeof(cj_nvrtc) / sizeof(void (*)(void)), 13);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_has_no_more_functions_than_are_compared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, functions, the linker: loading, finding, asking, and what bad images and names get.
#include "driver_test.h"

static void modules_list_what_they_hold(void **state) {
    CUfunction  all[3] = {NULL}, same = NULL;
    unsigned    count = 0;
    const char *name = NULL;
    CUmodule    owner = NULL;
    CUdeviceptr base = 0;
    size_t      bytes = 0;
    unsigned    value = 0;
    (void)state;
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 7);
    OK(cuModuleEnumerateFunctions(all, 3, module));
    OK(cuFuncGetName(&name, all[1]));
    assert_string_equal(name, "more");
    OK(cuModuleGetFunction(&same, module, "more"));
    assert_ptr_equal(same, all[1]);
    OK(cuFuncGetModule(&owner, same));
    assert_ptr_equal(owner, module);
    OK(cuModuleGetGlobal(&base, &bytes, module, "base"));
    assert_int_equal(bytes, 4);
    OK(cuMemcpyDtoH(&value, base, 4));
    assert_int_equal(value, 5);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, base + 4, 4));
}

static void names_that_are_not_there(void **state) {
    CUfunction  none = NULL;
    CUdeviceptr base = 0;
    (void)state;
    IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "nothing"));
    IS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&base, NULL, module, "add"));
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&none, module, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal(NULL, NULL, module, "base"));
    IS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&none, NOWHERE(CUmodule), "add"));
    IS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload((CUmodule)function("add")));
}

static void an_unloaded_module_takes_its_functions_along(void **state) {
    CUmodule          again = NULL;
    CUfunction        f = NULL;
    CUdeviceptr       base = 0;
    const CUdeviceptr p = allocate(4);
    unsigned          n = 1;
    void             *argument[] = {(void *)(uintptr_t)&p, &n};
    (void)state;
    OK(cuModuleLoadData(&again, ptx));
    OK(cuModuleGetFunction(&f, again, "add"));
    OK(cuModuleGetGlobal(&base, NULL, again, "base"));
    OK(cuModuleUnload(again));
    IS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(again));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(base, 0, 4));
}

static void bad_images_are_refused(void **state) {
    CUmodule     none = NULL;
    char         log[512] = "untouched";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL};
    void        *value[] = {log, (void *)(uintptr_t)sizeof log, (void *)(uintptr_t)3};
    (void)state;
    IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&none, "\177ELF\2\1\1"));
    IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&none, ""));
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&none, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, ptx));
    IS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&none, "/nowhere/at.all"));
    IS(CUDA_ERROR_INVALID_PTX,
       cuModuleLoadDataEx(&none,
                          ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { add.u32 %x, 1; }", 3,
                          option, value));
    assert_non_null(strstr(log, "line 4"));
    assert_int_equal((uintptr_t)value[1], strlen(log) + 1);
    option[2] = (CUjit_option)999;
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&none, ptx, 3, option, value));
    IS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&none, ptx, 3, NULL, value));
    REPORTED("the image is machine code");
}

static void functions_are_asked_and_told(void **state) {
    const CUfunction f = function("pair"), mixed = function("mixed");
    int              value = 0;
    size_t           offset = 0, bytes = 0;
    (void)state;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    assert_int_equal(value, 32);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    assert_int_equal(value, 90);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(value, 49152);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(value, 200000);
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000));
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 8));
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, (CUfunction_attribute)99, f));
    IS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NOWHERE(CUfunction)));
    OK(cuFuncGetParamInfo(mixed, 1, &offset, &bytes));
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 8);
    OK(cuFuncGetParamInfo(mixed, 2, &offset, &bytes));
    assert_int_equal(offset, 16);
    assert_int_equal(bytes, 6);
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(mixed, 3, &offset, &bytes));
}

static void libraries_are_loaded_where_they_are_used(void **state) {
    CUlibrary   library = NULL, owner = NULL;
    CUkernel    kernel = NULL, all[8] = {NULL};
    CUfunction  f = NULL;
    CUdeviceptr base = 0, p = allocate(256);
    unsigned    n = 64, count = 0;
    size_t      bytes = 0;
    const char *name = NULL;
    int         value = 0;
    void       *argument[] = {&p, &n};
    (void)state;
    OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 7);
    OK(cuLibraryEnumerateKernels(all, 8, library));
    OK(cuLibraryGetKernel(&kernel, library, "add"));
    assert_ptr_equal(all[0], kernel);
    OK(cuKernelGetLibrary(&owner, kernel));
    assert_ptr_equal(owner, library);
    OK(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "add");
    OK(cuLibraryGetGlobal(&base, &bytes, library, "base"));
    OK(cuMemsetD32(base, 70, 1));
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 64, 1, 1, 0, NULL, argument, NULL));
    assert_int_equal(word_at(p + 4), 71);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
    OK(cuKernelGetFunction(&f, kernel));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(value, 100000);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
    IS(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 4));
    IS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuLibraryUnload(library));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    IS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&f, all[0]));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, argument, NULL));
}

static void a_library_outlives_a_context(void **state) {
    CUlibrary  library = NULL;
    CUkernel   kernel = NULL;
    CUfunction f = NULL;
    (void)state;
    OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "halt"));
    OK(cuKernelGetFunction(&f, kernel));
    OK(cuDevicePrimaryCtxReset(0));
    IS(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad(f));
    OK(cuKernelGetFunction(&f, kernel));
    OK(cuFuncLoad(f));
    OK(cuLibraryUnload(library));
}

static void the_linker_joins_texts(void **state) {
    static char other[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry alone()\n{\n ret;\n}\n";
    CUlinkState link = NULL;
    CUmodule    linked = NULL;
    CUfunction  f = NULL;
    void       *image = NULL;
    size_t      bytes = 0;
    char        text[sizeof ptx];
    (void)state;
    memcpy(text, ptx, sizeof ptx);
    OK(cuLinkCreate(0, NULL, NULL, &link));
    IS(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(link, &image, &bytes));
    IS(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData(link, CU_JIT_INPUT_CUBIN, text, sizeof text, "x", 0, NULL, NULL));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, text, sizeof text, "x", 0, NULL, NULL));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, other, sizeof other, "y", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &bytes));
    OK(cuModuleLoadData(&linked, image));
    OK(cuModuleGetFunction(&f, linked, "add"));
    OK(cuModuleGetFunction(&f, linked, "alone"));
    OK(cuLinkDestroy(link));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(link));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(modules_list_what_they_hold),
        TEST(names_that_are_not_there),
        TEST(an_unloaded_module_takes_its_functions_along),
        TEST(bad_images_are_refused),
        TEST(functions_are_asked_and_told),
        TEST(libraries_are_loaded_where_they_are_used),
        TEST(a_library_outlives_a_context),
        TEST(the_linker_joins_texts),
    };
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}

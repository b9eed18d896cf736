// SPDX-License-Identifier: Apache-2.0
// What the tests of libcuda.so.1 share. They link it as a program does, and see nothing else of the library.
#ifndef CJ_TESTS_DRIVER_TEST_H
#define CJ_TESTS_DRIVER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

// The call returns CUDA_SUCCESS; the call returns this error.
#define OK(call) is_code(call, CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define IS(code, call) is_code(call, code, #call, __FILE__, __LINE__)

static inline void is_code(CUresult got, CUresult wanted, const char *call, const char *file, int line) {
    const char *name = "?", *expected = "?";
    if (got == wanted) return;
    cuGetErrorName(got, &name);
    cuGetErrorName(wanted, &expected);
    fprintf(stderr, "%s:%d: %s gave %s, not %s\n", file, line, call, name, expected);
    _fail(file, line);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Kernels: add writes base + tid to p[tid] for tid < n; racy has a race; halt traps; pair runs in clusters of 2.
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"race.cu\"\n"
    ".visible .global .align 4 .u32 base = 5;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p1;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; mov.u32 %r2,%tid.x; setp.ge.u32 %p1,%r2,%r1; @%p1 bra E;\n"
    " mul.wide.u32 %rd2,%r2,4; add.s64 %rd3,%rd1,%rd2; ld.global.u32 %r4,[base]; add.u32 %r5,%r4,%r2;\n"
    " st.global.u32 [%rd3],%r5;\nE: ret;\n}\n"
    ".visible .entry more(.param .u64 p, .param .u32 n)\n{\n .reg .b32 %r<4>; .reg .b64 %rd1;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; ld.global.u32 %r2,[%rd1]; add.u32 %r3,%r2,%r1;\n"
    " st.global.u32 [%rd1],%r3; ret;\n}\n"
    ".visible .entry racy(.param .u64 p)\n{\n .reg .b32 %r1; .reg .b64 %rd1;\n"
    " ld.param.u64 %rd1,[p]; mov.u32 %r1,%tid.x;\n .loc 1 31 5\n st.global.u32 [%rd1],%r1;\n ret;\n}\n"
    ".visible .entry halt()\n{\n trap;\n}\n"
    ".visible .entry pair(.param .u64 p) .reqntid 32\n{\n .reg .b32 %r1; .reg .b64 %rd1;\n"
    " ld.param.u64 %rd1,[p]; mov.u32 %r1,%cluster_nctarank; st.global.u32 [%rd1],%r1; ret;\n}\n"
    ".visible .entry mixed(.param .u32 a, .param .u64 p, .param .align 2 .b8 s[6])\n{\n"
    " .reg .b32 %r<4>; .reg .b64 %rd1; .reg .b16 %h1;\n"
    " ld.param.u32 %r1,[a]; ld.param.u64 %rd1,[p]; ld.param.u16 %h1,[s+4]; cvt.u32.u16 %r2,%h1; add.u32 %r3,%r1,%r2;\n"
    " st.global.u32 [%rd1],%r3; ret;\n}\n"
    ".extern .shared .align 16 .b8 pool[];\n"
    ".visible .entry room(.param .u64 p)\n{\n .reg .b32 %r1; .reg .b64 %rd1;\n"
    " ld.param.u64 %rd1,[p]; mov.u32 %r1,pool; mov.u32 %r1,%dynamic_smem_size; st.global.u32 [%rd1],%r1; ret;\n}\n";

// Where the driver reports to, in this process.
static char report_path[64];

static inline void open_driver(int gpus, bool hazards) {
    char number[8];
    snprintf(report_path, sizeof report_path, "/tmp/clusterjit_report_%d", (int)getpid());
    unlink(report_path);
    snprintf(number, sizeof number, "%d", gpus);
    setenv("CLUSTERJIT_GPUS", number, 1);
    setenv("CLUSTERJIT_THREADS", "2", 1);
    setenv("CLUSTERJIT_REPORT", report_path, 1);
    setenv("CLUSTERJIT_HAZARDS", hazards ? "on" : "off", 1);
    if (cuInit(0)) abort();
}

// What was reported so far; freed by the caller.
static inline char *report(void) {
    FILE  *file = fopen(report_path, "rb");
    char  *text = calloc(1, 1 << 20);
    size_t length = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (text) text[length] = 0;
    if (file) fclose(file);
    return text;
}

// The report has this text.
#define REPORTED(text)                                                  \
    do {                                                                \
        char *told = report();                                          \
        if (!strstr(told, text)) fprintf(stderr, "report: %s\n", told); \
        assert_non_null(strstr(told, text));                            \
        free(told);                                                     \
    } while (0)

// A test begins with the primary context of device 0, as new, current and alone.
static CUcontext context;
static CUmodule  module;

static inline int begin(void **state) {
    CUcontext popped;
    (void)state;
    while (!cuCtxPopCurrent(&popped)) continue;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ptx));
    return 0;
}

static inline int finish(void **state) {
    (void)state;
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRelease(0));
    return 0;
}

static inline CUfunction function(const char *name) {
    CUfunction found = NULL;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

static inline CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr memory = 0;
    OK(cuMemAlloc(&memory, bytes));
    return memory;
}

static inline unsigned word_at(CUdeviceptr memory) {
    unsigned word = 0;
    OK(cuMemcpyDtoH(&word, memory, sizeof word));
    return word;
}

// `more` adds n to the word at p.
static inline CUresult launch_more(CUstream stream, CUdeviceptr p, unsigned n) {
    void *argument[] = {&p, &n};
    return cuLaunchKernel(function("more"), 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

// Handles that name nothing.
#define NOWHERE(type) ((type)(uintptr_t)0x400012345670)

#endif

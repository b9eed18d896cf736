// SPDX-License-Identifier: Apache-2.0
// The library's typed calls by name and words, for programs that cannot include its headers (tools/bench/sweep, through Python's
// ctypes): "softmax" and "shape.rows=4 shape.columns=1000 log=1". Only public headers are used.
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include <clusterjit/gemm.h>

typedef struct call call;

enum { CALLS_POINTERS = 20, CALLS_TEXT = 2048 };

// Texts have CALLS_TEXT bytes. Every call returns a cj_status and, where it is not CJ_OK, writes why.
int calls_open(const char *spec, cj_device **device, char *text);
int calls_make(cj_device *device, const char *name, const char *words, call **made, char *text);
int calls_run(call *made, const uint64_t *pointers, void *stream, char *text);
void calls_free(call *made);  // NULL is allowed; its launches must have ended

// "entry=… grid=1x1x1 block=… cluster-blocks=… shared=… bound=…", the parameters that the plan chose, as `ptxgen` has them, "note=…".
void calls_plan(const call *made, char *text);

// The problem as `ptxgen` has it, without what is left to the plan: "softmax --rows=4 --columns=1000".
void calls_problem(const call *made, char *text);

// What tuning may choose, a line a parameter: "warps 4 8 16".
void calls_tunable(const call *made, char *text);

// A call of the words that `like` was made of, whose kernel has this choice ("warps=4 form=direct"), or the plan's own if the plan
// refuses it. The tuning file keeps the choice until the next one for this problem, or until it is forgotten: CLUSTERJIT_CACHE_DIR
// should be a directory of the caller's own, and only one thread at a time may make calls of one problem.
int calls_make_tuned(cj_device *device, const call *like, const char *words, const char *choice, call **made, char *text);
int calls_forget(cj_device *device, const call *like, char *text);

// The description that a "gemm" has with these words.
int calls_gemm_words(const char *words, cj_gemm_desc *desc, char *text);

// cuBLAS (libcublasLt, found as `ptxgen bench` finds it) for the words of a "gemm": how many algorithms its heuristics name,
// and one of them run with the pointers of a "gemm".
typedef struct cublas cublas;
int  calls_cublas_open(cj_device *device, const char *words, cublas **made, unsigned *algorithms, char *text);
int  calls_cublas_run(cublas *made, unsigned algorithm, const uint64_t *pointers, void *stream, char *text);
void calls_cublas_close(cublas *made);  // NULL is allowed

#endif

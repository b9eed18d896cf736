// SPDX-License-Identifier: Apache-2.0
// A workload: one problem of one kernel family on one device: made-up inputs, poisoned outputs, and a check against an
// independent reference. `run` launches it once, `bench` and `compare` many times over copies larger than the L2 cache.
// One file a family, NAME.c, and a row in families.c.
#ifndef PTXGEN_WORKLOAD_H
#define PTXGEN_WORKLOAD_H

#include <clusterjit/kernel.h>
#include <jansson.h>
#include <stdbool.h>

#include "source.h"

typedef struct workload      workload;
typedef struct workload_type workload_type;

// The result of a check: the largest error and the bound on it, both as the family defines them, and one sentence that
// names the first wrong element (its index, what was expected, what was found); a newline in it begins a hint. bound 0:
// results must be exact. bound NaN: no bound is known, and the text says why, even if `ok`.
typedef struct workload_verdict {
    bool   ok;
    double error, bound;
    char   text[256];
} workload_verdict;

struct workload {
    // Set by the command:
    const workload_type *type;
    cj_device           *device;
    cj_params            params;  // the problem; kernels of other plans (cluster sizes) may run on it. open may set
                                  // parameters that follow from the input (n, if it is not given)
    const bool *given;            // which of them the command line set
    const char *fill;             // of the inputs; NULL: the family's default
    const char *input;            // a file with the input, if the family reads one; NULL: none
    const char *arch;             // of the kernel that will run, if the command knows it; NULL: the device's newest
    bool        parts;            // run: shows parts of the result, too, if there are a few
    bool        forms;            // compare: the cluster size in `params` is one of several that will be tried
    bool        ranks;            // run: this process is one rank of several, each with a GPU (--gpus env)
    uint32_t    gpus;           // --gpus of a family of one GPU: each of so many has data of its own; 0: one GPU
    const char *collective;     // of gemm on several GPUs: "reduce-scatter", "all-gather"; NULL: the first
    uint32_t    chunks;         // in which it goes; 0: as many as are predicted best
    bool        rotate;           // bench and compare: makes enough sets of buffers to exceed the L2 cache
    bool        sampled;          // tune: a check may take fewer elements, as another kernel's results were checked as usual

    // Set by open:
    unsigned    copies;                     // sets of buffers, from workload_copies: launch i uses set i % copies
    double      bytes_read, bytes_written;  // the least that any kernel must move between the chip and its memory
    double      operations;  // what `unit` counts in one launch: "samples", "point updates"; 0 if bytes suffice
    const char *unit;        // NULL without operations
    bool        whole;       // the results are integers, and so are errors
    void       *state;
};

enum { PEER_WAYS = 8 };

typedef struct peer_facts {
    unsigned ways;  // PEER_WAYS at most
    char     version[24], absent[160];
} peer_facts;

// Another library for the same problem, over the same sets of buffers.
typedef struct workload_peer {
    const char *name;
    // Opens the library. Sets its version ("13.1.0"), and the number of its ways to solve the problem: bench compares
    // the fastest with our kernel. If the library is missing, or has no way, the number is 0, and `absent` says why.
    // Returns an exit code. close is called in any case.
    int (*open)(workload *w, peer_facts *facts);
    void (*close)(workload *w);
    // Launches on a set, with the same outputs; can be captured into a graph.
    cj_status (*launch)(workload *w, unsigned way, unsigned copy, cj_stream stream, cj_error *error);
} workload_peer;

// An array that the kernel has written, in set 0.
enum { WORKLOAD_OUTPUTS = 8, WORKLOAD_DIMS = 4 };
typedef struct workload_output {
    const char *name;
    cj_dtype    type;
    cj_ptr      at;
    unsigned    dims;                                          // 0: one element
    uint64_t    extent[WORKLOAD_DIMS], stride[WORKLOAD_DIMS];  // elements; the outermost first
} workload_output;

struct workload_type {
    const char *family;
    bool        of_clusters;  // the problem is one cluster's: each cluster size has a problem of its own
    // Allocates and fills. Returns an exit code, after its message. close is called also after a failure.
    int (*open)(workload *w);
    void (*close)(workload *w);
    // Poisons the outputs of a set; not timed.
    cj_status (*poison)(workload *w, unsigned copy, cj_error *error);
    // Launches the kernel on a set. Must not allocate or synchronize, so that it can be captured into a graph.
    cj_status (*launch)(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error);
    // Reads the outputs of a set that `kernel` has written and compares them with the reference. Returns an exit code.
    int (*check)(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict);
    // What `run` shows of the results of set 0: `print` writes lines on standard output; `json` adds members to
    // `object` ("expected", "result"). `run` itself shows the error, its bound, the device and the time.
    void (*print)(const workload *w, const cj_kernel *kernel);
    void (*json)(const workload *w, const cj_kernel *kernel, json_t *object);
    // Lists what run --output writes: the result first. Returns how many, WORKLOAD_OUTPUTS at most.
    unsigned (*outputs)(const workload *w, const cj_kernel *kernel, workload_output *list);
    const workload_peer *peer;  // for bench; NULL: none
};

// How many sets of buffers open should make: 1 without `rotate`, else enough of `bytes` each to go through more than
// three times the L2 cache before a set is used again, within a quarter of the device's memory.
unsigned workload_copies(const workload *w, double bytes);

// The `n`-th of `count` equally spaced numbers below `end`, the first and the last among them.
uint64_t workload_spread(uint64_t n, uint64_t count, uint64_t end);

// For open, with a file: the extents of its array become the values of the parameters `names` (`count` dimensions, the
// outermost first) that were not given; given ones must agree. Further outer dimensions multiply the first one. A file
// without a shape, or with one dimension, is one row, or as many rows as were given. Returns an exit code.
int workload_shape(workload *w, const source *from, const char *const *names, unsigned count);

// For open: opens the elements of `type` from the file or the fill ("rand:1" if neither is given). With a file, rows
// and columns become its array's, as workload_shape says. Returns an exit code.
int workload_open_rows(workload *w, source *from, cj_dtype type);

// The same of a family with "rows", "columns" and "stride", whose plan it checks; a matrix that fits no memory is refused.
int workload_open_matrix(workload *w, source *from, cj_dtype type);

// Rows of `columns` elements, each `stride` elements after the one before.
workload_output workload_output_rows(const char *name, cj_dtype type, cj_ptr at, uint64_t rows, uint64_t columns, uint64_t stride);

// The type of elements that the parameter `dtype` names.
cj_dtype workload_dtype(const workload *w);

// How many GPUs the problem is of, by --gpus or by the family's parameter: 0 for one.
uint32_t workload_gpus(const workload *w);

// Whether the parameter has this word for its value.
bool workload_has_word(const workload *w, const char *param, const char *word);

// For open, before it uses the parameters: reports what the plan refuses. Returns an exit code.
int workload_plan_check(const workload *w);

// Refuses a buffer whose size, which follows from the parameters `names`, exceeds the memory of hosts and GPUs (8 TiB);
// as a whole number it might wrap. Returns an exit code.
int workload_fits(const char *names, double bytes);

// Poisons, launches and checks one set; *milliseconds is how long the launch took, between two events (may be NULL).
// Returns an exit code; a wrong result is in the verdict, and is no failure here.
int workload_try(workload *w, cj_kernel *kernel, unsigned copy, double *milliseconds, workload_verdict *verdict);

// Prints that a result is wrong, with the verdict's text, and `with` which parameters (NULL: nothing); returns the exit
// code.
int workload_wrong(const workload_verdict *verdict, const char *with);

#endif

// SPDX-License-Identifier: Apache-2.0
// The GPUs of a node as one: collectives among devices whose kernels reach each other's memory. One process has them all:
//
//     cj_gpus *gpus;
//     cj_gpus_create(device, 4, NULL, &gpus, &error);                  // peer access, and a mailbox on each device
//     const cj_gpus_desc sum = {CJ_INIT(sum), .op = CJ_GPUS_ALLREDUCE, .dtype = CJ_BF16, .count = n};
//     cj_gpus_run(gpus, &sum, x, out, stream, &error);                 // x[r], out[r], stream[r]: of device r
//     …
//     cj_gpus_check(gpus, &error);                                     // after the streams were synchronized
//
// Or each process has one of them, its rank: cj_gpus_create_nccl, cj_gpus_create_env, cj_gpus_create_rank. All ranks then make the
// same calls in the same order, each with its own arrays and stream:
//
//     cj_gpus_create_nccl(device, communicator, NULL, &gpus, &error);
//     cj_gpus_run(gpus, &sum, &x, &out, &stream, &error);
//
// Launches need no step of the host between them: they may be captured into graphs, one for each device, and repeated. The
// launches of a cj_gpus come in the same order on every device, one after the other on each. Those of two cj_gpus that run on one device at
// the same time must fit on it together (cj_gpus_desc.grid): their blocks wait for those of their peers.
//
// On CPU devices the launches of a call run beside each other, with hazards between GPUs watched as those within one.
// Nothing goes over NVLink multicast, but on CPU devices where the option multicast asks for it.
#ifndef CLUSTERJIT_GPUS_H
#define CLUSTERJIT_GPUS_H

#include <clusterjit/collectives.h>
#include <clusterjit/device.h>
#include <clusterjit/gemm.h>
#include <clusterjit/histogram.h>
#include <clusterjit/kernel.h>
#include <clusterjit/norm.h>
#include <clusterjit/reduce.h>
#include <clusterjit/topk.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_GPUS_MAX 8
#define CJ_GPUS_ARRAYS 8  // of a kernel, at most

typedef struct cj_gpus cj_gpus;

typedef struct cj_gpus_options {
    CJ_STRUCT_SIZE(cj_gpus_options);
    uint64_t mail_bytes;  // of a set of mail, a multiple of 1024, 1024 to 2^30; 0: 8 MiB. Each device has three sets
    // Times that a thread looks for a peer's message before it gives up, below 2^32; 0: some 20 s, of GPUs 2^25, of CPU devices 2^20.
    uint64_t limit;
    uint32_t timeout_ms;  // of one process a GPU: how long a rank waits for the others when it exchanges with them; 0: 60000
    bool     multicast;   // memory of cj_gpus_alloc, and what is registered, gets a multicast address; CPU devices, one for each rank,
                          // in one process: UNSUPPORTED on GPUs, where NVLink multicast is not used
} cj_gpus_options;

// `device[r]` is rank r: 2 to CJ_GPUS_MAX devices of one kind, which stay open until destroy. Several ranks may be one GPU, each then
// with a stream of its own: INVALID_ARGUMENT of a launch names two that share one.
// UNSUPPORTED names the two devices of which one does not reach the other's memory.
CJ_API cj_status cj_gpus_create(cj_device *const *device, uint32_t count, const cj_gpus_options *options, cj_gpus **gpus,
                                cj_error *error);
CJ_API void      cj_gpus_destroy(cj_gpus *gpus);  // NULL is allowed; all launches must have ended, on all ranks
CJ_API uint32_t  cj_gpus_count(const cj_gpus *gpus);  // ranks
CJ_API cj_device *cj_gpus_device(const cj_gpus *gpus, uint32_t rank);  // NULL beyond the last, and for a rank of another process

// ---- one process a GPU
//
// Ranks share their mailboxes by CUDA IPC, so they are processes of one node. What they cannot reach so goes through NCCL, where the
// cj_gpus was made of a communicator. Arrays that are larger than the mail go through NCCL, too, or in pieces.

// How processes tell each other where their mailboxes are: all ranks call all_gather at the same time, and `all` gets the `bytes`
// of each in the order of ranks. It returns an error, and does not hang, when a rank does not come. torch.distributed, MPI and
// such have this call. cj_gpus_create_rank, cj_gpus_register and cj_gpus_unregister call it: it stays valid as long as these may come.
typedef struct cj_gpus_exchange {
    CJ_STRUCT_SIZE(cj_gpus_exchange);
    uint32_t rank, size;
    cj_status (*all_gather)(void *user, const void *mine, void *all, size_t bytes, cj_error *error);
    void *user;
} cj_gpus_exchange;

// This process is one rank, on `device`, a GPU that stays open until destroy. INVALID_ARGUMENT names a rank that came with other
// sizes, options or another version of the library; UNSUPPORTED two ranks that do not reach each other, and why.
CJ_API cj_status cj_gpus_create_rank(cj_device *device, const cj_gpus_exchange *exchange, const cj_gpus_options *options,
                                     cj_gpus **gpus, cj_error *error);

// The same with an exchange over TCP between the processes that a launcher has started. Its environment says rank, size and
// address: torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), Open MPI, Slurm, PMI; docs/gpus.md has the variables.
CJ_API cj_status cj_gpus_create_env(cj_device *device, const cj_gpus_options *options, cj_gpus **gpus, cj_error *error);

// What that environment says, without waiting for anybody: the rank, how many there are, and the rank on this node. INVALID_ARGUMENT
// if no launcher has started this process.
CJ_API cj_status cj_gpus_env(uint32_t *rank, uint32_t *size, uint32_t *local, cj_error *error);

// The same with an exchange by NCCL: `communicator` is the caller's ncclComm_t of this device, which stays valid until destroy. Any
// number of ranks, on any nodes. libnccl of 2.27 or later is loaded at run time: that of CLUSTERJIT_NCCL, or libnccl.so.2.
// INVALID_ARGUMENT: a communicator of another device; UNSUPPORTED: no libnccl, or one that is too old; DRIVER: what NCCL says.
CJ_API cj_status cj_gpus_create_nccl(cj_device *device, void *communicator, const cj_gpus_options *options, cj_gpus **gpus,
                                     cj_error *error);

// ---- memory

// Memory of the same size on each device of this process, which kernels of all of them reach: memory[i] is that of the i-th. It
// is registered by cj_gpus_register, as any other. What is registered is unregistered before it is freed.
CJ_API cj_status cj_gpus_alloc(cj_gpus *gpus, size_t bytes, cj_ptr *memory, cj_error *error);
CJ_API void      cj_gpus_free(cj_gpus *gpus, const cj_ptr *memory);

// With the option multicast: the address at which multimem instructions reach this memory of all devices (clusterjit/cpu.h says what they do), for
// kernels of a program's own. memory[i] is of cj_gpus_alloc, or is registered, and at the same place of it on all devices.
// INVALID_ARGUMENT names what has no such address.
CJ_API cj_status cj_gpus_multicast(const cj_gpus *gpus, const cj_ptr *memory, cj_ptr *address, cj_error *error);

// Tells all ranks where this memory lies: `bytes` on each device, memory[i] of the i-th of this process, in one allocation each.
// Collectives of arrays in it copy straight into the peers' arrays: half the bytes of mail cross the links, and no mail limits the
// size. All ranks register the same sizes in the same order. Peers reach it by peer access, by CUDA IPC or, where the communicator's
// NCCL is 2.29 or later, by its windows.
// INVALID_ARGUMENT: a rank with another size, memory of another device, or of none, memory that is registered already; UNSUPPORTED:
// which rank does not reach which, and why.
CJ_API cj_status cj_gpus_register(cj_gpus *gpus, const cj_ptr *memory, size_t bytes, cj_error *error);

// The end of that, on all ranks at the same time: it waits for the work on this process's devices, and for the other ranks, so that
// no launch uses the memory afterwards; graphs that were captured with it must not be launched again. Then it may be freed.
// cj_gpus_destroy does so with what is left.
CJ_API cj_status cj_gpus_unregister(cj_gpus *gpus, const cj_ptr *memory, cj_error *error);

typedef enum cj_gpus_op {
    CJ_GPUS_ALLREDUCE,       // out[count] on each = x[count] of all, combined
    CJ_GPUS_REDUCE_SCATTER,  // out[count] on r = the parts r of x[gpus][count] of all, combined
    CJ_GPUS_ALL_GATHER,      // out[gpus][count] on each = x[count] of all
    CJ_GPUS_ALL_TO_ALL,      // out[q] on r = x[r] on q; both [gpus][count]
    CJ_GPUS_BROADCAST,       // out[count] on each = x[count] on root
    CJ_GPUS_BARRIER          // what was done before it on one device is seen by what follows it on all
} cj_gpus_op;

typedef enum cj_gpus_memory {
    CJ_GPUS_MEMORY_ANY,        // straight into registered arrays where that is predicted faster, else through mailboxes
    CJ_GPUS_MEMORY_MAIL,       // never straight into the arrays
    CJ_GPUS_MEMORY_REGISTERED, // straight into the arrays, or INVALID_ARGUMENT where they are not registered
    // All-reduce and reduce-scatter by multimem instructions, with the option multicast: x, and out of all-reduce, have multicast addresses
    // (cj_gpus_multicast). Combined in the order of ranks. No min or max of f32; halves go in pairs, at multiples of 4 bytes.
    CJ_GPUS_MEMORY_MULTICAST
} cj_gpus_memory;

// What to do. Begin with CJ_INIT; a zero field takes the default in brackets.
typedef struct cj_gpus_desc {
    CJ_STRUCT_SIZE(cj_gpus_desc);
    cj_gpus_op    op;       // [all-reduce]
    cj_dtype      dtype;    // f32, f16, bf16, i32, u32; of all-gather, all-to-all and broadcast every type [f32]
    uint64_t      count;    // elements, 1 to 2^28, of types of 8 bytes to 2^27; none of a barrier
    cj_combine_op combine;  // sum, min, max [sum]; halves are combined in f32 and rounded once
    uint32_t      root;     // of broadcast [0]
    uint32_t      shots;    // of all-reduce: 1, through mail alone, or 2 [chosen for the size]
    uint32_t      block, grid;  // threads, blocks [chosen for the size]
    bool          ordered;  // never by NCCL, which combines in an order of its own [false]
    // What peers write. Registered: `out` of all but reduce-scatter, and x of all-reduce, reduce-scatter and broadcast; they lie at
    // the same place of the registered memory on all ranks. [any]
    cj_gpus_memory memory;
} cj_gpus_desc;

// Launches on all devices of this process: x[i], out[i] and stream[i] are those of the i-th. x[i] and out[i] are aligned to an
// element, on all ranks to the same multiples of up to 16 bytes; 16 are faster. Arrays overlap nothing that is written, but for the forms in
// place: out[i] may be x[i] of all-reduce, broadcast and an all-to-all through mail; x of an all-gather may be the rank's own part of its
// out, and out of a reduce-scatter the rank's own part of its x. INVALID_ARGUMENT names arrays of this process that overlap otherwise.
// Everything is combined in one order, as in a cluster: all devices get the same bits, in each run; NCCL has an order of its own.
// stream[i]: NULL for the default one, as is `stream` for that of all. The first call with a description loads its kernels, or compares
// it between the ranks, and cannot be captured. Arrays that are larger than the mail go in pieces: several launches, one after the other.
// INVALID_ARGUMENT and CONTRACT name field, value and limit; HAZARD: what CPU devices found.
CJ_API cj_status cj_gpus_run(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out,
                             const cj_stream *stream, cj_error *error);

// The same with kernels of the families allreduce, reducescatter, …: kernel[i] on the i-th device of this process, `count` of them
// from the first on, with the parameters gpus and mail of this cj_gpus. `count` below that of the devices leaves the others out, as a
// rank that never comes. x, out: as above, NULL for a barrier. UNSUPPORTED where not all ranks reach each other's mailboxes.
CJ_API cj_status cj_gpus_launch(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_ptr *x,
                                const cj_ptr *out, const cj_stream *stream, cj_error *error);

// Launches of a program's own kernels beside each other, each on the device of its function (cj_device_open, clusterjit/device.h): so they may
// wait for each other's stores at .sys scope. On CPU devices they are one kernel in one shape, of a text without global variables,
// and cj_cpu_configure of the first device says how they run: UNSUPPORTED names what differs. Hazards are the first device's.
CJ_API cj_status cj_launch_together(const cj_launch_config *const *config, uint32_t count, cj_error *error);

// How ranks reach each other, and which way a collective goes.
typedef enum cj_gpus_reach {
    CJ_GPUS_REACH_NONE,  // not
    CJ_GPUS_REACH_OWN,   // the device itself
    CJ_GPUS_REACH_PEER,  // peer access in one process
    CJ_GPUS_REACH_IPC    // CUDA IPC from another process
} cj_gpus_reach;

typedef enum cj_gpus_way {
    CJ_GPUS_BY_MAIL,    // one launch, through mailboxes
    CJ_GPUS_IN_PIECES,  // several launches, through mailboxes
    CJ_GPUS_BY_NCCL,
    CJ_GPUS_BY_MEMORY,   // one launch, straight into registered arrays
    CJ_GPUS_BY_MULTICAST // one launch, by multimem instructions
} cj_gpus_way;

typedef struct cj_gpus_info {
    CJ_STRUCT_SIZE(cj_gpus_info);
    uint32_t      rank, count, local;   // the first rank of this process, ranks, those of this process
    uint32_t      nccl;                 // its version as ncclGetVersion gives it (22809: 2.28.9); 0: none
    uint64_t      mail_bytes;
    cj_gpus_reach reach[CJ_GPUS_MAX];   // how the first rank of this process reaches the mailboxes of each
    char          unreached[256];       // which ranks do not reach each other, and why; empty: all do
    cj_gpus_way   way;                  // of the description
    uint64_t      launches;             // that it takes on each device, of our kernels or of NCCL
    char          why[256];
} cj_gpus_info;

// Fills in `info`; `desc` NULL: without the last three fields. The arrays are taken for registered where desc.memory says so alone.
// INVALID_ARGUMENT for what cj_gpus_run refuses whatever the arrays.
CJ_API cj_status cj_gpus_about(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_gpus_info *info, cj_error *error);

// What went wrong in launches that have ended: DRIVER names a rank that did not come in time, INVALID_ARGUMENT one that came with
// another description. Results since then are undefined, and the cj_gpus refuses further launches.
CJ_API cj_status cj_gpus_check(cj_gpus *gpus, cj_error *error);

// ---- fused: collectives with what comes before or after them, in one launch on each device
//
// array[i][r] is array i on device r, in the order of the kernel's parameters: the kernels are those of allreducenorm and of the families
// below it. The typed calls do this, and are otherwise as cj_gpus_run: asynchronous, capturable after the first call with a description,
// each cj_gpus used by one thread at a time. Arrays overlap nothing that is written, where nothing else is said.
CJ_API cj_status cj_gpus_launch_arrays(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count,
                                       const cj_ptr *const *array, uint32_t arrays, const cj_stream *stream,
                                       cj_error *error);

// The same parameters with as many rows as a launch has room for in this mail: all of them, or fewer, and then with block and cluster set, so
// that launches one after the other give the bits of one. The typed calls divide their rows so. `params` are of allreducenorm or a family
// below it; gpus and mail are set. INVALID_ARGUMENT: there is no plan for one row either.
CJ_API cj_status cj_gpus_divide(const cj_gpus *gpus, const cj_params *params, cj_params *piece, cj_error *error);

// All-reduce, residual and norm of rows: sum = residual + x[0] + x[1] + … of all devices, in f32, rounded once; y = the norm of `sum`
// as it is written, as cj_norm_desc says it. All devices get the same bits, in each run. Begin with CJ_INIT.
typedef struct cj_gpus_norm_desc {
    CJ_STRUCT_SIZE(cj_gpus_norm_desc);
    uint64_t     rows, columns;  // 1 to 2^20 each, contiguous; more rows than mail has room for go in several launches
    cj_dtype     dtype;          // of all arrays: f32, f16, bf16 [f32]
    cj_norm_kind kind;           // [RMS]
    int          residual, weight, bias;  // whether there are such
    double       epsilon;        // [1e-5]
    uint32_t     shots;          // 1: each device combines all rows; 2: each its rows, and passes them on [chosen for the size]
    uint32_t     block, cluster, grid;  // threads, blocks on a row, blocks [chosen for the size]
} cj_gpus_norm_desc;

// x[r] … of device r. What a description does not use stays NULL. sum may be residual, y may be x.
typedef struct cj_gpus_norm_arrays {
    CJ_STRUCT_SIZE(cj_gpus_norm_arrays);
    const cj_ptr *x, *residual;   // [rows, columns], read; the residual is the same on all devices
    const cj_ptr *sum, *y;        // [rows, columns], written
    const cj_ptr *weight, *bias;  // [columns], the same on all devices
} cj_gpus_norm_arrays;

CJ_API cj_status cj_gpus_norm(cj_gpus *gpus, const cj_gpus_norm_desc *desc, const cj_gpus_norm_arrays *arrays,
                              const cj_stream *stream, cj_error *error);

// Rows of logits whose columns are sharded: device r has the columns r * columns to (r + 1) * columns - 1. Devices send each other
// 16 bytes of a row, in 32 bytes of mail, and no logits. All devices get the same bits of loss and lse. Pad with -infinity where the
// columns are no multiple of the devices. Begin with CJ_INIT.
//   loss, lse, dx: as cj_crossentropy_desc says them, with C = columns of all devices
typedef struct cj_gpus_crossentropy_desc {
    CJ_STRUCT_SIZE(cj_gpus_crossentropy_desc);
    uint64_t rows, columns;  // 1 to 2^20; of each device, 1 to 2^26; contiguous
    cj_dtype dtype;          // of x and dx: f32, f16, bf16 [f32]
    cj_dtype label;          // CJ_I64 or CJ_I32 [i64]
    int      has_ignore;     // else `ignore` is -100
    int32_t  ignore;
    double   smoothing;      // 0 to 1
    int      gradient;       // dx is written too
    double   scale;          // of the gradient [1]
    uint32_t block, grid;    // threads, blocks [chosen for the size]
} cj_gpus_crossentropy_desc;

typedef struct cj_gpus_crossentropy_arrays {
    CJ_STRUCT_SIZE(cj_gpus_crossentropy_arrays);
    const cj_ptr *x;          // [rows, columns]
    const cj_ptr *label;      // [rows], the same on all devices, of the columns of all
    const cj_ptr *loss, *lse; // f32 [rows], written
    const cj_ptr *dx;         // [rows, columns], written; may be x
} cj_gpus_crossentropy_arrays;

CJ_API cj_status cj_gpus_crossentropy(cj_gpus *gpus, const cj_gpus_crossentropy_desc *desc,
                                      const cj_gpus_crossentropy_arrays *arrays, const cj_stream *stream, cj_error *error);

// Softmax of rows that are sharded in the same way, or its logarithm: y[r], [rows, columns], may be x[r].
typedef struct cj_gpus_softmax_desc {
    CJ_STRUCT_SIZE(cj_gpus_softmax_desc);
    uint64_t rows, columns;  // as above
    cj_dtype dtype;          // of x and y: f32, f16, bf16 [f32]
    int      log;
    uint32_t block, grid;    // threads, blocks [chosen for the size]
} cj_gpus_softmax_desc;

CJ_API cj_status cj_gpus_softmax(cj_gpus *gpus, const cj_gpus_softmax_desc *desc, const cj_ptr *x, const cj_ptr *y,
                                 const cj_stream *stream, cj_error *error);

// values[r], indices[r] on each device = the k largest (smallest) of rows that are sharded in the same way, in order, and their columns
// of all devices: as cj_topk_launch, and one launch more that merges; the first call with a description makes the kernels of both.
// desc.columns: of each device, at least k; without kth and unsorted. All devices get the same bits. k = 1 is the arg-max. A candidate
// takes 16 bytes of mail: more rows than it has room for are merged in several launches.
CJ_API cj_status cj_gpus_topk(cj_gpus *gpus, const cj_topk_desc *desc, const cj_ptr *x, const cj_ptr *values, const cj_ptr *indices,
                              const cj_stream *stream, cj_error *error);

// ---- matrix products with a collective, chunk by chunk: the exchange of a chunk runs beside the product of the next one
//
//   cj_gpus_gemm_reduce_scatter   out[r], m / ranks x n = rows r m / ranks … of the sum of a[q] b[q] of all ranks q (rows of weights sharded)
//   cj_gpus_all_gather_gemm       out[r], m x n = the rows a[q], m / ranks x k, of all ranks q one below the other, times b[r] (columns of
//                                 weights sharded)
//
// All matrices by rows without gaps but b, which is as desc.b says, and aligned to 16 bytes. Products are rounded to their type before they
// are summed in f32, in one order. The first call with a description allocates and registers what lies between product and collective (m x n
// or m x k), and makes kernels and a stream: it cannot be captured, later ones can. All ranks make it at the same time, with the same m and
// what is exchanged (n or k). Where memory cannot be registered, and by NCCL, there is one chunk.
typedef struct cj_gpus_gemm_desc {
    CJ_STRUCT_SIZE(cj_gpus_gemm_desc);
    uint64_t      m, n, k;  // of a rank's product; m a multiple of the ranks, n and k of 16 bytes
    cj_dtype      dtype;    // CJ_F16, CJ_BF16; CJ_TF32, with elements of f32
    cj_gemm_order b;        // [rows]; CJ_TF32: columns
    uint32_t      chunks;   // which divide m / ranks [chosen for the size]
    cj_gemm_form  form;     // of the product [chosen]
} cj_gpus_gemm_desc;

CJ_API cj_status cj_gpus_gemm_reduce_scatter(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, const cj_ptr *a, const cj_ptr *b,
                                             const cj_ptr *out, const cj_stream *stream, cj_error *error);
CJ_API cj_status cj_gpus_all_gather_gemm(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out,
                                         const cj_stream *stream, cj_error *error);

// ---- the data of all devices: a launch of each device's own, and an all-reduce of the results

// out[r][0] on each device = the sum, minimum or maximum of x[0..n) of all devices, n of each: as cj_reduce_launch; the first
// call with a description makes the kernels, for all streams. f32, f16, bf16 and integers of up to 32 bits, one total; out[r]: of the type of
// cj_dtype_arithmetic(dtype), aligned to 8 bytes.
CJ_API cj_status cj_gpus_reduce(cj_gpus *gpus, const cj_reduce_desc *desc, const cj_ptr *x, const cj_ptr *out,
                                const cj_stream *stream, cj_error *error);

// counts[r][b] on each device = how many samples of all devices fall into bin b: as cj_histogram_launch, with counts of u32;
// kernels are made as above.
// A counter takes 8 bytes of mail for each shot, of two shots in all 16: `mail_bytes` limits the bins.
CJ_API cj_status cj_gpus_histogram(cj_gpus *gpus, const cj_histogram_desc *desc, const cj_ptr *x, const cj_ptr *counts,
                                   const cj_stream *stream, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif

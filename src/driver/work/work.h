// SPDX-License-Identifier: Apache-2.0
// One piece of a stream's work: it runs at once, or it is kept in a node of a graph and runs whenever the graph does.
#ifndef CJ_DRIVER_WORK_H
#define CJ_DRIVER_WORK_H

#include "array.h"
#include "module.h"
#include "stream.h"

// One end of a copy: an address, or a place in an array. x counts bytes, y rows, z slices.
typedef struct cj_place {
    CUmemorytype type;
    uint64_t     address;
    cj_array    *array;  // in place of the address
    size_t       x, y, z;
    size_t       pitch, rows;  // bytes from row to row, rows from slice to slice; 0: as the copy is
} cj_place;

typedef struct cj_copy {
    cj_place to, from;
    size_t   bytes, height, depth;  // of each row
} cj_copy;

typedef struct cj_set {
    uint64_t to;
    size_t   pitch, width, height;  // bytes, elements, rows
    unsigned value, element;        // element: 1, 2 or 4 bytes
} cj_set;

typedef struct cj_launch_work {
    cj_fun                  *fun;
    cj_dim3                  grid, block;
    uint32_t                 shared;
    const CUlaunchAttribute *attribute;
    unsigned                 attributes;
    void                   **argument;  // one pointer a parameter
} cj_launch_work;

typedef struct cj_host_work {
    CUhostFn         call;
    CUstreamCallback callback;  // in its place
    CUstream         stream;
    void            *user;
} cj_host_work;

// Memory of a graph. It is allocated when the node is made, so that its address is known, and lives as long as the last graph
// or executable graph that has the node.
typedef struct cj_graph_memory {
    cj_object base;  // without a handle
    uint64_t  address, id;
    size_t    bytes;
} cj_graph_memory;

// Kind and the function that runs it.
#define CJ_WORKS(X) \
    X(LAUNCH) X(COPY) X(SET) X(HOST) X(RECORD) X(WAIT) X(WRITE) X(AWAIT) X(ALLOC) X(FREE) X(EMPTY) X(CHILD)

typedef enum cj_work_kind {
#define CJ_X(name) CJ_WORK_##name,
    CJ_WORKS(CJ_X)
#undef CJ_X
} cj_work_kind;

typedef struct cj_work {
    cj_work_kind kind;
    cj_context  *context;
    union {
        cj_launch_work   launch;
        cj_copy          copy;
        cj_set           set;
        cj_host_work     host;
        cj_event        *event;
        cj_graph_memory *memory;   // of ALLOC
        uint64_t         address;  // of FREE
        struct cj_graph *child;
        struct {
            uint64_t address, value;
            unsigned bytes, compare;  // AWAIT: CU_STREAM_WAIT_VALUE_GEQ, …
        } write;                      // of stream memory operations
    } as;
} cj_work;

// Checks the work's arguments; every piece is checked once, when its call is made.
CUresult cj__work_check(const cj_work *work);

// Runs it. The lock is given up while a kernel or a function of the program's runs.
CUresult cj__work_run(const cj_work *work);

CUresult cj__copy_check(const cj_copy *copy);
CUresult cj__copy_run(const cj_copy *copy);
CUresult cj__set_check(const cj_set *set);
CUresult cj__set_run(const cj_set *set);
CUresult cj__launch_check(const cj_launch_work *launch);
CUresult cj__launch_run(const cj_launch_work *launch);

#endif

// SPDX-License-Identifier: Apache-2.0
// What the files of the driver share: the objects that handles name, the devices, the lock, and how a call begins and ends.
//
// The CUDA driver API over the CPU device. A handle is a number that names an object in a table (handle.c); no handle is
// ever followed as a pointer. One lock guards all of the driver's state. A call holds it from ENTER to LEAVE; it is given
// up while a kernel runs and while the program's own functions are called, and whatever these use is kept (cj__keep).
#ifndef CJ_DRIVER_DRIVER_H
#define CJ_DRIVER_DRIVER_H

#include <clusterjit/cpu.h>
#include <clusterjit/device.h>
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- objects

// Kind and what it is called in messages.
#define CJ_KINDS(X)              \
    X(CONTEXT, "context")        \
    X(STREAM, "stream")          \
    X(EVENT, "event")            \
    X(MODULE, "module")          \
    X(FUNCTION, "function")      \
    X(LIBRARY, "library")        \
    X(KERNEL, "kernel")          \
    X(LINK, "linker")            \
    X(ARRAY, "array")            \
    X(POOL, "memory pool")       \
    X(PHYSICAL, "memory handle") \
    X(MULTICAST, "multicast object") \
    X(GRAPH, "graph")            \
    X(NODE, "graph node")        \
    X(EXEC, "executable graph")  \
    X(USER, "user object")

typedef enum cj_kind {
#define CJ_X(name, text) CJ_##name,
    CJ_KINDS(CJ_X)
#undef CJ_X
        CJ_KIND_COUNT
} cj_kind;

typedef struct cj_context cj_context;

// The head of every object that has a handle. It is freed when its handle was destroyed and nobody keeps it.
typedef struct cj_object {
    uint64_t    handle;
    cj_kind     kind;
    unsigned    keeps;              // the table's, until the handle is destroyed, and those of cj__keep
    cj_context *owner;              // it is destroyed with this context; NULL: with none
    const char *call;               // the function that made it
    void (*release)(void *object);  // frees what the object holds, and the object
} cj_object;

// Makes an object of `bytes` bytes, all zero beside the head, and its handle. NULL: no memory.
void *cj__object_new(cj_kind kind, size_t bytes, cj_context *owner, void (*release)(void *object));

// The object of a handle; NULL unless it is alive and of this kind.
void *cj__object_find(cj_kind kind, const void *handle);

// Ends the handle. The object itself stays while somebody keeps it.
void  cj__object_destroy(void *object);
void *cj__keep(void *object);
void  cj__let(void *object);  // NULL is allowed

// The next live object after `object` (NULL: the first) that belongs to `owner`, or of any owner if that is NULL.
void *cj__object_next(const void *object, const cj_context *owner);

#define HANDLE_OF(object) ((void *)(uintptr_t)(object)->base.handle)

// ---- devices and contexts

enum { CJ_GPUS = 16, CJ_POOL_TYPES = 3 };  // of pools' memory: DEVICE, MANAGED, PINNED (cj_memory_type)

typedef struct cj_pool cj_pool;  // memory.h

typedef struct cj_gpu {
    cj_device       *device;
    const cj_limits *limits;
    int              ordinal;
    pthread_mutex_t  run;      // held by a launch until its findings were read
    cj_context      *primary;  // made by the first call that names it
    cj_pool         *pool[CJ_POOL_TYPES], *default_pool[CJ_POOL_TYPES];  // the host's are those of the first device
    uint64_t         used;                                               // bytes allocated
    uint32_t         peers;  // bit i: kernels of this device reach the memory of device i
} cj_gpu;

typedef struct cj_stream_object cj_stream_object;

struct cj_context {
    cj_object         base;
    cj_gpu           *gpu;
    bool              primary;
    unsigned          retained;  // of a primary context; 0: it is inactive
    unsigned          flags, version;
    CUresult          fault;  // sticky; 0: none
    CUfunc_cache      cache;
    CUsharedconfig    banks;
    size_t            limit[CU_LIMIT_MAX];
    cj_stream_object *legacy, *per_thread;  // the default streams
};

typedef struct cj_driver {
    pthread_mutex_t lock;
    bool            ready;   // cuInit was called
    bool            forked;  // this process is the child of one that called it
    int             gpu_count;
    cj_gpu          gpu[CJ_GPUS];
    cj_cpu_options  options;
} cj_driver;

extern cj_driver cj__driver;

// Of this thread: the call that runs, and the context that is current. A context that was destroyed may still be named.
typedef struct cj_thread {
    const char *call;
    const char *spoken_for;               // of our runtime, which makes this call (hook.h); NULL: the program does
    char        message[640], hint[256];  // of the error that is about to be returned; empty: the error's own text
    const void *current[64];              // handles
    int         depth;
    CUstreamCaptureMode capture_mode;
} cj_thread;

extern _Thread_local cj_thread cj__thread;

// ---- calls

typedef enum cj_need {
    CJ_NEED_NOTHING,  // also before cuInit
    CJ_NEED_INIT,
    CJ_NEED_CONTEXT,      // a current context without a fault
    CJ_NEED_ANY_CONTEXT,  // a current context, whatever happened to it
} cj_need;

CUresult cj__enter(const char *call, cj_need need);
CUresult cj__leave(CUresult code);

// Begins a function of the API; every way out of it is a LEAVE. The code after it is an expression.
#define ENTER(need)                                         \
    do {                                                    \
        const CUresult entered = cj__enter(__func__, need); \
        if (entered) return entered;                        \
    } while (0)
#define LEAVE(code) return cj__leave(code)
// Leaves the call, unless the condition holds, with an error that names it.
#define REQUIRE(pointer)                                  \
    do {                                                  \
        if (!(pointer)) LEAVE(cj__refuse_null(#pointer)); \
    } while (0)
// Leaves the call if that fails.
#define TRY(expression)                      \
    do {                                     \
        const CUresult tried = (expression); \
        if (tried) LEAVE(tried);             \
    } while (0)

// Remember why a call fails, for the report, and return the code.
CUresult cj__refuse(CUresult code, const char *format, ...) CJ_PRINTF(2, 3);
void     cj__hint(const char *format, ...) CJ_PRINTF(1, 2);
CUresult cj__refuse_null(const char *argument);
CUresult cj__refuse_handle(cj_kind kind, const void *handle);
CUresult cj__refuse_error(const cj_error *error);  // what the library says

// The lock, given up and taken again within a call. The thread's call is the same afterwards.
typedef struct cj_pause {
    const char *call;
} cj_pause;
cj_pause cj__pause(void);
void     cj__resume(cj_pause pause);

// Finds the object of a handle that a call was given; leaves the call otherwise.
#define FIND(type, name, kind, given)          \
    type *name = cj__object_find(kind, given); \
    if (!name) LEAVE(cj__refuse_handle(kind, given))

// ---- state

cj_gpu     *cj__gpu_of(int ordinal);                                // NULL: there is none
CUresult    cj__refuse_device(int ordinal);                         // INVALID_DEVICE
cj_context *cj__current(void);                                      // NULL: none is current, or it was destroyed
CUresult    cj__context_of(CUcontext given, cj_context **context);  // NULL: the current one

#endif

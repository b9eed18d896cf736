// SPDX-License-Identifier: Apache-2.0
// The device's memory: allocations on the host's heap, and the list of them, against which every global access is
// checked.
//
// A list that a launch holds does not change: alloc and free then replace the current one by a copy, under a lock. So an access
// takes no lock, and memory may be allocated while a kernel runs. A list that nobody else holds is changed in place.
#ifndef CJ_CPU_MEMORY_H
#define CJ_CPU_MEMORY_H

#include <clusterjit/device.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CJ_POISON = 0xff };  // fills new memory: NaN in every float type, a large odd number in every integer type

// Which bytes of an allocation the host or a watched kernel has written. It exists as long as any list of allocations
// that contains it, so that a launch may read it even after the memory was freed.
typedef struct cj_cpu_written {
    unsigned      lists;  // guarded by the memory's lock
    bool          all;
    struct cj_cpu_team *team;  // team.h: the range has no bytes, and stands for memory of several devices; NULL: it has
    unsigned char bits[];
} cj_cpu_written;

typedef struct cj_cpu_range {
    uint64_t        begin, end;
    const char     *name;  // of a module's variable, else NULL
    cj_cpu_written *written;
    bool            wrapped;  // the caller's memory: never freed here
    struct cj_cpu_heap *heap;     // whose memory it is: kernels may access its live blocks only; NULL: it is no heap
} cj_cpu_range;

typedef struct cj_cpu_ranges {
    unsigned     users;  // guarded by the memory's lock
    size_t       count, capacity;
    size_t       teams;    // ranges that have one
    cj_cpu_range range[];  // ascending
} cj_cpu_ranges;

typedef struct cj_cpu_memory {
    pthread_mutex_t  lock;
    cj_cpu_ranges   *ranges;
    uint64_t         allocated;  // bytes, without those that are wrapped
    const cj_limits *limits;     // of the device
} cj_cpu_memory;

cj_status cj__cpu_memory_init(cj_cpu_memory *memory, const cj_limits *limits, cj_error *error);
void      cj__cpu_memory_free(cj_cpu_memory *memory);  // frees what is still allocated, too

// The memory is aligned to 256 bytes and filled with CJ_POISON. The 256 bytes after it belong to no allocation, so that a small
// overrun is always seen.
cj_status cj__cpu_alloc(cj_cpu_memory *memory, size_t bytes, const char *name, cj_ptr *address, cj_error *error);
// The same for the memory of a heap, which is not filled.
cj_status cj__cpu_alloc_heap(cj_cpu_memory *memory, size_t bytes, struct cj_cpu_heap *heap, cj_ptr *address,
                             cj_error *error);
// Makes the caller's array an allocation, without a copy, until it is released. All of it counts as written.
// INVALID_ARGUMENT if part of it is an allocation already.
cj_status cj__cpu_wrap(cj_cpu_memory *memory, void *host, size_t bytes, cj_error *error);
void      cj__cpu_release(cj_cpu_memory *memory, cj_ptr address);

// Adds a range to the list, which then owns range->written; frees that if it cannot. INVALID_ARGUMENT if part of it is in a
// range already.
cj_status cj__cpu_ranges_add(cj_cpu_memory *memory, const cj_cpu_range *range, cj_error *error);
// Gives the range that begins there another `written`, which the list then owns. False: out of memory, or there is no such range.
bool cj__cpu_ranges_renew(cj_cpu_memory *memory, cj_ptr begin, cj_cpu_written *written);
void cj__cpu_written_free(cj_cpu_written *written);  // NULL is allowed

// The current list. The caller must drop it.
cj_cpu_ranges *cj__cpu_ranges_hold(cj_cpu_memory *memory);
void           cj__cpu_ranges_drop(cj_cpu_memory *memory, cj_cpu_ranges *ranges);

// One list of what these lists hold, which must be held as long; for cj__free. NULL when out of memory. Ranges of two lists that
// overlap, as memory that one device has allocated and another one wrapped, are one range.
cj_cpu_ranges *cj__cpu_ranges_union(cj_cpu_ranges *const *list, uint32_t count);

// The allocation that contains [address, address + bytes), or NULL. *nearest (may be NULL) is the last one that begins
// at or below the address, or NULL.
const cj_cpu_range *cj__cpu_ranges_find(const cj_cpu_ranges *ranges, uint64_t address, uint64_t bytes,
                                        const cj_cpu_range **nearest);

// Marks these bytes of an allocation as written; or all bytes of all allocations, since a kernel that was not watched
// may have written any of them.
void cj__cpu_written_mark(const cj_cpu_range *range, uint64_t offset, uint64_t bytes);
void cj__cpu_written_mark_all(const cj_cpu_ranges *ranges);
// Bytes become new memory, which nothing has written: multiples of 16, of a range that was itemized when the launch began. No other
// thread may mark or read them meanwhile.
void cj__cpu_written_clear(const cj_cpu_range *range, uint64_t offset, uint64_t bytes);
void cj__cpu_written_itemize(const cj_cpu_range *range);
// The length of the run from `offset` on whose bytes are all written or all unwritten; *written says which.
uint64_t cj__cpu_written_run(const cj_cpu_range *range, uint64_t offset, uint64_t bytes, bool *written);

#endif

// SPDX-License-Identifier: Apache-2.0
// Memory without addresses, and multicast objects, to which it is bound.
//
// A multicast object here is the list of its devices and of what is bound. Each of its mappings is an object of the CPU devices
// (cj_cpu_multicast). A bind names bytes of a memory handle; a mapping needs the address at which the member's device reaches them: that of
// a mapping of the memory, so that a race between the two ways to the same bytes is seen, or a hidden one of the handle's own. Whenever
// mappings, access or binds change, all mappings of multicast objects are made again.
#ifndef CJ_DRIVER_MULTICAST_H
#define CJ_DRIVER_MULTICAST_H

#include "memory.h"

enum { CJ_GRANULARITY = 2 << 20 };

// What cuMemCreate and cuMulticastCreate make: the first fields of both.
typedef struct cj_generic {
    cj_object base;
    unsigned  references;  // of the program's
} cj_generic;

typedef struct cj_physical {
    cj_generic          generic;
    int                 file;
    size_t              bytes;
    cj_gpu             *gpu;
    CUmemAllocationProp properties;
    void               *hidden;  // its own mapping, which its device reaches; NULL: none was needed
} cj_physical;

typedef struct cj_bind {
    struct cj_bind *next;
    cj_gpu         *gpu;
    size_t          offset, bytes;  // in the object
    cj_physical    *memory;         // kept
    size_t          from;           // in the memory
} cj_bind;

typedef struct cj_team {
    cj_generic            generic;
    CUmulticastObjectProp properties;
    unsigned              count;  // devices that were added
    cj_gpu               *gpu[CJ_GPUS];
    cj_bind              *binds;
} cj_team;

// Refuses what is no multiple of CJ_GRANULARITY; `what` is its name.
CUresult cj__check_grain(const char *what, uint64_t value);

// Ends the hidden mapping, when the memory is released.
void cj__physical_hide(cj_physical *physical);

cj_team *cj__team_new(const CUmulticastObjectProp *properties);
bool     cj__team_has(const cj_team *team, const cj_gpu *gpu);

// Maps bytes of the object at reserved addresses, for no device yet; ends such a mapping.
CUresult cj__team_map(cj_team *team, uint64_t address, size_t bytes, size_t offset);
void     cj__team_unmap(cj_block *block);
// The object that a block of type MULTICAST maps.
cj_team *cj__team_of(const cj_block *block);

// Makes all mappings again, for the devices that the blocks say.
CUresult cj__team_renew(void);

#endif

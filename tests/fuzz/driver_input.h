// SPDX-License-Identifier: Apache-2.0
// The bytes of an input of fuzz_driver, as what calls of the driver take: numbers, handles of every kind, addresses, modules.
#ifndef CJ_TESTS_FUZZ_DRIVER_INPUT_H
#define CJ_TESTS_FUZZ_DRIVER_INPUT_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// All that follows reads the bytes of this input; after its end they are 0.
void begin_input(const unsigned char *data, size_t size);
bool has_input(void);

unsigned byte(void);
unsigned below(unsigned limit);
size_t   amount(void);  // of bytes: small, of a page, beyond all memory
unsigned flags(void);

enum kind {
    CONTEXT,
    STREAM,
    EVENT,
    MODULE,
    FUNCTION,
    LIBRARY,
    KERNEL,
    LINK,
    ARRAY,
    POOL,
    PHYSICAL,
    GRAPH,
    NODE,
    EXEC,
    USER,
    TEXTURE,
    SURFACE,
    ADDRESS,
    PINNED,
    RESERVED,
    KINDS
};

enum { SLOTS = 8, HOST = 32768, PAGE = 2 << 20 };

extern uint64_t      slot[KINDS][SLOTS];  // handles that calls returned; which of them are alive is not known
extern unsigned      made[KINDS];
extern unsigned char host[HOST];  // all calls may read and write it

// Keeps a handle. The one whose slot it takes is destroyed, so that an input leaves little.
void put(enum kind kind, uint64_t h);
void put_pointer(enum kind kind, const void *h);
void destroy(enum kind kind, uint64_t h);

// Mostly a handle of the kind, dead or alive; sometimes of another, sometimes none.
uint64_t pick(enum kind kind);
void    *handle(enum kind kind);
void    *pointer(uint64_t h);

CUstream    stream(void);
CUdeviceptr address(void);
void       *host_at(void);
size_t      host_amount(void);
CUdevice    device(void);

// A module of four kernels and two variables, in PTX; their names, and two that it does not have.
enum { KERNELS = 4, NAMES = 8 };
extern const char        program_text[];
extern const char *const names[NAMES];
const char              *name(void);
const void              *image(void);  // mostly that module; else machine code, or PTX with an error

#endif

// SPDX-License-Identifier: Apache-2.0
// Two devices execute every row of the instruction table that gives a result at once, on the same operands: edge values
// paired with each other, then random ones. Results that the hardware computes exactly must be the same bits;
// approximate functions must differ by no more than their documented bound. The result of a store or an atomic is the
// memory afterwards.
//
// coverage.def names the maker that writes the kernels of a row's forms. A kernel of one instruction is an experiment;
// all experiments of a group have the same launch shape, and many of them are loaded as one module.
#ifndef CJ_TESTS_SEMANTICS_H
#define CJ_TESTS_SEMANTICS_H

#include <clusterjit/device.h>

#include "row_forms.h"
#include "text.h"

// ---- running

typedef struct cj_semantics {
    unsigned forms;      // instructions compared
    unsigned different;  // of those, with a wrong lane
    unsigned refused;    // the second device does not execute them
    unsigned failed;     // a device could not load or run them, for another reason
} cj_semantics;

#define CJ_SEMANTICS_GROUPS(X) X(REGISTER) X(MEMORY) X(ATOMIC) X(WARP) X(ADDRESS) X(CONTROL)

typedef enum cj_semantics_group {
#define CJ_X(name) CJ_GROUP_##name,
    CJ_SEMANTICS_GROUPS(CJ_X)
#undef CJ_X
        CJ_GROUP_COUNT
} cj_semantics_group;

// Compares `device` (which is right) with `twin`, and both with a model if there is one, for all rows of a group;
// prints a line for each form that differs, fails or is refused. `every`: takes every so-manieth form of a row, 1: all.
cj_semantics cj_test_semantics(cj_semantics_group group, cj_device *device, cj_device *twin, uint64_t seed,
                               unsigned every);

// Calls `take` for the modules that would be loaded, which contain all of a group's experiments. If it returns false,
// calls it for each half; `only` is the instruction of a module that has only one, else NULL.
typedef bool cj_module_taker(const char *ptx, const char *only, void *user);
void cj_semantics_modules(cj_semantics_group group, uint64_t seed, unsigned every, cj_module_taker *take, void *user);

// How many of sm_90's rows are neither compared nor have a reason in coverage.def. Prints each of them, and each line
// of coverage.def that no row needs.
unsigned cj_semantics_uncovered(void);

// ---- experiments

enum { CJ_INPUTS_MAX = 24, CJ_OUTPUTS_MAX = 18 };

typedef enum cj_fill {
    CJ_FILL_EDGES,   // of the type, each with each of the other inputs'; then random values
    CJ_FILL_AS_0,    // every other lane has the value of input 0, others edge values
    CJ_FILL_AS_1,    // the same of input 1
    CJ_FILL_WHOLE,   // 0 to 3
    CJ_FILL_FORTY,   // 40, everywhere
    CJ_FILL_LANE,    // 0 to 40: lanes and distances between them, and too far ones
    CJ_FILL_SEGMENT  // the third operand of shfl: the last lane, and the mask of a segment above it
} cj_fill;

// A value of each thread: register %i0, %i1, … or %o0, %o1, … of 16, 32 or 64 bits, or a predicate.
typedef struct cj_port {
    cj_word type;
    cj_fill fill;
} cj_port;

typedef struct cj_experiment cj_experiment;

// Computes a thread's expected outputs, from its own inputs and from those of the same thread in the block with which
// it exchanges memory (its own if there is none).
typedef void cj_model(const cj_experiment *e, const uint64_t *own, const uint64_t *peers, uint64_t *outputs);

struct cj_experiment {
    unsigned  number;     // the entry is k<number>
    char      text[384];  // the instruction with its operands, for messages
    cj_text   outside;    // declarations that the module needs besides the entry
    cj_text   body;
    unsigned  input_count, output_count;
    cj_port   input[CJ_INPUTS_MAX], output[CJ_OUTPUTS_MAX];
    double    tolerance;  // of floats; 0: identical bits
    cj_model *model;      // NULL: the first device's result is the expected one
    cj_word   element;    // in memory, for the model
    bool      reaches_peer;
};

typedef struct cj_experiments {
    cj_experiment *at;
    size_t         count, capacity;
    unsigned       made;  // also counts those that were dropped
} cj_experiments;

// A maker appends experiments for a form. Its bodies have, besides inputs and outputs,
//   %thread, %threads, %lane, %block (b32)  the thread in its block, their count, the lane, the block in the grid
//   %space (b64)                    the thread's own 128 bytes of global memory
// %in (b64)                       the address of this thread's input 0; its neighbours' are next to it
//   x                               a parameter of 48 bytes
//   tile, stack, table              48 bytes of shared memory for each thread of the block, of local, of constant memory
//   %r0 to %r9, %l0 to %l9, %h0 to %h9, %q0 to %q9, %p0 to %p9   b32, b64, b16, b128, pred
// tile and stack are declared if the body mentions them.
typedef void cj_maker(const cj_form *form, cj_experiments *list);

enum { CJ_CELL = 48, CJ_SPACE_CELL = 128 };

cj_maker cj__make_register, cj__make_carry, cj__make_access, cj__make_read_only, cj__make_hint, cj__make_policy,
    cj__make_atomic, cj__make_shuffle, cj__make_vote, cj__make_warp, cj__make_warp_barrier, cj__make_barrier,
    cj__make_special, cj__make_address, cj__make_generic, cj__make_isspacep, cj__make_mapa, cj__make_control,
    cj__make_idle;

// A new experiment; valid until the next one is added.
cj_experiment *cj__experiment_add(cj_experiments *list);
void           cj__experiment_drop(cj_experiments *list);  // the last one
void           cj__experiment_free(cj_experiment *e);      // what it owns, not itself
void           cj__experiments_free(cj_experiments *list);

// New values; their registers' numbers.
unsigned cj__experiment_input(cj_experiment *e, cj_word type, cj_fill fill);
unsigned cj__experiment_output(cj_experiment *e, cj_word type);

// "%i3", or the vector "{%i3, %i4}".
void cj__register_list(char text[96], char prefix, unsigned first, unsigned count);

// Adds a line of PTX to the body; cj__experiment_try the line that is tried, which messages show.
void cj__experiment_line(cj_experiment *e, const char *format, ...) CJ_PRINTF(2, 3);
void cj__experiment_try(cj_experiment *e, const char *format, ...) CJ_PRINTF(2, 3);

// How many bits the register of a value has: 1 (a predicate), 16, 32 or 64.
unsigned cj__register_bits(cj_word type);

#endif

// SPDX-License-Identifier: Apache-2.0
// Hazards: actions of a kernel that its correctness rules forbid. A launch collects them as findings; its error is the
// first.
#ifndef CJ_CPU_HAZARD_H
#define CJ_CPU_HAZARD_H

#include "machine.h"

typedef enum cj_cpu_rule {
#define CJ_HAZARD(id, rule, hint) CJ_HAZARD_##id,
#include "hazards.def"
#undef CJ_HAZARD
} cj_cpu_rule;

// Hazards and notes of a launch: each rule and pair of lines once.
enum { CJ_CPU_FINDINGS = 64 };

typedef struct cj_cpu_found {
    size_t    count;
    cj_hazard hazard[CJ_CPU_FINDINGS];
} cj_cpu_found;

typedef struct cj_cpu_findings {
    const cj_ir_module *module;  // whose lines they name
    pthread_mutex_t     lock;
    cj_cpu_found     hazards, notes;
    const cj_cpu_op *unsupported;  // the first unsupported op that a thread reached, or NULL
} cj_cpu_findings;

// Returns the first finding as an error, HAZARD; OK if there is none.
cj_status cj__cpu_findings_error(const cj_cpu_findings *findings, cj_error *error);
// Returns the unsupported op that a thread reached as an error, UNSUPPORTED.
cj_status cj__cpu_unsupported_error(const cj_cpu_findings *findings, cj_error *error);

// Reports a hazard of one lane and returns CJ_STEP_STOP. The message is the format's text and the thread's name.
cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) CJ_PRINTF(5, 6);
// The same for an access of `bytes` bytes at an address of its space.
cj_cpu_step cj__cpu_hazard_at(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, uint64_t address,
                              uint64_t bytes, const char *format, ...) CJ_PRINTF(7, 8);
// The executor of an instruction that the CPU device cannot execute; op->plan says why. It ends the launch.
cj_cpu_step cj__cpu_unsupported(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// ---- parts of reports

const char *cj__hazard_op_name(const cj_cpu_op *op);

// A line of the PTX as messages name it: "line 24", or, where a .loc tells the source, "race.cu:8 (PTX line 24)".
typedef struct cj_hazard_line {
    char text[96];
} cj_hazard_line;

cj_hazard_line cj__hazard_line(const cj_cpu_launch *launch, unsigned line);

// A variable's name as messages have it: as in the source where a compiler has lowered it.
typedef struct cj_hazard_name {
    char text[64];
} cj_hazard_name;

cj_hazard_name cj__hazard_variable(const char *name);

// One of the two sides of a hazard: a thread of a block, at an op.
cj_hazard_side cj__hazard_side_of(const cj_cpu_launch *launch, const cj_cpu_op *op, uint64_t cluster, uint32_t rank,
                                  uint32_t thread);

// "thread (1, 0, 0) of block (0, 0, 0), rank 0 in its cluster"
typedef struct cj_hazard_actor {
    char text[128];
} cj_hazard_actor;

cj_hazard_actor cj__hazard_actor(const cj_cpu_launch *launch, const cj_hazard_side *side, uint64_t cluster);

// Whether the findings hold a hazard of this rule at these two lines; if so, its count grows by one.
bool cj__hazard_is_known(cj_cpu_findings *findings, cj_cpu_rule rule, unsigned first, unsigned second);
void cj__hazard_add(cj_cpu_findings *findings, cj_cpu_rule rule, const cj_hazard *hazard);

#endif

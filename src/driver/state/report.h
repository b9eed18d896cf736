// SPDX-License-Identifier: Apache-2.0
// What the driver tells about a run: one JSON object a line, appended to the file of CLUSTERJIT_REPORT when it happens, or
// the same as text on standard error. docs/maintaining/programs.md lists the fields.
#ifndef CJ_DRIVER_REPORT_H
#define CJ_DRIVER_REPORT_H

#include "driver.h"

// One of the accesses that a hazard is about.
typedef struct cj_report_side {
    unsigned    line, column, ptx_line;  // 0: unknown
    const char *what, *file;
    cj_dim3     thread, block;
} cj_report_side;

typedef struct cj_record {
    const char           *kind;                                   // "hazard", "fault", "refused", "unsupported", "leak"
    const char           *call, *kernel, *rule, *message, *hint;  // NULL: none
    CUresult              code;                                   // that the call returns; 0: none
    int                   device;
    uint64_t              count, bytes;
    const cj_report_side *side;
    unsigned              sides;
    const char           *module;  // whose PTX the sides' lines are of, as cj__report_ptx names it; NULL: none
} cj_record;

void cj__report(const cj_record *record);

// Whether CLUSTERJIT_REPORT names a file. Leaks are reported to a file alone, not on standard error.
bool cj__report_is_file(void);

// The same, unless the kind, the call and the message were told before.
void cj__report_once(const cj_record *record);

// Writes the module's PTX to the report, so that run-program can show its lines. Without a file it does nothing.
void cj__report_ptx(const char *module, const char *ptx);

// What is counted for the last line of the report.
typedef struct cj_counts {
    uint64_t launches, copies, copied_bytes, findings;
    double   seconds;  // in kernels
} cj_counts;
extern cj_counts cj__counts;

// Writes the line "end".
void cj__report_end(void);

#endif

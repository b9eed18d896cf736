// SPDX-License-Identifier: Apache-2.0
// The checker's parts. Each adds what it finds to the report, and reads nothing but the IR and what was found about it.
#ifndef CJ_PTXGEN_CHECKS_H
#define CJ_PTXGEN_CHECKS_H

#include "report.h"
#include "values.h"

// ---- about forms (check.c)

// The directives of an entry against each other and against what its body does (check_directives.c).
void cj__check_directives(const cj_ir_func *func, cj_report *report);

// ---- about paths (check_paths.c); the arena is for what is needed on the way, and where it fails they say nothing

// Registers and labels that nothing uses, registers read before they are written (check_names.c). Fills `home` with what
// it learns on the way of each register: the only block that writes it + 1, CJ_HOME_MANY, or 0.
void cj__check_names(const cj_graph *graph, cj_arena *arena, cj_report *report, uint32_t *home);

// The following look at every instruction in one walk over the blocks, with what the registers hold before it.

// Where its addresses point: state spaces, windows, alignment, bounds, ranks (check_address.c).
void cj__check_addresses(const cj_values *values, const cj_ir_stmt *stmt, cj_report *report);

// Whether a whole warp must execute it together and only a part comes (check_divergence.c). why: for each block the
// branch that lets only a part of the warp come to it, or NULL; after a block's last instruction `leave` marks those
// after it.
typedef const cj_ir_stmt *cj_cause;
void cj__check_divergence(const cj_values *values, const cj_ir_stmt *stmt, const cj_cause *why, cj_report *report);
void cj__check_divergence_enter(const cj_values *values, cj_cause *why);
void cj__check_divergence_leave(const cj_values *values, cj_cause *why);

// Cluster barriers and the accesses that they order (check_cluster.c): the events of the walk, then the paths between.
typedef struct cj_clusters cj_clusters;
cj_clusters *cj__check_clusters_begin(const cj_values *values, cj_arena *arena, cj_report *report);
void         cj__check_clusters_enter(cj_clusters *clusters);
void         cj__check_clusters_note(cj_clusters *clusters, const cj_ir_stmt *stmt);
void         cj__check_clusters_end(cj_clusters *clusters);

#endif

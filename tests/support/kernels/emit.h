// SPDX-License-Identifier: Apache-2.0
// Kernels of a family as text, from parameters as text.
#ifndef CJ_TESTS_EMIT_H
#define CJ_TESTS_EMIT_H

#include <clusterjit/kernel.h>

// Sets the values of "name=value name=value …" over the family's defaults; ends at the first error.
cj_status cj_test_params(const char *family, const char *assignments, cj_params *params, cj_error *error);

// The plan of these parameters on such a GPU, whose own target it takes. Fails the test if they are refused.
void cj_test_plan(const char *family, const char *assignments, const cj_limits *limits, cj_plan *plan);

// Fails the test unless the plan of these parameters for sm_90 is refused with this status, and the message contains
// `says`.
void cj_test_refused(const char *family, cj_status status, const char *assignments, const char *says);

// The text for a target with its built-in limits, freed by the caller (cj_text_free). Fails the test if planning or
// emitting fails.
char *cj_test_emit(const char *family, const char *assignments, const char *arch);

// Fails the test unless ptxas assembles that text without a warning.
void cj_test_assembles(const char *family, const char *assignments, const char *arch);

#endif

// SPDX-License-Identifier: Apache-2.0
// Kernels of a family as text, from parameters as text.
#ifndef CJ_TESTS_EMIT_H
#define CJ_TESTS_EMIT_H

#include <clusterjit/kernel.h>

// Sets all of "name=value name=value …" over the family's defaults; the first error ends it.
cj_status cj_test_params(const char *family, const char *assignments, cj_params *params, cj_error *error);

// Fails the test unless a plan of these parameters for sm_90 is refused with this status, in words that contain `says`.
void cj_test_refused(const char *family, cj_status status, const char *assignments, const char *says);

// The text for a target with its built-in limits, freed by the caller (cj_text_free). Fails the test where planning or
// emitting fails.
char *cj_test_emit(const char *family, const char *assignments, const char *arch);

#endif

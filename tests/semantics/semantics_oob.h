// SPDX-License-Identifier: Apache-2.0
// Which codes fma.rn.oob treats as out of bounds: of all 65536 codes in each place of a, b and c, those that give 0
// with all other operands.
#ifndef CJ_TESTS_SEMANTICS_OOB_H
#define CJ_TESTS_SEMANTICS_OOB_H

#include <clusterjit/device.h>
#include <stdint.h>

enum { CJ_OOB_CODES = 1 << 16, CJ_OOB_FORMS = 8, CJ_OOB_PLACES = 3, CJ_OOB_PTX = 4096 };

extern const char *const cj_oob_form[CJ_OOB_FORMS];  // "fma.rn.oob.f16", …

typedef struct cj_oob_sweep {
    uint8_t is_zero[CJ_OOB_FORMS][CJ_OOB_PLACES][CJ_OOB_CODES];
} cj_oob_sweep;

void cj_oob_ptx(char *ptx, unsigned form);

// Fails the running test if a device cannot run it.
void cj_oob_run(cj_device *device, cj_oob_sweep *sweep);

// Prints the codes that count as NaN and give 0, as ranges; for the others that give 0, those below 0 under .relu,
// their number.
void cj_oob_print(const char *device, const cj_oob_sweep *sweep);

#endif

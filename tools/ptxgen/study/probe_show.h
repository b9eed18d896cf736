// SPDX-License-Identifier: Apache-2.0
// The probe's figures: as tables, as JSON, as a plot. Each returns an exit code.
#ifndef PTXGEN_PROBE_SHOW_H
#define PTXGEN_PROBE_SHOW_H

#include "plot.h"
#include "probe_run.h"

int probe_print(const probe_report *report);
int probe_json(const probe_report *report);
int probe_draw(const probe_report *report, plot *p);

// How many times longer an exchange of `bytes` bytes (0: one word) takes through global memory than through distributed
// shared memory, by the faster of its ways; 0 if one of them was not measured.
double probe_exchange_ratio(const probe_report *report, uint64_t bytes);

enum { PROBE_EXCHANGES = 3 };
extern const uint64_t probe_exchange_bytes[PROBE_EXCHANGES];

// Writes the conclusion for a design: a sentence, or less if not everything was measured.
void probe_sentence(const probe_report *report, char *buffer, size_t size);

#endif

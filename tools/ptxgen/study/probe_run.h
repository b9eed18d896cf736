// SPDX-License-Identifier: Apache-2.0
// Runs the probe's kernels on a GPU, holds each against its check, and makes figures of their clocks.
#ifndef PTXGEN_PROBE_RUN_H
#define PTXGEN_PROBE_RUN_H

#include <clusterjit/occupancy.h>
#include <probe.h>

// Cycles, TB/s or 10^9 operations a second, as the figure's unit says. Of times: the median of all blocks, and the
// least and the most that one of them took. `beside` of PROBE_TO_ONE is of the block that all others access.
typedef struct probe_result {
    const probe_figure *figure;
    uint32_t            cluster, blocks;  // of the launch; cluster 0: none
    double              value, least, most;
    double              beside;                  // times: ns; bytes and operations: those a clock of an SM
    double              by_step[PROBE_LARGEST];  // each_step: the median at each distance in ranks, from 1
    double              before;                  // the published figure; 0: none
} probe_result;

enum { PROBE_RESULTS_MAX = 256, PROBE_BLOCKS_MAX = 1024 };

typedef struct probe_report {
    cj_device           *device;
    char                 arch[16];
    probe_result         result[PROBE_RESULTS_MAX];
    size_t               count;
    cj_cluster_occupancy occupancy[PROBE_SIZES];    // of one block an SM
    uint32_t             largest;                   // cluster, in blocks
    probe_record         record[PROBE_BLOCKS_MAX];  // of the last launch
    double               cycles[PROBE_BLOCKS_MAX], ns[PROBE_BLOCKS_MAX];
} probe_report;

// Measures everything. Sizes that the device cannot place are left out, and tiles are smaller where shared memory is.
// Shows progress on a terminal. Returns an exit code.
int probe_run(probe_report *report);

// The result of a kernel doing this in clusters of that size; NULL where there is none.
const probe_result *probe_find(const probe_report *report, const probe_kernel *kernel, probe_op op,
                               probe_pattern pattern, uint32_t cluster);

#endif

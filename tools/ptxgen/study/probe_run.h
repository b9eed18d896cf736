// SPDX-License-Identifier: Apache-2.0
// Runs the probe's kernels on a GPU, verifies each one's check, and computes figures from their clocks.
#ifndef PTXGEN_PROBE_RUN_H
#define PTXGEN_PROBE_RUN_H

#include <clusterjit/occupancy.h>
#include <probe.h>

// Cycles, TB/s or 10^9 operations a second, depending on the figure's unit. For times: the median of all blocks, and
// the least and the greatest time of a block. For PROBE_TO_ONE `beside` is that of the block that all others access.
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

// Measures everything. Leaves out sizes that the device cannot place, and uses smaller tiles if shared memory is
// smaller. Shows progress on a terminal. Returns an exit code.
int probe_run(probe_report *report);

// The result of a kernel with this operation and pattern in clusters of that size; NULL if there is none.
const probe_result *probe_find(const probe_report *report, const probe_kernel *kernel, probe_op op,
                               probe_pattern pattern, uint32_t cluster);

#endif

// SPDX-License-Identifier: Apache-2.0
// Which cluster size should a kernel take? Clusters pool shared memory, and larger ones leave more SMs without work: what a
// GPU holds of each size, and the smallest that holds what is to be pooled. Without a GPU the built-in H200 is asked.
#include <string.h>

#include "example.h"

static const uint32_t sizes[] = {1, 2, 4, 8, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };

int main(int argc, char **argv) {
    cj_error             error;
    cj_cluster_occupancy table[SIZES];
    cj_device           *device = open_device(argc, argv);
    cj_limits            limits = *cj_device_limits(device);
    const cj_block_use   use = {CJ_INIT(use), .threads = 256, .registers = 40, .shared = 200 * 1024};
    if (!strcmp(cj_device_kind(device), "cpu")) must(cj_limits_named("h200", &limits, &error), &error);

    printf("%s, blocks of %u threads and %u KiB of shared memory\n", limits.name, use.threads,
           (unsigned)(use.shared / 1024));
    printf("cluster  clusters  blocks  SMs without work\n");
    for (size_t i = 0; i < SIZES; i++) {
        table[i] = (cj_cluster_occupancy){CJ_INIT(cj_cluster_occupancy)};
        must(cj_occupancy_model(&limits, &use, sizes[i], &table[i], &error), &error);
        printf("%7u  %8u  %6u  %16u\n", sizes[i], table[i].active_clusters, table[i].active_clusters * sizes[i],
               table[i].sms_stranded);
    }
    const uint32_t pooled = 600 * 1024;                                          // bytes
    const uint32_t needed = (uint32_t)((pooled + use.shared - 1) / use.shared);  // blocks that hold them
    const size_t   chosen = cj_occupancy_choose(table, SIZES, needed, CJ_OCCUPANCY_KEEP);
    if (chosen == SIZES) return verdict(0);
    printf("the smallest cluster that holds %u KiB: %u\n", (unsigned)(pooled / 1024), sizes[chosen]);

    const int right = table[chosen].active_clusters > 0 && sizes[chosen] >= needed && sizes[chosen] < 2 * needed;
    cj_device_close(device);
    return verdict(right);
}

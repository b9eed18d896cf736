// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

cj_dim3 cj__cpu_position(const cj_cpu_launch *launch, uint64_t cluster, uint32_t rank) {
    const cj_dim3 size = launch->cluster, count = launch->clusters;
    cluster = cj__cpu_in_grid(launch, cluster);
    const cj_dim3 at = {(uint32_t)(cluster % count.x), (uint32_t)(cluster / count.x % count.y),
                        (uint32_t)(cluster / count.x / count.y)};
    return (cj_dim3){at.x * size.x + rank % size.x, at.y * size.y + rank / size.x % size.y,
                     at.z * size.z + rank / size.x / size.y};
}

cj_dim3 cj__cpu_thread(const cj_cpu_launch *launch, uint32_t thread) {
    const cj_dim3 size = launch->block;
    return (cj_dim3){thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

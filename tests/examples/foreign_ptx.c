// SPDX-License-Identifier: Apache-2.0
// PTX that somebody else wrote, loaded and launched as clusters. The kernel declares no cluster size, so the launch chooses
// one; a launch that cannot work is refused with the rule that it breaks.
#include <string.h>

#include "example.h"

// Each block writes what its right neighbour in the cluster has: its rank plus 1000, round the ring.
static const char kernel[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry ring(.param .u64 out)\n{\n"
    "    .reg .b32   %rank, %size, %right, %block, %value, %remote;\n"
    "    .reg .b64   %to;\n"
    "    .reg .pred  %last;\n"
    "    .shared .align 4 .b32 mine;\n"
    "    mov.u32     %rank, %cluster_ctarank;\n"
    "    mov.u32     %size, %cluster_nctarank;\n"
    "    add.u32     %value, %rank, 1000;\n"
    "    st.shared.u32 [mine], %value;\n"
    "    barrier.cluster.arrive.aligned;             // the value is published, and everyone has started\n"
    "    barrier.cluster.wait.aligned;\n"
    "    add.u32     %right, %rank, 1;\n"
    "    setp.eq.u32 %last, %right, %size;\n"
    "    @%last mov.u32 %right, 0;\n"
    "    mov.u32     %remote, mine;\n"
    "    mapa.shared::cluster.u32 %remote, %remote, %right;\n"
    "    ld.shared::cluster.u32 %value, [%remote];\n"
    "    barrier.cluster.arrive.aligned;             // nobody leaves while its memory is read\n"
    "    barrier.cluster.wait.aligned;\n"
    "    mov.u32     %block, %ctaid.x;\n"
    "    ld.param.u64 %to, [out];\n"
    "    mad.wide.u32 %to, %block, 4, %to;\n"
    "    st.global.u32 [%to], %value;\n"
    "    ret;\n}\n";

enum { BLOCKS = 8, CLUSTER = 4 };

int main(int argc, char **argv) {
    uint32_t     values[BLOCKS];
    cj_error     error;
    cj_ptr       out;
    cj_module   *module;
    cj_function *ring;
    cj_device   *device = open_device(argc, argv);
    must(cj_module_from_ptx(device, kernel, sizeof kernel - 1, &module, &error), &error);
    must(cj_module_function(module, "ring", &ring, &error), &error);
    must(cj_mem_alloc(device, sizeof values, &out, &error), &error);

    cj_launch_config config = {CJ_INIT(config),    .function = ring,           .grid = {BLOCKS - 1, 1, 1},
                               .block = {1, 1, 1}, .cluster = {CLUSTER, 1, 1}, CJ_ARGS(out)};
    if (!cj_launch(device, &config, &error)) return 1;  // 7 blocks make no clusters of 4
    printf("refused: %s (%s)\n", error.message, error.rule);

    config.grid.x = BLOCKS;
    must(cj_launch(device, &config, &error), &error);
    must(cj_mem_read(device, values, out, sizeof values, NULL, &error), &error);
    int right = strcmp(error.rule, "cluster-grid-multiple") == 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        printf("%u ", values[i]);
        right &= values[i] == 1000 + (i + 1) % CLUSTER;
    }
    putchar('\n');
    cj_mem_free(device, out);
    cj_module_unload(module);
    cj_device_close(device);
    return verdict(right);
}

// SPDX-License-Identifier: Apache-2.0
// Every matrix product assembles, without a warning: every tile with every cluster, and with each of these the next
// layout and type in turn; every type and epilogue in the tile that takes most registers; and tiles whose K is shared.
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const tiles[] = {"128x256", "128x128", "64x256",  "64x128",  "64x64",
                                    "128x224", "128x192", "128x160", "128x96",  "64x192",
                                    "64x160",  "64x96",   "192x192", "192x160", "192x128"};
static const char *const clusters[] = {"cluster=0",
                                       "cluster=1",
                                       "cluster=2",
                                       "cluster=4",
                                       "cluster=1 cluster-n=2",
                                       "cluster=1 cluster-n=4",
                                       "cluster=2 cluster-n=2"};
static const char *const orders[] = {"row", "column"};

static void assemble(const char *params) { cj_test_assembles("gemm", params, "sm_90a"); }

static void kernels_that_share_k_assemble(void **state) {
    (void)state;
    assemble("tile=64x64 cluster=1 split=2");
    assemble("tile=64x64 cluster=1 split=16 parts=8 c=yes");
    assemble("tile=64x128 cluster=2 split=8 a=column b=column");
    assemble("tile=64x256 cluster=1 split=12 parts=2 d=column");
    assemble("tile=128x128 cluster=2 cluster-n=2 split=4 parts=7 dtype=f16");
    assemble("tile=128x256 cluster=2 parts=32 c=yes");
    assemble("tile=64x256 cluster=0 parts=3");
    assemble("tile=128x128 cluster=2 split=2 parts=8");
    assemble("tile=128x128 cluster=2 cluster-n=2 split=2 parts=7 sums=stages");
    assemble("tile=128x256 cluster=2 split=4 parts=2 c=yes sums=stages");
    assemble("m=256 n=512 k=8192 split=16 parts=1 sums=stages");  // clusters that share nothing have room for it
    assemble("tile=64x256 cluster=2 consumers=in-turn out=f32 c=yes bias=m batch=2 activation=silu");
    assemble("tile=128x224 cluster=2 cluster-n=2 split=2 parts=7 c=yes b=column");
    assemble("tile=192x128 cluster=1 split=2 parts=15 out=f32 c=yes");
    assemble("tile=64x192 cluster=2 consumers=in-turn out=f32 c=yes bias=m batch=2 activation=silu");
    assemble("n=4500 tile=64x256 cluster=1 cluster-n=2 consumers=in-turn c=yes bias=n activation=gelu");
}

// D's lines of no whole 16 bytes.
static void ragged_kernels_assemble(void **state) {
    (void)state;
    assemble("n=4500 tile=128x256 cluster=2 c=yes bias=n activation=gelu batch=2");
    assemble("n=4501 tile=128x256 cluster=2 out=f32 c=yes bias=n activation=gelu batch=2");
    assemble("n=4500 tile=128x256 cluster=2 dtype=e4m3 b=column out=e4m3 c=yes bias=n activation=gelu batch=2");
    assemble("n=4501 tile=128x192 cluster=2 out=f32 c=yes bias=n activation=gelu batch=2");
    assemble("n=4501 tile=192x160 cluster=2 c=yes bias=n activation=gelu batch=2");
    assemble("n=4501 tile=192x192 cluster=2 out=f32 c=yes bias=n activation=silu batch=2");
    assemble("n=4500 tile=128x224 cluster=2 dtype=e4m3 b=column out=e4m3 c=yes bias=n activation=gelu batch=2");
    assemble("m=1001 d=column tile=64x256 dtype=f16 split=2 parts=3 cluster=1");
    assemble("n=5 tile=64x64 dtype=tf32 b=column cluster=0 c=yes");
}

// A and B exchanged: widths of tiles that others have not, of which some are the widest whose results are deferred.
static void swapped_kernels_assemble(void **state) {
    (void)state;
    static const char *const rows[] = {"m=264 n=4096", "m=150 n=4096", "m=129 n=4096", "m=511 n=4096", "m=301 n=4500 c=yes bias=n",
                                       "m=160 n=4501 c=yes bias=m out=f32", "m=200 n=4501 out=f32 activation=gelu batch=2"};
    static const char *const splits[] = {"", " split=2 parts=3", " split=1 parts=7"};
    for (size_t tile = 0, turn = 0; tile < CJ_TEST_COUNT(tiles); tile++)
        for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++, turn++) {
            char params[192];
            snprintf(params, sizeof params, "swap=yes tile=%s %s %s a=%s b=%s d=%s%s", tiles[tile], rows[i],
                     clusters[turn % 3 + 1], orders[turn % 2], orders[turn / 2 % 2], orders[turn / 4 % 2], splits[turn / 3 % 3]);
            assemble(params);
        }
    assemble("m=168 n=4500 swap=yes tile=64x256 cluster=2 out=f32 c=yes bias=m batch=2 activation=silu");
    assemble("m=224 n=4500 swap=yes tile=128x224 cluster=2 c=yes bias=n batch=2 activation=silu");
    assemble("m=320 n=4500 swap=yes tile=192x160 cluster=1 c=yes bias=n batch=2 activation=gelu");
    assemble("m=600 n=4500 swap=yes tile=64x256 cluster=2 consumers=in-turn out=f32 c=yes bias=m batch=2 activation=silu");
    assemble("m=256 n=512 k=8192 swap=yes tile=128x128 split=8 parts=2 sums=stages c=yes");
    assemble("m=300 n=4096 swap=yes dtype=e4m3 b=column c=yes tile=128x160 split=4 cluster=1 parts=1");
}

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t tile = 0; tile < CJ_TEST_COUNT(tiles); tile++)
        for (size_t cluster = 0; cluster < CJ_TEST_COUNT(clusters); cluster++, turn++) {
            char params[192];
            snprintf(params, sizeof params, "tile=%s %s a=%s b=%s d=%s c=%s dtype=%s", tiles[tile], clusters[cluster],
                     orders[turn % 2], orders[turn / 2 % 2], orders[turn / 4 % 2], turn % 3 ? "no" : "yes",
                     turn % 5 ? "bf16" : "f16");
            assemble(params);
        }
}

static void every_type_and_epilogue_assembles(void **state) {
    (void)state;
    static const char *const points[] = {
        "c=yes bias=n activation=gelu",
        "c=yes bias=m activation=silu dtype=f16",
        "bias=n activation=relu batch=3",
        "out=f32 c=yes bias=n activation=gelu",
        "out=f32 tile=128x128 c=yes bias=m",
        "dtype=tf32 b=column c=yes bias=n activation=silu batch=2 shared=bc",
        "dtype=tf32 b=column out=f16 d=column",
        "dtype=e4m3 b=column c=yes bias=n activation=gelu",
        "dtype=e4m3 dtype-b=e5m2 b=column out=e4m3 c=yes bias=n activation=relu",
        "dtype=e5m2 b=column out=e5m2 c=yes bias=m activation=gelu d=column batch=2 shared=a",
        "dtype=e5m2 dtype-b=e4m3 b=column out=f32 c=yes",
        "out=f32 c=yes bias=n activation=gelu parts=3",
        "dtype=e4m3 b=column out=e4m3 c=yes bias=m batch=2 tile=64x256 cluster=1 split=4",
        "dtype=i8 b=column",
        "dtype=u8 dtype-b=i8 b=column out=i8 c=yes bias=n activation=gelu batch=2",
        "dtype=i8 dtype-b=u8 b=column out=f32 c=yes bias=m tile=64x256 cluster=1 split=4",
        "dtype=u8 b=column d=column parts=3",
        "n=4500 dtype=i8 b=column swap=yes tile=128x160 split=4 cluster=1 parts=1",
        "dtype=i8 b=column tile=192x192 cluster=1 out=bf16 bias=n activation=silu",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(points); i++) {
        char params[192];
        snprintf(params, sizeof params, "%s%s", strstr(points[i], "tile=") ? "" : "tile=128x256 cluster=2 ", points[i]);
        assemble(params);
    }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_kernels_assemble),
        cmocka_unit_test(kernels_that_share_k_assemble),
        cmocka_unit_test(swapped_kernels_assemble),
        cmocka_unit_test(ragged_kernels_assemble),
        cmocka_unit_test(every_type_and_epilogue_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Products with a sparse A: every shape, type, layout and selector against plain loops; and metadata that is none.
#include "matrix_sparse.h"

#include "kernel.h"

// Under a random schedule and watched, so that what is asynchronous is done at any time.
static void check(const cj_matrix_family *family) {
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = true,
                                   .seed = cj_test_seed()};
    cj_device     *device = open_cpu();
    const unsigned failed = cj_matrix_run(family, device, cj_test_seed());
    cj_device_close(device);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
    if (failed) fail_msg("%u of %u kernels fail", failed, family->count());
}

static void mma(void **state) {
    (void)state;
    check(&cj_matrix_mma_sparse);
}
static void wgmma(void **state) {
    (void)state;
    check(&cj_matrix_wgmma_sparse);
}

#define NEWEST ".version 8.5\n.target sm_90\n.address_size 64\n"
#define MMA(variant, shape, types, a, b, metadata, selector)                                                         \
    NEWEST ENTRY OPEN "    mov.b32 %r1, " metadata ";\n    mov.b32 %r2, 0;\n    mma." variant ".sync.aligned." shape \
                      ".row.col." types " {%f0, %f1, %f2, %f3}, {" a "}, {" b                                        \
                      "}, {%f4, %f5, %f6, %f7}, %r1, " selector ";\n" CLOSE
#define HALVES(variant, metadata, selector) \
    MMA(variant, "m16n8k16", "f32.f16.f16.f32", "%r2, %r2", "%r2, %r2", metadata, selector)
#define SINGLES(metadata) MMA("sp", "m16n8k8", "f32.tf32.tf32.f32", "%r2, %r2", "%r2, %r2", metadata, "0")

static void wrong_metadata_is_named(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    static const struct {
        const char *ptx, *message;  // NULL: it is right
    } cases[] = {
        {HALVES("sp", "0x44444444", "3"), NULL},
        {HALVES("sp", "0x44944444", "0"), NULL},
        {HALVES("sp", "0x44144444", "0"), NULL},  // without an order: the second is stored first
        {HALVES("sp::ordered_metadata", "0x44144444", "0"), "bits 20 to 23 of its metadata, 0x1"},
        {HALVES("sp", "0x4444444a", "0"), "name no elements of row 0, columns 0 to 3"},
        {SINGLES("0x4e4e4e4e"), NULL},
        {SINGLES("0x4e4e4e9e"), "0x9, name no elements of row 0, columns 2 to 3"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error        error = {0};
        const cj_status status = run_kernel(cases[i].ptx, (launch_shape){1, 32, 0, 0}, results, &error);
        if (!cases[i].message) cj_test_ok(status, &error);
        if (!cases[i].message) continue;
        assert_int_equal(status, CJ_HAZARD);
        assert_string_equal(error.rule, "sparse-metadata");
        if (!strstr(error.message, cases[i].message)) fail_msg("no '%s' in '%s'", cases[i].message, error.message);
    }
    cj_error    error = {0};
    const char *wide = MMA("sp", "m16n8k32", "f32.f16.f16.f32", "%r2, %r2, %r2, %r2", "%r2, %r2, %r2, %r2",
                           "0x44444444", "2");
    assert_int_equal(run_kernel(wide, (launch_shape){1, 32, 0, 0}, results, &error), CJ_INVALID_KERNEL);
    assert_non_null(strstr(error.message, "the sparsity selector is 2; it goes from 0 to 1"));
}

// A warp group multiplies zeros; between the last two lines somebody changes the metadata.
#define GROUP_OPEN                                                                                                    \
    ".version 8.2\n.target sm_90a\n.address_size 64\n" ENTRY                                                          \
    "    .shared .align 128 .b32 tile[1024];\n    .reg .f32 %e<4>;\n" OPEN                                            \
    "    mov.u32 %r0, %tid.x;\n    shl.b32 %r1, %r0, 2;\n    mov.u32 %r2, tile;\n    add.u32 %r3, %r1, %r2;\n"        \
    "    st.shared.b32 [%r3], 0;\n    st.shared.b32 [%r3 + 512], 0;\n    st.shared.b32 [%r3 + 1024], 0;\n"            \
    "    st.shared.b32 [%r3 + 1536], 0;\n    st.shared.b32 [%r3 + 2048], 0;\n    st.shared.b32 [%r3 + 2560], 0;\n"    \
    "    st.shared.b32 [%r3 + 3072], 0;\n    st.shared.b32 [%r3 + 3584], 0;\n    shr.u32 %r2, %r2, 4;\n"              \
    "    cvt.u64.u32 %l1, %r2;\n    or.b64 %l2, %l1, 0x0000001000080000;\n    mov.b32 %r4, 0x44444444;\n"             \
    "    setp.ne.u32 %p1, %r0, %r0;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"                           \
    "    wgmma.fence.sync.aligned;\n"                                                                                 \
    "    wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%e0, %e1, %e2, %e3}, %l2, %l2, %r4, 0, %p1, 1, 1, 0, " \
    "0;\n    wgmma.commit_group.sync.aligned;\n"
#define WAIT "    wgmma.wait_group.sync.aligned 0;\n"
#define CHANGE "    mov.b32 %r4, 0x99999999;\n"

static void metadata_stays_until_it_was_read(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    cj_error        error = {0};
    cpu_options.hazards = true;
    assert_int_equal(run_kernel(GROUP_OPEN CHANGE WAIT CLOSE, (launch_shape){1, 128, 0, 0}, results, &error),
                     CJ_HAZARD);
    assert_string_equal(error.rule, "wgmma-registers");
    cj_test_ok(run_kernel(GROUP_OPEN WAIT CHANGE CLOSE, (launch_shape){1, 128, 0, 0}, results, &error), &error);
    cpu_options.hazards = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mma), cmocka_unit_test(wgmma),
                                       cmocka_unit_test(wrong_metadata_is_named),
                                       cmocka_unit_test(metadata_stays_until_it_was_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

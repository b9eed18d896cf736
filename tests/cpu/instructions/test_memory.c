// SPDX-License-Identifier: Apache-2.0
// What reaches memory, or more than one register, in unusual ways: 128 bits, vectors, atomics of halves, carries, votes;
// and approximate functions, within their documented error.
#include <math.h>

#include "kernel.h"

#define NEWEST ".version 8.3\n.target sm_90\n.address_size 64\n"
#define ALL(body) NEWEST ENTRY OPEN "    .reg .b128 %q<4>;\n    .reg .v2 .f32 %v<3>;\n" body CLOSE

static uint64_t results[RESULTS];

static void run(const char *ptx, unsigned threads) {
    cj_error error = {0};
    memset(results, 0, sizeof results);
    cj_test_ok(run_kernel(ptx, (launch_shape){1, threads, 0, 0}, results, &error), &error);
}

#define HOLDS(index, value) assert_int_equal(results[index], (uint64_t)(value))

static void carries_chain(void **state) {
    (void)state;
    run(ALL("    mov.u32 %r1, 0xffffffff;\n    mov.u32 %r2, 1;\n    add.cc.u32 %r3, %r1, %r2;\n    addc.cc.u32 %r4, "
            "%r1, 0;\n"
            "    addc.u32 %r5, 5, 0;\n    mov.b64 %l1, {%r3, %r4};\n    cvt.u64.u32 %l2, %r5;\n"
            "    st.global.v2.u64 [%out], {%l1, %l2};\n"
            "    sub.cc.u32 %r3, 0, %r2;\n    subc.cc.u32 %r4, 0, 0;\n    subc.u32 %r5, 5, 0;\n    mov.b64 %l1, {%r3, "
            "%r4};\n"
            "    cvt.u64.u32 %l2, %r5;\n    st.global.v2.u64 [%out + 16], {%l1, %l2};\n"
            "    mov.u64 %l3, -1;\n    mad.lo.cc.u64 %l4, %l3, %l3, %l3;\n    madc.hi.u64 %l5, %l3, %l3, 0;\n"
            "    st.global.v2.u64 [%out + 32], {%l4, %l5};\n"
            "    mad.lo.cc.s32 %r3, -1, 1, 1;\n    madc.hi.s32 %r4, -1, 1, 0;\n    mov.b64 %l1, {%r3, %r4};\n"
            "    st.global.u64 [%out + 48], %l1;\n"
            "    add.cc.u32 %r3, %r1, %r2;\n    madc.hi.sat.s32 %r4, 0, 0, 0x7fffffff;\n    cvt.u64.u32 %l1, %r4;\n"
            "    st.global.u64 [%out + 56], %l1;\n"),
        33);
    HOLDS(0, 0), HOLDS(1, 6);           // 2^64 - 1 + 1, and the carry
    HOLDS(2, UINT64_MAX), HOLDS(3, 4);  // 5 * 2^64 - 1
    HOLDS(4, 0), HOLDS(5, UINT64_MAX);  // (2^64 - 1)^2 + 2^64 - 1
    HOLDS(6, 0);                        // -1 + 1
    HOLDS(7, 0x80000000);               // which .sat does not keep from wrapping
}

static void registers_of_128_bits(void **state) {
    (void)state;
    run(ALL("    mov.u64 %l1, 11;\n    mov.u64 %l2, 22;\n    mov.b128 %q1, {%l1, %l2};\n    mov.b128 %q2, %q1;\n"
            "    st.global.b128 [%out + 16], %q2;\n    ld.global.b128 %q3, [%out + 16];\n    mov.b128 {%l3, %l4}, "
            "%q3;\n"
            "    st.global.u64 [%out], %l4;\n    atom.global.exch.b128 %q0, [%out + 16], %q1;\n"
            "    mov.b128 %q2, {%l2, %l1};\n    atom.global.cas.b128 %q0, [%out + 16], %q1, %q2;\n"
            "    atom.global.cas.b128 %q0, [%out + 16], %q1, %q1;\n    mov.b128 {%l3, %l4}, %q0;\n"
            "    st.global.u64 [%out + 8], %l3;\n"),
        1);
    HOLDS(0, 22), HOLDS(1, 22), HOLDS(2, 22), HOLDS(3, 11);
}

static void vectors(void **state) {
    (void)state;
    run(ALL("    mov.f32 %f1, 0f3f800000;\n    mov.f32 %f2, 0f40000000;\n    mov.v2.f32 %v1, {%f1, %f2};\n"
            "    mov.v2.f32 {%f1, %f2}, {%f2, %f1};\n    st.global.v2.f32 [%out], {%f1, %f2};\n"
            "    st.global.v2.f32 [%out + 8], %v1;\n    ld.global.v2.f32 %v2, [%out + 8];\n    mov.f32 %f3, %v2.y;\n"
            "    st.global.f32 [%out + 16], %f3;\n    red.global.add.v2.f32 [%out + 8], {%f1, %f1};\n"
            "    atom.global.add.v2.f32 {%f4, %f5}, [%out + 8], {%f2, %f2};\n    st.global.v2.f32 [%out + 24], {%f4, "
            "%f5};\n"
            "    createpolicy.fractional.L2::evict_last.b64 %l1;\n    ld.global.L2::cache_hint.v2.f32 {%f6, %f7}, "
            "[%out], %l1;\n"
            "    st.global.L2::cache_hint.v2.f32 [%out + 32], {%f6, %f7}, %l1;\n    prefetch.global.L2 [%out];\n"),
        1);
    HOLDS(0, 0x3f80000040000000), HOLDS(1, 0x40a0000040800000), HOLDS(2, 0x40000000);
    HOLDS(3, 0x4080000040400000), HOLDS(4, 0x3f80000040000000);
}

static void atomics_of_halves(void **state) {
    (void)state;
    run(ALL("    mov.b32 %r1, 0x3c003c00;\n    mov.b16 %h1, 0x3f80;\n    red.global.add.noftz.f16x2 [%out], %r1;\n"
            "    red.global.add.noftz.bf16 [%out + 8], %h1;\n    mov.b16 %h2, 0xc000;\n"
            "    red.global.min.noftz.v2.f16 [%out + 16], {%h2, %h2};\n"
            "    red.global.max.noftz.v4.bf16x2 [%out + 32], {%r1, %r1, %r1, %r1};\n"),
        40);
    HOLDS(0, 0x51005100), HOLDS(1, 0x4220), HOLDS(2, 0xc000c000), HOLDS(4, 0x3c003c003c003c00),
        HOLDS(5, 0x3c003c003c003c00);
}

// In shared memory a sum of f32 keeps subnormals, in global memory it does not.
static void atomic_sums_of_subnormals(void **state) {
    (void)state;
    run(NEWEST ENTRY
        "    .shared .f32 cell;\n" OPEN
        "    mov.b32 %f1, 0x00000001;\n    mov.b32 %r1, 0;\n    st.shared.b32 [cell], %r1;\n"
        "    red.shared.add.f32 [cell], %f1;\n    ld.shared.b32 %r2, [cell];\n    red.global.add.f32 [%out + 4], %f1;\n"
        "    st.global.b32 [%out], %r2;\n" CLOSE,
        1);
    HOLDS(0, 1);
}

// In shared memory a sum of f64 is that of add; in global memory the added NaN stays as it is, or the one that was
// there.
static void atomic_sums_of_nans(void **state) {
    (void)state;
    run(NEWEST ENTRY
        "    .shared .f64 cell;\n" OPEN
        "    mov.b64 %l1, 0x7ff0000000000001;\n    mov.b64 %l2, 0xfff0000000000002;\n    mov.f64 %d1, 1.0;\n"
        "    mov.b64 %d2, %l2;\n    st.shared.b64 [cell], %l1;\n    red.shared.add.f64 [cell], %d2;\n"
        "    ld.shared.b64 %l3, [cell];\n    st.global.b64 [%out], %l3;\n    st.global.b64 [%out + 8], %l1;\n"
        "    st.global.b64 [%out + 16], %l1;\n    red.global.add.f64 [%out + 8], %d2;\n"
        "    red.global.add.f64 [%out + 16], %d1;\n" CLOSE,
        1);
    HOLDS(0, 0x7ff8000000000001), HOLDS(1, 0xfff0000000000002), HOLDS(2, 0x7ff0000000000001);
}

static void matches(void **state) {
    (void)state;
    run(ALL("    and.b32 %r1, %thread, 3;\n    match.any.sync.b32 %r2, %r1, -1;\n    match.all.sync.b32 %r3|%p1, %r1, "
            "-1;\n"
            "    mov.u64 %l1, 5;\n    match.all.sync.b64 %r4|%p2, %l1, -1;\n    selp.u32 %r5, 1, 0, %p1;\n"
            "    selp.u32 %r6, 2, %r5, %p2;\n    add.u32 %r3, %r3, %r6;\n    and.b32 %r3, %r3, %r4;\n    mov.b64 %l2, "
            "{%r2, %r3};\n"
            "    st.global.u64 [%at], %l2;\n"),
        32);
    for (unsigned i = 0; i < 32; i++) HOLDS(i, (uint64_t)2 << 32 | 0x11111111u << i % 4);
}

static void windows(void **state) {
    (void)state;
    run(NEWEST
        ".const .u32 number = 3;\n" ENTRY "    .shared .b32 tile[4];\n    .local .b32 own[4];\n" OPEN
        "    mov.u64 %l1, tile;\n    cvta.shared.u64 %l1, %l1;\n    mov.u64 %l2, own;\n    cvta.local.u64 %l2, %l2;\n"
        "    mov.u64 %l3, number;\n    cvta.const.u64 %l3, %l3;\n    mov.b64 %l4, out;\n    cvta.param.u64 %l4, %l4;\n"
        "    mov.u32 %r1, 0;\n"
#define IS(space, address, bit) "    isspacep." space " %p1, " address ";\n    @%p1 or.b32 %r1, %r1, " bit ";\n"
        IS("shared", "%l1", "1") IS("shared::cluster", "%l1", "2") IS("local", "%l2", "4") IS("global", "%out", "8")
            IS("const", "%l3", "16") IS("global", "%l3", "32") IS("local", "%l1", "64") IS("global", "%l2", "128")
                IS("global", "%l4", "256") IS("param", "%l4", "512")
#undef IS
                "    st.global.u32 [%out], %r1;\n" CLOSE,
        1);
    HOLDS(0, 31 + 256 + 512);
}

// ---- approximate functions: of thread / 64 - 4 and so on, held against the host's

static double unary(const char *instruction, double (*of)(double), double first, double step) {
    const union {
        double   value;
        uint64_t bits;
    } by = {step}, from = {first};
    char body[512], ptx[2048];
    snprintf(body, sizeof body,
             "    cvt.rn.f32.u32 %%f1, %%thread;\n    mov.f32 %%f2, 0d%016llx;\n    mov.f32 %%f3, 0d%016llx;\n"
             "    fma.rn.f32 %%f1, %%f1, %%f2, %%f3;\n    %s %%f4, %%f1;\n    st.global.f32 [%%at], %%f4;\n",
             (unsigned long long)by.bits, (unsigned long long)from.bits, instruction);
    snprintf(ptx, sizeof ptx, "%s%s%s", NEWEST ENTRY OPEN, body, CLOSE);
    run(ptx, 512);
    double worst = 0;
    for (unsigned i = 0; i < 512; i++) {
        float given;
        memcpy(&given, &results[i], sizeof given);
        const double exact = of((double)(float)(first + step * i)), error = fabs((double)given - exact);
        worst = fmax(worst, error / fmax(fabs(exact), 1));
    }
    return worst;
}

static double reciprocal(double x) { return 1 / x; }
static double reciprocal_root(double x) { return 1 / sqrt(x); }

static void approximations(void **state) {
    (void)state;
    static const struct {
        const char *instruction;
        double (*of)(double);
        double first, step;
    } functions[] = {
        {"sin.approx.f32", sin, -3.140625, 1.0 / 128},  {"cos.approx.f32", cos, -3.140625, 1.0 / 128},
        {"ex2.approx.f32", exp2, -130, 0.25},           {"lg2.approx.ftz.f32", log2, 0.0625, 1.0 / 64},
        {"rsqrt.approx.f32", reciprocal_root, 0.25, 2}, {"sqrt.approx.f32", sqrt, 0.25, 2},
        {"rcp.approx.f32", reciprocal, 0.25, 2},        {"tanh.approx.f32", tanh, -4, 1.0 / 64},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(functions); i++) {
        const double worst = unary(functions[i].instruction, functions[i].of, functions[i].first, functions[i].step);
        if (!(worst < 0x1p-20)) fail_msg("%s is off by %g", functions[i].instruction, worst);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_chain), cmocka_unit_test(registers_of_128_bits),
        cmocka_unit_test(vectors),       cmocka_unit_test(atomics_of_halves),
        cmocka_unit_test(matches),       cmocka_unit_test(atomic_sums_of_subnormals),
        cmocka_unit_test(windows),       cmocka_unit_test(approximations),
        cmocka_unit_test(atomic_sums_of_nans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

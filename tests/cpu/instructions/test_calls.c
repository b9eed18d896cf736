// SPDX-License-Identifier: Apache-2.0
// Functions and what compilers make of them: calls by name and by address, parameters in memory and in registers,
// divergence across a call, tables of labels, variables with initial values.
#include "kernel.h"

static uint64_t results[RESULTS];

static void expect(const char *ptx, unsigned threads, uint64_t (*expected)(unsigned i)) {
    cj_error error = {0};
    memset(results, 0, sizeof results);
    cj_test_ok(run_kernel(ptx, (launch_shape){1, threads, 0, 0}, results, &error), &error);
    for (unsigned i = 0; i < threads; i++) {
        if (results[i] == expected(i)) continue;
        fail_msg("thread %u got 0x%llx, not 0x%llx", i, (unsigned long long)results[i],
                 (unsigned long long)expected(i));
    }
}

#define STORE "    st.global.u64 [%at], %l1;\n"

// r = 3 x + 1
#define TRIPLE                                                               \
    ".func (.param .b32 r) triple(.param .b32 x)\n{\n    .reg .b32 %r<3>;\n" \
    "    ld.param.b32 %r1, [x];\n    mad.lo.u32 %r2, %r1, 3, 1;\n    st.param.b32 [r], %r2;\n    ret;\n}\n"
// r = x * x
#define SQUARE                                                               \
    ".func (.param .b32 r) square(.param .b32 x)\n{\n    .reg .b32 %r<3>;\n" \
    "    ld.param.b32 %r1, [x];\n    mul.lo.u32 %r2, %r1, %r1;\n    st.param.b32 [r], %r2;\n    ret;\n}\n"
// r = triple(x) + square(x) for odd x, else square(triple(x))
#define MIXED                                                                                                          \
    ".func (.param .b32 r) mixed(.param .b32 x)\n{\n    .reg .b32 %r<6>;\n    .reg .pred %p<2>;\n"                     \
    "    .local .b32 kept[2];\n    ld.param.b32 %r1, [x];\n    st.local.b32 [kept + 4], %r1;\n"                        \
    "    and.b32 %r2, %r1, 1;\n    setp.eq.u32 %p1, %r2, 0;\n" CALL(                                                   \
        "triple",                                                                                                      \
        "%r1", "%r3") "    @%p1 bra even;\n    ld.local.b32 %r4, [kept + 4];\n" CALL("square",                         \
                                                                                     "%r4", "%r5") "    add.u32 %r5, " \
                                                                                                   "%r5, %r3;\n    "   \
                                                                                                   "bra "              \
                                                                                                   "done;\neven:"      \
                                                                                                   "\n" CALL("square", \
                                                                                                             "%r3",    \
                                                                                                             "%r5") "done:\n    st.param.b32 [r], %r5;\n    ret;\n}\n"
#define CALL(function, argument, result)                                                   \
    "    {\n    .param .b32 a;\n    .param .b32 b;\n    st.param.b32 [a], " argument ";\n" \
    "    call.uni (b), " function ", (a);\n    ld.param.b32 " result ", [b];\n    }\n"

static uint32_t triple(uint32_t x) { return 3 * x + 1; }
static uint32_t square(uint32_t x) { return x * x; }
static uint64_t mixed(unsigned x) { return x & 1 ? triple(x) + square(x) : square(triple(x)); }

static void functions_call_functions(void **state) {
    (void)state;
    expect(
        HEAD TRIPLE SQUARE MIXED ENTRY OPEN CALL("mixed", "%thread", "%r1") "    cvt.u64.u32 %l1, %r1;\n" STORE CLOSE,
        45, mixed);
}

static uint64_t some_called(unsigned i) { return i % 3 ? square(i) : i; }

// Lanes that do not call wait for those that do: all take part in the shuffle.
static void guarded_calls_join_again(void **state) {
    (void)state;
    expect(HEAD SQUARE ENTRY OPEN
           "    .param .b32 a;\n    .param .b32 b;\n    rem.u32 %r1, %thread, 3;\n    setp.ne.u32 %p1, %r1, 0;\n"
           "    st.param.b32 [a], %thread;\n    mov.b32 %r2, %thread;\n    st.param.b32 [b], %r2;\n"
           "    @%p1 call (b), square, (a);\n    activemask.b32 %r4;\n    ld.param.b32 %r3, [b];\n"
           "    shfl.sync.idx.b32 %r3, %r3, %thread, 31, 0xffffffff;\n    setp.eq.u32 %p2, %r4, -1;\n"
           "    selp.b32 %r3, %r3, -1, %p2;\n    cvt.u64.u32 %l1, %r3;\n" STORE CLOSE,
           32, some_called);
}

static uint64_t by_address(unsigned i) { return i % 2 ? triple(i) : square(i); }

// Each lane calls what its table entry holds, all by one instruction.
static void pointers_are_called(void **state) {
    (void)state;
    expect(HEAD TRIPLE                                         SQUARE
           ".global .u64 table[2] = {square, triple};\n" ENTRY OPEN
           "    and.b32 %r1, %thread, 1;\n    mul.wide.u32 %l2, %r1, 8;\n    mov.u64 %l3, table;\n"
           "    add.u64 %l3, %l3, %l2;\n    ld.global.u64 %l4, [%l3];\n    {\n    .param .b32 a;\n    .param .b32 b;\n"
           "    st.param.b32 [a], %thread;\n    proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
           "    call (b), %l4, (a), proto;\n    ld.param.b32 %r2, [b];\n    }\n    cvt.u64.u32 %l1, %r2;\n" STORE CLOSE,
           45, by_address);
}

static uint64_t sum_of_struct(unsigned i) { return 10 + 20 + (uint64_t)i * 3; }

// A structure by value, and one result in a register.
static void parameters_of_any_size(void **state) {
    (void)state;
    expect(HEAD ".func (.reg .b64 r) total(.param .align 16 .b8 s[24], .reg .b64 factor)\n{\n    .reg .b64 %l<5>;\n"
                "    ld.param.v2.b64 {%l1, %l2}, [s];\n    ld.param.b64 %l3, [s + 16];\n    add.u64 %l1, %l1, %l2;\n"
                "    mad.lo.u64 r, %l3, factor, %l1;\n    ret;\n}\n" ENTRY OPEN
                "    .param .align 16 .b8 s[24];\n    cvt.u64.u32 %l2, %thread;\n    st.param.b64 [s], 10;\n"
                "    st.param.b64 [s + 8], 20;\n    st.param.b64 [s + 16], %l2;\n    mov.u64 %l3, 3;\n"
                "    call (%l1), total, (s, %l3);\n" STORE CLOSE,
           45, sum_of_struct);
}

static uint64_t turned(unsigned i) {
    return (i & 1) << 16 | (uint64_t)(i + 3) << 48 | (uint64_t)(i + 2) << 32 | (i + 7);
}

// Vectors of registers and predicates, each way: r = {a.w, odd, a.z, a.y}, through a function that is entered twice.
static void registers_with_elements(void **state) {
    (void)state;
    expect(
        HEAD
        ".func (.reg .v4 .u16 r, .reg .pred even) turn(.reg .v4 .u16 a, .reg .pred odd, .reg .v2 .u64 plus, .reg .u32 "
        "depth)\n"
        "{\n    .reg .u16 %h<2>;\n    .reg .pred %p<2>;\n    .reg .v4 .u16 b;\n    .reg .u64 %l<2>;\n"
        "    .reg .u32 %r<2>;\n    setp.eq.u32 %p1, depth, 0;\n    @%p1 bra last;\n    sub.u32 %r1, depth, 1;\n"
        "    call (r, even), turn, (a, odd, plus, %r1);\n    not.pred even, odd;\n    ret;\n"
        "last:\n    selp.u16 %h1, 1, 0, odd;\n    add.u64 %l1, plus.x, plus.y;\n    cvt.u16.u64 %h0, %l1;\n"
        "    add.u16 %h0, %h0, a.w;\n    mov.v4.u16 b, {%h0, %h1, a.z, a.y};\n    mov.v4.u16 r, b;\n"
        "    mov.pred even, odd;\n    ret;\n}\n" ENTRY OPEN
        "    .reg .v4 .u16 v;\n    .reg .v4 .u16 u;\n    .reg .v2 .u64 plus;\n    and.b32 %r1, %thread, 1;\n"
        "    setp.ne.u32 %p1, %r1, 0;\n    cvt.u16.u32 %h0, %thread;\n    add.u16 %h1, %h0, 3;\n"
        "    add.u16 %h2, %h0, 2;\n    mov.v4.u16 v, {%h0, %h1, %h2, %h0};\n    mov.v2.u64 plus, {3, 4};\n"
        "    mov.u32 %r2, 2;\n    call (u, %p2), turn, (v, %p1, plus, %r2);\n"
        "    xor.pred %p3, %p1, %p2;\n    @!%p3 bra wrong;\n    st.global.v4.u16 [%at], u;\n    bra done;\n"
        "wrong:\n    mov.u64 %l1, -1;\n" STORE "done:\n" CLOSE,
        45, turned);
}

static void refuse(const char *ptx, const char *message) {
    cj_error error = {0};
    memset(results, 0, sizeof results);
    assert_int_equal(run_kernel(ptx, (launch_shape){1, 1, 0, 0}, results, &error), CJ_UNSUPPORTED);
    if (!strstr(error.message, message)) fail_msg("'%s' says nothing of '%s'", error.message, message);
}

static void what_cannot_be_called_is_named(void **state) {
    (void)state;
    refuse(HEAD ".extern .func missing;\n" ENTRY OPEN "    call missing;\n" CLOSE, "no function missing");
}

static uint64_t branched(unsigned i) { return (uint64_t[]){11, 22, 33, 44}[i % 4]; }

static void tables_of_labels(void **state) {
    (void)state;
    expect(KERNEL("",
                  "    and.b32 %r1, %thread, 3;\n    targets: .branchtargets zero, one, two, three;\n"
                  "    brx.idx %r1, targets;\n"
                  "three: mov.u64 %l1, 44;\n    bra done;\none: mov.u64 %l1, 22;\n    bra done;\n"
                  "two: mov.u64 %l1, 33;\n    bra done;\nzero: mov.u64 %l1, 11;\ndone:\n    bar.warp.sync -1;\n" STORE),
           64, branched);
}

static uint64_t initial(unsigned i) { return i < 3 ? (uint64_t[]){5, 0xfffffffe, 0}[i] : i < 6 ? 'a' + i - 3 : 77; }

static void variables_have_their_values(void **state) {
    (void)state;
    expect(HEAD
           ".const .s32 numbers[4] = {5, -2};\n.global .b8 text[4] = {97, 98, 99};\n.global .u32 last = 77;\n"
           ".global .u64 where = generic(last);\n" ENTRY OPEN
           "    setp.lt.u32 %p1, %thread, 3;\n    setp.lt.u32 %p2, %thread, 6;\n    mov.u64 %l2, numbers;\n"
           "    mul.wide.u32 %l3, %thread, 4;\n    add.u64 %l2, %l2, %l3;\n    @%p1 ld.const.u32 %r1, [%l2];\n"
           "    @%p1 bra done;\n    mov.u64 %l2, text;\n    cvt.u64.u32 %l3, %thread;\n    add.u64 %l2, %l2, %l3;\n"
           "    @%p2 ld.global.u8 %r1, [%l2 + -3];\n    @%p2 bra done;\n    ld.global.u64 %l2, [where];\n"
           "    ld.u32 %r1, [%l2];\ndone:\n    cvt.u64.u32 %l1, %r1;\n" STORE CLOSE,
           8, initial);
}

static uint64_t passed(unsigned i) { return 5 + i + (7 + i) + 100 * i; }

// A variadic function: its last parameter has no size, and each call passes what it has.
static void parameters_without_a_size(void **state) {
    (void)state;
    static const char ptx[] = HEAD
        ".func (.param .b32 r) sum(.param .b32 count, .param .align 8 .b8 %VAParam[])\n{\n"
        "    .reg .b32 %r<4>;\n    .reg .b64 %at;\n    .reg .pred %p;\n    mov.u64 %at, %VAParam;\n"
        "    ld.param.b32 %r1, [count];\n    mov.u32 %r2, 0;\nnext:\n    ld.local.b32 %r3, [%at];\n"
        "    add.u32 %r2, %r2, %r3;\n    add.u64 %at, %at, 8;\n    sub.u32 %r1, %r1, 1;\n    setp.ne.u32 %p, %r1, 0;\n"
        "    @%p bra next;\n    st.param.b32 [r], %r2;\n    ret;\n}\n" ENTRY OPEN
        "    mul.lo.u32 %r1, %thread, 100;\n    add.u32 %r2, %thread, 7;\n"
        "    {\n    .param .b32 n;\n    .param .align 8 .b8 a[24];\n    .param .b32 b;\n    st.param.b32 [n], 3;\n"
        "    st.param.b32 [a], %thread;\n    st.param.b32 [a + 8], %r2;\n    st.param.b32 [a + 16], %r1;\n"
        "    call.uni (b), sum, (n, a);\n    ld.param.b32 %r3, [b];\n    }\n"
        "    {\n    .param .b32 n;\n    .param .align 8 .b8 a[8];\n    .param .b32 b;\n    st.param.b32 [n], 1;\n"
        "    st.param.b32 [a], 5;\n    call.uni (b), sum, (n, a);\n    ld.param.b32 %r4, [b];\n    }\n"
        "    add.u32 %r3, %r3, %r4;\n    cvt.u64.u32 %l1, %r3;\n" STORE CLOSE;
    cpu_options.hazards = true;
    expect(ptx, 45, passed);
    cpu_options.hazards = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_call_functions),    cmocka_unit_test(guarded_calls_join_again),
        cmocka_unit_test(registers_with_elements),     cmocka_unit_test(pointers_are_called),
        cmocka_unit_test(parameters_of_any_size),      cmocka_unit_test(what_cannot_be_called_is_named),
        cmocka_unit_test(parameters_without_a_size),   cmocka_unit_test(tables_of_labels),
        cmocka_unit_test(variables_have_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

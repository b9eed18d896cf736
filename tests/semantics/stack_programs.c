// SPDX-License-Identifier: Apache-2.0
// Functions that call themselves and each other, by name and by address, and memory allocated on the stack. Lanes go to
// different depths, so that they diverge and reconverge in the middle of calls.
#include "kernel.h"
#include "programs.h"

#define RESULT "    cvt.u64.u32 %l1, %r1;\n    st.global.u64 [%at], %l1;\n"

// r of `function`(x), one parameter and one result in memory.
#define CALL(function, x, r)                                                                               \
    "    {\n    .param .b32 a;\n    .param .b32 b;\n    st.param.b32 [a], " x ";\n    call (b), " function \
    ", (a);\n    ld.param.b32 " r ", [b];\n    }\n"
#define FUNCTION(name, body)                                                                         \
    ".func (.param .b32 r) " name "(.param .b32 x)\n{\n    .reg .b32 %r<8>;\n    .reg .b64 %l<4>;\n" \
    "    .reg .pred %p<4>;\n    ld.param.b32 %r1, [x];\n" body "    st.param.b32 [r], %r1;\n    ret;\n}\n"

// Registers and predicates keep their values across calls: fib(n) + (n odd).
#define FIBONACCI                                                                                                      \
    FUNCTION(                                                                                                          \
        "fib",                                                                                                         \
        "    setp.lt.u32 %p1, %r1, 2;\n    @%p1 bra done;\n    and.b32 %r2, %r1, 1;\n"                                 \
        "    setp.ne.u32 %p2, %r2, 0;\n    sub.u32 %r3, %r1, 1;\n    sub.u32 %r4, %r1, 2;\n" CALL("fib", "%r3", "%r5") \
            CALL("fib", "%r4", "%r6") "    add.u32 %r1, %r5, %r6;\n    @%p2 add.u32 %r1, %r1, 1;\ndone:\n")

static uint32_t fib(uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) + (n & 1); }
static uint64_t fib_of(unsigned i) { return fib(i % 9); }

// even(n) is 2 even(…) of what odd gives; odd adds one.
#define ODD_AND_EVEN                                                                                         \
    ".func (.param .b32 r) odd(.param .b32 x);\n" FUNCTION(                                                  \
        "even", "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra done;\n    sub.u32 %r2, %r1, 1;\n" CALL(         \
                    "odd", "%r2", "%r1") "    shl.b32 %r1, %r1, 1;\ndone:\n")                                \
        FUNCTION("odd", "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra done;\n    sub.u32 %r2, %r1, 1;\n" CALL( \
                            "even", "%r2", "%r1") "    add.u32 %r1, %r1, 1;\ndone:\n")

static uint32_t odd(uint32_t n);
static uint32_t even(uint32_t n) { return n ? 2 * odd(n - 1) : 0; }
static uint32_t odd(uint32_t n) { return n ? even(n - 1) + 1 : 0; }
static uint64_t even_of(unsigned i) { return even(i % 11); }

// Each call adds its n to its caller's variable through a pointer, and has one of its own.
#define THROUGH_POINTERS                                                                                        \
    ".func add_to(.param .b32 x, .param .b64 to)\n{\n    .reg .b32 %r<4>;\n    .reg .b64 %l<4>;\n"              \
    "    .reg .pred %p<2>;\n    .local .align 8 .b32 own[2];\n    ld.param.b32 %r1, [x];\n"                     \
    "    ld.param.b64 %l1, [to];\n    st.local.b32 [own + 4], %r1;\n    setp.eq.u32 %p1, %r1, 0;\n"             \
    "    @%p1 bra done;\n    sub.u32 %r2, %r1, 1;\n    mov.u64 %l2, own;\n    add.u64 %l2, %l2, 4;\n"           \
    "    cvta.local.u64 %l2, %l2;\n    {\n    .param .b32 a;\n    .param .b64 b;\n    st.param.b32 [a], %r2;\n" \
    "    st.param.b64 [b], %l2;\n    call add_to, (a, b);\n    }\ndone:\n    ld.local.b32 %r2, [own + 4];\n"    \
    "    ld.b32 %r3, [%l1];\n    add.u32 %r3, %r3, %r2;\n    st.b32 [%l1], %r3;\n    ret;\n}\n"

static uint64_t sum_below(unsigned i) { return 100 + (i % 10) * (i % 10 + 1) / 2; }

// gcd(a, b) = gcd(b, a % b), all in registers: the arguments swap.
#define GCD                                                                                               \
    ".func (.reg .b32 r) gcd(.reg .b32 a, .reg .b32 b)\n{\n    .reg .pred %p<2>;\n    .reg .b32 %r<2>;\n" \
    "    setp.ne.u32 %p1, b, 0;\n    mov.b32 r, a;\n    @%p1 rem.u32 %r1, a, b;\n"                        \
    "    @%p1 call (r), gcd, (b, %r1);\n    ret;\n}\n"

static uint64_t gcd_of(unsigned i) {
    uint32_t a = 3 * i + 12, b = 2 * i + 18;
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// A function that calls one of a table's functions, itself among them, chosen by its argument's parity: 3 n + 1 … down
// to 0.
#define BY_ADDRESS                                                                                     \
    ".func (.param .b32 r) down(.param .b32 x);\n.func (.param .b32 r) step(.param .b32 x);\n"         \
    ".global .u64 table[2] = {down, step};\n" FUNCTION(                                                \
        "down", "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra done;\n    and.b32 %r2, %r1, 1;\n"         \
                "    mul.wide.u32 %l1, %r2, 8;\n    mov.u64 %l2, table;\n    add.u64 %l2, %l2, %l1;\n" \
                "    ld.global.u64 %l3, [%l2];\n    shr.u32 %r3, %r1, 1;\n    {\n    .param .b32 a;\n" \
                "    .param .b32 b;\n    st.param.b32 [a], %r3;\n"                                     \
                "    proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"                       \
                "    call (b), %l3, (a), proto;\n    ld.param.b32 %r4, [b];\n    }\n"                  \
                "    add.u32 %r1, %r1, %r4;\ndone:\n")                                                 \
        FUNCTION("step", CALL("down", "%r1", "%r2") "    mad.lo.u32 %r1, %r2, 3, 1;\n")

static uint32_t step(uint32_t n);
static uint32_t down(uint32_t n) { return !n ? 0 : n + (n & 1 ? step(n >> 1) : down(n >> 1)); }
static uint32_t step(uint32_t n) { return 3 * down(n) + 1; }
static uint64_t down_of(unsigned i) { return down(i); }

// One of the functions that .calltargets lists.
#define LISTED FUNCTION("twice", "    shl.b32 %r1, %r1, 1;\n") FUNCTION("negated", "    neg.s32 %r1, %r1;\n")

static uint64_t listed(unsigned i) { return i & 1 ? 2 * i : (uint32_t)-i; }

// A table of labels inside a recursion: Collatz steps of n, with three targets.
#define COLLATZ                                                                                                     \
    FUNCTION("collatz",                                                                                             \
             "    setp.eq.u32 %p1, %r1, 1;\n    and.b32 %r2, %r1, 1;\n    @%p1 mov.b32 %r2, 2;\n"                   \
             "    ways: .branchtargets halve, triple, stop;\n    brx.idx %r2, ways;\n"                              \
             "triple:\n    mad.lo.u32 %r3, %r1, 3, 1;\n" CALL(                                                      \
                 "collatz", "%r3", "%r4") "    add.u32 %r1, %r4, 1;\n    bra done;\nhalve:\n    shr.u32 %r3, %r1, " \
                                          "1;\n" CALL("collatz", "%r3",                                             \
                                                      "%r4") "    add.u32 %r1, %r4, 1;\n    bra done;\nstop:\n"     \
                                                             "    mov.b32 %r1, 0;\ndone:\n")

static uint32_t collatz(uint32_t n) { return n == 1 ? 0 : 1 + collatz(n & 1 ? 3 * n + 1 : n >> 1); }
static uint64_t collatz_of(unsigned i) { return collatz((unsigned[]){1, 2, 3, 4, 5, 8, 10, 16}[i % 8]); }

// An array of a length that each thread chooses, filled and summed; the second one is at the address of the first.
#define ARRAYS                                                                                                    \
    "    rem.u32 %r2, %thread, 7;\n    add.u32 %r2, %r2, 1;\n    mul.wide.u32 %l2, %r2, 4;\n"                     \
    "    stacksave.u64 %l3;\n    alloca.u64 %l4, %l2, 64;\n    and.b64 %l5, %l4, 63;\n"                           \
    "    mov.b64 %l6, %l4;\n    mov.b32 %r3, 0;\nfill:\n    st.local.b32 [%l6], %r3;\n    add.u64 %l6, %l6, 4;\n" \
    "    add.u32 %r3, %r3, 1;\n    setp.lt.u32 %p1, %r3, %r2;\n    @%p1 bra fill;\n    mov.b32 %r1, 0;\n"         \
    "sum:\n    sub.u64 %l6, %l6, 4;\n    ld.local.b32 %r4, [%l6];\n    add.u32 %r1, %r1, %r4;\n"                  \
    "    sub.u32 %r3, %r3, 1;\n    setp.ne.u32 %p1, %r3, 0;\n    @%p1 bra sum;\n    stackrestore.u64 %l3;\n"      \
    "    alloca.u64 %l7, %l2, 64;\n    sub.u64 %l7, %l7, %l4;\n    or.b64 %l7, %l7, %l5;\n"                       \
    "    setp.ne.u64 %p2, %l7, 0;\n    stackrestore.u64 %l3;\n    @%p2 mov.b32 %r1, -1;\n"

static uint64_t sum_of_array(unsigned i) { return (i % 7) * (i % 7 + 1) / 2; }

// alloca in a function that calls itself: each call has its own memory, which is free when it returns.
#define TAKE                                                                               \
    FUNCTION("take",                                                                       \
             "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra done;\n    alloca.u64 %l1, 24;\n" \
             "    st.local.b32 [%l1 + 20], %r1;\n    sub.u32 %r2, %r1, 1;\n" CALL(         \
                 "take", "%r2", "%r3") "    ld.local.b32 %r4, [%l1 + 20];\n    mad.lo.u32 %r1, %r3, 2, %r4;\ndone:\n")

static uint32_t take(uint32_t n) { return n ? 2 * take(n - 1) + n : 0; }
static uint64_t take_of(unsigned i) { return take(i % 8); }

static const cj_program programs[] = {
    {"recursion", HEAD FIBONACCI ENTRY OPEN "    rem.u32 %r2, %thread, 9;\n" CALL("fib", "%r2", "%r1") RESULT CLOSE, 45,
     fib_of},
    {"mutual recursion",
     HEAD ODD_AND_EVEN ENTRY OPEN "    rem.u32 %r2, %thread, 11;\n" CALL("even", "%r2", "%r1") RESULT CLOSE, 64,
     even_of},
    {"pointers to a caller's variable",
     HEAD THROUGH_POINTERS ENTRY
     "    .local .b32 sum;\n" OPEN
     "    st.local.b32 [sum], 100;\n    rem.u32 %r2, %thread, 10;\n    mov.u64 %l2, sum;\n"
     "    cvta.local.u64 %l2, %l2;\n    {\n    .param .b32 a;\n    .param .b64 b;\n    st.param.b32 [a], %r2;\n"
     "    st.param.b64 [b], %l2;\n    call add_to, (a, b);\n    }\n    ld.local.b32 %r1, [sum];\n" RESULT CLOSE,
     45, sum_below},
    {"arguments in registers",
     HEAD GCD ENTRY OPEN "    mad.lo.u32 %r2, %thread, 3, 12;\n    mad.lo.u32 %r3, %thread, 2, 18;\n"
                         "    call (%r1), gcd, (%r2, %r3);\n" RESULT CLOSE,
     64, gcd_of},
    {"recursion by address", HEAD BY_ADDRESS ENTRY OPEN CALL("down", "%thread", "%r1") RESULT CLOSE, 128, down_of},
    {"listed targets",
     HEAD LISTED ENTRY OPEN "    mov.u64 %l2, twice;\n    mov.u64 %l3, negated;\n    and.b32 %r2, %thread, 1;\n"
                            "    setp.ne.u32 %p1, %r2, 0;\n    selp.b64 %l4, %l2, %l3, %p1;\n    {\n"
                            "    .param .b32 a;\n    .param .b32 b;\n    st.param.b32 [a], %thread;\n"
                            "    list: .calltargets twice, negated;\n    call (b), %l4, (a), list;\n"
                            "    ld.param.b32 %r1, [b];\n    }\n" RESULT CLOSE,
     45, listed},
    {"a table of labels in a recursion",
     HEAD ".const .u32 starts[8] = {1, 2, 3, 4, 5, 8, 10, 16};\n" COLLATZ ENTRY OPEN
          "    and.b32 %r2, %thread, 7;\n    mov.u64 %l2, starts;\n    mul.wide.u32 %l3, %r2, 4;\n"
          "    add.u64 %l2, %l2, %l3;\n    ld.const.u32 %r3, [%l2];\n" CALL("collatz", "%r3", "%r1") RESULT CLOSE,
     32, collatz_of},
    {"alloca", HEAD ENTRY OPEN ARRAYS RESULT CLOSE, 45, sum_of_array},
    {"alloca in a recursion",
     HEAD TAKE ENTRY OPEN "    rem.u32 %r2, %thread, 8;\n" CALL("take", "%r2", "%r1") RESULT CLOSE, 45, take_of},
};

const cj_programs cj_stack_programs = {programs, CJ_TEST_COUNT(programs)};

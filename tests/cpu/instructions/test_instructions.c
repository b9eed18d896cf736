// SPDX-License-Identifier: Apache-2.0
// One instruction, its operands and the bits it must give: by a full warp and by a part of one, which take different
// ways through the executors.
#include "kernel.h"

typedef struct instruction {
    const char *text;      // its result in register 0 of the class
    char        class;     // r, l, h, f, d
    uint64_t    expected;  // bits
} instruction;

static void run_all(const instruction *cases, size_t count) {
    for (size_t k = 0; k < count; k++) {
        const instruction *c = &cases[k];
        const unsigned     bits = strchr("ld", c->class) ? 64 : c->class == 'h' ? 16 : 32;
        static uint64_t    results[RESULTS];
        char               ptx[2048];
        cj_error           error = {0};
        memset(results, 0, sizeof results);
        snprintf(ptx, sizeof ptx, "%s    %s\n    st.global.b%u [%%at], %%%c0;%s", HEAD ENTRY OPEN, c->text, bits,
                 c->class, CLOSE);
        cj_status status = run_kernel(ptx, (launch_shape){1, 45, 0, 0}, results, &error);
        if (status) fail_msg("%s: %s", c->text, error.message);
        for (unsigned i = 0; i < 45; i++) {
            if (results[i] != c->expected) {
                fail_msg("%s: thread %u got 0x%llx, not 0x%llx", c->text, i, (unsigned long long)results[i],
                         (unsigned long long)c->expected);
            }
        }
    }
}

#define CASES(name, ...)                                   \
    static void name(void **state) {                       \
        (void)state;                                       \
        static const instruction cases[] = {__VA_ARGS__};  \
        run_all(cases, CJ_TEST_COUNT(cases));              \
    }

CASES(integer_arithmetic,
      {"add.u32 %r0, 0xffffffff, 2;", 'r', 1},
      {"add.s32 %r0, 0x7fffffff, 1;", 'r', 0x80000000},
      {"add.u16 %h0, 0xffff, 2;", 'h', 1},
      {"add.u64 %l0, 0xffffffff, 1;", 'l', 0x100000000},
      {"add.sat.s32 %r0, 0x7fffffff, 1;", 'r', 0x7fffffff},
      {"sub.sat.s32 %r0, -2147483648, 1;", 'r', 0x80000000},
      {"sub.u32 %r0, 1, 2;", 'r', 0xffffffff},
      {"sub.s64 %l0, 0, 1;", 'l', UINT64_MAX},
      {"mul.lo.u16 %h0, 0xffff, 0xffff;", 'h', 1},
      {"mul.lo.u32 %r0, 0x10001, 0x10001;", 'r', 0x20001},
      {"mul.lo.s64 %l0, -3, 5;", 'l', (uint64_t)-15},
      {"mul.hi.u32 %r0, 0xffffffff, 0xffffffff;", 'r', 0xfffffffe},
      {"mul.hi.s32 %r0, -1, 1;", 'r', 0xffffffff},
      {"mul.hi.s32 %r0, -2147483648, -2147483648;", 'r', 0x40000000},
      {"mul.hi.u64 %l0, -1, -1;", 'l', 0xfffffffffffffffe},
      {"mul.hi.s64 %l0, -1, -1;", 'l', 0},
      {"mul.hi.s16 %h0, -1, 1;", 'h', 0xffff},
      {"mul.wide.u32 %l0, 0xffffffff, 0xffffffff;", 'l', 0xfffffffe00000001},
      {"mul.wide.s32 %l0, -1, 5;", 'l', (uint64_t)-5},
      {"mul.wide.s16 %r0, -32768, -32768;", 'r', 0x40000000},
      {"mul.wide.u16 %r0, 0xffff, 0xffff;", 'r', 0xfffe0001},
      {"mad.lo.s32 %r0, -3, 5, 1;", 'r', (uint32_t)-14},
      {"mad.hi.u32 %r0, 0x80000000, 4, 7;", 'r', 9},
      {"mad.wide.u32 %l0, 0xffffffff, 4, 5;", 'l', 0x400000001},
      {"mad.wide.s32 %l0, -2, 3, 1;", 'l', (uint64_t)-5},
      {"div.u32 %r0, 7, 2;", 'r', 3},
      {"div.s32 %r0, -7, 2;", 'r', (uint32_t)-3},
      {"div.s32 %r0, -2147483648, -1;", 'r', 0x80000000},
      {"div.s64 %l0, -9223372036854775808, -1;", 'l', 0x8000000000000000},
      {"div.u32 %r0, 7, 0;", 'r', 0xffffffff},
      {"rem.s32 %r0, -7, 2;", 'r', 0xffffffff},
      {"rem.s64 %l0, -9223372036854775808, -1;", 'l', 0},
      {"rem.u64 %l0, 7, 4;", 'l', 3},
      {"min.s32 %r0, -1, 1;", 'r', 0xffffffff},
      {"min.u32 %r0, -1, 1;", 'r', 1},
      {"max.s64 %l0, -1, 1;", 'l', 1},
      {"max.u16 %h0, 0xffff, 1;", 'h', 0xffff},
      {"abs.s32 %r0, -5;", 'r', 5},
      {"abs.s32 %r0, -2147483648;", 'r', 0x80000000},
      {"abs.s64 %l0, -5;", 'l', 5},
      {"neg.s16 %h0, 1;", 'h', 0xffff},
      {"neg.s32 %r0, -2147483648;", 'r', 0x80000000})

CASES(logic_and_shifts,
      {"and.b32 %r0, 0xff0f, 0x0fff;", 'r', 0x0f0f},
      {"or.b64 %l0, 0x100000000, 1;", 'l', 0x100000001},
      {"xor.b16 %h0, 0xffff, 0x00ff;", 'h', 0xff00},
      {"not.b32 %r0, 0;", 'r', 0xffffffff},
      {"shl.b32 %r0, 1, 31;", 'r', 0x80000000},
      {"shl.b32 %r0, 1, 32;", 'r', 0},
      {"shl.b64 %l0, 1, 63;", 'l', 0x8000000000000000},
      {"shl.b64 %l0, 1, 200;", 'l', 0},
      {"shr.u32 %r0, 0x80000000, 31;", 'r', 1},
      {"shr.u32 %r0, 0x80000000, 32;", 'r', 0},
      {"shr.s32 %r0, -8, 1;", 'r', (uint32_t)-4},
      {"shr.s32 %r0, -8, 100;", 'r', 0xffffffff},
      {"shr.s64 %l0, -8, 64;", 'l', UINT64_MAX},
      {"shr.s16 %h0, -8, 2;", 'h', 0xfffe},
      {"mov.u32 %r1, 0x11111111; mov.u32 %r2, 0x22222222; mov.b64 %l0, {%r1, %r2};", 'l', 0x2222222211111111},
      {"mov.b64 %l1, 0x2222222211111111; mov.b64 {%r1, %r0}, %l1;", 'r', 0x22222222},
      {"mov.b32 %r1, 0xbeef1234; mov.b32 {%h1, %h0}, %r1;", 'h', 0xbeef},
      {"setp.eq.u32 %p0, 1, 1; setp.lt.s32 %p1, 1, 0; and.pred %p2, %p0, %p1; selp.u32 %r0, 5, 6, %p2;", 'r', 6},
      {"setp.eq.u32 %p0, 1, 1; not.pred %p1, %p0; xor.pred %p2, %p0, %p1; selp.u32 %r0, 5, 6, %p2;", 'r', 5},
      {"setp.eq.u32 %p0, 1, 2; mov.u32 %r0, 3; @%p0 mov.u32 %r0, 4;", 'r', 3},
      {"setp.eq.u32 %p0, 1, 2; mov.u32 %r0, 3; @!%p0 mov.u32 %r0, 4;", 'r', 4})

#define SETP(text, result) {"setp." text "; selp.u32 %r0, 1, 0, %p0;", 'r', result}
#define INF "0f7f800000"
#define NAN_ "0f7fc00000"

CASES(comparisons,
      SETP("lt.s32 %p0, -1, 0", 1), SETP("lt.u32 %p0, -1, 0", 0), SETP("hi.u32 %p0, -1, 0", 1),
      SETP("ls.u64 %p0, 1, 1", 1), SETP("ge.s64 %p0, -1, 0", 0), SETP("ne.b16 %p0, 1, 2", 1),
      SETP("gt.f32 %p0, 0f3f800000, 0f00000000", 1), SETP("eq.f32 %p0, 0f00000000, 0f80000000", 1),
      SETP("eq.f32 %p0, " NAN_ ", " NAN_, 0), SETP("ne.f32 %p0, " NAN_ ", 0f3f800000", 0),
      SETP("neu.f32 %p0, " NAN_ ", 0f3f800000", 1), SETP("equ.f32 %p0, " NAN_ ", 0f3f800000", 1),
      SETP("ltu.f32 %p0, " NAN_ ", 0f3f800000", 1), SETP("geu.f32 %p0, 0f00000000, 0f3f800000", 0),
      SETP("num.f32 %p0, 0f3f800000, " INF, 1), SETP("nan.f32 %p0, 0f3f800000, " NAN_, 1),
      SETP("gt.f32 %p0, 0f00000001, 0f00000000", 1), SETP("gt.ftz.f32 %p0, 0f00000001, 0f00000000", 0),
      SETP("lt.f64 %p0, 1.0, 2.0", 1),
      SETP("eq.u32 %p1, 1, 1; setp.lt.and.u32 %p0, 1, 2, !%p1", 0),
      SETP("eq.u32 %p1, 1, 1; setp.gt.or.u32 %p0, 1, 2, %p1", 1),
      SETP("eq.u32 %p1|%p0, 1, 1", 0))

CASES(floats,
      {"add.f32 %f0, 0f3f800000, 0f33800000;", 'f', 0x3f800000},     // 1 + 2^-24, to even
      {"add.rp.f32 %f0, 0f3f800000, 0f33800000;", 'f', 0x3f800001},  // upwards
      {"add.rz.f32 %f0, 0fbf800000, 0fb3c00000;", 'f', 0xbf800000},
      {"add.rm.f32 %f0, 0fbf800000, 0fb3c00000;", 'f', 0xbf800001},
      {"sub.f32 %f0, " INF ", " INF ";", 'f', 0x7fffffff},
      {"mul.f32 %f0, 0f00800000, 0f3f000000;", 'f', 0x00400000},
      {"mul.ftz.f32 %f0, 0f00800000, 0f3f000000;", 'f', 0},
      {"mul.sat.f32 %f0, 0f40000000, 0f40000000;", 'f', 0x3f800000},
      {"add.sat.f32 %f0, " NAN_ ", 0f40000000;", 'f', 0},
      {"fma.rn.f32 %f0, 0f3f800001, 0f3f800001, 0fbf800002;", 'f', 0x28800000},  // 2^-46: one rounding
      {"fma.rn.f64 %d0, 0d3ff0000000000001, 0d3ff0000000000001, 0dbff0000000000002;", 'd', 0x3970000000000000},
      {"div.rn.f32 %f0, 0f3f800000, 0f40400000;", 'f', 0x3eaaaaab},
      {"div.rn.f64 %d0, 1.0, 3.0;", 'd', 0x3fd5555555555555},
      {"add.f64 %d0, 1.0, 2.0;", 'd', 0x4008000000000000},
      {"min.f32 %f0, " NAN_ ", 0f3f800000;", 'f', 0x3f800000},
      {"min.NaN.f32 %f0, " NAN_ ", 0f3f800000;", 'f', 0x7fffffff},
      {"min.f32 %f0, 0f00000000, 0f80000000;", 'f', 0x80000000},
      {"max.f32 %f0, 0f80000000, 0f00000000;", 'f', 0},
      {"max.f32 %f0, " NAN_ ", " NAN_ ";", 'f', 0x7fffffff},
      {"max.f64 %d0, 1.0, 2.0;", 'd', 0x4000000000000000},
      {"neg.f32 %f0, 0f3f800000;", 'f', 0xbf800000},
      {"abs.f64 %d0, 0dbff0000000000000;", 'd', 0x3ff0000000000000},
      {"mov.f32 %f0, 1.5;", 'f', 0x3fc00000})

CASES(conversions,
      {"cvt.u64.u32 %l0, 0xffffffff;", 'l', 0xffffffff},
      {"cvt.s64.s32 %l0, -1;", 'l', UINT64_MAX},
      {"cvt.u32.u64 %r0, 0x1ffffffff;", 'r', 0xffffffff},
      {"mov.u32 %r1, 0x1ff; cvt.u32.u8 %r0, %r1;", 'r', 0xff},
      {"mov.u32 %r1, 0x1ff; cvt.s32.s8 %r0, %r1;", 'r', 0xffffffff},
      {"cvt.u16.u32 %h0, 0x12345;", 'h', 0x2345},
      {"cvt.sat.s32.s64 %r0, 0x100000000;", 'r', 0x7fffffff},
      {"cvt.sat.u8.s32 %r0, -5;", 'r', 0},
      {"cvt.sat.u8.s32 %r0, 300;", 'r', 255},
      {"cvt.sat.s8.u32 %r0, 300;", 'r', 127},
      {"cvt.rn.f32.u32 %f0, 0xffffffff;", 'f', 0x4f800000},
      {"cvt.rz.f32.u32 %f0, 0xffffffff;", 'f', 0x4f7fffff},
      {"cvt.rn.f32.s32 %f0, -1;", 'f', 0xbf800000},
      {"cvt.rn.sat.f32.s32 %f0, 7;", 'f', 0x3f800000},
      {"cvt.rn.f32.u64 %f0, -1;", 'f', 0x5f800000},
      {"cvt.rn.f64.s64 %d0, -1;", 'd', 0xbff0000000000000},
      {"cvt.rn.f32.f64 %f0, 0d3ff0000010000000;", 'f', 0x3f800000},
      {"cvt.rp.f32.f64 %f0, 0d3ff0000010000000;", 'f', 0x3f800001},
      {"cvt.rn.f32.f64 %f0, 0d380fffffedb00000;", 'f', 0x800000},
      {"cvt.rn.ftz.f32.f64 %f0, 0d380fffffedb00000;", 'f', 0},
      {"cvt.rn.ftz.f32.f64 %f0, 0db80ffffff8000000;", 'f', 0x80800000},
      {"cvt.f64.f32 %d0, 0f3fc00000;", 'd', 0x3ff8000000000000},
      {"cvt.rzi.s32.f32 %r0, 0fbfc00000;", 'r', (uint32_t)-1},
      {"cvt.rmi.s32.f32 %r0, 0fbfc00000;", 'r', (uint32_t)-2},
      {"cvt.rpi.s32.f32 %r0, 0f3f800001;", 'r', 2},
      {"cvt.rni.s32.f32 %r0, 0f40200000;", 'r', 2},
      {"cvt.rzi.u32.f32 %r0, 0fbf800000;", 'r', 0},
      {"cvt.rzi.s32.f32 %r0, " INF ";", 'r', 0x7fffffff},
      {"cvt.rzi.s32.f32 %r0, " NAN_ ";", 'r', 0},
      {"cvt.rzi.s64.f64 %l0, 0d7ff8000000000000;", 'l', 0x8000000000000000},
      {"cvt.rzi.u64.f64 %l0, 1e30;", 'l', UINT64_MAX},
      {"cvt.rzi.u8.f32 %r0, 0f43960000;", 'r', 255})

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_arithmetic), cmocka_unit_test(logic_and_shifts), cmocka_unit_test(comparisons),
        cmocka_unit_test(floats),             cmocka_unit_test(conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

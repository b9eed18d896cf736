// SPDX-License-Identifier: Apache-2.0
// Instructions between registers beyond the everyday ones of test_instructions.c. The expected bits were computed with
// rational numbers and long integers.
#include "operation.h"

OPERATIONS(integers,
      {"mul24.lo.u32", "rrr", {0xff123456, 0x1000010}, 0x1234560},
      {"mul24.hi.u32", "rrr", {0xffffff, 0xffffff}, 0xfffffe00},
      {"mul24.lo.s32", "rrr", {0x800000, 2}, 0xff000000},
      {"mul24.hi.s32", "rrr", {0x800000, 0x800000}, 0x40000000},
      {"mad24.lo.u32", "rrrr", {3, 5, 7}, 0x16},
      {"mad24.hi.s32", "rrrr", {0x800000, 0x7fffff, 0xffffffff}, 0xc000007f},
      {"mad24.hi.sat.s32", "rrrr", {0x800000, 0x800000, 0x7fffffff}, 0x7fffffff},
      {"mad.hi.sat.s32", "rrrr", {0x80000000, 0x80000000, 0x7fffffff}, 0x7fffffff},
      {"sad.u32", "rrrr", {1, 0xffffffff, 1}, 0xffffffff},
      {"sad.s32", "rrrr", {1, 0xffffffff, 1}, 3},
      {"sad.s16", "hhhh", {0x8000, 0x7fff, 0}, 0xffff},
      {"sad.u64", "llll", {5, 7, 0xffffffffffffffff}, 1},
      {"sad.s64", "llll", {0x8000000000000000, 0x7fffffffffffffff, 1}, 0},
      {"cnot.b32", "rr", {0}, 1},
      {"cnot.b64", "ll", {7}, 0},
      {"cnot.b16", "hh", {0}, 1},
      {"rem.u32", "rrr", {7, 0}, 0xffffffff},
      {"rem.s64", "lll", {7, 0}, 0xffffffffffffffff},
      {"div.s16", "hhh", {0x8000, 0xffff}, 0x8000},
      {"add.u16x2", "rrr", {0xffff0001, 0x1ffff}, 0},
      {"min.u16x2", "rrr", {0xffff0001, 0x1ffff}, 0x10001},
      {"min.s16x2", "rrr", {0xffff0001, 0x1ffff}, 0xffffffff},
      {"max.s16x2", "rrr", {0x80007fff, 0x7fff8000}, 0x7fff7fff},
      {"max.u16x2", "rrr", {0x80007fff, 0x7fff8000}, 0x80008000},
      {"min.relu.s16x2", "rrr", {0xffff0005, 0x10004}, 4},
      {"max.relu.s16x2", "rrr", {0xffff0005, 0xfffe0004}, 5},
      {"min.relu.s32", "rrr", {0xffffffff, 5}, 0},
      {"max.relu.s32", "rrr", {3, 5}, 5})

OPERATIONS(bits,
      {"popc.b32", "rr", {0xf0f0f0f0}, 0x10},
      {"popc.b64", "rl", {0xffffffffffffffff}, 0x40},
      {"clz.b32", "rr", {0}, 0x20},
      {"clz.b32", "rr", {1}, 0x1f},
      {"clz.b64", "rl", {0x100000000}, 0x1f},
      {"bfind.u32", "rr", {0xff0000}, 0x17},
      {"bfind.u32", "rr", {0}, 0xffffffff},
      {"bfind.s32", "rr", {0xffff0000}, 0xf},
      {"bfind.s32", "rr", {0xffffffff}, 0xffffffff},
      {"bfind.shiftamt.u64", "rl", {1}, 0x3f},
      {"bfind.shiftamt.s64", "rl", {0xfffffffffffffffe}, 0x3f},
      {"brev.b32", "rr", {1}, 0x80000000},
      {"brev.b64", "ll", {0x8000000100000002}, 0x4000000080000001},
      {"fns.b32", "rrrr", {0xff00ff, 0, 9}, 0x10},
      {"fns.b32", "rrrr", {0xff00ff, 0x1f, 0xffffffff}, 0x17},
      {"fns.b32", "rrrr", {1, 0, 0}, 0},
      {"fns.b32", "rrrr", {2, 0, 0}, 0xffffffff},
      {"fns.b32", "rrrr", {1, 0, 2}, 0xffffffff},
      {"bfe.u32", "rrrr", {0x12345678, 8, 8}, 0x56},
      {"bfe.s32", "rrrr", {0xf000, 0xc, 4}, 0xffffffff},
      {"bfe.s32", "rrrr", {0x80000000, 0x28, 4}, 0xffffffff},
      {"bfe.u32", "rrrr", {0xffffffff, 0, 0}, 0},
      {"bfe.u64", "llrr", {0xffffffffffffffff, 0x3c, 0xc8}, 0xf},
      {"bfe.s64", "llrr", {0x4000000000000000, 0x3e, 1}, 0xffffffffffffffff},
      {"bfi.b32", "rrrrr", {0xff, 0, 0x1c, 8}, 0xf0000000},
      {"bfi.b32", "rrrrr", {0, 0xffffffff, 4, 8}, 0xfffff00f},
      {"bfi.b64", "lllrr", {0xffff, 0, 0x28, 0x10}, 0xffff0000000000},
      {"bfi.b32", "rrrrr", {0xff, 0x55, 0x20, 8}, 0x55},
      {"bmsk.clamp.b32", "rrr", {4, 8}, 0xff0},
      {"bmsk.clamp.b32", "rrr", {4, 0x28}, 0xfffffff0},
      {"bmsk.clamp.b32", "rrr", {0x20, 8}, 0},
      {"bmsk.wrap.b32", "rrr", {0x24, 8}, 0xff0},
      {"bmsk.wrap.b32", "rrr", {0, 0x20}, 0},
      {"szext.wrap.s32", "rrr", {0x80, 8}, 0xffffff80},
      {"szext.clamp.s32", "rrr", {0x80, 0x20}, 0x80},
      {"szext.wrap.s32", "rrr", {0x80, 0x20}, 0},
      {"szext.clamp.u32", "rrr", {0xffff, 9}, 0x1ff},
      {"dp4a.u32.u32", "rrrr", {0xffffffff, 0xffffffff, 1}, 0x3f805},
      {"dp4a.s32.u32", "rrrr", {0xffffffff, 0xffffffff, 1}, 0xfffffc05},
      {"dp4a.s32.s32", "rrrr", {0x80808080, 0x80808080, 0}, 0x10000},
      {"dp2a.lo.u32.s32", "rrrr", {0xffff0001, 0xff02, 0}, 0xffff0003},
      {"dp2a.hi.s32.s32", "rrrr", {0xffff0001, 0xff020000, 5}, 8},
      {"shf.l.clamp.b32", "rrrr", {0x80000001, 0x12345678, 4}, 0x23456788},
      {"shf.l.clamp.b32", "rrrr", {0x80000001, 0x12345678, 0x28}, 0x80000001},
      {"shf.r.wrap.b32", "rrrr", {0x80000001, 0x12345678, 0x24}, 0x88000000},
      {"shf.r.clamp.b32", "rrrr", {0x80000001, 0x12345678, 0x20}, 0x12345678},
      {"prmt.b32", "rrrr", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
      {"prmt.b32", "rrrr", {0x80007f00, 0, 0x89ab}, 0xff},
      {"prmt.b32.f4e", "rrrr", {0x33221100, 0x77665544, 6}, 0x55443322},
      {"prmt.b32.b4e", "rrrr", {0x33221100, 0x77665544, 6}, 0x77001122},
      {"prmt.b32.rc8", "rrrr", {0x33221100, 0x77665544, 6}, 0x22222222},
      {"prmt.b32.ecl", "rrrr", {0x33221100, 0x77665544, 6}, 0x33222222},
      {"prmt.b32.ecr", "rrrr", {0x33221100, 0x77665544, 6}, 0x22221100},
      {"prmt.b32.rc16", "rrrr", {0x33221100, 0x77665544, 6}, 0x11001100})

OPERATIONS(sets_and_selections,
      {"set.lt.u32.s32", "rrr", {0xffffffff, 0}, 0xffffffff},
      {"set.lt.f32.u32", "frr", {0xffffffff, 0}, 0},
      {"set.eq.f32.b64", "fll", {5, 5}, 0x3f800000},
      {"set.hi.s32.u16", "rhh", {0xffff, 1}, 0xffffffff},
      {"set.nan.u32.f32", "rff", {0x7fc00000, 0}, 0xffffffff},
      {"set.gt.ftz.u32.f32", "rff", {1, 0}, 0},
      {"slct.b32.s32", "rrrr", {1, 2, 0}, 1},
      {"slct.u64.s32", "lllr", {1, 2, 0xffffffff}, 2},
      {"slct.f32.f32", "ffff", {1, 2, 0x80000000}, 1},
      {"slct.f32.f32", "ffff", {1, 2, 0x7fc00000}, 2},
      {"slct.ftz.b16.f32", "hhhf", {1, 2, 0x80000001}, 1},
      {"slct.b16.f32", "hhhf", {1, 2, 0x80000001}, 2},
      {"cvt.pack.sat.u16.s32", "rrr", {0x12345, 0xffffffff}, 0xffff0000},
      {"cvt.pack.sat.s16.s32", "rrr", {0x12345, 0xffff0000}, 0x7fff8000},
      {"cvt.pack.sat.u8.s32.b32", "rrrr", {0x12c, 0xffffffff, 0xabcd}, 0xabcdff00},
      {"cvt.pack.sat.s8.s32.b32", "rrrr", {0x12c, 0xffffff00, 0x12345678}, 0x56787f80})

OPERATIONS(floats,
      {"sqrt.rn.f32", "ff", {0x40000000}, 0x3fb504f3},
      {"sqrt.rn.f32", "ff", {0x3eaaaaab}, 0x3f13cd3a},
      {"sqrt.rn.f32", "ff", {0}, 0},
      {"sqrt.rn.f32", "ff", {0x80000000}, 0x80000000},
      {"sqrt.rn.f32", "ff", {0x7f800000}, 0x7f800000},
      {"sqrt.rn.f32", "ff", {0xbf800000}, 0x7fffffff},
      {"sqrt.rn.f32", "ff", {1}, 0x1a3504f3},
      {"sqrt.rn.f64", "dd", {0x4000000000000000}, 0x3ff6a09e667f3bcd},
      {"sqrt.rn.f64", "dd", {0x10000000000000}, 0x2000000000000000},
      {"sqrt.rp.f32", "ff", {0x40000000}, 0x3fb504f4},
      {"sqrt.rm.f64", "dd", {0x4000000000000000}, 0x3ff6a09e667f3bcc},
      {"sqrt.rn.ftz.f32", "ff", {1}, 0},
      {"rcp.rn.f32", "ff", {0x40400000}, 0x3eaaaaab},
      {"rcp.rz.f32", "ff", {0x40400000}, 0x3eaaaaaa},
      {"rcp.rp.f32", "ff", {0xc0400000}, 0xbeaaaaaa},
      {"rcp.rn.ftz.f32", "ff", {0x7f000000}, 0},
      {"rcp.rn.f32", "ff", {0x80000000}, 0xff800000},
      {"rcp.rm.f64", "dd", {0x4008000000000000}, 0x3fd5555555555555},
      {"div.rz.f32", "fff", {0x3f800000, 0x40400000}, 0x3eaaaaaa},
      {"div.rn.ftz.f32", "fff", {0x800000, 0x40000000}, 0},
      {"div.rn.f32", "fff", {0, 0}, 0x7fffffff},
      {"min.xorsign.abs.f32", "fff", {0xc0000000, 0x3f800000}, 0xbf800000},
      {"max.xorsign.abs.f32", "fff", {0xc0000000, 0x3f800000}, 0xc0000000},
      {"min.NaN.xorsign.abs.f32", "fff", {0x7fc00000, 0x3f800000}, 0x7fffffff},
      {"copysign.f32", "fff", {0x80000000, 0x3f800000}, 0xbf800000},
      {"copysign.f64", "ddd", {0, 0xbff0000000000000}, 0x3ff0000000000000},
      {"testp.finite.f32", "pf", {0x7f7fffff}, 1},
      {"testp.infinite.f32", "pf", {0xff800000}, 1},
      {"testp.number.f32", "pf", {0x7f800000}, 1},
      {"testp.notanumber.f32", "pf", {0x7f800001}, 1},
      {"testp.normal.f32", "pf", {0}, 1},
      {"testp.normal.f32", "pf", {1}, 0},
      {"testp.subnormal.f32", "pf", {0x807fffff}, 1},
      {"testp.subnormal.f64", "pd", {0x8000000000000}, 1},
      {"cvt.rni.f32.f32", "ff", {0x40200000}, 0x40000000},
      {"cvt.rzi.ftz.f32.f32", "ff", {0xbfc00000}, 0xbf800000},
      {"cvt.sat.f32.f32", "ff", {0x7fc00000}, 0},
      {"cvt.rpi.f64.f64", "dd", {0xbfe0000000000000}, 0x8000000000000000},
      {"cvt.sat.f64.f32", "df", {0x40000000}, 0x3ff0000000000000},
      {"cvt.rmi.sat.f32.f32", "ff", {0x3fc00000}, 0x3f800000})

// Which of several NaNs stays, in every rounding mode: an H200's choice, whatever the host's compiler makes of a product.
static void one_nan_stays(void **state) {
    (void)state;
    enum { A = 1, B = 2, C = 4 };
    static const struct {
        const char *opcode, *classes;
        unsigned    nans;  // which operands are
        unsigned    stays;
    } cases[] = {{"add", "ddd", A | B, B}, {"sub", "ddd", A | B, B}, {"mul", "ddd", A | B, B}, {"div", "ddd", A | B, A},
                 {"mul", "ddd", A, A}, {"div", "ddd", B, B}, {"fma", "dddd", A | B | C, B}, {"fma", "dddd", A | C, C},
                 {"fma", "dddd", A, A}, {"add", "fff", A | B, 0}, {"sub", "fff", A | B, 0}, {"mul", "fff", A | B, 0},
                 {"div", "fff", A | B, 0}, {"fma", "ffff", A | B | C, 0}};
    static const char *const modes[] = {"rn", "rz", "rm", "rp"};
    static const uint64_t    nan64[] = {0x7ff4000000000aaa, 0xfffc000000000bbb, 0xfff1000000000ccc};
    static const uint64_t    nan32[] = {0x7fa00aaa, 0xffe00bbb, 0xff900ccc};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        const bool wide = cases[i].classes[0] == 'd';
        for (size_t mode = 0; mode < CJ_TEST_COUNT(modes); mode++) {
            char      name[16];
            operation o = {.name = name, .classes = cases[i].classes, .expected = 0x7fffffff};
            snprintf(name, sizeof name, "%s.%s.f%d", cases[i].opcode, modes[mode], wide ? 64 : 32);
            for (unsigned k = 0; k < 3; k++) {
                o.source[k] = wide ? 0x3ff0000000000000 : 0x3f800000;
                if (cases[i].nans >> k & 1) o.source[k] = wide ? nan64[k] : nan32[k];
                if (cases[i].stays >> k & 1) o.expected = nan64[k] | 0x0008000000000000;
            }
            run_operations(&o, 1);
        }
    }
}

OPERATIONS(parts_of_registers,
      {"vadd2.u32.u32.u32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xffff827e},
      {"vadd4.s32.s32.s32.sat", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xffff817e},
      {"vadd4.u32.s32.u32.sat", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xffff007e},
      {"vsub4.u32.u32.u32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x3ff7f80},
      {"vsub2.s32.u32.s32.add", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x1122b5c3},
      {"vavrg4.s32.s32.s32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xffffc03f},
      {"vavrg2.u32.u32.u32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x8000413f},
      {"vabsdiff4.u32.u32.u32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xfd017f80},
      {"vabsdiff4.u32.u32.u32.add", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x11223541},
      {"vabsdiff2.u32.s32.s32.add", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x1122b6c3},
      {"vmin4.s32.s32.s32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0xfe8080ff},
      {"vmax2.u32.u32.s32", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x17f80ff},
      {"vset4.s32.u32.lt", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x1010101},
      {"vset2.u32.u32.ge.add", "rrrr", {0x17f80ff, 0xfe80017f, 0x11223344}, 0x11223345})

// Parts of both sources in any order, and a result some of whose parts are the third source's.
static void chosen_parts_of_registers(void **state) {
    (void)state;
    static uint64_t   results[RESULTS];
    static const char ptx[] = NEWEST ENTRY OPEN
        "    mov.b32 %r1, 0x017f80ff; mov.b32 %r2, 0xfe80017f; mov.b32 %r3, 0x11223344;\n"
        "    vadd4.u32.u32.u32 %r4.b20, %r1.b5207, %r2.b6411, %r3;\n    vmax2.s32.s32.u32 %r5.h1, %r1.h03, %r2.h21, %r3;\n"
        "    mov.b64 %l0, {%r4, %r5};\n    st.global.b64 [%at], %l0;\n" CLOSE;
    cj_error error = {0};
    cj_test_ok(run_kernel(ptx, (launch_shape){1, 1, 0, 0}, results, &error), &error);
    assert_int_equal(results[0], 0x017f334411fe337e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_nan_stays),
        cmocka_unit_test(integers),
        cmocka_unit_test(bits),
        cmocka_unit_test(sets_and_selections),
        cmocka_unit_test(floats),
        cmocka_unit_test(parts_of_registers),
        cmocka_unit_test(chosen_parts_of_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

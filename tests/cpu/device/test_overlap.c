// SPDX-License-Identifier: Apache-2.0
// Registers of D may be any of A, B and C: an instruction reads all of its operands before it writes D. Each product is computed
// into registers of its own and into those of its operands, in another order; the kernel stores the bits that differ.
#include "kernel.h"

enum { LANES = 32 };

// Each register has an integer of its own, by the lane and by its number: %seed has the last one.
#define S32(name) "    mad.lo.u32 %seed, %seed, 5, 3;\n    mov.u32 " name ", %seed;\n"
#define F64(name) \
    "    mad.lo.u32 %seed, %seed, 5, 3;\n    and.b32 %seed, %seed, 15;\n    cvt.rn.f64.u32 " name ", %seed;\n"
#define PRODUCT(variables, fill, into_own, into_operands, compare)                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n" ENTRY                                  \
    "    .reg .b32 %seed, %x, %sum;\n    .reg .b64 %y;\n" variables                  OPEN    \
    "    mov.u32 %seed, %tid.x;\n    mov.u32 %sum, 0;\n" fill into_own into_operands compare \
    "    st.global.u32 [%at], %sum;\n" CLOSE
#define DIFFER32(own, other) "    xor.b32 %x, " own ", " other ";\n    or.b32 %sum, %sum, %x;\n"
#define DIFFER64(own, other)                                                           \
    "    sub.f64 %d0, " own ", " other                                                 \
    ";\n    setp.neu.f64 %p0, %d0, 0d0000000000000000;\n    selp.u32 %x, 1, 0, %p0;\n" \
    "    or.b32 %sum, %sum, %x;\n"

#define S8 "    mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
#define K8 "    mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
#define K4 "    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
#define REGISTERS32 "    .reg .b32 %a<2>, %b, %c<4>, %own<4>;\n"
#define FILL32 S32("%a0") S32("%a1") S32("%b") S32("%c0") S32("%c1") S32("%c2") S32("%c3")
#define OWN32 S8 "{%own0, %own1, %own2, %own3}, {%a0, %a1}, {%b}, {%c0, %c1, %c2, %c3};\n"
#define ALL32(a, b, c, d) DIFFER32("%own0", a) DIFFER32("%own1", b) DIFFER32("%own2", c) DIFFER32("%own3", d)
#define REGISTERS64 "    .reg .f64 %a<4>, %b<2>, %c<4>, %own<4>;\n"
#define FILL64 \
    F64("%a0") F64("%a1") F64("%a2") F64("%a3") F64("%b0") F64("%b1") F64("%c0") F64("%c1") F64("%c2") F64("%c3")
#define OWN64 K8 "{%own0, %own1, %own2, %own3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};\n"
#define ALL64(a, b, c, d) DIFFER64("%own0", a) DIFFER64("%own1", b) DIFFER64("%own2", c) DIFFER64("%own3", d)

static const struct {
    const char *name, *ptx;
} products[] = {
    {"C in its own place",
     PRODUCT(REGISTERS32, FILL32, OWN32, S8 "{%c0, %c1, %c2, %c3}, {%a0, %a1}, {%b}, {%c0, %c1, %c2, %c3};\n",
             ALL32("%c0", "%c1", "%c2", "%c3"))},
    {"C in another order",
     PRODUCT(REGISTERS32, FILL32, OWN32, S8 "{%c2, %c3, %c0, %c1}, {%a0, %a1}, {%b}, {%c0, %c1, %c2, %c3};\n",
             ALL32("%c2", "%c3", "%c0", "%c1"))},
    {"A and B", PRODUCT(REGISTERS32, FILL32, OWN32, S8 "{%b, %a1, %a0, %c0}, {%a0, %a1}, {%b}, {%c0, %c1, %c2, %c3};\n",
                        ALL32("%b", "%a1", "%a0", "%c0"))},
    {"C of f64 in another order", PRODUCT(REGISTERS64, FILL64, OWN64,
                                          K8 "{%c3, %c2, %c1, %c0}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, "
                                             "%c3};\n",
                                          ALL64("%c3", "%c2", "%c1", "%c0"))},
    {"A of f64", PRODUCT(REGISTERS64, FILL64, OWN64,
                         K8 "{%a1, %a3, %a0, %a2}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};\n",
                         ALL64("%a1", "%a3", "%a0", "%a2"))},
    {"B of f64", PRODUCT(REGISTERS64, FILL64, OWN64,
                         K8 "{%b1, %b0, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};\n",
                         ALL64("%b1", "%b0", "%c2", "%c3"))},
    {"A and B of f64, one tile",
     PRODUCT(REGISTERS64, FILL64, K4 "{%own0, %own1}, {%a0}, {%b0}, {%c0, %c1};\n",
             K4 "{%a0, %b0}, {%a0}, {%b0}, {%c0, %c1};\n", DIFFER64("%own0", "%a0") DIFFER64("%own1", "%b0"))},
};

static void operands_are_read_before_d_is_written(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(products); i++) {
        static uint64_t results[RESULTS];
        cj_error        error = {0};
        memset(results, 0xff, sizeof results);
        cj_test_ok(run_kernel(products[i].ptx, (launch_shape){1, LANES, 0, 0}, results, &error), &error);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint32_t bits = (uint32_t)results[lane];
            if (bits) fail_msg("D is in registers of %s: lane %u has 0x%x", products[i].name, lane, bits);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(operands_are_read_before_d_is_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

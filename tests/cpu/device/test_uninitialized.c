// SPDX-License-Identifier: Apache-2.0
// Memory that nothing has written may be loaded: what is loaded may be moved about, as long as it decides nothing. Each
// kernel here has a twin that uses it, of which the use is reported, with its line and that of the load.
#include <inttypes.h>
#include <stdlib.h>

#include "kernel.h"

// Thread t's words of shared memory: tile[4 t], written, is 5; the three after it are not. %r2: the address of the first.
#define TILE "    .shared .align 16 .b32 tile[128];\n"
#define OWN                                                                                                          \
    "    shl.b32 %r2, %r0, 4; mov.u32 %r1, tile; add.u32 %r2, %r2, %r1; mov.u32 %r3, 5; st.shared.u32 [%r2], %r3;\n" \
    "    setp.lt.u32 %p1, %r0, 64;\n"
#define HALF_LOAD "    ld.shared.v2.u32 {%r4, %r5}, [%r2]; // load\n"  // %r4 is defined, %r5 is not
#define RESULT(of) "    st.global.u32 [%at], " of ";"

typedef struct use {
    const char *name, *moves;
    const char *silent;  // what may follow
    const char *faulty;  // what is reported, on its first line
    const char *words;   // in the message
} use;

#define STORED "stores in global memory"

// clang-format off
static const use uses[] = {
    {"load", "", RESULT("%r4"), RESULT("%r5"), STORED},
    {"mov", "    mov.b32 %r6, %r5; mov.b32 %r7, %r4;\n", RESULT("%r7"), RESULT("%r6"), STORED},
    {"overwritten", "    mov.b32 %r6, %r5; mov.b32 %r5, 1;\n", RESULT("%r5"), RESULT("%r6"), STORED},
    {"pack", "    mov.b64 %l1, {%r4, %r5}; mov.b64 {%r6, %r7}, %l1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"mov.v2", "    mov.v2.u32 {%r6, %r7}, {%r5, %r4};\n", RESULT("%r7"), RESULT("%r6"), STORED},
    {"halves", "    mov.b32 {%h1, %h2}, %r4; mov.b32 {%h3, %h4}, %r5; mov.b32 %r6, {%h1, %h2}; mov.b32 %r7, {%h1, %h3};\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"selp", "    selp.b32 %r6, %r4, %r5, %p1; selp.b32 %r7, %r5, %r4, %p1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"selp by it", "    setp.eq.u32 %p2, %r5, 0; selp.b32 %r6, 1, 2, %p2; selp.b32 %r7, 1, 2, %p1;\n", RESULT("%r7"), RESULT("%r6"), STORED},
    {"slct", "    slct.b32.s32 %r6, %r4, %r5, 1; slct.b32.s32 %r7, %r4, %r5, -1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"shift out", "    mov.b64 %l1, {%r4, %r5}; shl.b64 %l2, %l1, 32; mov.b64 {%r6, %r7}, %l2; shr.u64 %l3, %l1, 16; mov.b64 {%r8, %r9}, %l3;\n",
     RESULT("%r7"), RESULT("%r8"), STORED},
    {"shift by it", "    shl.b32 %r6, %r4, %r5; shl.b32 %r7, %r4, 1;\n", RESULT("%r7"), RESULT("%r6"), STORED},
    {"shf", "    shf.l.wrap.b32 %r6, %r5, %r4, 0; shf.l.wrap.b32 %r7, %r5, %r4, 8;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"prmt", "    prmt.b32 %r6, %r4, %r5, 0x3210; prmt.b32 %r7, %r4, %r5, 0x3240;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"bfe", "    mov.b64 %l1, {%r4, %r5}; bfe.u64 %l2, %l1, 8, 16; cvt.u32.u64 %r6, %l2; bfe.u64 %l3, %l1, 24, 16; cvt.u32.u64 %r7, %l3;\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"bfi", "    bfi.b32 %r6, %r4, %r5, 0, 32; bfi.b32 %r7, %r4, %r5, 0, 31;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"cvt", "    mov.b64 %l1, {%r4, %r5}; cvt.u32.u64 %r6, %l1; cvt.u64.u32 %l2, %r5; mov.b64 {%r7, %r8}, %l2;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"and", "    and.b32 %r6, %r5, 0; and.b32 %r7, %r5, 1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"or", "    or.b32 %r6, %r5, -1; or.b32 %r7, %r5, 1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"xor", "    xor.b32 %r6, %r4, 1; xor.b32 %r7, %r5, 1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"lop3", "    lop3.b32 %r6, %r4, %r4, %r4, 0x96; lop3.b32 %r7, %r4, %r4, %r5, 0x96;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"add", "    add.u32 %r6, %r4, 1; add.u32 %r7, %r4, %r5;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"carry", "    add.cc.u32 %r6, %r5, 1; addc.u32 %r7, 0, 0; add.cc.u32 %r8, %r4, 1; addc.u32 %r9, 0, 0;\n", RESULT("%r9"), RESULT("%r7"), STORED},
    {"float", "    mov.b32 %f1, %r5; mov.b32 %f2, %r4; mul.f32 %f1, %f1, %f2; cvt.rzi.s32.f32 %r6, %f2; cvt.rzi.s32.f32 %r7, %f1;\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"shfl", "    selp.b32 %r6, %r4, %r5, %p1; setp.eq.u32 %p2, %r0, 3; selp.b32 %r6, %r5, %r4, %p2;\n"
     "    shfl.sync.idx.b32 %r7, %r6, 2, 31, -1; shfl.sync.idx.b32 %r8, %r6, 3, 31, -1;\n", RESULT("%r7"), RESULT("%r8"), STORED},
    {"ballot", "    setp.eq.u32 %p2, %r5, 0; setp.eq.u32 %p3, %r0, 3; and.pred %p4, %p2, %p3; vote.sync.ballot.b32 %r6, %p4, -1;\n"
     "    and.b32 %r7, %r6, 7; and.b32 %r8, %r6, 8;\n", RESULT("%r7"), RESULT("%r8"), STORED},
    {"guarded mov", "    setp.eq.u32 %p2, %r5, 0; mov.b32 %r6, 1; mov.b32 %r7, 1; @%p1 mov.b32 %r6, 2; @%p2 mov.b32 %r7, 2;\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"shared and back", "    st.shared.v2.u32 [%r2 + 8], {%r4, %r5}; ld.shared.v2.u32 {%r6, %r7}, [%r2 + 8]; // load\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"bytes", "    st.shared.v2.u32 [%r2 + 8], {%r5, %r4}; st.shared.u8 [%r2 + 9], %r4; ld.shared.u8 %r6, [%r2 + 9]; ld.shared.u8 %r7, [%r2 + 8]; // load\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"local and back", "    st.local.v2.u32 [spill], {%r4, %r5}; ld.local.v2.u32 {%r6, %r7}, [spill]; // load\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"call", "    call (%r6), pass, (%r4); call (%r7), pass, (%r5);\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"call by memory", "    st.param.b32 [given], %r5; call (got), pass_memory, (given); ld.param.b32 %r7, [got]; // load\n"
     "    st.param.b32 [given], %r4; call (got), pass_memory, (given); ld.param.b32 %r6, [got];\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"branch", "    setp.eq.u32 %p2, %r5, 0; setp.eq.u32 %p3, %r4, 0;\n", "    @%p3 bra done;", "    @%p2 bra done;", "is decided by"},
    {"branch, and", "    setp.eq.u32 %p2, %r5, 0; setp.ge.u32 %p3, %r0, 64; and.pred %p4, %p2, %p3; and.pred %p5, %p2, %p1;\n",
     "    @%p4 bra done;", "    @%p5 bra done;", "is decided by"},
    {"branch, or", "    setp.eq.u32 %p2, %r5, 0; setp.ge.u32 %p3, %r0, 64; or.pred %p4, %p2, %p1; or.pred %p5, %p2, %p3;\n",
     "    @%p4 bra done;", "    @%p5 bra done;", "is decided by"},
    {"branch, not", "    setp.eq.u32 %p2, %r5, 0; not.pred %p3, %p2; not.pred %p4, %p1;\n", "    @%p4 bra done;", "    @!%p3 bra done;", "is decided by"},
    {"setp.and", "    setp.eq.u32 %p2, %r5, 0; setp.ge.and.u32 %p3, %r0, 64, %p2; setp.lt.and.u32 %p4, %r0, 64, %p2;\n",
     "    @%p3 bra done;", "    @%p4 bra done;", "is decided by"},
    {"setp.and, its own", "    setp.ge.u32 %p2, %r0, 64; setp.eq.and.u32 %p3, %r5, 0, %p2; setp.eq.and.u32 %p4, %r5, 0, %p1;\n",
     "    @%p3 bra done;", "    @%p4 bra done;", "is decided by"},
    {"setp.or", "    setp.eq.or.u32 %p3, %r5, 0, %p1; setp.eq.or.u32 %p4, %r5, 0, !%p1;\n", "    @%p3 bra done;", "    @%p4 bra done;", "is decided by"},
    {"guarded store", "    setp.eq.u32 %p2, %r5, 0;\n", "    @%p1 st.global.u32 [%at], %r4;", "    @%p2 st.global.u32 [%at], %r4;", "is decided by"},
    {"address", "    and.b32 %r6, %r5, 0; add.u32 %r6, %r6, %r2; and.b32 %r7, %r5, 12; add.u32 %r7, %r7, %r1;\n",
     "    ld.shared.u32 %r8, [%r6];", "    ld.shared.u32 %r8, [%r7];", "has an address from"},
    {"atomic", "    mov.u64 %l1, %at;\n", "    red.global.add.u32 [%l1], %r4;", "    red.global.add.u32 [%l1], %r5;", "uses"},
    // A product: rows 8 to 15 of A are undefined; column 0 of B; the second of each thread's elements of C. Of half precision, two elements of D
    // are a register; of f64, rows and columns lie otherwise.
    {"mma, row", "    mov.b32 %f5, 0f00000000; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r4,%r5}, {%r4}, {%f5,%f5,%f5,%f5};\n"
     "    mov.b32 %r6, %f2; mov.b32 %r7, %f3;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"mma, column", "    mov.b32 %f5, 0f00000000; selp.b32 %r6, %r4, %r5, %p1; setp.lt.u32 %p2, %r0, 4; selp.b32 %r6, %r5, %r4, %p2;\n"
     "    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r4,%r4}, {%r6}, {%f5,%f5,%f5,%f5};\n"
     "    mov.b32 %r6, %f2; mov.b32 %r7, %f3;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"mma, sum", "    mov.b32 %r6, 0; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r6,%r7,%r8,%r9}, {%r4,%r4,%r4,%r4}, {%r4,%r4}, {%r6,%r5,%r6,%r6};\n",
     RESULT("%r6"), RESULT("%r7"), STORED},
    {"mma, halves", "    mov.b32 %r6, 0; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r6,%r7}, {%r5,%r4}, {%r4}, {%r6,%r6};\n",
     RESULT("%r7"), RESULT("%r6"), STORED},
    {"mma, f64", "    mov.b64 %d1, 0; mov.b64 %d2, {%r4, %r5}; setp.lt.u32 %p2, %r0, 4; selp.b64 %d2, %d2, %d1, %p2;\n"
     "    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3,%d4}, {%d1}, {%d2}, {%d1,%d1};\n"
     "    mov.b64 {%r6, %r7}, %d4; mov.b64 {%r7, %r8}, %d3;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"mma, quads", "    mov.b32 %f1, 0f00000000;\n", "    mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1}, {%r4,%r4}, {%r4,%r4}, {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};",
     "    mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1}, {%r4,%r5}, {%r4,%r4}, {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};", "uses"},
    {"redux", "    redux.sync.add.u32 %r6, %r4, -1; redux.sync.add.u32 %r7, %r5, -1;\n", RESULT("%r6"), RESULT("%r7"), STORED},
    {"ldmatrix", "    shl.b32 %r7, %r0, 4; add.u32 %r7, %r7, %r1; and.b32 %r8, %r7, 0x7f; add.u32 %r8, %r8, %r1;\n"
     "    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r8]; // load\n"
     "    and.b32 %r7, %r0, 3; setp.gt.u32 %p2, %r7, 1; selp.b32 %r7, 0, %r6, %p2; setp.gt.u32 %p3, %r0, 65; selp.b32 %r9, 0, %r6, %p1;\n",
     RESULT("%r9"), RESULT("%r6"), STORED},
};
// clang-format on

#define PASS                                                                                                       \
    ".func (.reg .b32 %out) pass (.reg .b32 %in) { add.u32 %out, %in, 1; ret; }\n"                                 \
    ".func (.param .b32 to) pass_memory (.param .b32 from) { .reg .b32 %x; ld.param.b32 %x, [from]; st.param.b32 " \
    "[to], %x; "                                                                                                   \
    "ret; }\n"
#define LOCALS "    .local .align 8 .b32 spill[2];\n    .param .b32 given;\n    .param .b32 got;\n"

// The number of the line on which the text stands.
static unsigned line_of(const char *ptx, const char *text) {
    unsigned    line = 1;
    const char *at = NULL;
    for (const char *next = strstr(ptx, text); next; next = strstr(next + 1, text)) at = next;  // the last one
    assert_non_null(at);
    for (const char *p = ptx; p < at; p++) line += *p == '\n';
    return line;
}

static void write_kernel(char *ptx, size_t size, const use *it, bool is_faulty) {
    snprintf(ptx, size, "%s%s%s%s%s%s%s%s %s // use\ndone:%s", HEAD PASS ENTRY, TILE, LOCALS, OPEN, OWN, HALF_LOAD,
             it->moves, "", is_faulty ? it->faulty : it->silent, CLOSE);
}

static cj_status run(const char *ptx, uint64_t seed, cj_error *error) {
    static uint64_t results[RESULTS];
    memset(results, 0, sizeof results);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed != 0,
                                   .seed = seed};
    return run_kernel(ptx, (launch_shape){.grid = 1, .block = 32}, results, error);
}

enum { SEEDS = 4 };

static void what_is_read_and_not_used_is_silent(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(uses); k++) {
        char ptx[8192];
        write_kernel(ptx, sizeof ptx, &uses[k], false);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error error = {0};
            if (run(ptx, seed, &error))
                fail_msg("%s, seed %u: %s\n%s", uses[k].name, (unsigned)seed, error.message, ptx);
        }
    }
}

static void a_use_is_named_with_its_load(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(uses); k++) {
        char ptx[8192];
        write_kernel(ptx, sizeof ptx, &uses[k], true);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error        error = {0};
            const cj_status status = run(ptx, seed, &error);
            if (status != CJ_HAZARD || strcmp(error.rule, "uninitialized") || !strstr(error.message, uses[k].words))
                fail_msg("%s, seed %u: %s %s\n%s", uses[k].name, (unsigned)seed, error.rule, error.message, ptx);
            if (found_count != 1 || found[0].second.line != line_of(ptx, "// use") ||
                found[0].first.line != line_of(ptx, "// load"))
                fail_msg("%s: %zu hazards, line %u of %u: %s\n%s", uses[k].name, found_count, found[0].second.line,
                         found[0].first.line, error.message, ptx);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_and_not_used_is_silent),
        cmocka_unit_test(a_use_is_named_with_its_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

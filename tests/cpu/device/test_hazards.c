// SPDX-License-Identifier: Apache-2.0
// Kernels with one fault each: the CPU device names the rule, the line and the thread. Each has a correct twin.
#include "kernel.h"

typedef struct fault {
    const char  *rule;
    launch_shape shape;
    const char  *variables, *fault, *twin;  // the faulty instruction is on the body's last line
    const char  *words;                     // in the message
} fault;

static const fault faults[] = {
    {"out-of-bounds",
     {1, 32, 0, 0},
     "",
     "    st.global.u32 [%out + 32768], 1;",
     "    st.global.u32 [%out + 32764], 1;",
     "0 bytes past the end of an allocation of 32768 bytes; thread (0, 0, 0) of block (0, 0, 0)"},
    {"out-of-bounds",
     {1, 32, 0, 0},
     "",
     "    ld.global.u32 %r1, [%out + -4];",
     "    ld.global.u32 %r1, [%out + 4];",
     "in no allocation"},
    {"out-of-bounds",
     {1, 64, 0, 0},
     "    .shared .align 4 .b32 tile[64];\n",
     "    mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1;\n    st.shared.u32 [%r1 + 4], 1;",
     "    mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1;\n    st.shared.u32 [%r1], 1;",
     "0 bytes past the end of tile; thread (63, 0, 0)"},
    {"out-of-bounds",
     {2, 32, 2, 0},
     "    .shared .align 4 .b32 tile[32];\n",
     "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    mov.u32 %r1, tile; mapa.shared::cluster.u32 %r1, "
     "%r1, 1;\n"
     "    st.shared::cluster.u32 [%r1 + 128], 1;",
     "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    mov.u32 %r1, tile; mapa.shared::cluster.u32 %r1, "
     "%r1, 1;\n"
     "    st.shared::cluster.u32 [%r1 + 124], 1; barrier.cluster.arrive; barrier.cluster.wait;",
     "past the end of tile"},
    {"misaligned",
     {1, 32, 0, 0},
     "",
     "    add.u64 %at, %at, %at;\n    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out + 8];",
     "    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out + 16];",
     "16 bytes"},
    {"wrong-window",
     {2, 32, 2, 0},
     "    .shared .align 4 .b32 tile[32];\n",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n    ld.shared.u32 %r2, [%r1];",
     "    mov.u32 %r1, tile;\n    ld.shared.u32 %r2, [%r1];",
     "rank 1"},
    {"rank-out-of-range",
     {2, 32, 2, 0},
     "    .shared .align 4 .b32 tile[32];\n",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 2;",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;",
     "rank 2 in a cluster of 2 blocks"},
    {"peer-not-entered",
     {2, 32, 2, 0},
     "    .shared .align 4 .b32 tile[32];\n",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n    ld.shared::cluster.u32 %r2, [%r1];",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n    barrier.cluster.arrive; "
     "barrier.cluster.wait;\n"
     "    ld.shared::cluster.u32 %r2, [%r1]; barrier.cluster.arrive; barrier.cluster.wait;",
     "rank 1 has not started"},
    {"peer-exited",
     {2, 32, 2, 0},
     "    .shared .align 4 .b32 tile[32];\n",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n    barrier.cluster.arrive; "
     "barrier.cluster.wait;\n"
     "    ld.shared::cluster.u32 %r2, [%r1];",
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n    barrier.cluster.arrive; "
     "barrier.cluster.wait;\n"
     "    ld.shared::cluster.u32 %r2, [%r1]; barrier.cluster.arrive; barrier.cluster.wait;",
     "rank 1 has exited"},
    {"barrier-number",
     {1, 32, 0, 0},
     "",
     "    mov.u32 %r1, 16;\n    bar.sync %r1;",
     "    mov.u32 %r1, 15;\n    bar.sync %r1;",
     "barrier 16"},
    {"barrier-count",
     {1, 64, 0, 0},
     "",
     "    mov.u32 %r1, 48;\n    bar.sync 0, %r1;",
     "    mov.u32 %r1, 64;\n    bar.sync 0, %r1;",
     "48 threads"},
    {"double-arrive",
     {2, 32, 2, 0},
     "",
     "    barrier.cluster.arrive;\n    barrier.cluster.arrive;",
     "    barrier.cluster.arrive;\n    barrier.cluster.wait;",
     "second time"},
    {"wait-without-arrive",
     {2, 32, 2, 0},
     "",
     "    barrier.cluster.wait;",
     "    barrier.cluster.arrive;\n    barrier.cluster.wait;",
     "without having arrived"},
    {"member-mask",
     {1, 32, 0, 0},
     "",
     "    shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff;",
     "    shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;",
     "lane 16 is not in its own member mask 0x0000ffff"},
    {"divergent",
     {1, 32, 0, 0},
     "",
     "    setp.lt.u32 %p0, %thread, 5;\n    @%p0 bar.sync 1;\n    @!%p0 bar.sync 2;",
     "    setp.lt.u32 %p0, %thread, 5;\n    bar.sync 1;\n    bar.sync 2;",
     ", bar.sync (a part of a warp), 27 threads at line "},
    {"deadlock",
     {1, 64, 0, 0},
     "",
     "    setp.lt.u32 %p0, %thread, 32;\n    @%p0 bar.sync 1, 64;\n    @!%p0 bar.sync 2, 64;",
     "    setp.lt.u32 %p0, %thread, 32;\n    @%p0 bar.sync 1, 64;\n    @!%p0 bar.sync 1, 64;",
     ", bar.sync, 32 threads at line "},
    {"deadlock",
     {2, 32, 2, 0},
     "",
     "    mov.u32 %r1, %cluster_ctarank;\n    setp.eq.u32 %p0, %r1, 0;\n    @%p0 bar.sync 0, 64;\n    "
     "barrier.cluster.arrive;\n    barrier.cluster.wait;",
     "    barrier.cluster.arrive;\n    barrier.cluster.wait;",
     "block of rank 1: 32 threads at line "},
    {"read-only",
     {1, 32, 0, 0},
     "",
     "    mov.u64 %l1, out;\n    cvta.param.u64 %l1, %l1;\n    st.u32 [%l1], %r0;",
     "    mov.u64 %l1, out;\n    cvta.param.u64 %l1, %l1;\n    ld.u32 %r0, [%l1];",
     "address of a parameter"},
    {"trap", {1, 32, 0, 0}, "", "    trap;", "", "gives up"},
    {"trap", {1, 32, 0, 0}, "", "    trap; // there is no such row", "", "gives up: there is no such row"},
};

static unsigned lines(const char *text) {
    unsigned count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

// The line of the last instruction of the fault; a deadlock is reported where the first thread waits.
static bool line_fits(const fault *f, const char *head, unsigned line) {
    const unsigned last = lines(head) + 1 + lines(f->fault);
    const bool     anywhere = !strcmp(f->rule, "deadlock") || !strcmp(f->rule, "divergent");
    return anywhere ? line <= last && line > last - 3 : line == last;
}

static void every_fault_is_named(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    for (size_t k = 0; k < CJ_TEST_COUNT(faults); k++) {
        const fault *f = &faults[k];
        char         head[2048], ptx[4096];
        cj_error     error = {0};
        snprintf(head, sizeof head, "%s%s%s", HEAD ENTRY, f->variables, OPEN);
        snprintf(ptx, sizeof ptx, "%s%s%s", head, f->fault, CLOSE);
        cj_status status = run_kernel(ptx, f->shape, results, &error);
        if (status != CJ_HAZARD) fail_msg("%s, number %zu: %s %s", f->rule, k, cj_status_name(status), error.message);
        assert_string_equal(error.rule, f->rule);
        if (!strstr(error.message, f->words)) fail_msg("%s: no '%s' in '%s'", f->rule, f->words, error.message);
        if (!line_fits(f, head, error.line)) fail_msg("%s: line %u: %s", f->rule, error.line, error.message);
    }
}

static void no_twin_is_reported(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    for (size_t k = 0; k < CJ_TEST_COUNT(faults); k++) {
        const fault *f = &faults[k];
        char         ptx[4096];
        cj_error     error = {0};
        snprintf(ptx, sizeof ptx, "%s%s%s%s%s", HEAD ENTRY, f->variables, OPEN, f->twin, CLOSE);
        if (run_kernel(ptx, f->shape, results, &error))
            fail_msg("twin of %s, number %zu: %s", f->rule, k, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_named),
        cmocka_unit_test(no_twin_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Aligned accesses of up to 16 bytes are single copies, also between host threads: whoever reads sees all of what one
// store wrote. Blocks on several host threads write elements that are alike and read them back, in each way that the
// host has for 16 bytes.
#include "kernel.h"
#include "single.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN 0
#endif

// How a store and a load are written, and what the loaded elements differ by goes to %l9.
typedef struct form {
    const char *name;
    bool        weak;  // a race for the sanitizer
    const char *store, *load;
} form;

#define PAIR "    xor.b64 %l9, %l2, %l3;\n"
#define FOUR                                                                                                          \
    "    xor.b32 %r5, %r5, %r2;\n    xor.b32 %r6, %r6, %r3;\n    xor.b32 %r3, %r3, %r2;\n    or.b32 %r5, %r5, %r6;\n" \
    "    or.b32 %r5, %r5, %r3;\n    cvt.u64.u32 %l9, %r5;\n"
#define HALVES                                                                                 \
    "    mov.b32 %r2, {%h2, %h3};\n    mov.b32 %r3, {%h5, %h6};\n    xor.b32 %r5, %r2, %r3;\n" \
    "    xor.b16 %h2, %h2, %h3;\n    cvt.u32.u16 %r6, %h2;\n    or.b32 %r5, %r5, %r6;\n    cvt.u64.u32 %l9, %r5;\n"

static const form forms[] = {
    {"relaxed.v2.u64", false, "st.relaxed.gpu.global.v2.u64 [%out], {%l1, %l1};\n",
     "ld.relaxed.gpu.global.v2.u64 {%l2, %l3}, [%out];\n" PAIR},
    {"release and acquire.v2.u64", false, "st.release.gpu.global.v2.u64 [%out], {%l1, %l1};\n",
     "ld.acquire.gpu.global.v2.u64 {%l2, %l3}, [%out];\n" PAIR},
    {"volatile.v4.u32", false, "st.volatile.global.v4.u32 [%out], {%r1, %r1, %r1, %r1};\n",
     "ld.volatile.global.v4.u32 {%r2, %r3, %r5, %r6}, [%out];\n" FOUR},
    {"relaxed.v4.u16", false, "st.relaxed.gpu.global.v4.u16 [%out], {%h1, %h1, %h1, %h1};\n",
     "ld.relaxed.gpu.global.v4.u16 {%h2, %h3, %h5, %h6}, [%out];\n" HALVES},
    {"relaxed.b128", false, "mov.b128 %q1, {%l1, %l1};\n    st.relaxed.gpu.global.b128 [%out], %q1;\n",
     "ld.relaxed.gpu.global.b128 %q2, [%out];\n    mov.b128 {%l2, %l3}, %q2;\n" PAIR},
    {"atom.exch.b128", false, "mov.b128 %q1, {%l1, %l1};\n    atom.relaxed.gpu.global.exch.b128 %q0, [%out], %q1;\n",
     "ld.relaxed.gpu.global.b128 %q2, [%out];\n    mov.b128 {%l2, %l3}, %q2;\n" PAIR},
    {"atom.cas.b128", false, "mov.b128 %q1, {%l1, %l1};\n    atom.relaxed.gpu.global.exch.b128 %q0, [%out], %q1;\n",
     "mov.b128 %q1, {%l0, %l0};\n    atom.relaxed.gpu.global.cas.b128 %q2, [%out], %q1, %q1;\n"
     "    mov.b128 {%l2, %l3}, %q2;\n" PAIR},
    {"v4.u32", true, "st.global.v4.u32 [%out], {%r1, %r1, %r1, %r1};\n",
     "ld.global.v4.u32 {%r2, %r3, %r5, %r6}, [%out];\n" FOUR},
    {"b128", true, "mov.b128 %q1, {%l1, %l1};\n    st.global.b128 [%out], %q1;\n",
     "ld.global.b128 %q2, [%out];\n    mov.b128 {%l2, %l3}, %q2;\n" PAIR},
    {"v4.u16", true, "st.global.v4.u16 [%out], {%h1, %h1, %h1, %h1};\n",
     "ld.global.v4.u16 {%h2, %h3, %h5, %h6}, [%out];\n" HALVES},
};

enum { FORMS = sizeof forms / sizeof *forms };

#define OPENING                                                                                                \
    ".version 8.4\n.target sm_90\n.address_size 64\n" ENTRY OPEN                                               \
    "    .reg .b128 %q<4>;\n    mov.u32 %r7, 0;\n    mov.u64 %l7, 0;\n    mov.u64 %l0, 0;\n"                   \
    "    mov.u32 %r8, %ctaid.x;\n    and.b32 %r8, %r8, 1;\n    setp.ne.u32 %p1, %r8, 0;\n    @%p1 bra READ;\n" \
    "WRITE:\n    mad.lo.u32 %r1, %r7, 1024, %thread;\n    cvt.u64.u32 %l1, %r1;\n"                             \
    "    mad.lo.u64 %l1, %l1, 4294967297, %l1;\n    cvt.u16.u32 %h1, %r1;\n"
#define AGAIN(loop) "    add.u32 %r7, %r7, 1;\n    setp.lt.u32 %p2, %r7, 6000;\n    @%p2 bra " loop ";\n"
#define COUNTING "    setp.ne.u64 %p3, %l9, 0;\n    @%p3 add.u64 %l7, %l7, 1;\n"
#define ENDING "    red.relaxed.gpu.global.add.u64 [%out + 16], %l7;\n" CLOSE

// Blocks of even number store, those of odd number load and count in [out + 16] what is not alike.
static void write_kernel(char *text, size_t size, const form *f) {
    snprintf(text, size, "%s    %s%s    ret;\nREAD:\n    %s%s%s%s", OPENING, f->store, AGAIN("WRITE"), f->load,
             COUNTING, AGAIN("READ"), ENDING);
}

static void check_way(cj_single_way way) {
    static uint64_t results[RESULTS];
    static char     text[8192];
    if (!cj__single_choose(way)) {
        print_message("way %d is not this host's\n", (int)way);
        return;
    }
    for (unsigned k = 0; k < FORMS; k++) {
        cj_error error = {0};
        if (forms[k].weak && (HAS_TSAN || way)) continue;  // weak ones are copied in one way
        memset(results, 0, sizeof results);
        write_kernel(text, sizeof text, &forms[k]);
        cj_test_ok(run_kernel(text, (launch_shape){4, 32, 0, 0}, results, &error), &error);
        if (results[2])
            fail_msg("%s, way %d: %llu loads were torn", forms[k].name, (int)way, (unsigned long long)results[2]);
    }
}

static void by_vector(void **state) {
    (void)state;
    check_way(CJ_SINGLE_VECTOR);
}

static void by_compare_and_swap(void **state) {
    (void)state;
    check_way(CJ_SINGLE_SWAP);
}

static void by_locks(void **state) {
    (void)state;
    check_way(CJ_SINGLE_LOCK);
}

int main(void) {
    cpu_options.threads = 4;  // also where there are fewer cores
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_vector),
        cmocka_unit_test(by_compare_and_swap),
        cmocka_unit_test(by_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

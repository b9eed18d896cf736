// SPDX-License-Identifier: Apache-2.0
// One instruction between registers, its operands' bits, and the bits it must give: by a full warp and by a part of one,
// which take different ways through the executors.
#ifndef CJ_TESTS_CPU_OPERATION_H
#define CJ_TESTS_CPU_OPERATION_H

#include "kernel.h"

#define NEWEST ".version 8.3\n.target sm_90\n.address_size 64\n"

typedef struct operation {
    const char *name;
    const char *classes;  // registers of the result, then of the sources: r, l, h, f, d, p
    uint64_t    source[4], expected;
} operation;

static inline unsigned class_bits(char class) { return strchr("ld", class) ? 64 : class == 'h' ? 16 : 32; }

// The sources are in registers 1, 2, …; the result is in register 0.
static inline void write_operation(const operation *o, char *text, size_t size) {
    size_t length = 0;
    for (unsigned i = 1; o->classes[i]; i++) {
        const char *type = o->classes[i] == 'p'          ? "pred"
                           : o->classes[i] == 'h'        ? "b16"
                           : strchr("ld", o->classes[i]) ? "b64"
                                                         : "b32";
        length += (size_t)snprintf(text + length, size - length, "    mov.%s %%%c%u, 0x%llx;\n", type, o->classes[i], i,
                                   (unsigned long long)o->source[i - 1]);
    }
    length += (size_t)snprintf(text + length, size - length, "    %s %%%c0", o->name, o->classes[0]);
    for (unsigned i = 1; o->classes[i]; i++) {
        length += (size_t)snprintf(text + length, size - length, ", %%%c%u", o->classes[i], i);
    }
    if (o->classes[0] == 'p')
        length += (size_t)snprintf(text + length, size - length, ";\n    selp.b32 %%r0, 1, 0, %%p0");
    snprintf(text + length, size - length, ";\n    st.global.b%u [%%at], %%%c0;", class_bits(o->classes[0]),
             o->classes[0] == 'p' ? 'r' : o->classes[0]);
}

static inline void run_operations(const operation *operations, size_t count) {
    enum { THREADS = 45 };
    static uint64_t results[RESULTS];
    for (size_t k = 0; k < count; k++) {
        const operation *o = &operations[k];
        char             body[1024], ptx[2048];
        cj_error         error = {0};
        memset(results, 0, sizeof results);
        write_operation(o, body, sizeof body);
        snprintf(ptx, sizeof ptx, "%s%s%s", NEWEST ENTRY OPEN, body, CLOSE);
        if (run_kernel(ptx, (launch_shape){1, THREADS, 0, 0}, results, &error))
            fail_msg("%s: %s", o->name, error.message);
        for (unsigned i = 0; i < THREADS; i++) {
            if (results[i] == o->expected) continue;
            fail_msg("%s, case %zu: thread %u got 0x%llx, not 0x%llx", o->name, k, i, (unsigned long long)results[i],
                     (unsigned long long)o->expected);
        }
    }
}

#define OPERATIONS(name, ...)                           \
    static void name(void **state) {                    \
        (void)state;                                    \
        static const operation cases[] = {__VA_ARGS__}; \
        run_operations(cases, CJ_TEST_COUNT(cases));    \
    }

#endif

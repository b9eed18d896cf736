// SPDX-License-Identifier: Apache-2.0
// Multicast memory of a team of one: multimem.st, multimem.red and multimem.ld_reduce of every type and vector, against
// plain sums in C. Elements are small whole numbers, which every type holds exactly.
#include "kernel.h"

enum { THREADS = 45, CELL = 16, OPERANDS = 1024 * 8, LOADED = 2048 * 8 };  // bytes of a thread; where they are

typedef struct element {
    const char *name;
    unsigned    bits, fraction;  // fraction 0: an integer
    unsigned    parts;           // values in one element
    const char *operations;      // of multimem.red; those of multimem.ld_reduce
    const char *reductions;
} element;

static const element elements[] = {
    {"u32", 32, 0, 1, "add min max", "add min max"},
    {"s32", 32, 0, 1, "add min max", "add min max"},
    {"u64", 64, 0, 1, "add min max", "add min max"},
    {"s64", 64, 0, 1, "min max", "min max"},
    {"b32", 32, 0, 1, "and or xor", "and or xor"},
    {"b64", 64, 0, 1, "and or xor", "and or xor"},
    {"f32", 32, 23, 1, "add", "add"},
    {"f64", 64, 52, 1, "add", "add"},
    {"f16", 16, 10, 1, "add", "add min max add.acc::f32"},
    {"bf16", 16, 7, 1, "add", "add min max add.acc::f32"},
    {"f16x2", 32, 10, 2, "add", "add min max add.acc::f32"},
    {"bf16x2", 32, 7, 2, "add", "add min max add.acc::f32"},
};

// Of 16-bit floats only whole vectors are, of f64 and integers no vectors.
static bool exists(const element *e, unsigned vector) {
    if (vector * e->bits > 8 * CELL) return false;
    if (e->bits == 16) return vector > 1;
    return vector == 1 || (vector <= 4 && (e->parts == 2 || (e->fraction && e->bits == 32)));
}

// The bits of a whole number below 2^8, as a float with so many bits of fraction or as an integer.
static uint64_t encode(unsigned bits, unsigned fraction, uint64_t value) {
    if (!fraction || !value) return value;
    const unsigned exponent_bits = bits - 1 - fraction, bias = (1u << (exponent_bits - 1)) - 1;
    unsigned       power = 0;
    while (value >> (power + 1)) power++;
    return (uint64_t)(power + bias) << fraction | (value << fraction >> power & (((uint64_t)1 << fraction) - 1));
}

static uint64_t combine(const char *operation, uint64_t a, uint64_t b) {
    switch (operation[1]) {
    case 'd': return a + b;
    case 'i': return a < b ? a : b;
    case 'a': return a > b ? a : b;
    case 'n': return a & b;
    case 'r': return a | b;
    default: return a ^ b;
    }
}

static uint64_t initial_of(unsigned thread, unsigned i) { return (thread * 7 + i * 3) % 61; }
static uint64_t operand_of(unsigned thread, unsigned i) { return (thread * 5 + i * 11) % 53; }

static void put(void *at, unsigned bits, unsigned i, uint64_t value) {
    memcpy((unsigned char *)at + (size_t)i * (bits / 8), &value, bits / 8);  // the low end of a little-endian number
}

typedef struct form {
    const element *e;
    unsigned       vector;
    const char    *operation, *reduction;  // operation NULL: a store
    const char    *order;                  // "" or ".release.sys": of what writes
    const char    *acquire;                // of what reads
} form;

static void append_registers(char *text, size_t size, const form *f, char name) {
    size_t length = strlen(text);
    length += (size_t)snprintf(text + length, size - length, f->vector > 1 ? "{" : "");
    for (unsigned i = 0; i < f->vector; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%%%c%u", i ? ", " : "", name, i);
    snprintf(text + length, size - length, f->vector > 1 ? "}" : "");
}

static void write_ptx(const form *f, char *text, size_t size) {
    const unsigned bits = f->e->bits;
    char           vector[16] = "", operands[160] = "", loaded[160] = "";
    if (f->vector > 1) snprintf(vector, sizeof vector, ".v%u", f->vector);
    append_registers(operands, sizeof operands, f, 'a');
    append_registers(loaded, sizeof loaded, f, 'b');
    size_t length = (size_t)snprintf(text, size,
                                     "%s    .reg .b%u %%a<8>, %%b<8>;\n    mul.wide.u32 %%l1, %%thread, %d;\n"
                                     "    add.u64 %%l1, %%l1, %%out;\n",
                                     ".version 8.2\n.target sm_90\n.address_size 64\n" ENTRY OPEN, bits, CELL);
    for (unsigned i = 0; i < f->vector; i++)
        length += (size_t)snprintf(text + length, size - length, "    ld.global.b%u %%a%u, [%%l1 + %u];\n", bits, i,
                                   OPERANDS + i * bits / 8);
    length += (size_t)snprintf(text + length, size - length,
                               "    multimem.%s%s.global%s%s%s.%s [%%l1], %s;\n"
                               "    multimem.ld_reduce%s.global.%s%s.%s %s, [%%l1];\n",
                               f->operation ? "red" : "st", f->order, f->operation ? "." : "",
                               f->operation ? f->operation : "", vector, f->e->name, operands, f->acquire, f->reduction,
                               vector, f->e->name, loaded);
    for (unsigned i = 0; i < f->vector; i++)
        length += (size_t)snprintf(text + length, size - length, "    st.global.b%u [%%l1 + %u], %%b%u;\n", bits,
                                   LOADED + i * bits / 8, i);
    snprintf(text + length, size - length, CLOSE);
}

static void run(const form *f, const char *ptx) {
    static uint64_t memory[RESULTS];
    const unsigned  bits = f->e->bits / f->e->parts, values = f->vector * f->e->parts;
    unsigned char  *bytes = (unsigned char *)memory;
    cj_error        error = {0};
    memset(memory, 0, sizeof memory);
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < values; i++) {
            put(bytes + t * CELL, bits, i, encode(bits, f->e->fraction, initial_of(t, i)));
            put(bytes + OPERANDS + t * CELL, bits, i, encode(bits, f->e->fraction, operand_of(t, i)));
        }
    }
    if (run_kernel(ptx, (launch_shape){1, THREADS, 0, 0}, memory, &error)) fail_msg("%s\n%s", error.message, ptx);
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned char expected[CELL] = {0};
        for (unsigned i = 0; i < values; i++) {
            const uint64_t b = operand_of(t, i), value = f->operation ? combine(f->operation, initial_of(t, i), b) : b;
            put(expected, bits, i, encode(bits, f->e->fraction, value));
        }
        if (memcmp(bytes + t * CELL, expected, CELL)) fail_msg("thread %u: memory is wrong\n%s", t, ptx);
        if (memcmp(bytes + LOADED + t * CELL, expected, CELL))
            fail_msg("thread %u: what was loaded is wrong\n%s", t, ptx);
    }
}

// The k-th word of a list, or NULL.
static const char *word_of(const char *list, unsigned k, char *word) {
    for (; k && list; k--) {
        list = strchr(list, ' ');
        if (list) list++;
    }
    if (!list) return NULL;
    const size_t length = strcspn(list, " ");
    memcpy(word, list, length);
    word[length] = 0;
    return word;
}

// A store, then each operation with each reduction once.
static unsigned check(form f) {
    static char ptx[8192];
    char        operation[32], reduction[32];
    unsigned    count = 0;
    for (unsigned k = 0; k < 6; k++) {
        f.operation = k ? word_of(f.e->operations, k - 1, operation) : NULL;
        f.reduction = word_of(f.e->reductions, k, reduction);
        if (k && !f.operation && !f.reduction) break;
        if (!f.reduction) f.reduction = word_of(f.e->reductions, 0, reduction);
        write_ptx(&f, ptx, sizeof ptx);
        run(&f, ptx);
        count++;
    }
    return count;
}

static void every_form(void **state) {
    (void)state;
    unsigned count = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(elements); i++) {
        for (unsigned vector = 1; vector <= 8; vector *= 2) {
            if (!exists(&elements[i], vector)) continue;
            const form weak = {.e = &elements[i], .vector = vector, .order = "", .acquire = ""},
                       strong = {
                           .e = &elements[i], .vector = vector, .order = ".release.sys", .acquire = ".acquire.gpu"};
            cpu_options.hazards = !cpu_options.hazards;
            count += check(weak) + check(strong);
        }
    }
    cpu_options.hazards = false;
    print_message("%u kernels\n", count);
}

// Block 0 writes a number and raises a flag; block 1 waits for the flag and reads the number.
static void hand_over(const char *release, const char *acquire, char *ptx, size_t size) {
    snprintf(
        ptx, size,
        "%s    setp.ne.u32 %%p1, %%thread, 0;\n    @%%p1 bra reader;\n"
        "    multimem.st.global.u64 [%%out + 64], 5;\n    multimem.red%s.global.add.u32 [%%out + 128], 1;\n    ret;\n"
        "reader:\n    multimem.ld_reduce%s.global.add.u32 %%r1, [%%out + 128];\n    setp.eq.u32 %%p2, %%r1, 0;\n"
        "    @%%p2 bra reader;\n    ld.global.u64 %%l1, [%%out + 64];\n    st.global.u64 [%%out], %%l1;\n%s",
        ".version 8.2\n.target sm_90\n.address_size 64\n" ENTRY OPEN, release, acquire, CLOSE);
}

static void order_is_what_the_forms_say(void **state) {
    (void)state;
    static uint64_t memory[RESULTS];
    static const struct {
        const char *release, *acquire;
        cj_status   expected;
    } cases[] = {{".release.gpu", ".acquire.gpu", CJ_OK},     {".release.sys", ".acquire.sys", CJ_OK},
                 {".relaxed.gpu", ".acquire.gpu", CJ_HAZARD}, {".release.gpu", ".relaxed.gpu", CJ_HAZARD},
                 {".release.cta", ".acquire.gpu", CJ_HAZARD}, {"", ".acquire.gpu", CJ_HAZARD}};
    cpu_options.hazards = true;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char     ptx[4096];
        cj_error error = {0};
        memset(memory, 0, sizeof memory);
        hand_over(cases[i].release, cases[i].acquire, ptx, sizeof ptx);
        const cj_status status = run_kernel(ptx, (launch_shape){2, 1, 0, 0}, memory, &error);
        if (status != cases[i].expected) fail_msg("%s, %s: %s", cases[i].release, cases[i].acquire, error.message);
        if (status) assert_string_equal(error.rule, "race-grid");
        assert_int_equal(memory[0], 5);
    }
    cpu_options.hazards = false;
}

static void other_memory_is_refused(void **state) {
    (void)state;
    static uint64_t memory[RESULTS];
    cj_error        error = {0};
    const char     *ptx = ".version 8.2\n.target sm_90\n.address_size 64\n" ENTRY "    .shared .b64 tile;\n" OPEN
                      "    mov.u64 %l1, tile;\n    cvta.shared.u64 %l1, %l1;\n"
                      "    multimem.st.u64 [%l1], 5;\n" CLOSE;
    assert_int_equal(run_kernel(ptx, (launch_shape){1, 1, 0, 0}, memory, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "out-of-bounds");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form), cmocka_unit_test(order_is_what_the_forms_say),
                                       cmocka_unit_test(other_memory_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

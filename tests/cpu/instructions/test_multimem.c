// SPDX-License-Identifier: Apache-2.0
// Multicast memory: multimem.st, multimem.red and multimem.ld_reduce of every type and vector, on a team of one and on multicast
// objects of several devices, against plain sums in C. Elements are small whole numbers, which every type holds exactly.
#include "kernel.h"

enum { THREADS = 45, CELL = 16, MEMBERS = 3 };                                             // bytes of a thread
enum { OPERANDS = 1024 * 8, LOADED = 2048 * 8, TEAM = 3072 * 8, SHARED_BYTES = 512 * 8 };  // places in the memory

typedef struct element {
    const char *name;
    unsigned    bits, fraction;  // fraction 0: an integer
    unsigned    parts;           // values in one element
    const char *operations;      // of multimem.red; those of multimem.ld_reduce
    const char *reductions;
    const char *head;  // of the kernel
} element;

#define SM_90 ".version 8.2\n.target sm_90\n.address_size 64\n"
#define SM_100 ".version 8.6\n.target sm_100a\n.address_size 64\n"

static const element elements[] = {
    {"u32", 32, 0, 1, "add min max", "add min max", SM_90},
    {"s32", 32, 0, 1, "add min max", "add min max", SM_90},
    {"u64", 64, 0, 1, "add min max", "add min max", SM_90},
    {"s64", 64, 0, 1, "min max", "min max", SM_90},
    {"b32", 32, 0, 1, "and or xor", "and or xor", SM_90},
    {"b64", 64, 0, 1, "and or xor", "and or xor", SM_90},
    {"f32", 32, 23, 1, "add", "add", SM_90},
    {"f64", 64, 52, 1, "add", "add", SM_90},
    {"f16", 16, 10, 1, "add", "add min max add.acc::f32", SM_90},
    {"bf16", 16, 7, 1, "add", "add min max add.acc::f32", SM_90},
    {"f16x2", 32, 10, 2, "add", "add min max add.acc::f32", SM_90},
    {"bf16x2", 32, 7, 2, "add", "add min max add.acc::f32", SM_90},
    {"e4m3", 8, 3, 1, NULL, "add min max add.acc::f16", SM_100},
    {"e5m2", 8, 2, 1, NULL, "add min max add.acc::f16", SM_100},
    {"e4m3x2", 16, 3, 2, NULL, "add min max add.acc::f16", SM_100},
    {"e5m2x2", 16, 2, 2, NULL, "add min max add.acc::f16", SM_100},
    {"e4m3x4", 32, 3, 4, NULL, "add min max add.acc::f16", SM_100},
    {"e5m2x4", 32, 2, 4, NULL, "add min max add.acc::f16", SM_100},
};

// Of floats of 8 and 16 bits only whole vectors are, of f64 and integers no vectors.
static bool exists(const element *e, unsigned vector) {
    if (vector * e->bits > 8 * CELL) return false;
    if (e->bits < 32 && vector * e->bits < 32) return false;
    if (e->bits == 8 || (e->bits == 16 && e->parts == 2)) return true;
    if (e->bits == 16) return vector > 1;
    return vector == 1 || (vector <= 4 && (e->parts > 1 || (e->fraction && e->bits == 32)));
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

// Sums of all members' values and operands are exact in the type.
static uint64_t limit_of(const element *e) { return !e->fraction || e->fraction > 7 ? 61 : e->fraction > 3 ? 27 : 2; }

static uint64_t initial_of(const element *e, unsigned member, unsigned thread, unsigned i) {
    return (member * 13 + thread * 7 + i * 3 + (thread >> member & 1)) % limit_of(e);
}

static uint64_t operand_of(const element *e, unsigned thread, unsigned i) {
    return (thread * 5 + i * 11) % (limit_of(e) - (limit_of(e) > 2));
}

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
                                     "%s%s    .reg .b%u %%a<8>, %%b<8>;\n    mul.wide.u32 %%l1, %%thread, %d;\n"
                                     "    ld.global.u64 %%l2, [%%out + %d];\n    add.u64 %%l2, %%l2, %%l1;\n"
                                     "    add.u64 %%l1, %%l1, %%out;\n",
                                     f->e->head, ENTRY OPEN, bits, CELL, TEAM);
    for (unsigned i = 0; i < f->vector; i++)
        length += (size_t)snprintf(text + length, size - length, "    ld.global.b%u %%a%u, [%%l1 + %u];\n", bits, i,
                                   OPERANDS + i * bits / 8);
    length += (size_t)snprintf(text + length, size - length,
                               "    multimem.%s%s.global%s%s%s.%s [%%l2], %s;\n"
                               "    multimem.ld_reduce%s.global.%s%s.%s %s, [%%l2];\n",
                               f->operation ? "red" : "st", f->order, f->operation ? "." : "",
                               f->operation ? f->operation : "", vector, f->e->name, operands, f->acquire, f->reduction,
                               vector, f->e->name, loaded);
    for (unsigned i = 0; i < f->vector; i++)
        length += (size_t)snprintf(text + length, size - length, "    st.global.b%u [%%l1 + %u], %%b%u;\n", bits,
                                   LOADED + i * bits / 8, i);
    snprintf(text + length, size - length, CLOSE);
}

// ---- devices and their memory

static cj_device *device[MEMBERS];
static cj_ptr     base[MEMBERS];
static uint64_t   words[MEMBERS][RESULTS];  // what the memory holds

// A multicast object of the first SHARED_BYTES of each member's memory; NULL, and the address of that memory, of one member.
static cj_cpu_multicast *make_team(unsigned members, cj_ptr *address) {
    cj_cpu_multicast *team = NULL;
    cj_error          error = {0};
    for (unsigned m = 0; m < members; m++) {
        device[m] = open_cpu();
        cj_test_ok(cj_mem_alloc(device[m], RESULTS * 8, &base[m], &error), &error);
    }
    *address = base[0];
    if (members == 1) return NULL;
    cj_test_ok(cj_cpu_multicast_create(device, members, SHARED_BYTES, 0, &team, &error), &error);
    for (unsigned m = 0; m < members; m++) {
        cj_test_ok(cj_cpu_multicast_bind(team, m, 0, base[m], SHARED_BYTES, &error), &error);
        cj_test_ok(cj_cpu_multicast_map(team, m, address, &error), &error);
    }
    return team;
}

static void end_team(cj_cpu_multicast *team, unsigned members) {
    cj_cpu_multicast_destroy(team);
    for (unsigned m = 0; m < members; m++) {
        cj_mem_free(device[m], base[m]);
        cj_device_close(device[m]);
    }
}

// Runs the kernel on one member, with that member's memory.
static cj_status launch_on(unsigned member, const char *ptx, unsigned threads, cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_test_ok(cj_module_from_ptx(device[member], ptx, strlen(ptx), &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {1, 1, 1},
                                     .block = {threads, 1, 1},
                                     .arguments = (void *[]){&base[member]},
                                     .argument_count = 1};
    const cj_status        status = cj_launch(device[member], &config, error);
    cj_module_unload(module);
    return status;
}

static void write_words(unsigned members) {
    for (unsigned m = 0; m < members; m++)
        cj_test_ok(cj_mem_write(device[m], base[m], words[m], sizeof words[m], NULL, NULL), NULL);
}

static void read_words(unsigned members) {
    for (unsigned m = 0; m < members; m++)
        cj_test_ok(cj_mem_read(device[m], words[m], base[m], sizeof words[m], NULL, NULL), NULL);
}

// ---- every form

static void prepare(const form *f, unsigned members, cj_ptr address) {
    const unsigned bits = f->e->bits / f->e->parts, values = f->vector * f->e->parts;
    memset(words, 0, sizeof words);
    for (unsigned m = 0; m < members; m++) {
        unsigned char *bytes = (unsigned char *)words[m];
        words[m][TEAM / 8] = address;
        for (unsigned t = 0; t < THREADS; t++) {
            for (unsigned i = 0; i < values; i++) {
                put(bytes + t * CELL, bits, i, encode(bits, f->e->fraction, initial_of(f->e, m, t, i)));
                put(bytes + OPERANDS + t * CELL, bits, i, encode(bits, f->e->fraction, operand_of(f->e, t, i)));
            }
        }
    }
}

// What the i-th value of a thread's cell is on a member after the store or the reduction.
static uint64_t value_of(const form *f, unsigned member, unsigned t, unsigned i) {
    const uint64_t b = operand_of(f->e, t, i);
    return f->operation ? combine(f->operation, initial_of(f->e, member, t, i), b) : b;
}

static void compare(const form *f, unsigned members, unsigned runner, const char *ptx) {
    const unsigned bits = f->e->bits / f->e->parts, values = f->vector * f->e->parts;
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned char loaded[CELL] = {0};
        for (unsigned m = 0; m < members; m++) {
            unsigned char cells[CELL] = {0};
            for (unsigned i = 0; i < values; i++)
                put(cells, bits, i, encode(bits, f->e->fraction, value_of(f, m, t, i)));
            if (memcmp((unsigned char *)words[m] + t * CELL, cells, CELL))
                fail_msg("thread %u: the memory of member %u is wrong\n%s", t, m, ptx);
        }
        for (unsigned i = 0; i < values; i++) {
            uint64_t all = value_of(f, 0, t, i);
            for (unsigned m = 1; m < members; m++) all = combine(f->reduction, all, value_of(f, m, t, i));
            put(loaded, bits, i, encode(bits, f->e->fraction, all));
        }
        if (memcmp((unsigned char *)words[runner] + LOADED + t * CELL, loaded, CELL))
            fail_msg("thread %u: what was loaded is wrong\n%s", t, ptx);
    }
}

static void run(const form *f, unsigned members, const char *ptx) {
    cj_ptr            address;
    cj_error          error = {0};
    const unsigned    runner = members / 2;
    cj_cpu_multicast *team = make_team(members, &address);
    prepare(f, members, address);
    write_words(members);
    if (launch_on(runner, ptx, THREADS, &error)) fail_msg("%s\n%s", error.message, ptx);
    read_words(members);
    compare(f, members, runner, ptx);
    end_team(team, members);
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
static unsigned check(form f, unsigned members) {
    static char ptx[8192];
    char        operation[32], reduction[32];
    unsigned    count = 0;
    for (unsigned k = 0; k < 6; k++) {
        f.operation = k && f.e->operations ? word_of(f.e->operations, k - 1, operation) : NULL;
        f.reduction = word_of(f.e->reductions, k, reduction);
        if (k && !f.operation && !f.reduction) break;
        if (!f.reduction) f.reduction = word_of(f.e->reductions, 0, reduction);
        write_ptx(&f, ptx, sizeof ptx);
        run(&f, members, ptx);
        count++;
    }
    return count;
}

static void check_all(unsigned members) {
    unsigned count = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(elements); i++) {
        for (unsigned vector = 1; vector <= 8; vector *= 2) {
            if (!exists(&elements[i], vector)) continue;
            const form weak = {.e = &elements[i], .vector = vector, .order = "", .acquire = ""},
                       strong = {
                           .e = &elements[i], .vector = vector, .order = ".release.sys", .acquire = ".acquire.gpu"};
            cpu_options.hazards = !cpu_options.hazards;
            count += check(weak, members) + check(strong, members);
        }
    }
    cpu_options.hazards = false;
    print_message("%u kernels\n", count);
}

static void every_form_on_one_device(void **state) {
    (void)state;
    check_all(1);
}

static void every_form_on_several_devices(void **state) {
    (void)state;
    check_all(MEMBERS);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_on_one_device), cmocka_unit_test(every_form_on_several_devices),
        cmocka_unit_test(order_is_what_the_forms_say), cmocka_unit_test(other_memory_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "user_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

// ---- the functions in C: small whole numbers, exact in every type

typedef double (*one)(double x);
typedef double (*two)(double a, double b);

static double square(double x) { return x * x; }
static double next(double x) { return x + 1; }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double sum(double a, double b) { return a + b; }

static double steps(double x) {
    double s = 0;
    for (int i = 0; i < 5; i++) s += x > 3 ? x : i;
    return s;
}

static double picked(double x) { return 1 + ((int)x & 3) * 2 + (((int)x + 1) & 3); }

static double named(double x) {
    if (x == 0) return 7;
    if (x == 1) return 5;
    return x == 2 ? 3 : 1;
}

// ---- cases

static const struct user_case {
    const char *name;
    const char *map, *map_source;  // an expression, or the name of a function in the source; T is the type
    one         map_host;          // NULL: no map
    const char *op, *op_source, *identity;
    two         op_host;
    bool        lowest, highest;  // the identity is the type's lowest or highest value
} cases[] = {
    {.name = "squares", .map = "x * x", .map_host = square, .op_host = sum},
    {.name = "largest", .op = "a > b ? a : b", .op_host = larger, .lowest = true},
    {.name = "smallest of the next",
     .map = "x + 1 // the next",
     .map_host = next,
     .op = "a < b ? a : b",
     .op_host = smaller,
     .highest = true},
    {.name = "a sum of one's own", .op = "a + b", .op_host = sum, .identity = "1 - 1"},
    {.name = "a loop and branches",
     .map = "steps",
     .map_host = steps,
     .op_host = sum,
     .map_source = "__device__ T steps(T x) { T s = 0; for (int i = 0; i < 5; i++) s += x > 3 ? x : (T)i; return s; }"},
    {.name = "a table and a helper that is called",
     .map = "picked",
     .map_host = picked,
     .op_host = sum,
     .map_source = "__constant__ T table[4] = {0, 1, 2, 3};\n"
                   "__device__ T bias = 1;\n"
                   "static __device__ __noinline__ T pick(int i) { return table[i & 3]; }\n"
                   "__device__ T picked(T x) { return bias + pick((int)x) * 2 + pick((int)x + 1); }"},
    {.name = "early returns and colliding names",
     .map = "map",
     .map_host = named,
     .op = "reduce_user_f32",
     .op_host = larger,
     .lowest = true,
     .map_source = "__device__ __noinline__ T part(T x) { if (x == 0) return 7; if (x == 1) return 5;\n"
                   "                                      return x == 2 ? 3 : 1; }\n"
                   "__device__ T map(T thread) { return part(thread); }",
     .op_source =
         "__device__ int map_part = 0;\n"
         "__device__ T reduce_user_f32(T warp_part, T f1) { return warp_part > f1 ? warp_part : f1 + (T)map_part; }"},
};

size_t      cj_test_user_case_count(void) { return CJ_TEST_COUNT(cases); }
const char *cj_test_user_case_name(size_t index) { return cases[index].name; }

static const char *const c_types[] = {[CJ_F32] = "float",    [CJ_F64] = "double",    [CJ_I32] = "int",
                                      [CJ_U32] = "unsigned", [CJ_I64] = "long long", [CJ_U64] = "unsigned long long"};
static const char *const lowest[] = {[CJ_F32] = "-INFINITY", [CJ_F64] = "-INFINITY", [CJ_I32] = "INT_MIN",
                                     [CJ_U32] = "0",         [CJ_I64] = "LLONG_MIN", [CJ_U64] = "0"};
static const char *const highest[] = {[CJ_F32] = "INFINITY", [CJ_F64] = "INFINITY",  [CJ_I32] = "INT_MAX",
                                      [CJ_U32] = "UINT_MAX", [CJ_I64] = "LLONG_MAX", [CJ_U64] = "ULLONG_MAX"};

static cj_signature signature_of(cj_dtype type, uint32_t arguments) {
    cj_signature signature = {.result = type, .count = arguments, .argument = {type, type}};
    if (arguments == 1) signature.name[0] = "x";
    return signature;
}

static cj_user_function *compile(const char *text, const char *source, cj_dtype type, uint32_t arguments) {
    char              typed[1024];
    cj_user_function *function = NULL;
    cj_error          error = {0};
    cj_cuda_desc      desc = {CJ_INIT(desc), .expression = text, .signature = signature_of(type, arguments)};
    if (source) {
        snprintf(typed, sizeof typed, "typedef %s T;\n%s", c_types[type], source);
        desc = (cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = text, .source = typed, .signature = desc.signature};
    }
    cj_test_ok(cj_function_from_cuda(&desc, &function, &error), &error);
    return function;
}

cj_user_function *cj_test_expression(const char *expression, cj_dtype type, uint32_t arguments) {
    return compile(expression, NULL, type, arguments);
}

void cj_test_nvrtc(void) {
    cj_user_function *function = NULL;
    cj_error          error = {0};
    cj_cuda_desc      desc = {CJ_INIT(desc), .expression = "0", .signature = {.result = CJ_F32}};
    if (cj_function_from_cuda(&desc, &function, &error) == CJ_UNSUPPORTED) cj_test_skip("%s", error.message);
    cj_user_function_destroy(function);
}

void cj_test_user_params(size_t index, cj_dtype type, cj_params *params) {
    const struct user_case *c = &cases[index];
    const cj_family        *family = NULL;
    cj_error                error = {0};
    cj_test_ok(cj_family_find("reduce", &family, &error), &error);
    cj_params_init(params, family);
    cj_test_ok(cj_params_set(params, "dtype", cj_dtype_name(type), &error), &error);
    const char       *identity = c->lowest ? lowest[type] : c->highest ? highest[type] : c->identity;
    cj_user_function *map = c->map ? compile(c->map, c->map_source, type, 1) : NULL;
    cj_user_function *op = c->op ? compile(c->op, c->op_source, type, 2) : NULL;
    cj_user_function *start = identity ? compile(identity, NULL, type, 0) : NULL;
    cj_test_ok(cj_params_set_function(params, "map", map, &error), &error);
    cj_test_ok(cj_params_set_function(params, "op-expr", op, &error), &error);
    cj_test_ok(cj_params_set_function(params, "identity", start, &error), &error);
}

void cj_test_user_release(const cj_params *params) {
    for (size_t i = 0; i < CJ_PARAM_MAX; i++) {
        cj_user_function *function;
        memcpy(&function, &params->function[i], sizeof function);  // the case has made it
        cj_user_function_destroy(function);
    }
}

// ---- running

static void store(cj_dtype type, double value, void *to) {
    switch (type) {
#define CJ_X(name, text, bytes, ctype) \
    case CJ_##name: memcpy(to, &(ctype){(ctype)value}, bytes); break;
        CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    }
}

// Small whole numbers, also negative ones if the type has them: f32 holds sums of their squares exactly.
static double element_at(uint64_t i, cj_dtype type) {
    uint64_t state = i;
    double   value = (double)(cj_test_random(&state) % 7);
    return type == CJ_U32 || type == CJ_U64 ? value : value - 3;
}

static double expected(const struct user_case *c, cj_dtype type, uint64_t n) {
    double result = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = element_at(i, type), mapped = c->map_host ? c->map_host(x) : x;
        result = i ? c->op_host(result, mapped) : mapped;
    }
    return result;
}

static void run(cj_device *device, const cj_params *params, cj_ptr x, cj_ptr out, uint64_t n, const void *want,
                const char *where) {
    cj_error   error = {0};
    cj_kernel *kernel = NULL;
    size_t     bytes = cj_dtype_size((cj_dtype)cj_params_get(params, "dtype"));
    cj_test_ok(cj_kernel_create(device, params, &kernel, &error), &error);
    for (int time = 0; time < 2; time++) {
        unsigned char got[8] = {0};
        void         *arguments[] = {&x, &out, &n};
        cj_test_ok(cj_mem_fill(device, out, 0xa5, 8, NULL, &error), &error);
        cj_test_ok(cj_kernel_launch(kernel, NULL, arguments, 3, &error), &error);
        cj_test_ok(cj_mem_read(device, got, out, bytes, NULL, &error), &error);
        if (memcmp(got, want, bytes)) fail_msg("%s: the result is not the host's", where);
    }
    cj_kernel_destroy(kernel);
}

size_t cj_test_user_case(cj_device *device, size_t index, cj_dtype type, const uint64_t *n, size_t n_count,
                         const char *const *cluster, size_t cluster_count) {
    const struct user_case *c = &cases[index];
    size_t                  bytes = cj_dtype_size(type), launches = 0;
    uint64_t                most = n[n_count - 1];
    unsigned char          *host = malloc(most * bytes);
    cj_ptr                  x = 0, out = 0;
    cj_params               params;
    cj_error                error = {0};
    assert_non_null(host);
    for (uint64_t i = 0; i < most; i++) store(type, element_at(i, type), host + i * bytes);
    cj_test_ok(cj_mem_alloc(device, (most + 1) * bytes, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, 8, &out, &error), &error);
    cj_test_user_params(index, type, &params);
    for (uint64_t shift = 0; shift < 2; shift++) {  // aligned to 16 bytes; aligned to the element only
        cj_test_ok(cj_mem_write(device, x + shift * bytes, host, most * bytes, NULL, &error), &error);
        for (size_t i = 0; i < n_count; i++) {
            unsigned char want[8] = {0};
            char          number[24];
            store(type, expected(c, type, n[i]), want);
            snprintf(number, sizeof number, "%" PRIu64, n[i]);
            cj_test_ok(cj_params_set(&params, "n", number, &error), &error);
            for (size_t k = 0; k < cluster_count; k++, launches += 2) {
                char where[128];
                snprintf(where, sizeof where, "%s: %s n=%s cluster=%s shift=%" PRIu64, c->name, cj_dtype_name(type),
                         number, cluster[k], shift);
                cj_test_ok(cj_params_set(&params, "cluster", cluster[k], &error), &error);
                run(device, &params, x + shift * bytes, out, n[i], want, where);
            }
        }
    }
    cj_test_user_release(&params);
    cj_mem_free(device, x);
    cj_mem_free(device, out);
    free(host);
    return launches;
}

// SPDX-License-Identifier: Apache-2.0
// Structures that begin with their size (clusterjit/base.h), from callers of other versions: each public structure as a program
// of an earlier version has it, as one of a later version, and with the size forgotten.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { N = 64, BEYOND = 24 };  // elements of arrays; bytes that a later version has more

static cj_device *device;
static cj_ptr     memory;

#define TEXT                                                                                                  \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing(.param .u64 x)\n.reqntid 32, 1, " \
    "1\n{\nret;\n}\n"

// ---- the calls: each takes the structure as it is given

#define CREATES(noun)                                                        \
    static cj_status make_##noun(const void *given, cj_error *error) {       \
        cj_##noun *made = NULL;                                              \
        cj_status  status = cj_##noun##_create(device, given, &made, error); \
        cj_##noun##_destroy(made);                                           \
        return status;                                                       \
    }
CREATES(argmax)
CREATES(crossentropy)
CREATES(exchange)
CREATES(gemm)
CREATES(histogram)
CREATES(norm)
CREATES(reduce)
CREATES(sample)
CREATES(scan)
CREATES(softmax)
CREATES(sort)
CREATES(stencil)
CREATES(topk)

#define ROWS \
    { .rows = 1, .columns = N }
#define RUNS(noun, ...)                                               \
    static cj_status run_##noun(const void *given, cj_error *error) { \
        const cj_##noun##_desc desc = {CJ_INIT(desc), __VA_ARGS__};   \
        return cj_##noun##_launch(device, &desc, given, NULL, error); \
    }
RUNS(crossentropy, .shape = ROWS)
RUNS(norm, .shape = ROWS)
RUNS(softmax, .shape = ROWS)
RUNS(sample, .columns = N)

static cj_status run_sort(const void *given, cj_error *error) {
    const cj_sort_desc desc = {CJ_INIT(desc), .columns = N, .payload_bytes = 4};
    return cj_sort_launch_pairs(device, &desc, given, NULL, error);
}
RUNS(gemm, .m = 16, .n = 16, .k = 16, .dtype = CJ_BF16)

static cj_status open_device(const void *given, cj_error *error) {
    cj_device *opened = NULL;
    cj_status  status = cj_device_open(given, &opened, error);
    cj_device_close(opened);
    return status;
}

static cj_status configure(const void *given, cj_error *error) { return cj_cpu_configure(device, given, error); }

static cj_status check_text(const void *given, cj_error *error) {
    cj_report *report = NULL;
    cj_status  status = cj_check_ptx(TEXT, strlen(TEXT), given, &report, error);
    cj_report_destroy(report);
    return status;
}

static cj_module   *module;
static cj_function *function;

static cj_status launch(const void *given, cj_error *error) { return cj_launch(device, given, error); }

static cj_status judge(const void *given, cj_error *error) { return cj_contract_check(given, NULL, NULL, error); }

static cj_status shape(const void *given, cj_error *error) {
    cj_launch_shape found;
    return cj_contract_shape(given, &found, error);
}

static cj_status count(const void *given, cj_error *error) {
    cj_cluster_occupancy found = {CJ_INIT(found)};
    return cj_function_occupancy(function, given, &found, error);
}

static cj_status largest(const void *given, cj_error *error) {
    uint32_t blocks;
    return cj_function_max_cluster(function, given, &blocks, error);
}

static cj_status model(const void *given, cj_error *error) {
    cj_cluster_occupancy found = {CJ_INIT(found)};
    return cj_occupancy_model(cj_device_limits(device), given, 2, &found, error);
}

static cj_status compile_nothing(const void *given, cj_error *error) {
    cj_user_function *made = NULL;
    return cj_function_from_cuda(given, &made, error);
}

static cj_status compile_no_text(const void *given, cj_error *error) {
    char *ptx = NULL;
    return cj_ptx_from_cuda(given, &ptx, NULL, error);
}

static cj_status load_no_text(const void *given, cj_error *error) {
    cj_module *made = NULL;
    return cj_module_from_cuda(device, given, &made, error);
}

static void visit_none(void *user, const cj_tuning *tuning) { (void)user, (void)tuning; }

static cj_status list(const void *given, cj_error *error) { return cj_tuning_each(given, visit_none, NULL, error); }

static const cj_sampler plain = {CJ_INIT(plain)};

static cj_status make_texture(const void *given, cj_error *error) {
    uint64_t  made = 0;
    cj_status status = cj_cpu_texture_create(device, given, &plain, &made, error);
    cj_cpu_texture_destroy(device, made);
    return status;
}

static cj_status make_surface(const void *given, cj_error *error) {
    uint64_t  made = 0;
    cj_status status = cj_cpu_surface_create(device, given, &made, error);
    cj_cpu_surface_destroy(device, made);
    return status;
}

static cj_status sample(const void *given, cj_error *error) {
    const cj_image image = {CJ_INIT(image), .address = memory, .format = CJ_TEXEL_F32, .channels = 1, .width = 4};
    uint64_t       made = 0;
    cj_status      status = cj_cpu_texture_create(device, &image, given, &made, error);
    cj_cpu_texture_destroy(device, made);
    return status;
}

// ---- structures that the library reads

static cj_status make_gpus(const void *given, cj_error *error) {
    cj_device *const same[] = {device, device};
    cj_gpus         *made = NULL;
    cj_status        status = cj_gpus_create(same, 2, given, &made, error);
    cj_gpus_destroy(made);
    return status;
}

static cj_status run_gpus(const void *given, cj_error *error) {
    cj_device *const same[] = {device, device};
    cj_gpus         *made = NULL;
    cj_status        status = cj_gpus_create(same, 2, NULL, &made, error);
    if (!status) status = cj_gpus_run(made, given, NULL, NULL, NULL, error);
    cj_gpus_destroy(made);
    return status;
}

static cj_status join_nobody(const void *given, cj_error *error) {
    cj_gpus *made = NULL;
    return cj_gpus_create_rank(device, given, NULL, &made, error);
}

static cj_status run_norm_of_gpus(const cj_gpus_norm_desc *desc, const cj_gpus_norm_arrays *arrays, cj_error *error) {
    cj_device *const same[] = {device, device};
    cj_gpus         *made = NULL;
    cj_status        status = cj_gpus_create(same, 2, NULL, &made, error);
    if (!status) status = cj_gpus_norm(made, desc, arrays, NULL, error);
    cj_gpus_destroy(made);
    return status;
}

static cj_status take_gpus_norm_desc(const void *given, cj_error *error) {
    const cj_ptr              x[] = {memory, memory + 256}, y[] = {memory + 1024, memory + 1280};
    const cj_ptr              sum[] = {memory + 2048, memory + 2304};
    const cj_gpus_norm_arrays arrays = {CJ_INIT(arrays), .x = x, .sum = sum, .y = y};
    return run_norm_of_gpus(given, &arrays, error);
}

static cj_status take_gpus_gemm_desc(const void *given, cj_error *error) {
    static _Alignas(16) uint16_t zeros[2][16];
    cj_device                   *same[] = {device, device};
    cj_gpus                     *made = NULL;
    cj_ptr                       from[2], to[2];
    cj_status                    status = cj_gpus_create(same, 2, NULL, &made, error);
    for (unsigned i = 0; i < 2; i++) {
        if (!status) status = cj_mem_alloc(device, sizeof zeros, &from[i], error);
        if (!status) status = cj_mem_write(device, from[i], zeros, sizeof zeros, NULL, error);
        if (!status) status = cj_mem_alloc(device, sizeof zeros, &to[i], error);
    }
    if (!status) status = cj_gpus_all_gather_gemm(made, given, from, from, to, NULL, error);
    for (unsigned i = 0; i < 2 && made; i++) cj_mem_free(device, from[i]), cj_mem_free(device, to[i]);
    cj_gpus_destroy(made);
    return status;
}

static cj_status take_gpus_norm_arrays(const void *given, cj_error *error) {
    const cj_gpus_norm_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 32};
    return run_norm_of_gpus(&desc, given, error);
}

// One row of 32 on each of two ranks; the labels are zeros.
static cj_status run_sharded(const cj_gpus_crossentropy_desc *loss, const cj_gpus_crossentropy_arrays *arrays,
                             const cj_gpus_softmax_desc *softmax, cj_error *error) {
    const cj_ptr     x[] = {memory, memory + 256}, y[] = {memory + 1024, memory + 1280};
    cj_device *const same[] = {device, device};
    cj_gpus         *made = NULL;
    cj_status        status = cj_gpus_create(same, 2, NULL, &made, error);
    if (!status) status = softmax ? cj_gpus_softmax(made, softmax, x, y, NULL, error)
                                  : cj_gpus_crossentropy(made, loss, arrays, NULL, error);
    cj_gpus_destroy(made);
    return status;
}

static cj_status take_gpus_crossentropy_desc(const void *given, cj_error *error) {
    const cj_ptr x[] = {memory, memory + 256}, loss[] = {memory + 1024, memory + 1280}, lse[] = {memory + 2048, memory + 2304};
    const cj_gpus_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = x, .label = x, .loss = loss, .lse = lse};
    return run_sharded(given, &arrays, NULL, error);
}

static cj_status take_gpus_crossentropy_arrays(const void *given, cj_error *error) {
    const cj_gpus_crossentropy_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 32};
    return run_sharded(&desc, given, NULL, error);
}

static cj_status take_gpus_softmax_desc(const void *given, cj_error *error) { return run_sharded(NULL, NULL, given, error); }

// What a caller gives, the fields after `early` being 0: an earlier version ended there. `refused`: the call says so of any
// caller's structure, as it lacks something; else it goes well.
typedef struct input {
    const char *type;
    size_t      bytes, early;
    const void *given;
    cj_status (*take)(const void *given, cj_error *error);
    bool refused;
} input;

#define INPUT(type, last, take, is_refused, ...) \
    { #type, sizeof(type), offsetof(type, last), &(type){CJ_INIT(type), __VA_ARGS__ }, take, is_refused }

static void check_input(const input *in) {
    unsigned char *given = malloc(in->bytes + BEYOND);
    cj_error       error = {0};
    char           words[160];
    const size_t   later = in->bytes + BEYOND;
    assert_non_null(given);
    for (size_t size = in->early; size <= later; size = size < in->bytes ? in->bytes
                                                        : size < later   ? later
                                                                         : later + 1) {
        memset(given, 0xff, in->bytes + BEYOND);  // of which a smaller structure's reader sees nothing
        memcpy(given, in->given, in->bytes < size ? in->bytes : size);
        if (size > in->bytes) memset(given + in->bytes, 0, BEYOND);
        memcpy(given, &size, sizeof size);
        const cj_status status = in->take(given, &error);
        if (!!status != in->refused || (status && strstr(error.message, "struct_size")))
            fail_msg("%s of %zu bytes: %s", in->type, size, error.message);
    }
    for (int k = 0; k < BEYOND; k += BEYOND - 1) {
        memcpy(given, in->given, in->bytes);
        memset(given + in->bytes, 0, BEYOND);
        memcpy(given, &later, sizeof later);
        given[in->bytes + (size_t)k] = 1;
        assert_int_equal(in->take(given, &error), CJ_INVALID_ARGUMENT);
        snprintf(words, sizeof words, "%s: the caller's has %zu bytes, version %s knows %zu, and byte %zu is not 0",
                 in->type, later, cj_version(), in->bytes, in->bytes + (size_t)k);
        assert_string_equal(error.message, words);
        assert_true(*error.hint);
    }
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        memcpy(given, &wrong[i], sizeof wrong[i]);
        assert_int_equal(in->take(given, &error), CJ_INVALID_ARGUMENT);
        snprintf(words, sizeof words, "%s: struct_size is %zu", in->type, wrong[i]);
        if (strncmp(error.message, words, strlen(words))) fail_msg("not '%s': %s", words, error.message);
        assert_non_null(strstr(error.hint, "CJ_INIT"));
    }
    free(given);
}

static void what_callers_give(void **state) {
    (void)state;
    const cj_ptr     x = memory, y = memory + 4096;
    void            *argument[] = {&memory};
    const cj_limits *limits = cj_device_limits(device);
    const cj_dim3    one = {1, 1, 1}, warp = {32, 1, 1};
    const cj_ptr     two[] = {memory, memory + 256}, more[] = {memory + 1024, memory + 1280};
    const input      inputs[] = {
             INPUT(cj_gpus_crossentropy_desc, smoothing, take_gpus_crossentropy_desc, false, .rows = 1, .columns = 32),
             INPUT(cj_gpus_crossentropy_arrays, dx, take_gpus_crossentropy_arrays, false, .x = two, .label = two, .loss = more,
                   .lse = more),
             INPUT(cj_gpus_softmax_desc, log, take_gpus_softmax_desc, false, .rows = 1, .columns = 32),
             INPUT(cj_gpus_norm_desc, residual, take_gpus_norm_desc, false, .rows = 1, .columns = 32),
             INPUT(cj_gpus_gemm_desc, chunks, take_gpus_gemm_desc, false, .m = 2, .n = 4, .k = 4, .dtype = CJ_TF32, .b = CJ_GEMM_COLUMN),
             INPUT(cj_gpus_norm_arrays, weight, take_gpus_norm_arrays, false, .x = two, .sum = more, .y = more),
             INPUT(cj_argmax_desc, dtype, make_argmax, false, .columns = N),
             INPUT(cj_crossentropy_desc, smoothing, make_crossentropy, false, .shape = ROWS),
             INPUT(cj_exchange_desc, block, make_exchange, false, .n = N),
             INPUT(cj_gemm_desc, bias, make_gemm, false, .m = 16, .n = 16, .k = 16, .dtype = CJ_BF16),
             INPUT(cj_histogram_desc, cluster, make_histogram, false, .n = N),
             INPUT(cj_norm_desc, epsilon, make_norm, false, .shape = ROWS),
             INPUT(cj_reduce_desc, map, make_reduce, false, .n = N),
             INPUT(cj_sample_desc, block, make_sample, false, .columns = N),
             INPUT(cj_scan_desc, op_function, make_scan, false, .columns = N),
             INPUT(cj_softmax_desc, scale, make_softmax, false, .shape = ROWS),
             INPUT(cj_sort_desc, block, make_sort, false, .columns = N),
             INPUT(cj_stencil_desc, weights, make_stencil, false, .extent = {8, 8}),
             INPUT(cj_topk_desc, block, make_topk, false, .columns = N, .k = 2),
             INPUT(cj_crossentropy_arrays, dx, run_crossentropy, false, .x = x, .label = x, .loss = y, .lse = y + 256),
             INPUT(cj_norm_arrays, dy, run_norm, false, .x = x, .y = y),
             INPUT(cj_sort_arrays, offsets, run_sort, false, .x = x, .payload = x, .sorted_payload = y, .values = y + 1024, .indices = y + 2048),
             INPUT(cj_softmax_arrays, mask, run_softmax, false, .x = x, .y = y),
             INPUT(cj_sample_arrays, offset_rows, run_sample, false, .logits = x, .tokens = y),
             INPUT(cj_gemm_operands, scale_a, run_gemm, false, .a = x, .b = x, .c = x, .d = y, .alpha = 1),
             INPUT(cj_gpus_desc, grid, run_gpus, false, .op = CJ_GPUS_BARRIER),
             INPUT(cj_gpus_exchange, all_gather, join_nobody, true, .size = 2),
             INPUT(cj_gpus_options, limit, make_gpus, false, .mail_bytes = 1024),
             INPUT(cj_device_options, context, open_device, false, .spec = "cpu"),
             INPUT(cj_cpu_options, print, configure, false, .threads = 2),
             INPUT(cj_check_options, arch, check_text, false, .arch = NULL),
             INPUT(cj_launch_config, nonportable, launch, false, .function = function, .grid = one, .block = warp,
                   .arguments = argument, .argument_count = 1),
             INPUT(cj_contract_query, shape.preferred, judge, false, .limits = limits, .shape = {one, warp, {0}}),
             INPUT(cj_contract_query, shape.preferred, shape, false, .limits = limits, .shape = {one, warp, {0}}),
             INPUT(cj_occupancy_query, dynamic_shared, count, false, .block = warp),
             INPUT(cj_occupancy_query, dynamic_shared, largest, false, .block = warp),
             INPUT(cj_block_use, shared, model, false, .threads = 32),
             INPUT(cj_cuda_desc, options, compile_nothing, true, .source = ""),
             INPUT(cj_cuda_source, options, compile_no_text, true, .name = ""),
             INPUT(cj_cuda_source, options, load_no_text, true, .name = ""),
             INPUT(cj_tuning_filter, problem, list, false, .device = device),
             INPUT(cj_image, row_bytes, make_texture, false, .address = memory, .format = CJ_TEXEL_F32, .channels = 1,
                   .width = 4),
             INPUT(cj_image, row_bytes, make_surface, false, .address = memory, .format = CJ_TEXEL_F32, .channels = 1,
                   .width = 4),
             INPUT(cj_sampler, border, sample, false, .filter = CJ_FILTER_POINT),
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(inputs); i++) check_input(&inputs[i]);
}

// ---- structures that the library fills in

static cj_status read_occupancy(void *result, cj_error *error) {
    const cj_block_use use = {CJ_INIT(use), .threads = 32};
    return cj_occupancy_model(cj_device_limits(device), &use, 2, result, error);
}

static cj_status read_function_occupancy(void *result, cj_error *error) {
    const cj_occupancy_query query = {CJ_INIT(query), .block = {32, 1, 1}};
    return cj_function_occupancy(function, &query, result, error);
}

static cj_status read_text_occupancy(void *result, cj_error *error) {
    const cj_occupancy_query query = {CJ_INIT(query), .block = {32, 1, 1}};
    return cj_ptx_occupancy(cj_device_limits(device), TEXT, strlen(TEXT), NULL, &query, result, error);
}

static cj_status read_heap(void *result, cj_error *error) { return cj_cpu_heap_read(device, result, error); }
static cj_status read_stats(void *result, cj_error *error) { return cj_cpu_stats_read(device, result, error); }
static cj_status read_info(void *result, cj_error *error) { return cj_function_info(function, result, error); }

typedef struct output {
    const char *type;
    size_t      bytes;
    cj_status (*fill)(void *result, cj_error *error);
} output;

// An earlier caller gets the first fields and nothing after them; a later one 0 for those that this version does not know.
static void check_output(const output *out) {
    unsigned char *full = calloc(1, out->bytes), *part = malloc(out->bytes + BEYOND);
    cj_error       error = {0};
    const size_t   sizes[] = {sizeof(size_t), out->bytes / 2, out->bytes, out->bytes + BEYOND}, wrong[] = {0, 7, 4097};
    assert_true(full && part);
    memcpy(full, &out->bytes, sizeof out->bytes);
    cj_test_ok(out->fill(full, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(sizes); i++) {
        const size_t size = sizes[i], common = size < out->bytes ? size : out->bytes;
        memset(part, 0xaa, out->bytes + BEYOND);
        memcpy(part, &size, sizeof size);
        cj_test_ok(out->fill(part, &error), &error);
        assert_memory_equal(part, &size, sizeof size);
        assert_memory_equal(part + sizeof size, full + sizeof size, common - sizeof size);
        for (size_t k = common; k < out->bytes + BEYOND; k++) assert_int_equal(part[k], k < size ? 0 : 0xaa);
    }
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        memcpy(part, &wrong[i], sizeof wrong[i]);
        assert_int_equal(out->fill(part, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, out->type));
        assert_non_null(strstr(error.hint, "CJ_INIT"));
    }
    free(full);
    free(part);
}

static void what_the_library_fills_in(void **state) {
    (void)state;
    static const output outputs[] = {
        {"cj_cluster_occupancy", sizeof(cj_cluster_occupancy), read_occupancy},
        {"cj_cluster_occupancy", sizeof(cj_cluster_occupancy), read_function_occupancy},
        {"cj_cluster_occupancy", sizeof(cj_cluster_occupancy), read_text_occupancy},
        {"cj_cpu_heap_state", sizeof(cj_cpu_heap_state), read_heap},
        {"cj_cpu_stats", sizeof(cj_cpu_stats), read_stats},
        {"cj_entry_info", sizeof(cj_entry_info), read_info},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(outputs); i++) check_output(&outputs[i]);
}

// A later program's candidates are further apart.
static void candidates_are_of_the_callers_size(void **state) {
    (void)state;
    struct later {
        cj_cluster_occupancy known;
        uint64_t             more[2];
    } candidates[3] = {{{sizeof(struct later), .cluster = 1, .active_clusters = 132}, {1, 2}},
                       {{sizeof(struct later), .cluster = 2, .active_clusters = 66}, {3, 4}},
                       {{sizeof(struct later), .cluster = 8, .active_clusters = 15}, {5, 6}}};
    assert_int_equal(cj_occupancy_choose(&candidates[0].known, 3, 5, 90), 2);
    assert_int_equal(cj_occupancy_choose(&candidates[0].known, 3, 0, 90), 1);
    candidates[0].known.struct_size = 0;
    assert_int_equal(cj_occupancy_choose(&candidates[0].known, 3, 5, 90), 3);
}

// The shape that cj_contract_shape writes is no larger than its query's.
static void a_shape_has_the_size_of_its_query(void **state) {
    (void)state;
    cj_contract_query query = {CJ_INIT(query), .shape = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cooperative = true}};
    cj_launch_shape   found;
    cj_error          error = {0};
    query.struct_size = offsetof(cj_contract_query, shape.preferred);
    memset(&found, 0xaa, sizeof found);
    cj_test_ok(cj_contract_shape(&query, &found, &error), &error);
    assert_int_equal(found.grid.x, 2);
    assert_int_equal(((unsigned char *)&found)[offsetof(cj_launch_shape, preferred)], 0xaa);
}

// ---- structures with reserved words

static void reserved_words_are_zero(void **state) {
    (void)state;
    cj_limits        limits = *cj_device_limits(device);
    cj_plan          plan;
    cj_params        params;
    cj_kernel       *kernel = NULL;
    const cj_family *family = NULL;
    char            *text = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_family_find("reduce", &family, &error), &error);
    cj_params_init(&params, family);
    cj_test_ok(cj_plan_make(&params, &limits, NULL, &plan, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(plan.reserved); i++) assert_int_equal(plan.reserved[i], 0);
    plan.reserved[7] = 5;
    assert_int_equal(cj_plan_emit(&plan, &text, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "cj_plan: reserved[7] is 0x5"));
    assert_int_equal(cj_kernel_load(device, &plan, &kernel, &error), CJ_INVALID_ARGUMENT);
    limits.reserved[0] = 1;
    assert_int_equal(cj_plan_make(&params, &limits, NULL, &plan, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "cj_limits: reserved[0] is 0x1"));
    const cj_contract_query query = {CJ_INIT(query), .limits = &limits};
    assert_int_equal(cj_contract_check(&query, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "cj_limits: reserved[0]"));
}

static int start(void **state) {
    (void)state;
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    return cj_device_open(&options, &device, NULL) || cj_mem_alloc(device, 8192, &memory, NULL) ||
           cj_mem_fill(device, memory, 0, 8192, NULL, NULL) ||
           cj_module_from_ptx(device, TEXT, strlen(TEXT), &module, NULL) ||
           cj_module_function(module, "nothing", &function, NULL);
}

static int finish(void **state) {
    (void)state;
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_callers_give),
        cmocka_unit_test(what_the_library_fills_in),
        cmocka_unit_test(candidates_are_of_the_callers_size),
        cmocka_unit_test(a_shape_has_the_size_of_its_query),
        cmocka_unit_test(reserved_words_are_zero),
    };
    return cmocka_run_group_tests(tests, start, finish);
}

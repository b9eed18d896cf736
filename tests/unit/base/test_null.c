// SPDX-License-Identifier: Apache-2.0
// Every public function that returns a cj_status, with NULL for each of its pointers in turn: INVALID_ARGUMENT, in words
// that say so, where the header does not allow NULL. The calls are generated from the headers (tests/support/null_calls.cmake).
#include <clusterjit/clusterjit.h>
#include <clusterjit/contract.h>
#include <clusterjit/cpu.h>
#include <clusterjit/tuning.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

// Where a header allows NULL. What is made then, other tests look at.
static const char *const optional[] = {
    "cj_workspaces_set workspaces",
    "cj_device_open options",
    "cj_check_ptx options",
    "cj_format_ptx text_length",
    "cj_ptx_from_cuda length",
    "cj_plan_emit length",
    "cj_builder_finish length",
    "cj_plan_make arch",
    "cj_tuning_plan arch",
    "cj_tuning_each filter",
    "cj_tuning_forget filter",
    "cj_tuning_forget count",
    "cj_params_set_function function",
    "cj_cpu_configure options",
    "cj_ptx_occupancy entry",
    "cj_tensormap_encode_tiled strides",
    "cj_tensormap_encode_im2col strides",
    "cj_tensormap_encode_tiled element_strides",
    "cj_tensormap_encode_im2col element_strides",
    "cj_cache_clear entries",
    "cj_cache_clear bytes",
    "cj_params_set_reals value",
    "cj_builder_finish builder",
    "cj_module_global address",
    "cj_module_global bytes",
    "cj_gpus_create options",
    "cj_gpus_create_rank options",
    "cj_gpus_create_env options",
    "cj_gpus_create_nccl options",
    "cj_gpus_about desc",
};

static const char text_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry copy(.param .u64 x)\n{\n    ret;\n}\n";
static const char text_arch[] = "sm_90", text_entry[] = "copy", text_name[] = "n", text_text[] = "1", text_path[16];

static cj_device   *device;
static cj_builder  *builder;
static cj_module   *module;
static cj_function *function;
static cj_params    params;
static cj_plan      plan;
static cj_limits    limits;
static cj_kernel   *kernel;
static cj_ptr       memory;
static void        *slot;
static cj_error     error_of_call;
static uint64_t     numbers[64];
static _Alignas(64) unsigned char bytes[1 << 16];  // plain data, all zero

static const cj_reduce_desc       reduce_desc = {CJ_INIT(reduce_desc), .n = 16};
static const cj_histogram_desc    histogram_desc = {CJ_INIT(histogram_desc), .n = 16, .bins = 4};
static const cj_stencil_desc      stencil_desc = {CJ_INIT(stencil_desc), .extent = {4, 4, 1}};
static const cj_scan_desc         scan_desc = {CJ_INIT(scan_desc), .rows = 1, .columns = 16};
static const cj_topk_desc         topk_desc = {CJ_INIT(topk_desc), .rows = 1, .columns = 16, .k = 2};
static const cj_sort_desc         sort_desc = {CJ_INIT(sort_desc), .rows = 1, .columns = 16};
static const cj_sample_desc       sample_desc = {CJ_INIT(sample_desc), .rows = 1, .columns = 16};
static const cj_argmax_desc       argmax_desc = {CJ_INIT(argmax_desc), .rows = 1, .columns = 16};
static const cj_exchange_desc     exchange_desc = {CJ_INIT(exchange_desc), .pattern = CJ_EXCHANGE_RING};
static const cj_gemm_desc         gemm_desc = {CJ_INIT(gemm_desc), .m = 16, .n = 16, .k = 16, .dtype = CJ_BF16};
static const cj_softmax_desc      softmax_desc = {CJ_INIT(softmax_desc), .shape = {.rows = 1, .columns = 16}};
static const cj_norm_desc         norm_desc = {CJ_INIT(norm_desc), .shape = {.rows = 1, .columns = 16}};
static const cj_crossentropy_desc crossentropy_desc = {CJ_INIT(crossentropy_desc), .shape = {.rows = 1, .columns = 16}};

static cj_softmax      *softmax;
static cj_sample       *sample;
static cj_sort         *sort;
static cj_norm         *norm;
static cj_crossentropy *crossentropy;
static cj_gemm         *gemm;
static cj_gpus         *gpus;
static cj_cpu_multicast *multicast;

#define GOOD_cj_error(name) (&error_of_call)
#define GOOD_cj_stream(name) NULL
#define GOOD_cj_ptr(name) memory
#define GOOD_cj_device(name) device
#define GOOD_cj_builder(name) builder
#define GOOD_cj_module(name) module
#define GOOD_cj_function(name) function
#define GOOD_cj_params(name) (&params)
#define GOOD_cj_plan(name) (&plan)
#define GOOD_cj_limits(name) (&limits)
#define GOOD_cj_kernel(name) kernel
#define GOOD_cj_reduce_desc(name) (&reduce_desc)
#define GOOD_cj_histogram_desc(name) (&histogram_desc)
#define GOOD_cj_stencil_desc(name) (&stencil_desc)
#define GOOD_cj_scan_desc(name) (&scan_desc)
#define GOOD_cj_topk_desc(name) (&topk_desc)
#define GOOD_cj_sort_desc(name) (&sort_desc)
#define GOOD_cj_argmax_desc(name) (&argmax_desc)
#define GOOD_cj_sample_desc(name) (&sample_desc)
#define GOOD_cj_exchange_desc(name) (&exchange_desc)
#define GOOD_cj_gemm_desc(name) (&gemm_desc)
#define GOOD_cj_softmax_desc(name) (&softmax_desc)
#define GOOD_cj_norm_desc(name) (&norm_desc)
#define GOOD_cj_crossentropy_desc(name) (&crossentropy_desc)
#define GOOD_cj_softmax(name) softmax
#define GOOD_cj_sample(name) sample
#define GOOD_cj_sort(name) sort
#define GOOD_cj_norm(name) norm
#define GOOD_cj_crossentropy(name) crossentropy
#define GOOD_cj_gemm(name) gemm
#define GOOD_cj_gpus(name) gpus
#define GOOD_cj_cpu_multicast(name) multicast

// Plain data.
#define GOOD_cj_allocator(name) SIZED_DATA(cj_allocator)
#define GOOD_cj_workspaces(name) SIZED_DATA(cj_workspaces)
#define SIZED_DATA(type) (&(type){CJ_INIT(type)})
#define GOOD_cj_block_use(name) SIZED_DATA(cj_block_use)
#define GOOD_cj_check_options(name) SIZED_DATA(cj_check_options)
#define GOOD_cj_cluster_occupancy(name) SIZED_DATA(cj_cluster_occupancy)
#define GOOD_cj_contract_query(name) SIZED_DATA(cj_contract_query)
#define GOOD_cj_cpu_options(name) SIZED_DATA(cj_cpu_options)
#define GOOD_cj_cpu_heap_state(name) SIZED_DATA(cj_cpu_heap_state)
#define GOOD_cj_entry_info(name) SIZED_DATA(cj_entry_info)
#define GOOD_cj_cpu_stats(name) SIZED_DATA(cj_cpu_stats)
#define GOOD_cj_gpus_desc(name) (&(cj_gpus_desc){CJ_INIT(cj_gpus_desc), .count = 8})
#define GOOD_cj_gpus_exchange(name) SIZED_DATA(cj_gpus_exchange)
#define GOOD_cj_gpus_info(name) SIZED_DATA(cj_gpus_info)
#define GOOD_cj_gpus_options(name) SIZED_DATA(cj_gpus_options)
#define GOOD_cj_gpus_crossentropy_desc(name) (&(cj_gpus_crossentropy_desc){CJ_INIT(cj_gpus_crossentropy_desc), .rows = 1, .columns = 8})
#define GOOD_cj_gpus_crossentropy_arrays(name) SIZED_DATA(cj_gpus_crossentropy_arrays)
#define GOOD_cj_gpus_softmax_desc(name) (&(cj_gpus_softmax_desc){CJ_INIT(cj_gpus_softmax_desc), .rows = 1, .columns = 8})
#define GOOD_cj_gpus_norm_desc(name) (&(cj_gpus_norm_desc){CJ_INIT(cj_gpus_norm_desc), .rows = 1, .columns = 8})
#define GOOD_cj_gpus_gemm_desc(name) \
    (&(cj_gpus_gemm_desc){CJ_INIT(cj_gpus_gemm_desc), .m = 2, .n = 8, .k = 8, .dtype = CJ_BF16})
#define GOOD_cj_gpus_norm_arrays(name) SIZED_DATA(cj_gpus_norm_arrays)
#define GOOD_cj_image(name) SIZED_DATA(cj_image)
#define GOOD_cj_sampler(name) SIZED_DATA(cj_sampler)
#define GOOD_cj_crossentropy_arrays(name) SIZED_DATA(cj_crossentropy_arrays)
#define GOOD_int(name) ((void *)bytes)
#define GOOD_cj_cuda_desc(name) SIZED_DATA(cj_cuda_desc)
#define GOOD_cj_cuda_source(name) SIZED_DATA(cj_cuda_source)
#define GOOD_cj_device_options(name) SIZED_DATA(cj_device_options)
#define GOOD_cj_gemm_operands(name) SIZED_DATA(cj_gemm_operands)
#define GOOD_cj_launch_config(name) SIZED_DATA(cj_launch_config)
#define GOOD_cj_launch_shape(name) ((void *)bytes)
#define GOOD_cj_norm_arrays(name) SIZED_DATA(cj_norm_arrays)
#define GOOD_cj_occupancy_query(name) SIZED_DATA(cj_occupancy_query)
#define GOOD_cj_signature(name) ((void *)bytes)
#define GOOD_cj_sample_arrays(name) SIZED_DATA(cj_sample_arrays)
#define GOOD_cj_sort_arrays(name) SIZED_DATA(cj_sort_arrays)
#define GOOD_cj_softmax_arrays(name) SIZED_DATA(cj_softmax_arrays)
#define GOOD_cj_tensormap(name) ((void *)bytes)
#define GOOD_cj_tuning_filter(name) SIZED_DATA(cj_tuning_filter)
#define GOOD_cj_user_function(name) ((void *)bytes)
#define GOOD_void(name) ((void *)bytes)
#define GOOD_voidpointers(name) ((void *)bytes)

#define GOOD_slot(name) ((void *)&slot)
#define GOOD_numbers(name) ((void *)numbers)
#define GOOD_char(name) ((void *)(uintptr_t)text_##name)

#define GOOD_callback(name) NULL
#define GOOD_cj_cache_visit(name) NULL
#define GOOD_cj_tuning_visit(name) NULL
#define GOOD_cj_tensormap_type(name) CJ_TENSORMAP_F32
#define GOOD_cj_tensormap_interleave(name) CJ_TENSORMAP_INTERLEAVE_NONE
#define GOOD_cj_tensormap_swizzle(name) CJ_TENSORMAP_SWIZZLE_NONE
#define GOOD_cj_tensormap_l2(name) CJ_TENSORMAP_L2_NONE
#define GOOD_cj_tensormap_fill(name) CJ_TENSORMAP_FILL_ZEROS
#define GOOD_uint32_t(name) 2
#define GOOD_uint64_t(name) 16u
#define GOOD_uint8_t(name) 0
#define GOOD_double(name) 1.0
#define GOOD_size_t(name) GOOD_size_t_##name
#define GOOD_size_t_bytes 16
#define GOOD_size_t_size 16
#define GOOD_size_t_length (sizeof text_ptx - 1)

#define NULL_VOID(name, pointer, call)         // test_null_values.c
#define NULL_VALUE(type, name, pointer, call)  // alike
#define NULL_CALL(name, pointer, call) \
    static cj_status null_##name##_##pointer(void) { return call; }
#include "null_calls.h"
#undef NULL_CALL

static const struct {
    const char *name;
    cj_status (*call)(void);
} calls[] = {
#define NULL_CALL(name, pointer, call) {#name " " #pointer, null_##name##_##pointer},
#include "null_calls.h"
#undef NULL_CALL
};

static bool is_optional(const char *name) {
    for (size_t i = 0; i < CJ_TEST_COUNT(optional); i++)
        if (!strcmp(name, optional[i])) return true;
    return false;
}

static void every_public_function_refuses_null(void **state) {
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        if (is_optional(calls[i].name)) continue;
        fprintf(stderr, "%s\r\033[K", calls[i].name);  // what a crash leaves
        error_of_call = (cj_error){0};
        const cj_status status = calls[i].call();
        const char     *words = error_of_call.message;
        if (status == CJ_INVALID_ARGUMENT && (strstr(words, " is 0") || strstr(words, "NULL"))) continue;
        printf("%s: %s '%s'\n", calls[i].name, cj_status_name(status), words);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_true(CJ_TEST_COUNT(calls) > 150);
}

static void names_of_what_may_be_null_are_right(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(optional); i++) {
        bool found = false;
        for (size_t k = 0; k < CJ_TEST_COUNT(calls); k++) found |= !strcmp(calls[k].name, optional[i]);
        if (!found) fail_msg("there is no '%s'", optional[i]);
    }
}

static void handles_without_a_kernel_have_none(void **state) {
    (void)state;
    assert_null(cj_reduce_kernel(NULL));
    assert_null(cj_softmax_kernel(NULL));
    assert_null(cj_sample_kernel(NULL));
    assert_null(cj_gemm_kernel(NULL));
}

// Values that no launch could be right with are refused when the kernel is made.
static void what_cannot_be_right_is_refused_at_once(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gemm     *product = NULL;
    cj_norm     *made = NULL;
    cj_gemm_desc g = {CJ_INIT(g), .m = 128, .n = 128, .k = 64, .dtype = CJ_BF16};
    cj_norm_desc n = norm_desc;
    const struct {
        uint64_t   *leading;
        const char *words;
    } rows[] = {{&g.lda, "lda: 1 elements are less than the 64 "},
                {&g.ldb, "ldb: 1 elements are less than the 128 "},
                {&g.ldd, "ldd: 1 elements are less than the 128 "}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        *rows[i].leading = 1;
        assert_int_equal(cj_gemm_create(device, &g, &product, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, rows[i].words));
        assert_int_equal(cj_gemm_launch(device, &g, GOOD_cj_gemm_operands(0), NULL, &error), CJ_INVALID_ARGUMENT);
        *rows[i].leading = 0;
    }
    g.a = g.b = g.d = CJ_GEMM_COLUMN;
    g.lda = 64;
    assert_int_equal(cj_gemm_create(device, &g, &product, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "lda: 64 elements are less than the 128 "));
    g.lda = 128, g.ldb = 64, g.ldd = 128, g.ldc = 1;  // C is not there
    cj_test_ok(cj_gemm_create(device, &g, &product, &error), &error);
    cj_gemm_destroy(product);
    n.epsilon = -1e-5;
    assert_int_equal(cj_norm_create(device, &n, &made, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "epsilon: -1e-05 is below 0"));
}

static int set_up(void **state) {
    (void)state;
    cj_error         e = {0};
    const cj_family *family;
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &e), &e);
    limits = *cj_device_limits(device);
    cj_test_ok(cj_family_find("reduce", &family, &e), &e);
    cj_params_init(&params, family);
    cj_test_ok(cj_plan_make(&params, &limits, NULL, &plan, &e), &e);
    cj_test_ok(cj_kernel_create(device, &params, &kernel, &e), &e);
    cj_test_ok(cj_mem_alloc(device, 256, &memory, &e), &e);
    cj_test_ok(cj_module_from_ptx(device, text_ptx, sizeof text_ptx - 1, &module, &e), &e);
    cj_test_ok(cj_module_function(module, "copy", &function, &e), &e);
    cj_test_ok(cj_sample_create(device, &sample_desc, &sample, &e), &e);
    cj_test_ok(cj_sort_create(device, &sort_desc, &sort, &e), &e);
    cj_test_ok(cj_softmax_create(device, &softmax_desc, &softmax, &e), &e);
    cj_test_ok(cj_norm_create(device, &norm_desc, &norm, &e), &e);
    cj_test_ok(cj_crossentropy_create(device, &crossentropy_desc, &crossentropy, &e), &e);
    cj_test_ok(cj_gemm_create(device, &gemm_desc, &gemm, &e), &e);
    cj_test_ok(cj_gpus_create((cj_device *[]){device, device}, 2, NULL, &gpus, &e), &e);
    cj_test_ok(cj_cpu_multicast_create(&device, 1, 64, 0, &multicast, &e), &e);
    builder = cj_builder_create("sm_90");
    return builder ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    cj_builder_destroy(builder);
    cj_softmax_destroy(softmax);
    cj_sample_destroy(sample);
    cj_sort_destroy(sort);
    cj_norm_destroy(norm);
    cj_crossentropy_destroy(crossentropy);
    cj_gemm_destroy(gemm);
    cj_gpus_destroy(gpus);
    cj_cpu_multicast_destroy(multicast);
    cj_kernel_destroy(kernel);
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_what_may_be_null_are_right),
        cmocka_unit_test(every_public_function_refuses_null),
        cmocka_unit_test(handles_without_a_kernel_have_none),
        cmocka_unit_test(what_cannot_be_right_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

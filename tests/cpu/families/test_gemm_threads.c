// SPDX-License-Identifier: Apache-2.0
// One handle of a matrix product in several threads, each with matrices of its own and with others in between: no
// launch has another's tensor maps.
#include "test.h"

#include <clusterjit/gemm.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, SIZE = 64, ELEMENTS = SIZE * SIZE, LAUNCHES = 12, FEW = 4 };

static cj_gemm *gemm;

// Small whole numbers as bf16: the upper half of an f32.
static uint16_t bf16(float x) {
    union {
        float    value;
        uint32_t bits;
    } u = {x};
    return (uint16_t)(u.bits >> 16);
}

static void fill(cj_ptr to, float x) {
    uint16_t element[ELEMENTS];
    cj_error error = {0};
    for (int i = 0; i < ELEMENTS; i++) element[i] = bf16(x);
    cj_test_ok(cj_mem_write(cj_test_device, to, element, sizeof element, NULL, &error), &error);
}

typedef struct worker {
    cj_ptr   a[2], b, d[2];
    float    x[2];  // all elements of a
    unsigned wrong;
} worker;

static void *multiply(void *user) {
    worker        *w = user;
    const unsigned launches = cj_test_few() ? FEW : LAUNCHES;
    for (unsigned i = 0; i < launches; i++) {
        const unsigned         set = i / 3 % 2;  // three launches alike, then three others
        const cj_gemm_operands o = {CJ_INIT(o), .a = w->a[set], .b = w->b, .d = w->d[set], .alpha = 1};
        uint16_t               got[ELEMENTS];
        w->wrong += cj_mem_fill(cj_test_device, w->d[set], 0xff, sizeof got, NULL, NULL) ||
                    cj_gemm_run(gemm, &o, NULL, NULL) ||
                    cj_mem_read(cj_test_device, got, w->d[set], sizeof got, NULL, NULL);
        for (int k = 0; k < ELEMENTS; k++) w->wrong += got[k] != bf16(SIZE * w->x[set]);
    }
    return NULL;
}

static cj_ptr allocate(float x) {
    cj_ptr   memory = 0;
    cj_error error = {0};
    cj_test_ok(cj_mem_alloc(cj_test_device, ELEMENTS * sizeof(uint16_t), &memory, &error), &error);
    fill(memory, x);
    return memory;
}

static void threads_share_a_handle(void **state) {
    (void)state;
    const cj_gemm_desc desc = {CJ_INIT(desc), .m = SIZE, .n = SIZE, .k = SIZE, .dtype = CJ_BF16};
    worker             w[THREADS];
    pthread_t          thread[THREADS];
    cj_error           error = {0};
    cj_test_ok(cj_gemm_create(cj_test_device, &desc, &gemm, &error), &error);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.b = allocate(1), .x = {(float)(2 * i + 1), (float)(2 * i + 2)}};
        for (int set = 0; set < 2; set++) w[i].a[set] = allocate(w[i].x[set]), w[i].d[set] = allocate(0);
        pthread_create(&thread[i], NULL, multiply, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(w[i].wrong, 0);
        for (int set = 0; set < 2; set++)
            cj_mem_free(cj_test_device, w[i].a[set]), cj_mem_free(cj_test_device, w[i].d[set]);
        cj_mem_free(cj_test_device, w[i].b);
    }
    cj_gemm_destroy(gemm);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_handle)};
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}

// SPDX-License-Identifier: Apache-2.0
// Values made once and shared, and kernels found without a lock, with 24 threads at them.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "registry.h"
#include "warm.h"

enum { THREADS = 24, ROUNDS = 1000, KEYS = 8 };

static void run_threads(void *(*work)(void *user), void *user) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, user), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
}

// ---- the registry

typedef struct value {
    cj_share *share;
    int       key;
} value;

typedef struct factory {
    cj_registry registry;
    atomic_int  made, alive, failures;  // failures: how many makes from now on fail
    long        nanoseconds;            // that a make takes
} factory;

typedef struct order {
    factory *from;
    int      key;
} order;

static cj_status make(void *user, cj_share *share, void **made, cj_error *error) {
    const order          *o = user;
    const struct timespec pause = {0, o->from->nanoseconds};
    nanosleep(&pause, NULL);
    if (atomic_fetch_sub(&o->from->failures, 1) > 0) return cj__fail(error, CJ_COMPILER, "key %d fails", o->key);
    value *v = malloc(sizeof *v);
    *v = (value){share, o->key};
    atomic_fetch_add(&o->from->made, 1);
    atomic_fetch_add(&o->from->alive, 1);
    *made = v;
    return CJ_OK;
}

static cj_status get(factory *from, int key, value **v, cj_error *error) {
    order     o = {from, key};
    void     *found = NULL;
    cj_status status = cj__registry_get(&from->registry, &key, sizeof key, make, &o, &found, error);
    if (!status) *v = found;
    return status;
}

static void drop(factory *from, value *v) {
    value *last = cj__registry_drop(&from->registry, v->share);
    if (last) atomic_fetch_sub(&from->alive, 1);
    free(last);
}

static void a_value_lives_as_long_as_someone_holds_it(void **state) {
    (void)state;
    factory  f = {0};
    value   *a = NULL, *b = NULL, *c = NULL;
    cj_error error = {0};
    cj__registry_init(&f.registry);
    cj_test_ok(get(&f, 1, &a, &error), &error);
    cj_test_ok(get(&f, 1, &b, &error), &error);
    cj_test_ok(get(&f, 2, &c, &error), &error);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    drop(&f, a);
    assert_int_equal(f.alive, 2);
    drop(&f, b);
    assert_int_equal(f.alive, 1);
    cj_test_ok(get(&f, 1, &a, &error), &error);
    assert_int_equal(f.made, 3);
    drop(&f, a);
    drop(&f, c);
    assert_int_equal(f.alive, 0);
    cj__registry_free(&f.registry);
}

static void a_failure_is_not_remembered(void **state) {
    (void)state;
    factory  f = {.failures = 1};
    value   *v = NULL;
    cj_error error = {0};
    cj__registry_init(&f.registry);
    assert_int_equal(get(&f, 5, &v, &error), CJ_COMPILER);
    assert_string_equal(error.message, "key 5 fails");
    cj_test_ok(get(&f, 5, &v, &error), &error);
    drop(&f, v);
    cj__registry_free(&f.registry);
}

static void *ask_slow(void *user) {
    factory *f = user;
    value   *v = NULL;
    cj_error error = {0};
    if (get(f, 7, &v, &error)) return strcmp(error.message, "key 7 fails") ? f : NULL;
    return v->key == 7 ? NULL : f;
}

static void all_callers_wait_for_one_make(void **state) {
    (void)state;
    factory f = {.nanoseconds = 200000000};
    value  *v = NULL;
    cj__registry_init(&f.registry);
    run_threads(ask_slow, &f);
    assert_int_equal(f.made, 1);
    cj_test_ok(get(&f, 7, &v, NULL), NULL);
    for (int i = 0; i < THREADS + 1; i++) drop(&f, v);
    assert_int_equal(f.alive, 0);

    f.failures = 1;  // a failure goes to all threads that waited for it
    run_threads(ask_slow, &f);
    assert_true(f.made <= 2);
    if (f.made == 2) {  // whoever came too late made it
        cj_test_ok(get(&f, 7, &v, NULL), NULL);
        while (f.alive) drop(&f, v);
    }
    cj__registry_free(&f.registry);
}

static atomic_int next_thread;

static void *get_and_drop(void *user) {
    factory *f = user;
    uint64_t random = (uint64_t)atomic_fetch_add(&next_thread, 1);
    for (int i = 0; i < ROUNDS; i++) {
        const int key = (int)(cj_test_random(&random) % KEYS);
        value    *v = NULL;
        cj_error  error = {0};
        if (get(f, key, &v, &error)) {
            if (error.status != CJ_COMPILER) return f;
            continue;
        }
        if (v->key != key) return f;
        drop(f, v);
    }
    return NULL;
}

static void threads_get_and_drop_without_a_trace(void **state) {
    (void)state;
    factory f = {.failures = 3};
    cj__registry_init(&f.registry);
    run_threads(get_and_drop, &f);
    assert_int_equal(f.alive, 0);
    assert_true(f.made > 0);
    cj__registry_free(&f.registry);
}

// ---- the table of the one-call functions

enum { WARM_KEYS = 500 };

static char    kernels[WARM_KEYS];  // only their addresses count
static cj_warm warm;

static cj_kernel *kernel_of(unsigned i) { return (cj_kernel *)(void *)&kernels[i]; }

static cj_warm_key key_of(unsigned i) {
    cj_warm_key key = {{0}};
    memcpy(key.bytes + 40, &i, sizeof i);
    return key;
}

static unsigned dropped;

static void count_drop(cj_kernel *kernel) {
    assert_non_null(kernel);
    dropped++;
}

static void *find_or_add(void *user) {
    (void)user;
    uint64_t random = (uint64_t)atomic_fetch_add(&next_thread, 1);
    for (int i = 0; i < ROUNDS; i++) {
        const unsigned    at = (unsigned)(cj_test_random(&random) % WARM_KEYS);
        const cj_warm_key key = key_of(at);
        bool              added;
        cj_kernel        *found = cj__warm_find(&warm, &key);
        if (!found) found = cj__warm_add(&warm, &key, kernel_of(at), count_drop, &added);
        if (found != kernel_of(at)) return &warm;
        if (cj__warm_find(&warm, &key) != found) return &warm;
    }
    return NULL;
}

static void threads_find_what_others_add(void **state) {
    (void)state;
    unsigned present = 0;
    cj__warm_init(&warm);
    run_threads(find_or_add, NULL);
    for (unsigned i = 0; i < WARM_KEYS; i++) {
        const cj_warm_key key = key_of(i);
        cj_kernel        *found = cj__warm_find(&warm, &key);
        present += found != NULL;
        assert_true(!found || found == kernel_of(i));
    }
    cj__warm_clear(&warm);
    assert_int_equal(dropped, present);
    const cj_warm_key key = key_of(0);
    assert_null(cj__warm_find(&warm, &key));
    cj__warm_free(&warm);
}

static void the_first_to_add_a_key_wins(void **state) {
    (void)state;
    const cj_warm_key key = key_of(3);
    bool              added;
    cj__warm_init(&warm);
    assert_ptr_equal(cj__warm_add(&warm, &key, kernel_of(1), count_drop, &added), kernel_of(1));
    assert_true(added);
    assert_ptr_equal(cj__warm_add(&warm, &key, kernel_of(2), count_drop, &added), kernel_of(1));
    assert_false(added);
    dropped = 0;
    cj__warm_clear(&warm);
    assert_int_equal(dropped, 1);
    cj__warm_free(&warm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_lives_as_long_as_someone_holds_it),
        cmocka_unit_test(a_failure_is_not_remembered),
        cmocka_unit_test(all_callers_wait_for_one_make),
        cmocka_unit_test(threads_get_and_drop_without_a_trace),
        cmocka_unit_test(threads_find_what_others_add),
        cmocka_unit_test(the_first_to_add_a_key_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// What a kernel remembers of its last launch: threads that look and replace at once never get a mixture.
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "recent.h"

enum { THREADS = 4, TURNS = 200000, FEW = 20000, KEYS = 3 };

static cj_recent recent;

// The value of a key, in all words.
static void make(uint64_t number, uint64_t key[CJ_RECENT_KEY], uint64_t value[CJ_RECENT_VALUE]) {
    for (int i = 0; i < CJ_RECENT_KEY; i++) key[i] = number;
    for (int i = 0; i < CJ_RECENT_VALUE; i++) value[i] = number * 1000 + (uint64_t)i;
}

static void what_was_put_is_got_by_its_key_alone(void **state) {
    (void)state;
    uint64_t key[CJ_RECENT_KEY], value[CJ_RECENT_VALUE], got[CJ_RECENT_VALUE];
    memset(&recent, 0, sizeof recent);
    make(0, key, value);
    assert_false(cj__recent_get(&recent, key, got));  // though nothing but zeros is there
    cj__recent_put(&recent, key, value);
    assert_true(cj__recent_get(&recent, key, got));
    assert_memory_equal(got, value, sizeof value);
    for (int i = 0; i < CJ_RECENT_KEY; i++) {
        key[i]++;
        assert_false(cj__recent_get(&recent, key, got));
        key[i]--;
    }
    make(5, key, value);
    cj__recent_put(&recent, key, value);
    assert_true(cj__recent_get(&recent, key, got));
    assert_memory_equal(got, value, sizeof value);
}

typedef struct worker {
    uint64_t seed;
    unsigned hits, wrong;
} worker;

static void *work(void *user) {
    worker        *w = user;
    const unsigned turns = cj_test_few() ? FEW : TURNS;
    for (unsigned i = 0; i < turns; i++) {
        uint64_t key[CJ_RECENT_KEY], value[CJ_RECENT_VALUE], got[CJ_RECENT_VALUE];
        make(cj_test_random(&w->seed) % KEYS, key, value);
        if (!cj__recent_get(&recent, key, got)) {
            cj__recent_put(&recent, key, value);
            continue;
        }
        w->hits++;
        w->wrong += memcmp(got, value, sizeof value) != 0;
    }
    return NULL;
}

static void threads_never_get_a_mixture(void **state) {
    (void)state;
    pthread_t      thread[THREADS];
    worker         w[THREADS];
    unsigned       hits = 0;
    const uint64_t seed = cj_test_seed();
    memset(&recent, 0, sizeof recent);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.seed = seed + (uint64_t)i};
        pthread_create(&thread[i], NULL, work, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(w[i].wrong, 0);
        hits += w[i].hits;
    }
    assert_true(hits > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_got_by_its_key_alone),
        cmocka_unit_test(threads_never_get_a_mixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// src/base: what every other layer stands on.
#include "test.h"

#include <clusterjit/base.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "hash.h"
#include "text.h"

// --- status and types ---

static void statuses_keep_their_values(void **state) {
    (void)state;
    static const struct {
        cj_status   status;
        int         value;
        const char *name;
    } pinned[] = {
        {CJ_OK, 0, "OK"},
        {CJ_INVALID_ARGUMENT, 1, "INVALID_ARGUMENT"},
        {CJ_OUT_OF_MEMORY, 2, "OUT_OF_MEMORY"},
        {CJ_UNSUPPORTED, 3, "UNSUPPORTED"},
        {CJ_INVALID_KERNEL, 10, "INVALID_KERNEL"},
        {CJ_CONTRACT, 11, "CONTRACT"},
        {CJ_HAZARD, 12, "HAZARD"},
        {CJ_FILE, 20, "FILE"},
        {CJ_COMPILER, 30, "COMPILER"},
        {CJ_NO_DEVICE, 40, "NO_DEVICE"},
        {CJ_DRIVER, 41, "DRIVER"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(pinned); i++) {
        assert_int_equal(pinned[i].status, pinned[i].value);
        assert_string_equal(cj_status_name(pinned[i].status), pinned[i].name);
        assert_true(strlen(cj_status_text(pinned[i].status)) > 0);
    }
#define CJ_X(name, value, text) +1
    assert_int_equal(CJ_TEST_COUNT(pinned), 0 CJ_STATUS_LIST(CJ_X));
#undef CJ_X
    assert_string_equal(cj_status_name((cj_status)99), "UNKNOWN");
    assert_non_null(cj_status_text((cj_status)99));
}

static void types_have_names_and_sizes(void **state) {
    (void)state;
#define CJ_X(name, text, bytes, type)                    \
    assert_string_equal(cj_dtype_name(CJ_##name), text); \
    assert_int_equal(cj_dtype_size(CJ_##name), sizeof(type));
    CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    assert_int_equal(cj_dtype_arithmetic(CJ_BF16), CJ_F32);
    assert_int_equal(cj_dtype_arithmetic(CJ_E4M3), CJ_F32);
    assert_int_equal(cj_dtype_arithmetic(CJ_I8), CJ_I32);
    assert_int_equal(cj_dtype_arithmetic(CJ_U16), CJ_U32);
    assert_int_equal(cj_dtype_arithmetic(CJ_F64), CJ_F64);
    assert_null(cj_dtype_name((cj_dtype)99));
    assert_int_equal(cj_dtype_size((cj_dtype)99), 0);
}

static void version_is_the_headers(void **state) {
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", CJ_VERSION_MAJOR, CJ_VERSION_MINOR, CJ_VERSION_PATCH);
    assert_string_equal(cj_version(), version);
}

// --- errors ---

static void failing_fills_the_error(void **state) {
    (void)state;
    cj_error error = {.driver_code = 7, .line = 3, .rule = "old", .hint = "old"};
    assert_int_equal(cj__fail(&error, CJ_CONTRACT, "cluster = %d, at most %d", 17, 16), CJ_CONTRACT);
    assert_int_equal(error.status, CJ_CONTRACT);
    assert_string_equal(error.message, "cluster = 17, at most 16");
    assert_int_equal(error.driver_code, 0);
    assert_int_equal(error.line, 0);
    assert_string_equal(error.rule, "");
    assert_string_equal(error.hint, "");

    cj__rule(&error, "cluster-size");
    cj__hint(&error, "take %d", 16);
    assert_string_equal(error.rule, "cluster-size");
    assert_string_equal(error.hint, "take 16");
    assert_string_equal(error.message, "cluster = 17, at most 16");
}

static void a_format_says_what_to_do_too(void **state) {
    (void)state;
    cj_error error;
    assert_int_equal(cj__fail(&error, CJ_CONTRACT, "cluster = %d" CJ_HINT "take %d", 17, 16), CJ_CONTRACT);
    assert_string_equal(error.message, "cluster = 17");
    assert_string_equal(error.hint, "take 16");
}

static void nobody_need_listen(void **state) {
    (void)state;
    assert_int_equal(cj__fail(NULL, CJ_FILE, "x"), CJ_FILE);
    cj__rule(NULL, "x");
    cj__hint(NULL, "x");
}

static void long_messages_are_cut(void **state) {
    (void)state;
    char     word[3000];
    cj_error error;
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cj__fail(&error, CJ_FILE, "%s", word);
    cj__rule(&error, word);
    cj__hint(&error, "%s", word);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(strlen(error.rule), sizeof error.rule - 1);
    assert_int_equal(strlen(error.hint), sizeof error.hint - 1);
}

static const char *next_name(const void *user, size_t i) {
    const char *const *names = user;
    return names[i];
}

static void nearest_finds_slips_only(void **state) {
    (void)state;
    static const char *const names[] = {"sum", "min", "max", "reduce", "histogram", "sm_89", "sm_90", NULL};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"sum", "sum"}, {"sun", "sum"},      {"mix", "min"}, {"redcue", "reduce"}, {"histgram", "histogram"},
        {"xyz", NULL},  {"transpose", NULL}, {"", NULL},     {"sm_999", NULL},     {"sm90", "sm_90"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        const char *found = cj__nearest(rows[i].word, next_name, names);
        if (rows[i].nearest) {
            assert_non_null(found);
            assert_string_equal(found, rows[i].nearest);
        } else {
            assert_null(found);
        }
    }
    char word[1000];
    memset(word, 'r', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cj__nearest(word, next_name, names);  // longer than what is compared
    assert_null(cj__nearest("sum", next_name, names + 5));
}

// --- arena ---

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    cj_arena arena = {0};
    uint64_t random = cj_test_seed();
    for (int i = 0; i < 2000; i++) {
        size_t bytes = cj_test_random(&random) % 700;
        char  *memory = cj__arena_alloc(&arena, bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t k = 0; k < bytes; k++) assert_int_equal(memory[k], 0);
        memset(memory, 0xa5, bytes);
    }
    cj__arena_free(&arena);
    assert_null(arena.chunk);
    cj__arena_free(&arena);  // twice is once
}

static void an_empty_arena_gives_no_bytes_an_address(void **state) {
    (void)state;
    cj_arena arena = {0};
    assert_non_null(cj__arena_alloc(&arena, 0));  // NULL means that there is no memory
    assert_non_null(cj__arena_copy(&arena, NULL, 0));
    cj__arena_free(&arena);
}

static void arena_takes_sizes_past_a_chunk(void **state) {
    (void)state;
    cj_arena     arena = {0};
    const size_t large = 40u * 1024 * 1024;
    char        *first = cj__arena_alloc(&arena, large);
    char        *small = cj__arena_alloc(&arena, 1);
    assert_non_null(first);
    assert_non_null(small);
    first[0] = first[large - 1] = 'x';
    assert_true(small < first || small >= first + large);
    assert_int_equal(small[0], 0);
    cj__arena_free(&arena);
}

static void arena_refuses_impossible_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {SIZE_MAX,      SIZE_MAX - 1,  SIZE_MAX - 15,
                                   SIZE_MAX - 16, SIZE_MAX - 64, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < CJ_TEST_COUNT(sizes); i++) {
        cj_arena arena = {0};
        assert_non_null(cj__arena_alloc(&arena, 8));
        assert_null(cj__arena_alloc(&arena, sizes[i]));
        assert_true(arena.failed);
        assert_null(cj__arena_alloc(&arena, 8));  // sticks
        assert_null(cj__arena_text(&arena, "a", 1));
        cj__arena_free(&arena);
        assert_false(arena.failed);
    }
}

static void arena_copies_text(void **state) {
    (void)state;
    cj_arena arena = {0};
    char    *copy = cj__arena_text(&arena, "cluster", 5);
    assert_string_equal(copy, "clust");
    assert_string_equal(cj__arena_text(&arena, "", 0), "");
    cj__arena_free(&arena);
}

static void arena_arrays_grow(void **state) {
    (void)state;
    cj_arena arena = {0};
    size_t  *array = NULL, capacity = 0;
    for (size_t count = 0; count < 5000; count++) {
        array = cj__arena_grow(&arena, array, count, &capacity, sizeof *array);
        assert_non_null(array);
        assert_true(capacity > count);
        array[count] = count;
    }
    for (size_t i = 0; i < 5000; i++) assert_int_equal(array[i], i);

    size_t huge = SIZE_MAX / 8;
    assert_null(cj__arena_grow(&arena, array, huge, &huge, 64));
    assert_int_equal(array[4999], 4999);
    cj__arena_free(&arena);
}

// --- text ---

static void text_grows(void **state) {
    (void)state;
    cj_text text = {0};
    cj__text_puts(&text, "");
    assert_string_equal(text.data, "");
    for (int i = 0; i < 1000; i++) cj__text_printf(&text, "%%r%d;\n", i % 10);
    assert_int_equal(text.length, 5000);
    assert_int_equal(strlen(text.data), 5000);
    assert_memory_equal(text.data + 4995, "%r9;\n", 5);
    assert_false(text.failed);
    cj__text_free(&text);
    assert_null(text.data);
    cj__text_free(&text);
}

static void text_pads_to_a_column(void **state) {
    (void)state;
    cj_text text = {0};
    cj__text_puts(&text, "line\n");
    size_t start = text.length;
    cj__text_puts(&text, "add");
    cj__text_pad(&text, start, 6);
    cj__text_add(&text, "$1, $2", 2);
    cj__text_pad(&text, start, 4);  // past it already: nothing
    assert_string_equal(text.data, "line\nadd   $1");
    cj__text_free(&text);
}

// --- map ---

static void map_finds_what_was_put(void **state) {
    (void)state;
    enum { N = 3000 };
    static char key[N][16];
    static int  value[N];
    cj_arena    arena = {0};
    cj_map      map = {.arena = &arena};
    assert_null(cj__map_get(&map, "absent", 6));
    for (int i = 0; i < N; i++) {
        int length = snprintf(key[i], sizeof key[i], "%%r%d", i);
        assert_true(cj__map_put(&map, key[i], (size_t)length, &value[i]));
    }
    assert_int_equal(map.count, N);
    for (int i = 0; i < N; i++) assert_ptr_equal(cj__map_get(&map, key[i], strlen(key[i])), &value[i]);
    assert_null(cj__map_get(&map, "%r", 2));  // keys have a length, not an end
    assert_null(cj__map_get(&map, "%r3000", 6));

    assert_true(cj__map_put(&map, key[7], strlen(key[7]), &value[8]));
    assert_int_equal(map.count, N);
    assert_ptr_equal(cj__map_get(&map, key[7], strlen(key[7])), &value[8]);
    cj__arena_free(&arena);
}

// Against an array that says what is there: keys come and go at random, so that runs of slots get gaps everywhere.
static void map_forgets_what_was_removed(void **state) {
    (void)state;
    enum { N = 500, STEPS = 40000 };
    uint32_t key[N];
    int      value[N];
    bool     there[N] = {false};
    size_t   count = 0;
    cj_map   map = {0};
    uint64_t random = cj_test_seed();
    assert_null(cj__map_remove(&map, "absent", 6));
    for (uint32_t i = 0; i < N; i++) key[i] = i;
    for (int step = 0; step < STEPS; step++) {
        const size_t i = cj_test_random(&random) % N;
        const char  *name = (const char *)&key[i];
        if (cj_test_random(&random) % 2) {
            assert_true(cj__map_put(&map, name, sizeof *key, &value[i]));
            count += !there[i];
            there[i] = true;
        } else {
            assert_ptr_equal(cj__map_remove(&map, name, sizeof *key), there[i] ? &value[i] : NULL);
            count -= there[i];
            there[i] = false;
        }
        assert_int_equal(map.count, count);
        const size_t other = cj_test_random(&random) % N;
        assert_ptr_equal(cj__map_get(&map, (const char *)&key[other], sizeof *key), there[other] ? &value[other] : NULL);
    }
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(cj__map_get(&map, (const char *)&key[i], sizeof *key), there[i] ? &value[i] : NULL);
    cj__map_free(&map);
}

static void map_reports_lack_of_memory(void **state) {
    (void)state;
    cj_arena arena = {.failed = true};
    cj_map   map = {.arena = &arena};
    int      value = 1;
    assert_false(cj__map_put(&map, "key", 3, &value));
    assert_null(cj__map_get(&map, "key", 3));
}

static void hash_is_fnv1a(void **state) {
    (void)state;
    assert_int_equal(cj__hash("", 0), 0x811c9dc5u);
    assert_int_equal(cj__hash("a", 1), 0xe40c292cu);
    assert_int_equal(cj__hash("foobar", 6), 0xbf9cf968u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_keep_their_values),
        cmocka_unit_test(types_have_names_and_sizes),
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(failing_fills_the_error),
        cmocka_unit_test(a_format_says_what_to_do_too),
        cmocka_unit_test(nobody_need_listen),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(nearest_finds_slips_only),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(an_empty_arena_gives_no_bytes_an_address),
        cmocka_unit_test(arena_takes_sizes_past_a_chunk),
        cmocka_unit_test(arena_refuses_impossible_sizes),
        cmocka_unit_test(arena_copies_text),
        cmocka_unit_test(arena_arrays_grow),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_pads_to_a_column),
        cmocka_unit_test(map_finds_what_was_put),
        cmocka_unit_test(map_forgets_what_was_removed),
        cmocka_unit_test(map_reports_lack_of_memory),
        cmocka_unit_test(hash_is_fnv1a),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

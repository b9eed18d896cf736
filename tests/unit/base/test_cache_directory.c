// SPDX-License-Identifier: Apache-2.0
// The disk cache's directory: whose it must be, how much it may hold, what looking and clearing do.
#define _GNU_SOURCE
#include "cache_rig.h"

// ---- the directory

static void hold_refused(const char *path, const char *words) {
    cj_disk *disk = NULL;
    cj_error error = {0};
    assert_int_equal(cj__disk_open(path, true, ROOM, &files, &disk, &error), CJ_FILE);
    assert_null(disk);
    if (!strstr(error.message, words)) fail_msg("'%s' is not in: %s", words, error.message);
    assert_true(strlen(error.hint) > 0);
}

static void a_directory_that_is_not_ours_alone_is_refused(void **state) {
    (void)state;
    char path[128];
    assert_int_equal(chmod(directory, 0755), 0);
    hold_refused(directory, "mode 0755");
    assert_int_equal(chmod(directory, 0700), 0);
    if (!geteuid()) {
        assert_int_equal(chown(directory, 65534, 65534), 0);
        hold_refused(directory, "owner 65534");
        assert_int_equal(chown(directory, 0, 0), 0);
    }
    snprintf(path, sizeof path, "%s/link", directory);
    assert_int_equal(symlink(directory, path), 0);
    hold_refused(path, "symbolic link");
    snprintf(path, sizeof path, "%s/file", directory);
    write_file(path, "", 0);
    hold_refused(path, path);
    fault.call = "open directory";
    fault.code = EIO;
    fault.nth = 1;
    hold_refused(directory, strerror(EIO));
}

static void missing_directories_are_made_for_us_alone(void **state) {
    (void)state;
    char        path[128];
    cj_disk    *disk = NULL;
    cj_error    error = {0};
    struct stat about;
    snprintf(path, sizeof path, "%s/a/b/c", directory);
    cj_test_ok(cj__disk_open(path, false, ROOM, &files, &disk, &error), &error);
    assert_null(disk);
    assert_int_equal(access(path, F_OK), -1);
    cj_test_ok(cj__disk_open(path, true, ROOM, &files, &disk, &error), &error);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    cj__disk_close(disk);
}

static void set(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

static void the_environment_names_the_directory(void **state) {
    (void)state;
    static const struct {
        const char *own, *xdg, *home, *path;  // NULL: not set, or FILE
    } rows[] = {
        {"/own", "/xdg", "/home/u", "/own"},         {"", "/xdg", "/home/u", ""},
        {NULL, "/xdg", "/home/u", "/xdg/clusterjit"}, {NULL, "", "/home/u", "/home/u/.cache/clusterjit"},
        {NULL, "relative", "/home/u", "/home/u/.cache/clusterjit"}, {NULL, NULL, NULL, NULL},
        {NULL, NULL, "", NULL},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        char     path[64] = "?";
        cj_error error = {0};
        set("CLUSTERJIT_CACHE_DIR", rows[i].own);
        set("XDG_CACHE_HOME", rows[i].xdg);
        set("HOME", rows[i].home);
        assert_int_equal(cj_cache_directory(path, sizeof path, &error), rows[i].path ? CJ_OK : CJ_FILE);
        assert_string_equal(path, rows[i].path ? rows[i].path : "");
        if (!rows[i].path) assert_non_null(strstr(error.message, "HOME"));
    }
    char tiny[4];
    set("CLUSTERJIT_CACHE_DIR", "/longer");
    assert_int_equal(cj_cache_directory(tiny, sizeof tiny, NULL), CJ_FILE);
}

// ---- limits

static void age(unsigned key, time_t seconds) {
    char path[128];
    path_of(key, path, sizeof path);
    const struct timespec times[] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_least_recently_used_go_first(void **state) {
    (void)state;
    const uint64_t each = CJ_ENTRY_HEAD + TEXT + sizeof(unsigned);
    cj_disk       *disk = open_disk(4 * each);
    for (unsigned key = 1; key <= 4; key++) put(disk, key);
    for (unsigned key = 1; key <= 4; key++) age(key, 100 - (time_t)key);
    assert_true(got(disk, 1));  // used now
    put(disk, 5);
    assert_false(got(disk, 2));
    for (unsigned key = 1; key <= 5; key++) {
        if (key != 2) assert_true(got(disk, key));
    }
    cj__disk_close(disk);

    disk = open_disk(each - 1);
    put(disk, 6);
    assert_false(got(disk, 6));
    assert_int_equal(count_files(), 4);
    cj__disk_close(disk);
}

// A cache of many entries is not listed at each, and stays near its limit.
static void many_entries_are_listed_now_and_then(void **state) {
    (void)state;
    enum { FIT = 400, PUT = 3 * FIT };
    cj_disk *disk = open_disk(FIT * (CJ_ENTRY_HEAD + TEXT + sizeof(unsigned)));
    size_t   most = 0, listings = 0, before = 0;
    for (unsigned key = 1; key <= PUT; key++) {
        put(disk, key);
        const size_t now = count_files();
        if (key > FIT) listings += now <= before;
        if (now > most) most = now;
        before = now;
    }
    assert_in_range(most, FIT, FIT + FIT / 8);
    assert_in_range(listings, 32, 2 * 128);  // 64 for each FIT
    cj__disk_close(disk);
}

static void the_environment_says_how_much(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool        fits, warned;  // an entry of 368 bytes
    } rows[] = {{"367", false, false}, {"368", true, false},     {"1K", true, false},    {"1x", true, true},
                {"", true, false},     {"0x170", true, false}, {"1e3", true, false}, {"2^8", false, false}, {"99999999999999G", true, true}, {"-1", true, true}, {"0", false, false}};
    set("CLUSTERJIT_CACHE_DIR", directory);
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        said     heard = {0};
        cj_disk *disk = NULL;
        cj_error error = {0};
        set("CLUSTERJIT_CACHE_SIZE", rows[i].text);
        cj_log_set(hear, &heard);
        cj_test_ok(cj__cache_open(true, &files, &disk, &error), &error);
        cj_log_set(NULL, NULL);
        put(disk, 1);
        assert_int_equal(got(disk, 1), rows[i].fits);
        assert_int_equal(heard.count, rows[i].warned);
        cj__disk_remove(disk, "\1\0\0", 4);
        cj__disk_close(disk);
    }
    set("CLUSTERJIT_CACHE_SIZE", NULL);
}

// ---- looking and clearing

typedef struct seen {
    unsigned whole, damaged;
} seen;

static void see(void *user, const cj_cache_entry *entry) {
    seen *s = user;
    if (entry->damage) s->damaged++;
    else s->whole++;
    assert_true(entry->bytes > 0);
    assert_true(entry->used > 0);
}

static void looking_changes_nothing_and_clearing_takes_ours_alone(void **state) {
    (void)state;
    char     path[128], others[128], left[128];
    uint64_t entries = 0, bytes = 0;
    seen     s = {0};
    cj_error error = {0};
    cj_disk *disk = open_disk(ROOM);
    for (unsigned key = 1; key <= 3; key++) put(disk, key);
    cj__disk_close(disk);
    path_of(2, path, sizeof path);
    write_file(path, "damaged", 7);
    snprintf(others, sizeof others, "%s/notes.txt", directory);
    snprintf(left, sizeof left, "%s/.new-0123456789abcdef01234567", directory);
    write_file(others, "mine", 4);
    write_file(left, "killed", 6);

    set("CLUSTERJIT_CACHE_DIR", directory);
    cj_test_ok(cj_cache_each(see, &s, &error), &error);
    assert_int_equal(s.whole, 2);
    assert_int_equal(s.damaged, 1);
    assert_int_equal(count_files(), 5);
    cj_test_ok(cj_cache_clear(&entries, &bytes, &error), &error);
    assert_int_equal(entries, 3);
    assert_int_equal(count_files(), 1);
    assert_int_equal(access(others, F_OK), 0);
    assert_int_equal(chmod(directory, 0711), 0);
    assert_int_equal(cj_cache_each(see, &s, &error), CJ_FILE);
    assert_int_equal(cj_cache_clear(&entries, &bytes, &error), CJ_FILE);
}

static void what_killed_processes_left_goes_when_it_is_old(void **state) {
    (void)state;
    char     fresh[128], old[128];
    cj_disk *disk = open_disk(4 * TEXT);  // of which an entry is so much that its writer lists
    snprintf(fresh, sizeof fresh, "%s/.new-0123456789abcdef01234567", directory);
    snprintf(old, sizeof old, "%s/.new-0123456789abcdef01234568", directory);
    write_file(fresh, "at work", 7);
    write_file(old, "killed", 6);
    const struct timespec hour_ago[] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};
    assert_int_equal(utimensat(AT_FDCWD, old, hour_ago, 0), 0);
    put(disk, 1);
    assert_int_equal(access(fresh, F_OK), 0);
    assert_int_equal(access(old, F_OK), -1);
    cj__disk_close(disk);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        TEST(a_directory_that_is_not_ours_alone_is_refused),
        TEST(missing_directories_are_made_for_us_alone),
        TEST(the_environment_names_the_directory),
        TEST(the_least_recently_used_go_first),
        TEST(many_entries_are_listed_now_and_then),
        TEST(the_environment_says_how_much),
        TEST(looking_changes_nothing_and_clearing_takes_ours_alone),
        TEST(what_killed_processes_left_goes_when_it_is_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

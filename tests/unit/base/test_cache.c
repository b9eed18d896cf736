// SPDX-License-Identifier: Apache-2.0
// The disk cache as a directory of files: damage, failing calls, what lies in the way, limits, processes that are
// killed. CJ_FEW=1 runs fewer and shorter processes.
#define _GNU_SOURCE
#include "test.h"

#include <clusterjit/log.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "entry.h"

// ---- a directory of the test's own, and a file system that fails where it is told to

enum { ROOM = 1 << 20, TEXT = 300 };

static char directory[64];

static struct {
    const char *call;  // NULL: none fails
    unsigned    nth, seen;
    int         code;
    bool        short_counts;  // reads and writes take a few bytes, and every other one is interrupted
} fault;

static bool fails(const char *call) {
    if (!fault.call || strcmp(fault.call, call) || ++fault.seen != fault.nth) return false;
    errno = fault.code;
    return true;
}

static bool interrupted(size_t *bytes) {
    static unsigned count;
    if (!fault.short_counts) return false;
    if (*bytes > 7) *bytes = 7;
    errno = EINTR;
    return ++count % 2;
}

static bool all_named;  // the file system has no files without names

static int test_open(int at, const char *name, int flags, mode_t mode) {
    const bool  unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    const char *call = unnamed ? "open unnamed" : flags & O_CREAT ? "create" : flags & O_DIRECTORY ? "open directory" : "open";
    if (unnamed && all_named) return errno = EOPNOTSUPP, -1;
    return fails(call) ? -1 : cj__files.open(at, name, flags, mode);
}
static int test_close(int file) {
    const int result = cj__files.close(file);
    return fails("close") ? -1 : result;
}
static int test_stat(int file, struct stat *about) { return fails("stat") ? -1 : cj__files.stat(file, about); }
static ssize_t test_read(int file, void *to, size_t bytes) {
    return fails("read") || interrupted(&bytes) ? -1 : cj__files.read(file, to, bytes);
}
static ssize_t test_write(int file, const void *from, size_t bytes) {
    return fails("write") || interrupted(&bytes) ? -1 : cj__files.write(file, from, bytes);
}
static int test_sync(int file) { return (void)file, fails("sync") ? -1 : 0; }  // and is quick
static int test_touch(int file) { return fails("touch") ? -1 : cj__files.touch(file); }
static int test_link(int file, int at, const char *name) {
    return fails("link") ? -1 : cj__files.link(file, at, name);
}
static int test_rename(int at, const char *from, const char *to) {
    return fails("rename") ? -1 : cj__files.rename(at, from, to);
}
static int test_remove(int at, const char *name) { return fails("remove") ? -1 : cj__files.remove(at, name); }

static const cj_files files = {test_open, test_close, test_stat, test_read,   test_write,
                               test_sync, test_touch, test_link, test_rename, test_remove};

static void remove_all(const char *path) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command)) fail_msg("cannot remove %s", path);
}

static int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/cj-cache-XXXXXX");
    memset(&fault, 0, sizeof fault);
    return mkdtemp(directory) ? 0 : 1;
}

static int remove_directory(void **state) {
    (void)state;
    remove_all(directory);
    return 0;
}

static cj_disk *open_disk(uint64_t limit) {
    cj_disk *disk = NULL;
    cj_error error = {0};
    cj_test_ok(cj__disk_open(directory, true, limit, &files, &disk, &error), &error);
    return disk;
}

// A value that says which key it belongs to.
static void text_of(unsigned key, char value[TEXT]) {
    uint64_t state = key;
    for (int i = 0; i < TEXT; i++) value[i] = (char)cj_test_random(&state);
}

static void put(cj_disk *disk, unsigned key) {
    char value[TEXT];
    text_of(key, value);
    cj__disk_put(disk, (const char *)&key, sizeof key, value, sizeof value);
}

// Whether the key has a value; fails the test where it is not the right one.
static bool got(cj_disk *disk, unsigned key) {
    char   want[TEXT], *value = NULL;
    size_t bytes = 0;
    if (!cj__disk_get(disk, (const char *)&key, sizeof key, &value, &bytes)) return false;
    text_of(key, want);
    assert_int_equal(bytes, sizeof want);
    assert_memory_equal(value, want, sizeof want);
    free(value);
    return true;
}

static void path_of(unsigned key, char *path, size_t size) {
    char name[CJ_ENTRY_NAME];
    cj__entry_name((const char *)&key, sizeof key, name);
    snprintf(path, size, "%s/%s", directory, name);
}

static size_t count_files(void) {
    size_t         count = 0;
    DIR           *opened = opendir(directory);
    struct dirent *file;
    while ((file = readdir(opened)) != NULL) count += strcmp(file->d_name, ".") && strcmp(file->d_name, "..");
    closedir(opened);
    return count;
}

static size_t read_file(const char *path, char *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

static void write_file(const char *path, const char *bytes, size_t size) {
    unlink(path);  // a file system may take its time over one that is cut to nothing and written again
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

// ---- what is put is got

static void values_come_back(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    assert_false(got(disk, 1));
    for (unsigned key = 1; key < 20; key++) put(disk, key);
    put(disk, 7);
    for (unsigned key = 1; key < 20; key++) assert_true(got(disk, key));
    assert_int_equal(count_files(), 19);
    cj__disk_remove(disk, "\3\0\0", 4);
    assert_false(got(disk, 3));
    cj__disk_close(disk);
}

static void empty_values_and_keys_are_values_and_keys(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    char    *value = NULL;
    size_t   bytes = 1;
    cj__disk_put(disk, "", 0, "", 0);
    assert_true(cj__disk_get(disk, "", 0, &value, &bytes));
    assert_int_equal(bytes, 0);
    free(value);
    cj__disk_close(disk);
}

static void short_reads_and_writes_and_interruptions_go_on(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    fault.short_counts = true;
    put(disk, 5);
    assert_true(got(disk, 5));
    cj__disk_close(disk);
}

static void another_keys_entry_is_not_taken(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    char     mine[128], others[128];
    put(disk, 2);
    path_of(1, mine, sizeof mine);
    path_of(2, others, sizeof others);
    assert_int_equal(rename(others, mine), 0);  // as if both keys had one hash
    assert_false(got(disk, 1));
    assert_int_equal(access(mine, F_OK), -1);
    cj__disk_close(disk);
}

// ---- damage

// The entry of key 1, with these bytes instead: it must be a miss, be removed, and be made anew.
static void hold_damaged(cj_disk *disk, const char *path, const char *bytes, size_t size) {
    write_file(path, bytes, size);
    assert_false(got(disk, 1));
    assert_int_equal(access(path, F_OK), -1);
}

static void every_truncation_is_found(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    char     path[128], bytes[1024];
    put(disk, 1);
    path_of(1, path, sizeof path);
    const size_t size = read_file(path, bytes, sizeof bytes);
    assert_int_equal(size, CJ_ENTRY_HEAD + TEXT + sizeof(unsigned));
    for (size_t length = 0; length < size; length++) hold_damaged(disk, path, bytes, length);
    bytes[size] = 0;
    hold_damaged(disk, path, bytes, size + 1);
    put(disk, 1);
    assert_true(got(disk, 1));
    cj__disk_close(disk);
}

static void every_flipped_bit_is_found(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    char     path[128], bytes[1024];
    put(disk, 1);
    path_of(1, path, sizeof path);
    const size_t size = read_file(path, bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        hold_damaged(disk, path, bytes, size);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    write_file(path, bytes, size);
    assert_true(got(disk, 1));
    cj__disk_close(disk);
}

static void what_is_no_plain_file_of_ours_is_not_read(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    char     path[128], aside[128];
    path_of(1, path, sizeof path);
    snprintf(aside, sizeof aside, "%s/aside", directory);

    put(disk, 1);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink("aside", path), 0);
    assert_false(got(disk, 1));
    assert_int_equal(access(aside, F_OK), 0);  // the link is gone, not what it led to
    put(disk, 1);
    assert_true(got(disk, 1));

    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(got(disk, 1));
    put(disk, 1);
    assert_int_equal(chmod(path, 0666), 0);  // others may have written it
    assert_false(got(disk, 1));

    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(got(disk, 1));
    put(disk, 1);  // cannot replace a directory, and says so
    assert_false(got(disk, 1));
    assert_int_equal(rmdir(path), 0);
    put(disk, 1);
    assert_true(got(disk, 1));
    if (!geteuid()) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_false(got(disk, 1));
    }
    cj__disk_close(disk);
}

// ---- failing calls

static const char *const calls[] = {"create", "open", "close", "stat", "read", "write", "sync", "touch", "rename",
                                    "remove", "link", "open unnamed"};

// Whatever fails and when: what is got is right or a miss, no temporary file stays unless it could not be removed, and
// afterwards all is well.
static void failing_calls_lose_nothing_but_time(void **state) {
    (void)state;
    static const int codes[] = {ENOSPC, EIO, EROFS, EACCES, EMFILE, EDQUOT};
    cj_disk         *disk = open_disk(ROOM);
    for (size_t i = 0; i < 2 * CJ_TEST_COUNT(calls); i++) {
        all_named = i % 2;
        for (size_t k = 0; k < CJ_TEST_COUNT(codes); k++) {
            for (unsigned nth = 1; nth <= 4; nth++) {
                fault.call = calls[i / 2];
                fault.code = codes[k];
                fault.nth = nth;
                fault.seen = 0;
                put(disk, 1);
                got(disk, 1);
                put(disk, 1);
                got(disk, 1);
                fault.call = NULL;
                put(disk, 1);
                assert_true(got(disk, 1));
                assert_int_equal(count_files(), 1);
            }
        }
    }
    all_named = false;
    cj__disk_close(disk);
}

// Whenever a signal ends a process that writes entries, it leaves whole ones and no temporary file.
static void a_signal_leaves_no_temporary_file(void **state) {
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    uint64_t         random = cj_test_seed();
    cj_disk         *disk = open_disk(ROOM);
    const int        probe = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (probe >= 0) close(probe);
    for (unsigned i = 0; probe >= 0 && i < 60; i++) {
        const int   number = signals[i % CJ_TEST_COUNT(signals)];
        int         status = 0;
        const pid_t child = fork();
        if (!child) {
            signal(number, SIG_DFL);
            for (;;) put(disk, 1);
        }
        assert_true(child > 0);
        usleep((useconds_t)(cj_test_random(&random) % 3000));
        assert_int_equal(kill(child, number), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
        assert_true(count_files() <= 1);
        if (count_files()) assert_true(got(disk, 1));
    }
    cj__disk_close(disk);
}

typedef struct said {
    unsigned count;
    char     last[2048];
} said;

static void hear(void *user, cj_log_level level, const char *message) {
    said *heard = user;
    if (level > CJ_LOG_WARNING) return;
    heard->count++;
    snprintf(heard->last, sizeof heard->last, "%s", message);
}

static void a_full_disk_is_said_once(void **state) {
    (void)state;
    cj_disk *disk = open_disk(ROOM);
    said     heard = {0};
    cj_log_set(hear, &heard);
    for (int i = 0; i < 3; i++) {
        fault.call = "write";
        fault.code = ENOSPC;
        fault.nth = 1;
        fault.seen = 0;
        put(disk, 1);
    }
    cj_log_set(NULL, NULL);
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(heard.last, "No space left on device"));
    assert_non_null(strstr(heard.last, directory));
    assert_int_equal(count_files(), 0);
    cj__disk_close(disk);
}

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

// ---- threads and processes

static void *put_and_get(void *user) {
    cj_disk *disk = user;
    for (unsigned i = 0; i < 200; i++) {
        put(disk, i % 3);
        if (!got(disk, i % 3)) return disk;
    }
    return NULL;
}

static void threads_share_a_disk(void **state) {
    (void)state;
    cj_disk  *disk = open_disk(ROOM);
    pthread_t thread[8];
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&thread[i], NULL, put_and_get, disk), 0);
    for (int i = 0; i < 8; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(count_files(), 3);
    cj__disk_close(disk);
}

// What a process of the test below does: every operation finds the value, whole. It exits with 1 where that is not so.
static _Noreturn void work(uint64_t state, unsigned operations) {
    char     want[TEXT];
    cj_disk *disk = NULL;
    if (cj__disk_open(directory, true, ROOM, &cj__files, &disk, NULL)) _exit(2);
    text_of(1, want);
    for (unsigned i = 0; i < operations; i++) {
        const unsigned key = 1;
        char          *value = NULL;
        size_t         bytes = 0;
        if (cj_test_random(&state) % 4 == 0) put(disk, key);
        if (!cj__disk_get(disk, (const char *)&key, sizeof key, &value, &bytes)) _exit(3);
        if (bytes != sizeof want || memcmp(value, want, bytes)) _exit(1);
        free(value);
    }
    _exit(0);
}

static pid_t start(uint64_t seed, unsigned operations) {
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) work(seed, operations);
    assert_true(pid > 0);
    return pid;
}

static void killed_processes_corrupt_and_lose_nothing(void **state) {
    (void)state;
    const bool     few = getenv("CJ_FEW") && !strcmp(getenv("CJ_FEW"), "1");
    const unsigned processes = few ? 4 : 16, operations = few ? 200 : 1000, kills = few ? 20 : 500;
    uint64_t       seed = cj_test_seed();
    pid_t          running[16];
    unsigned       ended = 0, killed = 0;
    cj_disk       *disk = open_disk(ROOM);
    put(disk, 1);
    for (unsigned i = 0; i < processes; i++) running[i] = start(cj_test_random(&seed), operations);
    // Each that is killed is started again, until all have come to their end.
    while (ended < processes) {
        if (killed < kills) {
            const pid_t victim = running[cj_test_random(&seed) % processes];
            usleep((useconds_t)(cj_test_random(&seed) % 2000));
            if (victim) kill(victim, SIGKILL);
        }
        int         how;
        const pid_t pid = waitpid(-1, &how, killed < kills ? WNOHANG : 0);
        for (unsigned i = 0; i < processes && pid > 0; i++) {
            if (running[i] != pid) continue;
            if (WIFEXITED(how)) assert_int_equal(WEXITSTATUS(how), 0);
            killed += WIFSIGNALED(how);
            ended += WIFEXITED(how);
            running[i] = WIFSIGNALED(how) ? start(cj_test_random(&seed), operations) : 0;
        }
    }
    assert_true(got(disk, 1));
    print_message("%u processes of %u operations, %u killed\n", processes, operations, killed);
    cj__disk_close(disk);
}

// ---- texts beside the entries

static void append(void *user, const char *old, size_t bytes, cj_text *made) {
    cj__text_add(made, old, bytes);
    cj__text_puts(made, user);
}

static void expect_text(cj_disk *disk, const char *want) {
    char    *text;
    size_t   bytes;
    cj_error error = {0};
    cj_test_ok(cj__disk_read_text(disk, "notes.txt", &text, &bytes, &error), &error);
    assert_int_equal(bytes, strlen(want));
    if (bytes) assert_memory_equal(text, want, bytes);
    free(text);
}

static void a_text_is_replaced_whole_or_not_at_all(void **state) {
    (void)state;
    char      more[] = "line\n";
    cj_disk  *disk = open_disk(ROOM);
    cj_error  error = {0};
    size_t    lines = 0;
    char      want[TEXT] = "";
    expect_text(disk, "");
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++)
        for (unsigned nth = 1; nth <= 3; nth++) {
            fault.call = calls[i], fault.nth = nth, fault.seen = 0, fault.code = EIO;
            const cj_status status = cj__disk_edit_text(disk, "notes.txt", append, more, &error);
            fault.call = NULL;
            char    *text;
            size_t   bytes;
            cj_test_ok(cj__disk_read_text(disk, "notes.txt", &text, &bytes, &error), &error);
            free(text);
            assert_true(bytes == lines * strlen(more) || bytes == (lines + 1) * strlen(more));
            if (!status) assert_int_equal(bytes, (lines + 1) * strlen(more));
            lines = bytes / strlen(more);
        }
    assert_true(lines * strlen(more) < sizeof want);
    for (size_t i = 0; i < lines; i++) strcat(want, more);
    expect_text(disk, want);
    fault.short_counts = true;
    cj_test_ok(cj__disk_edit_text(disk, "notes.txt", append, more, &error), &error);
    expect_text(disk, strcat(want, more));
    cj__disk_close(disk);
}

static void limit_and_clearing_leave_texts_alone(void **state) {
    (void)state;
    char     more[] = "line\n";
    uint64_t entries, bytes;
    cj_disk *disk = open_disk(2 * TEXT);
    cj_error error = {0};
    cj_test_ok(cj__disk_edit_text(disk, "notes.txt", append, more, &error), &error);
    for (unsigned key = 0; key < 5; key++) put(disk, key);
    cj_test_ok(cj__disk_clear(disk, &entries, &bytes, &error), &error);
    expect_text(disk, more);
    cj__disk_close(disk);
}

static void a_link_in_a_texts_place_is_replaced(void **state) {
    (void)state;
    char     more[] = "line\n", path[96], *text;
    size_t   bytes;
    cj_disk *disk = open_disk(ROOM);
    cj_error error = {0};
    snprintf(path, sizeof path, "%s/notes.txt", directory);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(cj__disk_read_text(disk, "notes.txt", &text, &bytes, &error), CJ_FILE);
    cj_test_ok(cj__disk_edit_text(disk, "notes.txt", append, more, &error), &error);
    expect_text(disk, more);
    cj__disk_close(disk);
}

// A caller waits for an entry, and may lose it; a text is a user's.
static void texts_alone_survive_a_power_cut(void **state) {
    (void)state;
    char     more[] = "line\n";
    cj_error error = {0};
    cj_disk *disk = open_disk(ROOM);
    fault.call = "sync", fault.nth = 100;
    put(disk, 1);
    assert_int_equal(fault.seen, 0);
    cj_test_ok(cj__disk_edit_text(disk, "notes.txt", append, more, &error), &error);
    assert_int_equal(fault.seen, 2);  // the file's bytes, and its name
    cj__disk_close(disk);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        TEST(values_come_back),
        TEST(empty_values_and_keys_are_values_and_keys),
        TEST(short_reads_and_writes_and_interruptions_go_on),
        TEST(another_keys_entry_is_not_taken),
        TEST(every_truncation_is_found),
        TEST(every_flipped_bit_is_found),
        TEST(what_is_no_plain_file_of_ours_is_not_read),
        TEST(failing_calls_lose_nothing_but_time),
        TEST(a_signal_leaves_no_temporary_file),
        TEST(a_full_disk_is_said_once),
        TEST(a_directory_that_is_not_ours_alone_is_refused),
        TEST(missing_directories_are_made_for_us_alone),
        TEST(the_environment_names_the_directory),
        TEST(the_least_recently_used_go_first),
        TEST(many_entries_are_listed_now_and_then),
        TEST(the_environment_says_how_much),
        TEST(looking_changes_nothing_and_clearing_takes_ours_alone),
        TEST(what_killed_processes_left_goes_when_it_is_old),
        TEST(threads_share_a_disk),
        TEST(killed_processes_corrupt_and_lose_nothing),
        TEST(a_text_is_replaced_whole_or_not_at_all),
        TEST(limit_and_clearing_leave_texts_alone),
        TEST(a_link_in_a_texts_place_is_replaced),
        TEST(texts_alone_survive_a_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

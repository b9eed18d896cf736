// SPDX-License-Identifier: Apache-2.0
// The disk cache as a directory of files: damage, failing calls, what lies in the way, processes that are killed, texts.
// CJ_FEW=1 runs fewer and shorter processes.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "cache_rig.h"

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
        TEST(threads_share_a_disk),
        TEST(killed_processes_corrupt_and_lose_nothing),
        TEST(a_text_is_replaced_whole_or_not_at_all),
        TEST(limit_and_clearing_leave_texts_alone),
        TEST(a_link_in_a_texts_place_is_replaced),
        TEST(texts_alone_survive_a_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "allocate.h"
#include "entry.h"
#include "error.h"
#include "log.h"

struct cj_disk {
    const cj_files *files;
    int             directory;  // a descriptor: it stays the same directory if the path is moved or replaced
    uint64_t        limit;      // bytes
    atomic_bool     warned;     // that an entry could not be written
    char            path[];
};

static int file_open(int directory, const char *name, int flags, mode_t mode) {
    return openat(directory, name, flags, mode);
}
static int file_touch(int file) { return futimens(file, NULL); }
static int file_link(int file, int directory, const char *name) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW);
}
static int file_rename(int directory, const char *from, const char *to) {
    return renameat(directory, from, directory, to);
}
static int file_remove(int directory, const char *name) { return unlinkat(directory, name, 0); }

const cj_files cj__files = {
    .open = file_open,
    .close = close,
    .stat = fstat,
    .read = read,
    .write = write,
    .sync = fsync,
    .touch = file_touch,
    .link = file_link,
    .rename = file_rename,
    .remove = file_remove,
};

// ---- the directory

// Makes every missing directory of the path.
static int make_path(const char *path) {
    char *part = cj__strdup(path);
    int   failure = part ? 0 : ENOMEM;
    for (char *slash = part ? part + 1 : NULL; slash && !failure; slash++) {
        slash = strchr(slash, '/');
        if (slash) *slash = '\0';
        if (mkdir(part, 0700) && errno != EEXIST) failure = errno;
        if (!slash) break;
        *slash = '/';
    }
    cj__free(part);
    return failure;
}

static cj_status refuse_directory(const char *path, const struct stat *about, cj_error *error) {
    cj__fail(error, CJ_FILE, "the cache directory %s has owner %u and mode %04o; it must belong to user %u and be "
             "closed to others (0700)", path, (unsigned)about->st_uid, (unsigned)about->st_mode & 07777u, (unsigned)geteuid());
    cj__hint(error, about->st_uid == geteuid() ? "chmod 700 it, or set CLUSTERJIT_CACHE_DIR to another directory"
                                               : "set CLUSTERJIT_CACHE_DIR to a directory of your own");
    return CJ_FILE;
}

// The status that callers see for an errno value.
static cj_status status_of(int failure) { return failure == ENOMEM ? CJ_OUT_OF_MEMORY : CJ_FILE; }

static cj_status cannot_open(const char *path, int failure, cj_error *error) {
    const bool link = failure == ELOOP || failure == ENOTDIR;
    cj__fail(error, status_of(failure), "the cache directory %s cannot be used: %s", path,
             link ? "it is a symbolic link or no directory" : strerror(failure));
    cj__hint(error, "set CLUSTERJIT_CACHE_DIR to a directory of your own, or to nothing for no disk cache");
    return status_of(failure);
}

cj_status cj__disk_open(const char *path, bool make, uint64_t limit, const cj_files *files, cj_disk **disk,
                        cj_error *error) {
    const int failure = make ? make_path(path) : 0;
    if (failure) return cannot_open(path, failure, error);
    struct stat about;
    const int   directory = files->open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    *disk = NULL;
    if (directory < 0) return !make && errno == ENOENT ? CJ_OK : cannot_open(path, errno, error);

    cj_disk  *made = NULL;
    cj_status status = CJ_OK;
    if (files->stat(directory, &about)) status = cannot_open(path, errno, error);
    else if (about.st_uid != geteuid() || about.st_mode & 077) status = refuse_directory(path, &about, error);
    else if (!(made = cj__calloc(1, sizeof *made + strlen(path) + 1)))
        status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the disk cache");
    if (status) {
        files->close(directory);
        return status;
    }
    made->files = files;
    made->directory = directory;
    made->limit = limit;
    memcpy(made->path, path, strlen(path) + 1);
    *disk = made;
    return CJ_OK;
}

void cj__disk_close(cj_disk *disk) {
    if (!disk) return;
    disk->files->close(disk->directory);
    cj__free(disk);
}

// ---- reading

typedef struct contents {
    char       *data;     // the file's bytes; to be freed
    struct stat about;
    cj_entry    entry;
    int         failure;  // errno of a call that failed, or 0
    const char *damage;   // what is wrong with the file, or NULL
} contents;

static bool read_all(const cj_files *files, int file, contents *c) {
    const size_t bytes = (size_t)c->about.st_size;
    c->data = cj__malloc(bytes ? bytes : 1);
    if (!c->data) return c->failure = ENOMEM, false;
    for (size_t at = 0; at < bytes;) {
        const ssize_t got = files->read(file, c->data + at, bytes - at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return c->failure = errno, false;
        if (!got) return c->damage = "it became shorter while it was read", false;
        at += (size_t)got;
    }
    return true;
}

static bool is_ours(const struct stat *about) {
    return S_ISREG(about->st_mode) && about->st_uid == geteuid() && !(about->st_mode & 022);
}

// Reads a file's bytes. O_NONBLOCK: opening a pipe of that name must not block.
static void read_file(const cj_disk *disk, const char *name, bool touch, contents *c) {
    enum { LARGEST = 1 << 30 };
    const cj_files *files = disk->files;
    *c = (contents){0};
    const int file = files->open(disk->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) {
        c->failure = errno;
        if (c->failure == ELOOP) c->damage = "it is a symbolic link";
        return;
    }
    if (files->stat(file, &c->about)) c->failure = errno;
    else if (!is_ours(&c->about)) c->damage = "it is no file of this user's alone";
    else if (c->about.st_size > LARGEST) c->damage = "it is longer than an entry can be";
    else if (read_all(files, file, c) && touch) files->touch(file);  // marks it as used; may fail
    files->close(file);
}

// Reads the file's entry and verifies it.
static void read_entry(const cj_disk *disk, const char *name, bool touch, contents *c) {
    read_file(disk, name, touch, c);
    if (!c->failure && !c->damage) c->damage = cj__entry_read(c->data, (size_t)c->about.st_size, &c->entry);
}

bool cj__disk_get(cj_disk *disk, const char *key, size_t key_bytes, char **value, size_t *bytes) {
    char     name[CJ_ENTRY_NAME];
    contents c;
    cj__entry_name(key, key_bytes, name);
    read_entry(disk, name, true, &c);
    const cj_entry *entry = &c.entry;
    if (!c.failure && !c.damage && (entry->key_bytes != key_bytes || memcmp(entry->key, key, key_bytes)))
        c.damage = "it is another key's";
    if (c.damage) {
        cj__log(CJ_LOG_INFO, "the cache entry %s/%s is not used: %s; it is removed and made anew", disk->path, name,
                c.damage);
        disk->files->remove(disk->directory, name);
    } else if (c.failure && c.failure != ENOENT) {
        cj__log(CJ_LOG_INFO, "the cache entry %s/%s is not used: %s; it is made anew", disk->path, name,
                strerror(c.failure));
    }
    if (c.damage || c.failure) {
        cj__free(c.data);
        return false;
    }
    *bytes = entry->value_bytes;
    *value = memmove(c.data, entry->value, entry->value_bytes);
    return true;
}

// ---- the directory's files

typedef struct item {
    char            name[CJ_ENTRY_NAME];
    uint64_t        bytes;
    struct timespec used;
    bool            temporary;
} item;

typedef struct listing {
    item  *items;
    size_t count, capacity;
} listing;

static const char temporary_prefix[] = ".new-";

enum { DIGITS = 32, TEMPORARY_DIGITS = 24 };  // hexadecimal digits in the names

// Only files with such names are read, replaced or removed.
static bool is_entry_name(const char *name) {
    return strspn(name, "0123456789abcdef") == DIGITS && !strcmp(name + DIGITS, ".cj");
}

static bool is_temporary_name(const char *name) {
    const size_t prefix = sizeof temporary_prefix - 1;
    return !strncmp(name, temporary_prefix, prefix) &&
           strspn(name + prefix, "0123456789abcdef") == TEMPORARY_DIGITS && !name[prefix + TEMPORARY_DIGITS];
}

static int add_item(listing *list, const char *name, const struct stat *about) {
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        item        *items = cj__realloc(list->items, list->capacity * sizeof *items, capacity * sizeof *items);
        if (!items) return ENOMEM;
        list->items = items;
        list->capacity = capacity;
    }
    item *made = &list->items[list->count++];
    *made = (item){.bytes = (uint64_t)about->st_size, .used = cj__modified(about), .temporary = is_temporary_name(name)};
    memcpy(made->name, name, strlen(name) + 1);  // which has the length of one of the two
    return 0;
}

// The caller frees list->items. Returns 0 or an errno value.
static int list_files(const cj_disk *disk, listing *list) {
    *list = (listing){0};
    const int descriptor = openat(disk->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR      *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    int       failure = directory ? 0 : errno;
    if (!directory && descriptor >= 0) close(descriptor);
    while (directory && !failure) {
        const struct dirent *file = readdir(directory);
        struct stat          about;
        if (!file) break;
        if (!is_entry_name(file->d_name) && !is_temporary_name(file->d_name)) continue;
        if (fstatat(disk->directory, file->d_name, &about, AT_SYMLINK_NOFOLLOW)) continue;  // removed by another process
        failure = add_item(list, file->d_name, &about);
    }
    if (directory) closedir(directory);
    return failure;
}

static int older(const void *a, const void *b) {
    const struct timespec x = ((const item *)a)->used, y = ((const item *)b)->used;
    if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
    return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

// Removes entries, the least recently used first, until the rest is within the limit, and temporary files that are old; another
// process may still be writing a newer one.
static void evict(cj_disk *disk) {
    enum { ABANDONED_SECONDS = 600 };
    const time_t now = time(NULL);
    listing      list;
    uint64_t     total = 0;
    if (!list_files(disk, &list)) {
        for (size_t i = 0; i < list.count; i++) total += list.items[i].bytes;
        if (list.count) qsort(list.items, list.count, sizeof *list.items, older);
        for (size_t i = 0; i < list.count; i++) {
            const item *file = &list.items[i];
            if (file->temporary ? now - file->used.tv_sec < ABANDONED_SECONDS : total <= disk->limit) continue;
            if (disk->files->remove(disk->directory, file->name)) continue;
            total -= file->bytes;
            cj__log(CJ_LOG_DEBUG, "removed %s/%s, to keep the cache within %" PRIu64 " B", disk->path, file->name,
                    disk->limit);
        }
    }
    cj__free(list.items);
}

// ---- writing

// A name that no other process, thread or call takes; O_EXCL makes sure that no existing file is opened.
static void temporary_name(char name[CJ_ENTRY_NAME]) {
    static atomic_uint count;
    struct timespec    now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, CJ_ENTRY_NAME, "%s%08x%08x%08x", temporary_prefix, (unsigned)getpid(), (unsigned)now.tv_nsec,
             atomic_fetch_add(&count, 1));
}

static int write_all(const cj_files *files, int file, const char *from, size_t bytes) {
    while (bytes) {
        const ssize_t wrote = files->write(file, from, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return errno;
        if (!wrote) return ENOSPC;
        from += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

// A file is written from several pieces, one after the other.
typedef struct piece {
    const char *data;
    size_t      bytes;
} piece;

static int write_pieces(const cj_files *files, int file, const piece *pieces, size_t count) {
    int failure = 0;
    for (size_t i = 0; i < count && !failure; i++) failure = write_all(files, file, pieces[i].data, pieces[i].bytes);
    return failure;
}

// Opens a file without a name: the system removes it with its last descriptor, however this process ends. If the file
// system has no such files, opens a temporary file; *named says which.
static int open_new(const cj_disk *disk, const char *temporary, bool *named) {
    const int file = disk->files->open(disk->directory, ".", CJ__UNNAMED_FILE, 0600);
    *named = file < 0;
    if (!*named) return file;
    return disk->files->open(disk->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// Gives the written file its name. This thread takes no signals between the two calls.
static int name_new(const cj_disk *disk, int file, const char *temporary, bool *named, const char *name) {
    const cj_files *files = disk->files;
    sigset_t        all, before;
    int             failure = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (!*named && files->link(file, disk->directory, temporary)) failure = errno;
    *named |= !failure;
    if (!failure && files->rename(disk->directory, temporary, name)) failure = errno;
    if (failure && *named) files->remove(disk->directory, temporary);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

// Makes or replaces a file: a reader sees all of the old one or all of the new one. `durable`: after a power cut, too.
// Without fsync a name may then be without its bytes.
static int replace_file(const cj_disk *disk, const char *name, const piece *pieces, size_t count, bool durable) {
    const cj_files *files = disk->files;
    char            temporary[CJ_ENTRY_NAME];
    temporary_name(temporary);
    bool      named;
    const int file = open_new(disk, temporary, &named);
    if (file < 0) return errno;
    int failure = write_pieces(files, file, pieces, count);
    if (durable && !failure && files->sync(file)) failure = errno;
    if (failure && named) files->remove(disk->directory, temporary);
    if (!failure) failure = name_new(disk, file, temporary, &named, name);
    if (files->close(file) && !failure) failure = errno;
    if (durable && !failure && files->sync(disk->directory)) failure = errno;
    return failure;
}

// Not durable: a reader verifies the entry, so a power cut costs a compilation; a caller that waits for its kernel would pay for
// two fsyncs each time.
static int write_entry(const cj_disk *disk, const char *name, const cj_entry *entry) {
    char head[CJ_ENTRY_HEAD];
    cj__entry_head(entry, head);
    const piece pieces[] = {
        {head, sizeof head}, {entry->value, entry->value_bytes}, {entry->key, entry->key_bytes}};
    return replace_file(disk, name, pieces, sizeof pieces / sizeof *pieces, false);
}

// Whether this entry's writer looks for entries beyond the limit: to list a thousand files takes 6 ms, and the caller waits
// for its kernel. The name, which is a hash, draws the lot, so that a 64th of the limit is written between two listings on
// average.
static bool is_to_evict(const cj_disk *disk, const char *name, uint64_t bytes) {
    enum { LISTINGS = 64 };  // while as much is written as the cache holds
    char digits[9] = "";
    memcpy(digits, name, sizeof digits - 1);
    const double lot = (double)strtoul(digits, NULL, 16) / 4294967296.0;
    return lot * (double)disk->limit < LISTINGS * (double)bytes;
}

void cj__disk_put(cj_disk *disk, const char *key, size_t key_bytes, const char *value, size_t bytes) {
    const cj_entry entry = {.key = key, .key_bytes = key_bytes, .value = value, .value_bytes = bytes,
                            .created = (int64_t)time(NULL)};
    const uint64_t whole = CJ_ENTRY_HEAD + (uint64_t)key_bytes + bytes;
    char           name[CJ_ENTRY_NAME];
    if (whole > disk->limit) {
        cj__log(CJ_LOG_DEBUG, "an entry of %zu B is more than the whole cache may hold", key_bytes + bytes);
        return;
    }
    cj__entry_name(key, key_bytes, name);
    const int failure = write_entry(disk, name, &entry);
    if (failure && !atomic_exchange(&disk->warned, true)) {
        cj__log(CJ_LOG_WARNING, "kernels are not kept for the next process: %s/%s cannot be written: %s", disk->path,
                name, strerror(failure));
    }
    if (!failure && is_to_evict(disk, name, whole)) evict(disk);
}

void cj__disk_remove(cj_disk *disk, const char *key, size_t key_bytes) {
    char name[CJ_ENTRY_NAME];
    cj__entry_name(key, key_bytes, name);
    disk->files->remove(disk->directory, name);
}

// ---- texts beside the entries

static cj_status text_failed(const cj_disk *disk, const char *name, const char *what, const char *why, int failure,
                             cj_error *error) {
    return cj__fail(error, status_of(failure), "%s/%s cannot be %s: %s", disk->path, name, what, why);
}

cj_status cj__disk_read_text(const cj_disk *disk, const char *name, char **text, size_t *bytes, cj_error *error) {
    contents c;
    *text = NULL;
    *bytes = 0;
    read_file(disk, name, false, &c);
    if (!c.failure && !c.damage) {
        *text = c.data;
        *bytes = (size_t)c.about.st_size;
        return CJ_OK;
    }
    cj__free(c.data);
    if (c.failure == ENOENT) return CJ_OK;
    return text_failed(disk, name, "read", c.damage ? c.damage : strerror(c.failure), c.failure, error);
}

// Waits until no other thread or process holds the lock. Returns the descriptor that holds it, or -1.
static int lock_text(const cj_disk *disk, const char *name) {
    char lock[CJ_ENTRY_NAME + 8];
    snprintf(lock, sizeof lock, ".%s.lock", name);
    const int file = disk->files->open(disk->directory, lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int       failed = file < 0;
    while (!failed && flock(file, LOCK_EX)) failed = errno != EINTR;
    if (!failed) return file;
    const int failure = errno;
    if (file >= 0) disk->files->close(file);
    errno = failure;
    return -1;
}

// A damaged file counts as empty and is replaced.
static cj_status edit_locked(const cj_disk *disk, const char *name, cj_edit edit, void *user, cj_error *error) {
    contents old;
    cj_text  made = {0};
    read_file(disk, name, false, &old);
    int failure = old.damage || old.failure == ENOENT ? 0 : old.failure;
    if (!failure) {
        const bool whole = old.data && !old.damage;
        edit(user, whole ? old.data : "", whole ? (size_t)old.about.st_size : 0, &made);
        failure = made.failed ? ENOMEM : replace_file(disk, name, &(piece){made.data, made.length}, 1, true);
    }
    cj__free(old.data);
    cj__text_free(&made);
    return failure ? text_failed(disk, name, "written", strerror(failure), failure, error) : CJ_OK;
}

cj_status cj__disk_edit_text(const cj_disk *disk, const char *name, cj_edit edit, void *user, cj_error *error) {
    const int lock = lock_text(disk, name);
    if (lock < 0) return text_failed(disk, name, "locked", strerror(errno), errno, error);
    cj_status status = edit_locked(disk, name, edit, user, error);
    disk->files->close(lock);
    return status;
}

// ---- visiting and clearing

// The text after `word` on the key's line that begins with it.
static const char *key_line(const cj_entry *entry, const char *word, char *text, size_t size) {
    const char *at = entry->key, *end = at ? at + entry->key_bytes : NULL;
    *text = '\0';
    while (at < end) {
        const char  *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at), skip = strlen(word);
        if (!length) break;  // an empty line ends the key's head
        if (length > skip && !memcmp(at, word, skip) && at[skip] == ' ') {
            snprintf(text, size, "%.*s", (int)(length - skip - 1), at + skip + 1);
            break;
        }
        at += length + 1;
    }
    return text;
}

static void visit_file(const cj_disk *disk, const item *file, cj_cache_visit visit, void *user) {
    char     entry[128], target[32], compiler[256];
    contents c;
    read_entry(disk, file->name, false, &c);
    if (c.failure != ENOENT) {  // else another process has removed it
        const char *damage = c.damage ? c.damage : c.failure ? strerror(c.failure) : NULL;
        if (damage) c.entry = (cj_entry){0};
        visit(user, &(cj_cache_entry){
                        .name = file->name,
                        .entry = key_line(&c.entry, "entry", entry, sizeof entry),
                        .target = key_line(&c.entry, "target", target, sizeof target),
                        .compiler = key_line(&c.entry, "compiler", compiler, sizeof compiler),
                        .bytes = file->bytes,
                        .created = c.entry.created,
                        .used = (int64_t)file->used.tv_sec,
                        .damage = damage,
                    });
    }
    cj__free(c.data);
}

static cj_status cannot_list(const cj_disk *disk, int failure, cj_error *error) {
    return cj__fail(error, status_of(failure), "the cache directory %s cannot be read: %s", disk->path, strerror(failure));
}

cj_status cj__disk_each(cj_disk *disk, cj_cache_visit visit, void *user, cj_error *error) {
    listing   list;
    const int failure = list_files(disk, &list);
    for (size_t i = 0; i < list.count && !failure; i++) {
        if (!list.items[i].temporary) visit_file(disk, &list.items[i], visit, user);
    }
    cj__free(list.items);
    return failure ? cannot_list(disk, failure, error) : CJ_OK;
}

cj_status cj__disk_clear(cj_disk *disk, uint64_t *entries, uint64_t *bytes, cj_error *error) {
    listing list;
    int     failure = list_files(disk, &list);
    *entries = *bytes = 0;
    for (size_t i = 0; i < list.count && !failure; i++) {
        const item *file = &list.items[i];
        if (disk->files->remove(disk->directory, file->name)) {
            if (errno != ENOENT) failure = errno;
            continue;
        }
        *entries += !file->temporary;
        *bytes += file->bytes;
    }
    cj__free(list.items);
    return failure ? cannot_list(disk, failure, error) : CJ_OK;
}

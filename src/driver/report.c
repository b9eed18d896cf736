// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // secure_getenv
#include "report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cj_counts cj__counts;

static pthread_once_t  opened = PTHREAD_ONCE_INIT;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static int             file = -1;  // -1: text on standard error

static void open_file(void) {
    const char *path = secure_getenv("CLUSTERJIT_REPORT");
    if (!path || !*path) return;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        fprintf(stderr, "clusterjit: CLUSTERJIT_REPORT=%s cannot be written; the report follows here\n", path);
}

// ---- text that grows

typedef struct text {
    char  *data;
    size_t length, room;
    bool   failed;
} text;

static void add_bytes(text *t, const char *from, size_t bytes) {
    if (t->length + bytes + 1 > t->room) {
        const size_t room = 2 * (t->length + bytes) + 256;
        char        *data = realloc(t->data, room);
        t->failed = t->failed || !data;
        if (!data) return;
        t->data = data;
        t->room = room;
    }
    memcpy(t->data + t->length, from, bytes);
    t->length += bytes;
    t->data[t->length] = 0;
}

CJ_PRINTF(2, 3) static void add(text *t, const char *format, ...) {
    char    line[256];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length > 0) add_bytes(t, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

// A string of JSON; bytes that are no ASCII go through as UTF-8 does.
static void add_string(text *t, const char *from) {
    add(t, "\"");
    for (const char *at = from; *at; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            add(t, "\\%c", c);
        else if (c < 0x20)
            add(t, "\\u%04x", c);
        else
            add_bytes(t, at, 1);
    }
    add(t, "\"");
}

static void add_field(text *t, const char *name, const char *value) {
    if (!value || !*value) return;
    add(t, ", \"%s\": ", name);
    add_string(t, value);
}

// A call as programs write it: without the version that CUDA's header appends.
static void add_call(text *t, const char *call) {
    const size_t length = strlen(call);
    const bool   versioned = length > 3 && call[length - 3] == '_' && call[length - 2] == 'v';
    add(t, "%.*s", (int)(length - (versioned ? 3 : 0)), call);
}

static void write_out(text *t) {
    const int   to = file < 0 ? STDERR_FILENO : file;
    size_t      left = t->failed ? 0 : t->length;
    const char *at = t->data;
    while (left) {
        const ssize_t wrote = write(to, at, left);
        if (wrote <= 0) break;
        at += wrote;
        left -= (size_t)wrote;
    }
    free(t->data);
}

// ---- records

static void side_to_json(text *t, const cj_report_side *side) {
    add(t, "{\"ptx_line\": %u, \"what\": ", side->ptx_line);
    add_string(t, side->what ? side->what : "");
    add(t, ", \"thread\": [%u, %u, %u], \"block\": [%u, %u, %u]", side->thread.x, side->thread.y, side->thread.z,
        side->block.x, side->block.y, side->block.z);
    add_field(t, "file", side->file);
    if (side->file) add(t, ", \"line\": %u, \"column\": %u", side->line, side->column);
    add(t, "}");
}

static void to_json(text *t, const cj_record *record) {
    const char *code = NULL;
    if (record->code) cuGetErrorName(record->code, &code);
    add(t, "{\"kind\": \"%s\"", record->kind);
    if (record->call) {
        add(t, ", \"call\": \"");
        add_call(t, record->call);
        add(t, "\"");
    }
    add_field(t, "kernel", record->kernel);
    add_field(t, "rule", record->rule);
    add_field(t, "message", record->message);
    add_field(t, "hint", record->hint);
    add_field(t, "code", code);
    add_field(t, "module", record->module);
    add(t, ", \"device\": %d", record->device);
    if (record->bytes) add(t, ", \"bytes\": %llu", (unsigned long long)record->bytes);
    if (record->sides) add(t, ", \"sides\": [");
    for (unsigned i = 0; i < record->sides; i++) {
        if (i) add(t, ", ");
        side_to_json(t, &record->side[i]);
    }
    add(t, "%s, \"count\": %llu}\n", record->sides ? "]" : "", (unsigned long long)record->count);
}

static void to_words(text *t, const cj_record *record) {
    const char *code = NULL;
    if (record->code) cuGetErrorName(record->code, &code);
    add(t, "clusterjit: %s: ", record->kind);
    if (record->call) {
        add_call(t, record->call);
        add(t, ": ");
    }
    if (record->kernel && *record->kernel) add(t, "%.200s: ", record->kernel);
    if (record->message) add_bytes(t, record->message, strlen(record->message));
    if (record->rule && *record->rule) add(t, " [%s]", record->rule);
    if (code) add(t, " (%s)", code);
    add(t, "\n");
    if (record->hint && *record->hint) add(t, "    hint: %.240s\n", record->hint);
}

bool cj__report_is_file(void) {
    pthread_once(&opened, open_file);
    return file >= 0;
}

void cj__report(const cj_record *record) {
    text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0)
        to_words(&t, record);
    else
        to_json(&t, record);
    __atomic_fetch_add(&cj__counts.findings, 1, __ATOMIC_RELAXED);
    write_out(&t);
}

void cj__report_ptx(const char *module, const char *ptx) {
    text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0) return;
    add(&t, "{\"kind\": \"ptx\"");
    add_field(&t, "module", module);
    add_field(&t, "text", ptx);
    add(&t, "}\n");
    write_out(&t);
}

// FNV-1a.
static uint64_t hash_of(uint64_t hash, const char *from) {
    for (; from && *from; from++) hash = (hash ^ (unsigned char)*from) * UINT64_C(1099511628211);
    return hash * UINT64_C(1099511628211);
}

// Whether it was asked for before. The table forgets what would be more than it holds.
static bool was_told(uint64_t hash) {
    static uint64_t told[1024];
    uint64_t       *at = &told[hash % (sizeof told / sizeof *told)];
    pthread_mutex_lock(&told_lock);
    const bool known = *at == hash;
    *at = hash;
    pthread_mutex_unlock(&told_lock);
    return known;
}

void cj__report_once(const cj_record *record) {
    const uint64_t seed = UINT64_C(14695981039346656037);
    if (!was_told(hash_of(hash_of(hash_of(seed, record->kind), record->call), record->message))) cj__report(record);
}

void cj__report_end(void) {
    text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0) return;
    add(&t, "{\"kind\": \"end\", \"launches\": %llu, \"copies\": %llu, \"bytes\": %llu, \"seconds\": %.6f",
        (unsigned long long)cj__counts.launches, (unsigned long long)cj__counts.copies,
        (unsigned long long)cj__counts.copied_bytes, cj__counts.seconds);
    add(&t, ", \"findings\": %llu, \"kernels\": %llu}\n", (unsigned long long)cj__counts.findings,
        (unsigned long long)cj__counts.launches);
    write_out(&t);
}

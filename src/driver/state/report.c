// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

cj_counts cj__counts;

static pthread_once_t  opened = PTHREAD_ONCE_INIT;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static int             file = -1;  // -1: text on standard error

static void open_file(void) {
    const char *path = cj__getenv("CLUSTERJIT_REPORT");
    if (!path || !*path) return;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        fprintf(stderr, "clusterjit: CLUSTERJIT_REPORT=%s cannot be written; the report follows here\n", path);
}

// ---- fields of a record

static void add_field(cj_text *t, const char *name, const char *value) {
    if (!value || !*value) return;
    cj__text_printf(t, ", \"%s\": ", name);
    cj__text_json(t, value);
}

// A call as programs write it: without the version that CUDA's header appends.
static void add_call(cj_text *t, const char *call) {
    const size_t length = strlen(call);
    const bool   versioned = length > 3 && call[length - 3] == '_' && call[length - 2] == 'v';
    cj__text_printf(t, "%.*s", (int)(length - (versioned ? 3 : 0)), call);
}

static void write_out(cj_text *t) {
    const int   to = file < 0 ? STDERR_FILENO : file;
    size_t      left = t->failed ? 0 : t->length;
    const char *at = t->data;
    while (left) {
        const ssize_t wrote = write(to, at, left);
        if (wrote <= 0) break;
        at += wrote;
        left -= (size_t)wrote;
    }
    cj__text_free(t);
}

// ---- records

static void side_to_json(cj_text *t, const cj_report_side *side) {
    cj__text_printf(t, "{\"ptx_line\": %u, \"what\": ", side->ptx_line);
    cj__text_json(t, side->what ? side->what : "");
    cj__text_printf(t, ", \"thread\": [%u, %u, %u], \"block\": [%u, %u, %u]", side->thread.x, side->thread.y,
                    side->thread.z, side->block.x, side->block.y, side->block.z);
    add_field(t, "file", side->file);
    if (side->file) cj__text_printf(t, ", \"line\": %u, \"column\": %u", side->line, side->column);
    cj__text_printf(t, "}");
}

static void to_json(cj_text *t, const cj_record *record) {
    const char *code = NULL;
    if (record->code) cuGetErrorName(record->code, &code);
    cj__text_printf(t, "{\"kind\": \"%s\"", record->kind);
    if (record->call) {
        cj__text_printf(t, ", \"call\": \"");
        add_call(t, record->call);
        cj__text_printf(t, "\"");
    }
    add_field(t, "kernel", record->kernel);
    add_field(t, "rule", record->rule);
    add_field(t, "message", record->message);
    add_field(t, "hint", record->hint);
    add_field(t, "code", code);
    add_field(t, "module", record->module);
    cj__text_printf(t, ", \"device\": %d", record->device);
    if (record->bytes) cj__text_printf(t, ", \"bytes\": %llu", (unsigned long long)record->bytes);
    if (record->sides) cj__text_printf(t, ", \"sides\": [");
    for (unsigned i = 0; i < record->sides; i++) {
        if (i) cj__text_printf(t, ", ");
        side_to_json(t, &record->side[i]);
    }
    cj__text_printf(t, "%s, \"count\": %llu}\n", record->sides ? "]" : "", (unsigned long long)record->count);
}

static void to_words(cj_text *t, const cj_record *record) {
    const char *code = NULL;
    if (record->code) cuGetErrorName(record->code, &code);
    cj__text_printf(t, "clusterjit: %s: ", record->kind);
    if (record->call) {
        add_call(t, record->call);
        cj__text_printf(t, ": ");
    }
    if (record->kernel && *record->kernel) cj__text_printf(t, "%.200s: ", record->kernel);
    if (record->message) cj__text_puts(t, record->message);
    if (record->rule && *record->rule) cj__text_printf(t, " [%s]", record->rule);
    if (code) cj__text_printf(t, " (%s)", code);
    cj__text_printf(t, "\n");
    if (record->hint && *record->hint) cj__text_printf(t, "    hint: %.240s\n", record->hint);
}

bool cj__report_is_file(void) {
    pthread_once(&opened, open_file);
    return file >= 0;
}

void cj__report(const cj_record *record) {
    cj_text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0)
        to_words(&t, record);
    else
        to_json(&t, record);
    __atomic_fetch_add(&cj__counts.findings, 1, __ATOMIC_RELAXED);
    write_out(&t);
}

void cj__report_ptx(const char *module, const char *ptx) {
    cj_text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0) return;
    cj__text_printf(&t, "{\"kind\": \"ptx\"");
    add_field(&t, "module", module);
    add_field(&t, "text", ptx);
    cj__text_printf(&t, "}\n");
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
    cj_text t = {0};
    pthread_once(&opened, open_file);
    if (file < 0) return;
    cj__text_printf(&t, "{\"kind\": \"end\", \"launches\": %llu, \"copies\": %llu, \"bytes\": %llu, \"seconds\": %.6f",
                    (unsigned long long)cj__counts.launches, (unsigned long long)cj__counts.copies,
                    (unsigned long long)cj__counts.copied_bytes, cj__counts.seconds);
    cj__text_printf(&t, ", \"findings\": %llu, \"kernels\": %llu}\n", (unsigned long long)cj__counts.findings,
                    (unsigned long long)cj__counts.launches);
    write_out(&t);
}

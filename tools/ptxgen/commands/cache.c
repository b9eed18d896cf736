// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/cache.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "command.h"
#include "message.h"
#include "output.h"
#include "table.h"

typedef struct item {
    char     key[64], entry[64], target[32], compiler[256], damage[128];  // damage: empty if there is none
    uint64_t bytes;
    int64_t  created, used;
} item;

typedef struct cache {
    char   directory[4096];  // empty: the cache is switched off
    item  *items;
    size_t count, capacity, damaged;
    bool   no_memory;
} cache;

static int list_entries(const cache *c, bool json);
static int verify_entries(const cache *c, bool json);
static int clear_entries(const cache *c, bool json);

static const struct action {
    const char *name;
    int (*run)(const cache *c, bool json);
    bool reads;  // this action reads the entries
} actions[] = {{"ls", list_entries, true}, {"verify", verify_entries, true}, {"clear", clear_entries, false}};

enum { ACTION_COUNT = sizeof actions / sizeof actions[0] };

typedef struct cache_options {
    const struct action *action;
    bool                 json;
} cache_options;

enum { KEY_JSON = ARGS_LONG_ONLY };

static const args_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    (void)value;
    if (key == KEY_JSON) ((cache_options *)user)->json = true;
    return CODE_OK;
}

static int take(void *user, char *word) {
    cache_options *o = user;
    if (o->action) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one action too many; one is taken", word);
    for (size_t i = 0; i < ACTION_COUNT; i++)
        if (strcmp(word, actions[i].name) == 0) o->action = &actions[i];
    return o->action ? CODE_OK : message_error(CJ_INVALID_ARGUMENT, "'%s' is none of ls, verify, clear", word);
}

const args_spec cache_spec = {
    .doc = "Shows the disk cache of compiled kernels (ls), reads and verifies every entry of it, with exit code 1 "
           "where one is damaged (verify), or removes all entries and nothing else (clear). It is the directory that "
           "CLUSTERJIT_CACHE_DIR names, else XDG_CACHE_HOME/clusterjit or ~/.cache/clusterjit; one that is not its "
           "user's alone is refused.",
    .options = options,
    .set = set,
    .words = "[ls|verify|clear]",
    .take = take,
    .examples = "ptxgen cache ls",
};

// ---- reading

static void add_entry(void *user, const cj_cache_entry *entry) {
    cache *c = user;
    if (c->count == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 64;
        item  *items = realloc(c->items, capacity * sizeof *items);
        c->no_memory = !items;
        if (!items) return;
        c->items = items;
        c->capacity = capacity;
    }
    item *made = &c->items[c->count++];
    *made = (item){.bytes = entry->bytes, .created = entry->created, .used = entry->used};
    snprintf(made->key, sizeof made->key, "%.*s", (int)strcspn(entry->name, "."), entry->name);
    snprintf(made->entry, sizeof made->entry, "%s", entry->entry);
    snprintf(made->target, sizeof made->target, "%s", entry->target);
    snprintf(made->compiler, sizeof made->compiler, "%s", entry->compiler);
    snprintf(made->damage, sizeof made->damage, "%s", entry->damage ? entry->damage : "");
    c->damaged += entry->damage != NULL;
}

// The most recently used first.
static int newer(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? 1 : -1;
    return strcmp(x->key, y->key);
}

static uint64_t bytes_of(const cache *c) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->count; i++) bytes += c->items[i].bytes;
    return bytes;
}

// ---- printing

// "4.2K": three digits are enough.
static const char *size_text(uint64_t bytes, char *text, size_t size) {
    const char *unit = "BKMGT";
    double      value = (double)bytes;
    while (value >= 1000 && unit[1]) value /= 1024, unit++;
    snprintf(text, size, "%.*f%c", *unit != 'B' && value < 10, value, *unit);
    return text;
}

// "5m": how long ago.
static const char *age_text(int64_t then, char *text, size_t size) {
    static const struct {
        int64_t seconds;
        char    unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int64_t ago = (int64_t)time(NULL) - then;
    size_t  i = 0;
    if (ago < 0) ago = 0;
    while (units[i].seconds > 1 && ago < units[i].seconds) i++;
    snprintf(text, size, "%" PRId64 "%c", ago / units[i].seconds, units[i].unit);
    return then ? text : "";
}

static void add_row(table *t, const item *entry) {
    char        text[3][32];
    const char *cells[] = {entry->key,
                           *entry->damage ? "(damaged)" : entry->entry,
                           entry->target,
                           size_text(entry->bytes, text[0], sizeof text[0]),
                           age_text(entry->created, text[1], sizeof text[1]),
                           age_text(entry->used, text[2], sizeof text[2])};
    table_row(t);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) table_set(t, i, cells[i]);
}

static int print_table(const cache *c) {
    static const struct {
        const char *title;
        table_side  side;
    } columns[] = {{"KEY", TABLE_LEFT},   {"ENTRY", TABLE_LEFT}, {"TARGET", TABLE_LEFT},
                   {"SIZE", TABLE_RIGHT}, {"AGE", TABLE_RIGHT},  {"LAST USE", TABLE_RIGHT}};
    table *t = table_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) table_column(t, columns[i].title, columns[i].side);
    for (size_t i = 0; i < c->count; i++) add_row(t, &c->items[i]);
    return table_print(t);
}

static json_t *entries_json(const cache *c) {
    json_t *entries = json_array();
    for (size_t i = 0; i < c->count; i++) {
        const item *e = &c->items[i];
        json_array_append_new(entries, json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "key", e->key, "entry",
                                                 output_json_text(e->entry), "target", output_json_text(e->target),
                                                 "compiler", output_json_text(e->compiler), "bytes",
                                                 output_json_uint(e->bytes), "created", (json_int_t)e->created, "used",
                                                 (json_int_t)e->used, "damage",
                                                 *e->damage ? output_json_text(e->damage) : json_null()));
    }
    return entries;
}

static json_t *directory_json(const cache *c) { return *c->directory ? output_json_text(c->directory) : json_null(); }

static int print_json(const cache *c) {
    return output_json(json_pack("{s:o, s:o, s:o, s:o}", "directory", directory_json(c), "entries", entries_json(c),
                                 "bytes", output_json_uint(bytes_of(c)), "damaged", output_json_uint(c->damaged)));
}

static void print_total(const cache *c, const char *what) {
    char text[32];
    printf("%s: %zu entr%s, %s%s\n", c->directory, c->count, c->count == 1 ? "y" : "ies",
           size_text(bytes_of(c), text, sizeof text), what);
}

static int list_entries(const cache *c, bool json) {
    if (json) return print_json(c);
    int code = c->count ? print_table(c) : CODE_OK;
    if (!code) print_total(c, "");
    return code;
}

static int verify_entries(const cache *c, bool json) {
    int code = json ? print_json(c) : CODE_OK;
    if (!json) print_total(c, c->damaged ? "" : ", all whole");
    for (size_t i = 0; i < c->count && !json; i++)
        if (*c->items[i].damage) printf("%s is damaged: %s\n", c->items[i].key, c->items[i].damage);
    return code ? code : c->damaged ? CODE_WRONG : CODE_OK;
}

static int clear_entries(const cache *c, bool json) {
    uint64_t entries, bytes;
    cj_error error;
    char     text[32];
    if (cj_cache_clear(&entries, &bytes, &error)) return message_failure(&error);
    if (json)
        return output_json(json_pack("{s:o, s:o, s:o}", "directory", directory_json(c), "removed",
                                     output_json_uint(entries), "bytes", output_json_uint(bytes)));
    printf("%s: removed %" PRIu64 " entr%s, %s\n", c->directory, entries, entries == 1 ? "y" : "ies",
           size_text(bytes, text, sizeof text));
    return CODE_OK;
}

static int run_action(const cache_options *o, cache *c) {
    cj_error error;
    if (cj_cache_directory(c->directory, sizeof c->directory, &error)) return message_failure(&error);
    if (o->action->reads && cj_cache_each(add_entry, c, &error)) return message_failure(&error);
    if (c->no_memory) return message_error(CJ_OUT_OF_MEMORY, "no memory for the list of entries");
    if (c->count) qsort(c->items, c->count, sizeof *c->items, newer);
    if (!*c->directory && !o->json) {
        puts("The disk cache is switched off: CLUSTERJIT_CACHE_DIR is empty.");
        return CODE_OK;
    }
    return o->action->run(c, o->json);
}

int cmd_cache(int argc, char **argv) {
    cache_options o = {0};
    cache         c = {0};
    args_parse(&cache_spec, argc, argv, &o, NULL);
    if (!o.action) o.action = &actions[0];
    int code = run_action(&o, &c);
    free(c.items);
    return code;
}

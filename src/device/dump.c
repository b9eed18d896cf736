// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "hash.h"
#include "log.h"
#include "text.h"

// Guards devices' last functions: dumps read them, unload frees them. Launches do not take it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct dump {
    const cj_device        *device;
    const cj_ir_func       *entry;  // NULL: the text has none, or does not parse
    const char             *ptx;
    size_t                  length;
    const cj_launch_config *config;  // without `arguments` if they are not known
    const cj_error         *error;   // NULL if the caller wants no message
    const char             *remark;  // about the launch, or NULL
    cj_text                 command, remarks;
} dump;

static const char *directory(void) {
    const char *path = cj__getenv("CLUSTERJIT_DUMP_DIR");
    return path && *path ? path : NULL;
}

// ---- the command line

// A buffer is written as its address: its contents are not known.
#define PLACEHOLDER "u64[1048576]=zeros"

static void put_bytes(cj_text *text, const unsigned char *value, size_t bytes) {
    cj__text_printf(text, "bytes:%zu=", bytes);
    for (size_t i = 0; i < bytes; i++) cj__text_printf(text, "%02x", value ? value[i] : 0u);
}

// Finite floats and integers are written as values, other arguments as their bytes.
static void put_value(cj_text *text, cj_param_kind kind, const void *value, size_t bytes) {
    uint64_t integer = 0;
    double   real = 0;
    float    single = 0;
    if (value && bytes <= sizeof integer) memcpy(&integer, value, bytes);
    memcpy(&single, &integer, sizeof single);
    memcpy(&real, &integer, sizeof real);
    if (kind == CJ_PARAM_INTEGER)
        cj__text_printf(text, "u%zu=%" PRIu64, 8 * bytes, integer);
    else if (kind == CJ_PARAM_FLOAT && bytes == sizeof single && isfinite(single))
        cj__text_printf(text, "f32=%.9g", (double)single);
    else if (kind == CJ_PARAM_FLOAT && bytes == sizeof real && isfinite(real))
        cj__text_printf(text, "f64=%.17g", real);
    else
        put_bytes(text, value, bytes);
}

static void put_argument(dump *d, uint32_t i) {
    const cj_function   function = {.entry = d->entry};
    const cj_param_kind kind = cj_function_param_kind(&function, i);
    const cj_ir_var    *param = d->entry->param[i];
    const void         *value = d->config->arguments ? d->config->arguments[i] : NULL;
    cj__text_puts(&d->command, " --arg '");
    if (kind == CJ_PARAM_POINTER)
        cj__text_puts(&d->command, PLACEHOLDER);
    else
        put_value(&d->command, kind, value, param->bytes);
    cj__text_puts(&d->command, "'");
    if (kind == CJ_PARAM_POINTER)
        cj__text_printf(&d->remarks, "# Argument %u, %s, is an address: put its buffer for " PLACEHOLDER ".\n", i,
                        param->name);
    else if (kind == CJ_PARAM_TENSORMAP)
        cj__text_printf(&d->remarks, "# Argument %u, %s, is a tensor map: put tensor:TYPE[DIMS],box=… for its bytes.\n",
                        i, param->name);
    else if (kind == CJ_PARAM_TEXTURE || kind == CJ_PARAM_SURFACE)
        cj__text_printf(&d->remarks, "# Argument %u, %s, is a handle: put %s:TYPE[DIMS],… for its bytes.\n", i,
                        param->name, kind == CJ_PARAM_TEXTURE ? "texture" : "surface");
    else if (!value)
        cj__text_printf(&d->remarks, "# Argument %u, %s: its value is not known, put it for 0.\n", i, param->name);
}

static void put_extent(cj_text *text, const char *option, cj_dim3 extent) {
    cj__text_printf(text, " --%s %u,%u,%u", option, extent.x, extent.y, extent.z);
}

static bool has_attributes(const cj_launch_attributes *a) {
    return a->preferred_cluster.x || a->cluster_scheduling || a->programmatic || a->cooperative || a->priority ||
           a->sync_domain || a->sync_domain_map[0] || a->sync_domain_map[1];
}

static void put_launch(dump *d) {
    const cj_launch_config *config = d->config;
    cj_text                *text = &d->command;
    put_extent(text, "grid", config->grid);
    put_extent(text, "block", config->block);
    if (config->cluster.x || config->cluster.y || config->cluster.z) put_extent(text, "cluster", config->cluster);
    if (config->dynamic_shared) cj__text_printf(text, " --smem %u", config->dynamic_shared);
    for (uint32_t i = 0; i < d->entry->param_count; i++) put_argument(d, i);
    if (has_attributes(&config->attributes))
        cj__text_puts(&d->remarks, "# The launch had attributes that this command line does not give.\n");
    if (!config->nonportable) {
        cj__text_puts(&d->remarks,
                      "# The launch did not opt into clusters above the portable size; this command line does. `ptxgen "
                      "contract`\n# with the same --entry, --grid, --block, --cluster and --smem judges it without.\n");
    }
}

// Text from elsewhere (messages), as shell comments: # before each line.
static void put_words(cj_text *text, const char *words) {
    cj__text_puts(text, "# ");
    for (const char *c = words; *c; c++) {
        if (*c == '\n')
            cj__text_puts(text, "\n# ");
        else
            cj__text_add(text, (unsigned char)*c < ' ' ? " " : c, 1);
    }
    cj__text_puts(text, "\n");
}

// The script finds the text in its own directory, and passes on further options: `sh FILE.sh --schedule seed:1`.
static void put_command(dump *d) {
    if (d->error) {
        cj__text_printf(&d->remarks, "# %s\n", cj_status_name(d->error->status));
        put_words(&d->remarks, d->error->message);
        if (*d->error->hint) put_words(&d->remarks, d->error->hint);
    }
    if (d->remark) put_words(&d->remarks, d->remark);
    if (!d->entry) {
        cj__text_puts(&d->command, "exec ptxgen check \"${0%.sh}.ptx\"");
    } else {
        const char *kind = d->device->ops->kind;
        cj__text_printf(&d->command, "exec ptxgen exec \"${0%%.sh}.ptx\" --device %s --entry ", kind);
        cj__text_quoted(&d->command, d->entry->name);
        put_launch(d);
        if (!strcmp(kind, "cpu"))
            cj__text_puts(&d->command, " --hazards on");
        else
            cj__text_puts(&d->remarks, "# With --device cpu --hazards on the CPU device names the faulty line.\n");
    }
    cj__text_puts(&d->command, " \"$@\"\n");
}

// ---- the files

static int write_all(int file, const char *bytes, size_t length) {
    while (length) {
        const ssize_t written = write(file, bytes, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

// The same, through a file that has no name while it is written: a process that is killed leaves nothing.
static int write_unnamed(int file, int directory, const char *name, const char *bytes, size_t length) {
    char path[40];
    int  failure = write_all(file, bytes, length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (!failure && linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW)) failure = errno;
    close(file);
    return failure == EEXIST ? 0 : failure;
}

// Returns 0 or an errno. A file of that name has the same contents, for its name contains their hash. O_NOFOLLOW:
// nothing is written through a link.
static int write_file(int directory, const char *name, const char *bytes, size_t length) {
    const int unnamed = openat(directory, ".", CJ__UNNAMED_FILE, 0600);
    if (unnamed >= 0) return write_unnamed(unnamed, directory, name, bytes, length);
    const int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return errno == EEXIST ? 0 : errno;
    int failure = write_all(file, bytes, length);
    if (close(file) && !failure) failure = errno;
    if (failure) unlinkat(directory, name, 0);
    return failure;
}

// NAME: the entry's name, without the characters that do not suit a file name.
static void put_stem(cj_text *stem, const dump *d) {
    enum { LENGTH_MAX = 64 };
    const char *name = d->entry ? d->entry->name : "module";
    for (size_t i = 0; name[i] && i < LENGTH_MAX; i++) {
        const char c = name[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        cj__text_add(stem, plain ? &c : "_", 1);
    }
    cj__text_printf(stem, "-%08x%08x", cj__hash(d->ptx, d->length), cj__hash(d->command.data, d->command.length));
}

static int write_both(const char *path, const dump *d, const char *stem) {
    cj_text ptx = {0}, script = {0}, body = {0};
    int     failure = ENOMEM;
    cj__text_printf(&ptx, "%s.ptx", stem);
    cj__text_printf(&script, "%s.sh", stem);
    cj__text_printf(&body, "#!/bin/sh\n%s%s", d->remarks.data ? d->remarks.data : "", d->command.data);
    if (!ptx.failed && !script.failed && !body.failed) {
        const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        failure = directory < 0 ? errno : write_file(directory, ptx.data, d->ptx, d->length);
        if (!failure) failure = write_file(directory, script.data, body.data, body.length);
        if (directory >= 0) close(directory);
    }
    cj__text_free(&ptx);
    cj__text_free(&script);
    cj__text_free(&body);
    return failure;
}

static void say_kept(const char *path, const char *stem) {
    cj_text script = {0}, word = {0};
    cj__text_printf(&script, "%s/%s.sh", path, stem);
    if (script.data) cj__text_quoted(&word, script.data);
    if (!script.failed && !word.failed)
        cj__log(CJ_LOG_INFO, "the failing kernel is kept in %s/%s.ptx; to run it again: sh %s", path, stem, word.data);
    cj__text_free(&script);
    cj__text_free(&word);
}

static void keep(dump *d) {
    const char *path = directory();
    const int   kept = errno;
    cj_text     stem = {0};
    if (!path || !d->ptx) return;
    put_command(d);
    if (!d->command.failed) put_stem(&stem, d);
    const bool whole = !d->command.failed && !d->remarks.failed && !stem.failed;
    const int  failure = whole ? write_both(path, d, stem.data) : ENOMEM;
    if (failure) {
        cj__log(CJ_LOG_WARNING,
                "CLUSTERJIT_DUMP_DIR is '%s': the failing kernel cannot be kept there: %s; set it to a "
                "directory that exists and that this process may write to",
                path, strerror(failure));
    } else {
        say_kept(path, stem.data);
    }
    cj__text_free(&stem);
    cj__text_free(&d->command);
    cj__text_free(&d->remarks);
    errno = kept;
}

// ---- the failures that are kept

static const cj_ir_func *first_entry(const cj_ir_module *ir) {
    for (size_t i = 0; ir && i < ir->item_count; i++) {
        if (ir->item[i].kind == CJ_ITEM_FUNC && ir->item[i].func->is_entry) return ir->item[i].func;
    }
    return NULL;
}

void cj__dump_load(const cj_device *device, const cj_ir_module *ir, const char *ptx, size_t length,
                   const cj_error *error) {
    const cj_launch_config none = {CJ_INIT(none), .grid = {1, 1, 1}, .block = {1, 1, 1}, .nonportable = true};
    dump                   d = {.device = device,
                                .entry = first_entry(ir),
                                .ptx = ptx,
                                .length = length,
                                .config = &none,
                                .error = error};
    if (ir) d.remark = "It failed while it was loaded: of a launch nothing is known.";
    keep(&d);
}

static void dump_launch(const cj_launch_config *config, const cj_error *error, const char *remark) {
    const cj_function *function = config->function;
    const char        *ptx = function->module->text;
    dump               d = {.device = function->module->device,
                            .entry = function->entry,
                            .ptx = ptx,
                            .length = ptx ? strlen(ptx) : 0,
                            .config = config,
                            .error = error,
                            .remark = remark};
    keep(&d);
}

void cj__dump_launch(const cj_launch_config *config, const cj_error *error) { dump_launch(config, error, NULL); }

void cj__dump_last(cj_device *device, const cj_error *error) {
    cj_launch_config config = {CJ_INIT(config)};
    pthread_mutex_lock(&lock);
    config.function = atomic_load(&device->last);
    if (config.function && cj__accepted_get(&config.function->accepted, &config))
        dump_launch(&config, error,
                    "This is the last launch before the failure was reported; an earlier one may have "
                    "caused it. The arguments' values are not known.");
    pthread_mutex_unlock(&lock);
}

// If memory runs out here, later failures of this module keep no files.
void cj__dump_remember(cj_module *module, const char *ptx, size_t length) {
    if (!directory() || !(module->text = cj__malloc(length + 1))) return;
    memcpy(module->text, ptx, length + 1);
}

void cj__dump_forget(cj_module *module) {
    pthread_mutex_lock(&lock);
    for (cj_function *function = module->functions; function; function = function->next) {
        cj_function *last = function;
        atomic_compare_exchange_strong(&module->device->last, &last, NULL);
    }
    pthread_mutex_unlock(&lock);
    cj__free(module->text);
}

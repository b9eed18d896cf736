// SPDX-License-Identifier: Apache-2.0
#include "printout.h"

#include <stdio.h>
#include <stdlib.h>

#include "allocate.h"

cj_cpu_prints *cj__prints_new(void) {
    cj_cpu_prints *prints = cj__calloc(1, sizeof *prints);
    if (prints) pthread_mutex_init(&prints->lock, NULL);
    return prints;
}

void cj__print(cj_cpu_cluster *cluster, const cj_text *text) {
    cj_cpu_prints *prints = cluster->launch->prints;
    const uint64_t before = __atomic_fetch_add(&prints->bytes, text->length, __ATOMIC_RELAXED);
    if (text->data && before + text->length <= CJ_PRINT_MOST) cj__text_add(&cluster->print, text->data, text->length);
    if (text->failed || cluster->print.failed || before + text->length > CJ_PRINT_MOST)
        __atomic_fetch_add(&prints->lost, text->failed ? 1 : text->length, __ATOMIC_RELAXED);
}

static bool has_room(cj_cpu_prints *prints) {
    if (prints->count < prints->capacity) return true;
    const size_t    capacity = prints->capacity ? 2 * prints->capacity : 16;
    cj_cpu_printed *larger = cj__realloc(prints->printed, prints->capacity * sizeof *larger, capacity * sizeof *larger);
    if (!larger) return false;
    prints->printed = larger;
    prints->capacity = capacity;
    return true;
}

void cj__print_end(cj_cpu_cluster *cluster) {
    cj_cpu_prints *prints = cluster->launch->prints;
    if (!cluster->print.length) return;
    pthread_mutex_lock(&prints->lock);
    const bool is_kept = has_room(prints);
    if (is_kept)
        prints->printed[prints->count++] = (cj_cpu_printed){cluster->index, cluster->print};
    else
        prints->lost += cluster->print.length;
    pthread_mutex_unlock(&prints->lock);
    if (!is_kept) cj__text_free(&cluster->print);
    cluster->print = (cj_text){0};
}

static int by_cluster(const void *a, const void *b) {
    const uint64_t first = ((const cj_cpu_printed *)a)->cluster, second = ((const cj_cpu_printed *)b)->cluster;
    return (first > second) - (first < second);
}

static void show(const cj_cpu_options *options, const char *text, size_t bytes) {
    if (options->print)
        options->print(options->print_user, text, bytes);
    else
        fwrite(text, 1, bytes, stdout);
}

// The last line of the text: programs that run unchanged hear no log.
static void show_lost(const cj_cpu_options *options, uint64_t lost) {
    char      line[128];
    const int length = snprintf(line, sizeof line,
                                "\n[clusterjit: %llu bytes more are lost; of a launch's text %d MiB are kept]\n",
                                (unsigned long long)lost, CJ_PRINT_MOST >> 20);
    show(options, line, (size_t)length);
}

void cj__prints_show(cj_cpu_prints *prints, const cj_cpu_options *options) {
    if (!prints) return;
    if (prints->count) qsort(prints->printed, prints->count, sizeof *prints->printed, by_cluster);
    for (size_t i = 0; i < prints->count; i++) {
        cj_text *text = &prints->printed[i].text;
        show(options, text->data, text->length);
        cj__text_free(text);
    }
    if (prints->lost) show_lost(options, prints->lost);
    if (prints->count && !options->print) fflush(stdout);
    pthread_mutex_destroy(&prints->lock);
    cj__free(prints->printed);
    cj__free(prints);
}
